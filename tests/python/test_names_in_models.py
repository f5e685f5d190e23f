"""Names of features and classes in the model file: another order is read by name, another set is refused."""

import csv
import subprocess

import numpy as np
import pytest
from giant_runs import answer

NODES = 400
RECIPE = """
task: node_classification
sampling: {fan_outs: [4, 4]}
training: {max_epochs: 2, batch_size: 128, block: {seeds: 64}}
gnn: {conv: gat, layers: 2, hidden: 8}
"""
CLASSES = ["ant", "bee", "cat"]
COLUMNS = {"age": 3.0, "size": 0.5, "mass": 8.0}


class Tables:
    """One graph, whose columns and class names are written in any order."""

    def __init__(self, run, folder):
        random = np.random.default_rng(3)
        self._run, self._folder = run, folder
        self._edges = random.integers(0, NODES, (4 * NODES, 2))
        self._edge_values = random.random((4 * NODES, 2), np.float32)
        self._x = {name: random.random(NODES, np.float32) * scale for name, scale in COLUMNS.items()}
        self._y = random.integers(0, 3, NODES)
        self._split = random.choice(["train", "valid", "test"], NODES)

    def ingest(self, name, columns=tuple(COLUMNS), edge_columns=("near", "far"), classes=tuple(CLASSES)):
        folder = self._folder / name
        folder.mkdir()
        lines = ["\t".join(["src", "dst", *edge_columns])]
        for (source, target), values in zip(self._edges, self._edge_values, strict=True):
            near_far = dict(zip(("near", "far"), values, strict=True))
            lines.append("\t".join([f"{source}", f"{target}", *(str(near_far.get(c, 0)) for c in edge_columns)]))
        (folder / "edges.tsv").write_text("\n".join(lines) + "\n")
        lines = ["\t".join(["id", *columns, "class", "split"])]
        for node in range(NODES):
            values = [str(self._x[c][node]) if c in self._x else "1" for c in columns]
            lines.append("\t".join([str(node), *values, classes[self._y[node]], self._split[node]]))
        (folder / "nodes.tsv").write_text("\n".join(lines) + "\n")
        self._run("plimsoll", "ingest", "graph", "--edges", folder / "edges.tsv", "--edge-features", ",".join(edge_columns),
                  "--nodes", folder / "nodes.tsv", "--node-features", ",".join(columns), "--label", "class", "--split", "split",
                  "--ids", "dense", "--out", folder / "graph")
        return folder / "graph"


@pytest.fixture(scope="module")
def tables(run, tmp_path_factory):
    return Tables(run, tmp_path_factory.mktemp("names"))


@pytest.fixture(scope="module")
def trained(run, tables):
    data = tables.ingest("own")
    recipe = data.parent / "recipe.yaml"
    recipe.write_text(RECIPE)
    run("plimsoll", "train", recipe, "--data", data, "--run", data.parent / "run")
    return data.parent / "run", data


def evaluated(bin_dir, run_folder, data):
    """The splits without their names of classes; `evaluate --json` has none."""
    return answer(bin_dir, "evaluate", run_folder, "--data", data)["splits"]


def test_other_orders_are_read_by_name(bin_dir, trained, tables):
    run_folder, own = trained
    other = tables.ingest("other", columns=("mass", "age", "size"), edge_columns=("far", "near"))
    assert (np.load(other / "x.npy") != np.load(own / "x.npy")).any()
    assert evaluated(bin_dir, run_folder, other) == evaluated(bin_dir, run_folder, own)


def test_predictions_of_another_order_have_the_same_bits_and_names(bin_dir, trained, tables, tmp_path):
    run_folder, own = trained
    other = tables.ingest("predicted", columns=("size", "mass", "age"))
    for name, data in (("own", own), ("other", other)):
        answer(bin_dir, "predict", run_folder, "--data", data, "--out", tmp_path / name, "--csv")
    with open(tmp_path / "own" / "predictions.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["class_name"] for row in rows] == [CLASSES[int(row["class"])] for row in rows]
    assert (np.load(tmp_path / "own" / "probability.npy") == np.load(tmp_path / "other" / "probability.npy")).all()


def test_classes_are_compared_by_name(bin_dir, trained, tables):
    """Class numbers are those of names in alphabetical order, so the labels of the renamed classes have other numbers."""
    run_folder, own = trained
    swapped = tables.ingest("swapped", classes=("bee", "ant", "cat"))
    assert (np.load(swapped / "y.npy") != np.load(own / "y.npy")).any()
    found, expected = evaluated(bin_dir, run_folder, swapped), evaluated(bin_dir, run_folder, own)
    assert sum(map(sum, found[0]["models"][0]["confusion"])) == sum(map(sum, expected[0]["models"][0]["confusion"]))
    assert [found[0]["models"][0]["confusion"][i] for i in (1, 0, 2)] == expected[0]["models"][0]["confusion"]


@pytest.mark.parametrize("name, options, about", [
    ("columns", {"columns": ("age", "size", "weight")},
     "the data has the node features 'age', 'size', 'weight', expected those of the model, in any order: 'age', 'size', 'mass'"),
    ("edges", {"edge_columns": ("near", "wide")}, "the data has the edge features 'near', 'wide', expected"),
    ("classes", {"classes": ("ant", "bee", "cow")}, "one of the classes 'ant', 'bee', 'cow', but the model knows only 'ant', 'bee', 'cat'"),
])
def test_other_names_are_refused_with_both_lists(bin_dir, trained, tables, name, options, about):
    run_folder, _ = trained
    data = tables.ingest(name, **options)
    done = subprocess.run([bin_dir / "plimsoll", "evaluate", run_folder, "--data", data], capture_output=True, text=True)
    assert done.returncode == 3 and about in done.stderr, done.stderr


def test_columns_without_names_are_not_compared(run, bin_dir, trained, tables):
    run_folder, own = trained
    folder = own.parent / "arrays"
    folder.mkdir()
    np.save(folder / "x.npy", np.load(own / "x.npy"))
    np.save(folder / "y.npy", np.load(own / "y.npy"))
    for split in ("train", "valid", "test"):
        np.save(folder / f"{split}.npy", np.load(own / f"{split}_idx.npy"))
    run("plimsoll", "ingest", "graph", "--edges", own.parent / "edges.tsv", "--edge-features", "near,far", "--features",
        folder / "x.npy", "--labels", folder / "y.npy", *(word for split in ("train", "valid", "test")
                                                          for word in (f"--{split}", folder / f"{split}.npy")),
        "--ids", "dense", "--out", folder / "graph")
    assert evaluated(bin_dir, run_folder, folder / "graph") == evaluated(bin_dir, run_folder, own)
