"""Weights and features of edges on one giant graph: the same bits for every budget, and what PyTorch Geometric says."""

import subprocess

import numpy as np
import pytest
from giant_runs import answer, edge_index_of, evaluate, kill_often, load_weights, plan_of

torch = pytest.importorskip("torch")
geometric = pytest.importorskip("torch_geometric.nn")

RECIPE = """
task: node_classification
sampling: {fan_outs: [6, 4]}
training: {max_epochs: 2, batch_size: 100, learning_rate: 0.01, weight_decay: 0, checkpoint_every_s: 0,
           block: {seeds: 32}}
gnn: {layers: 2, hidden: 16, dropout: 0.3}
"""
NODES, FEATURES, HIDDEN, CLASSES, EDGE_FEATURES = 4000, 32, 16, 4, 3
# Weights alone, features alone, and both: the weight is the first feature.
CASES = {"sage": ("sage", True), "gcn": ("gcn", True), "gin": ("gin", True), "gat": ("gat", False),
         "gatv2": ("gatv2", False), "gat with weights": ("gat", True)}


def of_case(case):
    conv, weight = CASES[case]
    return ["-O", f"gnn.conv={conv}", "-O", f"gnn.edge_weight={str(weight).lower()}"]


@pytest.fixture(scope="module")
def graph(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("edges")
    random = np.random.default_rng(3)
    order = random.permutation(NODES)
    made = {"edges": random.integers(0, NODES, (40_000, 2)), "weights": random.uniform(0.1, 2, 40_000).astype(np.float32),
            "values": random.normal(size=(40_000, EDGE_FEATURES)).astype(np.float32),
            "features": random.normal(size=(NODES, FEATURES)).astype(np.float32), "labels": random.integers(0, CLASSES, NODES),
            "train": np.sort(order[:900]), "valid": np.sort(order[900:1300]), "test": np.sort(order[1300:1700])}
    for name, values in made.items():
        np.save(folder / f"{name}.npy", values)
    options = {"edges": "edges", "weight": "weights", "edge-features": "values", "features": "features", "labels": "labels",
               "train": "train", "valid": "valid", "test": "test"}
    run("plimsoll", "ingest", "graph", "--ids", "dense", "--self-loops", "drop", "--dedup", "--out", folder / "graph",
        *(word for option, name in options.items() for word in (f"--{option}", folder / f"{name}.npy")))
    return folder / "graph"


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "edges.yaml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def train(bin_dir, graph, recipe):
    def train_into(run, *arguments):
        return answer(bin_dir, "train", recipe, "--data", graph, "--run", run, *arguments)

    return train_into


class Mean(geometric.GraphConv):
    """SAGEConv with weights, under its names."""

    def __init__(self, width, hidden):
        super().__init__(width, hidden, aggr="mean")
        self.lin_l, self.lin_r = self.lin_rel, self.lin_root
        del self.lin_rel, self.lin_root

    def forward(self, x, edge_index, edge_weight):
        return self.lin_l(self.propagate(edge_index, x=(x, x), edge_weight=edge_weight)) + self.lin_r(x)


class Sum(torch.nn.Module):
    """GINConv with weights."""

    def __init__(self, width, hidden):
        super().__init__()
        self.nn = torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, hidden))

    def forward(self, x, edge_index, edge_weight):
        return self.nn(x.index_add(0, edge_index[1], x[edge_index[0]] * edge_weight[:, None]))


class Model(torch.nn.Module):
    """The network of a run, with its weights."""

    def __init__(self, case, tensors):
        super().__init__()
        conv, weight = CASES[case]
        kinds = {"sage": Mean, "gin": Sum, "gcn": geometric.GCNConv, "gat": geometric.GATConv, "gatv2": geometric.GATv2Conv}
        options = {"edge_dim": EDGE_FEATURES + weight} if conv.startswith("gat") else {}
        self.convs = torch.nn.ModuleList(kinds[conv](width, HIDDEN, **options) for width in (FEATURES, HIDDEN))
        self.lin = torch.nn.Linear(HIDDEN, CLASSES)
        self.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in tensors.items()
                              if not name.startswith("vocabulary")})

    def forward(self, x, edge_index, columns):
        for conv in self.convs:
            x = conv(x, edge_index, columns).relu()
        return self.lin(x)


def columns_of(case, graph):
    """What the convolution is given of each edge."""
    conv, weight = CASES[case]
    weights = torch.from_numpy(np.load(graph / "edge_weight.npy"))
    if not conv.startswith("gat"):
        return weights
    features = torch.from_numpy(np.load(graph / "edge_attr.npy"))
    return torch.cat([weights[:, None], features], 1) if weight else features


@pytest.mark.parametrize("case", ["sage", "gcn", "gatv2", "gat with weights"])
def test_bits_do_not_depend_on_budget_threads_or_scratch(bin_dir, recipe, graph, train, tmp_path, case):
    words = of_case(case)
    plan = plan_of(bin_dir, recipe, graph, *words)
    assert plan["exact"]
    whole = train(tmp_path / "whole", "--threads", 1, *words)["weights"]
    least = plan["min_budget_bytes"]
    for i, more in enumerate([("--threads", 1, "--budget", least), ("--threads", 1, "--budget", least + 900_000),
                              ("--threads", 2, "--budget", "1GiB"), ("--threads", 3, "--scratch", 0)]):
        assert train(tmp_path / str(i), *words, *more)["weights"] == whole, more


