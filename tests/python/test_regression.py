"""Regression of graphs and nodes: targets as PyTorch Geometric reads them, figures as NumPy counts them, the same weights."""

import hashlib
import json
import subprocess

import numpy as np
import pytest
from package_data import plimsoll
from safetensors.numpy import load_file

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from seen_graphs import forget_seen_graphs  # noqa: E402
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.datasets import TUDataset  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402
from tu_sets import archive_of, make_tu_set, unpack  # noqa: E402

RECIPE = """
split: {by: graph, test: 0.2}
gnn: {conv: gin, hidden: 32, layers: 2, pooling: sum, norm: batch}
training: {max_epochs: 25, batch_size: 32, learning_rate: 0.005, block: {nodes: 700}}
"""


def numbers(file):
    return [list(map(float, line.split(","))) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def enzymes(data_dir, tmp_path_factory):
    """ENZYMES, whose graphs have their numbers of nodes, and arcs a node, for attributes; and their classes."""
    root = tmp_path_factory.mktemp("tu")
    folder = unpack(archive_of(data_dir, "ENZYMES"), root)
    of_node = np.array(numbers(folder / "ENZYMES_graph_indicator.txt"), int)[:, 0] - 1
    arcs = np.array(numbers(folder / "ENZYMES_A.txt"), int)[:, 0] - 1
    sizes = np.bincount(of_node)
    degrees = np.bincount(of_node[arcs], minlength=len(sizes)) / sizes
    (folder / "ENZYMES_graph_attributes.txt").write_text(
        "".join(f"{size}, {degree:.6f}\n" for size, degree in zip(sizes, degrees, strict=True)))
    classes = np.array(numbers(folder / "ENZYMES_graph_labels.txt"), int)[:, 0]
    return TUDataset(str(root), "ENZYMES", use_node_attr=True, use_edge_attr=True), np.unique(classes, return_inverse=True)[1]


@pytest.fixture(scope="module")
def graphs(enzymes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("graphs") / "set"
    dataset, classes = enzymes

    def with_classes():
        for data, label in zip(dataset, classes, strict=True):
            data.graph_y = torch.tensor([label])
            yield data

    plimsoll.from_pyg(with_classes(), folder)
    return folder


@pytest.fixture(scope="module")
def nodes(data_dir, tmp_path_factory):
    """Of ENZYMES: the last attribute of a node is to be predicted from the others; every seventh is unknown."""
    folder = tmp_path_factory.mktemp("nodes")
    whole = make_tu_set(data_dir, "ENZYMES", folder / "whole")

    def hidden():
        for i in range(len(whole)):
            data = whole.to_pyg(i)
            data.node_y = data.x[:, 17].clone()
            data.node_y[::7] = torch.nan
            data.x = torch.cat([data.x[:, :17], data.x[:, 18:]], 1)
            yield data

    plimsoll.from_pyg(hidden(), folder / "set")
    return folder / "set"


def recipe_of(folder, task):
    (folder / "recipe.yaml").write_text(f"task: {task}\n{RECIPE}")
    return folder / "recipe.yaml"


def errors(values, targets):
    """The figures of scikit-learn: mean_absolute_error, root_mean_squared_error and r2_score."""
    known = ~np.isnan(targets)
    values, targets = values[known].astype(float), targets[known].astype(float)
    squared = (values - targets) ** 2
    return {"mae": np.abs(values - targets).mean(), "rmse": np.sqrt(squared.mean()),
            "r2": 1 - squared.sum() / ((targets - targets.mean()) ** 2).sum()}


def expect_figures(found, values, targets, scale):
    each = [errors(values[:, t], targets[:, t]) for t in range(targets.shape[1])]
    for one, expected in zip(found["targets"], each, strict=True):
        assert one == pytest.approx(expected, rel=1e-6)
    assert {key: found[key] for key in each[0]} == pytest.approx({key: np.mean([e[key] for e in each]) for key in each[0]})
    squares = ((values.astype(float) - targets) / scale) ** 2
    items = ~np.isnan(targets).all(axis=1)
    assert found["loss"] == pytest.approx(np.nan_to_num(squares[items]).mean(axis=1).mean(), rel=1e-4)


def test_attributes_of_graphs_are_those_of_pyg(enzymes, run, graphs, tmp_path):
    dataset, classes = enzymes
    expected = torch.cat([data.y for data in dataset])
    assert torch.equal(torch.from_numpy(np.load(graphs / "target.npy")), expected) and expected.dtype == torch.float32
    np.testing.assert_array_equal(np.load(graphs / "y.npy"), classes)  # beside them
    run("plimsoll", "verify", graphs)

    plimsoll.from_pyg(dataset, tmp_path / "unlabelled")
    assert (np.load(tmp_path / "unlabelled" / "y.npy") == -1).all()
    assert (np.load(tmp_path / "unlabelled" / "target.npy") == np.load(graphs / "target.npy")).all()


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("of_nodes", [False, True])
def test_round_trip_and_loader(tmp_path, width, of_nodes):
    generator = torch.Generator().manual_seed(width)
    graphs = []
    for size in (4, 1, 9, 3, 7):
        data = Data(x=torch.randn(size, 2, generator=generator), y=torch.randn(1, width, generator=generator),
                    edge_index=torch.randint(0, size, (2, 6), generator=generator))
        if of_nodes:
            data.node_y = torch.randn(size, width, generator=generator)
            data.node_y[0, 0] = torch.nan
        if width == 1:
            data.y = data.y[:, 0]
            if of_nodes:
                data.node_y = data.node_y[:, 0]
        graphs.append(data)
    made = plimsoll.from_pyg(graphs, tmp_path / "set")
    assert plimsoll.verify(made) == [] and made.target.shape == (5, width)
    for i, data in enumerate(graphs):
        for key, value in made.to_pyg(i).to_dict().items():
            torch.testing.assert_close(value, data[key], rtol=0, atol=0, equal_nan=True)
    for found, expected in zip(plimsoll.DataLoader(made, 2), DataLoader(graphs, 2), strict=True):
        for key in ("y", "node_y") if of_nodes else ("y",):
            torch.testing.assert_close(found[key], expected[key], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("wrong, words", [
    ({"y": torch.randn(3)}, "targets of shape .1,. .*of nodes into data.node_y"),
    ({"y": torch.tensor([torch.inf])}, "infinite"),
    ({"y": torch.tensor([0.1], dtype=torch.float64)}, "convert it: data.y.float"),
    ({"y": torch.randn(1, 2)}, "graph 1: has"),
    ({"y": torch.tensor([1])}, "graph 1: has"),
    ({"node_y": torch.randn(4)}, "shape .3,."),
])
def test_targets_that_no_column_holds(tmp_path, wrong, words):
    graph = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0.5]))
    other = graph.clone()
    for key, value in wrong.items():
        other[key] = value
    with pytest.raises(plimsoll.UsageError, match=words):
        plimsoll.from_pyg([graph, other], tmp_path / "set")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("task, data", [("graph_regression", "graphs"), ("node_regression", "nodes")])
