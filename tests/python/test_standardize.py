"""`features.standardize`: statistics of the training split in the model file, applied in train, evaluate and predict."""

import subprocess

import numpy as np
import pytest
from giant_runs import answer, evaluate, load_weights, plan_of
from package_data import plimsoll

NODES = 600
SCALES = np.array([1, 5000, 0.03, 1], np.float32)
RECIPE = """
task: {task}
features: {{standardize: {standardize}}}
sampling: {{fan_outs: [5, 5]}}
split: {{by: graph}}
training: {{max_epochs: 2, batch_size: 100, block: {{seeds: 32}}}}
gnn: {{conv: gcn, layers: 2, hidden: 8, norm: batch}}
"""


def standardized(x, rows):
    """In f32, as the model computes it, by moments in f64."""
    mean = x[rows].astype(np.float64).mean(0).astype(np.float32)
    scale = x[rows].astype(np.float64).std(0).astype(np.float32)
    return (x - mean) / np.where(scale > 0, scale, np.float32(1)), mean, scale


def ingest(run, folder, name, x):
    np.save(folder / f"{name}.npy", x)
    run("plimsoll", "ingest", "graph", "--edges", folder / "edges.npy", "--features", folder / f"{name}.npy", "--labels",
        folder / "y.npy", "--ids", "dense", "--out", folder / name,
        *(word for split in ("train", "valid", "test") for word in (f"--{split}", folder / f"{split}.npy")))
    return folder / name


@pytest.fixture(scope="module")
def giant(run, bin_dir, tmp_path_factory):
    """Runs on raw features with the key, and on features that were standardized before, without it."""
    folder = tmp_path_factory.mktemp("standardize")
    random = np.random.default_rng(5)
    x = (random.standard_normal((NODES, 4)) * SCALES + 3).astype(np.float32)
    x = np.hstack([x, np.full((NODES, 1), 7, np.float32)])
    np.save(folder / "edges.npy", random.integers(0, NODES, (5 * NODES, 2)))
    np.save(folder / "y.npy", random.integers(0, 3, NODES))
    order = random.permutation(NODES)
    splits = {"train": np.sort(order[:300]), "valid": np.sort(order[300:450]), "test": np.sort(order[450:])}
    for split, nodes in splits.items():
        np.save(folder / f"{split}.npy", nodes)
    raw = ingest(run, folder, "raw", x)
    before = ingest(run, folder, "before", standardized(x, splits["train"])[0])
    for name, graph, key in (("with", raw, "true"), ("without", before, "false")):
        (folder / f"{name}.yaml").write_text(RECIPE.format(task="node_classification", standardize=key))
        answer(bin_dir, "train", folder / f"{name}.yaml", "--data", graph, "--run", folder / f"run-{name}", "--threads", 1)
    return folder, x, splits


def test_the_file_has_the_statistics_of_the_nodes_that_train(giant):
    folder, x, splits = giant
    tensors = load_weights(folder / "run-with")
    _, mean, scale = standardized(x, splits["train"])
    np.testing.assert_allclose(tensors["features.mean"], mean, rtol=1e-6)
    np.testing.assert_allclose(tensors["features.scale"], np.where(scale > 0, scale, 1), rtol=1e-6)
    assert "features.mean" not in load_weights(folder / "run-without")


def test_it_is_as_if_the_data_had_been_standardized(bin_dir, giant, tmp_path):
    folder, _, _ = giant
    with_key, without = load_weights(folder / "run-with"), load_weights(folder / "run-without")
    for name, values in without.items():
        np.testing.assert_allclose(with_key[name], values, rtol=1e-3, atol=1e-5)
    for name, graph in (("with", "raw"), ("without", "before")):
        answer(bin_dir, "predict", folder / f"run-{name}", "--data", folder / graph, "--out", tmp_path / name)
    np.testing.assert_allclose(np.load(tmp_path / "with" / "probability.npy"), np.load(tmp_path / "without" / "probability.npy"),
                               atol=1e-4)
    figures = [evaluate(bin_dir, folder / f"run-{name}", folder / graph)["splits"][1]["models"][0]["loss"]
               for name, graph in (("with", "raw"), ("without", "before"))]
    assert figures[0] == pytest.approx(figures[1], rel=1e-4)


def test_bits_do_not_depend_on_budget_and_threads(bin_dir, giant, tmp_path):
    folder, _, _ = giant
    recipe = folder / "with.yaml"
    plan = plan_of(bin_dir, recipe, folder / "raw")
    assert plan["exact"]
    runs = {"small": ("--threads", 1, "--budget", plan["min_budget_bytes"]), "threads": ("--threads", 3)}
    found = {name: answer(bin_dir, "train", recipe, "--data", folder / "raw", "--run", tmp_path / name, *words)
             for name, words in runs.items()}
    assert found["small"]["unforeseen"] == 0
    assert found["small"]["weights"] == found["threads"]["weights"]
    for name, values in load_weights(tmp_path / "small").items():
        assert (values == load_weights(folder / "run-with")[name]).all()


def test_small_graphs_count_all_nodes_of_those_that_train(run, bin_dir, tmp_path):
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    generator = torch.Generator().manual_seed(1)
    graphs = [data.Data(x=torch.randn(5 + i % 4, 3, generator=generator) * torch.tensor([1.0, 40.0, 0.1]), y=torch.tensor([i % 2]),
                        edge_index=torch.randint(0, 5, (2, 8), generator=generator)) for i in range(60)]
    plimsoll.from_pyg(graphs, tmp_path / "set")
    (tmp_path / "recipe.yaml").write_text(RECIPE.format(task="graph_classification", standardize="true"))
    summary = answer(bin_dir, "train", tmp_path / "recipe.yaml", "--data", tmp_path / "set", "--run", tmp_path / "run")
    tensors = load_weights(tmp_path / "run")
    every = torch.cat([graph.x for graph in graphs])
    np.testing.assert_allclose(tensors["features.scale"], every.std(0), rtol=0.3)
    assert summary["epochs"] == 2
    evaluate(bin_dir, tmp_path / "run", tmp_path / "set")


@pytest.mark.parametrize("graph, recipe, warns", [("raw", "without", True), ("raw", "with", False), ("before", "without", False)])
def test_a_warning_says_which_features_vary_most_and_least(bin_dir, giant, tmp_path, graph, recipe, warns):
    folder, _, _ = giant
    done = subprocess.run([bin_dir / "plimsoll", "train", folder / f"{recipe}.yaml", "--data", folder / graph, "--run", tmp_path / "run"],
                          capture_output=True, text=True)
    assert done.returncode == 0
    assert ("node feature 'feature_1' varies" in done.stderr and "as much as 'feature_2'" in done.stderr) == warns, done.stderr
    assert ("features.standardize: true" in done.stderr) == warns
