"""Jobs for SLURM: what they ask for, and that they end with the bits of a run that nobody stopped."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

import pytest

import slurm

RECIPE = """
task: detection
training: {max_epochs: 30, patience: 30, batch_size: 64, checkpoint_every_s: 1}
gat: {hidden: 32, heads: 8}
"""


@pytest.fixture(scope="module")
def work(run, tmp_path_factory):
    """A folder with frames and a recipe."""
    folder = tmp_path_factory.mktemp("slurm")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "200000", "--seed", "3")
    (folder / "small.yaml").write_text(RECIPE)
    return folder


def job_of(bin_dir, work, run, *arguments):
    """The script that `plimsoll slurm` prints."""
    done = subprocess.run([str(word) for word in (
        bin_dir / "plimsoll", "slurm", work / "small.yaml", "--data", work / "frames", "--run", run, "--threads", 1,
        *arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def option(script, name):
    return re.search(rf"^#SBATCH --{name}=(.*)$", script, re.M)[1]


def test_the_job_asks_for_what_the_plan_says(bin_dir, run, work, tmp_path):
    plan = json.loads(run("plimsoll", "plan", work / "small.yaml", "--data", work / "frames", "--threads", 1, "--json"))
    site = tmp_path / "site.yaml"
    site.write_text("sbatch: [--partition=main]\nsetup: [export GREETING=hello]\nmax_time: 00:30:00\n")
    script = job_of(bin_dir, work, tmp_path / "runs" / "run", "--trial", 1, "--site", site)
    budget = int(re.search(r"--budget (\d+)", script)[1])
    mib = 1 << 20
    assert plan["peak_bytes"] <= budget <= plan["peak_bytes"] + 3 * mib and budget % mib == 0
    assert budget // mib + 64 + 2 <= int(option(script, "mem").removesuffix("M")) <= budget // mib * 1.01 + 64 + 6
    assert option(script, "cpus-per-task") == "1" and option(script, "partition") == "main"
    hours, minutes, seconds = map(int, option(script, "time").split(":"))
    assert 3 <= hours * 60 + minutes <= 30 and seconds == 0
    assert "GREETING=hello" in script and "estimated from a trial, times 1.3" in script
    assert list((tmp_path / "runs").iterdir()) == []  # SLURM wants a folder for the output
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0


def test_trackers_do_not_see_a_trial(bin_dir, work, tmp_path):
    shown = tmp_path / "mlruns"
    job_of(bin_dir, work, tmp_path / "run", "--trial", 1, "-O", f"run.trackers=[mlflow:{shown}]")
    assert not shown.exists()


def test_without_a_trial_the_limit_is_a_day(bin_dir, work, tmp_path):
    script = job_of(bin_dir, work, tmp_path / "run", "--trial", 0)
    assert option(script, "time") == "1-00:01:00"


def test_ranks_have_the_memory_of_python(bin_dir, run, work, tmp_path, monkeypatch):
    """A rank is a process of Python, which holds more than the program that makes the job."""
    pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    words = (work / "small.yaml", "--data", work / "frames", "--threads", 1, "--ranks", 2, "-O", "training.batch_size=512")
    plan = json.loads(run("plimsoll", "plan", *words, "--json"))
    script = job_of(bin_dir, work, tmp_path / "run", "--ranks", 2, "-O", "training.batch_size=512")
    assert int(re.search(r"--budget (\d+)", script)[1]) >= plan["min_budget_bytes"]


def test_a_budget_that_does_not_do_is_refused(bin_dir, work, tmp_path):
    done = subprocess.run([str(word) for word in (
        bin_dir / "plimsoll", "slurm", work / "small.yaml", "--data", work / "frames", "--run", tmp_path / "run",
        "--budget", "30MiB")], capture_output=True, text=True, timeout=600)
    assert done.returncode == 4 and "smallest budget" in done.stderr


# ---- on a GPU that is not here ------------------------------------------------------------------------------------


def on_gpu(bin_dir, work, run, *arguments):
    return job_of(bin_dir, work, run, "--device", "cuda", *arguments)


def test_a_gpu_and_its_memory_are_requested(bin_dir, run, work, tmp_path):
    site = tmp_path / "site.yaml"
    site.write_text("gres: gpu:v100\nsetup: [module load cuda/12.4.1]\nsbatch: [--partition=gpu]\n")
    script = on_gpu(bin_dir, work, tmp_path / "run", "--device-model", "v100-16", "--site", site)
    planned = json.loads(run("plimsoll", "plan", work / "small.yaml", "--data", work / "frames", "--threads", 1, "--device", "cuda",
                             "--device-model", "v100-16", "--json"))["device"]
    assert option(script, "gres") == "gpu:v100:1" and option(script, "ntasks") == "1" and option(script, "partition") == "gpu"
    assert option(script, "cpus-per-task") == "1" and option(script, "time") == "1-00:01:00"
    assert script.index("#SBATCH --partition=gpu") < script.index("\nmodule load cuda/12.4.1\n") < script.index(" stage ")
    train = next(line for line in script.splitlines() if " train " in line)
    assert train.startswith('in_reach "$plimsoll" train ') and train.endswith(" --resume")
    assert " --device cuda " in train and " --device-model v100-16 " in train
    budget = int(re.search(r"--device-budget (\d+)", train)[1])
    assert budget == planned["peak_bytes"] * 17 // 16
    host = int(re.search(r"--budget (\d+)", train)[1])
    assert host > planned["pinned_bytes"] + (320 << 20)
    assert host // (1 << 20) + 64 + 2 <= int(option(script, "mem").removesuffix("M")) <= host // (1 << 20) * 1.01 + 64 + 6
    assert script.index(" train ") < script.index(' job-report "$run"')
    assert "# Time: unknown, because no speed was measured on such a node." in script
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0


def test_a_stated_device_budget_is_passed_on(bin_dir, work, tmp_path):
    script = on_gpu(bin_dir, work, tmp_path / "run", "--device-budget", "14GiB")
    assert f"--device-budget {14 << 30} " in script and "--device-model" not in script
    assert "plans and reserves 14 GiB, and is refused before it trains if less is free" in script


def test_ranks_have_a_gpu_each(bin_dir, work, tmp_path):
    words = ("--device-model", "h200", "-O", "training.batch_size=512")  # Each rank needs a block of a batch.
    one = on_gpu(bin_dir, work, tmp_path / "run", *words)
    two = on_gpu(bin_dir, work, tmp_path / "run", *words, "--ranks", 2)
    assert option(two, "gres") == "gpu:2" and option(two, "ntasks") == "2"
    assert int(option(two, "mem").removesuffix("M")) > 1.6 * int(option(one, "mem").removesuffix("M")) - 64
    assert 'in_reach srun --ntasks=2 --cpus-per-task=1 --gpus-per-task=1 "$plimsoll" train ' in two
    assert "srun" not in one


def test_another_verb_has_the_memory_of_the_plan_and_its_sets_are_staged(bin_dir, work, tmp_path):
    script = on_gpu(bin_dir, work, tmp_path / "test", "--device-model", "h200", "--", "evaluate", "runs/a run", "--data",
                    work / "frames")
    assert f"for set in \"$data\" {work / 'frames'}; do" in script and option(script, "chdir") == os.getcwd()
    last = script.splitlines()[-1]
    assert last.startswith(f"in_reach \"$plimsoll\" evaluate 'runs/a run' --data {work / 'frames'} --budget ")
    assert " --device cuda --device-budget " in last and "job-report" not in script
    joined = on_gpu(bin_dir, work, tmp_path / "joined", "--device-model", "h200", "--", "evaluate", "runs/a run",
                    f"--data={work / 'frames'}")
    assert f"for set in \"$data\" {work / 'frames'}; do" in joined


def test_a_verb_without_a_recipe_has_the_stated_memory(bin_dir, tmp_path):
    done = subprocess.run([bin_dir / "plimsoll", "slurm", "--run", tmp_path / "frames", "--budget", "1GiB", "--threads", "2", "--",
                           "ingest", "can", "captures", "--out", "frames"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith('in_reach "$plimsoll" ingest can captures --out frames\n')
    assert 1024 + 64 <= int(option(done.stdout, "mem").removesuffix("M")) <= 1024 + 64 + 8


@pytest.mark.parametrize("words, text", [
    (["--device", "cuda", "--device-model", "v100-17"], "did you mean 'v100-16'?"),
    (["--device", "cuda", "--device-model", "v100-16", "--device-budget", "20GiB"], "more than the 15.8 GiB that the device has"),
    (["--device", "cuda"], "or --device-model, as v100-16"),
    (["--device-model", "v100-16"], "--device-model works only with a GPU; add --device cuda"),
    (["--device", "stand-in"], "configure with -DPLIMSOLL_STAND_IN=ON"),
    (["--", "evaluat"], "did you mean 'evaluate'?"),
    (["--ranks", "2", "--", "ingest", "can", "captures"], "--ranks: ingest runs in one process"),
    (["--", "evaluate", "runs/gat", "--budget=2GiB"], "--budget: the job sets it; give it before --"),
])
def test_a_job_that_cannot_be_is_refused_with_the_remedy(bin_dir, work, tmp_path, words, text):
    done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", "slurm", work / "small.yaml", "--data", work / "frames",
                                                  "--run", tmp_path / "run", *words)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and text in done.stderr, done.stderr


@pytest.mark.parametrize("words, text", [
    ([], "nothing to submit: give RECIPE and --data DIR to train, or a verb"),
    (["gat"], "RECIPE needs --data DIR"),
    (["--data", "frames"], "give the name or the file of a recipe"),
    (["--", "ingest", "can"], "--budget is missing"),
    (["-O", "seed=1", "--budget", "1GiB", "--", "ingest", "can"], "found no RECIPE to change"),
])
def test_a_job_of_nothing_is_refused(bin_dir, tmp_path, words, text):
    done = subprocess.run([bin_dir / "plimsoll", "slurm", "--run", tmp_path / "run", *words], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 2 and text in done.stderr, done.stderr


def test_starts_and_usage_are_in_the_manifest(bin_dir, run, work, tmp_path):
    folder = tmp_path / "run"
    command = [str(word) for word in (bin_dir / "plimsoll", "train", work / "small.yaml", "--data", work / "frames", "--run",
                                      folder, "--threads", 1, "--resume", "-O", "training.max_epochs=8")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    wait_for_steps(folder)
    process.terminate()
    assert process.wait() == 75
    report = json.loads(run("plimsoll", "job-report", folder, "--json"))
    assert report["state"] == "interrupted" and len(report["starts"]) == 1
    subprocess.run(command, check=True, capture_output=True)
    report = json.loads(run("plimsoll", "job-report", folder, "--json"))
    assert report["state"] == "done" and [start["ended"] for start in report["starts"]] == ["interrupted", "done"]
    memory = report["memory"]
    assert memory["floor_bytes"] < memory["anonymous_peak_bytes"] <= memory["budget_bytes"]
    assert memory["by_tag"]["activations"] > 0 and memory["planned_peak_bytes"] > 0
    assert 0.1 < report["processors"]["utilisation"] <= 1
    assert report["next_time"]["mem_mib"] * (1 << 20) >= memory["anonymous_peak_bytes"]


def wait_for_steps(folder, seconds=120):
    """Until the run has a checkpoint."""
    end = time.monotonic() + seconds
    while not list(folder.glob("seed-*/*/checkpoints/step-*")):
        assert time.monotonic() < end, "no checkpoint"
        time.sleep(0.05)


# ---- on a real SLURM ----------------------------------------------------------------------------------------------

SLOW = pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="takes minutes; set PLIMSOLL_SLOW")


@pytest.fixture(scope="module")
def cluster():
    if reason := slurm.reason_to_skip():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, slurm.Slurm(folder) as running:
        yield running


@pytest.fixture(scope="module")
def weights(run, work, tmp_path_factory):
    """Those of a run that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    return json.loads(run("plimsoll", "train", work / "small.yaml", "--data", work / "frames", "--run", folder, "--json"))[
        "weights"]