def test_figures_are_those_of_numpy(task, data, run, request, tmp_path):
    data = request.getfixturevalue(data)
    run("plimsoll", "train", recipe_of(tmp_path, task), "--data", data, "--run", tmp_path / "run")
    run("plimsoll", "predict", tmp_path / "run", "--data", data, "--out", tmp_path / "out", "--embeddings")
    values = np.load(tmp_path / "out" / "value.npy")
    weights = load_file(tmp_path / "run" / "seed-42" / "gnn" / "model.safetensors")
    head = np.load(tmp_path / "out" / "embedding.npy").astype(float) @ weights["lin.weight"].T + weights["lin.bias"]
    scale = weights["target.scale"].astype(float)
    np.testing.assert_allclose(values, weights["target.mean"] + head * scale, rtol=1e-4, atol=1e-4 * scale.max())

    # Another set is evaluated whole by a model that does not know what it has seen.
    forget_seen_graphs(tmp_path / "run" / "seed-42" / "gnn" / "model.safetensors")
    view = plimsoll.open(data)
    other = plimsoll.from_pyg((view.to_pyg(i) for i in range(len(view) - 1)), tmp_path / "other")
    found = json.loads(run("plimsoll", "evaluate", tmp_path / "run", "--data", other.path, "--json"))["splits"][0]
    targets = other.target if task == "graph_regression" else other.node_target
    assert found["items"] == (~np.isnan(targets).all(axis=1)).sum()
    expect_figures(found["models"][0], values[:len(targets)], targets, scale)

    judged = json.loads(run("plimsoll", "evaluate", tmp_path / "run", "--data", data, "--json"))["splits"]
    assert [split["name"] for split in judged] == ["validation", "test"]
    assert judged[1]["models"][0]["r2"] > 0


