"""`plimsoll.budget`: a memory budget for the process, enforced while a `with` block runs."""

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
"""Bytes by which the peaks of processes that do the same work may differ, for example because libraries allocate
different amounts at start.
"""

SETTLING = 1.2
"""Seconds to wait for other threads of the process to free memory."""


def smallest_budget(peak: int, spread: int = SPREAD) -> int:
    """Returns the smallest budget, in bytes of whole MiB, for any process that runs the same work as one with this
    peak.

    It includes the slack that is kept free. With `spread` 0 it is for this process only.
    """
    mib = 1 << 20
    peak += spread
    size = -(-peak // mib) * mib
    while size - _torch.slack(size) < peak:
        size += mib
    return size


@contextmanager
def naming_a_budget() -> Iterator[None]:
    """Adds a budget that suffices for the refused allocation to the message of a refusal inside the block. Only a plan
    knows about later allocations.

    A refusal by a device, or by a budget that was entered inside the block, stays unchanged.
    """
    try:
        yield
    except BudgetExceeded as refused:
        asked = refused.bytes_asked
        if asked and not _of_device(refused) and not _noted(refused):
            # If memory outside the ledger exceeds the budget, the ledger reports 0 free bytes, not how many are
            # missing.
            of_ledger = limit() - _torch.slack(limit()) - refused.bytes_free
            minimum = smallest_budget(max(of_ledger, _torch.outside() + _torch.held()) + asked)
            refused.args = (f"{refused}; give a budget of at least {minimum >> 20} MiB",)
        raise


_NOTE = "The budget of "


def _noted(refused: BudgetExceeded) -> bool:
    """Returns whether the error has already left the `with` block of the budget that refused the memory."""
    return any(note.startswith(_NOTE) for note in getattr(refused, "__notes__", ()))


def _of_device(refused: BudgetExceeded) -> bool:
    return "device budget" in str(refused)


_in_force: dict[int, weakref.ref[budget]] = {}  # by number, in the order in which they were entered
_numbers = itertools.count()
# Guards entering and leaving. Reentrant, because a garbage collection during either may leave a budget in the same
# thread.
_moves = threading.RLock()


def _unlock() -> None:
    global _moves
    _moves = threading.RLock()


os.register_at_fork(after_in_child=_unlock)  # A thread that the child does not have may hold the lock.


def _budgets() -> list[budget]:
    """Returns the budgets in force, in the order in which they were entered."""
    return [each for reference in tuple(_in_force.values()) if (each := reference()) is not None]


def limit() -> int:
    """Returns the smallest budget of the process in force, in bytes, which is the one that a plan has."""
    return min(each.bytes for each in _budgets())


def settle() -> None:
    """Frees cached memory and measures, for all budgets in force, what the process holds outside the ledger.

    From then on this value counts, instead of the maximum over the last second. Call it when all memory in the ledger
    has been written to.
    """
    _torch.give_back_freed_memory()
    for each in _budgets():
        if (process := each._process) is not None:
            process.settle()


class budget(ContextDecorator):
    """Keeps the process within a memory budget:

        with plimsoll.budget("2GiB") as memory:
            train()
        print(memory)

    It also works as a decorator, `@plimsoll.budget("2GiB")`; each call of the function is then a separate block.

    - `size`: bytes, or text such as "2GiB", or "80%" of the detected limit (SLURM, cgroups, ulimit, RAM). None means
      that limit minus 64 MiB, or half of it if that is more.
    - `device`: "cpu" for the process, "cuda" for the GPU.

    A torch tensor on the CPU that would exceed the budget is refused: the operation, forward or backward, raises
    `BudgetExceeded`, and earlier results stay valid. Batches of `DataLoader` and buffers of `ingest` and `windows`
    are refused in the same way. The budget covers all anonymous memory of the process: what the interpreter, libraries
    and earlier tensors hold is measured every 20 ms. Because that memory can grow at any time, 8 MiB plus a fiftieth of
    the budget are kept free for it. If budgets are nested, the smallest applies. A budget applies to all threads;
    entering and leaving are thread-safe. The first use replaces torch's allocator on the CPU until the process ends.

    With `device="cuda"` it is a budget of the GPU (docs/gpu.md#python). Enter it before torch's first tensor on the
    GPU. It covers driver, libraries and tensors from then on until the process ends; another budget may be entered
    while no tensor is on the GPU. `size` may then be a share of the free memory, and None means all of it.

    Errors: `UsageError`; `BudgetExceeded` on entering if the process already holds more.
    """

    def __init__(self, size: Size = None, *, device: str | torch.device = "cpu") -> None:
        self._size, self._device = size, str(device)
        self._text = budget_text(size)
        self.bytes = _torch.budget_bytes(self._text) if self._device == "cpu" else 0
        """The budget in bytes; for a device 0 until it is entered."""
        self.peak = 0
        """Maximum bytes that the ledger, or the device, held at a time: tensors, including earlier ones, and
        batches.
        """
        self.peak_process = 0
        """Maximum anonymous memory of the process in bytes, as sampled. For a device the memory of the process as reported
        by the driver, or the budget if it reports none.
        """
        self._process: ProcessBudget | None = None
        self._gpu: Device | None = None

    def _recreate_cm(self) -> budget:
        return budget(self._size, device=self._device)  # Calls may be nested, and run in several threads.

    def __enter__(self) -> budget:
        if self._process is not None or self._gpu is not None:
            raise UsageError("this budget is already in force; make another budget object to nest them")
        if self._device != "cpu":
            from plimsoll._fit.device import device_of  # This imports PyTorch Geometric, which allocates 90 MiB.

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
            held = self.bytes == limit()  # Otherwise a smaller budget refused the memory.
            self._end_peak()
            self.peak_process = self._process.peak_anonymous()
            self._process = None
        if isinstance(error, BudgetExceeded):
            if held and _of_device(error) == (self._device != "cpu") and not _noted(error):
                owner = "the process" if self._device == "cpu" else self._device
                error.add_note(f"{_NOTE}{owner} was {_torch.format_bytes(self.bytes)}.")
            error.free_frames()

    def _end_peak(self) -> None:
        """Leaves the budget and sets the peak since it was entered.

        The ledger has one peak, since the last budget was entered, and that budget keeps the peak before it. Budgets
        of several threads may be left in any order.
        """
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
