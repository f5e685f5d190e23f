"""A node of a giant graph with more edges than fit into a block: `evaluate` and `predict` compute it in chunks."""

import json
import os
import subprocess

import numpy as np
import pytest
from cgroup import MemoryCgroup
from giant_runs import answer, edge_index_of, evaluate, load_weights, pyg_model

CONVS = ["gcn", "gin", "sage", "gat", "gatv2"]
NODES, FEATURES, HUB, CHUNK = 45_000, 4, 7, 16_384
RECIPE = ("task: node_classification\ngnn: {hidden: 8, layers: 2, jk: last, dropout: 0}\n"
          "sampling: {fan_outs: [4, 4]}\ntraining: {max_epochs: 1, batch_size: 4096}\n")


def make_graph(run, folder, nodes, in_edges, features):
    """A graph in which HUB has edges from `in_edges` nodes, and every node from two others."""
    random = np.random.default_rng(3)
    target = np.concatenate([np.full(in_edges, HUB), np.repeat(np.arange(nodes), 2)])
    source = np.concatenate([random.permutation(nodes)[:in_edges], random.integers(0, nodes, 2 * nodes)])
    np.save(folder / "edges.npy", np.stack([source, target]))
    np.save(folder / "x.npy", random.uniform(-1, 1, (nodes, features)).astype(np.float32))
    np.save(folder / "y.npy", random.integers(0, 3, nodes))
    split = {"train": range(0, 3000), "valid": range(3000, 5000), "test": [HUB, *range(5000, 7000)]}
    for name, chosen in split.items():
        (folder / f"{name}.txt").write_text("".join(f"{node}\n" for node in chosen if node != HUB or name == "test"))
    run("plimsoll", "ingest", "graph", "--edges", folder / "edges.npy", "--features", folder / "x.npy", "--labels",
        folder / "y.npy", *(word for name in split for word in (f"--{name}", folder / f"{name}.txt")), "--ids", "dense",
        "--out", folder / "graph")
    return folder / "graph"


@pytest.fixture(scope="module")
def graph(run, tmp_path_factory):
    return make_graph(run, tmp_path_factory.mktemp("hub"), NODES, 2 * CHUNK + 7000, FEATURES)


@pytest.fixture
def trained(run, graph, tmp_path):
    def train(conv):
        (tmp_path / "recipe.yaml").write_text(RECIPE)
        run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", graph, "--run", tmp_path / "run", "-O",
            f"gnn.conv={conv}")
        return tmp_path / "run"

    return train


def probabilities(bin_dir, run, graph, out, *words):
    answer(bin_dir, "predict", run, "--data", graph, "--out", out, *words)
    return np.load(out / "probability.npy")


@pytest.mark.parametrize("conv", CONVS)
def test_a_hub_is_what_pyg_computes_in_double_precision(bin_dir, graph, trained, tmp_path, conv):
    torch = pytest.importorskip("torch")
    run = trained(conv)
    found = probabilities(bin_dir, run, graph, tmp_path / "out")
    model = pyg_model(conv, load_weights(run), FEATURES, 8, 3, 2).double()
    x = torch.from_numpy(np.load(graph / "x.npy").astype(np.float64))
    edges = edge_index_of(graph)
    assert (edges[1] == HUB).sum() > 2 * CHUNK
    with torch.no_grad():
        expected = model(x, edges).softmax(1).numpy()
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize("conv", ["gcn", "gatv2"])
def test_a_hub_has_the_same_bits_for_any_budget_and_threads(bin_dir, graph, trained, tmp_path, conv):
    run = trained(conv)
    whole = probabilities(bin_dir, run, graph, tmp_path / "whole", "--threads", 1)
    for number, words in enumerate((["--threads", 4], ["--threads", 2, "--budget", "100MiB"], ["--budget", "1500MiB"])):
        assert (probabilities(bin_dir, run, graph, tmp_path / str(number), *words) == whole).all()


@pytest.mark.skipif("PLIMSOLL_SLOW" not in os.environ, reason="a minute: set PLIMSOLL_SLOW")
def test_a_hub_of_two_million_edges_is_evaluated_in_100_mib(bin_dir, run, tmp_path):
    large = make_graph(run, tmp_path, 2_500_000, 2_000_000, 8)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", large, "--run", tmp_path / "run", "-O", "gnn.conv=gat",
        "-O", "gnn.hidden=16")
    expected = evaluate(bin_dir, tmp_path / "run", large, "--budget", "1500MiB")
    command = [bin_dir / "plimsoll", "evaluate", tmp_path / "run", "--data", large, "--budget", "100MiB", "--json"]
    try:
        cgroup = MemoryCgroup(100 << 20)
    except OSError as error:
        pytest.skip(f"no memory cgroup: {error}")
    with cgroup:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600,
                              preexec_fn=cgroup.join)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["splits"] == expected["splits"]
