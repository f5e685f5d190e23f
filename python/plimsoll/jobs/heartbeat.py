"""What ranks of a run know of each other while they work: each one's heartbeat says that its process lives, and whether its main
thread works or waits. Nothing here talks to anybody; `roll.py` does. docs/ranks.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll.errors import UsageError

#: Seconds without a heartbeat after which a rank counts as stalled.
STALL = "PLIMSOLL_STALL_TIMEOUT_S"
#: A step that takes this many times the longest one so far is a stall, too, if it takes the seconds of `STALL`.
_TIMES_THE_LONGEST = 20.0
#: Seconds between two heartbeats.
BEAT_S = 0.5
#: Seconds without a heartbeat after which a rank that was asked to stop no longer counts on another one.
ALIVE_S = 2.0
#: Seconds that a rank which was asked to stop waits for the others, which stop with it.
_STOP_S = 4.0


def stall_timeout() -> float:
    """As the environment says. Errors: `UsageError`."""
    text = os.environ.get(STALL, "300")
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 4 * BEAT_S <= seconds < float("inf"):
        raise UsageError(f"{STALL}={text!r}: expected seconds, {4 * BEAT_S:g} or more")
    return seconds


@dataclass(frozen=True)
class Beat:
    """One heartbeat: `number` grows with each, the rest says what the main thread does."""

    number: int = 0
    waiting_s: float = 0.0  #: how long it has waited for other ranks; 0: it works
    in_step: bool = False  #: of training
    stopping: bool = False  #: a signal has asked it to stop

    def text(self) -> str:
        return f"{self.number} {self.waiting_s:.3f} {self.in_step:d} {self.stopping:d}"

    @staticmethod
    def parse(text: bytes) -> Beat:
        number, waiting_s, in_step, stopping = text.decode().split()
        return Beat(int(number), float(waiting_s), in_step == "1", stopping == "1")


class Heartbeats:
    """The heartbeats of all ranks as one of them hears them.

    Silence is counted in time that this rank has listened: one that was itself stopped for a while has not listened meanwhile.
    """

    def __init__(self, ranks: int, me: int, timeout: float) -> None:
        self._me, self._timeout = me, timeout
        self.latest = [Beat() for _ in range(ranks)]
        self._silent_s = [0.0] * ranks

    def hear(self, beats: Sequence[Beat], seconds: float) -> None:
        """Takes the latest heartbeat of each rank, `seconds` after the last call."""
        seconds = min(seconds, 4 * BEAT_S)
        for rank, beat in enumerate(beats):
            heard = beat.number != self.latest[rank].number
            self._silent_s[rank] = 0.0 if heard else self._silent_s[rank] + seconds
            self.latest[rank] = beat

    def silent(self) -> list[int]:
        """The ranks without a heartbeat for too long."""
        return [rank for rank in self._others() if self._silent_s[rank] >= self._timeout]

    def working(self) -> list[int]:
        """The ranks that do not wait for others."""
        return [rank for rank in self._others() if self.latest[rank].waiting_s == 0]

    def stopping(self) -> bool:
        """Whether a rank was asked to stop."""
        return any(self.latest[rank].stopping for rank in self._others())

    def is_too_long(self, waiting_s: float, longest_step_s: float) -> bool:
        """Whether a rank that has waited so long in a step waits for a stalled one."""
        return waiting_s >= max(self._timeout, _TIMES_THE_LONGEST * longest_step_s)

    def time_to_stop(self, longest_step_s: float, store_answers: bool) -> float:
        """The seconds that a rank which was asked to stop waits for the others: where all live, as long as they may take for a step."""
        alive = store_answers and all(self._silent_s[rank] < ALIVE_S for rank in self._others())
        return max(_STOP_S, longest_step_s) if alive else _STOP_S

    def is_first_to_wait(self) -> bool:
        """Of the ranks that wait one tells it."""
        return all(self.latest[rank].waiting_s == 0 for rank in range(self._me))

    def _others(self) -> list[int]:
        return [rank for rank in range(len(self.latest)) if rank != self._me]
