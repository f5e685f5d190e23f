"""The order of each epoch, as drawn by a sampler of torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.errors import UsageError


def require_sampler(name: str, sampler: Any, others: dict[str, bool]) -> None:
    """Checks that a value is a sampler, and that none of the options in `others` is given. Errors: `UsageError`."""
    if not isinstance(sampler, Iterable) or isinstance(sampler, str | bytes):
        raise UsageError(f"{name}={sampler!r}: expected a sampler of torch or PyTorch Geometric, or a list of numbers")
    if type(sampler).__name__ == "DistributedSampler":
        raise UsageError(f"{name}: is a DistributedSampler; leave it out, because ranks already share every epoch (rank, "
                         "num_replicas)")
    if given := [other for other, value in others.items() if value]:
        raise UsageError(f"{name}: determines the order and cannot be combined with {' and '.join(given)}; leave one of them out")


class DrawnOrder:
    """The numbers below `count` that `sampler` returns, or lists of these.

    While the sampler draws, torch's generator is seeded from (seed, epoch), so that an epoch can be repeated. A
    sampler with its own generator continues with that.
    """

    def __init__(self, sampler: Iterable[Any], count: int, seed: int) -> None:
        self._sampler, self._count, self._seed = sampler, count, seed
        self._drawn: tuple[int, list[Any]] | None = None  # the epoch drawn last

    def numbers(self, epoch: int) -> NDArray[np.int64]:
        """Returns the numbers of an epoch, i64 [n]. Errors: `UsageError`."""
        return self._checked("sampler", self._draw(epoch))

    def lists(self, epoch: int) -> list[list[int]]:
        """Returns the batches of an epoch, each as a list of numbers. Errors: `UsageError`."""
        return [self._checked("batch_sampler", list(batch)).tolist() for batch in self._draw(epoch)]

    def _draw(self, epoch: int) -> list[Any]:
        if self._drawn is None or self._drawn[0] != epoch:
            import torch

            seed = int(np.random.SeedSequence([self._seed, epoch]).generate_state(1, np.uint64)[0] >> 1)
            with torch.random.fork_rng(devices=[]):
                torch.default_generator.manual_seed(seed)
                self._drawn = epoch, list(self._sampler)
        return self._drawn[1]

    def _checked(self, name: str, given: list[Any]) -> NDArray[np.int64]:
        for number in given:
            if isinstance(number, bool) or not hasattr(number, "__index__") or not 0 <= int(number) < self._count:
                raise UsageError(f"{name}: returned {number!r}; expected whole numbers from 0 to {self._count - 1}")
        return np.array([int(number) for number in given], np.int64)