def submit(cluster, bin_dir, work, tmp_path, *options):
    script = tmp_path / "job.sbatch"
    site = tmp_path / "site.yaml"
    site.write_text(f"scratch: {tmp_path / 'scratch'}\n")
    script.write_text(job_of(bin_dir, work, tmp_path / "run", "--trial", 0, "--site", site))
    return cluster.submit(script, *options)


def finish(cluster, job, tmp_path):
    """The report of a job that is done."""
    facts = cluster.wait_for(job, ("COMPLETED", "FAILED", "OUT_OF_MEMORY", "TIMEOUT", "CANCELLED"), 300)
    output = (tmp_path / f"run.slurm-{job}.out").read_text()
    assert facts["JobState"] == "COMPLETED", output
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert "next time:" in output
    return manifest, output


@SLOW
def test_a_job_runs_within_its_memory(cluster, bin_dir, work, weights, tmp_path):
    manifest, output = finish(cluster, submit(cluster, bin_dir, work, tmp_path), tmp_path)
    assert manifest["weights"] == weights
    assert "reading the staged copy" in output
    assert manifest["starts"][0]["usage"]["slurm_job"]


@SLOW
def test_the_time_limit_costs_nothing(cluster, bin_dir, work, weights, tmp_path):
    job = submit(cluster, bin_dir, work, tmp_path)
    wait_for_steps(tmp_path / "run")
    cluster.call("scancel", "--batch", "--signal=USR1", job)  # what SLURM sends before the limit
    manifest, output = finish(cluster, job, tmp_path)
    assert manifest["weights"] == weights
    assert [start["ended"] for start in manifest["starts"]] == ["interrupted", "done"]
    assert "the time limit is near" in output and cluster.facts(job)["Restarts"] == "1"


