"""Full disks, kills and outputs in the way: what was there stays whole, what is new is whole or absent
(docs/formats/data-set.md)."""

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import time

import numpy as np
import pytest

from made_up import random_frames, write_capture

LIMIT = 300 * 1024  # bytes of a file; the made-up outputs are larger


class Programs:
    """Runs plimsoll, and looks at what it left."""

    def __init__(self, bin_dir, folder):
        self.program = str(bin_dir / "plimsoll")
        self.folder = folder

    def start(self, *arguments, largest_file=None):
        limit = largest_file and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file)))
        return subprocess.Popen([self.program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.folder, preexec_fn=limit)

    def run(self, *arguments, code=0, words=(), **limits):
        process = self.start(*arguments, **limits)
        out, err = process.communicate(timeout=600)
        assert process.returncode == code, f"exit code {process.returncode}\n{out}\n{err}"
        for word in words:
            assert word in err
        return out

    def expect_whole(self, folder):
        assert "intact" in self.run("verify", folder)


@pytest.fixture(scope="session")
def plimsoll(bin_dir, pytestconfig):
    return Programs(bin_dir, pytestconfig.rootpath)


@pytest.fixture(scope="module")
def inputs(plimsoll, tmp_path_factory):
    """Two captures, `small` and `large`, and a set of frames."""
    folder = tmp_path_factory.mktemp("inputs")
    rng = np.random.default_rng(3)
    write_capture(folder / "small/train_a/DoS-1.csv", random_frames(rng, 500, range(40), 0.3))
    write_capture(folder / "large/train_a/DoS-1.csv", random_frames(rng, 90_000, range(40), 0.3))
    plimsoll.run("ingest", "can", folder / "large", "--out", folder / "frames")
    np.savetxt(folder / "edges.tsv", rng.integers(0, 5_000, (500_000, 2)), fmt="%d", delimiter="\t")
    return folder


def writers(inputs, out):
    """Command lines that each write more than LIMIT to `out`."""
    return {
        "ingest": ("ingest", "can", inputs / "large", "--out", out),
        "windows": ("windows", inputs / "frames", "--out", out),
        "frames": ("simulate", "can", "--frames", 90_000, "--out", out),
        "csv": ("simulate", "can", "--frames", 900_000, "--format", "csv", "--out", out),
        "graph": ("ingest", "graph", "--edges", inputs / "edges.tsv", "--undirected", "--budget", "16MiB", "--out", out),
    }


def content(path):
    """All files at and below a path, by name."""
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


@pytest.fixture
def small_disk(tmp_path):
    """A folder with room for 1.5 MiB."""
    folder = tmp_path / "small_disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(folder)]
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    if (done := subprocess.run(mount, capture_output=True, text=True)).returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("writer", ["ingest", "windows", "frames", "csv", "graph"])
def test_a_full_disk_leaves_nothing(plimsoll, inputs, small_disk, writer):
    command = writers(inputs, small_disk / "deep" / "out")[writer]
    plimsoll.run(*command, code=1, words=[str(small_disk), "No space left on device", "make room"])
    assert not list(small_disk.iterdir())


@pytest.mark.parametrize("writer", ["ingest", "windows", "frames", "csv", "graph"])
def test_a_file_over_its_limit_is_an_error_that_leaves_nothing(plimsoll, inputs, tmp_path, writer):
    command = writers(inputs, tmp_path / "out")[writer]
    plimsoll.run(*command, code=1, words=[str(tmp_path), "File too large", "ulimit"], largest_file=LIMIT)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_keeps_what_was_to_be_replaced(plimsoll, inputs, small_disk):
    out = small_disk / "out"
    plimsoll.run("ingest", "can", inputs / "small", "--out", out)
    before = content(out)
    for command in writers(inputs, out).values():
        plimsoll.run(*command, "--force", code=1, words=["make room"])
        assert content(small_disk) == {f"out/{name}": data for name, data in before.items()}
    plimsoll.expect_whole(out)


def test_a_kill_at_any_moment_leaves_nothing_or_all(plimsoll, inputs, tmp_path):
    begin = time.monotonic()
    plimsoll.run("ingest", "can", inputs / "large", "--out", tmp_path / "reference")
    duration = time.monotonic() - begin
    reference = content(tmp_path / "reference")
    draw = random.Random(4)
    ends = set()
    for turn in range(20):
        out = tmp_path / str(turn) / "out"
        process = plimsoll.start("ingest", "can", inputs / "large", "--out", out, "--threads", 2)
        time.sleep(draw.uniform(0, 1.2 * duration))
        process.kill()
        process.communicate()
        ends.add(process.returncode)
        assert content(out) in ({}, reference)
        plimsoll.run("ingest", "can", inputs / "large", "--out", out)
        assert content(out) == reference
    assert -signal.SIGKILL in ends


def stopped_at_work(plimsoll, out, command, number):
    """Starts a command, sends it a signal once it writes, and returns how it ended."""
    process = plimsoll.start(*command)
    while process.poll() is None and not list(out.parent.glob(f".{out.name}.tmp.*/*")):
        time.sleep(0.001)
    process.send_signal(number)
    process.communicate(timeout=60)
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("writer", ["ingest", "windows", "frames", "csv", "graph", "giant"])
def test_a_signal_leaves_nothing_or_all(plimsoll, inputs, tmp_path, writer, number):
    out = tmp_path / "out"
    command = {
        **writers(inputs, out),
        "frames": ("simulate", "can", "--frames", 50_000_000, "--out", out),
        "csv": ("simulate", "can", "--frames", 50_000_000, "--format", "csv", "--out", out),
        "giant": ("simulate", "graph", "--nodes", 20_000_000, "--out", out),
    }[writer]
    code = stopped_at_work(plimsoll, out, command, number)
    made_up = writer in ("frames", "csv", "giant")  # large enough to be stopped in its midst, surely
    assert code == -number or (code == 0 and not made_up)
    assert [path.name for path in tmp_path.iterdir()] == ([] if code else ["out"])


def test_what_a_killed_run_left_goes_with_the_next(plimsoll, tmp_path):
    out = tmp_path / "out"
    assert stopped_at_work(plimsoll, out, ("simulate", "can", "--frames", 50_000_000, "--out", out), signal.SIGKILL) < 0
    assert [path.name[:9] for path in tmp_path.iterdir()] == [".out.tmp."]
    at_work = plimsoll.start("simulate", "can", "--frames", 50_000_000, "--out", out, "--seed", 2)
    name = f".out.tmp.{at_work.pid}"
    while at_work.poll() is None and [path.name for path in tmp_path.iterdir()] != [name]:
        time.sleep(0.001)
    plimsoll.run("simulate", "can", "--frames", 1000, "--out", out)
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, "out"]
    at_work.kill()
    at_work.communicate()
    plimsoll.run("simulate", "can", "--frames", 2000, "--out", out, "--force")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_kill_while_a_graph_is_replaced_leaves_the_old_or_the_new(plimsoll, inputs, tmp_path):
    out = tmp_path / "place" / "out"
    command = writers(inputs, out)["graph"]
    begin = time.monotonic()
    plimsoll.run(*command, "--direction", "out")
    duration = time.monotonic() - begin
    old = content(out)
    plimsoll.run(*command, "--force")
    new = content(out)
    draw = random.Random(6)
    for turn in range(8):
        plimsoll.run(*command, "--direction", "out", "--force")
        process = plimsoll.start(*command, "--force")
        time.sleep(draw.uniform(0, 1.2 * duration))
        process.kill()
        process.communicate()
        assert content(out) in (old, new)
        plimsoll.expect_whole(out)


