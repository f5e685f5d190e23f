"""SGMP and GTMP by recipe: the loss and values of a twin in torch that keeps every path, the same weights for every budget."""

import json
import subprocess

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from sgmp_twin import SgmpTwin, cutoff_of, paths_of  # noqa: E402
from torch_geometric.data import Data  # noqa: E402

RECIPE = """
split: {by: graph, validation: 0.2, test: 0.2}
training: {max_epochs: 3, batch_size: 12, learning_rate: 0.005, weight_decay: 0, block: {graphs: 5, nodes: 60}}
paths: {hidden: 8, layers: 2, tile: 32}
"""


def made_up(graphs, planar=False, seed=1):
    """Points, of which some coincide, with their 3 nearest; a tree; and a graph without a path of three edges."""
    rng = np.random.default_rng(seed)
    for g in range(graphs):
        size = int(rng.integers(4, 14)) if g % 5 else 3
        pos = rng.normal(size=(size, 3)).astype(np.float32)
        if size > 5:
            pos[1] = pos[0]
        if planar:
            pos[:, 2] = 0.5
        nearest = np.argsort(((pos[:, None] - pos[None]) ** 2).sum(-1), axis=1)[:, 1:4]
        edges = np.array([(j, i) for i, row in enumerate(nearest) for j in row])
        if g % 4 == 1:
            edges = np.array([(int(rng.integers(0, i)), i) for i in range(1, size)])
        x = torch.tensor(rng.normal(size=(size, 4)).astype(np.float32))
        yield Data(x=x, edge_index=torch.tensor(edges.T), pos=torch.tensor(pos), y=torch.tensor(g % 2),
                   node_y=torch.tensor(rng.integers(-1, 3, size)))


def with_values(graphs):
    for data in graphs:
        data.node_y = data.pos[:, :2] @ torch.tensor([[1.0, 0.5], [0.0, 2.0]]) + 3
        data.y = torch.stack([data.pos.norm(dim=1).mean(), data.x.sum()])[None].float()
        yield data


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    plimsoll.from_pyg(made_up(40), folder / "classes")
    plimsoll.from_pyg(made_up(40, planar=True), folder / "planar")
    plimsoll.from_pyg(with_values(made_up(40)), folder / "values")
    return folder


@pytest.fixture
def train(bin_dir, tmp_path):
    """train(data, *options, expect=0): the summary of a run in tmp_path/run, or its errors."""

    def call(data, *options, expect=0):
        (tmp_path / "recipe.yaml").write_text(RECIPE)
        overrides = [part for option in map(str, options) if "=" in option for part in ("-O", option)]
        others = [option for option in map(str, options) if "=" not in option]
        done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(tmp_path / "recipe.yaml"), "--data", str(data), "--run",
                               str(tmp_path / "run"), "--json", *overrides, *others], capture_output=True, text=True)
        assert done.returncode == expect, done.stderr
        return json.loads(done.stdout) if expect == 0 else done.stderr

    return call


def said(run, folder, data, column):
    run("plimsoll", "predict", folder / "run", "--data", data, "--out", folder / "out", "--force")
    return np.load(folder / "out" / f"{column}.npy")


MODEL = ("run", "seed-42", "gnn", "model.safetensors")


@pytest.mark.parametrize("data", ["classes", "planar"])
@pytest.mark.parametrize("options", [
    (), ("paths.mode=reference",), ("paths.distances_only=true",), ("paths.direction=descendant", "paths.cutoff=2"),
    ("paths.direction=ancestor", "model=gtmp"), ("model=gtmp", "task=node_classification"),
    ("task=node_classification", "paths.mode=reference"), ("paths.aggregate=mean",), ("paths.readout=mean",),
    ("paths.readout=mean", "model=gtmp"),
    ("paths.aggregate=mean", "paths.mode=reference"), ("paths.spanning_trees=3",), ("paths.norm=batch",),
    ("paths.norm=batch", "model=gtmp", "paths.readout=mean", "paths.spanning_trees=2"),
    ("paths.spanning_trees=1", "paths.aggregate=mean", "task=node_classification", "paths.direction=ancestor"),
], ids=lambda options: "-".join(options) or "default")
def test_classes_are_those_of_the_twin(sets, train, run, tmp_path, data, options):
    graphs = list(made_up(40, planar=data == "planar"))
    train(sets / data, "model=sgmp", "task=graph_classification", *options)
    twin = SgmpTwin(tmp_path.joinpath(*MODEL))
    probability = twin(graphs).softmax(1).detach().numpy()
    np.testing.assert_allclose(said(run, tmp_path, sets / data, "probability"), probability, rtol=2e-3, atol=2e-4)
    assert probability.std() > 1e-3