@pytest.mark.parametrize("task, data", [("graph_regression", "graphs"), ("node_regression", "nodes")])
def test_the_same_weights_for_every_budget_and_thread(task, data, run, request, tmp_path):
    data = request.getfixturevalue(data)
    recipe = recipe_of(tmp_path, task)
    options = ("--data", data, "-O", "training.max_epochs=3")
    least = json.loads(run("plimsoll", "plan", recipe, *options, "--json"))["min_budget_bytes"]
    hashes = set()
    for threads, budget in ((1, least), (2, least), (2, "1GiB"), (4, "1GiB")):
        summary = json.loads(run("plimsoll", "train", recipe, *options, "--run", tmp_path / "run", "--force", "--threads",
                                 threads, "--budget", budget, "--json"))
        hashes.add(summary["weights"])
        assert summary["memory"]["anonymous_peak_bytes"] <= summary["planned_peak_bytes"]
        run("plimsoll", "predict", tmp_path / "run", "--data", data, "--out", tmp_path / "out", "--force", "--threads",
            threads, "--budget", budget)
        hashes.add(hashlib.sha256((tmp_path / "out" / "value.npy").read_bytes()).hexdigest())
    assert len(hashes) == 2


def test_targets_of_any_size_are_learned_alike(graphs, run, tmp_path):
    view = plimsoll.open(graphs)
    losses = {}
    for factor, shift in ((1, 0), (2**17, 0), (1e5, 1e5)):
        def moved(factor=factor, shift=shift):
            for i in range(len(view)):
                data = view.to_pyg(i)
                data.y = data.y * factor + shift
                yield data
        plimsoll.from_pyg(moved(), tmp_path / "set", force=True)
        run("plimsoll", "train", recipe_of(tmp_path, "graph_regression"), "--data", tmp_path / "set", "--run",
            tmp_path / "run", "-O", "training.max_epochs=3", "--force")
        rows = (tmp_path / "run" / "seed-42" / "gnn" / "metrics.csv").read_text().splitlines()[1:]
        losses[factor] = [list(map(float, row.split(",")[1:3])) for row in rows]
    assert losses[1] == losses[2**17]  # powers of two round nothing
    assert losses[1][0] == pytest.approx(losses[1e5][0], rel=1e-2)


def test_unknown_targets(graphs, run, bin_dir, tmp_path):
    view = plimsoll.open(graphs)

    def some(unknown):
        for i in range(len(view)):
            data = view.to_pyg(i)
            data.y = unknown(i, data.y)
            yield data

    def half(i, y):
        return torch.where(torch.tensor([[i % 3 == 0, False]]), torch.nan, y)

    plimsoll.from_pyg(some(half), tmp_path / "half")
    run("plimsoll", "train", recipe_of(tmp_path, "graph_regression"), "--data", tmp_path / "half", "--run", tmp_path / "run")
    found = json.loads(run("plimsoll", "evaluate", tmp_path / "run", "--data", graphs, "--json"))["splits"][0]["models"][0]
    assert all(target["r2"] > 0 for target in found["targets"])

    def refused(task, data):
        done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(recipe_of(tmp_path, task)), "--data", str(data),
                               "--run", str(tmp_path / "refused")], capture_output=True, text=True)
        assert done.returncode == 3 and not (tmp_path / "refused" / "seed-42" / "gnn" / "model.safetensors").exists()
        return done.stderr

    plimsoll.from_pyg(some(lambda i, y: torch.full_like(y, torch.nan)), tmp_path / "none")
    assert "its targets are unknown (NaN)" in refused("graph_regression", tmp_path / "none")
    assert "has no column 'node_target'" in refused("node_regression", graphs)


def test_in_python(graphs, tmp_path):
    done = plimsoll.train({"task": "graph_regression", "split": {"by": "graph"}, "training": {"max_epochs": 2}}, graphs,
                          tmp_path / "run")
    assert plimsoll.evaluate(done.run, graphs).splits[0]["models"][0]["mae"] > 0
    assert plimsoll.predict(done.run, graphs, tmp_path / "out").value.shape == (595, 2)
