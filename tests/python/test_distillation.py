"""A distillation keeps its contract in every stage: its bits, its plan, and its end after any stop."""

import json
import os
import random
import shutil
import signal
import subprocess

import pytest

from cgroup import MemoryCgroup
from conftest import REPOSITORY
from distillations import FLOORS_DIFFER, MODELS, call, command_in, make_work, results, stages, wait_for

MIB = 1 << 20


@pytest.fixture(scope="module")
def work(run, tmp_path_factory):
    return make_work(run, tmp_path_factory.mktemp("distillation"))


@pytest.fixture(scope="module")
def command(bin_dir, work):
    return command_in(bin_dir, work)


@pytest.fixture(scope="module")
def whole(command, work):
    """A run that nothing stopped: its summary and its folder."""
    run = work / "whole"
    return call(command("train", "--run", run, "--threads", 1, "--budget", "1GiB")), run


@pytest.mark.parametrize("arguments", [
    ("--threads", 2), ("--threads", 4, "--prefetch", 0), ("--threads", 2, "-O", "training.gradient_checkpointing=on"),
])
def test_bits_of_every_stage_do_not_depend_on_threads_prefetch_or_recomputing(command, whole, tmp_path, arguments):
    summary = call(command("train", "--run", tmp_path / "run", "--budget", "1GiB", *arguments))
    assert results(tmp_path / "run") == results(whole[1])
    assert [s.get("weights") for s in summary["stages"]] == [s.get("weights") for s in whole[0]["stages"]]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_plan_holds_in_every_stage(command, tmp_path, threads):
    plan = call(command("plan", "--budget", "1GiB", "--threads", threads))
    summary = call(command("train", "--run", tmp_path / "run", "--budget", "1GiB", "--threads", threads))
    planned = stages(plan)
    assert list(planned) == [stage["stage"] for stage in summary["stages"]]
    for name, stage in stages(summary).items():
        assert stage["measured_peak_bytes"] <= stage["planned_peak_bytes"] <= 1.1 * stage["measured_peak_bytes"], name
        assert planned[name]["peak_bytes"] >= stage["planned_peak_bytes"] - FLOORS_DIFFER, name
        assert planned[name]["min_budget_bytes"] >= stage["min_budget_bytes"] - FLOORS_DIFFER, name


@pytest.mark.parametrize("threads", [1, 2])
def test_the_stated_minimum_is_enough_for_all_stages_and_changes_no_bit(command, whole, tmp_path, threads):
    least = call(command("plan", "--budget", "1GiB", "--threads", threads))["min_budget_bytes"]
    summary = call(command("train", "--run", tmp_path / "run", "--budget", least, "--threads", threads))
    assert summary["memory"]["anonymous_peak_bytes"] <= least
    assert summary["reruns"] == summary["overflows"] == 0
    assert results(tmp_path / "run") == results(whole[1])


def test_two_seeds_stay_within_the_plan_of_one_in_a_cgroup(command, whole, tmp_path):
    least = call(command("plan", "--budget", "1GiB", "--threads", 2))["min_budget_bytes"]
    try:
        group = MemoryCgroup(least + 64 * MIB)  # for page cache
    except OSError as error:
        pytest.skip(f"no memory cgroup of our own to be had: {error}")
    with group:
        summary = call(command("train", "--run", tmp_path / "run", "--budget", least, "--threads", 2, "--seeds", 2),
                       preexec_fn=group.join)
        assert group.kills() == 0
    assert summary["memory"]["anonymous_peak_bytes"] <= least
    assert results(tmp_path / "run") == results(whole[1])


@pytest.mark.parametrize("budget", ["40MiB", "59MiB"])
def test_judging_with_too_small_a_budget_is_answered_with_one_that_works(bin_dir, whole, work, budget):
    def evaluate(bytes_):
        return [str(bin_dir / "plimsoll"), "evaluate", str(whole[1]), "--data", str(work / "frames"), "--json",
                "--threads", "2", "--budget", str(bytes_)]

    errors = call(evaluate(budget), code=4)
    least = int(errors.split("the smallest budget that works is ")[1].split(" bytes")[0])
    assert call(evaluate(least))["splits"]


def test_a_finished_run_that_is_resumed_keeps_its_bits(command, whole, tmp_path):
    shutil.copytree(whole[1], tmp_path / "run")
    columns = tmp_path / "run" / "seed-42" / "columns"
    before = {file: file.stat().st_mtime_ns for file in columns.iterdir()}
    summary = call(command("train", "--run", tmp_path / "run", "--resume"))
    assert results(tmp_path / "run") == results(whole[1])
    assert {file: file.stat().st_mtime_ns for file in columns.iterdir()} == before
    assert [s["stage"] for s in summary["stages"]] == MODELS  # no column was computed again


