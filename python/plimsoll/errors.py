"""The errors that end an operation, as in C++ (src/base/error.h).

Each message says what was found, what was expected and what to do. `exit_code` is the exit code of the command line.
"""

from __future__ import annotations

import re
from traceback import clear_frames

from plimsoll._unfinished import drop_unfinished_backward


class Error(Exception):
    """The base class of all errors of Plimsoll."""

    exit_code = 1


class Failure(Error, RuntimeError):
    """Something other than the input went wrong: a full disk, a missing permission, an output that exists."""


class UsageError(Error, ValueError):
    """An argument is not valid, or a data set is closed."""

    exit_code = 2


class InputError(Error, ValueError):
    """A file or data set is missing, damaged or not of the expected kind."""

    exit_code = 3


class BudgetExceeded(Error, MemoryError):
    """A memory budget is too small.

    `tag` names the purpose of the refused bytes (docs/memory.md). `bytes_asked` and `bytes_free` are the bytes
    requested and the bytes left. They are "" and 0 if the system, not the budget, refused the memory.
    """

    exit_code = 4
    tag: str = ""
    bytes_asked: int = 0
    bytes_free: int = 0

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        # torch passes on only the text, so the numbers are read from it.
        if found := re.search(r"\((\d+) bytes\) requested for '(\w+)', (\d+) bytes free", str(self)):
            self.bytes_asked, self.tag, self.bytes_free = int(found[1]), found[2], int(found[3])

    def free_frames(self) -> None:
        """Frees what the failed calls still hold, such as the activations of the refused step.

        An exception keeps the local variables of every call it passed through for as long as it is referenced, and
        torch keeps the rest of a backward pass. Call this inside `except ... as error` to free their memory.
        `plimsoll.budget` calls it for an error that leaves its block.
        """
        seen: BaseException | None = self
        while seen is not None:
            clear_frames(seen.__traceback__)
            seen = seen.__cause__ or seen.__context__
        drop_unfinished_backward()

    def alone(self) -> BudgetExceeded:
        """Frees what the failed calls hold and returns the error without its traceback."""
        self.free_frames()
        return self.with_traceback(None)


class MissingPackage(Error, ImportError):
    """A package that the call needs, such as torch, cannot be imported."""

    exit_code = 2
