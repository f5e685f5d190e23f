"""Connects the ranks of a run and finds out which of them is gone or stalled. See docs/ranks.md.

All messages are keys in torch's store: `here/R` is set when rank R arrives, `beat/R` is its latest heartbeat,
`left/R` is its exit code when it ends, 0 if it is done, and `lost` is the message that all ranks print when the run
ends early.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from plimsoll.errors import Failure, UsageError
from plimsoll.jobs.heartbeat import ALIVE_S, BEAT_S, STALL, Beat, Heartbeats
from plimsoll.jobs.rank_place import Place

if TYPE_CHECKING:
    from torch.distributed import Store

    from plimsoll._torch import RankWatch

INTERRUPTED = 75
#: The environment variable with the seconds within which all ranks have to arrive.
_COMING = "PLIMSOLL_RANKS_TIMEOUT_S"
#: The largest such number, one year; torch's store refuses times that do not fit into its clock.
_MAX_S = 365 * 86400.0
#: Seconds without a heartbeat after which a rank that another rank waits for counts as gone.
_ROLL_CALL_S = 5.0
#: Seconds that a rank has to end on its own once the lost rank is known.
_GRACE_S = 2.0
#: Seconds between two checks of the main thread.
_LOOK_S = 0.25


def meet(where: Place) -> Store:
    """Returns the store of this attempt once all ranks have arrived. Errors: `Failure`."""
    from torch.distributed import PrefixStore, TCPStore

    limit = _seconds_to_come()
    wait = timedelta(seconds=limit)
    _require_known(where)
    try:
        tcp = TCPStore(where.address, where.port, where.ranks, where.serves, wait, wait_for_workers=False)
    except RuntimeError as error:
        if "EADDRINUSE" in str(error):
            raise Failure(f"port {where.port} of {where.port_from} is in use; set MASTER_PORT to a free port") from None
        raise Failure(
            f"rank {where.rank} did not reach the other ranks at {where.address}:{where.port} within {limit:g} s; set MASTER_ADDR and "
            "MASTER_PORT to the address of rank 0"
        ) from None
    store = PrefixStore(f"plimsoll/{where.attempt}", tcp)
    store.set(f"beat/{where.rank}", Beat().text())
    store.set(f"here/{where.rank}", f"{os.getpid()} {socket.gethostname()} {_processes()}")
    _await_all(store, where, limit)
    return store


def _await_all(store: Store, where: Place, limit: float) -> None:
    """Returns once all ranks have arrived. A rank that ends before that is noticed by those on its machine, which tell
    the others. Errors: `Failure`.
    """
    end = time.monotonic() + limit
    try:
        for rank in range(where.ranks):
            while not store.check([f"here/{rank}"]):
                if lost := _lost_before_start(store, where.ranks):
                    if where.rank == 0:
                        time.sleep(8 * _LOOK_S)  # The store ends with this process; the others read the reason there.
                    raise Failure(lost)
                if time.monotonic() > end:
                    raise Failure(f"rank {rank} of {where.ranks} did not arrive within {limit:g} s ({_COMING})")
                time.sleep(_LOOK_S)
    except Failure:
        raise
    except RuntimeError:
        raise Failure(f"rank {where.rank} lost its connection to rank 0 before all ranks had arrived; start all ranks again") from None


def _lost_before_start(store: Store, ranks: int) -> str:
    """Returns a sentence that names a rank that arrived and has ended, the same on all ranks, or ""."""
    if store.check(["lost"]):
        return str(store.get("lost"), "utf-8")
    for rank in range(ranks):
        if not store.check([f"here/{rank}"]):
            continue
        process, host, processes = store.get(f"here/{rank}").decode().split(" ", 2)
        if processes == _processes() and _has_ended(int(process)):
            text = f"rank {rank} (process {process} on {host}) has ended before all ranks had arrived; start all ranks again"
            return str(store.compare_set("lost", "", text), "utf-8")
    return ""


def _require_known(where: Place) -> None:
    """Checks that this node can resolve the name of rank 0's node; torch's store would retry for minutes. Errors:
    `Failure`.
    """
    try:
        socket.getaddrinfo(where.address, where.port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise Failure(
            f"rank {where.rank}: the node of rank 0, '{where.address}', has no address here ({error.strerror}); set MASTER_ADDR "
            "to an IP address or a host name of it that all nodes can resolve"
        ) from None


class Roll:
    """Finds out which rank is gone or stalled, and ends this process if it would wait for that rank.

    One thread reports to the store that this process is alive, and reads the reports of the other ranks. A second
    thread watches the main thread. It never uses the store, because the store's server may be what has stalled.
    """

    def __init__(self, store: Store, where: Place, watch: RankWatch, timeout: float, has_checkpoints: bool) -> None:
        self._store, self._where, self._watch, self._timeout = store, where, watch, timeout
        #: Whether the run writes checkpoints. Then a rank that works ends by itself, and all ranks stop when one is asked to.
        self._has_checkpoints = has_checkpoints
        self._heard = Heartbeats(where.ranks, where.rank, timeout)
        self._beats = 0
        self._told_s = 0.0  # the waiting time last reported on stderr
        self._ends = threading.Event()
        threading.Thread(target=self._listen, args=(store.clone(),), name="roll", daemon=True).start()
        threading.Thread(target=self._look, name="look", daemon=True).start()

    def stop(self) -> None:
        """Declares this rank done: it may end, and the threads no longer end it."""
        self._ends.set()
        with contextlib.suppress(RuntimeError):  # Rank 0 may be done, and its store gone.
            self._store.set(f"left/{self._where.rank}", "0")

    def call(self) -> str:
        """Returns a sentence that names the rank that is gone, after this rank noticed that one is missing. All ranks
        return the same sentence.
        """
        try:
            if self._store.check(["lost"]):
                return str(self._store.get("lost"), "utf-8")
            return self._agree(self._ended(self._missing()))
        except RuntimeError:
            return self._ended(["rank 0"] if self._where.rank_0_serves else [])

    def leave(self, code: int) -> None:
        """Ends this rank's part after it has reported its error. The rank that serves the store stays until the other
        ranks know of it.
        """
        self._ends.set()
        try:
            self._store.set(f"left/{self._where.rank}", str(code))
            end = time.monotonic() + _ROLL_CALL_S + _GRACE_S
            others = self._others()
            while self._where.serves and time.monotonic() < end and not all(self._is_gone(self._store, rank) for rank in others):
                time.sleep(0.05)
        except RuntimeError:
            pass

    def _listen(self, store: Store) -> None:
        last = time.monotonic()
        try:
            while not self._ends.wait(BEAT_S):
                now = time.monotonic()
                text = self._beat(store, now - last)
                last = now
                if text:
                    self._end(text, _GRACE_S)
        except RuntimeError:
            if self._where.rank_0_serves and not self._where.serves:
                self._end(self._ended(["rank 0"]), _GRACE_S)
            # Otherwise the launcher is gone, and the ranks continue without it.

    def _beat(self, store: Store, seconds: float) -> str:
        """Sends one heartbeat and reads those of the other ranks. Returns why this rank has to end, or ""."""
        self._beats += 1
        mine = Beat(self._beats, self._watch.waiting_s, self._watch.in_step, self._watch.stopping)
        store.set(f"beat/{self._where.rank}", mine.text())
        beats = store.multi_get([f"beat/{rank}" for rank in range(self._where.ranks)])
        self._heard.hear([Beat.parse(beat) for beat in beats], seconds)
        if self._has_checkpoints and self._heard.stopping() and not mine.stopping:
            self._watch.stop()
        if store.check(["lost"]):
            return str(store.get("lost"), "utf-8")
        if silent := self._heard.silent():
            silent = [rank for rank in silent if not store.check([f"left/{rank}"])]
            if silent:
                return self._agree(self._stalled(store, silent, f"has sent no heartbeat for {self._timeout:g} s "
                                                                f"({STALL})"), store)
        waits = mine.waiting_s >= _GRACE_S
        if waits or not self._has_checkpoints:
            if gone := [rank for rank in self._others() if self._has_failed(store, rank)]:
                return self._agree(self._ended([self._describe(store, rank) for rank in gone]), store)
        if waits:
            return self._look_at_progress(store, mine)
        self._told_s = 0.0
        return ""

    def _look_at_progress(self, store: Store, mine: Beat) -> str:
        """Returns why this rank has to end if another one has worked too long while this one waited, or "".

        Only steps can take too long.
        """
        working = self._heard.working()
        if self._step_is_stalled(mine.waiting_s):
            in_step = [rank for rank in working if self._heard.latest[rank].in_step]
            if in_step:
                took = f"has not finished a step for {mine.waiting_s:.0f} s; the longest step before took {self._watch.longest_step_s:.1f} s"
                return self._agree(self._stalled(store, in_step, took), store)
            if not working:
                return self._agree(self._text(f"all ranks have waited for each other for {mine.waiting_s:.0f} s"), store)
        if working and mine.waiting_s - self._told_s >= self._timeout and self._heard.is_first_to_wait():
            self._told_s = mine.waiting_s
            who = ", ".join(self._describe(store, rank) for rank in working)
            print(f"plimsoll: rank {self._where.rank} has waited {mine.waiting_s:.0f} s for {who}, still alive and working",
                  file=sys.stderr, flush=True)
        return ""

    def _look(self) -> None:
        """Ends the process if its main thread waits although a signal asked it to stop or the store's server is silent."""
        stopping = unanswered = 0.0
        beats, last = 0, time.monotonic()
        while not self._ends.wait(_LOOK_S):
            now = time.monotonic()
            seconds, last = min(now - last, 4 * _LOOK_S), now
            unanswered = unanswered + seconds if self._beats == beats else 0.0
            beats = self._beats
            waiting = self._watch.waiting_s
            stopping = stopping + seconds if self._watch.stopping else 0.0
            time_to_stop = self._heard.time_to_stop(self._watch.longest_step_s, store_answers=unanswered < ALIVE_S)
            if self._has_checkpoints and min(waiting, stopping) >= time_to_stop:
                self._end(self._text(f"rank {self._where.rank} was asked to stop, but the ranks that it waits for do not answer"), 0)
            if min(waiting, unanswered) >= self._timeout and (self._where.rank_0_serves or self._step_is_stalled(waiting)):
                who = "rank 0" if self._where.rank_0_serves else "the launcher, through which the ranks communicate,"
                self._end(self._text(f"{who} has sent no heartbeat for {self._timeout:g} s ({STALL})"), 0)

    def _step_is_stalled(self, waiting_s: float) -> bool:
        return self._watch.in_step and self._heard.is_too_long(waiting_s, self._watch.longest_step_s)

    def _end(self, text: str, grace: float) -> None:
        """Ends the process, unless its main thread ends within `grace` seconds."""
        if self._ends.wait(grace):
            return
        print(f"plimsoll: {text}", file=sys.stderr, flush=True)
        # If the store answers, the other ranks learn of the end at once.
        leave = threading.Thread(target=self._store.set, args=(f"left/{self._where.rank}", str(INTERRUPTED)), daemon=True)
        leave.start()
        leave.join(_LOOK_S)
        os._exit(INTERRUPTED)

    def _agree(self, text: str, store: Store | None = None) -> str:
        """Publishes `text` unless another rank has published one, and returns the text that all ranks use."""
        return str((store or self._store).compare_set("lost", "", text), "utf-8")

    def _others(self) -> list[int]:
        return [rank for rank in range(self._where.ranks) if rank != self._where.rank]

    def _missing(self) -> list[str]:
        """Returns descriptions of the ranks that have ended, or that send no heartbeat while this method waits."""
        waited_for = self._others()
        before = {rank: self._store.get(f"beat/{rank}") for rank in waited_for}
        end = time.monotonic() + _ROLL_CALL_S
        gone: list[int] = []
        while waited_for and time.monotonic() < end:
            waited_for = [rank for rank in waited_for if self._store.get(f"beat/{rank}") == before[rank]]
            gone += [rank for rank in waited_for if self._is_gone(self._store, rank)]
            waited_for = [rank for rank in waited_for if rank not in gone]
            time.sleep(0.02)
        return [self._describe(self._store, rank) for rank in sorted(gone + waited_for)]

    def _is_gone(self, store: Store, rank: int) -> bool:
        """Returns whether a rank has left, or its process on this machine no longer exists."""
        if store.check([f"left/{rank}"]):
            return True
        process, _, processes = store.get(f"here/{rank}").decode().split(" ", 2)
        return processes == _processes() and _has_ended(int(process))

    def _has_failed(self, store: Store, rank: int) -> bool:
        """Returns whether a rank left before it was done."""
        return self._is_gone(store, rank) and not (store.check([f"left/{rank}"]) and store.get(f"left/{rank}") == b"0")

    def _describe(self, store: Store, rank: int) -> str:
        process, host, _ = store.get(f"here/{rank}").decode().split(" ", 2)
        left = f"left/{rank}"
        code = f", with exit code {store.get(left).decode()}" if store.check([left]) else ""
        return f"rank {rank} (process {process} on {host}{code})"

    def _stalled(self, store: Store, ranks: list[int], what: str) -> str:
        return self._text(f"{', '.join(self._describe(store, rank) for rank in ranks)} {what}")

    def _text(self, what: str) -> str:
        if self._has_checkpoints:
            return f"{what}; to continue from the last checkpoint, start all ranks again with --resume"
        return f"{what}; start all ranks again"

    def _ended(self, gone: list[str]) -> str:
        return self._text(f"{', '.join(gone)} has ended" if gone else "a rank does not answer")


def _seconds_to_come() -> float:
    """Returns the seconds in the environment variable `_COMING`, 300 by default. Errors: `UsageError`."""
    text = os.environ.get(_COMING, "300")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MAX_S:
        raise UsageError(f"{_COMING}={text!r}: expected a number of seconds, above 0 and up to {_MAX_S:.0f}")
    return seconds


def _processes() -> str:
    """Returns text that is equal for processes that share process IDs: the boot of the machine and its PID namespace."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + " " + os.readlink("/proc/self/ns/pid")
    except OSError:
        return socket.gethostname()


def _has_ended(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][:1]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state in "ZX"
