"""What `plimsoll.fit` tries on a few graphs before it plans."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from plimsoll import _torch
from plimsoll._fit.budget import SETTLING, settle
from plimsoll.errors import BudgetExceeded

R = TypeVar("R")


class Tries:
    """Measures what they take, for the plan to have room for it. One that is refused waits until the plan has said which
    budget works."""

    def __init__(self) -> None:
        self.peak = 0  #: the most bytes that one held at once
        self._refused: BudgetExceeded | None = None
        self._waited = False

    def run(self, work: Callable[[], R], otherwise: R) -> R:
        """What `work` gives, or `otherwise` where it was refused memory twice."""
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
        """Until others in the process gave back what they took; once for all tries."""
        if not self._waited:
            time.sleep(SETTLING)
        self._waited = True
        settle()

    def require(self) -> None:
        """Errors: `BudgetExceeded` where one was refused, though the plan had room."""
        if (refused := self._refused) is not None:
            refused.args = (f"there is no room for what fit tries on a few graphs: {refused}",)
            raise refused
