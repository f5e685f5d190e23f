"""Counts of history and lagged histories of models of linked tables, against NumPy."""

import csv
import json
import subprocess

import numpy as np
import pytest

from relational_data import CUTS, DAY, START, TEST_TIMESTAMP, orders_table, write_folder, write_recipe

pa = pytest.importorskip("pyarrow")
pytest.importorskip("torch")
from safetensors.torch import load_file  # noqa: E402

USERS = 40
WINDOWS = [1, 7, 28, 90]
TRAINING = len(CUTS["train"]) * USERS
SEEDS = sum(len(cuts) for cuts in CUTS.values()) * USERS
NUMBERS = len(WINDOWS) + 3


@pytest.fixture(scope="module")
def orders():
    return orders_table(np.random.default_rng(3), USERS, 5, 3000)


@pytest.fixture(scope="module")
def make(run, tmp_path_factory):
    """make(orders): the data set of these orders."""

    def call(orders):
        folder = tmp_path_factory.mktemp("history")
        run("plimsoll", "ingest", "tables", write_folder(folder / "tables", orders), "--reverse", "--out", folder / "graph")
        return folder / "graph"

    return call


@pytest.fixture(scope="module")
def data(make, orders):
    return make(orders)


@pytest.fixture
def rows(bin_dir, tmp_path):
    """rows(data, more, first, count): the numbers of each table in a block of seeds."""

    def call(data, more="", first=0, count=SEEDS, task="busy"):
        program = bin_dir / "relational_twin"
        if not program.exists():
            pytest.skip("relational_twin is not built: cmake --build build/release --target relational_twin")
        recipe, out = write_recipe(tmp_path / "recipe.yaml", task, more), tmp_path / "out.safetensors"
        done = subprocess.run([program, data, recipe, str(first), str(count), out], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        return {name[8:]: tensor.numpy() for name, tensor in load_file(out).items() if name.startswith("numbers.")}

    return call


def seed_times():
    """The time of each seed in days after START; seeds are numbered split after split, cut after cut, user after user."""
    return np.repeat([cut for cuts in CUTS.values() for cut in cuts], USERS)


def expected_numbers(orders, user, end):
    """The numbers of a user whose history ends at `end`, in seconds."""
    at, owner = np.array(orders["at"].cast("int64")), np.array(orders["user"].fill_null(-1))
    known = at[(owner == user) & (at <= end)]
    counts = [np.sum(known > end - days * DAY) for days in WINDOWS] + [len(known)]
    days = [(end - known.max()) / DAY, (end - known.min()) / DAY] if len(known) else [0, 0]
    return np.log1p(np.array([*counts, *days], float))


def test_counts_equal_numpy(data, orders, rows):
    """Of all orders, not only the sampled ones; of seeds of every split, up to the test timestamp."""
    found = rows(data, "training_history: full")["users"][:SEEDS, -NUMBERS:]
    ends = START + np.minimum(seed_times(), TEST_TIMESTAMP) * DAY
    expected = np.array([expected_numbers(orders, seed % USERS, end) for seed, end in enumerate(ends)])
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert len(np.unique(expected[:, len(WINDOWS)])) > 20  # The users have different numbers of orders.


@pytest.mark.parametrize("sample", [0, 1])
def test_lags_are_those_of_other_splits(data, orders, rows, sample):
    found = rows(data, "", first=sample * SEEDS)["users"][:SEEDS]
    lags = np.expm1(found[:, -1])
    assert np.allclose(lags, np.round(lags), atol=1e-4)
    lags = np.round(lags).astype(int)
    times = seed_times()
    assert np.array_equal(lags[TRAINING:], np.maximum(times[TRAINING:] - TEST_TIMESTAMP, 0))
    shares = [np.mean(lags[:TRAINING] == days) for days in (0, 10, 20)]
    assert np.allclose(shares, [0.6, 0.2, 0.2], atol=0.12)  # Three deviations of 160 draws.
    expected = np.array([expected_numbers(orders, seed % USERS, START + (times[seed] - lags[seed]) * DAY) for seed in range(SEEDS)])
    assert np.allclose(found[:, -1 - NUMBERS:-1], expected, rtol=1e-6, atol=1e-6)


def test_samples_of_a_seed_have_other_lags(data, rows):
    lags = [rows(data, "", first=sample * SEEDS, count=TRAINING)["users"][:TRAINING, -1] for sample in (0, 1, 2)]
    assert np.mean(lags[0] != lags[1]) > 0.3 and np.mean(lags[1] != lags[2]) > 0.3


def test_no_row_within_the_lag_is_seen(data, orders, rows):
    """The latest orders of a lagged seed are those before the end of its history, whose ages count from there."""
    at, owner = np.array(orders["at"].cast("int64")), np.array(orders["user"].fill_null(-1))
    for seed in range(0, TRAINING, 7):
        found = rows(data, "neighbours: latest", first=seed, count=1)
        end = START + round(seed_times()[seed] - np.expm1(found["users"][0, -1])) * DAY
        known = at[(owner == seed % USERS) & (at <= end)][-6:]
        ages = np.expm1(found["orders"][:len(known), 18])  # Price, its indicator and 16 waves come first.
        assert np.allclose(ages, (end - known) / DAY, rtol=1e-3, atol=1e-3)


def test_later_rows_change_no_bit_of_a_seed(make, rows, orders):
    """Orders after the last history that a seed of training or validation can have, and after the test timestamp."""
    at = np.array(orders["at"].cast("int64"))
    planted = pa.array(np.where(at > START + TEST_TIMESTAMP * DAY, 0, np.array(orders["user"].fill_null(1))))
    plain, spoilt = (rows(make(table), count=SEEDS) for table in
                     (orders, orders.set_column(2, "user", pa.array(np.array(planted), pa.int64(), mask=np.array(orders["user"].is_null())))))
    assert all(np.array_equal(plain[name], spoilt[name]) for name in plain)


def test_without_a_lag_and_without_counts_there_are_no_numbers(data, rows):
    width = lambda more: rows(data, more, count=1)["users"].shape[1]  # noqa: E731
    plain = width("training_history: full, history_days: []")
    assert width("history_days: []") == plain + 1
    assert width("history_days: [3]") == plain + 1 + 4
    assert width("test_history: rolling") == plain + NUMBERS


def test_history_is_part_of_the_plan_and_of_the_run(run, bin_dir, data, tmp_path):
    def train(name, more):
        recipe = write_recipe(tmp_path / f"{name}.yaml", "busy", more)
        return json.loads(run("plimsoll", "train", recipe, "--data", data, "--run", tmp_path / name, "--json"))

    runs = {more: train(f"run{i}", more) for i, more in enumerate(("", "training_history: full", "history_days: [5]"))}
    assert len({summary["weights"] for summary in runs.values()}) == 3
    first = [next(csv.DictReader(open(next((tmp_path / f"run{i}").rglob("metrics.csv")))))["training_loss"] for i in range(3)]
    assert len(set(first)) == 3