def test_a_kill_while_replacing_leaves_the_old_or_the_new(plimsoll, inputs, tmp_path):
    captures = [inputs / "small", inputs / "large"]
    references = []
    for capture in captures:
        begin = time.monotonic()
        plimsoll.run("ingest", "can", capture, "--out", tmp_path / capture.name)
        duration = time.monotonic() - begin
        references.append(content(tmp_path / capture.name))
    out = tmp_path / "place" / "out"
    draw = random.Random(5)
    for turn in range(20):
        plimsoll.run("ingest", "can", captures[0], "--out", out, "--force")
        process = plimsoll.start("ingest", "can", captures[1], "--out", out, "--force")
        time.sleep(draw.uniform(0, 1.2 * duration))
        process.kill()
        process.communicate()
        assert content(out) in references
        plimsoll.expect_whole(out)


def test_an_output_from_the_same_sources_is_left_alone(plimsoll, inputs, tmp_path):
    for name, command in writers(inputs, tmp_path / "out").items():
        if name == "csv":  # has no provenance: another run is refused
            continue
        plimsoll.run(*command, "--force")
        before = as_it_lies(tmp_path / "out")
        assert "nothing done" in plimsoll.run(*command)
        assert as_it_lies(tmp_path / "out") == before


def as_it_lies(folder):
    """What a write would change of each file; when it was read last is not of it."""
    return {path: (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)
            for path in folder.iterdir() for found in [path.stat()]}


def in_the_way(kind, out):
    """Puts something at the output's place."""
    if kind == "file":
        out.write_text("precious")
    elif kind == "empty folder":
        out.mkdir()
    elif kind == "folder":
        out.mkdir()
        (out / "thesis.txt").write_text("precious")
    elif kind == "other manifest":
        out.mkdir()
        (out / "manifest.json").write_text('{"kind": "frames"}')
    elif kind == "link to nothing":
        out.symlink_to("nowhere")


