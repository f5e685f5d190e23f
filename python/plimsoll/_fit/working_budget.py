"""Adds a budget that works, found by planning without the budget, to refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TypeVar

from plimsoll._fit.budget import budget as budget_of_process
from plimsoll._fit.budget import naming_a_budget
from plimsoll.arguments import Budget
from plimsoll.errors import BudgetExceeded, Error

R = TypeVar("R")
_NAMED = "smallest budget that works"


def prepared_within(
    budget: Budget,
    enter: ExitStack,
    context: AbstractContextManager[object],
    prepare: Callable[[ExitStack], R],
    smallest: Callable[[R], int],
) -> tuple[budget_of_process, R]:
    """Enters the budget and `context`, which stay in force until the context `enter` ends. Returns the budget and the
    result of `prepare`.

    Errors: `BudgetExceeded`, which names the budget that `smallest` returns for what is prepared without this budget.
    """
    try:
        with ExitStack() as own:
            memory = own.enter_context(budget_of_process(budget))
            own.enter_context(context)
            with naming_a_budget():
                ready = prepare(own)
            enter.enter_context(own.pop_all())
            return memory, ready
    except BudgetExceeded as error:
        refused = error

    def smallest_of_all() -> int:
        with budget_of_process(), ExitStack() as own:
            return smallest(prepare(own))

    raise with_working_budget(refused, budget, smallest_of_all)


def with_working_budget(refused: BudgetExceeded, budget: Budget, smallest: Callable[[], int]) -> BudgetExceeded:
    """Returns the refusal, after adding the budget that `smallest` finds to its text, unless the text already names
    one."""
    if budget is None or _NAMED in str(refused) or "device budget" in str(refused):
        return refused
    refused.free_frames()
    with suppress(Error):  # There is not enough memory to plan, or there is another error, which a larger budget will reveal.
        minimum = smallest()
        text = re.sub(r"; give (more than|a budget of) [^;]*$", "", str(refused))
        refused.args = (f"{text}; the {_NAMED} is {minimum >> 20} MiB",)
    return refused
