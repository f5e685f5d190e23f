"""Tasks of several labels of linked tables: metrics as scikit-learn's, plans that hold, the same bits under any budget."""

import json
import subprocess

import numpy as np
import pytest

from relational_data import CUTS, TASK, orders_table, write_folder, write_recipe

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
LABELS = 4
USERS = 40


def labels_of(random, rows):
    return (random.random((rows, LABELS)) < [0.2, 0.5, 0.7, 0.4]).astype(int)


def write_labels(folder, missing=(), fixed=False, change=lambda labels: labels):
    """Adds the task `tags` with 0 or 1 for each label of a user, and returns the labels by split."""
    task, random, found = folder / "tasks" / "tags", np.random.default_rng(5), {}
    task.mkdir()
    (task / "manifest.yaml").write_text(TASK.format(kind="forecast", type="multilabel_classification", target="tags", more=""))
    for split in CUTS:
        table = pq.read_table(folder / "tasks" / "busy" / f"{split}.parquet").drop_columns(["label"])
        rows = [None if row in missing else labels.tolist() for row, labels in enumerate(labels_of(random, len(table)))]
        found[split] = np.array([[np.nan] * LABELS if row is None else row for row in rows])
        kind = pa.list_(pa.float32(), LABELS) if fixed else pa.list_(pa.int64())
        pq.write_table(table.append_column("tags", pa.array(change(rows), kind)), task / f"{split}.parquet")
    return found


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """made(name, ...): a data set and the labels of its task."""
    folder, sets = tmp_path_factory.mktemp("labels"), {}

    def make(name="lists", **options):
        if name not in sets:
            tables = write_folder(folder / f"{name}.tables", orders_table(np.random.default_rng(1), USERS, 5, 3000))
            labels = write_labels(tables, **options)
            run("plimsoll", "ingest", "tables", tables, "--reverse", "--out", folder / name)
            sets[name] = folder / name, labels
        return sets[name]

    return make


@pytest.fixture
def train(bin_dir, tmp_path):
    """train(data, name, *arguments): trains, and returns the summary, or the message of a failure."""

    def call(data, name, *arguments, code=0):
        recipe = write_recipe(tmp_path / f"{name}.yaml", "tags")
        done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", "train", recipe, "--data", data, "--run", tmp_path / name, "--json",
                                                      *arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else done.stderr

    return call


def test_same_weights_under_any_budget_and_for_lists_and_vectors(run, made, train, tmp_path):
    data, _ = made()
    whole = train(data, "whole", "--threads", 2)
    plan = json.loads(run("plimsoll", "plan", tmp_path / "whole.yaml", "--data", data, "--budget", "1GiB", "--json"))
    assert plan["exact"], plan
    assert train(data, "small", "--threads", 1, "--budget", plan["min_budget_bytes"])["weights"] == whole["weights"]
    assert train(made("vectors", fixed=True)[0], "vectors")["weights"] == whole["weights"]


@pytest.mark.parametrize("name, missing", [("lists", ()), ("some", (3, 17, 60))])
def test_figures_equal_scikit_learn(run, made, train, tmp_path, name, missing):
    metrics = pytest.importorskip("sklearn.metrics")
    data, labels = made(name, missing=missing)
    train(data, "run")
    run("plimsoll", "evaluate", tmp_path / "run", "--data", data)
    run("plimsoll", "predict", tmp_path / "run", "--data", data, "--out", tmp_path / "out")
    outputs = np.load(tmp_path / "out" / "probability.npy").astype(float)
    outputs = dict(zip(labels, np.split(outputs, np.cumsum([len(rows) for rows in labels.values()])[:-1])))
    users = {split: np.tile(np.arange(USERS), len(CUTS[split])) for split in CUTS}
    shares = np.nanmean(labels["train"], axis=0)
    own = np.stack([np.nanmean(labels["train"][users["train"] == user], axis=0) for user in range(USERS)])
    for split in json.loads((tmp_path / "run" / "evaluation.json").read_text())["splits"]:
        known = ~np.isnan(labels[split["name"]][:, 0])
        truth, of = labels[split["name"]][known], users[split["name"]][known]
        expected = {"relational": outputs[split["name"]][known], "history": own[of], "constant": np.tile(shares, (len(truth), 1))}
        assert split["items"] == known.sum() and [model["name"] for model in split["models"]] == list(expected)
        for model in split["models"]:
            score = expected[model["name"]].astype(np.float32).astype(float)
            assert model["macro_auc"] == pytest.approx(metrics.roc_auc_score(truth, score, average="macro"), abs=1e-5)
            assert model["micro_f1"] == pytest.approx(metrics.f1_score(truth, score > 0.5, average="micro"), abs=1e-5)
        logits = np.log(expected["relational"] / (1 - expected["relational"]))
        loss = (np.logaddexp(0, logits) - logits * truth).mean()
        assert split["models"][0]["loss"] == pytest.approx(loss, abs=1e-4)


@pytest.mark.parametrize("name, change, found", [
    ("numbers", lambda rows: [[3], *rows[1:]], "found the label '3', expected in each row a list with a 0 or 1 for every label"),
    ("short", lambda rows: [*rows[:5], rows[5][:2], *rows[6:]], "row 5 has 2 labels, but the first row of the split train has 4"),
])
def test_labels_of_another_form_are_refused(made, train, name, change, found):
    assert found in train(made(name, change=change)[0], "refused", code=3)
