"""`plimsoll predict --csv` of the task relational writes the table that relbench.submit accepts."""

import csv
import subprocess

import numpy as np
import pytest

from typed_graphs import NODES, folder_of, ingest_tables

pa = pytest.importorskip("pyarrow")

RECIPE = """
task: relational
relational: {task: spending, channels: 8}
sampling: {fan_outs: [4]}
training: {max_epochs: 1, batch_size: 32, optimizer: adam, block: {graphs: 16, nodes: 1024, edges: 4096}}
"""
YES_OR_NO = NODES.replace("regression", "binary_classification")


def made_shop(path, words, labels, unit):
    """A RelBench folder of users with text keys and their orders, and a task whose labels are made by `labels`. Times are
    multiples of `unit` nanoseconds."""
    random = np.random.default_rng(1)
    users = pa.array([f"u,{number}" for number in random.permutation(40)])
    picked = lambda rows: pa.array([users[int(row)].as_py() for row in random.integers(0, 40, rows)])  # noqa: E731
    at = lambda rows, day: pa.array(np.sort(random.integers(day * 1000, (day + 1) * 1000, rows)) * unit, pa.timestamp("ns"))  # noqa: E731
    orders = pa.table({"id": np.arange(200), "at": at(200, 0), "user": picked(200), "price": random.normal(size=200)})
    splits = {split: pa.table({"at": at(rows, day), "user": picked(rows), "spent": labels(random, rows)})
              for split, rows, day in (("train", 90, 2), ("val", 30, 4), ("test", 30, 6))}
    folder = folder_of(path, {"users": pa.table({"id": users}), "orders": orders}, {"spending": (words, splits)})
    manifest = (folder / "manifest.yaml").read_text()
    orders_entry = "orders: {pkey: id, time_col: null, fkeys: {}}"
    assert orders_entry in manifest
    (folder / "manifest.yaml").write_text("name: shop\n" + manifest.replace(
        orders_entry, "orders: {pkey: id, time_col: at, fkeys: {user: users}}"))
    return folder, splits["test"]


def written(times):
    """The texts of times as pandas writes them: days alone, or as many digits as one of them needs."""
    texts = [str(np.datetime64(time, "ns")).replace("T", " ") for time in times.cast("int64").to_pylist()]
    if all(text.endswith(" 00:00:00.000000000") for text in texts):
        return [text[:10] for text in texts]
    end = max(len(text.rstrip("0").rstrip(".")) for text in texts)
    return [text[:next(length for length in (19, 23, 26, 29) if length >= end or length == 29)] for text in texts]


@pytest.mark.parametrize(("words", "labels", "column", "unit"), [
    (NODES, lambda random, rows: random.normal(size=rows), "value", 1),
    (YES_OR_NO, lambda random, rows: random.integers(0, 2, rows), "probability", 86_400 * 10**9),
    (NODES, lambda random, rows: random.normal(size=rows), "value", 10**6),
    (NODES, lambda random, rows: random.normal(size=rows), "value", 10**9),
])
def test_rows_are_those_of_the_test_table(bin_dir, tmp_path, words, labels, column, unit):
    folder, test = made_shop(tmp_path / "set", words, labels, unit)
    ingest_tables(bin_dir, tmp_path / "graph", folder)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    run = lambda *words: subprocess.run([bin_dir / "plimsoll", *words], check=True, capture_output=True, text=True)  # noqa: E731
    run("train", tmp_path / "recipe.yaml", "--data", tmp_path / "graph", "--run", tmp_path / "run", "--budget", "64MiB")
    run("predict", tmp_path / "run", "--data", tmp_path / "graph", "--out", tmp_path / "out", "--csv", "--budget", "64MiB")
    with open(tmp_path / "out" / "shop__spending.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["user", "at", "spent"]
    assert [row["user"] for row in rows] == test["user"].to_pylist()
    assert [row["at"] for row in rows] == written(test["at"])
    found = np.load(tmp_path / "out" / f"{column}.npy")[-len(rows):, -1]
    assert np.array_equal(np.array([row["spent"] for row in rows], np.float32), found)
    assert "intact" in run("verify", tmp_path / "out").stdout
