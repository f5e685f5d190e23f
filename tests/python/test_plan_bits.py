"""The budget that `plimsoll plan` states is the least, and no budget changes a bit of the weights."""

import json
import subprocess

import pytest

from distillations import FLOORS_DIFFER

MIB = 1 << 20
RECIPES = {
    "gat": """
task: detection
training: {max_epochs: 2, batch_size: 128}
gat: {layers: 6}
""",
    "gnn": """
task: graph_classification
training: {max_epochs: 2, batch_size: 128}
gnn: {conv: gin, layers: 4, norm: batch, jk: cat, dropout: 0.2}
""",
}
UNLIMITED = 16 << 30


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan_bits") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "60000", "--seed", "3")
    return folder


@pytest.fixture(scope="module", params=RECIPES)
def plimsoll(request, bin_dir, frames, tmp_path_factory):
    """plimsoll(verb, budget, checkpointing): the exit code, the JSON and the errors of a run of the recipe."""
    folder = tmp_path_factory.mktemp(request.param)
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPES[request.param])

    def call(verb, budget, checkpointing="auto"):
        run = ["--run", str(folder / "run"), "--force"] if verb == "train" else []
        done = subprocess.run([str(bin_dir / "plimsoll"), verb, str(recipe), "--data", str(frames), *run, "--json",
                               "--threads", "2", "--budget", str(budget), "-O",
                               f"training.gradient_checkpointing={checkpointing}"],
                              capture_output=True, text=True, timeout=600)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    return call


@pytest.fixture(scope="module")
def unlimited(plimsoll):
    """The weights of a run with all memory there is."""
    code, summary, errors = plimsoll("train", UNLIMITED, "off")
    assert code == 0, errors
    return summary["weights"]


@pytest.mark.parametrize("checkpointing", ["off", "on", "auto"])
def test_the_stated_minimum_is_enough_and_changes_no_bit(plimsoll, unlimited, checkpointing):
    code, plan, errors = plimsoll("plan", UNLIMITED, checkpointing)
    assert code == 0, errors
    least = plan["min_budget_bytes"]
    assert least > plan["floor_bytes"]
    for budget in (least, 2 * least, 10 * least, UNLIMITED):
        code, summary, errors = plimsoll("train", budget, checkpointing)
        assert code == 0, errors
        assert summary["weights"] == unlimited, budget
        assert summary["memory"]["anonymous_peak_bytes"] <= budget
        assert summary["reruns"] == summary["overflows"] == 0
    # One block at a time with the least, one a thread with more.
    assert plimsoll("plan", least, checkpointing)[1]["blocks_in_flight"] == 1
    assert summary["blocks_in_flight"] == 2


@pytest.mark.parametrize("checkpointing", ["off", "on", "auto"])
def test_a_budget_below_the_stated_minimum_is_refused_with_it(plimsoll, checkpointing):
    _, plan, _ = plimsoll("plan", UNLIMITED, checkpointing)
    less = plan["min_budget_bytes"] - FLOORS_DIFFER - MIB // 2
    for verb in ("plan", "train"):
        code, printed, errors = plimsoll(verb, less, checkpointing)
        assert code == 4, errors
        assert (printed is not None) == (verb == "plan")  # a plan is printed, feasible or not
        named = int(errors.split("the smallest budget that works is ")[1].split(" bytes")[0])
        assert named == pytest.approx(plan["min_budget_bytes"], abs=FLOORS_DIFFER // 2)
        if verb == "plan":
            assert not printed["feasible"]


def test_layers_that_are_computed_again_need_less(plimsoll):
    off, on = (plimsoll("plan", UNLIMITED, word)[1]["min_budget_bytes"] for word in ("off", "on"))
    assert on < off - 2 * MIB
