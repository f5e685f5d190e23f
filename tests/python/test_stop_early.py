"""SIGTERM before the first step of a run: it stops at once, and leaves nothing."""

import re
import signal
import subprocess
import time

import pytest

BEFORE_THE_FIRST_STEP = "plimsoll: interrupted while (the scale of features was measured|the run was planned)\n"


@pytest.fixture(scope="module")
def windows(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "30000", "--seed", "5")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs", "--features", "compat")
    return folder / "graphs"


def test_a_run_whose_planning_takes_minutes(bin_dir, windows, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("task: graph_classification\ntraining: {max_epochs: 1000000, patience: 1000000, batch_size: 1}\n")
    run = tmp_path / "runs" / "long"
    process = subprocess.Popen([str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(windows), "--run", str(run)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for _ in range(6000):
        if run.exists():
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 75 and re.search(BEFORE_THE_FIRST_STEP, error), error
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())
