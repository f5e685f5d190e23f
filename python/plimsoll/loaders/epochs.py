"""The base of loaders: successive epochs, positions in them, ranks, forks and the C++ thread."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from plimsoll.arguments import whole
from plimsoll.errors import MissingPackage, UsageError

if TYPE_CHECKING:
    from torch import Tensor

_MAX_EPOCH = 2**32 - 1
_MAX_REPLICAS = 2**31 - 1

Batch_co = TypeVar("Batch_co", covariant=True)


class Native(Protocol):
    """The source of all epochs of one loader: `_core.Batches` or `_core.Neighbours` in C++, or `ListBatches`."""

    @property
    def live_bytes(self) -> int: ...
    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> Any: ...
    def steps(self, epoch: int, rank: int, ranks: int) -> int: ...
    def next(self, stream: Any, numpy: bool = False) -> Any: ...


class Position(NamedTuple):
    """A position in an epoch, from which a loader continues."""
    epoch: int
    first: int  # number of its batches that were delivered
    ranks: int | None = None  # number of ranks that the position is for; None for any


@dataclass
class Progress:
    """The progress of an epoch that has begun."""

    epoch: int
    delivered: int
    steps: int
    ranks: int

    def position(self) -> Position:
        """Returns the position after the delivered batches."""
        if self.delivered == self.steps:
            return Position(self.epoch + 1, 0, self.ranks)
        return Position(self.epoch, self.delivered, self.ranks)


class EpochLoader(Iterable[Batch_co]):
    """A loader whose epochs come from the object that `_make` returns; `_finish` turns the tensors of each batch into
    the batch.

    `options` are the arguments that change batches; they are part of the state.
    """

    def __init__(
        self, options: dict[str, Any], rank: int | None, num_replicas: int | None, pin_memory: bool, prefetch_factor: int | None
    ) -> None:
        if (rank is None) != (num_replicas is None):
            raise UsageError(
                f"rank={rank}, num_replicas={num_replicas}: expected both, 0 <= rank < num_replicas, or neither"
            )
        if num_replicas is not None:
            num_replicas = whole("num_replicas", num_replicas, 1, _MAX_REPLICAS)
            rank = whole("rank", rank, 0, num_replicas - 1)
        self.pin_memory = pin_memory
        self.prefetch_factor = 2 if prefetch_factor is None else whole("prefetch_factor", prefetch_factor, 0)
        self._options = options
        self._rank, self._num_replicas = rank, num_replicas
        self._coming = Position(0, 0)
        self._running: Progress | None = None
        self._native: tuple[int, Native] | None = None
        self._steps: tuple[tuple[int, int, int], int] | None = None
        self._numpy = False  # whether batches are dictionaries of NumPy arrays
        self._batches()

    def _make(self) -> Native:
        raise NotImplementedError

    def _finish(self, tensors: dict[str, Tensor]) -> Batch_co:
        raise NotImplementedError

    def _in_buffer(self, field: str) -> bool:
        """Returns whether a field of a batch is in a buffer of C++, which may be larger than it
        (src/loader/batch_memory.h).
        """
        return True

    def _closed(self) -> bool:
        raise NotImplementedError

    def _identity(self) -> str:
        """Returns text that differs between data sets and between selections from them."""
        raise NotImplementedError

    @property
    def batch_size(self) -> int | None:
        """The maximum number of items per batch; None without this limit."""
        size: int | None = self._options["batch_size"]
        return size

    @property
    def drop_last(self) -> bool:
        """Whether an incomplete last batch is left out."""
        return bool(self._options["drop_last"])

    @property
    def live_bytes(self) -> int:
        """Bytes held by delivered batches that are not freed yet, as counted by the ledger."""
        return 0 if self._native is None or self._native[0] != os.getpid() else self._native[1].live_bytes

    def set_epoch(self, epoch: int) -> None:
        """Sets the number of the next epoch, which starts with its first batch."""
        self._coming = Position(whole("epoch", epoch, 0, _MAX_EPOCH), 0)
        self._running = None

    def __iter__(self) -> Iterator[Batch_co]:
        if self._numpy:
            return Epoch(self)
        try:
            import torch_geometric.data  # noqa: F401
        except ImportError as error:
            raise MissingPackage(
                f"{type(self).__name__}: {error}; install both: pip install torch torch_geometric"
            ) from error
        return Epoch(self)

    def __len__(self) -> int:
        """Returns the number of batches in the coming epoch."""
        coming = (self._coming.epoch, *self._share())
        if self._steps is None or self._steps[0] != coming:
            self._steps = coming, self._batches().steps(*coming)
        return self._steps[1]

    def state_dict(self) -> dict[str, Any]:
        """Returns the position in the epoch started last, as plain numbers and text, for `load_state_dict`.

        The keys are `epoch`, `position` (batches delivered of it), `num_replicas`, `options` and `data`, which
        identifies the data set and the selection from it. After an epoch's last batch the state is the start of the
        next epoch. It is the same on all ranks.
        """
        epoch, position, ranks = self._coming if self._running is None else self._running.position()
        return {
            "epoch": epoch,
            "position": position,
            "num_replicas": ranks,
            "options": dict(self._options),
            "data": self._identity(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next epoch continue after the last batch that was delivered when `state` was taken.

        Errors: `UsageError` for the state of other data, other options or, when the epoch begins, another
        `num_replicas`.
        """
        try:
            epoch, position, ranks = state["epoch"], state["position"], state["num_replicas"]
            options, data = state["options"], state["data"]
            given = dict(options)
        except (KeyError, TypeError, ValueError):
            raise UsageError(f"load_state_dict: expected the result of {type(self).__name__}.state_dict()") from None
        for name, value in self._options.items():
            if given.get(name) != value:
                raise UsageError(
                    f"load_state_dict: the state is from a loader with {name}={given.get(name)!r}, but this one has "
                    f"{value!r}; give both the same value"
                )
        if data != self._identity():
            raise UsageError("load_state_dict: the state is from other data; open the data set from which it was taken")
        self.set_epoch(epoch)
        self._coming = Position(epoch, whole("position", position, 0), ranks)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_native": None, "_running": None, "_steps": None}

    def _batches(self) -> Native:
        # A child of fork() makes its own, because a thread that the child does not have may hold one of the parent's locks.
        if self._native is None or self._native[0] != os.getpid() or self._closed():
            self._native = os.getpid(), self._make()
        return self._native[1]

    def _share(self) -> tuple[int, int]:
        if self._num_replicas is not None:
            return self._rank or 0, self._num_replicas
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return 0, 1
        return distributed.get_rank(), distributed.get_world_size()

    def _given(self) -> str:
        return ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value or name == "seed")


