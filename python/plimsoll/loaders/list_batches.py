"""Batches of any sequence, such as a list of `Data`. torch's `DataLoader` fetches them, in Plimsoll's order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.errors import UsageError
from plimsoll.loaders.drawn_order import DrawnOrder

if TYPE_CHECKING:
    from plimsoll.loaders.size_limits import SizeLimits

_OF_TORCH = ("multiprocessing_context", "num_workers", "timeout", "worker_init_fn")


class ListStream:
    """The remaining batches of an epoch, from number `coming` on.

    If memory is refused, the same batch is returned next. After any other error, the following one is returned, as in
    torch.
    """

    def __init__(self, load: Callable[[list[list[int]]], Iterable[Any]], batches: list[list[int]], first: int) -> None:
        self.size = len(batches)
        self._load, self._batches, self.coming = load, batches, first
        self._loading: Iterator[Any] | None = None

    def next(self) -> Any:
        """Returns the next batch."""
        if self._loading is None:
            self._loading = iter(self._load(self._batches[self.coming :]))
        self.coming += 1
        try:
            return next(self._loading)
        except MemoryError:
            self.coming -= 1
            self._loading = None  # torch's iterator is past the batch that failed.
            raise


class ListBatches:
    """The counterpart of `_core.Batches` for any sequence. Not counted by the ledger.

    `options` may have max_nodes and max_edges, limits per batch. `collate` combines items into a batch, in worker
    processes if `processes` asks for some. `sampler` determines the order of the items, `batch_sampler` the items of
    whole batches.
    """

    def __init__(
        self,
        dataset: Sequence[Any],
        options: dict[str, Any],
        collate: Callable[[list[Any]], Any],
        processes: dict[str, Any],
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[Iterable[int]] | None = None,
    ) -> None:
        self._dataset, self._options, self._collate = dataset, options, collate
        self._sampler, self._batch_sampler = (
            None if given is None else DrawnOrder(given, len(dataset), options["seed"]) for given in (sampler, batch_sampler)
        )
        self._processes = {name: processes[name] for name in _OF_TORCH if name in processes}
        limits = options.get("max_nodes"), options.get("max_edges")
        self._limits: SizeLimits | None = None
        self._items = np.arange(len(dataset))
        if limits != (None, None):
            from plimsoll.loaders.size_limits import SizeLimits

            self._limits = SizeLimits(dataset, *limits, options["skip_too_big"])
            self._items = self._limits.items

    @property
    def live_bytes(self) -> int:
        """0: these batches are not counted."""
        return 0

    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> ListStream:
        """Returns the batches of an epoch for one rank, from batch `first` on."""
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
        """Returns the number of batches of an epoch for one rank."""
        return len(self._batches(epoch, rank, ranks))

    def next(self, stream: ListStream, numpy: bool = False) -> Any:
        """Returns the next batch of a stream."""
        return stream.next()

    def _batches(self, epoch: int, rank: int, ranks: int) -> list[list[int]]:
        options = self._options
        if self._batch_sampler is not None:
            batches = self._batch_sampler.lists(epoch)
            return [batches[i % len(batches)] for i in range(rank, -(-len(batches) // ranks) * ranks, ranks)]
        items = self._order(epoch)
        each = len(items) // ranks if options["drop_last"] else -(-len(items) // ranks)
        items = np.resize(items, each * ranks) if len(items) else items
        size = options["batch_size"] or len(items) or 1
        if min_steps := options.get("min_steps_per_epoch", 0):
            if each < min_steps:
                raise UsageError(f"min_steps_per_epoch={min_steps}: an epoch has {each} graphs per rank; expected at least as "
                                 "many graphs as steps")
            size = min(size, each // min_steps)
        if self._limits is None:
            return self._cut(items[rank::ranks], size)
        cut = [self._cut(items[other::ranks], size) for other in range(ranks)]
        steps = (min if options["drop_last"] else max)(map(len, cut))
        mine = cut[rank]
        return [mine[i % len(mine)] for i in range(steps)]

    def _order(self, epoch: int) -> NDArray[np.int64]:
        items = self._items
        if self._sampler is not None:
            drawn = self._sampler.numbers(epoch)
            return drawn[np.isin(drawn, items)]
        return items[_core.shuffled(len(items), self._options["seed"], epoch)] if self._options["shuffle"] else items

    def _cut(self, items: NDArray[np.int64], size: int) -> list[list[int]]:
        if self._limits is None:
            batches = [items[first : first + size].tolist() for first in range(0, len(items), size)]
        else:
            batches = self._limits.cut(items, size)
        if self._options["drop_last"] and self._options["batch_size"] and batches and len(batches[-1]) < size:
            batches.pop()
        return batches
