"""Ranks on devices, whose place stand-ins take: one hash for any number of ranks, device budgets and kills (docs/ranks.md)."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest
import slurm

BIN = os.environ.get("PLIMSOLL_STAND_IN_BIN")
PACKAGE = os.environ.get("PLIMSOLL_STAND_IN_PACKAGE")
pytestmark = pytest.mark.skipif(not (BIN and PACKAGE), reason="needs a build with the stand-in; run `scripts/check stand-in`")
SLOW = pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="takes minutes; set PLIMSOLL_SLOW")

LIMIT_S = 300
MIB = 1 << 20
ENV = {**os.environ, "PYTHONPATH": PACKAGE or "", "PLIMSOLL_PYTHON": sys.executable}
ENV.pop("CUDA_VISIBLE_DEVICES", None)
DETECTION = """
task: detection
training: {max_epochs: 2, batch_size: 128, lanes: 8, checkpoint_every_s: 0, block: {graphs: 8}}
gat: {hidden: 16, heads: 4}
"""
GIANT = """
task: node_classification
gnn: {conv: gatv2, layers: 2, hidden: 16}
sampling: {fan_outs: [5, 5]}
training: {max_epochs: 2, batch_size: 256, lanes: 8, checkpoint_every_s: 0, block: {seeds: 16}}
"""


def python(*words, code=0, **env):
    done = subprocess.run([sys.executable, "-m", "plimsoll", *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S,
                          env=ENV | env)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with a set of graphs, a giant graph and a recipe for each."""
    folder = tmp_path_factory.mktemp("stand_in_ranks")
    python("simulate", "can", "--out", folder / "frames", "--frames", 20000, "--seed", 3)
    python("simulate", "graph", "--out", folder / "giant", "--nodes", 3000, "--degree", 12, "--features", 8, "--classes", 4, "--seed", 5)
    (folder / "frames.yaml").write_text(DETECTION)
    (folder / "giant.yaml").write_text(GIANT)
    return folder


def training(work, run, data="frames", *more):
    return ["train", str(work / f"{data}.yaml"), "--data", str(work / data), "--run", str(run), "--threads", "1", "--json", *more]


def on_device(*more):
    return ["--device", "stand-in", "--device-budget", "256MiB", *more]


def weights_in(text):
    return json.loads(text.strip().splitlines()[-1])["weights"]


@pytest.fixture(scope="module")
def one(work):
    """The weights of one process on the CPU, by data set."""
    return {data: weights_in(python(*training(work, work / f"one-{data}", data)).stdout) for data in ("frames", "giant")}