def test_a_resumed_run_may_have_more_seeds(command, whole, tmp_path):
    shutil.copytree(whole[1], tmp_path / "run")
    call(command("train", "--run", tmp_path / "run", "--resume", "--seeds", 2))
    assert results(tmp_path / "run") == results(whole[1])
    call(command("train", "--run", tmp_path / "both", "--seeds", 2))
    assert results(tmp_path / "run", 43) == results(tmp_path / "both", 43)
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["seeds"] == [42, 43]


def test_a_stale_column_is_refused_with_the_reason(command, whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole[1], run)
    key = run / "seed-42" / "columns" / "teacher_logits.json"
    key.write_text(json.dumps({**json.loads(key.read_text()), "weights": "of another teacher"}))
    errors = call(command("train", "--run", run, "--resume"), code=3)
    assert "teacher_logits.npy: stale" in errors and "of another teacher" in errors
    key.unlink()
    call(command("train", "--run", run, "--resume"))
    assert results(run) == results(whole[1])


def test_epochs_of_teachers_are_part_of_a_run(command, whole, tmp_path):
    """A longer autoencoder would give other columns than those that students have begun to learn from."""
    shutil.copytree(whole[1], tmp_path / "run")
    errors = call(command("train", "--run", tmp_path / "run", "--resume", "-O", "training.max_epochs=3"), code=2)
    assert "another recipe" in errors


@pytest.mark.parametrize("stage", MODELS)
def test_a_signal_in_any_stage_leaves_what_resume_goes_on_from(command, whole, tmp_path, stage):
    run = tmp_path / "run"
    # Longer than a signal needs to arrive; it is stopped, so that its end does not matter.
    process = subprocess.Popen(command("train", "--run", run), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(run / "seed-42" / stage / "checkpoints" / "step-*", process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    # After the last step of a stage the next one takes the signal; after the last stage nobody does.
    assert process.returncode == 75 or (stage == MODELS[-1] and process.returncode == 0), errors
    if process.returncode == 75:
        assert "--resume" in errors
    call(command("train", "--run", run, "--resume"))
    assert results(run) == results(whole[1])


KILLS = 30 if os.environ.get("PLIMSOLL_SLOW") else 6


def test_kills_anywhere_change_no_bit(command, whole, tmp_path):
    dice = random.Random(7)
    run = tmp_path / "run"
    kills = 0
    while kills < KILLS:
        process = subprocess.Popen(command("train", "--run", run, "--resume", "--threads", dice.choice([1, 2, 4]),
                                           "--prefetch", dice.choice([0, 2])),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.communicate(timeout=dice.uniform(0.2, 1.8))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0
        assert results(run) == results(whole[1])
        shutil.rmtree(run)
    call(command("train", "--run", run, "--resume"))
    assert results(run) == results(whole[1])


def test_a_full_disk_ends_a_run_that_goes_on_when_there_is_room(command, whole, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    size = sum(file.stat().st_size for file in whole[1].rglob("*") if file.is_file())
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size * 2 // 3}", "tmpfs", str(disk)]
    if (done := subprocess.run(mount, capture_output=True, text=True)).returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
    try:
        errors = call(command("train", "--run", disk / "run"), code=1)
        assert "No space left on device" in errors
        subprocess.run(["mount", "-o", f"remount,size={size * 4}", str(disk)], check=True)
        call(command("train", "--run", disk / "run", "--resume"))
        assert results(disk / "run") == results(whole[1])
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_the_stated_minimum_of_wide_teachers_is_enough(bin_dir, work, tmp_path):
    """What BLAS takes for them is guessed from above before the first stage trains."""
    words = [REPOSITORY / "recipes" / "kdgat-demo.yaml", "--data", work / "frames", "--threads", 2, "--json",
             "-O", "training.max_epochs=1", "-O", "data.stride=1000"]
    least = call([str(word) for word in (bin_dir / "plimsoll", "plan", *words)])["min_budget_bytes"] + MIB
    trained = call([str(word) for word in (bin_dir / "plimsoll", "train", *words, "--run", tmp_path / "run", "--budget", least)])
    assert trained["memory"]["anonymous_peak_bytes"] <= least
    assert max(stage["min_budget_bytes"] for stage in trained["stages"]) <= least
