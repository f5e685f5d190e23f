"""`plimsoll predict`: what it says is what the weights say, and what `evaluate` judges."""

import csv
import json
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file

GNN = "split: {by: graph, test: 0.2}\ngnn: {hidden: 12, layers: 2, jk: cat}\ntraining: {max_epochs: 3}\n"


@pytest.fixture(scope="module")
def bus(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bus")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "30000", "--seed", "3")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs")
    return folder


@pytest.fixture(scope="module")
def giant(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("giant") / "graph"
    run("plimsoll", "simulate", "graph", "--out", folder, "--nodes", "4000", "--features", "6", "--classes", "3")
    return folder


@pytest.fixture
def trained(run, tmp_path):
    """trained(text of a recipe, data): the folder of a run."""

    def train(recipe, data):
        (tmp_path / "recipe.yaml").write_text(recipe)
        run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", data, "--run", tmp_path / "run")
        return tmp_path / "run"

    return train


def columns(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    return {name: np.load(folder / f"{name}.npy") for name in manifest["columns"]} | {"manifest": manifest}


def softmax(logits):
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def expect_head(found, weight, bias):
    """Probabilities are those of the head over the embeddings, and classes the most likely."""
    expected = softmax(found["embedding"].astype(np.float64) @ weight.T.astype(np.float64) + bias)
    np.testing.assert_allclose(found["probability"], expected, atol=2e-5)
    assert (found["class"] == found["probability"].argmax(axis=1)).all()


def test_graphs(run, bus, trained, tmp_path):
    folder = trained("task: graph_classification\n" + GNN, bus / "graphs")
    run("plimsoll", "predict", folder, "--data", bus / "graphs", "--out", tmp_path / "out", "--embeddings", "--csv")
    found = columns(tmp_path / "out")
    weights = load_file(folder / "seed-42" / "gnn" / "model.safetensors")
    expect_head(found, weights["lin.weight"], weights["lin.bias"])
    assert found["embedding"].shape[1] == 24 and found["manifest"]["items"] == "graphs"

    run("plimsoll", "evaluate", folder, "--data", bus / "graphs")
    labels = np.load(bus / "graphs" / "y.npy")
    splits = {split["name"]: split for split in json.loads((bus / "graphs" / "manifest.json").read_text())["splits"]}
    judged = 0
    for split in json.loads((folder / "evaluation.json").read_text())["splits"]:
        if split["name"] in splits:
            rows = slice(splits[split["name"]]["first_graph"],
                         splits[split["name"]]["first_graph"] + splits[split["name"]]["graphs"])
            if split["graphs"] == splits[split["name"]]["graphs"]:
                accuracy = (found["class"][rows] == labels[rows]).mean()
                assert split["models"][0]["accuracy"] == pytest.approx(accuracy)
                judged += 1
    assert judged > 0
    with open(tmp_path / "out" / "predictions.csv") as file:
        table = list(csv.DictReader(file))
    assert [int(row["class"]) for row in table] == found["class"].tolist()
    assert [float(row["p1"]) for row in table] == pytest.approx(found["probability"][:, 1], rel=1e-4)


def test_the_budget_and_threads_change_no_byte(run, bus, trained, tmp_path):
    folder = trained("task: node_classification\n" + GNN, _with_node_classes(bus, tmp_path))
    for name, options in (("a", []), ("b", ["--threads", "1", "--budget", "80MiB"]), ("c", ["--threads", "3"])):
        run("plimsoll", "predict", folder, "--data", tmp_path / "labelled", "--out", tmp_path / name, *options)
    a, b, c = (columns(tmp_path / name) for name in "abc")
    for name in ("class", "probability"):
        assert a[name].tobytes() == b[name].tobytes() == c[name].tobytes()
    assert a["manifest"]["items"] == "nodes" and len(a["class"]) == np.load(bus / "graphs" / "node_ptr.npy")[-1]


def _with_node_classes(bus, tmp_path):
    """The windows with a class for half of their nodes."""
    plimsoll = pytest.importorskip("plimsoll")
    pytest.importorskip("torch_geometric")
    import torch

    graphs = plimsoll.open(bus / "graphs")

    def with_classes():
        for i in range(len(graphs)):
            data = graphs.to_pyg(i)
            data.node_y = torch.where(torch.arange(data.num_nodes) % 2 == 0, (data.x[:, 1] > 0.5).long(), -1)
            yield data

    plimsoll.from_pyg(with_classes(), tmp_path / "labelled")
    return tmp_path / "labelled"


def test_nodes_of_a_giant_graph(run, giant, trained, tmp_path):
    folder = trained("task: node_classification\nsampling: {fan_outs: [5, 5]}\ntraining: {max_epochs: 3}\n"
                     "gnn: {conv: sage, hidden: 12, layers: 2}\n", giant)
    run("plimsoll", "predict", folder, "--data", giant, "--out", tmp_path / "out", "--embeddings", "--csv")
    found = columns(tmp_path / "out")
    weights = load_file(folder / "seed-42" / "gnn" / "model.safetensors")
    expect_head(found, weights["lin.weight"], weights["lin.bias"])
    assert len(found["class"]) == 4000
    run("plimsoll", "evaluate", folder, "--data", giant)
    labels = np.load(giant / "y.npy")
    for split in json.loads((folder / "evaluation.json").read_text())["splits"]:
        nodes = np.load(giant / f"{split['name']}_idx.npy")
        assert split["models"][0]["accuracy"] == pytest.approx((found["class"][nodes] == labels[nodes]).mean())


@pytest.mark.parametrize("task", ["node_classification", "link_prediction"])
@pytest.mark.parametrize("ids", ["text", "sparse", "dense"])
def test_a_table_names_the_nodes_of_the_source(run, trained, tmp_path, ids, task):
    names = {"text": [f'n{i}, "{i % 7}"' for i in range(60)], "sparse": [str(1000 + 37 * i) for i in range(60)],
             "dense": [str(i) for i in range(60)]}[ids]
    rng = np.random.default_rng(1)
    pairs = sorted({tuple(sorted(pair)) for pair in rng.integers(0, 60, (600, 2)).tolist() if pair[0] != pair[1]})
    (tmp_path / "edges.txt").write_text("".join(f"{names[a]}\t{names[b]}\n" for a, b in pairs))
    (tmp_path / "nodes.txt").write_text("id\tclass\tx\n" + "".join(f"{name}\t{i % 2}\t{i}\n" for i, name in enumerate(names)))
    for split in ("train", "valid"):
        (tmp_path / f"{split}.txt").write_text("".join(f"{name}\n" for name in names[split == "valid"::2]))
    graph = tmp_path / "graph"
    run("plimsoll", "ingest", "graph", "--edges", tmp_path / "edges.txt", "--nodes", tmp_path / "nodes.txt", "--id", "id", "--label",
        "class", "--node-features", "x", "--train", tmp_path / "train.txt", "--valid", tmp_path / "valid.txt", "--ids", ids,
        "--undirected", "--dedup", "--order", "none" if ids == "dense" else "degree", "--out", graph)
    if task == "link_prediction":
        run("plimsoll", "split-edges", graph, "--out", tmp_path / "split")
        graph = tmp_path / "split"
    folder = trained(f"task: {task}\nsampling: {{fan_outs: [5, 5]}}\ntraining: {{max_epochs: 1}}\n"
                     "gnn: {conv: sage, hidden: 8, layers: 2}\n", graph)
    summary = json.loads(run("plimsoll", "predict", folder, "--data", graph, "--out", tmp_path / "out", "--csv", "--json"))
    found = columns(tmp_path / "out")
    rows = found["embedding" if task == "link_prediction" else "class"]
    assert summary["rows"] == found["manifest"]["rows"] == len(rows) == 60
    with open(tmp_path / "out" / "predictions.csv") as file:
        table = list(csv.DictReader(file))
    assert [row["row"] for row in table] == [str(row) for row in range(60)]
    x = np.load(graph / "x.npy").astype(int)[:, 0] if (graph / "x.npy").exists() else None
    assert sorted(row["node"] for row in table) == sorted(names)
    assert [row["node"] for row in table] == [names[i] for i in x]
    if task == "link_prediction":
        assert list(table[0]) == ["row", "node"]
    else:
        assert [int(row["class"]) for row in table] == rows.tolist()


def test_windows_by_detectors(run, bus, trained, tmp_path):
    folder = trained("task: detection\ntraining: {max_epochs: 2}\n", bus / "frames")
    run("plimsoll", "predict", folder, "--data", bus / "frames", "--out", tmp_path / "out", "--embeddings")
    found = columns(tmp_path / "out")
    weights = load_file(folder / "detector.safetensors")
    expect_head(found, weights["head.weight"], weights["head.bias"])
    assert found["manifest"]["items"] == "windows"


def test_windows_by_an_autoencoder(run, bus, trained, tmp_path):
    folder = trained("task: autoencoder\ntraining: {max_epochs: 2}\n", bus / "frames")
    run("plimsoll", "predict", folder, "--data", bus / "frames", "--out", tmp_path / "out")
    run("plimsoll", "evaluate", folder, "--data", bus / "frames", "--scores", tmp_path / "scores.csv")
    found = columns(tmp_path / "out")["value"][:, 0]
    with open(tmp_path / "scores.csv") as file:
        scores = [float(row["score"]) for row in csv.DictReader(file) if row["detector"] == "vgae"]
    assert len(scores) > 100 and np.isin(np.float32(scores).round(4), found.round(4)).mean() > 0.95


def test_refusals(run, bin_dir, bus, giant, trained, tmp_path):
    folder = trained("task: graph_classification\n" + GNN, bus / "graphs")

    def refused(*arguments):
        done = subprocess.run([str(bin_dir / "plimsoll"), "predict", str(folder), "--out", str(tmp_path / "out"),
                               *map(str, arguments)], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and not (tmp_path / "out").exists()
        return done.returncode, done.stderr

    assert refused("--data", giant) == (2, "plimsoll: task 'graph_classification' is not for one giant graph; set task: "
                                           "node_classification, node_regression, node_multilabel_classification or link_prediction\n")
    code, error = refused("--data", bus / "graphs", "--budget", "1MiB")
    assert code == 4 and "the smallest budget that works is" in error
    run("plimsoll", "windows", bus / "frames", "--out", tmp_path / "others", "--features", "behaviour")
    code, error = refused("--data", tmp_path / "others")
    assert code == 3 and "the model was trained on" in error
