"""Teachers that are asked while a student trains (live, offload) teach what a column of their outputs teaches."""

import csv
import os
import random
import shutil
import signal
import subprocess

import pytest

from distillations import FLOORS_DIFFER, MODELS, RECIPE, call, command_in, make_work, results, stages, wait_for

MIB = 1 << 20
STUDENTS = ["student_vgae", "student_gat"]
# Students see windows whose IDs are dropped, teachers see them as they are.
DROPPED = RECIPE.replace("gat: {hidden: 8,", "gat: {id_dropout: 0.5, hidden: 8,")
ASKED = ["live", "offload"]


@pytest.fixture(scope="module")
def work(run, tmp_path_factory):
    return make_work(run, tmp_path_factory.mktemp("teacher_outputs"), DROPPED)


@pytest.fixture(scope="module")
def command(bin_dir, work):
    make = command_in(bin_dir, work)
    return lambda verb, mode, *arguments: make(verb, "-O", f"distillation.teacher_outputs={mode}", *arguments)


@pytest.fixture(scope="module")
def whole(command, work):
    """whole(mode): the summary and folder of a run that nothing stopped."""
    runs = {}

    def make(mode):
        if mode not in runs:
            folder = work / f"whole-{mode}"
            runs[mode] = call(command("train", mode, "--run", folder, "--threads", 1, "--budget", "1GiB")), folder
        return runs[mode]

    return make


def bits(run):
    return results(run, columns=["difficulty"])


def losses(run, stage):
    with open(run / "seed-42" / stage / "metrics.csv") as file:
        return [(float(row["training_loss"]), float(row["validation_loss"])) for row in csv.DictReader(file)]


@pytest.mark.parametrize("mode", ASKED)
@pytest.mark.parametrize("stage", STUDENTS)
def test_losses_are_those_of_a_column(whole, mode, stage):
    for asked, cached in zip(losses(whole(mode)[1], stage), losses(whole("cached")[1], stage), strict=True):
        assert asked == pytest.approx(cached, rel=1e-6)


@pytest.mark.parametrize("mode", ASKED)
def test_no_column_but_difficulty_is_computed(whole, mode):
    summary, run = whole(mode)
    assert {file.stem for file in (run / "seed-42" / "columns").iterdir()} == {"difficulty"}
    assert list(stages(summary)) == ["autoencoder", "difficulty", *MODELS[1:]]
    ours, cached = bits(run), results(whole("cached")[1])
    for stage in ("autoencoder", "teacher", "student_gat_alone"):  # which ask no teacher
        assert ours[f"{stage}/model.safetensors"] == cached[f"{stage}/model.safetensors"]


@pytest.mark.parametrize("mode", ASKED)
@pytest.mark.parametrize("arguments", [
    ("--threads", 2), ("--threads", 4, "--prefetch", 0), ("--threads", 2, "-O", "training.gradient_checkpointing=on"),
])
def test_bits_do_not_depend_on_threads_prefetch_or_recomputing(command, whole, tmp_path, mode, arguments):
    call(command("train", mode, "--run", tmp_path / "run", "--budget", "1GiB", *arguments))
    assert bits(tmp_path / "run") == bits(whole(mode)[1])


@pytest.mark.parametrize("mode", ASKED)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_plan_holds_in_every_stage(command, tmp_path, mode, threads):
    plan = call(command("plan", mode, "--budget", "1GiB", "--threads", threads))
    trial = call(command("plan", mode, "--budget", "1GiB", "--threads", threads, "--mode", "trial"))
    summary = call(command("train", mode, "--run", tmp_path / "run", "--budget", "1GiB", "--threads", threads))
    planned = stages(plan)
    assert list(planned) == list(stages(summary)) == list(stages(trial))
    assert all(stages(trial)[name]["exact"] for name in STUDENTS)
    for name, stage in stages(summary).items():
        assert stage["measured_peak_bytes"] <= stage["planned_peak_bytes"] <= 1.1 * stage["measured_peak_bytes"], name
        assert planned[name]["peak_bytes"] >= stage["planned_peak_bytes"] - FLOORS_DIFFER, name
        assert planned[name]["min_budget_bytes"] >= stage["min_budget_bytes"] - FLOORS_DIFFER, name


