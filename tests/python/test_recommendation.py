"""Tasks of recommendation of linked tables: RelBench's MAP@k, plans that hold, the same bits under any budget."""

import csv
import json
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from relational_data import orders_table, weights_after_a_kill, write_folder, write_recipe
from relational_recommendation import K, mean_average_precision, write_visits

pa = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """made(name, users, shops, reverse): a data set and the lists of its task."""
    folder, sets = tmp_path_factory.mktemp("recommendation"), {}

    def make(name="plain", shops=12, reverse=True, change=lambda orders: orders):
        if name not in sets:
            orders = change(orders_table(np.random.default_rng(1), 40, shops, 3000))
            tables = write_folder(folder / f"{name}.tables", orders, shops=shops)
            with (tables / "manifest.yaml").open("a") as manifest:
                manifest.write("name: shops\n")
            rows = write_visits(tables, orders)
            run("plimsoll", "ingest", "tables", tables, *(["--reverse"] if reverse else []), "--out", folder / name)
            sets[name] = folder / name, rows
        return sets[name]

    return make


def command(bin_dir, folder, name, data, *arguments, more=""):
    recipe = write_recipe(folder / f"{name}.yaml", "visits", more)
    return [str(word) for word in (bin_dir / "plimsoll", "train", recipe, "--data", data, "--run", folder / name, "--json", *arguments)]


