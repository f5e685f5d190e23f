"""What functions that make data sets have in common."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from plimsoll.errors import UsageError

PathLike: TypeAlias = str | os.PathLike[str]
Budget: TypeAlias = int | str | None
Progress: TypeAlias = Callable[[int, int], object] | None


def budget_text(budget: Budget) -> str:
    """Bytes as a number, or text as for --budget; None is the default."""
    return "" if budget is None else str(budget)


def thread_count(threads: int | None) -> int:
    if threads is None:
        return len(os.sched_getaffinity(0))
    return whole("threads", threads, 1, 1024)


def one_of(name: str, value: str, words: tuple[str, ...]) -> str:
    if value not in words:
        raise UsageError(f"{name}={value!r}: expected one of {', '.join(words)}")
    return value


def texts(name: str, values: Iterable[str]) -> list[str]:
    if isinstance(values, str):
        raise UsageError(f"{name}={values!r}: expected a list of texts")
    return list(values)


def whole(name: str, value: Any, least: int, most: int = 2**63 - 1) -> int:
    """A whole number within bounds."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= int(value) <= most:
        bound = f"of {least} or more" if most >= 2**62 else f"from {least} to {most}"
        raise UsageError(f"{name}={value!r}: expected a whole number {bound}")
    return int(value)
