"""Batches around seeds that repeat, or whose order a sampler determines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.loaders.list_batches import ListBatches, ListStream

Sample = Callable[[NDArray[np.int64], int], tuple[dict[str, Any], _core.Neighbours]]


class SeedBatches(ListBatches):
    """The counterpart of `_core.Neighbours` for seeds that repeat and for the order of a sampler.

    `sample` makes the batch of some seeds, by number, in an epoch, in the caller's thread.
    """

    def __init__(self, count: int, options: dict[str, Any], sampler: Iterable[int] | None, sample: Sample) -> None:
        super().__init__(range(count), options, list, {}, sampler)
        self._sample = sample
        self._delivered: list[_core.Neighbours] = []  # objects that made batches which may not be freed yet

    @property
    def live_bytes(self) -> int:
        return sum(made.live_bytes for made in self._delivered)

    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> ListStream:
        def batch(numbers: list[int]) -> dict[str, Any]:
            tensors, made = self._sample(np.array(numbers, np.int64), epoch)
            self._delivered = [*(native for native in self._delivered if native.live_bytes), made]
            return tensors

        return ListStream(lambda batches: map(batch, batches), self._batches(epoch, rank, ranks), first)