@pytest.fixture
def train(bin_dir, tmp_path):
    """train(data, name, *arguments): trains, and returns the summary, or the message of a failure."""

    def call(data, name, *arguments, more="", code=0):
        done = subprocess.run(command(bin_dir, tmp_path, name, data, *arguments, more=more), capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else done.stderr

    return call


@pytest.mark.parametrize("name, options, more", [
    ("plain", {}, ""),
    ("plain", {}, "neighbours: latest, dropout: 0.3"),
    ("plain", {}, "layer: gin"),
    ("one way", {"reverse": False}, ""),  # No sample reaches a shop but through its order.
    ("many", {"shops": 700}, ""),
    ("few", {"change": lambda orders: orders.take(np.arange(0, 3000, 8))}, ""),  # Most samples have no shop.
])
def test_same_weights_under_any_budget_and_threads_and_an_exact_plan(run, made, train, tmp_path, name, options, more):
    data, _ = made(name, **options)
    whole = train(data, "whole", "--threads", 2, more=more)
    plan = json.loads(run("plimsoll", "plan", tmp_path / "whole.yaml", "--data", data, "--budget", "1GiB", "--json"))
    assert plan["exact"], plan
    smallest = plan["min_budget_bytes"]
    without_data = json.loads(run("plimsoll", "plan", tmp_path / "whole.yaml", "--data", data, "--mode", "static", "--json"))
    assert without_data["min_budget_bytes"] >= smallest
    assert train(data, "small", "--threads", 1, "--budget", smallest, more=more)["weights"] == whole["weights"]
    assert "smallest budget" in train(data, "refused", "--budget", smallest // 2, more=more, code=4)


def test_a_row_of_scores_is_part_of_the_plan(run, made, tmp_path):
    """A seed has a score for each shop: more shops need more memory, and a budget without it is refused."""
    recipe = write_recipe(tmp_path / "recipe.yaml", "visits")

    def smallest(shops):
        plan = run("plimsoll", "plan", recipe, "--data", made(f"shops{shops}", shops=shops)[0], "--budget", "1GiB", "--json")
        return json.loads(plan)["min_budget_bytes"]

    assert smallest(20_000) - smallest(12) > 8 * 20_000 * 4  # A block has 8 seeds.


def test_ranks_have_the_same_weights(made, train, monkeypatch):
    pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    data, _ = made()
    assert train(data, "two", "--ranks", 2)["weights"] == train(data, "one")["weights"]


def test_stopped_run_ends_with_the_same_weights(bin_dir, made, train, tmp_path):
    data, _ = made()
    epochs = ("-O", "training.max_epochs=30", "-O", "training.patience=30")
    whole = train(data, "whole", *epochs)
    part = command(bin_dir, tmp_path, "part", data, *epochs)
    assert weights_after_a_kill(part, tmp_path / "part") == whole["weights"]


@pytest.fixture
def predicted(run, made, train, tmp_path):
    """The lists of each split, with the predictions, the evaluation and the folder of predictions."""
    data, rows = made()
    train(data, "run", "-O", "training.max_epochs=6")
    run("plimsoll", "evaluate", tmp_path / "run", "--data", data)
    run("plimsoll", "predict", tmp_path / "run", "--data", data, "--out", tmp_path / "out", "--csv")
    lists = np.load(tmp_path / "out" / "destination.npy")
    ends = np.cumsum([len(rows[split]) for split in rows])
    return rows, dict(zip(rows, np.split(lists, ends[:-1]))), json.loads((tmp_path / "run" / "evaluation.json").read_text())


def test_map_equals_relbenchs_formula_and_chooses_the_epoch(predicted, tmp_path):
    rows, lists, evaluation = predicted
    assert evaluation["k"] == K and [split["name"] for split in evaluation["splits"]] == ["val", "test"]
    for split in evaluation["splits"]:
        found = mean_average_precision(lists[split["name"]], [shops for _, _, shops in rows[split["name"]]], K)
        assert split["models"][0]["map"] == pytest.approx(found, abs=1e-9)
    with open(next((tmp_path / "run").rglob("metrics.csv"))) as file:
        losses = [float(row["validation_loss"]) for row in csv.DictReader(file)]
    assert 1 - min(losses) == pytest.approx(evaluation["splits"][0]["models"][0]["map"], abs=1e-6)


def test_lists_are_the_best_scores_in_order(predicted, tmp_path):
    scores, nodes = np.load(tmp_path / "out" / "score.npy"), np.load(tmp_path / "out" / "destination.npy")
    assert nodes.dtype == np.int64 and nodes.shape == scores.shape and nodes.shape[1] == K
    assert np.all(np.diff(scores, axis=1) <= 0) and np.all((nodes >= 0) & (nodes < 12))
    assert all(len(set(row)) == K for row in nodes.tolist())
    with open(tmp_path / "out" / "predictions.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["row", *(f"destination{i}" for i in range(K)), *(f"score{i}" for i in range(K))]
    assert [[int(row[f"destination{i}"]) for i in range(K)] for row in table] == nodes.tolist()


def test_csv_is_the_one_that_relbench_accepts(predicted, tmp_path):
    """Key columns, and a JSON list of at most eval_k IDs, as relbench.submit.write_prediction_table writes them."""
    rows, lists, _ = predicted
    with open(tmp_path / "out" / "shops__visits.csv", newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == ["user", "timestamp", "shop"]
    assert [json.loads(row["shop"]) for row in table] == lists["test"].tolist()
    assert [int(row["user"]) for row in table] == [user for user, _, _ in rows["test"]]
    assert {np.datetime64(row["timestamp"]).astype("datetime64[s]").astype(int) for row in table} == {at for _, at, _ in rows["test"]}


def test_rules_recommend_what_was_frequent_in_training(predicted):
    rows, _, evaluation = predicted
    everyone, own = Counter(), {}
    for user, _, shops in rows["train"]:
        everyone.update(shops)
        own.setdefault(user, Counter()).update(shops)
    order = lambda counts: sorted(counts, key=lambda shop: (-counts[shop], shop))  # noqa: E731
    constant = order({shop: everyone[shop] for shop in range(12)})
    for split in evaluation["splits"]:
        seeds = rows[split["name"]]
        expected = {"history": [], "constant": [constant[:K]] * len(seeds)}
        for user, _, _ in seeds:
            known = order(own.get(user, {}))
            expected["history"].append([*known, *(shop for shop in constant if shop not in known)][:K])
        _, *rules = split["models"]
        assert [rule["name"] for rule in rules] == list(expected)
        for rule in rules:
            found = mean_average_precision(expected[rule["name"]], [shops for _, _, shops in seeds], K)
            assert rule["map"] == pytest.approx(found, abs=1e-9), (split["name"], rule["name"])


def test_learns_what_users_repeat(run, made, train, tmp_path):
    """A user orders in two shops of their own. Only scores of the sampled shops, not those of IDs alone, can rank them."""

    def repeat(orders):
        user = orders["user"].to_numpy(zero_copy_only=False)
        own = np.where(np.isnan(user), 0, user * 2 + np.arange(len(user)) % 2).astype(int)
        return orders.set_column(3, "shop", pa.array(own))

    data, _ = made("repeat", shops=80, change=repeat)
    train(data, "run", "-O", "training.max_epochs=8", "-O", "relational.channels=16")
    run("plimsoll", "evaluate", tmp_path / "run", "--data", data)
    test = json.loads((tmp_path / "run" / "evaluation.json").read_text())["splits"][1]
    network, _, constant = (model["map"] for model in test["models"])
    assert network > 0.8 > 0.3 > constant