@SLOW
def test_preemption_costs_nothing(cluster, bin_dir, work, weights, tmp_path):
    job = submit(cluster, bin_dir, work, tmp_path, "--partition=main")
    wait_for_steps(tmp_path / "run")
    cluster.call("srun", "--partition=urgent", "--exclusive", "--mem=64M", "true")
    manifest, _ = finish(cluster, job, tmp_path)
    assert manifest["weights"] == weights and len(manifest["starts"]) == 2
    assert int(cluster.facts(job)["Restarts"]) >= 1


@SLOW
def test_a_requeue_by_hand_and_a_node_that_fails_cost_nothing(cluster, bin_dir, work, weights, tmp_path):
    job = submit(cluster, bin_dir, work, tmp_path)
    wait_for_steps(tmp_path / "run")
    cluster.call("scontrol", "requeue", job)
    cluster.wait_for(job, ("RUNNING",), 60)
    time.sleep(2)
    node = cluster.facts(job)["NodeList"]
    cluster.call("scontrol", "update", f"nodename={node}", "state=down", "reason=test")  # up again by itself in seconds
    manifest, _ = finish(cluster, job, tmp_path)
    assert manifest["weights"] == weights
    assert int(cluster.facts(job)["Restarts"]) == 2


@SLOW
def test_a_cancelled_job_goes_on_when_it_is_submitted_again(cluster, bin_dir, work, weights, tmp_path):
    job = submit(cluster, bin_dir, work, tmp_path)
    wait_for_steps(tmp_path / "run")
    cluster.call("scancel", job)
    cluster.wait_for(job, ("CANCELLED",), 60)
    manifest, _ = finish(cluster, cluster.submit(tmp_path / "job.sbatch"), tmp_path)
    assert manifest["weights"] == weights and manifest["starts"][0]["ended"] == "interrupted"
