"""Limits on threads, processes and memory of a container: they end a program with the reason, and the default budget fits."""

import os
import resource
import subprocess

import numpy as np
import pytest

from cgroup import MemoryCgroup
from made_up import random_frames, write_capture

MIB = 1 << 20


@pytest.fixture
def plimsoll(bin_dir):
    """plimsoll(*arguments): runs it and gives the finished process; one that waits for ever fails."""

    def call(*arguments, **options):
        options = {"stdout": subprocess.PIPE} | options
        return subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], stderr=subprocess.PIPE, text=True,
                              timeout=60, **options)

    return call


@pytest.fixture
def captures_folder(tmp_path):
    rng = np.random.default_rng(3)
    for name in ("train/attack-free-1.csv", "train/attack-free-2.csv"):
        write_capture(tmp_path / "captures" / name, random_frames(rng, 3000, range(20)))
    return tmp_path / "captures"


def address_space(size):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


@pytest.mark.parametrize("size", [100_000, 200_000, 400_000])
@pytest.mark.parametrize("threads", [8, 64])
def test_threads_that_find_no_room_are_an_error_and_not_a_wait(plimsoll, captures_folder, tmp_path, size, threads):
    out = tmp_path / "frames"
    done = plimsoll("ingest", "can", captures_folder, "--out", out, "--threads", threads, preexec_fn=address_space(size * 1024))
    assert done.returncode in (0, 4), done.stderr
    assert (done.returncode == 0) == out.exists()
    if done.returncode == 4:
        assert "ulimit -v" in done.stderr or "memory" in done.stderr


def test_the_limit_on_processes_is_named(plimsoll, captures_folder, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root, to become a user with a limit on processes")
    frames = tmp_path / "frames"
    assert plimsoll("ingest", "can", captures_folder, "--out", frames).returncode == 0
    for path in [tmp_path, *tmp_path.parents[:3], frames, *frames.iterdir()]:
        path.chmod(0o777)

    def become():
        resource.setrlimit(resource.RLIMIT_NPROC, (2, 2))
        os.setuid(54321)

    done = plimsoll("windows", frames, "--out", tmp_path / "graphs", "--threads", 8, preexec_fn=become)
    assert done.returncode == 4, done.stderr
    assert "ulimit -u" in done.stderr and "--threads" in done.stderr


def test_a_budget_above_the_limit_of_the_container_is_reported(plimsoll, captures_folder, tmp_path):
    try:
        group = MemoryCgroup(200 * MIB)
    except OSError as error:
        pytest.skip(f"no memory cgroup of our own to be had: {error}")
    with group:
        done = plimsoll("ingest", "can", captures_folder, "--out", tmp_path / "a", "--budget", "4GiB", preexec_fn=group.join)
        assert done.returncode == 0 and "exceeds what cgroup" in done.stderr
        done = plimsoll("ingest", "can", captures_folder, "--out", tmp_path / "b", "--budget", "64MiB", preexec_fn=group.join)
        assert done.returncode == 0 and "above" not in done.stderr
        (tmp_path / "r.yaml").write_text("task: autoencoder\ntraining: {max_epochs: 1}\n")
        train = ("train", tmp_path / "r.yaml", "--data", tmp_path / "a", "--run", tmp_path / "run", "--budget")
        assert "exceeds what cgroup" in plimsoll(*train, "4GiB", preexec_fn=group.join).stderr
        plan = plimsoll("plan", *train[1:4], "--budget", "4GiB", preexec_fn=group.join)
        assert "above" not in plan.stderr


@pytest.mark.parametrize("limit", [24, 48])
def test_the_default_budget_of_a_small_container_works(plimsoll, captures_folder, tmp_path, limit):
    try:
        group = MemoryCgroup(limit * MIB)
    except OSError as error:
        pytest.skip(f"no memory cgroup of our own to be had: {error}")
    with group:
        done = plimsoll("ingest", "can", captures_folder, "--out", tmp_path / "frames", preexec_fn=group.join)
    assert done.returncode == 0, done.stderr
