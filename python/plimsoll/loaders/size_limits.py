"""Batches of graphs that end before they would exceed a number of nodes or edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.sizes import sizes_of
from plimsoll.errors import UsageError

_NO_LIMIT = 2**62


class SizeLimits:
    """Limits on nodes and edges, and the counts of every graph of a data set, which is read once.

    `items` i64 [n] are the graphs that fit in a batch. Errors: `UsageError` for a graph that does not fit, unless
    `skip_too_big`.
    """

    def __init__(self, dataset: Sequence[Any], max_nodes: int | None, max_edges: int | None, skip_too_big: bool) -> None:
        self._limits = np.array([_NO_LIMIT if limit is None else limit for limit in (max_nodes, max_edges)])
        self._sizes = sizes_of(dataset)[:, 1:3]
        fits = (self._sizes <= self._limits).all(axis=1)
        if not skip_too_big and not fits.all():
            self._refuse(int(np.flatnonzero(~fits)[0]))
        self.items = np.flatnonzero(fits)

    def cut(self, items: NDArray[np.int64], max_graphs: int) -> list[list[int]]:
        """Divides these graphs into batches, in their order."""
        batches: list[list[int]] = []
        held = np.zeros(2, np.int64)
        for item in items.tolist():
            counts = self._sizes[item]
            if not batches or len(batches[-1]) == max_graphs or (held + counts > self._limits).any():
                batches.append([])
                held = np.zeros(2, np.int64)
            batches[-1].append(item)
            held = held + counts
        return batches

    def _refuse(self, graph: int) -> None:
        counts = self._sizes[graph]
        column = int(np.flatnonzero(counts > self._limits)[0])
        name = ("nodes", "edges")[column]
        raise UsageError(
            f"graph {graph}: has {counts[column]} {name}, but max_{name}={self._limits[column]}; give a larger limit, or "
            "skip_too_big=True to leave it out"
        )
