"""A rank that stalls or is gone ends the others, which name it; one that takes its time does not. Main threads are made up."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available():
    pytest.skip("this torch has no torch.distributed", allow_module_level=True)

from plimsoll import Failure, UsageError  # noqa: E402
from plimsoll.jobs.heartbeat import BEAT_S, STALL, Beat, Heartbeats, stall_timeout  # noqa: E402
from plimsoll.jobs.rank_place import place  # noqa: E402
from plimsoll.jobs.roll import _seconds_to_come  # noqa: E402

TIMEOUT_S = 4
LIMIT_S = 60


def hear(heard, beats, seconds=BEAT_S):
    heard.hear(beats, seconds)


def test_a_heartbeat_is_read_back():
    for beat in (Beat(), Beat(7, 1.25, True, False), Beat(8, 0.0, False, True)):
        assert Beat.parse(beat.text().encode()) == beat


def test_silence_is_counted_in_time_that_was_listened():
    heard = Heartbeats(3, 0, timeout=10)
    hear(heard, [Beat(1), Beat(1), Beat(1)])
    hear(heard, [Beat(2), Beat(1), Beat(2)], seconds=3600)  # this rank was stopped for an hour
    assert heard.silent() == []
    for number in range(3, 23):
        hear(heard, [Beat(number), Beat(1), Beat(number)])
    assert heard.silent() == [1]
    hear(heard, [Beat(23), Beat(2), Beat(23)])
    assert heard.silent() == []


def test_a_step_is_too_long_after_the_timeout_and_many_times_the_longest():
    heard = Heartbeats(2, 0, timeout=10)
    assert not heard.is_too_long(9.9, longest_step_s=0.01)
    assert heard.is_too_long(10, longest_step_s=0.01)
    assert not heard.is_too_long(100, longest_step_s=10)
    assert heard.is_too_long(200, longest_step_s=10)


def test_a_rank_that_was_asked_to_stop_waits_for_a_step_of_ranks_that_live():
    heard = Heartbeats(2, 0, timeout=10)
    hear(heard, [Beat(1), Beat(1)])
    assert heard.time_to_stop(0.1, store_answers=True) == 4 and heard.time_to_stop(30, store_answers=True) == 30
    assert heard.time_to_stop(30, store_answers=False) == 4
    for _ in range(4):
        hear(heard, [Beat(2), Beat(1)])
    assert heard.time_to_stop(30, store_answers=True) == 4


def test_who_works_and_who_tells_of_it():
    heard = Heartbeats(4, 2, timeout=10)
    hear(heard, [Beat(1), Beat(1, waiting_s=1), Beat(1, waiting_s=1), Beat(1, stopping=True)])
    assert heard.working() == [0, 3] and heard.stopping() and not heard.is_first_to_wait()


def test_a_timeout_that_is_none_is_refused(monkeypatch):
    for text in ("", "soon", "1", "-5", "nan", "inf"):
        monkeypatch.setenv(STALL, text)
        with pytest.raises(UsageError, match=STALL):
            stall_timeout()
    monkeypatch.delenv(STALL)
    assert stall_timeout() == 300


def test_a_time_to_arrive_that_is_none_is_refused(monkeypatch):
    for text in ("soon", "", "0", "-5", "nan", "inf", "1e300"):
        monkeypatch.setenv("PLIMSOLL_RANKS_TIMEOUT_S", text)
        with pytest.raises(UsageError, match="PLIMSOLL_RANKS_TIMEOUT_S=.*expected a number of seconds"):
            _seconds_to_come()
    monkeypatch.setenv("PLIMSOLL_RANKS_TIMEOUT_S", "0.5")
    assert _seconds_to_come() == 0.5


@pytest.mark.parametrize("scontrol", [None, "exit 1"])
def test_a_node_of_rank_0_that_slurm_does_not_name_is_asked_for(monkeypatch, tmp_path, scontrol):
    """A container may have the environment of SLURM but not its programs."""
    if scontrol is not None:
        (tmp_path / "scontrol").write_text(f"#!/bin/sh\n{scontrol}\n")
        (tmp_path / "scontrol").chmod(0o755)
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    given = {"PROCID": "1", "STEP_NUM_TASKS": "2", "JOB_ID": "7", "STEP_ID": "0", "STEP_TASKS_PER_NODE": "1(x2)",
             "STEP_NODELIST": "n[1-2]", "NODEID": "1"}
    for name, text in given.items():
        monkeypatch.setenv(f"SLURM_{name}", text)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Failure, match=r"first of 'n\[1-2\]'.*scontrol.*set MASTER_ADDR"):
        place()
    monkeypatch.setenv("MASTER_ADDR", "n1")
    assert place().address == "n1"


class Ranks:
    """Processes of watched_rank.py, which have all begun."""

    def __init__(self, *does):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.all = []
        for rank, what in enumerate(does):
            place = {"RANK": rank, "WORLD_SIZE": len(does), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, STALL: TIMEOUT_S}
            self.all.append(subprocess.Popen([sys.executable, Path(__file__).with_name("watched_rank.py"), *what.split()], text=True,
                                             env=os.environ | {key: str(value) for key, value in place.items()},
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        for process in self.all:
            assert process.stdout.readline() == "begins\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.all:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.communicate()

    def end_with_75(self, ranks, text, seconds, remedy="--resume"):
        begin = time.monotonic()
        for rank in ranks:
            _, said = self.all[rank].communicate(timeout=LIMIT_S)
            assert self.all[rank].returncode == 75 and text in said and remedy in said, (rank, self.all[rank].returncode, said)
        assert time.monotonic() - begin < seconds


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_stopped_rank_is_named_by_all_others(stopped):
    """Rank 0 serves the store, through which the others talk."""
    with Ranks("wait-in-step", "wait-in-step", "wait-in-step") as ranks:
        ranks.all[stopped].send_signal(signal.SIGSTOP)
        others = [rank for rank in range(3) if rank != stopped]
        ranks.end_with_75(others, f"rank {stopped} ", seconds=LIMIT_S)


def test_a_killed_rank_is_named_at_once():
    with Ranks("wait-in-step", "work", "wait-in-step") as ranks:
        ranks.all[1].kill()
        ranks.end_with_75([0, 2], "rank 1 (process ", seconds=LIMIT_S)


def test_a_killed_rank_ends_a_rank_that_works_if_nothing_can_be_continued():
    """A layer of an evaluation may take long; a rank that trains writes a checkpoint meanwhile, or waits soon."""
    with Ranks(*["work without-checkpoints"] * 3) as ranks, Ranks("work", "work") as trains:
        ranks.all[1].kill()
        trains.all[1].kill()
        ranks.end_with_75([0, 2], "rank 1 (process ", seconds=LIMIT_S / 2, remedy="has ended; start all ranks again\n")
        assert trains.all[0].poll() is None


def test_a_rank_that_hangs_in_a_step_is_named_and_one_that_does_something_else_is_not():
    with Ranks("wait-in-step", "work-in-step") as hangs, Ranks("wait-in-step", "work") as works:
        hangs.end_with_75([0], "rank 1 (process ", seconds=LIMIT_S)
        time.sleep(TIMEOUT_S)
        assert [process.poll() for process in works.all] == [None, None]
        works.all[0].send_signal(signal.SIGTERM)
        works.end_with_75([0], "rank 0 was asked to stop", seconds=LIMIT_S)


def test_a_signal_ends_a_rank_that_waits_while_the_store_is_stopped():
    with Ranks("wait-in-step", "wait-in-step") as ranks:
        ranks.all[0].send_signal(signal.SIGSTOP)
        ranks.all[1].send_signal(signal.SIGTERM)
        ranks.end_with_75([1], "rank 1 was asked to stop", seconds=LIMIT_S)
