"""How the ranks of a run find each other, and which of them is gone. docs/ranks.md.

All is said in torch's store: `here/R` by a rank that came, `alarm` by one that misses another, `alive/R` in answer to it, `lost`
by who asked first, `left/R` by a rank that ends early.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from plimsoll._rank_place import Place
from plimsoll.errors import Failure, UsageError

if TYPE_CHECKING:
    from torch.distributed import Store

INTERRUPTED = 75
#: Seconds within which all ranks have to come.
_COMING = "PLIMSOLL_RANKS_TIMEOUT_S"
#: Seconds that a rank which is alive may take to say so when another is missed.
_ROLL_CALL_S = 5.0
#: Seconds that a rank has to end on its own after it is known who is lost.
_GRACE_S = 2.0


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
    store.set(f"here/{where.rank}", f"{os.getpid()} {socket.gethostname()} {_processes()}")
    for rank in range(where.ranks):
        try:
            store.wait([f"here/{rank}"], wait)
        except RuntimeError:
            raise Failure(f"rank {rank} of {where.ranks} did not come within {limit:g} s ({_COMING})") from None
    return store


class Roll:
    """Finds out which rank is gone. A thread of each rank answers for it while the rank waits for another one."""

    def __init__(self, store: Store, where: Place) -> None:
        self._store, self._where = store, where
        self._ends = threading.Event()
        threading.Thread(target=self._watch, args=(store.clone(),), name="roll", daemon=True).start()

    def stop(self) -> None:
        """This rank is done, or ends on its own: its thread no longer does."""
        self._ends.set()

    def call(self) -> str:
        """Says which rank is gone, once this one misses another; all ranks say the same."""
        try:
            self._store.set("alarm", "1")
            if self._store.check(["lost"]):
                return str(self._store.get("lost"), "utf-8")
            return str(self._store.compare_set("lost", "", _text(self._missing())), "utf-8")
        except RuntimeError:
            return _text(["rank 0"] if self._where.rank_0_serves else [])

    def leave(self, code: int) -> None:
        """This rank ends, and has said why. The one that serves the store stays until the others know."""
        self.stop()
        try:
            self._store.set(f"left/{self._where.rank}", str(code))
            end = time.monotonic() + _ROLL_CALL_S + _GRACE_S
            while self._where.serves and time.monotonic() < end and not all(map(self._is_gone, self._others())):
                time.sleep(0.05)
        except RuntimeError:
            pass

    def _watch(self, store: Store) -> None:
        """Answers an alarm; ends the process where its main thread waits for a rank that knows no better."""
        try:
            store.wait(["alarm"], timedelta(days=365))
            store.set(f"alive/{self._where.rank}", "1")
            store.wait(["lost"], timedelta(seconds=2 * _ROLL_CALL_S))
            text = store.get("lost").decode()
        except RuntimeError:
            if not self._where.rank_0_serves or self._where.serves:
                return  # the launcher is gone: what remains is between the ranks
            text = _text(["rank 0"])
        if self._ends.wait(_GRACE_S):
            return
        print(f"plimsoll: {text}", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    def _others(self) -> list[int]:
        return [rank for rank in range(self._where.ranks) if rank != self._where.rank]

    def _missing(self) -> list[str]:
        waited_for = self._others()
        end = time.monotonic() + _ROLL_CALL_S
        gone: list[int] = []
        while waited_for and time.monotonic() < end:
            waited_for = [rank for rank in waited_for if not self._store.check([f"alive/{rank}"])]
            gone += [rank for rank in waited_for if self._is_gone(rank)]
            waited_for = [rank for rank in waited_for if rank not in gone]
            time.sleep(0.02)
        return [self._told(rank) for rank in sorted(gone + waited_for)]

    def _is_gone(self, rank: int) -> bool:
        """Whether a rank has left, or its process on this machine is no more."""
        if self._store.check([f"left/{rank}"]):
            return True
        process, _, processes = self._store.get(f"here/{rank}").decode().split(" ", 2)
        return processes == _processes() and _has_ended(int(process))

    def _told(self, rank: int) -> str:
        process, host, _ = self._store.get(f"here/{rank}").decode().split(" ", 2)
        left = f"left/{rank}"
        code = f", with exit code {self._store.get(left).decode()}" if self._store.check([left]) else ""
        return f"rank {rank} (process {process} on {host}{code})"


def _text(gone: list[str]) -> str:
    who = f"{', '.join(gone)} has ended" if gone else "a rank does not answer"
    return f"{who}; to continue from the last checkpoint, start all ranks again with --resume"


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
