"""Batches of a data set's graphs for PyTorch Geometric, within a memory budget."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.arguments import texts, whole
from plimsoll.errors import MissingPackage, UsageError
from plimsoll.graph_set import Graphs

if TYPE_CHECKING:
    from torch_geometric.data import Batch

_MAX_EPOCH = 2**32 - 1
_NO_LIMIT = 2**63 - 1


class DataLoader(Iterable["Batch"]):
    """Goes over graphs of a `GraphSet` in batches: `for batch in loader` is an epoch.

    A batch is what `torch_geometric.loader.DataLoader` makes of the same graphs, a `torch_geometric.data.Batch`: `x`
    f32 [N, F], `edge_index` i64 [2, E], `edge_attr` f32 [E, K], `y` i64 [B], `node_y` i64 [N] where the data set has
    it, `batch` i64 [N], `ptr` i64 [B+1]. Tensors are copies and may be written to. C++ makes them, the next ones on a
    thread of its own while the caller works with this one; there are no worker processes.

    - `dataset`: a `GraphSet`, or `Graphs` chosen of one: `graphs[graphs.splits["train"].slice]`.
    - `batch_size`: graphs a batch at most; None: as many as the other limits allow.
    - `shuffle`: the order of an epoch depends on `(seed, epoch)` alone, and not on torch's generator.
    - `follow_batch`, `exclude_keys`: as in PyTorch Geometric.
    - `max_nodes`, `max_edges`, `max_bytes`: a batch closes before it would exceed one. `max_bytes`, a number or text
      such as "16MiB", counts the bytes of all tensors, those of `ptr`, `batch` and of where the edges of each graph
      begin included. A graph that exceeds one by itself is a `UsageError`; `skip_too_big` leaves it out.
    - `min_steps_per_epoch`: `batch_size` becomes at most m / min_steps_per_epoch, rounded down, for an epoch of m
      graphs a rank; so there are at least so many batches. Fewer graphs are a `UsageError`.
    - `drop_last`: leaves the last batch out where it has fewer than `batch_size` graphs.
    - `seed`: a whole number, 0 or more, below 2^64.
    - `rank`, `num_replicas`: which of how many processes this is; by default as torch.distributed says when an epoch
      begins, and 0 of 1 without it. As in `DistributedSampler` each gets every num_replicas-th graph of the same
      order, which begins again where it does not divide, or with `drop_last` ends sooner. All have the same number
      of batches: where limits give a rank fewer, its first come again, or with `drop_last` the others leave out theirs.
    - `pin_memory`: batches lie in pinned memory, where there is CUDA; elsewhere a warning, as in torch.
    - `prefetch_factor`: the most batches that are made ahead, together at most 16 MiB or one batch; 0: no thread.

    Memory: tensors of batches stand in the ledger under the tag `blocks` until they are freed, as do batches made
    ahead. A refusal ends making ahead until the next batch is delivered. A batch that the ledger refuses when it is
    asked for is `BudgetExceeded` at once, whose text says how many bytes delivered batches hold; `next` may be called
    again for the same batch. `live_bytes` is that number.

    Each `iter(loader)` is an epoch: 0, 1, ... in the order in which their first batches are asked for; `set_epoch` names
    another for the next to begin. Epochs of one loader that run at the same time are independent, and `state_dict` is
    about the one begun last. One thread at a time may ask an epoch for batches. A loader can be pickled: the copy opens
    the data set by its path and begins with the coming epoch. A child of `fork()` goes on with a thread of its own.

    Errors: `UsageError` for arguments, and a closed data set; `InputError` for a damaged one, when the graph comes;
    `MissingPackage` without torch or PyTorch Geometric, when an epoch begins.
    """

    def __init__(
        self,
        dataset: Graphs,
        batch_size: int | None = 1,
        shuffle: bool = False,
        follow_batch: Iterable[str] | None = None,
        exclude_keys: Iterable[str] | None = None,
        *,
        max_nodes: int | None = None,
        max_edges: int | None = None,
        max_bytes: int | str | None = None,
        skip_too_big: bool = False,
        min_steps_per_epoch: int = 0,
        drop_last: bool = False,
        seed: int = 0,
        rank: int | None = None,
        num_replicas: int | None = None,
        pin_memory: bool = False,
        prefetch_factor: int = 2,
    ) -> None:
        if not isinstance(dataset, Graphs):
            raise UsageError(
                f"dataset: is {type(dataset).__name__}, expected a plimsoll.GraphSet or Graphs of one; "
                "plimsoll.from_pyg(dataset, path) makes one"
            )
        if batch_size is None and max_nodes is None and max_edges is None and max_bytes is None:
            raise UsageError("batch_size=None: expected a number, or one of max_nodes, max_edges and max_bytes")
        both = rank is not None and num_replicas is not None and 0 <= rank < num_replicas
        if not (both or rank is num_replicas is None):
            raise UsageError(
                f"rank={rank}, num_replicas={num_replicas}: expected both, 0 <= rank < num_replicas, or neither"
            )
        self.dataset = dataset
        self.follow_batch = texts("follow_batch", follow_batch or [])
        self.exclude_keys = texts("exclude_keys", exclude_keys or [])
        self.pin_memory = pin_memory
        self.prefetch_factor = whole("prefetch_factor", prefetch_factor, 0)
        self._options: dict[str, Any] = {
            "batch_size": _limit("batch_size", batch_size),
            "shuffle": bool(shuffle),
            "max_nodes": _limit("max_nodes", max_nodes),
            "max_edges": _limit("max_edges", max_edges),
            "max_bytes": None if max_bytes is None else _core.parse_size(str(max_bytes)),
            "skip_too_big": bool(skip_too_big),
            "min_steps_per_epoch": whole("min_steps_per_epoch", min_steps_per_epoch, 0),
            "drop_last": bool(drop_last),
            "seed": whole("seed", seed, 0, 2**64 - 1),
        }
        self._rank, self._num_replicas = rank, num_replicas
        self._coming = _Position(0, 0)
        self._running: _Progress | None = None
        self._native: tuple[int, _core.Batches] | None = None
        self._steps: tuple[tuple[int, int, int], int] | None = None
        self._batches()

    @property
    def batch_size(self) -> int | None:
        size: int | None = self._options["batch_size"]
        return size

    @property
    def drop_last(self) -> bool:
        return bool(self._options["drop_last"])

    @property
    def live_bytes(self) -> int:
        """What delivered batches hold that have not been freed, in bytes, as entered in the ledger."""
        return 0 if self._native is None or self._native[0] != os.getpid() else self._native[1].live_bytes

    def set_epoch(self, epoch: int) -> None:
        """Names the epoch that begins next, with its first batch."""
        self._coming = _Position(whole("epoch", epoch, 0, _MAX_EPOCH), 0)
        self._running = None

    def __iter__(self) -> Iterator[Batch]:
        try:
            import plimsoll._batch  # noqa: F401
        except ImportError as error:
            raise MissingPackage(f"DataLoader: {error}; install both: pip install torch torch_geometric") from error
        return _Epoch(self)

    def __len__(self) -> int:
        """How many batches the coming epoch has."""
        coming = (self._coming.epoch, *self._share())
        if self._steps is None or self._steps[0] != coming:
            self._steps = coming, self._batches().steps(*coming)
        return self._steps[1]

    def state_dict(self) -> dict[str, Any]:
        """Where the epoch begun last stands: plain numbers and texts, for `load_state_dict`.

        `epoch`, `position` (batches delivered of it), `num_replicas`, `options` and `data`, which tells data sets
        and graphs chosen of them apart. After its last batch an epoch is over: the state is the begin of the next.
        It is the same on all ranks.
        """
        epoch, position, ranks = self._coming if self._running is None else self._running.position()
        return {
            "epoch": epoch,
            "position": position,
            "num_replicas": ranks,
            "options": dict(self._options),
            "data": _core.identity(self.dataset.graph_set._mapping, self._indices()),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Lets the next epoch go on behind the last batch that was delivered when `state` was taken.

        Errors: `UsageError` for the state of other data, other options or, when the epoch begins, another
        `num_replicas`.
        """
        try:
            epoch, position, ranks = state["epoch"], state["position"], state["num_replicas"]
            options, data = state["options"], state["data"]
        except (KeyError, TypeError):
            raise UsageError("load_state_dict: expected what DataLoader.state_dict() gave") from None
        for name, value in self._options.items():
            if options.get(name) != value:
                raise UsageError(
                    f"load_state_dict: the state is of a loader with {name}={options.get(name)!r}, and this one has "
                    f"{value!r}; give both the same"
                )
        if data != _core.identity(self.dataset.graph_set._mapping, self._indices()):
            raise UsageError("load_state_dict: the state is of other data; open the data set that it was taken of")
        self.set_epoch(epoch)
        self._coming = _Position(epoch, whole("position", position, 0), ranks)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_native": None, "_running": None, "_steps": None}

    def _indices(self) -> NDArray[np.int64]:
        indices = self.dataset.indices
        if isinstance(indices, range):
            return np.arange(indices.start, indices.stop, indices.step, dtype=np.int64)
        return np.asarray(indices, dtype=np.int64)

    def _batches(self) -> _core.Batches:
        # A child of fork() makes its own: a lock of its parent's may be held by a thread that the child has not.
        mapping = self.dataset.graph_set._mapping
        if self._native is None or self._native[0] != os.getpid() or mapping.closed():
            batching = _core.Batching()
            options = self._options
            batching.graphs, batching.nodes, batching.edges, batching.bytes = (
                _NO_LIMIT if options[name] is None else options[name]
                for name in ("batch_size", "max_nodes", "max_edges", "max_bytes")
            )
            batching.skip_too_big, batching.shuffle = options["skip_too_big"], options["shuffle"]
            batching.drop_last, batching.min_steps = options["drop_last"], options["min_steps_per_epoch"]
            batching.seed = options["seed"]
            self._native = os.getpid(), _core.Batches(mapping, self._indices(), self.exclude_keys, batching)
        return self._native[1]

    def _share(self) -> tuple[int, int]:
        if self._num_replicas is not None:
            return self._rank or 0, self._num_replicas
        distributed = sys.modules.get("torch.distributed")
        if distributed is None or not distributed.is_available() or not distributed.is_initialized():
            return 0, 1
        return distributed.get_rank(), distributed.get_world_size()

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value or name == "seed")
        return f"DataLoader({self.dataset!r}, {given})"


