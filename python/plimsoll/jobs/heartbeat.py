"""Heartbeats of the ranks of a run: whether each process is alive, and whether its main thread works or waits.

This module does no communication; `roll.py` does. See docs/ranks.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.errors import UsageError

#: Seconds without a heartbeat after which a rank counts as stalled.
STALL = "PLIMSOLL_STALL_TIMEOUT_S"
#: A rank also counts as stalled if a step takes this many times as long as the longest one so far, and at least `STALL` seconds.
_TIMES_THE_LONGEST = 20.0
#: Seconds between two heartbeats.
BEAT_S = 0.5
#: Seconds without a heartbeat after which a rank that was asked to stop no longer waits for another rank.
ALIVE_S = 2.0
#: Seconds that a rank that was asked to stop waits for the other ranks to stop too.
_STOP_S = 4.0


def stall_timeout() -> float:
    """Returns the seconds in the environment variable `STALL`, 300 by default. Errors: `UsageError`."""
    text = os.environ.get(STALL, "300")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 4 * BEAT_S <= seconds < float("inf"):
        raise UsageError(f"{STALL}={text!r}: expected a number of seconds, {4 * BEAT_S:g} or more")
    return seconds


@dataclass(frozen=True)
class Beat:
    """One heartbeat. `number` grows with each one; the other fields describe the main thread."""

    number: int = 0
    waiting_s: float = 0.0  #: Seconds it has waited for other ranks; 0 while it works.
    in_step: bool = False  #: Whether it is in a training step.
    stopping: bool = False  #: Whether a signal has asked it to stop.

    def text(self) -> str:
        """Returns the heartbeat as text for the store."""
        return f"{self.number} {self.waiting_s:.3f} {self.in_step:d} {self.stopping:d}"

    @staticmethod
    def parse(text: bytes) -> Beat:
        """Reads the text of a heartbeat."""
        number, waiting_s, in_step, stopping = text.decode().split()
        return Beat(int(number), float(waiting_s), in_step == "1", stopping == "1")


class Heartbeats:
    """The heartbeats of all ranks, as received by one rank.

    Silence is measured only while this rank listens: time during which this rank itself was stopped does not count.
    """

    def __init__(self, ranks: int, me: int, timeout: float) -> None:
        self._me, self._timeout = me, timeout
        self.latest = [Beat() for _ in range(ranks)]
        self._silent_s = [0.0] * ranks

    def hear(self, beats: Sequence[Beat], seconds: float) -> None:
        """Records the latest heartbeat of each rank, `seconds` after the last call."""
        seconds = min(seconds, 4 * BEAT_S)
        for rank, beat in enumerate(beats):
            heard = beat.number != self.latest[rank].number
            self._silent_s[rank] = 0.0 if heard else self._silent_s[rank] + seconds
            self.latest[rank] = beat

    def silent(self) -> list[int]:
        """Returns the ranks whose last heartbeat is too old."""
        return [rank for rank in self._others() if self._silent_s[rank] >= self._timeout]

    def working(self) -> list[int]:
        """Returns the ranks that do not wait for other ranks."""
        return [rank for rank in self._others() if self.latest[rank].waiting_s == 0]

    def stopping(self) -> bool:
        """Returns whether another rank was asked to stop."""
        return any(self.latest[rank].stopping for rank in self._others())

    def is_too_long(self, waiting_s: float, longest_step_s: float) -> bool:
        """Returns whether waiting `waiting_s` seconds in a step means that another rank has stalled."""
        return waiting_s >= max(self._timeout, _TIMES_THE_LONGEST * longest_step_s)

    def time_to_stop(self, longest_step_s: float, store_answers: bool) -> float:
        """Returns how many seconds a rank that was asked to stop waits for the other ranks.

        If all of them are alive it waits at least as long as the longest step so far.
        """
        alive = store_answers and all(self._silent_s[rank] < ALIVE_S for rank in self._others())
        return max(_STOP_S, longest_step_s) if alive else _STOP_S

    def is_first_to_wait(self) -> bool:
        """Returns whether no rank with a lower number waits: only the first waiting rank reports the wait."""
        return all(self.latest[rank].waiting_s == 0 for rank in range(self._me))

    def _others(self) -> list[int]:
        return [rank for rank in range(len(self.latest)) if rank != self._me]
