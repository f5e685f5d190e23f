"""`train --seeds` of the task relational: a model for each seed, and the spread of their figures."""

import json
import subprocess

import numpy as np
import pytest

from relational_data import orders_table, write_folder, write_recipe

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def data(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    orders = orders_table(np.random.default_rng(1), 40, 5, 3000)
    run("plimsoll", "ingest", "tables", write_folder(folder / "tables", orders), "--reverse", "--out", folder / "graph")
    return folder / "graph"


@pytest.fixture
def train(run, data, tmp_path):
    """train(name, task, *arguments): the summary, and the evaluation with its table."""

    def call(name, task, *arguments):
        recipe = write_recipe(tmp_path / f"{name}.yaml", task)
        summary = json.loads(run("plimsoll", "train", recipe, "--data", data, "--run", tmp_path / name, "--json", *arguments))
        table = run("plimsoll", "evaluate", tmp_path / name, "--data", data)
        return summary, json.loads((tmp_path / name / "evaluation.json").read_text()), table

    return call


@pytest.mark.parametrize("task, figure, count", [("busy", "auc", 3), ("count", "mae", 2)])
def test_spread_equals_numpy(train, tmp_path, task, figure, count):
    _, evaluation, table = train("several", task, "--seeds", count)
    report = (tmp_path / "several" / "report.html").read_text()
    assert f"median of {count} [min, max]" in table and f"relational, seed {41 + count}" in table
    for split in evaluation["splits"]:
        networks = [model for model in split["models"] if model["name"] == "relational"]
        assert [model["seed"] for model in networks] == list(range(42, 42 + count))
        values = [model[figure] for model in networks]
        assert len(set(values)) == count
        spread = split["spread"][figure]
        assert spread == pytest.approx({"median": np.median(values), "min": min(values), "max": max(values)})
        assert f"{spread['median']:.4f} [{spread['min']:.4f}, {spread['max']:.4f}]" in table
        for rule in split["models"][count:]:
            beaten = spread["median"] > rule[figure] if task == "busy" else spread["median"] < rule[figure]
            sentence = f"On the split {split['name']} the network does not beat the rule `{rule['name']}`"
            assert (sentence in report) == (not beaten), (split["name"], rule["name"])


def test_the_first_seed_is_the_run_of_one_seed(run, bin_dir, data, train, tmp_path):
    train("several", "busy", "--seeds", 2)
    _, evaluation, table = train("one", "busy")
    assert "spread" not in evaluation["splits"][0] and "median of" not in table
    small = ["--budget", json.loads(run("plimsoll", "plan", tmp_path / "several.yaml", "--data", data, "--json"))["min_budget_bytes"] + (4 << 20)]
    train("bounded", "busy", "--seeds", 2, *small)
    several, bounded, one = ({stage["seed"]: stage["weights"] for stage in json.loads((tmp_path / name / "manifest.json").read_text())["stages"]}
                             for name in ("several", "bounded", "one"))
    assert len(set(several.values())) == 2 and several == bounded and one == {42: several[42]}
    for name in ("several", "one"):
        run("plimsoll", "predict", tmp_path / name, "--data", data, "--out", tmp_path / f"{name}.out", "--csv")
    first, second = (sorted((tmp_path / f"{name}.out").glob("*.csv")) for name in ("several", "one"))
    assert [path.read_text() for path in first] == [path.read_text() for path in second]


def test_seeds_without_a_model_are_noted(run, data, train, tmp_path):
    _, evaluation, table = train("several", "busy", "--seeds", 3)
    assert "missing_seeds" not in evaluation and "no model yet" not in table
    (tmp_path / "several" / "seed-44" / "gnn" / "model.safetensors").unlink()  # As if the run had been interrupted before.
    table = run("plimsoll", "evaluate", tmp_path / "several", "--data", data)
    assert "1 of 3 seeds have no model yet (44), and no figure includes them; finish the run with `plimsoll train --resume`" in table
    assert json.loads((tmp_path / "several" / "evaluation.json").read_text())["missing_seeds"] == [44]


def test_a_damaged_model_of_a_later_seed_is_named(bin_dir, data, train, tmp_path):
    train("several", "busy", "--seeds", 2)
    model = tmp_path / "several" / "seed-43" / "gnn" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:100])
    done = subprocess.run([bin_dir / "plimsoll", "evaluate", tmp_path / "several", "--data", data], capture_output=True, text=True, timeout=600)
    assert done.returncode == 3 and "seed-43" in done.stderr
