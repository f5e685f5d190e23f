"""Autocomplete tasks without tables of labels: the rows of their table are seeds, as in RelBench."""

import csv
import subprocess
from functools import partial

import numpy as np
import pytest

from typed_graphs import ingest_tables

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MANIFEST = """
name: shop
val_timestamp: '2020-03-01'
test_timestamp: '2020-05-01 12:00:00'
tables:
  orders: {{pkey: {key}, time_col: {time}, fkeys: {{user: users}}}}
  users: {{pkey: id, time_col: null, fkeys: {{}}}}
"""
TASK = """
kind: autocomplete
task_type: {type}
entity_table: {table}
entity_col: {key}
target_col: {target}
time_col: at
"""
CUTS = np.array(["2020-03-01", "2020-05-01T12:00:00"], "datetime64[ns]").astype(np.int64)


@pytest.fixture(scope="module")
def ingest(bin_dir):
    return partial(ingest_tables, bin_dir)


def orders_of(rows, seed, missing_times=True):
    random = np.random.default_rng(seed)
    at = CUTS[random.integers(0, 2, rows)] // 10**9 + random.integers(-60 * 86400, 60 * 86400, rows)
    at[:4] = [*CUTS // 10**9, *CUTS // 10**9 + 1]  # The cuts themselves belong to the earlier split.
    return pa.table({
        "number": random.permutation(rows) + 5, "user": random.integers(0, 9, rows),
        "at": pa.array(at, pa.timestamp("s"), mask=missing_times & (random.random(rows) < 0.05)),
        "paid": pa.array(random.normal(size=rows), mask=random.random(rows) < 0.1),
        "kind": pa.array(random.choice(["new", "used", "gift"], rows), mask=random.random(rows) < 0.1),
    })


def write(path, orders, tasks, key="number", time="at"):
    (path / "db").mkdir(parents=True)
    pq.write_table(orders, path / "db" / "orders.parquet", row_group_size=1000)
    pq.write_table(pa.table({"id": np.arange(9)}), path / "db" / "users.parquet")
    (path / "manifest.yaml").write_text(MANIFEST.format(key=key, time=time))
    for name, words in tasks.items():
        (path / "tasks" / name).mkdir(parents=True)
        (path / "tasks" / name / "manifest.yaml").write_text(TASK.format(**words))
    return path


def expected(orders, target):
    """(rows, nodes, times) of each split: nodes are the rows that have a time."""
    at = [None if time is None else time * 10**9 for time in orders["at"].cast(pa.int64()).to_pylist()]
    node = np.cumsum([time is not None for time in at]) - 1
    values = orders[target].to_pylist()
    known = [row for row, time in enumerate(at) if time is not None and values[row] is not None]
    split = {row: np.searchsorted(CUTS, at[row]) for row in known}
    for number in range(3):
        rows = [row for row in known if split[row] == number]
        yield rows, [node[row] for row in rows], [at[row] for row in rows]


@pytest.mark.parametrize("key", ["number", "null"])
def test_rows_become_seeds(ingest, tmp_path, key):
    orders = orders_of(20000, 1)
    tasks = {"pay": {"type": "regression", "table": "orders", "key": "number", "target": "paid"},
             "sort": {"type": "multiclass_classification", "table": "orders", "key": "number", "target": "kind"}}
    columns, manifest = ingest(tmp_path / "graph", write(tmp_path / "set", orders, tasks, key), "--budget", "96MiB")
    for task in manifest["tasks"]:
        target = task["manifest"]["target_col"]
        assert task["manifest"]["entity_col"] == ("number" if key == "number" else "primary_key")
        assert [split["name"] for split in task["splits"]] == ["train", "val", "test"]
        for split, (rows, nodes, times) in zip(task["splits"], expected(orders, target), strict=True):
            assert rows and split["seeds"] == len(rows) and split["dangling"] == 0
            assert columns[split["nodes"]].tolist() == nodes and columns[split["times"]].tolist() == times
            stored = columns[split["target"]["column"]]
            if target == "kind":
                ptr, text = (columns[split["target"][part]] for part in ("vocabulary_ptr", "vocabulary"))
                stored = np.array([text.tobytes()[begin:end].decode() for begin, end in zip(ptr, ptr[1:])])[stored]
            assert stored.tolist() == [orders[target][row].as_py() for row in rows]
        without = sum(value is None for value, time in zip(orders[target].to_pylist(), orders["at"].to_pylist()) if time is not None)
        assert sum(split["rows_without_target"] for split in task["splits"]) == without


def test_tables_of_labels_are_used_if_rows_have_keys(ingest, tmp_path):
    orders = orders_of(100, 2)
    folder = write(tmp_path / "set", orders, {"pay": {"type": "regression", "table": "orders", "key": "number", "target": "paid"}})
    pq.write_table(orders.slice(10, 20), folder / "tasks" / "pay" / "train.parquet")
    _, manifest = ingest(tmp_path / "graph", folder)
    assert [(split["name"], split["seeds"]) for split in manifest["tasks"][0]["splits"]][0][0] == "train"
    assert len(manifest["tasks"][0]["splits"]) == 1


def test_a_table_without_a_key_is_trained_and_submitted(bin_dir, ingest, tmp_path):
    orders = orders_of(300, 3, missing_times=False)
    folder = write(tmp_path / "set", orders, {"pay": {"type": "regression", "table": "orders", "key": "null", "target": "paid"}}, "null")
    ingest(tmp_path / "graph", folder, "--reverse")
    run = partial(subprocess.run, check=True, capture_output=True, text=True)
    run([bin_dir / "plimsoll", "train", "relational", "--data", tmp_path / "graph", "--run", tmp_path / "run",
         "-O", "relational.task=pay", "-O", "training.max_epochs=1"])
    run([bin_dir / "plimsoll", "predict", tmp_path / "run", "--data", tmp_path / "graph", "--out", tmp_path / "out", "--csv"])
    with (tmp_path / "out" / "shop__pay.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["primary_key", "at", "paid"]
    assert [int(row[0]) for row in rows[1:]] == list(expected(orders, "paid"))[2][1]


@pytest.mark.parametrize(("change", "found"), [
    ({"table": "users"}, "its seeds are the rows of 'users', which has no time_col"),
    ({"target": "price"}, "has no column 'price', which is the target_col of the task pay"),
    ({"target": "null"}, "has no target_col"),
])
def test_wrong_tasks_are_refused(ingest, tmp_path, change, found):
    words = {"type": "regression", "table": "orders", "key": "number", "target": "paid", **change}
    assert found in ingest(tmp_path / "graph", write(tmp_path / "set", orders_of(9, 4), {"pay": words}), code=3)


def test_cuts_that_are_no_times_are_refused(ingest, tmp_path):
    folder = write(tmp_path / "set", orders_of(9, 5), {"pay": {"type": "regression", "table": "orders", "key": "number", "target": "paid"}})
    manifest = folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("2020-03-01", "2020-02-30"))
    assert "val_timestamp divides; found '2020-02-30'" in ingest(tmp_path / "graph", folder, code=3)


def test_rows_as_seeds_need_a_data_set_with_cuts(bin_dir, tmp_path):
    """Tables given with --table have no manifest with cuts; no message names one."""
    folder = write(tmp_path / "set", orders_of(9, 6), {"pay": {"type": "regression", "table": "orders", "key": "number", "target": "paid"}})
    done = subprocess.run([bin_dir / "plimsoll", "ingest", "tables", "--table", f"orders={folder / 'db' / 'orders.parquet'}:key=number,time=at",
                           "--task", folder / "tasks" / "pay", "--out", tmp_path / "graph"], capture_output=True, text=True)
    assert done.returncode == 3
    assert f"{folder / 'tasks' / 'pay' / 'manifest.yaml'}: its seeds are the rows of its table" in done.stderr
    assert "val_timestamp of a data set in RelBench's folder format divides; found none; add tables of labels" in done.stderr


def test_the_rows_of_an_event_table_that_becomes_edges_are_no_seeds(ingest, tmp_path):
    folder = write(tmp_path / "set", orders_of(9, 7), {"pay": {"type": "regression", "table": "orders", "key": "null", "target": "paid"}}, "null")
    manifest = folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("{user: users}", "{user: users, number: users}"))
    refused = ingest(tmp_path / "graph", folder, "--as-edge", "orders", code=2)
    assert "--as-edge orders: the task pay has the rows of this table as its seeds" in refused
    ingest(tmp_path / "graph", folder)


def test_cuts_in_the_wrong_order_are_refused(ingest, tmp_path):
    """Rows between them would be seeds of both train and test."""
    folder = write(tmp_path / "set", orders_of(9, 8), {"pay": {"type": "regression", "table": "orders", "key": "number", "target": "paid"}})
    manifest = folder / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("2020-03-01", "2020-06-01"))
    assert "found the val_timestamp 2020-06-01 after the test_timestamp 2020-05-01 12:00:00" in ingest(tmp_path / "graph", folder, code=3)
    manifest.write_text(manifest.read_text().replace("2020-06-01", "2020-05-01 12:00:00"))
    _, made = ingest(tmp_path / "graph", folder)
    assert made["tasks"][0]["splits"][1]["seeds"] == 0
