"""Batches of any sequence, such as a list of `Data`: torch's `DataLoader` fetches them, in the order of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.errors import UsageError

_OF_TORCH = ("multiprocessing_context", "num_workers", "timeout", "worker_init_fn")


class ListStream:
    """The batches of an epoch that are left, from number `coming` on. Where memory is refused the same batch comes next;
    after another error, as in torch, the one after it."""

    def __init__(self, load: Callable[[list[list[int]]], Iterable[Any]], batches: list[list[int]], first: int) -> None:
        self.size = len(batches)
        self._load, self._batches, self.coming = load, batches, first
        self._loading: Iterator[Any] | None = None

    def next(self) -> Any:
        if self._loading is None:
            self._loading = iter(self._load(self._batches[self.coming :]))
        self.coming += 1
        try:
            return next(self._loading)
        except MemoryError:
            self.coming -= 1
            self._loading = None  # torch's iterator is past the batch that failed
            raise


class ListBatches:
    """What `_core.Batches` is for graphs of a `graph_set`, for any sequence.

    `limits` are the most nodes and edges of a batch, by `sizes` i64 [n, 2] of the items; None: there are none. Items are
    put together by `collate`, in worker processes if `processes` have some. Not in the ledger.
    """

    live_bytes = 0

    def __init__(
        self,
        dataset: Sequence[Any],
        options: dict[str, Any],
        collate: Callable[[list[Any]], Any],
        processes: dict[str, Any],
    ) -> None:
        self._dataset, self._options, self._collate = dataset, options, collate
        self._processes = {name: processes[name] for name in _OF_TORCH if name in processes}
        self._limits = [options.get("max_nodes"), options.get("max_edges")]
        self._sizes: NDArray[np.int64] | None = None
        self._items = np.arange(len(dataset))
        if any(limit is not None for limit in self._limits):
            self._sizes = self._measured()

    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> ListStream:
        import torch.utils.data

        workers = dict(self._processes)
        if workers.get("num_workers"):
            workers["prefetch_factor"] = max(ahead, 1)

        def load(batches: list[list[int]]) -> Iterable[Any]:
            left: Iterable[Any] = torch.utils.data.DataLoader(
                self._dataset, batch_sampler=batches, collate_fn=self._collate, **workers
            )
            return left

        return ListStream(load, self._batches(epoch, rank, ranks), first)

    def steps(self, epoch: int, rank: int, ranks: int) -> int:
        return len(self._batches(epoch, rank, ranks))

    def next(self, stream: ListStream, numpy: bool = False) -> Any:
        return stream.next()

    def _batches(self, epoch: int, rank: int, ranks: int) -> list[list[int]]:
        options = self._options
        items = self._items
        if options["shuffle"]:
            items = items[_core.shuffled(len(items), options["seed"], epoch)]
        each = len(items) // ranks if options["drop_last"] else -(-len(items) // ranks)
        items = np.resize(items, each * ranks) if len(items) else items
        size = options["batch_size"] or len(items) or 1
        if least := options.get("min_steps_per_epoch", 0):
            if each < least:
                raise UsageError(f"min_steps_per_epoch={least}: an epoch has {each} graphs a rank; expected as many at least")
            size = min(size, each // least)
        if self._sizes is None:
            return self._cut(items[rank::ranks], size)
        cut = [self._cut(items[other::ranks], size) for other in range(ranks)]
        steps = (min if options["drop_last"] else max)(map(len, cut))
        mine = cut[rank]
        return [mine[i % len(mine)] for i in range(steps)]

    def _cut(self, items: NDArray[np.int64], size: int) -> list[list[int]]:
        batches: list[list[int]] = []
        if self._sizes is None:
            batches = [items[first : first + size].tolist() for first in range(0, len(items), size)]
        else:
            held = np.zeros(2, np.int64)
            limits = np.array([2**62 if limit is None else limit for limit in self._limits])
            for item in items.tolist():
                counts = self._sizes[item]
                if not batches or len(batches[-1]) == size or (held + counts > limits).any():
                    batches.append([])
                    held = np.zeros(2, np.int64)
                batches[-1].append(item)
                held = held + counts
        if self._options["drop_last"] and self._options["batch_size"] and batches and len(batches[-1]) < size:
            batches.pop()
        return batches

    def _measured(self) -> NDArray[np.int64]:
        """Nodes and edges of each item; those that exceed a limit are left out, or refused."""
        from plimsoll.sizes import sizes_of

        sizes = sizes_of(self._dataset)[:, 1:3]
        for column, name, limit in zip(sizes.T, ("nodes", "edges"), self._limits):
            if limit is None:
                continue
            if not self._options["skip_too_big"] and len(wrong := np.flatnonzero(column > limit)):
                raise UsageError(
                    f"graph {wrong[0]}: has {column[wrong[0]]} {name}, max_{name}={limit}; give a larger limit, or "
                    "skip_too_big=True to leave it out"
                )
            self._items = self._items[column[self._items] <= limit]
        return sizes
