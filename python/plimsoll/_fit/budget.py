"""`plimsoll.budget`: a budget for the process, enforced while a `with` block runs."""

from __future__ import annotations

import itertools
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from plimsoll import _torch
from plimsoll.arguments import Budget as Size
from plimsoll.arguments import budget_text
from plimsoll.errors import BudgetExceeded, UsageError

if TYPE_CHECKING:
    import torch

    from plimsoll._torch import Device, ProcessBudget


SPREAD = 2 << 20
"""Bytes by which one process holds more than another that runs the same, such as those of libraries at start."""

SETTLING = 1.2
"""Seconds, in which others in the process may give back what they took."""


def smallest_budget(peak: int, spread: int = SPREAD) -> int:
    """The least budget, in whole MiB, that a process with this peak works with, and others that run the same: slack is
    kept free beside it. With `spread` 0 this process alone."""
    mib = 1 << 20
    peak += spread
    size = -(-peak // mib) * mib
    while size - _torch.slack(size) < peak:
        size += mib
    return size


@contextmanager
def naming_a_budget() -> Iterator[None]:
    """A refusal inside names a budget to try, with which what was refused has room; more may follow it, which only a plan
    knows. That of a device, or of a budget that was entered inside, is left as it is."""
    try:
        yield
    except BudgetExceeded as refused:
        asked = refused.bytes_asked
        if asked and not _of_device(refused) and not _noted(refused):
            # Where others hold more than the budget, the ledger has 0 bytes, and does not say how many are missing.
            of_ledger = limit() - _torch.slack(limit()) - refused.bytes_free
            minimum = smallest_budget(max(of_ledger, _torch.outside() + _torch.held()) + asked)
            refused.args = (f"{refused}; give a budget of {minimum >> 20} MiB or more",)
        raise


_NOTE = "The budget of "


def _noted(refused: BudgetExceeded) -> bool:
    """Whether it left a budget that refused it."""
    return any(note.startswith(_NOTE) for note in getattr(refused, "__notes__", ()))


def _of_device(refused: BudgetExceeded) -> bool:
    return "device budget" in str(refused)


_in_force: dict[int, weakref.ref[budget]] = {}  # by their numbers, in the order in which they were entered
_numbers = itertools.count()
# In and out of force. Garbage that is collected meanwhile may leave a budget, in the same thread.
_moves = threading.RLock()


def _unlock() -> None:
    global _moves
    _moves = threading.RLock()


os.register_at_fork(after_in_child=_unlock)  # another thread had it, which the child has not


def _budgets() -> list[budget]:
    """Those in force, in the order in which they were entered."""
    return [each for reference in tuple(_in_force.values()) if (each := reference()) is not None]


def limit() -> int:
    """The least of all budgets of the process that are in force, in bytes: what a plan has."""
    return min(each.bytes for each in _budgets())


def settle() -> None:
    """Gives back what is kept of freed memory, and measures for all budgets in force what the process holds outside of the
    ledger: it counts from then on, whatever it was in the last second. For moments when all that the ledger has was
    written to."""
    _torch.give_back_freed_memory()
    for each in _budgets():
        if (process := each._process) is not None:
            process.settle()


class budget(ContextDecorator):
    """Keeps the process within a budget of memory:

        with plimsoll.budget("2GiB") as memory:
            train()
        print(memory)

    or a function, as a decorator: `@plimsoll.budget("2GiB")`; each call is a block of its own.

    A tensor of torch on the CPU that would pass it is refused: the operation that wanted it, forward or backward,
    raises `BudgetExceeded`, and what was computed before is whole. So are batches of `DataLoader` and buffers of
    `ingest` and `windows`. The budget is for all anonymous memory of the process: what the interpreter, libraries and
    tensors of before hold is measured every 20 ms, and it alone can take memory unasked; 8 MiB and a fiftieth are
    kept free for that. Of nested budgets the smallest holds. It counts for all threads; entering and leaving are
    thread-safe.

    `size` is in bytes, or a text such as "2GiB" or "80%" of the limit found (SLURM, cgroups, ulimit, RAM); None is
    that limit less 64 MiB.

    With `device="cuda"` it is a budget of the GPU (docs/gpu.md#python), to be entered before torch's first tensor there:
    driver, libraries and tensors all lie within it, from then on until the process ends, and another one may be entered
    while no tensor is there. `size` may be a share of what is free there; None is all of it.

    Errors: `UsageError`; `BudgetExceeded` on entering if the process holds more already.
    """

    def __init__(self, size: Size = None, *, device: str | torch.device = "cpu") -> None:
        self._size, self._device = size, str(device)
        self._text = budget_text(size)
        self.bytes = _torch.budget_bytes(self._text) if self._device == "cpu" else 0
        """The budget, in bytes; of a device once it is entered."""
        self.peak = 0
        """The most bytes that tensors held at once, those of before included; of the ledger, so with batches, or of a
        device."""
        self.peak_process = 0
        """The most anonymous memory of the process that was seen, in bytes; of a device what the process has there, as the
        driver says, or the budget where it says nothing."""
        self._process: ProcessBudget | None = None
        self._gpu: Device | None = None

    def _recreate_cm(self) -> budget:
        return budget(self._size, device=self._device)  # calls may be nested, and run in several threads

    def __enter__(self) -> budget:
        if self._process is not None or self._gpu is not None:
            raise UsageError("this budget is in force already; make another to nest them")
        if self._device != "cpu":
            from plimsoll._fit.device import device_of  # imports PyTorch Geometric, which takes 90 MiB

            self._gpu = device_of(self._device, self._size)
            assert self._gpu is not None
            self.bytes = self._gpu.budget
            self._gpu.enter()
            self._outer_peak = self._gpu.begin_peak()
            return self
        self._process = _torch.ProcessBudget(self._text)
        with _moves:
            self._number = number = next(_numbers)
            self._outer_peak = _torch.begin_peak()
            _in_force[number] = weakref.ref(self, lambda _: _in_force.pop(number, None))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held = True
        if self._gpu is not None:
            self._gpu.leave()
            self.peak, self.peak_process = self._gpu.peak, self._gpu.held or self.bytes
            self._gpu.end_peak(self._outer_peak)
            self._gpu = None
        else:
            assert self._process is not None
            held = self.bytes == limit()  # else a smaller one did
            self._end_peak()
            self.peak_process = self._process.peak_anonymous()
            self._process = None
        if isinstance(error, BudgetExceeded):
            if held and _of_device(error) == (self._device != "cpu") and not _noted(error):
                owner = "the process" if self._device == "cpu" else self._device
                error.add_note(f"{_NOTE}{owner} was {_torch.format_bytes(self.bytes)}.")
            error.free_frames()

    def _end_peak(self) -> None:
        """Leaves, with the peak since this budget was entered. The ledger has one since the last that was, which keeps that
        before it; and budgets of several threads may be left in any order."""
        with _moves:
            _in_force.pop(self._number, None)
            later = [each for each in _budgets() if each._number > self._number]
            self.peak = max([_torch.peak(), *(each._outer_peak for each in later)])
            if later:
                later[0]._outer_peak = max(later[0]._outer_peak, self._outer_peak)
            else:
                _torch.end_peak(self._outer_peak)

    def __str__(self) -> str:
        if self._process is not None or self._gpu is not None:
            return f"a budget of {_torch.format_bytes(self.bytes)}, in force"
        return (
            f"{_torch.format_bytes(self.peak_process)} of a budget of {_torch.format_bytes(self.bytes)}; "
            f"tensors {_torch.format_bytes(self.peak)}"
        )
