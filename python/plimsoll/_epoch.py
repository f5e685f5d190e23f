"""One epoch of a loader."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from plimsoll.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from plimsoll._core import BatchStream
    from plimsoll.epochs import EpochLoader

Batch_co = TypeVar("Batch_co", covariant=True)


class Native(Protocol):
    """What C++ has for all epochs of one loader: `_core.Batches` or `_core.Neighbours`."""

    @property
    def live_bytes(self) -> int: ...
    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> BatchStream: ...
    def steps(self, epoch: int, rank: int, ranks: int) -> int: ...
    def next(self, stream: BatchStream) -> dict[str, Tensor]: ...


class Position(NamedTuple):
    epoch: int
    first: int  # batches of it that were delivered
    ranks: int | None = None  # of which this is the position; None: any number


@dataclass
class Progress:
    """Of an epoch that has begun."""

    epoch: int
    delivered: int
    steps: int
    ranks: int

    def position(self) -> Position:
        if self.delivered == self.steps:
            return Position(self.epoch + 1, 0, self.ranks)
        return Position(self.epoch, self.delivered, self.ranks)


class Epoch(Iterator[Batch_co]):
    """One epoch of a loader, which begins when its first batch is asked for."""

    def __init__(self, loader: EpochLoader[Batch_co]) -> None:
        self._loader = loader
        self._pin = loader.pin_memory and _can_pin()
        self._progress: Progress | None = None
        self._stream: BatchStream | None = None
        self._process = 0

    def __next__(self) -> Batch_co:
        progress = self._progress or self._begin()
        if progress.delivered == progress.steps:
            raise StopIteration
        if self._process != os.getpid():
            # A child of fork() has not the thread of its parent's stream.
            self._open(progress.epoch, progress.delivered)
        assert self._stream is not None
        tensors = self._batches.next(self._stream)
        progress.delivered += 1
        if progress.delivered == progress.steps:
            self._stream = None  # ends its thread
        batch: Any = self._loader._finish(tensors)
        return batch.pin_memory() if self._pin else batch  # type: ignore[no-any-return]

    def _begin(self) -> Progress:
        loader = self._loader
        self._share = loader._share()
        epoch, first, ranks = loader._coming
        if ranks not in (None, self._share[1]):
            raise UsageError(f"load_state_dict: the state is of {ranks} ranks, and there are {self._share[1]}")
        steps = self._open(epoch, first)
        if first > steps:
            raise UsageError(f"load_state_dict: the state is behind batch {first}, and the epoch has {steps}")
        loader._coming = Position(epoch + 1, 0)
        loader._running = self._progress = Progress(epoch, first, steps, self._share[1])
        return self._progress

    def _open(self, epoch: int, first: int) -> int:
        loader = self._loader
        self._process = os.getpid()
        self._batches = loader._batches()
        self._stream = self._batches.stream(epoch, *self._share, first, loader.prefetch_factor)
        return self._stream.size


def _can_pin() -> bool:
    import torch

    if not torch.cuda.is_available():
        warnings.warn("pin_memory=True, but there is no CUDA: batches are not pinned", stacklevel=3)
        return False
    return True
