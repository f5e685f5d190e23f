"""A small set of linked tables with times in RelBench's folder format, made up: users place orders in shops."""

import json
import signal
import subprocess
import time

import numpy as np
import pytest

DAY = 86_400
START = 1_700_000_000  # Seconds since 1970-01-01.
CUTS = {"train": [60, 70, 80, 90], "val": [100, 110], "test": [120, 130, 140]}  # Days after START.
TEST_TIMESTAMP = CUTS["test"][0]
RECIPE = """
task: relational
relational: {{task: {task}, channels: 8{more}}}
sampling: {{fan_outs: [6, 3]}}
training: {{max_epochs: 2, batch_size: 64, learning_rate: 0.01, checkpoint_every_s: 0, block: {{graphs: 8, nodes: 4096, edges: 8192}}}}
"""
MANIFEST = """val_timestamp: '{val}'
test_timestamp: '{test}'
tables:
  users: {{pkey: user, time_col: null, fkeys: {{}}}}
  shops: {{pkey: shop, time_col: null, fkeys: {{}}}}
  orders: {{pkey: order, time_col: at, fkeys: {{user: users, shop: shops}}}}
"""
TASK = ("kind: {kind}\ntask_type: {type}\nentity_table: users\nentity_col: user\ntarget_col: {target}\ntime_col: timestamp\n"
        "timedelta: 10 days\n{more}sql: SELECT 1\n")


def day(number):
    return str(np.datetime64(START + number * DAY, "s")).replace("T", " ")


def orders_table(random, users, shops, rows):
    """Orders in the order of time; some have no user, no shop or no price."""
    pa = pytest.importorskip("pyarrow")
    at = np.sort(random.integers(0, 150 * DAY, rows)) + START
    return pa.table({
        "order": np.arange(rows), "at": pa.array(at, pa.timestamp("s")),
        "user": pa.array((random.random(rows) ** 2 * users).astype(int), pa.int64(), mask=random.random(rows) < 0.05),
        "shop": pa.array(random.integers(0, shops, rows), pa.int64(), mask=random.random(rows) < 0.05),
        "price": pa.array(random.lognormal(size=rows), mask=random.random(rows) < 0.1),
        "sent": pa.array(at + random.integers(0, DAY, rows), pa.timestamp("s"), mask=random.random(rows) < 0.2),
        "colour": random.choice(["red", "green", "blue"], rows),
    })


def write_folder(path, orders, users=40, shops=5, seed=0, hidden=""):
    """Writes the folder; labels are counts of a user's orders of the next ten days."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(seed)
    (path / "db").mkdir(parents=True)
    tables = {"orders": orders,
              "users": pa.table({"user": np.arange(users), "age": pa.array(random.integers(18, 80, users), mask=random.random(users) < 0.2),
                                 "kind": random.choice(["new", "old"], users)}),
              "shops": pa.table({"shop": np.arange(shops)})}
    for name, table in tables.items():
        pq.write_table(table, path / "db" / f"{name}.parquet")
    (path / "manifest.yaml").write_text(MANIFEST.format(val=day(CUTS["val"][0]), test=day(TEST_TIMESTAMP)))
    at, user = np.array(orders["at"].cast("int64")), np.array(orders["user"].fill_null(-1))
    for name, kind in (("busy", "binary_classification"), ("count", "regression")):
        folder = path / "tasks" / name
        folder.mkdir(parents=True)
        (folder / "manifest.yaml").write_text(TASK.format(kind="forecast", type=kind, target="label", more=hidden))
        for split, cuts in CUTS.items():
            counts = np.array([[np.sum((user == u) & (at > START + cut * DAY) & (at <= START + (cut + 10) * DAY)) for u in range(users)]
                               for cut in cuts])
            label = counts.ravel() > 1 if name == "busy" else counts.ravel().astype(float)
            times = np.repeat([START + cut * DAY for cut in cuts], users)
            pq.write_table(pa.table({"timestamp": pa.array(times, pa.timestamp("s")), "user": np.tile(np.arange(users), len(cuts)),
                                     "label": label.astype(int) if name == "busy" else label}), folder / f"{split}.parquet")
    return path


def write_recipe(path, task, more=""):
    path.write_text(RECIPE.format(task=task, more=more and f", {more}"))
    return path


def weights_after_a_kill(command, run):
    """Kills a training run after its first checkpoint, resumes it, and returns its weights."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    checkpoints = run / "seed-42" / "gnn" / "checkpoints"
    while process.poll() is None and not (checkpoints.is_dir() and any(checkpoints.iterdir())):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL, "the run ended before it was stopped"
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["weights"]
