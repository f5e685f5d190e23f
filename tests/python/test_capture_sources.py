"""A capture reads the same from a file, through a pipe, and after a byte order mark."""

import os
import subprocess
import threading

import numpy as np
import pytest

from made_up import random_frames, write_capture


@pytest.fixture
def plimsoll(bin_dir):
    """plimsoll(*arguments): runs it and gives the finished process; one that waits for ever fails."""

    def call(*arguments):
        return subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True, timeout=60)

    return call


@pytest.fixture
def source(tmp_path):
    """A capture of 3,000 frames."""
    path = tmp_path / "captures/train/attack-free-1.csv"
    write_capture(path, random_frames(np.random.default_rng(3), 3000, range(20)))
    return path


def test_a_pipe_gives_the_columns_of_its_file(plimsoll, source, tmp_path):
    folder = tmp_path / "train"
    folder.mkdir()
    pipe = folder / "attack-free-1.csv"
    os.mkfifo(pipe)

    def feed():
        pipe.write_bytes(source.read_bytes())

    writer = threading.Thread(target=feed)
    writer.start()
    done = plimsoll("ingest", "can", pipe, "--out", tmp_path / "piped", "--payload", "8")
    writer.join()
    assert done.returncode == 0, done.stderr
    assert plimsoll("ingest", "can", source, "--out", tmp_path / "plain").returncode == 0
    columns = sorted(path.name for path in (tmp_path / "plain").glob("*.npy"))
    assert columns
    for column in columns:
        assert (tmp_path / "piped" / column).read_bytes() == (tmp_path / "plain" / column).read_bytes()
    done = plimsoll("ingest", "can", pipe, "--out", tmp_path / "piped", "--payload", "8")
    assert done.returncode == 3 and "--force" in done.stderr


def test_a_byte_order_mark_is_skipped(plimsoll, source, tmp_path):
    marked = tmp_path / "marked" / "train" / "attack-free-1.csv"
    marked.parent.mkdir(parents=True)
    marked.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    for name, path in (("a", source), ("b", marked)):
        done = plimsoll("ingest", "can", path, "--out", tmp_path / name)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "a" / "time_ns.npy").read_bytes() == (tmp_path / "b" / "time_ns.npy").read_bytes()