@pytest.mark.parametrize("model", ["sgmp", "gtmp"])
@pytest.mark.parametrize("task", ["graph_regression", "node_regression"])
def test_values_are_those_of_the_twin(sets, train, run, tmp_path, model, task):
    train(sets / "values", f"model={model}", f"task={task}")
    values = SgmpTwin(tmp_path.joinpath(*MODEL))(list(with_values(made_up(40)))).detach().numpy()
    np.testing.assert_allclose(said(run, tmp_path, sets / "values", "value"), values, rtol=2e-3, atol=2e-3)
    shown = json.loads(run("plimsoll", "evaluate", tmp_path / "run", "--data", sets / "values", "--json"))
    assert [split["models"][0]["name"] for split in shown["splits"]] == [model, model]


def pairs():
    """Twenty times the same two graphs, one of each class: whichever train, their mean loss is that of the two."""
    first, second = (data for g, data in enumerate(made_up(14, seed=3)) if g in (11, 13))
    first.y, second.y = torch.tensor(0), torch.tensor(1)
    return [first, second] * 20


@pytest.mark.parametrize("option", ["paths.mode=corrected", "paths.mode=reference", "model=gtmp",
                                    "paths.aggregate=mean"])
def test_the_loss_curve_is_the_twins(train, tmp_path, option):
    graphs = pairs()
    plimsoll.from_pyg(graphs, tmp_path / "set")
    # All graphs in one batch, so that an epoch is a step; a learning rate of 0 leaves the weights as they begin.
    options = ("model=sgmp", option, "task=graph_classification", "training.batch_size=1000", "training.optimizer=sgd",
               "training.gradient_clip_val=0")
    train(tmp_path / "set", *options, "training.learning_rate=0", "training.max_epochs=1")
    twin = SgmpTwin(tmp_path.joinpath(*MODEL))
    assert twin.config["cutoff"] == (10 if "reference" in option else cutoff_of(graphs))
    train(tmp_path / "set", *options, "training.learning_rate=3e-5", "training.max_epochs=8", "--force")
    lines = (tmp_path / "run" / "seed-42" / "gnn" / "metrics.csv").read_text().splitlines()[1:]
    optimizer = torch.optim.SGD(twin.parameters(), lr=3e-5)
    expected = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(twin(graphs[:2]), torch.tensor([0, 1]))
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    assert abs(expected[-1] - expected[0]) > 0.05 * expected[0], "nothing was learned: the comparison says nothing"
    np.testing.assert_allclose([float(line.split(",")[1]) for line in lines], expected, rtol=1e-3)


def test_the_cutoff_is_a_distance_that_numpy_finds(sets, train, tmp_path):
    # Nearly all graphs train, and what is left out is more than 1 % of edges at either end.
    train(sets / "classes", "model=sgmp", "task=graph_classification", "split.validation=0.03", "split.test=0")
    graphs = list(made_up(40))
    distances = {np.float32(d) for data in graphs
                 for d in np.linalg.norm((data.pos[data.edge_index[0]] - data.pos[data.edge_index[1]]).double(), axis=1)}
    found = SgmpTwin(tmp_path.joinpath(*MODEL)).config["cutoff"]
    assert min(abs(found - d) for d in distances) < 1e-6
    assert sum(d <= found for d in distances) / len(distances) == pytest.approx(0.99, abs=0.02)


@pytest.mark.parametrize("options", [("model=sgmp",), ("model=gtmp", "task=node_classification", "paths.mode=reference"),
                                     ("model=sgmp", "paths.aggregate=mean", "paths.spanning_trees=5"),
                                     ("model=sgmp", "paths.norm=batch", "paths.readout=mean")])
def test_the_same_weights_for_every_budget_and_thread(sets, train, run, tmp_path, options):
    options = ("task=graph_classification", *options)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    overrides = [part for option in options for part in ("-O", option)]
    plan = json.loads(run("plimsoll", "plan", tmp_path / "recipe.yaml", "--data", sets / "classes", *overrides, "--json"))
    assert plan["exact"], plan["why_inexact"]
    assert plan["worst_block"]["peak_bytes"] == plan["worst_block"]["verified_peak_bytes"]
    least = plan["min_budget_bytes"]
    weights = set()
    for threads, budget in ((1, least), (2, least), (2, "1GiB"), (4, "1GiB")):
        done = train(sets / "classes", *options, "--force", "--threads", threads, "--budget", budget)
        weights.add(done["weights"])
        assert done["memory"]["anonymous_peak_bytes"] <= done["planned_peak_bytes"]
        assert (done["overflows"], done["unforeseen"]) == (0, 0)
    assert len(weights) == 1
    # Stopped after an epoch and gone on with.
    train(sets / "classes", *options, "training.max_epochs=1", "--force")
    assert train(sets / "classes", *options, "--resume")["weights"] in weights


