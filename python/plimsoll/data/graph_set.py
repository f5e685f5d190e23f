"""Many small graphs (docs/formats/graph-set.md)."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plimsoll.data.data_set import DataSet
from plimsoll.data.graph_view import GraphView
from plimsoll.data.tables import Features, GraphRecording, Split
from plimsoll.errors import InputError, UsageError

if TYPE_CHECKING:
    from torch_geometric.data import Data


class Graphs(Sequence[GraphView]):
    """Some or all graphs of a `GraphSet`, in some order.

    `graphs[i]` is a `GraphView`. A slice, a list or array of numbers, or a mask selects several graphs, as `Graphs`,
    without copying them.
    """

    def __init__(self, graph_set: GraphSet, indices: Sequence[int]) -> None:
        self._graph_set = graph_set
        self._indices = indices

    @property
    def graph_set(self) -> GraphSet:
        """The data set of these graphs."""
        return self._graph_set

    @property
    def indices(self) -> Sequence[int]:
        """The number of each graph in the `graph_set`."""
        return self._indices

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, at: int) -> GraphView: ...
    @overload
    def __getitem__(self, at: slice | Iterable[int] | ArrayLike) -> Graphs: ...
    def __getitem__(self, at: Any) -> GraphView | Graphs:
        if _is_number(at):
            return self.get(at)
        return Graphs(self.graph_set, _selected(self._indices, at))

    def get(self, i: int) -> GraphView:
        """Returns graph `i`. Errors: `IndexError`; `InputError` if the data set is damaged."""
        return self.graph_set._view(self._number(i))

    def multi_get(self, indices: slice | Iterable[int] | ArrayLike) -> list[GraphView]:
        """Returns the graphs with these numbers, in this order."""
        return list(self[indices])

    def to_pyg(self, i: int) -> Data:
        """Returns graph `i` as `torch_geometric.data.Data`.

        `x` f32 [n, F] and `edge_attr` f32 [e, K] are left out if they have no columns. `edge_index` is i64 [2, e],
        `y` i64 [1], and `node_y` i64 [n] if the data set has it. If the data set has targets, `y` is f32 [1, T] for
        the graph and `node_y` f32 [n, T], without the last axis if T is 1. `pos` is f32 [n, 3] if the data set has
        it.

        All tensors are copies of a few KB: the mapping is read-only, and writing to a tensor over it would crash the
        process. Errors: `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import to_data

        return to_data(self.get(i))

    def __getitems__(self, indices: Sequence[int]) -> list[Data]:
        """Returns the graphs of a batch as `to_pyg` does. Loaders of torch and PyTorch Geometric call this method."""
        return [self.to_pyg(i) for i in indices]

    def _number(self, i: int) -> int:
        try:
            return self._indices[operator.index(i)]
        except IndexError:
            raise IndexError(f"graph {i} of {len(self)}") from None

    def __repr__(self) -> str:
        return f"Graphs({len(self)} of {self.graph_set!r})"


class GraphSet(DataSet, Graphs):
    """A `graph_set` data set: G graphs with N nodes and E edges in total, F node and K edge features.

    It is the sequence of its graphs, and has their concatenated columns.
    """

    _kind = "graph_set"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        DataSet.__init__(self, path)
        self._indices = range(len(self.y))

    @property
    def graph_set(self) -> GraphSet:
        """The data set itself."""
        return self

    @property
    def node_ptr(self) -> NDArray[np.int64]:
        """i64 [G+1]: graph g has the nodes node_ptr[g] .. node_ptr[g+1]-1."""
        return self._column("node_ptr")

    @property
    def edge_ptr(self) -> NDArray[np.int64]:
        """i64 [G+1]: graph g has the edges edge_ptr[g] .. edge_ptr[g+1]-1."""
        return self._column("edge_ptr")

    @property
    def x(self) -> NDArray[np.float32]:
        """f32 [N, F]: node features, named by `features.node`."""
        return self._column("x")

    @property
    def edges(self) -> NDArray[np.int32]:
        """i32 [E, 2]: source and target of each edge, numbered within its graph."""
        return self._column("edges")

    @property
    def edge_attr(self) -> NDArray[np.float32]:
        """f32 [E, K]: edge features, named by `features.edge`."""
        return self._column("edge_attr")

    @property
    def y(self) -> NDArray[np.int64]:
        """i64 [G]: class of each graph, -1 if it is unlabelled."""
        return self._column("y")

    @property
    def node_y(self) -> NDArray[np.int64] | None:
        """i64 [N]: class of each node, -1 if it is unlabelled; None if there is no such column."""
        return self._column("node_y") if self._mapping.has_column("node_y") else None

    @property
    def target(self) -> NDArray[np.float32] | None:
        """f32 [G, T]: regression targets of each graph, NaN if unknown; None if there is no such column."""
        return self._column("target") if self._mapping.has_column("target") else None

    @property
    def node_target(self) -> NDArray[np.float32] | None:
        """f32 [N, T]: regression targets of each node, NaN if unknown; None if there is no such column."""
        return self._column("node_target") if self._mapping.has_column("node_target") else None

    @property
    def pos(self) -> NDArray[np.float32] | None:
        """f32 [N, 3]: coordinates of each node; None if there is no such column."""
        return self._column("pos") if self._mapping.has_column("pos") else None

    @property
    def num_node_features(self) -> int:
        """F, the number of features per node."""
        return int(self.x.shape[1])

    @property
    def num_edge_features(self) -> int:
        """K, the number of features per edge."""
        return int(self.edge_attr.shape[1])

    @cached_property
    def splits(self) -> dict[str, Split]:
        """The splits by name, in the order of their graphs: `graphs[graphs.splits["train"].slice]`."""
        return {row["name"]: Split._of(row) for row in self.manifest["splits"]}

    @cached_property
    def recordings(self) -> tuple[GraphRecording, ...]:
        """The recordings that the graphs come from; empty if there are none."""
        return tuple(GraphRecording._of(row) for row in self.manifest["recordings"])

    @cached_property
    def features(self) -> Features:
        """The names of the node and edge features."""
        names = self.manifest["features"]
        return Features(tuple(names["node"]), tuple(names["edge"]))

    @cached_property
    def vocabulary(self) -> tuple[int, ...]:
        """The CAN ID of each index, ascending; empty if nodes are not CAN IDs.

        With merged channels (`channels`) the bits from 32 on hold the number of the channel.
        """
        return tuple(self.manifest["vocabulary"])

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """The names of the channels in `vocabulary`, by number; empty if each recording has one channel."""
        return tuple(self.manifest.get("channels", ()))

    def _view(self, g: int) -> GraphView:
        nodes, edges = self._range(self.node_ptr, g), self._range(self.edge_ptr, g)
        node_y, target, node_target, pos = self.node_y, self.target, self.node_target, self.pos
        return GraphView(
            _rows(self.x, nodes),
            self.edges[edges].T,
            _rows(self.edge_attr, edges),
            int(self.y[g]),
            None if node_y is None else node_y[nodes],
            None if target is None else target[g],
            None if node_target is None else node_target[nodes],
            None if pos is None else pos[nodes],
        )

    def _range(self, pointers: NDArray[np.int64], g: int) -> slice:
        first, last = int(pointers[g]), int(pointers[g + 1])
        if not 0 <= first <= last <= pointers[-1]:
            raise InputError(f"{self.path}: graph {g} is outside the columns; see plimsoll.verify()")
        return slice(first, last)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return DataSet.__reduce__(self)

    def _text(self) -> str:
        return (
            f"graphs={len(self)}, nodes={self.node_ptr[-1]}, edges={len(self.edges)}, "
            f"node_features={self.num_node_features}, edge_features={self.num_edge_features}"
        )

    def __repr__(self) -> str:
        return DataSet.__repr__(self)


def as_graphs(dataset: Any) -> Graphs | None:
    """Returns `Graphs`, or torch's `Subset` or `ConcatDataset` of them, as `Graphs`; None for anything else.

    Errors: `UsageError`.
    """
    if isinstance(dataset, Graphs):
        return dataset
    if type(dataset).__module__ == "torch.utils.data.dataset" and type(dataset).__name__ == "Subset":
        whole = as_graphs(dataset.dataset)
        return None if whole is None else whole[list(dataset.indices)]
    if type(dataset).__module__ == "torch.utils.data.dataset" and type(dataset).__name__ == "ConcatDataset":
        return _joined([as_graphs(part) for part in dataset.datasets])
    return None


def _joined(parts: list[Graphs | None]) -> Graphs | None:
    """Returns the parts one after the other. Errors: `UsageError` if they are from different data sets."""
    graphs = [part for part in parts if part is not None]
    if not graphs:
        return None
    whole = graphs[0].graph_set
    if len(graphs) < len(parts) or any(part.graph_set is not whole for part in graphs):
        raise UsageError(
            "dataset: is a ConcatDataset of graphs of several data sets, expected one plimsoll.GraphSet; write them to one "
            "with plimsoll.from_pyg, or give a list of their to_pyg(i)"
        )
    return Graphs(whole, [i for part in graphs for i in part.indices])


def _rows(column: NDArray[np.float32], rows: slice) -> NDArray[np.float32]:
    # A column without features has no rows in its file.
    return column[rows] if column.shape[1] else np.empty((rows.stop - rows.start, 0), column.dtype)


def _is_number(at: Any) -> bool:
    # A tensor or array of one element has __index__ too, but selects a list of one graph.
    return hasattr(at, "__index__") and getattr(at, "ndim", 0) == 0


def _selected(indices: Sequence[int], at: Any) -> Sequence[int]:
    if isinstance(at, slice):
        return indices[at]
    chosen = np.asarray(at if hasattr(at, "__array__") else list(at))
    if chosen.dtype == bool:
        if chosen.shape != (len(indices),):
            raise UsageError(f"a mask of shape {chosen.shape} for {len(indices)} graphs; expected one value per graph")
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise UsageError(f"{chosen.dtype} of shape {chosen.shape} for graphs; expected whole numbers or a mask")
    wrong = [int(i) for i in chosen if not -len(indices) <= i < len(indices)]
    if wrong:
        raise IndexError(f"graph {wrong[0]} of {len(indices)}")
    return [indices[int(i)] for i in chosen]
