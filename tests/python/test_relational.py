"""Models of linked tables with times: planned exactly, the same bits under any budget, without a row from the future."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from relational_data import CUTS, DAY, START, orders_table, weights_after_a_kill, write_folder, write_recipe

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """made(name, change): a data set whose table of orders was changed, and the table."""
    folder = tmp_path_factory.mktemp("relational")

    def make(name, change=lambda orders: orders, hidden=""):
        out = folder / name
        if not out.exists():
            orders = change(orders_table(np.random.default_rng(1), 40, 5, 3000))
            source = write_folder(folder / f"{name}.tables", orders, hidden=hidden)
            run("plimsoll", "ingest", "tables", source, "--reverse", "--out", out)
        return out

    return make


@pytest.fixture
def train(bin_dir, tmp_path):
    """train(data, name, *arguments): trains, and returns the summary."""

    def call(data, name, *arguments, task="busy", more="", code=0):
        recipe = write_recipe(tmp_path / f"{name}.yaml", task, more)
        done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(data), "--run", str(tmp_path / name), "--json",
                               *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else done.stderr

    return call


@pytest.mark.parametrize("task, more", [("busy", ""), ("busy", "aggregation: mean, neighbours: latest"), ("count", ""),
                                        ("count", "loss: squared"), ("busy", "samples: 1"), ("busy", "dropout: 0.3"),
                                        ("busy", "training_history: full, history_days: []"), ("count", "history_days: [2, 400]"),
                                        ("busy", "layer: gin, dropout: 0.1"), ("count", "layer: rgcn, bases: 2, aggregation: mean"),
                                        ("busy", "layer: gatv2, dropout: 0.1"), ("count", "layer: gatv2, heads: 1, combine: mean"),
                                        ("busy", "layer: hgt, heads: 2"), ("count", "layer: hgt, dropout: 0.1")])
def test_same_weights_under_any_budget_and_threads_and_an_exact_plan(run, made, train, tmp_path, task, more):
    data = made("plain")
    whole = train(data, "whole", "--threads", 2, task=task, more=more)
    plan = json.loads(run("plimsoll", "plan", tmp_path / "whole.yaml", "--data", data, "--budget", "1GiB", "--json"))
    assert plan["exact"], plan
    smallest = plan["min_budget_bytes"]
    without_data = json.loads(run("plimsoll", "plan", tmp_path / "whole.yaml", "--data", data, "--mode", "static", "--json"))
    assert without_data["min_budget_bytes"] >= smallest
    small = train(data, "small", "--threads", 1, "--budget", smallest, task=task, more=more)
    assert small["weights"] == whole["weights"]
    refused = train(data, "refused", "--budget", smallest // 2, task=task, more=more, code=4)
    assert "smallest budget" in refused
    assert not (tmp_path / "refused").exists()


@pytest.mark.parametrize("layer", ["sage", "gin", "rgcn", "gatv2", "hgt"])
@pytest.mark.parametrize("name, change", [
    ("few", lambda orders: orders.slice(0, 150)),  # Most users have no order, most blocks no shop.
    ("none", lambda orders: orders.slice(0, 0)),
    ("unlinked", lambda orders: orders.set_column(3, "shop", pa.nulls(len(orders), pa.int64()))),
])
def test_types_that_blocks_lack_are_planned_exactly(run, made, train, tmp_path, name, change, layer):
    data, blocks = made(name, change), ("-O", "training.block.graphs=3", "-O", f"relational.layer={layer}")
    whole = train(data, "whole", "--threads", 2, *blocks)
    plan = json.loads(run("plimsoll", "plan", tmp_path / "whole.yaml", "--data", data, "--budget", "1GiB", "--json", *blocks))
    assert plan["exact"], plan
    small = train(data, "small", "--threads", 1, "--budget", plan["min_budget_bytes"], *blocks)
    assert small["weights"] == whole["weights"]


@pytest.mark.parametrize("more", ["", "dropout: 0.3", "layer: gatv2", "layer: hgt"])
def test_ranks_have_the_same_weights(made, train, monkeypatch, more):
    pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    data = made("plain")
    assert train(data, "two", "--ranks", 2, more=more)["weights"] == train(data, "one", more=more)["weights"]


def test_samples_and_dropout_differ_from_epoch_to_epoch(made, train, tmp_path):
    """The first epoch has sample 0 for any number of samples, and the latest neighbours are the same without lags."""
    data = made("plain")

    def losses(name, more):
        train(data, name, more=more)
        with open(next((tmp_path / name).rglob("metrics.csv"))) as file:
            return [row["training_loss"] for row in csv.DictReader(file)]

    one, ten = losses("one", "samples: 1"), losses("ten", "samples: 10")
    assert one[0] == ten[0] and one[1] != ten[1]
    latest = "neighbours: latest, training_history: full"
    assert losses("latest1", f"samples: 1, {latest}") == losses("latest10", f"samples: 10, {latest}")
    assert losses("lagged1", "samples: 1, neighbours: latest")[1] != losses("lagged10", "samples: 10, neighbours: latest")[1]
    assert losses("dropped", "samples: 1, dropout: 0.3")[0] != one[0]


@pytest.mark.parametrize("more", ["", "layer: gatv2", "layer: hgt"])
def test_stopped_run_ends_with_the_same_weights(bin_dir, made, train, tmp_path, more):
    data = made("plain")
    whole = train(data, "whole", "-O", "training.max_epochs=20", more=more)
    recipe = write_recipe(tmp_path / "part.yaml", "busy", more)
    command = [str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(data), "--run", str(tmp_path / "part"), "--json", "-O",
               "training.max_epochs=20"]
    assert weights_after_a_kill(command, tmp_path / "part") == whole["weights"]


def test_a_run_that_resume_makes_longer_has_the_weights_of_a_long_run(made, train):
    """Blocks are cut by the largest of all samples of a seed, including those that a short run would not use."""
    options = ("-O", "training.block.graphs=64", "-O", "training.block.nodes=512", "-O", "training.block.edges=1024")

    def epochs(number, name, *more):
        return train(made("plain"), name, *options, "-O", f"training.max_epochs={number}", *more, more="dropout: 0.3")["weights"]

    epochs(2, "longer")
    assert epochs(6, "longer", "--resume") == epochs(6, "whole")


def test_rows_after_the_training_cut_change_no_weight(made, train):
    """A later row may be anything: neither samples nor statistics of training and validation see it."""

    def spoil(orders):
        at = np.array(orders["at"].cast("int64"))
        later = at > START + CUTS["val"][-1] * DAY
        price = np.where(later, 1e6, np.nan_to_num(orders["price"].to_numpy(), nan=0.5))
        colour = np.where(later, "never seen before", np.array(orders["colour"]))
        return orders.set_column(4, "price", pa.array(price)).set_column(6, "colour", pa.array(colour))

    def complete(orders):
        return orders.set_column(4, "price", pa.array(np.nan_to_num(orders["price"].to_numpy(), nan=0.5)))

    for more in ("", "neighbours: latest"):
        name = more[:3] or "any"
        assert train(made("complete", complete), f"{name}1", more=more)["weights"] == train(made("spoilt", spoil), f"{name}2", more=more)["weights"]


def test_metrics_equal_scikit_learn(run, made, train, tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    data = made("plain")
    manifest = json.loads((data / "manifest.json").read_text())
    for task in ("busy", "count"):
        train(data, task, task=task)
        run("plimsoll", "evaluate", tmp_path / task, "--data", data)
        run("plimsoll", "predict", tmp_path / task, "--data", data, "--out", tmp_path / f"{task}.predictions")
        splits = next(entry for entry in manifest["tasks"] if entry["name"] == task)["splits"]
        labels = {split["name"]: np.load(data / f"{split['target']['column']}.npy") for split in splits}
        column = "probability" if task == "busy" else "value"
        outputs = np.load(tmp_path / f"{task}.predictions" / f"{column}.npy")
        ends = np.cumsum([len(labels[split["name"]]) for split in splits])
        outputs = dict(zip(labels, np.split(outputs, ends[:-1])))
        evaluation = json.loads((tmp_path / task / "evaluation.json").read_text())
        assert [split["name"] for split in evaluation["splits"]] == ["val", "test"]
        for split in evaluation["splits"]:
            found, truth = split["models"][0], labels[split["name"]]
            if task == "busy":
                score, answer = outputs[split["name"]][:, 1], outputs[split["name"]].argmax(1)
                expected = {"auc": metrics.roc_auc_score(truth, score), "average_precision": metrics.average_precision_score(truth, score),
                            "accuracy": metrics.accuracy_score(truth, answer), "f1": metrics.f1_score(truth, answer)}
            else:
                value = outputs[split["name"]][:, 0]
                mae = metrics.mean_absolute_error(truth, value)
                expected = {"mae": mae, "nmae": mae / np.std(labels["train"], ddof=1), "r2": metrics.r2_score(truth, value)}
            for name, figure in expected.items():
                assert found[name] == pytest.approx(figure, abs=1e-5), (split["name"], name)


def test_figures_of_trivial_rules_equal_scikit_learn_and_the_report_says_who_wins(run, made, train, tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    data = made("plain")
    manifest = json.loads((data / "manifest.json").read_text())
    for task, figure in (("busy", "auc"), ("count", "mae")):
        train(data, task, task=task)
        run("plimsoll", "evaluate", tmp_path / task, "--data", data)
        splits = {split["name"]: split for split in next(entry for entry in manifest["tasks"] if entry["name"] == task)["splits"]}
        labels = {name: np.load(data / f"{split['target']['column']}.npy") for name, split in splits.items()}
        nodes = {name: np.load(data / f"{split['nodes']}.npy") for name, split in splits.items()}
        constant = labels["train"].mean() if task == "busy" else np.median(labels["train"])
        report = (tmp_path / task / "report.html").read_text()
        for split in json.loads((tmp_path / task / "evaluation.json").read_text())["splits"]:
            truth = labels[split["name"]]
            own = [labels["train"][nodes["train"] == node] for node in nodes[split["name"]]]
            expected = {"history": np.array([known.mean() if len(known) else constant for known in own]),
                        "constant": np.full(len(truth), constant)}
            network, *rules = split["models"]
            assert [rule["name"] for rule in rules] == list(expected)
            for rule in rules:
                guess = expected[rule["name"]]
                value = metrics.roc_auc_score(truth, guess) if task == "busy" else metrics.mean_absolute_error(truth, guess)
                assert rule[figure] == pytest.approx(value, abs=1e-5), (split["name"], rule["name"])
                beaten = network[figure] > rule[figure] if task == "busy" else network[figure] < rule[figure]
                sentence = f"On the split {split['name']} the network does not beat the rule `{rule['name']}`"
                assert (sentence in report) == (not beaten), (split["name"], rule["name"])


def test_seeds_of_your_own_as_csv_train_as_the_same_task_of_relbench(run, made, train, tmp_path):
    csv, pq = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    data = made("plain")
    source = data.with_name("plain.tables")
    own = tmp_path / "mine"
    own.mkdir()
    (own / "manifest.yaml").write_text((source / "tasks" / "busy" / "manifest.yaml").read_text())
    for split in CUTS:
        csv.write_csv(pq.read_table(source / "tasks" / "busy" / f"{split}.parquet"), own / f"{split}.csv")
    run("plimsoll", "ingest", "tables", source, "--reverse", "--task", own, "--out", tmp_path / "set")
    assert train(tmp_path / "set", "own", task="mine")["weights"] == train(data, "relbench")["weights"]


def test_test_seeds_see_rows_up_to_the_test_timestamp_unless_rolling(run, made, train, tmp_path):
    """Rows after the timestamp change the test's figures under the rolling rule alone."""

    def spoil(orders):
        at = np.array(orders["at"].cast("int64"))
        later = at > START + CUTS["test"][0] * DAY
        colour = np.where(later, "red", np.array(orders["colour"]))
        return orders.set_column(6, "colour", pa.array(colour))

    figures = {}
    for history in ("cutoff", "rolling"):
        for name, data in (("plain", made("plain")), ("later", made("later", spoil))):
            train(data, history + name, more=f"test_history: {history}, training_history: full")
            run("plimsoll", "evaluate", tmp_path / (history + name), "--data", data)
            evaluation = json.loads((tmp_path / (history + name) / "evaluation.json").read_text())
            figures[history, name] = [split["models"][0]["loss"] for split in evaluation["splits"]]
    assert figures["cutoff", "plain"] == figures["cutoff", "later"]
    assert figures["rolling", "plain"][0] == figures["rolling", "later"][0] == figures["cutoff", "plain"][0]
    assert figures["rolling", "plain"][1] != figures["rolling", "later"][1]


@pytest.mark.parametrize("arguments, expected", [
    (("-O", "relational.task=none"), "expected a task of"),
    (("-O", "training.gradient_checkpointing=on"), "cannot recompute layers"),
    (("-O", "relational.task="), "expected a task of the data set"),
    (("-O", "relational.layer=hgt", "-O", "relational.heads=3"), "relational.heads: found 3, expected a divisor of relational.channels, which is 8"),
])
def test_refusals_name_the_remedy(made, train, arguments, expected):
    assert expected in train(made("plain"), "refused", *arguments, code=2)


def test_data_without_types_and_columns_that_a_task_hides(run, made, train, tmp_path):
    run("plimsoll", "simulate", "graph", "--out", tmp_path / "giant", "--nodes", "100", "--features", "2", "--classes", "2")
    assert "ingest tables" in train(tmp_path / "giant", "untyped", code=3)
    recipe = write_recipe(tmp_path / "hides.yaml", "busy")
    hides = made("hides", hidden="remove_columns: [[orders, price], [users, age]]\n")
    done = run("plimsoll", "train", recipe, "--data", hides, "--run", tmp_path / "hides", "--json")
    plain = train(made("plain"), "plain")
    assert json.loads(done)["parameters"] < plain["parameters"]
