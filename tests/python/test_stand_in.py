"""Jobs with a GPU, whose place a host device takes: a build with -DPLIMSOLL_STAND_IN=ON, which `scripts/check stand-in` makes."""

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest

import slurm

BIN = os.environ.get("PLIMSOLL_STAND_IN_BIN")
pytestmark = pytest.mark.skipif(not BIN, reason="needs a build with the stand-in; run `scripts/check stand-in`")

RECIPE = """
task: detection
training: {max_epochs: 3, batch_size: 64}
gat: {hidden: 16, heads: 4}
"""
MIB = 1 << 20


def call(*words, code=0):
    done = subprocess.run([str(Path(BIN) / "plimsoll"), *map(str, words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with frames and a recipe."""
    folder = tmp_path_factory.mktemp("stand_in")
    call("simulate", "can", "--out", folder / "frames", "--frames", 50000, "--seed", 3)
    (folder / "small.yaml").write_text(RECIPE)
    return folder


@pytest.fixture(scope="module")
def weights(work):
    """Those of a run on the CPU."""
    return json.loads(call("train", work / "small.yaml", "--data", work / "frames", "--run", work / "cpu", "--json").stdout)["weights"]


def test_the_version_says_so():
    assert call("--version").stdout.rstrip().endswith(", for tests: with --device stand-in")


def test_it_trains_to_the_weights_of_the_cpu(work, weights):
    done = call("train", work / "small.yaml", "--data", work / "frames", "--run", work / "device", "--device", "stand-in",
                "--device-budget", "1GiB", "--json")
    assert json.loads(done.stdout)["weights"] == weights


def test_a_budget_above_the_card_is_refused(work):
    done = call("train", work / "small.yaml", "--data", work / "frames", "--run", work / "none", "--device", "stand-in",
                "--device-budget", "20GiB", code=2)
    assert "more than the 16 GiB that the device has" in done.stderr


def script_of(work, run, *words):
    return call("slurm", work / "small.yaml", "--data", work / "frames", "--run", run, "--threads", 1, "--device", "stand-in",
                *words).stdout


def test_its_memory_is_that_of_the_host(work, tmp_path):
    script = script_of(work, tmp_path / "run", "--device-budget", "2GiB")
    budget = int(re.search(r" --budget (\d+)", script)[1])
    assert int(re.search(r"--mem=(\d+)M", script)[1]) > budget // MIB + 2048


SLOW = pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="takes minutes; set PLIMSOLL_SLOW")


@SLOW
def test_a_job_has_a_gpu_of_slurm_and_reports_its_memory(work, weights, tmp_path):
    if reason := slurm.reason_to_skip():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, slurm.Slurm(folder, "--gres", "gpu:2") as cluster:
        job = tmp_path / "job.sbatch"
        site = tmp_path / "site.yaml"
        site.write_text(f"scratch: {tmp_path / 'scratch'}\nsetup: [echo GPUs=$CUDA_VISIBLE_DEVICES]\n")
        job.write_text(script_of(work, tmp_path / "run", "--device-budget", "1GiB", "--site", site))
        number = cluster.submit(job)
        facts = cluster.wait_for(number, ("COMPLETED", "FAILED", "OUT_OF_MEMORY", "TIMEOUT", "CANCELLED"), 300)
        output = (tmp_path / f"run.slurm-{number}.out").read_text()
        assert facts["JobState"] == "COMPLETED", output
        assert re.search("^GPUs=[01]$", output, re.M) and "reading the staged copy" in output
        assert json.loads((tmp_path / "run" / "manifest.json").read_text())["weights"] == weights
        assert "GPU: planned peak" in output and "next time:" in output and "--device-budget" in output
        wrong = tmp_path / "wrong.sbatch"
        wrong.write_text(job.read_text().replace("--gres=gpu:1", "--gres=gpu:3"))
        done = subprocess.run(["sbatch", wrong], capture_output=True, text=True, env=cluster.env)
        assert done.returncode != 0