class _Position(NamedTuple):
    epoch: int
    first: int  # batches of it that were delivered
    ranks: int | None = None  # of which this is the position; None: any number


@dataclass
class _Progress:
    """Of an epoch that has begun."""

    epoch: int
    delivered: int
    steps: int
    ranks: int

    def position(self) -> _Position:
        if self.delivered == self.steps:
            return _Position(self.epoch + 1, 0, self.ranks)
        return _Position(self.epoch, self.delivered, self.ranks)


class _Epoch(Iterator["Batch"]):
    """One epoch of a loader, which begins when its first batch is asked for."""

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._pin = loader.pin_memory and _can_pin()
        self._has_x = loader.dataset.graph_set.num_node_features > 0
        self._progress: _Progress | None = None
        self._stream: _core.BatchStream | None = None
        self._process = 0

    def __next__(self) -> Batch:
        from plimsoll._batch import to_batch

        progress = self._progress or self._begin()
        if progress.delivered == progress.steps:
            raise StopIteration
        if self._process != os.getpid():
            # A child of fork() has not the thread of its parent's stream.
            self._open(progress.epoch, progress.delivered)
        assert self._stream is not None
        tensors = self._stream.next(self._batches)
        progress.delivered += 1
        if progress.delivered == progress.steps:
            self._stream = None  # ends its thread
        loader = self._loader
        batch = to_batch(tensors, self._has_x, loader.follow_batch, loader.exclude_keys)
        return batch.pin_memory() if self._pin else batch

    def _begin(self) -> _Progress:
        loader = self._loader
        self._share = loader._share()
        epoch, first, ranks = loader._coming
        if ranks not in (None, self._share[1]):
            raise UsageError(f"load_state_dict: the state is of {ranks} ranks, and there are {self._share[1]}")
        steps = self._open(epoch, first)
        if first > steps:
            raise UsageError(f"load_state_dict: the state is behind batch {first}, and the epoch has {steps}")
        loader._coming = _Position(epoch + 1, 0)
        loader._running = self._progress = _Progress(epoch, first, steps, self._share[1])
        return self._progress

    def _open(self, epoch: int, first: int) -> int:
        loader = self._loader
        self._process = os.getpid()
        self._batches = loader._batches()
        self._stream = self._batches.stream(epoch, *self._share, first, loader.prefetch_factor)
        return self._stream.size


def _limit(name: str, value: int | None) -> int | None:
    return None if value is None else whole(name, value, 1)


def _can_pin() -> bool:
    import torch

    if not torch.cuda.is_available():
        warnings.warn("pin_memory=True, but there is no CUDA: batches are not pinned", stacklevel=3)
        return False
    return True
