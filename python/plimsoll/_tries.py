"""What `plimsoll.fit` tries on a few graphs before it plans."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from plimsoll import _torch
from plimsoll._budget import SETTLING, settle
from plimsoll.errors import BudgetExceeded

R = TypeVar("R")


class Tries:
    """Measures what they take, for the plan to have room for it. One that is refused waits until the plan has said which
    budget works."""

    def __init__(self) -> None:
        self.peak = 0  #: the most bytes that one held at once
        self._refused: BudgetExceeded | None = None

    def run(self, work: Callable[[], R], otherwise: R) -> R:
        """What `work` gives, or `otherwise` where it was refused memory twice."""
        refused = None
        for pause in (0, SETTLING):
            time.sleep(pause)
            settle()
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

    def require(self) -> None:
        """Errors: `BudgetExceeded` where one was refused, though the plan had room."""
        if (refused := self._refused) is not None:
            raise BudgetExceeded(f"there is no room for what fit tries on a few graphs: {refused}") from refused
