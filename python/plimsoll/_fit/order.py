"""The order in which the graphs of a run are trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.errors import UsageError
from plimsoll.loaders.drawn_order import DrawnOrder, require_sampler


class Order:
    """The graphs of each epoch: all of them, shuffled by (seed, epoch) or not, or the graphs that a sampler draws.

    A sampler is iterated over once per epoch, when the epoch is planned. Its indices are kept, 8 bytes each.
    """

    def __init__(self, graphs: int, seed: int, shuffle: bool, sampler: Iterable[int] | None) -> None:
        if sampler is not None:
            require_sampler("sampler", sampler, {})
        self._graphs, self._seed, self._shuffle = graphs, seed, shuffle
        self._sampler = None if sampler is None else DrawnOrder(sampler, graphs, seed)
        self._drawn: dict[int, NDArray[np.int64]] = {}

    @property
    def repeats(self) -> bool:
        """Whether a graph may occur more than once in an epoch."""
        return self._sampler is not None

    def length(self, epoch: int) -> int:
        """Returns the number of graphs of an epoch. Errors: as `of`."""
        return self._graphs if self._sampler is None else len(self.of(epoch))

    def of(self, epoch: int) -> NDArray[np.int64]:
        """Returns the indices of the graphs of an epoch, i64 [n]. Errors: `UsageError` if a sampler draws invalid
        indices.
        """
        if self._sampler is None:
            return _core.shuffled(self._graphs, self._seed, epoch) if self._shuffle else np.arange(self._graphs)
        if epoch not in self._drawn:
            self._drawn[epoch] = self._sampler.numbers(epoch)
            if not len(self._drawn[epoch]):
                raise UsageError(f"sampler: returned no graphs in epoch {epoch}; expected at least one")
        return self._drawn[epoch]


def rewinder(sampler: object) -> Callable[[], None]:
    """Returns a function that restores a sampler's own generator, so that the same numbers are drawn again.

    A call that is refused then leaves the sampler as it was, and the budget that the refusal names is one for the
    graphs that the next call draws.
    """
    generator = getattr(sampler, "generator", None)
    if not isinstance(generator, torch.Generator):
        return lambda: None
    state = generator.get_state()

    def rewind() -> None:
        generator.set_state(state)

    return rewind