def test_columns_change_what_is_learned(train, tmp_path):
    weights = {train(tmp_path / str(i), "-O", f"gnn.conv={conv}", "-O", f"gnn.edge_weight={weight}")["weights"]
               for i, (conv, weight) in enumerate([("sage", "false"), ("sage", "true"), ("gat", "false"), ("gat", "true")])}
    assert len(weights) == 4


def test_kills_change_no_bit(bin_dir, recipe, graph, train, tmp_path):
    words = of_case("gat with weights")
    whole = train(tmp_path / "whole", *words)["weights"]
    folder = tmp_path / "run"
    kill_often([bin_dir / "plimsoll", "train", recipe, "--data", graph, "--run", folder, "--resume", *words], 4, 1.6)
    assert train(folder, "--resume", *words)["weights"] == whole


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_that_of_pyg(graph, train, tmp_path, case):
    """A sample of all neighbours in PyTorch Geometric, every layer on all of its nodes."""
    rate, weights = 10, []
    for learning_rate in (0, rate):
        run = tmp_path / str(learning_rate)
        options = {"gnn.dropout": 0, "sampling.fan_outs": "[-1,-1]", "training.max_epochs": 1, "training.optimizer": "sgd",
                   "training.learning_rate": learning_rate, "training.batch_size": 1000, "training.block.seeds": 1000}
        train(run, *of_case(case), *(word for key, value in options.items() for word in ("-O", f"{key}={value}")))
        weights.append(load_weights(run))
    seeds = np.load(graph / "train_idx.npy")
    edge_index = edge_index_of(graph)
    reached = np.union1d(seeds, edge_index[0][torch.isin(edge_index[1], torch.from_numpy(seeds))])
    sampled = torch.isin(edge_index[1], torch.from_numpy(reached))
    model = Model(case, weights[0])
    logits = model(torch.from_numpy(np.load(graph / "x.npy")), edge_index[:, sampled], columns_of(case, graph)[sampled])
    torch.nn.functional.cross_entropy(logits[seeds], torch.from_numpy(np.load(graph / "y.npy"))[seeds]).backward()
    for name, parameter in model.named_parameters():
        found = (weights[0][name].astype(np.float64) - weights[1][name]) / rate
        gradient = parameter.grad.numpy()
        assert np.abs(found - gradient).max() <= 1e-5 * max(np.abs(gradient).max(), 1e-1), name


@pytest.mark.parametrize("case", CASES)
def test_evaluation_takes_all_neighbours_as_pyg_does(bin_dir, graph, train, tmp_path, case):
    train(tmp_path / "run", *of_case(case))
    found = evaluate(bin_dir, tmp_path / "run", graph)
    assert evaluate(bin_dir, tmp_path / "run", graph, "--budget", "80MiB", "--threads", 2) == found
    with torch.no_grad():
        logits = Model(case, load_weights(tmp_path / "run")).eval()(
            torch.from_numpy(np.load(graph / "x.npy")), edge_index_of(graph), columns_of(case, graph))
    y = torch.from_numpy(np.load(graph / "y.npy"))
    for split in found["splits"]:
        nodes = torch.from_numpy(np.load(graph / f"{split['name']}_idx.npy"))
        loss = torch.nn.functional.cross_entropy(logits[nodes], y[nodes]).item()
        assert split["models"][0]["loss"] == pytest.approx(loss, rel=2e-5)


def test_links_are_predicted_with_edge_columns(bin_dir, run, graph, tmp_path):
    """The same bits, and embeddings of all nodes that depend on the columns."""
    run("plimsoll", "split-edges", graph, "--out", tmp_path / "split")
    recipe = tmp_path / "links.yaml"
    recipe.write_text(RECIPE.replace("node_classification", "link_prediction"))
    shorter = ["-O", "training.max_epochs=1", "-O", "training.batch_size=400", "-O", "training.block.seeds=128"]
    for case in ("sage", "gat with weights"):
        words = [recipe, "--data", tmp_path / "split", *of_case(case), *shorter]
        weights = {answer(bin_dir, "train", *words, "--run", tmp_path / f"{case} {threads}", "--threads", threads)["weights"]
                   for threads in (1, 2)}
        assert len(weights) == 1
        evaluate(bin_dir, tmp_path / f"{case} 1", tmp_path / "split")


def refusal(bin_dir, recipe, data, tmp_path, *arguments, environment=None):
    command = [bin_dir / "plimsoll", "train", recipe, "--data", data, "--run", tmp_path / "refused", *arguments]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, env=environment)
    return done.returncode, done.stderr


def test_weights_that_are_not_there_are_refused(bin_dir, run, recipe, tmp_path):
    run("plimsoll", "simulate", "graph", "--nodes", 500, "--degree", 5, "--features", 8, "--classes", 2, "--out",
        tmp_path / "graph")
    code, text = refusal(bin_dir, recipe, tmp_path / "graph", tmp_path, *of_case("sage"))
    assert code == 3 and "edge_weight" in text and "--weight" in text, text


@pytest.mark.parametrize("column, case", [("edge_weight.npy", "sage"), ("edge_attr.npy", "gatv2")])
def test_a_block_of_the_disk_that_cannot_be_read_is_named(bin_dir, failing_disk, recipe, graph, tmp_path, column, case):
    code, text = refusal(bin_dir, recipe, graph, tmp_path, "--threads", 1, *of_case(case),
                         environment=failing_disk(column, 100_000))
    assert code == 1 and column in text and "Input/output error" in text, text