def test_memory_does_not_grow_with_batches_or_paths(run, tmp_path):
    rng = np.random.default_rng(4)
    clouds = [rng.normal(size=(40, 3)).astype(np.float32) for _ in range(40)]
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("graphs: 5, nodes: 60", "graphs: 2"))

    def planned(knn, batch):
        made = plimsoll.from_points(clouds, tmp_path / f"knn-{knn}", knn=knn, y=[0, 1] * 20, force=True)
        return json.loads(run("plimsoll", "plan", tmp_path / "recipe.yaml", "--data", made.path, "-O", "model=sgmp", "-O",
                              "task=graph_classification", "-O", f"training.batch_size={batch}", "--threads", 1, "--json"))

    few, many = planned(4, 4), planned(12, 4)
    paths = [paths_of(torch.tensor(plimsoll.open(tmp_path / f"knn-{knn}")[0].edge_index), 40, "both", False).shape[1]
             for knn in (4, 12)]
    assert paths[1] > 20 * paths[0]
    grown = many["worst_block"]["peak_bytes"] - few["worst_block"]["peak_bytes"]
    edges = many["worst_block"]["edges"] - few["worst_block"]["edges"]
    assert 0 < grown < 100 * edges < 0.05 * 4 * 40 * paths[1]
    assert planned(12, 32)["worst_block"]["peak_bytes"] == many["worst_block"]["peak_bytes"]


def test_data_that_does_not_do(sets, train, tmp_path):
    options = ("model=sgmp", "task=graph_classification")
    graphs = list(made_up(40))
    for data in graphs:
        data.pos = None
    plimsoll.from_pyg(graphs, tmp_path / "nowhere")
    errors = train(tmp_path / "nowhere", *options, expect=3)
    assert "has no column 'pos'" in errors and "plimsoll ingest points" in errors
    assert not (tmp_path / "run" / "seed-42").exists()
    assert "expected sgmp" not in train(sets / "classes", "model=sgnp", expect=2)
    assert "auto" in train(sets / "classes", *options, "paths.cutoff=0", expect=2)


def test_coordinates_that_are_no_numbers_are_named(sets, train, seal, tmp_path):
    subprocess.run(["cp", "-r", str(sets / "classes"), str(tmp_path / "damaged")], check=True)
    column = np.lib.format.open_memmap(tmp_path / "damaged" / "pos.npy", "r+")
    node_ptr = np.load(tmp_path / "damaged" / "node_ptr.npy")
    column[node_ptr[17] + 2, 1] = np.nan
    column.flush()
    seal(tmp_path / "damaged")
    errors = train(tmp_path / "damaged", "model=sgmp", "task=graph_classification", expect=3)
    assert "graph 17: the coordinate y of node 2 is nan" in errors


def test_points_at_one_place_and_graphs_without_paths_train(train, tmp_path):
    graphs = [Data(x=torch.randn(5, 2), pos=torch.zeros(5, 3), y=torch.tensor(g % 2),
                   edge_index=torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]]) if g % 3 else torch.zeros(2, 0, dtype=torch.long))
              for g in range(20)]
    plimsoll.from_pyg(graphs, tmp_path / "set")
    train(tmp_path / "set", "model=sgmp", "task=graph_classification")
    twin = SgmpTwin(tmp_path.joinpath(*MODEL))
    assert twin.config["cutoff"] == 1
    assert all(weight.isfinite().all() for weight in twin.parameters())


def test_a_table_of_settings(sets, run, tmp_path):
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    command = ("plimsoll", "plan", tmp_path / "recipe.yaml", "--data", sets / "classes", "-O", "model=sgmp", "-O",
               "task=graph_classification", "--table", "1GiB,20MiB", "--threads", 2)
    found = json.loads(run(*command, "--json"))["settings"]
    assert [(row["hidden"], row["layers"]) for row in found] == [(4, 1), (4, 2), (8, 1), (8, 2), (16, 1), (16, 2)]
    for row in found:
        small, large = row["budgets"]
        assert not small["feasible"] and large["feasible"] and large["blocks_in_flight"] == 2 and large["graphs_per_s"] > 0
        alone = json.loads(run("plimsoll", "plan", tmp_path / "recipe.yaml", "--data", sets / "classes", "-O", "model=sgmp",
                               "-O", "task=graph_classification", "-O", f"paths.hidden={row['hidden']}", "-O",
                               f"paths.layers={row['layers']}", "--threads", 2, "--json")) if row["hidden"] == 16 else None
        if alone is not None:
            assert abs(alone["min_budget_bytes"] - row["min_budget_bytes"]) < 4 << 20
    text = run(*command, "--mode", "static")
    assert "2 in flight" in text and "graphs/s" not in text