class Epoch(Iterator[Batch_co]):
    """One epoch of a loader. It starts when its first batch is requested."""

    def __init__(self, loader: EpochLoader[Batch_co]) -> None:
        self._loader = loader
        self._pin = loader.pin_memory and _can_pin()
        self._progress: Progress | None = None
        self._stream: Any = None
        self._process = 0

    def __next__(self) -> Batch_co:
        progress = self._progress or self._begin()
        if progress.delivered == progress.steps:
            raise StopIteration
        if self._stream is None or self._process != os.getpid():
            # Open the stream again after an error, and in a child of fork(), which does not have its parent's threads.
            self._open(progress.epoch, progress.delivered)
        try:
            tensors = self._batches.next(self._stream, self._loader._numpy)
        except Exception:  # The stream of a list continues after an item that failed.
            progress.delivered = getattr(self._stream, "coming", progress.delivered)
            raise
        progress.delivered += 1
        try:
            return self._finished(tensors)
        except MemoryError:
            progress.delivered -= 1
            self._stream = None  # The batch is made again, because these tensors may have been changed.
            raise
        finally:
            if progress.delivered == progress.steps:
                self._stream = None  # This ends its thread.

    def _finished(self, tensors: Any) -> Batch_co:
        batch: Any = tensors if self._loader._numpy else self._loader._finish(tensors)
        return batch.pin_memory() if self._pin else batch  # type: ignore[no-any-return]

    def _begin(self) -> Progress:
        loader = self._loader
        self._share = loader._share()
        epoch, first, ranks = loader._coming
        if ranks not in (None, self._share[1]):
            raise UsageError(f"load_state_dict: the state is from {ranks} ranks, but there are {self._share[1]}")
        steps = self._open(epoch, first)
        if first > steps:
            raise UsageError(f"load_state_dict: the state is after batch {first}, but the epoch has only {steps} batches")
        loader._coming = Position(epoch + 1, 0)
        loader._running = self._progress = Progress(epoch, first, steps, self._share[1])
        return self._progress

    def _open(self, epoch: int, first: int) -> int:
        loader = self._loader
        self._process, self._stream = os.getpid(), None
        self._batches = loader._batches()
        self._stream = self._batches.stream(epoch, *self._share, first, loader.prefetch_factor)
        return int(self._stream.size)


def _can_pin() -> bool:
    import torch

    if not torch.cuda.is_available():
        warnings.warn("pin_memory=True, but there is no CUDA: batches are not pinned", stacklevel=3)
        return False
    return True
