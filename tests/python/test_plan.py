"""`plan`, and what `plan` and `train` say when a budget does not do."""

import json
import os
import re
import subprocess

import numpy as np
import pytest

MIB = 1 << 20
FLOORS_DIFFER = 2112 * 1024  # what a stated budget allows for the floors of processes, and rounding (planner.cc)


@pytest.fixture(scope="module")
def windows(run, tmp_path_factory):
    """A graph_set of windows of a simulated bus."""
    folder = tmp_path_factory.mktemp("windows")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "40000", "--seed", "5")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs", "--features", "compat")
    return folder / "graphs"


@pytest.fixture
def verb(bin_dir, windows, tmp_path):
    """verb(name, budget, *arguments): the finished process."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("task: graph_classification\ntraining:\n  max_epochs: 1\n  block:\n    nodes: 20000\n"
                      "    graphs: 1000\n    edges: 100000\n")

    def call(name, budget, *arguments):
        where = ["--run", str(tmp_path / f"run-{budget}"), "--force"] if name == "train" else []
        return subprocess.run([str(bin_dir / "plimsoll"), name, str(recipe), "--data", str(windows), "--budget",
                               str(budget), "--threads", "1", "--json", *where, *map(str, arguments)],
                              capture_output=True, text=True, timeout=600)

    return call


def named_budget(done):
    assert done.returncode == 4, done.stderr
    return int(re.search(r"smallest budget that works is (\d+) bytes", done.stderr).group(1))


@pytest.mark.parametrize("budget", ["1MiB", "60MiB", "64MiB"])
def test_a_budget_that_is_too_small_is_answered_with_one_that_works(verb, budget):
    planned = verb("plan", budget)
    named = named_budget(planned)
    plan = json.loads(planned.stdout)
    assert not plan["feasible"] and 0 <= named - plan["min_budget_bytes"] < MIB
    trained = named_budget(verb("train", budget))
    assert abs(trained - named) < FLOORS_DIFFER  # the floor is not the same in any two processes
    done = verb("train", trained)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reruns"] == 0


def test_a_refusal_is_explained_within_the_limits_of_the_machine(bin_dir, tmp_path):
    """To say which budget works the data is opened again, beyond the budget, though not beyond all that there is."""
    nodes = 1 << 25
    folder = tmp_path / "graphs"
    folder.mkdir()
    columns = {}
    for name, dtype, shape, values in [
        ("node_ptr", "<i8", (2,), [0, nodes]), ("edge_ptr", "<i8", (2,), [0, 0]), ("x", "<f4", (nodes, 1), []),
        ("edges", "<i4", (0, 2), []), ("edge_attr", "<f4", (0, 0), []), ("y", "<i8", (1,), [0])]:
        header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(4085) + b"\n"
        path = folder / f"{name}.npy"
        path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + np.array(values, dtype).tobytes())
        columns[name] = {"file": path.name, "dtype": dtype, "shape": shape, "xxh3": "0"}
    os.truncate(folder / "x.npy", 4096 + 4 * nodes)  # a hole
    (folder / "manifest.json").write_text(json.dumps({
        "kind": "graph_set", "format_version": 1, "graphs": 1, "nodes": nodes, "edges": 0, "columns": columns,
        "splits": [{"name": "all", "first_graph": 0, "graphs": 1}], "recordings": [], "features": {"node": [], "edge": []},
        "vocabulary": [], "provenance": {}}))
    (tmp_path / "recipe.yaml").write_text("task: graph_classification\nsplit: {by: graph}\n")
    planned = subprocess.run([str(bin_dir / "plimsoll"), "plan", str(tmp_path / "recipe.yaml"), "--data", str(folder), "--budget", "300MiB"],
                             capture_output=True, text=True, timeout=600, env=os.environ | {"SLURM_MEM_PER_NODE": "400"})
    assert planned.returncode == 4 and f"({8 * nodes} bytes) requested for 'blocks'" in planned.stderr


def test_what_a_plan_needs_at_least_is_enough_and_less_is_not(verb):
    kept = ["-O", "training.gradient_checkpointing=off"]
    least = json.loads(verb("plan", "1GiB", *kept).stdout)["min_budget_bytes"]
    named = named_budget(verb("train", least - 1 - 2 * FLOORS_DIFFER, *kept))
    done = verb("train", named, *kept)
    assert done.returncode == 0, done.stderr
    again = named_budget(verb("train", named - 3 * FLOORS_DIFFER, *kept))
    assert abs(again - named) < FLOORS_DIFFER


def test_modes_agree(verb):
    plans = {mode: json.loads(verb("plan", "1GiB", "--mode", mode).stdout) for mode in ("static", "measured", "trial")}
    for mode, plan in plans.items():
        assert plan["mode"] == mode and plan["feasible"]
        assert plan["exact"] == (mode != "static"), plan["why_inexact"]
    peak = {mode: plan["worst_block"]["peak_bytes"] for mode, plan in plans.items()}
    assert peak["measured"] == peak["trial"] <= peak["static"] <= 1.05 * peak["measured"]
    assert plans["static"]["worst_block"]["verified_peak_bytes"] == 0
    least = {mode: plan["min_budget_bytes"] for mode, plan in plans.items()}
    assert least["measured"] - MIB < least["static"] < 1.1 * least["measured"]


def test_training_takes_its_plan_from_any_mode(verb):
    runs = {mode: verb("train", "1GiB", "-O", f"memory.estimation={mode}") for mode in ("static", "measured", "trial")}
    weights = {json.loads(done.stdout)["weights"] for done in runs.values() if done.returncode == 0}
    assert len(weights) == 1 and all(done.returncode == 0 for done in runs.values())
    named_budget(verb("train", "40MiB", "-O", "memory.estimation=static"))
