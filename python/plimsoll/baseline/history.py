"""Columns that summarise the history of each seed of a task: the input of trees, in place of a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.typed_columns import EdgeType
from plimsoll.data.typed_graph import TypedGraph

DAY = 86_400 * 10**9
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class EdgeHistory:
    """The rows that one edge type links to the nodes of an entity type, each node's in the order of time.

    It holds 16 bytes per edge, and 16 more per edge for each numeric column of the linked rows.
    """

    def __init__(self, graph: TypedGraph, edges: EdgeType, hidden: set[str]) -> None:
        rows = graph[edges.name[0]]
        self._ptr = np.asarray(edges.indptr, np.int64)
        self._sources = np.asarray(edges.indices, np.int64)
        time = edges.time
        assert time is not None
        self._time = time
        names = [name for name in rows.x_names if name not in hidden and rows.meaning(name) != "vector"]
        self._sums = [_sums(rows[name], rows.valid(name), self._sources) for name in names]
        self._parents = [_parents(graph[name], rows.num_nodes) for name in graph.edge_types
                         if name[0] == edges.name[0] and name[2] != edges.name[2] and name[1].startswith("f2p_")]

    def columns(self, nodes: Ints, ends: Ints, days: list[int]) -> list[Floats]:
        """Returns columns [seeds] of histories that end at the times `ends`: for each number of `days`, the number of rows
        in these last days and the means of their columns; the same for all rows; the days since the latest row and the
        first; and the parents of the latest row, as categories.
        """
        first, last = self._ptr[nodes], self._before(nodes, ends)
        columns = []
        for length in [*days, None]:
            begin = first if length is None else self._before(nodes, ends - length * DAY)
            columns.append((last - begin).astype(np.float32))
            columns.extend(_means(sums, begin, last) for sums in self._sums)
        has_rows = last > first
        for edge in (last - 1, first):
            at = self._time[np.where(has_rows, edge, 0)] if len(self._time) else ends
            columns.append(np.where(has_rows, (ends - at) / DAY, np.nan).astype(np.float32))
        latest = self._sources[np.where(has_rows, last - 1, 0)] if len(self._sources) else np.zeros_like(nodes)
        columns.extend(np.where(has_rows, parents[latest] if len(parents) else -1, -1).astype(np.float32) for parents in self._parents)
        return columns

    def _before(self, nodes: Ints, ends: Ints) -> Ints:
        """Returns the end of the part of each node's list that is not later than its time in `ends`, by binary searches in step."""
        low, high = self._ptr[nodes].copy(), self._ptr[nodes + 1].copy()
        while (open_ := low < high).any():
            middle = (low + high) // 2
            known = open_ & (self._time[np.where(open_, middle, 0)] <= ends)
            low = np.where(known, middle + 1, low)
            high = np.where(open_ & ~known, middle, high)
        return low


def _sums(values: NDArray[np.generic], valid: NDArray[np.bool_], sources: Ints) -> tuple[NDArray[np.float64], Ints]:
    """Returns prefix sums and prefix counts of the known values of the edges, [E + 1] each."""
    numbers = np.asarray(values, np.float64)[sources]
    known = valid[sources] & np.isfinite(numbers)
    return np.concatenate([[0], np.cumsum(np.where(known, numbers, 0))]), np.concatenate([[0], np.cumsum(known)])


def _means(sums: tuple[NDArray[np.float64], Ints], begin: Ints, end: Ints) -> Floats:
    total, count = sums[0][end] - sums[0][begin], sums[1][end] - sums[1][begin]
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)


def _parents(edges: EdgeType, rows: int) -> Ints:
    """Returns the row to which the foreign key of each row refers; -1 without one."""
    sources, targets = edges.edge_index
    parents = np.full(rows, -1, np.int64)
    parents[sources] = targets
    return parents


def histories(graph: TypedGraph, entity: str, hidden: set[tuple[str, str]]) -> list[EdgeHistory]:
    """Returns the histories of an entity type: one for each edge type with times that leads into it."""
    found = []
    for name in graph.edge_types:
        edges = graph[name]
        if name[2] == entity and edges.time_end == "source" and edges.time is not None:
            found.append(EdgeHistory(graph, edges, {column for table, column in hidden if table == name[0]}))
    return found


def own_columns(graph: TypedGraph, entity: str, nodes: Ints, hidden: set[tuple[str, str]]) -> list[Floats]:
    """Returns the numbers, booleans and codes of categories of the seeds' own nodes, columns [seeds]; NaN if missing."""
    rows = graph[entity]
    columns = []
    for name in rows.columns:
        if (entity, name) in hidden or rows.meaning(name) not in ("number", "boolean", "category"):
            continue
        values = np.asarray(rows[name], np.float32)[nodes]
        columns.append(np.where(rows.valid(name)[nodes], values, np.nan).astype(np.float32))
    return columns
