"""Numbers and several labels of the nodes of one giant graph: losses of PyTorch Geometric, figures of scikit-learn."""

import subprocess

import numpy as np
import pytest
from giant_runs import answer, edge_index_of, evaluate, load_weights, plan_of, pyg_model

torch = pytest.importorskip("torch")
metrics = pytest.importorskip("sklearn.metrics")

NODES, FEATURES, HIDDEN = 900, 6, 16
RECIPE = """
task: {task}
features: {{standardize: true}}
sampling: {{fan_outs: [-1, -1]}}
training: {{max_epochs: {epochs}, batch_size: 1000, learning_rate: {rate}, weight_decay: 0, gradient_clip_val: 0,
           block: {{seeds: 64}}}}
gnn: {{conv: sage, layers: 2, hidden: 16}}
"""
WIDTHS = {"node_regression": 2, "node_multilabel_classification": 5}


class Made:
    """A graph for one task, and runs on it."""

    def __init__(self, run, bin_dir, folder, task):
        self.task, self.bin_dir, self.folder, self._run = task, bin_dir, folder, run
        random = np.random.default_rng(7)
        edges = random.integers(0, NODES, (6 * NODES, 2))
        self.x = (random.standard_normal((NODES, FEATURES)) * [1, 50, 0.01, 1, 1, 1]).astype(np.float32)
        width = WIDTHS[task]
        about = self.x / self.x.std(0) @ random.standard_normal((FEATURES, width)) + 0.2 * random.standard_normal((NODES, width))
        self.y = (about * 7 + 100 if task == "node_regression" else about > 0.3).astype(np.float32)
        self.y[random.random(self.y.shape) < 0.1] = np.nan
        self.y[::11] = np.nan
        order = random.permutation(NODES)
        self.splits = {"train": np.sort(order[:400]), "valid": np.sort(order[400:600]), "test": np.sort(order[600:])}
        for name, values in (("edges", edges), ("x", self.x), ("targets", self.y), *self.splits.items()):
            np.save(folder / f"{name}.npy", values)
        self.graph = self.ingest("graph", "--ids", "dense", *(
            word for split in self.splits for word in (f"--{split}", folder / f"{split}.npy")))

    def ingest(self, name, *words):
        self._run("plimsoll", "ingest", "graph", "--edges", self.folder / "edges.npy", "--features", self.folder / "x.npy",
                  "--targets", self.folder / "targets.npy", "--out", self.folder / name, *words)
        return self.folder / name

    def recipe(self, epochs, rate):
        path = self.folder / f"recipe-{epochs}-{rate}.yaml"
        path.write_text(RECIPE.format(task=self.task, epochs=epochs, rate=rate))
        return path

    def train(self, name, epochs, rate, *words):
        return answer(self.bin_dir, "train", self.recipe(epochs, rate), "--data", self.graph, "--run", self.folder / name, *words)

    def outputs(self, run):
        """Outputs of all nodes by PyTorch Geometric, in the units of the data."""
        tensors = load_weights(run)
        units = {name: torch.from_numpy(tensors.pop(name).copy()) for name in list(tensors) if name.startswith(("features.", "target."))}
        model = pyg_model("sage", tensors, FEATURES, HIDDEN, WIDTHS[self.task], 2)
        x = (torch.from_numpy(self.x) - units["features.mean"]) / units["features.scale"]
        with torch.no_grad():
            found = model(x, edge_index_of(self.graph))
        return found * units["target.scale"] + units["target.mean"] if "target.mean" in units else found

    def loss(self, run, split):
        """The loss of PyTorch over the known targets of the nodes that have one."""
        rows = torch.from_numpy(self.splits[split])
        found, expected = self.outputs(run)[rows].double(), torch.from_numpy(self.y)[rows].double()
        items = ~expected.isnan().all(1)
        found, expected = found[items], expected[items]
        known = ~expected.isnan()
        if self.task == "node_regression":
            scale = torch.from_numpy(load_weights(run)["target.scale"].copy()).double()
            losses = torch.nn.functional.mse_loss(found / scale, expected.nan_to_num(0) / scale, reduction="none")
        else:
            losses = torch.nn.functional.binary_cross_entropy_with_logits(found, expected.nan_to_num(0), reduction="none")
        return float((losses * known).mean()), found.numpy(), expected.numpy()


@pytest.fixture(scope="module", params=list(WIDTHS))
def made(request, run, bin_dir, tmp_path_factory):
    return Made(run, bin_dir, tmp_path_factory.mktemp("targets"), request.param)


@pytest.fixture(scope="module")
def trained(made):
    return made.train("run", 4, 0.02, "--threads", 1)


@pytest.fixture(scope="module")
def still(made):
    """A run whose weights stay as they begin, at a rate of 0."""
    return made.train("still", 1, 0)


def test_the_column_holds_the_targets(made, run):
    assert np.array_equal(np.load(made.graph / "node_target.npy"), made.y, equal_nan=True)
    run("plimsoll", "verify", made.graph)
    by_degree = made.ingest("by-degree", "--ids", "dense", "--order", "degree")
    order = np.load(by_degree / "node_id.npy")
    assert np.array_equal(np.load(by_degree / "node_target.npy"), made.y[order], equal_nan=True)
    backwards = np.arange(NODES)[::-1]
    (made.folder / "nodes.txt").write_text("id\n" + "".join(f"{node}\n" for node in backwards))
    by_table = made.ingest("by-table", "--nodes", made.folder / "nodes.txt", "--ids", "sparse")
    assert np.array_equal(np.load(by_table / "node_target.npy"), made.y[backwards], equal_nan=True)