def start(ranks, words_of):
    """Starts ranks as a launcher does, of which each has its own options."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    return [subprocess.Popen([sys.executable, "-m", "plimsoll", *map(str, words_of(rank))], text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=ENV | {key: str(value) for key, value in {"RANK": rank, **place}.items()})
            for rank in range(ranks)]


def ended(processes):
    outputs = [process.communicate(timeout=LIMIT_S) for process in processes]
    return [(process.returncode, *output) for process, output in zip(processes, outputs, strict=True)]


@pytest.mark.parametrize("data", ["frames", "giant"])
@pytest.mark.parametrize("ranks", [1, 2, pytest.param(4, marks=SLOW), pytest.param(8, marks=SLOW)])
def test_any_number_of_ranks_has_the_weights_of_one_process_without_a_device(work, one, tmp_path, data, ranks):
    done = python(*training(work, tmp_path / "run", data, *on_device("--ranks", ranks)))
    assert weights_in(done.stdout) == one[data]
    assert json.loads((tmp_path / "run" / "manifest.json").read_text()).get("ranks", 1) == ranks


def test_each_rank_has_its_own_device_budget(work, one, tmp_path):
    budgets = ["300MiB", "64MiB", "40MiB"]
    done = ended(start(3, lambda rank: training(work, tmp_path / "run", "frames", "--device", "stand-in", "--device-budget",
                                                budgets[rank])))
    assert [code for code, _, _ in done] == [0, 0, 0], done
    assert weights_in(done[0][1]) == one["frames"]


def smallest_device_budget(run):
    """That of the plan that a run made when it started."""
    journal, = run.glob("seed-*/*/events.jsonl")
    return json.loads(journal.read_text().splitlines()[0])["device"]["min_budget_bytes"]


def test_the_smallest_device_budget_works_on_all_ranks_and_less_is_refused(work, one, tmp_path):
    python(*training(work, tmp_path / "roomy", "frames", *on_device()))
    smallest = smallest_device_budget(tmp_path / "roomy")
    options = ["--device", "stand-in", "--ranks", 2, "--device-budget"]
    done = python(*training(work, tmp_path / "small", "frames", *options, smallest))
    assert weights_in(done.stdout) == one["frames"]
    done = python(*training(work, tmp_path / "less", "frames", *options, smallest - 4096), code=4)
    assert "smallest device budget that works is" in done.stderr or "raise --device-budget" in done.stderr


@pytest.mark.parametrize("visible, ranks, text", [
    ("", 2, "CUDA_VISIBLE_DEVICES is empty, which hides every GPU; request one from the scheduler"),
    ("0", 2, "ranks 0 and 1 have the same GPU (stand-in 0): each rank needs a GPU of its own"),
    ("0,1", 3, "3 ranks on this machine, which shows them 2 GPUs: each rank needs a GPU of its own; give --ranks 2"),
])
def test_ranks_without_a_gpu_of_their_own_are_refused(work, tmp_path, visible, ranks, text):
    done = python(*training(work, tmp_path / "run", "frames", *on_device("--ranks", ranks)), code=2, CUDA_VISIBLE_DEVICES=visible)
    assert text in done.stderr
    assert not (tmp_path / "run").exists()


def test_evaluation_and_prediction_on_devices_are_those_of_one_process(work, tmp_path):
    python(*training(work, tmp_path / "run"))
    scores = []
    for options in ([], on_device("--ranks", "2")):
        csv = tmp_path / f"{len(scores)}.csv"
        found = json.loads(python("evaluate", tmp_path / "run", "--data", work / "frames", "--json", "--scores", csv, *options).stdout)
        out = tmp_path / f"out-{len(scores)}"
        python("predict", tmp_path / "run", "--data", work / "frames", "--out", out, *options)
        found.pop("seconds", None)
        scores.append((csv.read_bytes(), {path.name: path.read_bytes() for path in sorted(out.glob("*.npy"))}))
    assert scores[0] == scores[1]


def kill_after_a_checkpoint(processes, run, rank):
    end = time.monotonic() + LIMIT_S
    while not list(run.glob("**/checkpoints/step-*")) and time.monotonic() < end and processes[rank].poll() is None:
        time.sleep(0.01)
    processes[rank].send_signal(signal.SIGKILL)


@pytest.mark.parametrize("data", ["frames", "giant"])
def test_killed_ranks_continue_in_any_number(work, one, tmp_path, data):
    run = tmp_path / "run"
    processes = start(2, lambda rank: training(work, run, data, *on_device()))
    kill_after_a_checkpoint(processes, run, 1)
    codes = [code for code, _, _ in ended(processes)]
    assert codes in ([75, -signal.SIGKILL], [0, 0]), codes  # It may end before it is killed.
    done = python(*training(work, run, data, *on_device("--ranks", 3, "--resume")))
    assert weights_in(done.stdout) == one[data]


def random_model(dice):
    """Returns the data and the keys of a random model, as options."""
    data = dice.choice(["frames", "giant"])
    keys = {"training.batch_size": dice.choice([128, 160, 256]), "training.precision": dice.choice(["32", "32", "bf16-mixed"]), "training.max_epochs": 1, "seed": dice.randrange(1000)}
    if data == "frames":
        keys |= {"training.block.graphs": dice.choice([4, 8, 16]), "gat.hidden": dice.choice([8, 16, 32]), "gat.heads": dice.choice([1, 2, 4])}
    else:
        keys |= {"training.block.seeds": dice.choice([8, 16, 32]), "gnn.conv": dice.choice(["gat", "gatv2", "sage", "gcn"]),
                 "gnn.hidden": dice.choice([8, 16, 32])}
    return data, [word for key, value in keys.items() for word in ("-O", f"{key}={value}")]


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=SLOW) for seed in range(2, 30))])
def test_random_models_have_one_hash_for_random_ranks_and_device_budgets(work, tmp_path, seed):
    dice = random.Random(seed)
    data, model = random_model(dice)
    first = python(*training(work, tmp_path / "one", data, *model, *on_device()))
    smallest, hashes = smallest_device_budget(tmp_path / "one"), {weights_in(first.stdout)}
    for number in range(2):
        ranks = dice.choice([1, 2, 3, 4])
        budgets = [smallest + dice.choice([0, 1 << 16, MIB, 64 * MIB]) for _ in range(ranks)]
        run = tmp_path / f"run-{number}"
        done = (ended(start(ranks, lambda rank: training(work, run, data, *model, "--device", "stand-in", "--device-budget",
                                                         budgets[rank]))) if ranks > 1 else
                [(0, python(*training(work, run, data, *model, "--device", "stand-in", "--device-budget", budgets[0])).stdout, "")])
        assert [code for code, _, _ in done] == [0] * ranks, (model, budgets, done)
        hashes.add(weights_in(done[0][1]))
    assert len(hashes) == 1, (data, model)


@SLOW
def test_a_slurm_job_gives_each_rank_a_gpu(work, one, tmp_path):
    if reason := slurm.reason_to_skip():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, slurm.Slurm(folder, "--gres", "gpu:2") as cluster:
        site, job, run = tmp_path / "site.yaml", tmp_path / "job.sbatch", tmp_path / "run"
        site.write_text(f"scratch: {tmp_path / 'scratch'}\nsetup: [export PYTHONPATH={PACKAGE} PLIMSOLL_PYTHON={sys.executable}]\n")
        words = ["slurm", work / "frames.yaml", "--data", work / "frames", "--run", run, "--threads", 1, "--device", "stand-in", "--device-budget", "1GiB",
                 "--ranks", 2,
                 "--site", site]
        made = subprocess.run([f"{BIN}/plimsoll", *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S, env=ENV)
        assert made.returncode == 0 and "refuse" not in made.stderr, made.stderr
        assert re.search(r"^in_reach srun --ntasks=2 .*--gpus-per-task=1 ", made.stdout, re.M)
        job.write_text(made.stdout)
        number = cluster.submit(job)
        facts = cluster.wait_for(number, ("COMPLETED", "FAILED", "OUT_OF_MEMORY", "TIMEOUT", "CANCELLED"), LIMIT_S)
        output = (tmp_path / f"run.slurm-{number}.out").read_text()
        assert facts["JobState"] == "COMPLETED", output
        manifest = json.loads((run / "manifest.json").read_text())
        assert manifest["weights"] == one["frames"] and manifest["ranks"] == 2
