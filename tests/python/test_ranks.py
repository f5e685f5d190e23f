"""Ranks of a run: the weights of one process, whoever starts them, and what is said when one is missing."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest
import slurm
from rank_processes import LIMIT_S, ended, free_port, start

package = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available() or not dist.is_gloo_available():
    pytest.skip("this torch has no gloo", allow_module_level=True)

from conftest import REPOSITORY  # noqa: E402

PROGRAM = Path(package.__file__).parent / "bin" / "plimsoll"


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ranks") / "frames"
    plimsoll("simulate", "can", "--out", folder, "--frames", 12000, "--seed", 1)
    return folder


def plimsoll(*arguments):
    return subprocess.run([sys.executable, "-m", "plimsoll", *map(str, arguments)], capture_output=True, text=True,
                          timeout=LIMIT_S, check=True).stdout


def program(*arguments, **more):
    """What `plimsoll` itself makes of it."""
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=LIMIT_S,
                          env=os.environ | {"PLIMSOLL_PYTHON": sys.executable} | more)


def arguments(frames, run, *more):
    return ["train", str(REPOSITORY / "recipes" / "gat.yaml"), "--data", str(frames), "--run", str(run), "--threads", "1",
            "--json", "-O", "training.max_epochs=2", "-O", "training.batch_size=64", "-O", "training.block.graphs=8",
            "-O", "training.checkpoint_every_s=0", *more]


def summary_of(out):
    return json.loads(out.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def one(frames, tmp_path_factory):
    """What one process makes of it."""
    return summary_of(plimsoll(*arguments(frames, tmp_path_factory.mktemp("one") / "run")))


def same(found, expected):
    return [found[key] for key in ("weights", "training_loss", "validation_loss", "best_epoch")] == [
        expected[key] for key in ("weights", "training_loss", "validation_loss", "best_epoch")]


def test_torchrun_has_the_weights_of_one_process(frames, one, tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "--"]
    done = subprocess.run([*torchrun, "plimsoll", *arguments(frames, tmp_path / "run")], capture_output=True, text=True,
                          timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert same(summary_of(done.stdout), one)


def test_ranks_trace_their_steps(frames, one, tmp_path):
    found = program(*arguments(frames, tmp_path / "run", "--ranks", "2", "-O", "run.profile.wait=0", "-O", "run.profile.warmup=0", "-O",
                             "run.profile.active=1"))
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["weights"] == one["weights"]
    trace, = (tmp_path / "run").glob("seed-*/gat/trace-*.json")
    assert sum(event["name"] == "step" for event in json.loads(trace.read_text())) == 1


def test_every_stage_of_a_distillation_has_the_weights_of_one_process(frames, tmp_path):
    found = []
    for ranks in ("1", "2"):
        out = plimsoll("train", REPOSITORY / "recipes" / "kdgat-demo.yaml", "--data", frames, "--run", tmp_path / ranks, "--json",
                       "--threads", "1", "--ranks", ranks, "-O", "training.max_epochs=1", "-O", "training.batch_size=32",
                       "-O", "training.block.graphs=8")
        found.append({stage["stage"]: stage.get("weights") for stage in summary_of(out)["stages"]})
    assert found[0] == found[1] and len(found[0]) > 3
    # Columns, thresholds, models: all that stages leave beside journals.
    files = [{str(path.relative_to(tmp_path / ranks)): path.read_bytes() for pattern in ("*.npy", "model.safetensors")
              for path in (tmp_path / ranks).rglob(pattern)} for ranks in ("1", "2")]
    assert sorted(files[0]) == sorted(files[1]) and sum(name.endswith(".npy") for name in files[0]) == 3
    for name, content in files[0].items():
        assert files[1][name] == content, name


def test_ranks_judge_and_predict_as_one_process(frames, tmp_path):
    run = tmp_path / "run"
    plimsoll(*arguments(frames, run, "-O", "training.max_epochs=1"))
    judged, scores, predicted = [], [], []
    for ranks in ("1", "3"):
        csv, out = tmp_path / f"{ranks}.csv", tmp_path / f"out-{ranks}"
        judged.append(json.loads(plimsoll("evaluate", run, "--data", frames, "--json", "--ranks", ranks, "--scores", csv)))
        scores.append(csv.read_bytes())
        said = summary_of(plimsoll("predict", run, "--data", frames, "--out", out, "--json", "--ranks", ranks, "--embeddings"))
        predicted.append((said["rows"], {path.name: path.read_bytes() for path in out.glob("*.npy")}))
    assert judged[0] == judged[1] and scores[0] == scores[1]
    assert predicted[0] == predicted[1] and len(predicted[0][1]) == 3


def test_ranks_save_checkpoints_where_batches_are_without_labels(tmp_path, monkeypatch):
    """Ranks agree in a step on whether to save; a batch without labels has none, and their clocks differ."""
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    numbers = torch.Generator().manual_seed(0)
    graphs = [data.Data(x=torch.randn(20, 8, generator=numbers), edge_index=torch.randint(0, 20, (2, 60), generator=numbers),
                        node_y=torch.full((20,), i % 3 if i % 8 == 0 else -1)) for i in range(800)]
    package.from_pyg(graphs, tmp_path / "nodes")
    (tmp_path / "recipe.yaml").write_text(
        "task: node_classification\nsplit: {by: graph}\ngnn: {conv: sage, layers: 2, hidden: 64}\n"
        "training: {max_epochs: 4, batch_size: 2, checkpoint_every_s: 0.05, block: {graphs: 1}}\n")
    monkeypatch.setenv("PLIMSOLL_RANKS_TIMEOUT_S", "20")
    weights = [summary_of(plimsoll("train", tmp_path / "recipe.yaml", "--data", tmp_path / "nodes", "--run",
                                   tmp_path / f"of-{ranks}", "--threads", 1, "--ranks", ranks, "--json"))["weights"]
               for ranks in (1, 2)]
    assert weights[0] == weights[1]


def signal_after_a_checkpoint(processes, rank, run, number):
    end = time.monotonic() + LIMIT_S
    while not list(run.glob("seed-42/gat/checkpoints/step-*")) and time.monotonic() < end and processes[rank].poll() is None:
        time.sleep(0.01)
    processes[rank].send_signal(number)


def kill_after_a_checkpoint(processes, rank, run):
    signal_after_a_checkpoint(processes, rank, run, signal.SIGKILL)
    return processes[rank].wait() == -signal.SIGKILL


def test_a_rank_that_dies_ends_the_others_and_any_number_continues(frames, one, tmp_path):
    run = tmp_path / "run"
    processes = start(3, lambda rank: arguments(frames, run))
    assert kill_after_a_checkpoint(processes, 1, run)
    done = ended(processes)
    for rank in (0, 2):
        code, _, text = done[rank]
        assert code == 75 and "plimsoll: rank 1 (process " in text and "has ended; to continue" in text, done[rank]
    again = program(*arguments(frames, run, "--resume", "--ranks", "2"))
    assert again.returncode == 0, again.stderr
    assert same(summary_of(again.stdout), one) and summary_of(again.stdout)["resumed_at"] > 0


def test_a_signal_ends_a_rank_that_waits_for_a_stopped_one(frames, tmp_path):
    """Rank 0 serves the store, so that nothing answers; the limit for stalls is far."""
    run = tmp_path / "run"
    processes = start(2, lambda rank: arguments(frames, run))
    signal_after_a_checkpoint(processes, 0, run, signal.SIGSTOP)
    processes[1].send_signal(signal.SIGTERM)
    _, text = processes[1].communicate(timeout=LIMIT_S / 5)
    processes[0].kill()
    processes[0].communicate()
    assert processes[1].returncode == 75 and "rank 1 was asked to stop" in text, text


def test_ranks_that_differ_refuse(frames, tmp_path):
    more = {0: [], 1: ["-O", "training.batch_size=32"]}
    for code, _, text in ended(start(2, lambda rank: arguments(frames, tmp_path / "run", *more[rank]))):
        assert code == 2 and "rank 0 has 'batch_size: 64', rank 1 has 'batch_size: 32'" in text
    assert not (tmp_path / "run").exists()


def test_ranks_of_other_data_and_other_kernels_refuse(frames, tmp_path):
    other = tmp_path / "other"
    plimsoll("simulate", "can", "--out", other, "--frames", 12000, "--seed", 2)
    for code, _, text in ended(start(2, lambda rank: arguments([frames, other][rank], tmp_path / "run"))):
        assert code == 2 and "the ranks differ in data set: rank 0 has" in text, text
    levels = start(2, lambda rank: arguments(frames, tmp_path / "run"), env=lambda rank: {"PLIMSOLL_SIMD": "portable"} if rank else {})
    done = ended(levels)
    if done[0][0] == 0:
        pytest.skip("the portable kernels are all that this processor has")
    for code, _, text in done:
        assert code == 2 and "differ in level of kernels" in text and "rank 1 has 'portable'" in text, text
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("killed", [0, 1])
def test_a_rank_that_is_killed_before_all_have_arrived_ends_the_others(frames, tmp_path, killed):
    port = free_port()
    processes = start(3, lambda rank: arguments(frames, tmp_path / "run"), port, only=[0, 1])
    store = None
    while store is None:
        with contextlib.suppress(RuntimeError):  # Rank 0 does not serve yet.
            store = dist.TCPStore("127.0.0.1", port, 3, False, timedelta(seconds=LIMIT_S), wait_for_workers=False)
    store.wait([f"plimsoll/0/here/{rank}" for rank in (0, 1)], timedelta(seconds=LIMIT_S))
    processes[killed].kill()
    moment = time.monotonic()
    other = processes[1 - killed]
    _, text = other.communicate(timeout=LIMIT_S)
    assert time.monotonic() - moment < 30 and other.returncode == 1
    if killed == 0:
        assert "rank 1 lost its connection to rank 0 before all ranks had arrived; start all ranks again" in text
    else:
        assert f"rank 1 (process {processes[1].pid} on " in text and "has ended before all ranks had arrived" in text
    processes[killed].communicate()


def test_a_rank_that_never_comes_and_a_taken_port(frames, tmp_path):
    [(code, _, text)] = ended(start(2, lambda rank: arguments(frames, tmp_path / "run"), only=[0], seconds=1))
    assert code == 1 and "rank 1 of 2 did not arrive within 1 s" in text
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        [(code, _, text)] = ended(start(2, lambda rank: arguments(frames, tmp_path / "run"), port, only=[0]))
    assert code == 1 and f"port {port} of MASTER_PORT is in use" in text


def test_a_torch_without_gloo_refuses(frames, tmp_path, monkeypatch, capsys):
    from plimsoll.jobs import ranks

    monkeypatch.setattr("torch.distributed.is_gloo_available", lambda: False)
    with pytest.raises(SystemExit) as ended_with:
        ranks.take(arguments(frames, tmp_path / "run", "--ranks", "2"))
    assert ended_with.value.code == 2 and "this torch has no gloo" in capsys.readouterr().err


def test_bad_numbers_of_ranks_are_refused_before_anything_starts(frames, tmp_path):
    many = program(*arguments(frames, tmp_path / "run", "--ranks", "65"))
    assert many.returncode == 2 and "--ranks" in many.stderr
    recipe = program("train", tmp_path / "absent.yaml", "--data", frames, "--run", tmp_path / "run", "--ranks", 2)
    assert recipe.returncode == 3 and "absent.yaml" in recipe.stderr
    other = program(*arguments(frames, tmp_path / "run", "--ranks", "2"), PLIMSOLL_PYTHON="/usr/bin/false-python")
    assert other.returncode == 1 and "PLIMSOLL_PYTHON" in other.stderr
    lanes = program(*arguments(frames, tmp_path / "run", "--ranks", "2", "-O", "training.lanes=1"))
    assert lanes.returncode == 2 and "2 ranks, but training.lanes is 1" in lanes.stderr
    assert "folder" not in lanes.stderr  # of the run, which rank 0 has taken away
    assert not (tmp_path / "run").exists()


SLOW = pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="takes half a minute; set PLIMSOLL_SLOW")


def test_a_node_that_has_no_address_is_named_at_once(frames, tmp_path):
    """As srun gives the name of a node that this one cannot resolve."""
    began = time.monotonic()
    env = os.environ | {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "no-such-node.invalid", "MASTER_PORT": str(free_port())}
    done = subprocess.run([sys.executable, "-m", "plimsoll", *arguments(frames, tmp_path / "run")], capture_output=True, text=True,
                          timeout=LIMIT_S, env=env)
    assert done.returncode == 1 and "'no-such-node.invalid', has no address here" in done.stderr, done.stderr
    assert "set MASTER_ADDR" in done.stderr and time.monotonic() - began < 60


@SLOW
def test_srun_has_the_weights_of_one_process(frames, one, tmp_path):
    if reason := slurm.reason_to_skip():
        pytest.skip(reason)
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder, slurm.Slurm(folder) as cluster:
        env = cluster.env | {"PLIMSOLL_PYTHON": sys.executable, "MASTER_ADDR": "127.0.0.1"}
        done = subprocess.run(["srun", "-n", "2", PROGRAM, *arguments(frames, tmp_path / "run")], capture_output=True, text=True,
                              timeout=LIMIT_S, env=env)
    assert done.returncode == 0, done.stderr
    assert same(summary_of(done.stdout), one)


@SLOW
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'ray[train,tune]'")
def test_ray_train_has_the_weights_of_one_process(frames, one, tmp_path):
    """In Ray's local mode, whose processes torchrun starts; a cluster of Ray takes a minute to start its workers."""
    words = [word for word in arguments(frames, tmp_path / "run") if str(word).startswith("training.")]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--",
               REPOSITORY / "examples" / "ray_train.py", REPOSITORY / "recipes" / "gat.yaml", "--data", frames, "--run",
               tmp_path / "run", "--workers", "0", *(part for word in words for part in ("-O", word))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert f"weights {one['weights']}" in done.stdout


