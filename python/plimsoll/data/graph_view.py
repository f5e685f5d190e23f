"""One of many small graphs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GraphView:
    """One graph of n nodes and e edges, as read-only views of the columns of a data set.

    Two are equal where all their columns are; NaN is equal to NaN. There is no hash of them.
    """

    x: NDArray[np.float32]  #: [n, F]
    edge_index: NDArray[np.int32]  #: [2, e]: sources and targets, counted within the graph
    edge_attr: NDArray[np.float32]  #: [e, K]
    y: int  #: class of the graph
    node_y: NDArray[np.int64] | None  #: [n] class of each node, -1 where it is unlabelled; None: no such column
    target: NDArray[np.float32] | None = None  #: [T] numbers to be predicted, NaN where unknown; likewise
    node_target: NDArray[np.float32] | None = None  #: [n, T] of each node; likewise
    pos: NDArray[np.float32] | None = None  #: [n, 3] coordinates of each node; likewise

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphView):
            return NotImplemented
        return all(_are_equal(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    def __repr__(self) -> str:
        columns = {name: getattr(self, name) for name in ("x", "edge_index", "edge_attr", "target", "node_y", "node_target", "pos")}
        shapes = [f"{name}={list(column.shape)}" for name, column in columns.items() if column is not None]
        return f"GraphView({', '.join(shapes)}, y={self.y})"

    @property
    def num_nodes(self) -> int:
        return len(self.x)

    @property
    def num_edges(self) -> int:
        return int(self.edge_index.shape[1])


def _are_equal(value: Any, other: Any) -> bool:
    if not isinstance(value, np.ndarray):
        return bool(value is other or value == other)
    return isinstance(other, np.ndarray) and np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
