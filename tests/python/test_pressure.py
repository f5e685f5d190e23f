"""Memory that gets short from outside, and --enforce: both change how a run goes, never what comes out."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cgroup import MemoryCgroup

MIB = 1 << 20
RECIPE = """
task: detection
training: {max_epochs: 4, batch_size: 64, patience: 100000}
gat: {hidden: 8, heads: 2}
"""
# Takes anonymous memory until its group has 12 MiB left beside it, says so, and holds it until its input ends.
HOG = """
import sys
limit, stat, key = int(sys.argv[1]), sys.argv[2], sys.argv[3]
held = []
def anonymous():
    return int(dict(line.split() for line in open(stat))[key])
while anonymous() < limit - 13 * 2**20:
    held.append(b"x" * 2**20)
print("full", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pressure") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "150000", "--seed", "3")
    return folder


@pytest.fixture
def command(bin_dir, frames, tmp_path):
    """command(name, *arguments): the command line that trains into a run of that name."""

    def make(name, *arguments):
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text(RECIPE)
        return [str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(frames), "--run", str(tmp_path / name),
                "--json", "--threads", "2", *map(str, arguments)]

    return make


def start(command, **options):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def finish(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def wait_for(what, process, seconds=60):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)
    return found


def events(run):
    journal = run / "seed-42" / "gat" / "events.jsonl"
    return [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []


def names(run):
    return [event["event"] for event in events(run)]


def test_a_neighbour_that_takes_the_memory_of_the_group_changes_no_bit(command, tmp_path):
    limit = 400 * MIB
    try:
        group = MemoryCgroup(limit)
    except OSError as error:
        pytest.skip(f"no memory cgroup of our own to be had: {error}")
    run = tmp_path / "run"
    with group:
        process = start(command("run", "--budget", "140MiB", "-O", "training.max_epochs=100000"), preexec_fn=group.join)
        wait_for(lambda: list(run.glob("seed-42/gat/checkpoints/step-*")), process)
        assert "pressure" not in names(run)
        hog = start([sys.executable, "-c", HOG, str(limit), str(group.folder / "memory.stat"),
                     "total_rss" if group.v1 else "anon"], stdin=subprocess.PIPE, preexec_fn=group.join)
        assert hog.stdout.readline() == "full\n"
        wait_for(lambda: "blocks_reduced" in names(run), process, 5)
        hog.communicate("")
        wait_for(lambda: "restored" in names(run), process, 15)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 75, errors
        assert group.kills() == 0
    told = [event for event in events(run) if "reason" in event]
    assert [event["event"] for event in told] == ["pressure", "prefetch_dropped", "blocks_reduced", "restored"]
    assert "left next to" in told[0]["reason"] and group.folder.name in told[0]["reason"]
    assert told[2]["slab_bytes"] < told[3]["slab_bytes"] == told[0]["slab_bytes"]
    epochs = 1 + (run / "seed-42/gat/metrics.csv").read_text().count("\n")
    pressed = finish(command("run", "--resume", "-O", f"training.max_epochs={epochs}"))
    free = finish(command("free", "-O", f"training.max_epochs={epochs}"))
    assert pressed["weights"] == free["weights"]
    assert free["sheds"] == 0


def own_group(process):
    for line in Path(f"/proc/{process.pid}/cgroup").read_text().splitlines():
        if line.endswith(f"/plimsoll_{process.pid}"):
            _, controllers, path = line.split(":", 2)
            mount = Path("/sys/fs/cgroup/memory" if controllers else "/sys/fs/cgroup")
            return next((folder for folder in (Path(f"{mount}{path}"), mount / Path(path).name) if folder.is_dir()), None)
    return None


def data_limit(process):
    for line in Path(f"/proc/{process.pid}/limits").read_text().splitlines():
        if line.startswith("Max data size"):
            return line.split()[3]
    return None


def test_enforce_holds_the_run_to_its_budget_and_changes_no_bit(command, tmp_path):
    free = finish(command("free"))
    assert free["enforced"] is None
    process = start(command("run", "--enforce", "--budget", "100MiB"))
    wait_for(lambda: data_limit(process) != "unlimited", process)
    limit = int(data_limit(process))
    wait_for(lambda: names(tmp_path / "run"), process)
    folder = own_group(process)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    summary = json.loads(output)
    assert summary["weights"] == free["weights"]
    assert summary["enforced"]["rlimit_data_bytes"] == limit
    assert limit < 100 * MIB + 200 * MIB
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert manifest["enforced"] == summary["enforced"]
    if folder is None:
        assert summary["enforced"]["cgroup"] is None and summary["enforced"]["refused"]
        assert "without a memory cgroup" in errors
    else:
        assert summary["enforced"]["cgroup"].endswith(folder.name) and summary["enforced"]["refused"] is None
        assert not folder.exists()
    assert "enforced" not in json.loads((tmp_path / "free" / "manifest.json").read_text())


def test_the_group_goes_with_a_signal_and_after_a_kill_with_the_next_run(command, tmp_path, bin_dir, frames):
    endless = ["--enforce", "--budget", "100MiB", "-O", "training.max_epochs=100000"]
    process = start(command("killed", *endless))
    wait_for(lambda: names(tmp_path / "killed"), process)
    folder = own_group(process)
    process.kill()
    process.communicate()
    if folder is None:
        pytest.skip("no memory cgroup of its own to be had")
    assert folder.exists()
    process = start(command("stopped", *endless))
    wait_for(lambda: names(tmp_path / "stopped"), process)
    assert not folder.exists()
    folder = own_group(process)
    assert folder.exists()
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 75, errors
    assert not folder.exists()
    finish(command("done"))
    finish([str(bin_dir / "plimsoll"), "evaluate", str(tmp_path / "done"), "--data", str(frames), "--enforce",
            "--budget", "100MiB", "--json", "--threads", "2"])
