"""Labels of tasks that are texts: the same model as with the numbers of the sorted texts, and predictions by name."""

import csv
import json
import sys

import numpy as np
import pytest

from relational_data import CUTS, orders_table, write_folder, write_recipe

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
NAMES = ["amber", "blue", "green"]


@pytest.fixture
def trained(run, tmp_path):
    """trained(name, labels, **options): trains on a task whose labels are labels(counts), and returns the weights."""

    def call(name, labels, task_type="multiclass_classification"):
        tables = write_folder(tmp_path / f"{name}.tables", orders_table(np.random.default_rng(1), 40, 5, 3000))
        manifest = tables / "tasks" / "busy" / "manifest.yaml"
        manifest.write_text(manifest.read_text().replace("binary_classification", task_type))
        for split in CUTS:
            path = tables / "tasks" / "busy" / f"{split}.parquet"
            counts = np.minimum(pq.read_table(tables / "tasks" / "count" / f"{split}.parquet")["label"].to_numpy(), 2).astype(int)
            pq.write_table(pq.read_table(path).set_column(2, "label", pa.array(labels(split, counts))), path)
        run("plimsoll", "ingest", "tables", tables, "--reverse", "--out", tmp_path / name)
        summary = run("plimsoll", "train", write_recipe(tmp_path / "recipe.yaml", "busy"), "--data", tmp_path / name, "--run",
                      tmp_path / f"{name}.run", "--json")
        run("plimsoll", "evaluate", tmp_path / f"{name}.run", "--data", tmp_path / name)
        return json.loads(summary)["weights"], json.loads((tmp_path / f"{name}.run" / "evaluation.json").read_text())

    return call


def test_texts_train_the_model_of_their_numbers(trained, run, tmp_path):
    texts = trained("texts", lambda split, counts: [NAMES[count] for count in counts])
    assert texts == trained("numbers", lambda split, counts: counts)
    run("plimsoll", "predict", tmp_path / "texts.run", "--data", tmp_path / "texts", "--out", tmp_path / "out", "--csv")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["class_names"] == NAMES
    classes = np.load(tmp_path / "out" / "class.npy")
    with open(tmp_path / "out" / "predictions.csv", newline="") as file:
        assert [row["class_name"] for row in csv.DictReader(file)] == [NAMES[number] for number in classes]
    model = next((tmp_path / "texts.run").rglob("model.safetensors")).read_bytes()
    header = json.loads(model[8:8 + int.from_bytes(model[:8], "little")])
    assert json.loads(header["__metadata__"]["plimsoll.class_names"]) == NAMES


def test_two_texts_are_a_binary_task(trained):
    binary = "binary_classification"
    assert trained("texts", lambda split, counts: np.where(counts > 0, "yes", "no"), binary) == trained(
        "numbers", lambda split, counts: (counts > 0).astype(int), binary)


@pytest.mark.parametrize("labels, task_type, found", [
    (lambda split, counts: [NAMES[count] for count in counts] if split == "train" else counts, "multiclass_classification",
     "labels are texts in one split and numbers in another"),
    (lambda split, counts: [NAMES[count] for count in counts], "binary_classification", "found 3 different texts as labels, expected two"),
    (lambda split, counts: [NAMES[count] for count in counts], "regression", "labels are texts, expected numbers"),
])
def test_other_texts_are_refused(trained, labels, task_type, found):
    with pytest.raises(AssertionError, match=found):
        trained("refused", labels, task_type)


def test_texts_that_no_training_seed_has_are_left_out_and_counted(trained, run, tmp_path):
    """The model and the figures are those without these labels."""
    def labels(other):
        return lambda split, counts: [other if split != "train" and row % 30 == 3 else NAMES[count] for row, count in enumerate(counts)]

    weights, unknown = trained("unknown", labels("new"))
    assert (weights, [split.pop("unknown_labels") for split in unknown["splits"]]) == (trained("missing", labels(None))[0], [3, 4])
    assert unknown == json.loads((tmp_path / "missing.run" / "evaluation.json").read_text())
    shown = run("plimsoll", "evaluate", tmp_path / "unknown.run", "--data", tmp_path / "unknown")
    assert "The figures of the split test leave out 4 seeds with a label that no training seed has." in shown
    run("plimsoll", "predict", tmp_path / "unknown.run", "--data", tmp_path / "unknown", "--out", tmp_path / "out")
    assert len(np.load(tmp_path / "out" / "class.npy")) == 40 * sum(len(cuts) for cuts in CUTS.values())


def test_the_baseline_leaves_out_the_same_seeds(trained, run, tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    pytest.importorskip("plimsoll.baseline.run", reason="the package is not installed: run `make package`")
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    trained("unknown", lambda split, counts: ["new" if split != "train" and row % 30 == 3 else NAMES[count] for row, count in enumerate(counts)])
    run("plimsoll", "evaluate", tmp_path / "unknown.run", "--data", tmp_path / "unknown", "--baseline")
    assert len(np.load(tmp_path / "unknown.run" / "baseline" / "test.npy")) == 120 - 4
