"""How the ranks of a run find each other, and which of them is gone or stalled. docs/ranks.md.

All is said in torch's store: `here/R` by a rank that came, `beat/R` is its latest heartbeat, `left/R` the exit code of a rank that
ends, 0 where it is done, and `lost` what all ranks say of the end.
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
#: Seconds within which all ranks have to come.
_COMING = "PLIMSOLL_RANKS_TIMEOUT_S"
#: Seconds without a heartbeat after which a rank counts as gone when another one misses it.
_ROLL_CALL_S = 5.0
#: Seconds that a rank has to end on its own after it is known who is lost.
_GRACE_S = 2.0
#: Seconds between two looks at the main thread.
_LOOK_S = 0.25


def meet(where: Place) -> Store:
    """The store of this attempt, once all ranks are there. Errors: `Failure`."""
    from torch.distributed import PrefixStore, TCPStore

    limit = _seconds_to_come()
    wait = timedelta(seconds=limit)
    try:
        tcp = TCPStore(where.address, where.port, where.ranks, where.serves, wait, wait_for_workers=False)
    except RuntimeError as error:
        if "EADDRINUSE" in str(error):
            raise Failure(f"port {where.port} of {where.port_from} is taken; set MASTER_PORT to one that is free") from None
        raise Failure(
            f"rank {where.rank} does not reach the others at {where.address}:{where.port} within {limit:g} s; MASTER_ADDR and "
            "MASTER_PORT say where rank 0 is"
        ) from None
    store = PrefixStore(f"plimsoll/{where.attempt}", tcp)
    store.set(f"beat/{where.rank}", Beat().text())
    store.set(f"here/{where.rank}", f"{os.getpid()} {socket.gethostname()} {_processes()}")
    for rank in range(where.ranks):
        try:
            store.wait([f"here/{rank}"], wait)
        except RuntimeError:
            raise Failure(f"rank {rank} of {where.ranks} did not come within {limit:g} s ({_COMING})") from None
    return store


class Roll:
    """Finds out which rank is gone or stalled, and ends this one where it would wait for it.

    One thread tells the store that this process lives, and listens to the others. Another looks at the main thread and never asks
    the store, whose server may be what is stalled.
    """

    def __init__(self, store: Store, where: Place, watch: RankWatch, timeout: float, stops_together: bool) -> None:
        self._store, self._where, self._watch, self._timeout = store, where, watch, timeout
        self._stops_together = stops_together  # a rank that was asked to stop has the others stop, too
        self._heard = Heartbeats(where.ranks, where.rank, timeout)
        self._beats = 0
        self._told_s = 0.0  # the wait of which stderr was told
        self._ends = threading.Event()
        threading.Thread(target=self._listen, args=(store.clone(),), name="roll", daemon=True).start()
        threading.Thread(target=self._look, name="look", daemon=True).start()

    def stop(self) -> None:
        """This rank is done: it may end, and its threads no longer end it."""
        self._ends.set()
        with contextlib.suppress(RuntimeError):  # rank 0 may be done, and take the store with it
            self._store.set(f"left/{self._where.rank}", "0")

    def call(self) -> str:
        """Says which rank is gone, once this one misses another; all ranks say the same."""
        try:
            if self._store.check(["lost"]):
                return str(self._store.get("lost"), "utf-8")
            return self._agree(_ended(self._missing()))
        except RuntimeError:
            return _ended(["rank 0"] if self._where.rank_0_serves else [])

    def leave(self, code: int) -> None:
        """This rank ends, and has said why. The one that serves the store stays until the others know."""
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
                self._end(_ended(["rank 0"]), _GRACE_S)
            # Else the launcher is gone: what remains is between the ranks.

    def _beat(self, store: Store, seconds: float) -> str:
        """One heartbeat, and what the others' say; why this rank has to end, or nothing."""
        self._beats += 1
        mine = Beat(self._beats, self._watch.waiting_s, self._watch.in_step, self._watch.stopping)
        store.set(f"beat/{self._where.rank}", mine.text())
        beats = store.multi_get([f"beat/{rank}" for rank in range(self._where.ranks)])
        self._heard.hear([Beat.parse(beat) for beat in beats], seconds)
        if self._stops_together and self._heard.stopping() and not mine.stopping:
            self._watch.stop()
        if store.check(["lost"]):
            return str(store.get("lost"), "utf-8")
        if silent := self._heard.silent():
            silent = [rank for rank in silent if not store.check([f"left/{rank}"])]
            if silent:
                return self._agree(self._stalled(store, silent, f"has given no sign of life for {self._timeout:g} s ({STALL})"), store)
        if mine.waiting_s < _GRACE_S:
            self._told_s = 0.0
            return ""
        if gone := [rank for rank in self._others() if self._has_failed(store, rank)]:
            return self._agree(_ended([self._describe(store, rank) for rank in gone]), store)
        return self._look_at_progress(store, mine)

    def _look_at_progress(self, store: Store, mine: Beat) -> str:
        """Whether a rank works for too long while this one waits for it. Only steps can take too long."""
        working = self._heard.working()
        if self._step_is_stalled(mine.waiting_s):
            in_step = [rank for rank in working if self._heard.latest[rank].in_step]
            if in_step:
                took = f"has not ended a step for {mine.waiting_s:.0f} s; the longest before took {self._watch.longest_step_s:.1f} s"
                return self._agree(self._stalled(store, in_step, took), store)
            if not working:
                return self._agree(_text(f"all ranks have waited for each other for {mine.waiting_s:.0f} s"), store)
        if working and mine.waiting_s - self._told_s >= self._timeout and self._heard.is_first_to_wait():
            self._told_s = mine.waiting_s
            who = ", ".join(self._describe(store, rank) for rank in working)
            print(f"plimsoll: waiting for {who} for {mine.waiting_s:.0f} s; it is alive and at work", file=sys.stderr, flush=True)
        return ""

    def _look(self) -> None:
        """Ends the process where its main thread waits, and a signal or a server of the store that is silent says that it should not."""
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
            if self._stops_together and min(waiting, stopping) >= time_to_stop:
                self._end(_text(f"rank {self._where.rank} was asked to stop, and the ranks that it waits for do not answer"), 0)
            if min(waiting, unanswered) >= self._timeout and (self._where.rank_0_serves or self._step_is_stalled(waiting)):
                who = "rank 0" if self._where.rank_0_serves else "the launcher, which the ranks talk through,"
                self._end(_text(f"{who} has given no sign of life for {self._timeout:g} s ({STALL})"), 0)

    def _step_is_stalled(self, waiting_s: float) -> bool:
        return self._watch.in_step and self._heard.is_too_long(waiting_s, self._watch.longest_step_s)

    def _end(self, text: str, grace: float) -> None:
        """Ends the process, unless its main thread does within `grace` seconds."""
        if self._ends.wait(grace):
            return
        print(f"plimsoll: {text}", file=sys.stderr, flush=True)
        # The others learn it at once where the store answers.
        leave = threading.Thread(target=self._store.set, args=(f"left/{self._where.rank}", str(INTERRUPTED)), daemon=True)
        leave.start()
        leave.join(_LOOK_S)
        os._exit(INTERRUPTED)

    def _agree(self, text: str, store: Store | None = None) -> str:
        """All ranks say what the first of them says."""
        return str((store or self._store).compare_set("lost", "", text), "utf-8")

    def _others(self) -> list[int]:
        return [rank for rank in range(self._where.ranks) if rank != self._where.rank]

    def _missing(self) -> list[str]:
        """The ranks that have ended, or give no sign of life while this one asks."""
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
        """Whether a rank has left, or its process on this machine is no more."""
        if store.check([f"left/{rank}"]):
            return True
        process, _, processes = store.get(f"here/{rank}").decode().split(" ", 2)
        return processes == _processes() and _has_ended(int(process))

    def _has_failed(self, store: Store, rank: int) -> bool:
        """Whether a rank is gone before it was done."""
        return self._is_gone(store, rank) and not (store.check([f"left/{rank}"]) and store.get(f"left/{rank}") == b"0")

    def _describe(self, store: Store, rank: int) -> str:
        process, host, _ = store.get(f"here/{rank}").decode().split(" ", 2)
        left = f"left/{rank}"
        code = f", with exit code {store.get(left).decode()}" if store.check([left]) else ""
        return f"rank {rank} (process {process} on {host}{code})"

    def _stalled(self, store: Store, ranks: list[int], what: str) -> str:
        return _text(f"{', '.join(self._describe(store, rank) for rank in ranks)} {what}")


def _text(what: str) -> str:
    return f"{what}; to continue from the last checkpoint, start all ranks again with --resume"


def _ended(gone: list[str]) -> str:
    return _text(f"{', '.join(gone)} has ended" if gone else "a rank does not answer")


def _seconds_to_come() -> float:
    text = os.environ.get(_COMING, "300")
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{_COMING}={text!r}: expected seconds") from None


def _processes() -> str:
    """Where numbers of processes mean the same: a boot of a machine, and a namespace of it."""
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