@SLOW
@pytest.mark.parametrize("rank", range(3))
@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGKILL, signal.SIGTERM])
def test_whatever_happens_to_a_rank_all_end_and_the_run_continues(frames, one, tmp_path, number, rank):
    run = tmp_path / "run"
    processes = start(3, lambda rank: arguments(frames, run), env=lambda rank: {"PLIMSOLL_STALL_TIMEOUT_S": 10})
    signal_after_a_checkpoint(processes, rank, run, number)
    others = [process for process in processes if process is not processes[rank]]
    for code, _, text in ended(others):
        assert code == 75, text
        if number != signal.SIGTERM:
            assert f"plimsoll: rank {rank} " in text, text
    processes[rank].kill() if number == signal.SIGSTOP else None
    _, text = processes[rank].communicate(timeout=LIMIT_S)
    if number == signal.SIGTERM:
        assert processes[rank].returncode == 75 and "interrupted in epoch" in text, text
    again = program(*arguments(frames, run, "--resume", "--ranks", "2"))
    assert again.returncode == 0, again.stderr
    assert same(summary_of(again.stdout), one) and summary_of(again.stdout)["resumed_at"] > 0


@SLOW
@pytest.mark.parametrize("seed", range(3))
def test_processes_killed_at_random_end_in_the_same_weights(frames, one, tmp_path, seed):
    """The long form, 50 schedules of ranks that are threads, is RanksTest.AnyScheduleOfRanksStopsAndKillsEndsInTheSameBits."""
    dice = random.Random(seed)
    run = tmp_path / "run"
    for start_number in range(4):
        ranks = dice.randint(1, 4)
        if start_number == 3 or ranks == 1:
            done = subprocess.run([sys.executable, "-m", "plimsoll", *arguments(frames, run, "--resume", "--ranks", str(ranks))], text=True,
                                  capture_output=True, timeout=LIMIT_S)
            assert done.returncode == 0, done.stderr
            break
        before = set(run.glob("seed-42/gat/checkpoints/step-*"))
        processes = start(ranks, lambda rank: arguments(frames, run, "--resume"))
        end = time.monotonic() + LIMIT_S
        while set(run.glob("seed-42/gat/checkpoints/step-*")) == before and processes[0].poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(dice.random())
        processes[dice.randrange(ranks)].kill()
        ended(processes)
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["weights"] == one["weights"]
