"""`plimsoll evaluate --baseline`: LightGBM on columns of history, beside the network of linked tables."""

import json
import signal
import subprocess
import sys

import numpy as np
import pytest

from relational_data import DAY, START, TEST_TIMESTAMP, orders_table, write_folder, write_recipe

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
history = pytest.importorskip("plimsoll.baseline.run", reason="the installed package is an older one: run `make package`")

USERS = 40


@pytest.fixture(scope="module")
def orders():
    return orders_table(np.random.default_rng(3), USERS, 5, 3000)


@pytest.fixture(scope="module")
def made(run, orders, tmp_path_factory):
    folder = tmp_path_factory.mktemp("baseline")
    run("plimsoll", "ingest", "tables", write_folder(folder / "tables", orders), "--reverse", "--out", folder / "graph")
    return folder / "graph"


@pytest.fixture
def trained(run, made, tmp_path, monkeypatch):
    """trained(task, more): the folder of a trained run."""
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)

    def call(task="busy", more=""):
        recipe = write_recipe(tmp_path / "recipe.yaml", task, more)
        run("plimsoll", "train", recipe, "--data", made, "--run", tmp_path / "run")
        return tmp_path / "run"

    return call


def test_columns_equal_those_of_a_plain_loop(trained, made, orders):
    described = history.BaselineRun(trained(more="training_history: full, history_days: [3, 30]"), made)
    at, owner, shop = (np.array(orders[name].fill_null(-1) if name != "at" else orders[name].cast("int64")) for name in ("at", "user", "shop"))
    price = orders["price"].to_numpy().astype(float)
    for split in ("train", "val", "test"):
        nodes, times = described.seeds(split)
        ends = described.ends(split, times, 0)
        assert np.array_equal(ends, np.minimum(times, (START + TEST_TIMESTAMP * DAY) * 10**9))
        found = np.stack(described.histories[0].columns(nodes, ends, described.days), 1)
        for seed in range(0, len(nodes), 11):
            known = np.flatnonzero((owner == nodes[seed]) & (at * 10**9 <= ends[seed]))
            expected = []
            for days in (3, 30, 10**6):
                window = known[at[known] > ends[seed] // 10**9 - days * DAY]
                expected += [len(window), np.nanmean(price[window]) if np.isfinite(price[window]).any() else np.nan]
            expected += [(ends[seed] // 10**9 - at[known[place]]) / DAY if len(known) else np.nan for place in (-1, 0)]
            expected.append(shop[known[-1]] if len(known) else -1)
            assert np.allclose(found[seed], expected, rtol=1e-5, equal_nan=True), (split, seed)


def test_lags_are_those_of_other_splits(trained, made):
    described = history.BaselineRun(trained(), made)
    assert described.is_lagged
    _, times = described.seeds("train")
    lags = (times - described.ends("train", times, 0)) // (DAY * 10**9)
    assert set(lags) == {0, 10, 20} and abs(np.mean(lags == 0) - 0.6) < 0.12
    assert not np.array_equal(described.ends("train", times, 0), described.ends("train", times, 1))


@pytest.mark.parametrize("task, figure", [("busy", "auc"), ("count", "mae")])
def test_report_has_the_baseline_beside_the_network(run, trained, made, task, figure):
    pytest.importorskip("lightgbm")
    metrics = pytest.importorskip("sklearn.metrics")
    folder = trained(task)
    printed = run("plimsoll", "evaluate", folder, "--data", made, "--baseline")
    assert "lightgbm" in printed
    report = (folder / "report.html").read_text()
    described = history.BaselineRun(folder, made)
    for split in json.loads((folder / "evaluation.json").read_text())["splits"]:
        network, baseline = split["models"][0], split["models"][-1]
        assert baseline["name"] == "lightgbm"
        guess, truth = np.load(folder / "baseline" / f"{split['name']}.npy"), described.labels(split["name"])
        value = metrics.roc_auc_score(truth, guess[:, 1]) if task == "busy" else metrics.mean_absolute_error(truth, guess)
        assert baseline[figure] == pytest.approx(value, abs=1e-5)
        beaten = network[figure] > value if task == "busy" else network[figure] < value
        assert (f"On the split {split['name']} the network does not beat the rule `lightgbm`" in report) == (not beaten)
    assert "lightgbm" not in run("plimsoll", "evaluate", folder, "--data", made)


def test_event_tables_that_became_edges_are_named(run, orders, tmp_path, monkeypatch):
    """The baseline does not read them, and the report says so."""
    pytest.importorskip("lightgbm")
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    tables = write_folder(tmp_path / "tables", orders)
    pa.parquet.write_table(orders.select(["at", "user", "shop"]), tables / "db" / "visits.parquet")
    manifest = tables / "manifest.yaml"
    manifest.write_text(manifest.read_text().rstrip() + "\n  visits: {pkey: null, time_col: at, fkeys: {user: users, shop: shops}}\n")
    run("plimsoll", "ingest", "tables", tables, "--reverse", "--as-edge", "visits", "--out", tmp_path / "graph")
    run("plimsoll", "train", write_recipe(tmp_path / "recipe.yaml", "busy"), "--data", tmp_path / "graph", "--run", tmp_path / "run")
    said = "The baseline lightgbm does not read the event tables that became edges: "
    assert said in run("plimsoll", "evaluate", tmp_path / "run", "--data", tmp_path / "graph", "--baseline")
    assert said in (tmp_path / "run" / "report.html").read_text()
    assert said not in run("plimsoll", "evaluate", tmp_path / "run", "--data", tmp_path / "graph")


def test_without_lightgbm_the_remedy_is_named(bin_dir, trained, made, tmp_path, monkeypatch):
    folder = trained()
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "lightgbm.py").write_text("raise ImportError('No module named lightgbm')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "none"))
    done = subprocess.run([bin_dir / "plimsoll", "evaluate", folder, "--data", made, "--baseline"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "pip install plimsoll[baseline]" in done.stderr and not (folder / "baseline").exists()


def test_python_that_does_not_exist_is_named(bin_dir, trained, made, monkeypatch):
    folder = trained()
    monkeypatch.setenv("PLIMSOLL_PYTHON", "/nowhere/python")
    done = subprocess.run([bin_dir / "plimsoll", "evaluate", folder, "--data", made, "--baseline"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "PLIMSOLL_PYTHON" in done.stderr


def test_a_data_set_without_the_task_of_the_run_is_named(tmp_path):
    users = pa.table({"id": np.arange(3), "age": [20.0, 30.0, 40.0]})
    plimsoll.ingest.tables({"users": users}, tmp_path / "graph", keys={"users": "id"})
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.yaml").write_text("task: relational\nseed: 42\nrelational:\n  task: busy\n")
    with pytest.raises(plimsoll.InputError, match="graph: has no task 'busy'.*give the data set of the run"):
        history.BaselineRun(tmp_path / "run", tmp_path / "graph")


def test_other_tasks_refuse_a_baseline(bin_dir, run, tmp_path):
    run("plimsoll", "simulate", "graph", "--out", tmp_path / "giant", "--nodes", "200", "--features", "2", "--classes", "2")
    run("plimsoll", "train", "node_classification", "--data", tmp_path / "giant", "--run", tmp_path / "run", "-O", "training.max_epochs=1")
    done = subprocess.run([bin_dir / "plimsoll", "evaluate", tmp_path / "run", "--data", tmp_path / "giant", "--baseline"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and "task 'node_classification' has no --baseline" in done.stderr


def test_orders_that_no_seed_can_see_change_no_prediction(run, orders, tmp_path, monkeypatch):
    """Prices of orders after the test timestamp may be anything."""
    pytest.importorskip("lightgbm")
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    at = np.array(orders["at"].cast("int64"))
    price = np.where(at > START + TEST_TIMESTAMP * DAY, 1e6, np.nan_to_num(orders["price"].to_numpy(), nan=0.5))
    plain = np.where(at > START + TEST_TIMESTAMP * DAY, 1.0, price)
    assert (price != plain).any()
    found = []
    for name, values in (("plain", plain), ("later", price)):
        source = write_folder(tmp_path / f"{name}.tables", orders.set_column(4, "price", pa.array(values)))
        run("plimsoll", "ingest", "tables", source, "--reverse", "--out", tmp_path / name)
        recipe = write_recipe(tmp_path / "recipe.yaml", "busy", "")
        run("plimsoll", "train", recipe, "--data", tmp_path / name, "--run", tmp_path / f"{name}.run")
        run("plimsoll", "evaluate", tmp_path / f"{name}.run", "--data", tmp_path / name, "--baseline")
        found.append([np.load(tmp_path / f"{name}.run" / "baseline" / f"{split}.npy") for split in ("val", "test")])
    assert all(np.array_equal(*pair) for pair in zip(*found))


def test_ctrl_c_during_the_baseline_is_no_error_of_it(bin_dir, trained, made, tmp_path, monkeypatch):
    folder = trained()
    (tmp_path / "python").write_text("#!/bin/sh\nkill -INT $PPID\nexit 130\n")  # A terminal sends the signal to both.
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setenv("PLIMSOLL_PYTHON", str(tmp_path / "python"))
    done = subprocess.run([bin_dir / "plimsoll", "evaluate", folder, "--data", made, "--baseline"], capture_output=True, text=True, timeout=600)
    assert done.returncode == -signal.SIGINT and "pip install" not in done.stderr
