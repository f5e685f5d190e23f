"""The errors that end an operation, as in C++ (src/base/error.h).

Each text says what was found, what was expected and the remedy. `exit_code` is that of the command line.
"""

from __future__ import annotations

import re
from traceback import clear_frames

from plimsoll._unfinished import drop_unfinished_backward


class Error(Exception):
    """What all errors of Plimsoll have in common."""

    exit_code = 1


class Failure(Error, RuntimeError):
    """Something outside the input went wrong: a full disk, a missing permission, an output that exists."""


class UsageError(Error, ValueError):
    """An argument is not what we understand, or a data set is closed."""

    exit_code = 2


class InputError(Error, ValueError):
    """A file or data set is not what it should be, or is not there."""

    exit_code = 3


class BudgetExceeded(Error, MemoryError):
    """A budget does not suffice.

    `tag` names what the refused bytes were for (docs/memory.md), `bytes_asked` and `bytes_free` how many were
    asked for and left; empty and 0 where the system refused.
    """

    exit_code = 4
    tag: str = ""
    bytes_asked: int = 0
    bytes_free: int = 0

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        # torch hands on the text alone.
        if found := re.search(r"\((\d+) bytes\) asked for '(\w+)', (\d+) bytes free", str(self)):
            self.bytes_asked, self.tag, self.bytes_free = int(found[1]), found[2], int(found[3])

    def free_frames(self) -> None:
        """Frees what the calls that the error ended still hold, such as activations of the step that was refused.

        An exception keeps the local variables of every call that it passed, as long as somebody holds it, and torch the
        rest of a backward pass: inside `except ... as error`, this gives their memory back. `plimsoll.budget` does it for
        an error that leaves it.
        """
        seen: BaseException | None = self
        while seen is not None:
            clear_frames(seen.__traceback__)
            seen = seen.__cause__ or seen.__context__
        drop_unfinished_backward()

    def alone(self) -> BudgetExceeded:
        """The error, which holds nothing of the calls that it ended any more."""
        self.free_frames()
        return self.with_traceback(None)


class MissingPackage(Error, ImportError):
    """torch or PyTorch Geometric is needed and cannot be imported."""

    exit_code = 2
