"""Runs the steps that `plimsoll.fit` tries on a few graphs before it plans."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from plimsoll import _torch
from plimsoll._fit.budget import SETTLING, settle
from plimsoll.errors import BudgetExceeded

R = TypeVar("R")


class Tries:
    """Measures the memory of tries for the plan. A refusal is raised only after the plan has found a budget that works."""

    def __init__(self) -> None:
        self.peak = 0  #: Maximum bytes that a try held at a time.
        self._refused: BudgetExceeded | None = None
        self._waited = False

    def run(self, work: Callable[[], R], otherwise: R) -> R:
        """Returns the result of `work`, or `otherwise` if it was refused memory twice."""
        refused = None
        for _ in range(2):
            if refused is not None:
                self._wait()
            outer, before = _torch.begin_peak(), _torch.held()
            try:
                return work()
            except BudgetExceeded as error:
                refused = error.alone()
            finally:
                self.peak = max(self.peak, _torch.peak() - before)
                _torch.end_peak(outer)
        self._refused = refused
        return otherwise

    def _wait(self) -> None:
        """Waits for other threads of the process to free memory; once for all tries."""
        if not self._waited:
            time.sleep(SETTLING)
        self._waited = True
        settle()

    def require(self) -> None:
        """Checks that no try was refused memory. Errors: `BudgetExceeded`."""
        if (refused := self._refused) is not None:
            refused.args = (f"there is not enough memory for the steps that fit tries on a few graphs: {refused}",)
            raise refused