@pytest.mark.parametrize("kind, told", [("file", "is a file"), ("folder", "holds thesis.txt")])
@pytest.mark.parametrize("writer", ["ingest", "windows", "frames", "csv", "graph"])
def test_what_others_wrote_is_kept(plimsoll, inputs, tmp_path, writer, kind, told):
    out = tmp_path / "out"
    in_the_way(kind, out)
    before = content(tmp_path)
    for force in ([], ["--force"]):
        plimsoll.run(*writers(inputs, out)[writer], *force, code=1, words=[f"{out} {told}", "name another output"])
        assert content(tmp_path) == before


@pytest.mark.parametrize("kind", ["empty folder", "other manifest", "link to nothing"])
@pytest.mark.parametrize("writer", ["ingest", "windows", "frames", "csv", "graph"])
def test_anything_else_in_the_way_is_kept_unless_forced(plimsoll, inputs, tmp_path, writer, kind):
    out = tmp_path / "out"
    in_the_way(kind, out)
    before = content(tmp_path)
    command = writers(inputs, out)[writer]
    plimsoll.run(*command, code=1, words=[str(out), "--force"])
    assert content(tmp_path) == before and os.path.lexists(out)
    plimsoll.run(*command, "--force")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    if writer != "csv":
        plimsoll.expect_whole(out)


@pytest.mark.parametrize("damage", ["manifest", "column", "missing column"])
def test_a_damaged_output_is_said_so_and_mended_by_force(plimsoll, inputs, tmp_path, damage):
    out = tmp_path / "out"
    command = ("ingest", "can", inputs / "small", "--out", out)
    plimsoll.run(*command)
    whole = content(out)
    if damage == "manifest":
        (out / "manifest.json").write_bytes(whole["manifest.json"][:-100])
    elif damage == "column":
        (out / "data.npy").write_bytes(whole["data.npy"][:-1])
    else:
        (out / "data.npy").unlink()
    damaged = content(out)
    plimsoll.run(*command, code=1 if damage == "manifest" else 3, words=[str(out)])
    assert content(out) == damaged
    plimsoll.run(*command, "--force")
    assert content(out) == whole


def test_an_output_below_a_file_is_an_error(plimsoll, inputs, tmp_path):
    (tmp_path / "file").write_text("precious")
    plimsoll.run("ingest", "can", inputs / "small", "--out", tmp_path / "file" / "out", code=1,
                 words=[str(tmp_path / "file"), "Not a directory"])
    assert content(tmp_path) == {"file": b"precious"}


def test_folders_made_to_hold_an_output_go_with_its_failure(plimsoll, inputs, tmp_path):
    out = tmp_path / "a" / "b" / "out"
    (tmp_path / "bad.csv").write_text("timestamp,arbitration_id,data_field,attack\n1.0,XYZ,00,0\n")
    plimsoll.run("ingest", "can", tmp_path / "bad.csv", "--out", out, code=3)
    assert not (tmp_path / "a").exists()
    plimsoll.run("ingest", "can", inputs / "small", "--out", out)
    plimsoll.expect_whole(out)


def test_a_run_that_cannot_be_written_puts_the_old_one_back(plimsoll, inputs, tmp_path):
    train = ("train", "recipes/gat.yaml", "--data", inputs / "frames", "--run", tmp_path / "run", "-O",
             "training.max_epochs", 1)
    plimsoll.run(*train)
    before = content(tmp_path)
    plimsoll.run(*train, "--force", code=1, words=[".safetensors", "File too large"], largest_file=LIMIT // 3)
    assert content(tmp_path) == before


def test_a_disk_that_fills_in_mid_run_is_gone_on_from_when_there_is_room(plimsoll, inputs, tmp_path, small_disk):
    train = ("train", "recipes/gat.yaml", "--data", inputs / "frames", "-O", "training.max_epochs", 3, "-O",
             "gat.hidden", 8, "-O", "training.checkpoint_every_s", 0, "--json")
    whole = json.loads(plimsoll.run(*train, "--run", tmp_path / "run"))
    run = small_disk / "run"
    process = plimsoll.start(*train, "--run", run)
    filler = small_disk / "filler"
    while process.poll() is None and not list(run.glob("seed-42/gat/checkpoints/step-*")):
        time.sleep(0.001)
    fill(filler)
    _, err = process.communicate(timeout=600)
    assert process.returncode == 1, err
    for word in (str(run), "No space left on device", "make room"):
        assert word in err
    filler.unlink()
    resumed = json.loads(plimsoll.run(*train, "--run", run, "--resume"))
    assert resumed["weights"] == whole["weights"] and resumed["resumed_at"] > 0


def fill(path):
    """Takes all room of a disk."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
