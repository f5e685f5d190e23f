"""One of many small graphs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GraphView:
    """One graph of n nodes and e edges, as read-only views of the columns of a data set.

    Two views are equal if all their columns are equal; NaN equals NaN. Views cannot be hashed.
    """

    x: NDArray[np.float32]  #: [n, F], node features.
    edge_index: NDArray[np.int32]  #: [2, e], sources and targets, numbered within the graph.
    edge_attr: NDArray[np.float32]  #: [e, K], edge features.
    y: int  #: Class of the graph, -1 if unlabelled.
    node_y: NDArray[np.int64] | None  #: [n], class of each node, -1 if unlabelled; None without this column.
    target: NDArray[np.float32] | None = None  #: [T], regression targets, NaN if unknown; None without this column.
    node_target: NDArray[np.float32] | None = None  #: [n, T], targets of each node; None without this column.
    pos: NDArray[np.float32] | None = None  #: [n, 3], coordinates of each node; None without this column.

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
        """n, the number of nodes."""
        return len(self.x)

    @property
    def num_edges(self) -> int:
        """e, the number of edges."""
        return int(self.edge_index.shape[1])


def _are_equal(value: Any, other: Any) -> bool:
    if not isinstance(value, np.ndarray):
        return bool(value is other or value == other)
    return isinstance(other, np.ndarray) and np.array_equal(value, other, equal_nan=value.dtype.kind == "f")