@pytest.mark.parametrize("mode", ASKED)
@pytest.mark.parametrize("estimation", ["measured", "static"])
def test_the_stated_minimum_is_enough_and_changes_no_bit(command, whole, tmp_path, mode, estimation):
    asked = ("--mode", estimation, "--threads", 2)
    least = call(command("plan", mode, "--budget", "1GiB", *asked))["min_budget_bytes"]
    summary = call(command("train", mode, "--run", tmp_path / "run", "--budget", least, "--threads", 2))
    assert summary["memory"]["anonymous_peak_bytes"] <= least
    assert summary["reruns"] == summary["overflows"] == 0
    assert bits(tmp_path / "run") == bits(whole(mode)[1])


@pytest.mark.parametrize("mode", ASKED)
def test_too_small_a_budget_is_refused_with_one_that_works(command, tmp_path, mode):
    planned = call(command("plan", mode, "--budget", "1GiB"))["min_budget_bytes"]
    errors = call(command("train", mode, "--run", tmp_path / "run", "--budget", planned - 4 * MIB), code=4)
    least = int(errors.split("the smallest budget that works is ")[1].split(" bytes")[0])
    call(command("train", mode, "--run", tmp_path / "run", "--budget", least))


def test_an_offloaded_teacher_costs_what_is_larger_and_not_the_sum(command):
    """A teacher of 14 million parameters: its weights are on the plan where it is live, and nowhere else."""
    sizes = {"embedding": 32, "layers": 5, "hidden": 64, "heads": 8, "fc_layers": 3}  # of old_teacher
    large = ["--budget", "4GiB", "--threads", 1]
    for name, size in sizes.items():
        large += ["-O", f"teacher.gat.{name}={size}"]
    student = {mode: stages(call(command("plan", mode, *large)))["student_gat"] for mode in ["cached", *ASKED]}
    weights = 4 * 13_000_000
    assert student["live"]["min_budget_bytes"] > student["offload"]["min_budget_bytes"] + weights
    # A range for the teacher's block, and none for its weights.
    ranges = student["offload"]["slab_bytes"] - student["cached"]["slab_bytes"]
    grown = student["offload"]["min_budget_bytes"] - student["cached"]["min_budget_bytes"]
    assert 0 < ranges and grown < ranges + 16 * MIB  # BLAS keeps more for a large model


def test_a_mode_is_part_of_a_run(command, whole, tmp_path):
    shutil.copytree(whole("live")[1], tmp_path / "run")
    for mode in ("offload", "cached"):
        assert "another recipe" in call(command("train", mode, "--run", tmp_path / "run", "--resume"), code=2)


@pytest.mark.parametrize("mode", ASKED)
@pytest.mark.parametrize("stage", STUDENTS)
def test_a_signal_leaves_what_resume_goes_on_from(command, whole, tmp_path, mode, stage):
    run = tmp_path / "run"
    process = subprocess.Popen(command("train", mode, "--run", run), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    wait_for(run / "seed-42" / stage / "checkpoints" / "step-*", process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 75, errors
    call(command("train", mode, "--run", run, "--resume"))
    assert bits(run) == bits(whole(mode)[1])


KILLS = 20 if os.environ.get("PLIMSOLL_SLOW") else 4


@pytest.mark.parametrize("mode", ASKED)
def test_kills_anywhere_change_no_bit(command, whole, tmp_path, mode):
    dice = random.Random(11)
    run = tmp_path / "run"
    for _ in range(KILLS):
        process = subprocess.Popen(command("train", mode, "--run", run, "--resume", "--threads", dice.choice([1, 2])),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.communicate(timeout=dice.uniform(0.3, 1.5))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    call(command("train", mode, "--run", run, "--resume"))
    assert bits(run) == bits(whole(mode)[1])


@pytest.mark.parametrize("mode", ASKED)
def test_a_finished_run_that_is_resumed_keeps_its_bits(command, whole, tmp_path, mode):
    shutil.copytree(whole(mode)[1], tmp_path / "run")
    call(command("train", mode, "--run", tmp_path / "run", "--resume"))
    assert bits(tmp_path / "run") == bits(whole(mode)[1])
