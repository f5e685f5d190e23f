"""`plimsoll predict` on one giant graph: data without labels, splits or held-out edges, and only some nodes."""

import csv
import subprocess

import numpy as np
import pytest
from giant_runs import answer, edge_index_of

NODES, FEATURES = 4000, 6
RECIPE = ("task: {task}\ngnn: {{hidden: 8, layers: 2, conv: sage}}\nsampling: {{fan_outs: [4, 4]}}\n"
          "training: {{max_epochs: 1, batch_size: 512}}\n")


@pytest.fixture(scope="module")
def giant(run, tmp_path_factory):
    """A labelled graph, and the same nodes, edges and features under names and under other IDs, without labels or splits."""
    folder = tmp_path_factory.mktemp("giant")
    run("plimsoll", "simulate", "graph", "--out", folder / "graph", "--nodes", NODES, "--features", FEATURES, "--classes", 3)
    source, target = edge_index_of(folder / "graph").numpy()
    x = np.load(folder / "graph" / "x.npy")
    for kind, name in (("named", lambda node: f"paper {node}"), ("sparse", lambda node: str(10 * node + 3))):
        lines = (f"{name(u)}\t{name(v)}\n" for u, v in zip(source.tolist(), target.tolist()))
        (folder / f"{kind}-edges.tsv").write_text("".join(lines))
        rows = (f"{name(node)}\t{' '.join(str(float(value)) for value in x[node])}\n" for node in range(NODES))
        (folder / f"{kind}-nodes.tsv").write_text("id\tx\n" + "".join(rows))
        run("plimsoll", "ingest", "graph", "--edges", folder / f"{kind}-edges.tsv", "--nodes", folder / f"{kind}-nodes.tsv",
            "--node-features", "x", "--ids", "text" if kind == "named" else "sparse", "--out", folder / kind)
    return folder


@pytest.fixture(scope="module")
def classes(run, giant):
    return trained(run, giant, "node_classification", giant / "graph")


def trained(run, giant, task, data):
    (giant / f"{task}.yaml").write_text(RECIPE.format(task=task))
    run("plimsoll", "train", giant / f"{task}.yaml", "--data", data, "--run", giant / task)
    return giant / task


def predict(bin_dir, run, data, out, *words):
    answer(bin_dir, "predict", run, "--data", data, "--out", out, "--csv", *words)
    with open(out / "predictions.csv") as file:
        return {path.stem: np.load(path) for path in out.glob("*.npy")}, [row["node"] for row in csv.DictReader(file)]


def test_data_needs_no_labels_and_no_splits(bin_dir, giant, classes, tmp_path):
    expected, names = predict(bin_dir, classes, giant / "graph", tmp_path / "labelled")
    row = {name: i for i, name in enumerate(names)}
    for kind in ("named", "sparse"):
        found, names = predict(bin_dir, classes, giant / kind, tmp_path / kind)
        order = [row[name.removeprefix("paper ") if kind == "named" else str((int(name) - 3) // 10)] for name in names]
        np.testing.assert_allclose(found["probability"], expected["probability"][order], atol=1e-5)


@pytest.mark.parametrize("kind, name", [("graph", str), ("named", "paper {}".format), ("sparse", lambda n: str(10 * n + 3))])
def test_some_nodes_are_rows_of_all(bin_dir, giant, classes, tmp_path, kind, name):
    every, names = predict(bin_dir, classes, giant / kind, tmp_path / "all", "--embeddings")
    asked = [name(node) for node in (3999, 17, 0, 17, 2500)]
    (tmp_path / "nodes.txt").write_text("\r\n".join(asked) + "\n\n")
    some, found = predict(bin_dir, classes, giant / kind, tmp_path / "some", "--embeddings", "--nodes", tmp_path / "nodes.txt")
    assert found == asked
    rows = [names.index(node) for node in asked]
    assert some["node"].tolist() == rows
    for column in ("class", "probability", "embedding"):
        assert (some[column] == every[column][rows]).all()


def test_links_need_no_held_out_edges(run, bin_dir, giant, tmp_path):
    run("plimsoll", "split-edges", giant / "graph", "--out", tmp_path / "split")
    links = trained(run, giant, "link_prediction", tmp_path / "split")
    found, names = predict(bin_dir, links, giant / "graph", tmp_path / "out")
    assert found["embedding"].shape == (NODES, 8) and len(names) == NODES


@pytest.mark.parametrize("text, about", [("17\n\nx9\n", "nodes.txt:3: found 'x9', expected the ID of a node of "),
                                         ("4000\n", "nodes.txt:1: found '4000'"), ("\n", "nodes.txt: found no nodes")])
def test_a_node_that_is_not_there_is_named(bin_dir, giant, classes, tmp_path, text, about):
    (tmp_path / "nodes.txt").write_text(text)
    assert about in refusal(bin_dir, classes, giant / "graph", tmp_path, 3)


def test_small_graphs_have_no_nodes_to_choose(run, bin_dir, classes, tmp_path):
    run("plimsoll", "simulate", "can", "--out", tmp_path / "frames", "--frames", 2000)
    (tmp_path / "nodes.txt").write_text("1\n")
    assert "--nodes is for one giant graph" in refusal(bin_dir, classes, tmp_path / "frames", tmp_path, 2)


def refusal(bin_dir, run, data, tmp_path, code):
    command = [bin_dir / "plimsoll", "predict", run, "--data", data, "--out", tmp_path / "out", "--nodes",
               tmp_path / "nodes.txt"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stderr
    assert not (tmp_path / "out").exists()
    return done.stderr