def test_the_loss_of_a_step_is_that_of_pytorch_geometric(made, still):
    """All neighbours are taken."""
    for split, name in (("train", "training_loss"), ("valid", "validation_loss")):
        assert still[name] == pytest.approx(made.loss(made.folder / "still", split)[0], rel=1e-4)


def test_targets_are_learned(made, trained, still):
    assert trained["validation_loss"] < made.loss(made.folder / "still", "valid")[0] * 0.95


def test_figures_are_those_of_scikit_learn(made, trained):
    found = {split["name"]: split for split in evaluate(made.bin_dir, made.folder / "run", made.graph)["splits"]}
    assert set(found) == {"valid", "test"}
    for name, split in found.items():
        loss, outputs, expected = made.loss(made.folder / "run", name)
        figures = split["models"][0]
        assert split["items"] == len(expected)
        assert figures["loss"] == pytest.approx(loss, rel=1e-4)
        columns = [(outputs[:, t][~np.isnan(expected[:, t])], expected[:, t][~np.isnan(expected[:, t])]) for t in range(expected.shape[1])]
        if made.task == "node_regression":
            assert figures["mae"] == pytest.approx(np.mean([metrics.mean_absolute_error(y, x) for x, y in columns]), rel=1e-4)
            assert figures["r2"] == pytest.approx(np.mean([metrics.r2_score(y, x) for x, y in columns]), rel=1e-3)
        else:
            known = ~np.isnan(expected)
            assert figures["micro_f1"] == pytest.approx(metrics.f1_score(expected[known], outputs[known] > 0), rel=1e-6)
            assert figures["macro_auc"] == pytest.approx(np.mean([metrics.roc_auc_score(y, x) for x, y in columns]), rel=1e-4)
    assert (made.folder / "run" / "report.html").exists()


def test_runs_are_compared_by_their_figures(made, trained, run):
    evaluate(made.bin_dir, made.folder / "run", made.graph)
    table = run("plimsoll", "compare", made.folder / "run", made.folder / "run")
    for name in ("mae", "r2") if made.task == "node_regression" else ("micro_f1", "macro_auc"):
        assert f": {name}" in table


def test_predictions_need_no_targets(made, trained, tmp_path, run):
    run("plimsoll", "ingest", "graph", "--edges", made.folder / "edges.npy", "--features", made.folder / "x.npy", "--ids", "dense",
        "--out", tmp_path / "bare")
    answer(made.bin_dir, "predict", made.folder / "run", "--data", tmp_path / "bare", "--out", tmp_path / "out", "--csv")
    expected = made.outputs(made.folder / "run")
    if made.task == "node_regression":
        np.testing.assert_allclose(np.load(tmp_path / "out" / "value.npy"), expected, rtol=1e-4)
    else:
        np.testing.assert_allclose(np.load(tmp_path / "out" / "probability.npy"), expected.sigmoid(), atol=1e-5)
        assert not (tmp_path / "out" / "class.npy").exists()
    header = (tmp_path / "out" / "predictions.csv").read_text().splitlines()[0]
    letter = "value" if made.task == "node_regression" else "p"
    assert header == ",".join(["row", "node", *(f"{letter}{t}" for t in range(WIDTHS[made.task]))])


def test_the_smallest_budget_works_and_changes_no_bit(made, trained):
    plan = plan_of(made.bin_dir, made.recipe(4, 0.02), made.graph)
    assert plan["exact"] and plan["evaluation_min_budget_bytes"] > 0
    small = made.train("small", 4, 0.02, "--threads", 1, "--budget", plan["min_budget_bytes"])
    assert small["weights"] == trained["weights"] and small["unforeseen"] == small["overflows"] == 0
    assert made.train("threads", 4, 0.02, "--threads", 3)["weights"] == trained["weights"]
    evaluate(made.bin_dir, made.folder / "run", made.graph, "--split", "test", "--budget", plan["evaluation_min_budget_bytes"])


def test_labels_other_than_0_and_1_are_refused(made, tmp_path):
    if made.task == "node_regression":
        pytest.skip("numbers may be any")
    np.save(tmp_path / "targets.npy", np.where(made.y == 1, 2, made.y))
    command = [made.bin_dir / "plimsoll", "ingest", "graph", "--edges", made.folder / "edges.npy", "--features", made.folder / "x.npy",
               "--targets", tmp_path / "targets.npy", "--ids", "dense", "--train", made.folder / "train.npy", "--valid",
               made.folder / "valid.npy", "--out", tmp_path / "graph"]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    done = subprocess.run([made.bin_dir / "plimsoll", "plan", made.recipe(1, 0), "--data", tmp_path / "graph"],
                          capture_output=True, text=True)
    assert done.returncode == 3 and "found 2, expected a label 0 or 1, or NaN" in done.stderr


def test_a_graph_without_targets_is_refused_with_the_remedy(made, tmp_path, run):
    run("plimsoll", "simulate", "graph", "--nodes", 200, "--features", FEATURES, "--out", tmp_path / "classes")
    done = subprocess.run([made.bin_dir / "plimsoll", "plan", made.recipe(1, 0), "--data", tmp_path / "classes"],
                          capture_output=True, text=True)
    assert done.returncode == 3 and "ingest graph --targets" in done.stderr
