"""A `Graph` as PyTorch Geometric's remote backends, which its loaders accept in place of `Data`. `Graph.stores` makes
both.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, EdgeAttr, TensorAttr
from torch_geometric.data import FeatureStore as PygFeatureStore
from torch_geometric.data import GraphStore as PygGraphStore

from plimsoll.data.graph_columns import GraphColumns
from plimsoll.data.to_pyg import places_of
from plimsoll.errors import UsageError


class FeatureStore(PygFeatureStore):  # type: ignore[misc]
    """`x` f32 [V, F] and `y` i64 [V] of a graph, if it has them, over the mapped files.

    All rows together are a tensor without copies, as from `Graph.tensor`, unless features are stored in a narrower
    type. Some rows, selected by a tensor, slice or number, are copies. PyTorch Geometric fetches no edge features
    from a store; use `Graph.add_edge_columns`. Can be pickled, as the path of the graph.

    Errors: `UsageError` on writing; `KeyError` for an unknown name; `IndexError` for a node that does not exist.
    """

    def __init__(self, graph: GraphColumns) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph
        names = [name for name, present in (("x", graph.num_node_features), ("y", graph.y is not None)) if present]
        self.__dict__["_columns"] = {name: graph.tensor(name) for name in names}
        self.__dict__["_scale"] = graph.tensor("x_scale") if graph.has_column("x_scale") else None

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        """Returns the attributes of the store, for PyTorch Geometric."""
        return [TensorAttr(group_name=None, attr_name=name) for name in self._columns]

    def _column(self, attr: TensorAttr) -> Tensor:
        column: Tensor | None = self._columns.get(attr.attr_name)
        if column is None or attr.group_name is not None:
            raise KeyError(f"{attr.group_name!r}, {attr.attr_name!r}: expected None and one of {', '.join(self._columns)}")
        return column

    def _get_tensor(self, attr: TensorAttr) -> Tensor:
        column, index = self._column(attr), attr.index
        if index is None or isinstance(index, slice) and index == slice(None):
            rows = column
        elif isinstance(index, Tensor) and index.dtype != torch.bool:
            rows = column.index_select(0, index.to(torch.int64))
        else:
            rows = column[index].clone()
        if attr.attr_name != "x":
            return rows
        rows = rows.to(torch.float32)  # Exact, and a copy only if features are stored in a narrower type.
        return rows if self._scale is None else rows * self._scale

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...]:
        return tuple((self._column(attr) if attr.index is None else self._get_tensor(attr)).shape)

    def _put_tensor(self, tensor: Any, attr: TensorAttr) -> bool:
        raise _read_only(self._graph)

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise _read_only(self._graph)

    def __reduce__(self) -> tuple[Any, ...]:
        return FeatureStore, (self._graph,)


class GraphStore(PygGraphStore):  # type: ignore[misc]
    """The edges of a graph: one edge type, None, in their stored layout, csc with `direction` "in" and csr with "out".

    `indptr` is not copied. PyTorch Geometric needs neighbours as i64; if `indices` is u32, they need 8 bytes of memory
    per edge and are kept for the next call. Its loaders sort csr edges, which needs more. Can be pickled, as the path
    of the graph.

    Errors: `UsageError` on writing; `KeyError` for another type or layout.
    """

    def __init__(self, graph: GraphColumns) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph
        self.__dict__["_edges"] = None

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        """Returns the attributes of the one edge type, for PyTorch Geometric."""
        nodes, layout = self._graph.num_nodes, "csc" if self._graph.direction == "in" else "csr"
        return [EdgeAttr(edge_type=None, layout=layout, is_sorted=layout == "csc", size=(nodes, nodes))]

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[Tensor, Tensor] | None:
        (present,) = self.get_all_edge_attrs()
        if edge_attr.edge_type is not None or edge_attr.layout != present.layout:
            return None
        if self._edges is None:
            self.__dict__["_edges"] = self._graph.tensor("indptr"), self._graph.tensor("indices").to(torch.int64)
        pointers, neighbours = self._edges
        return (neighbours, pointers) if self._graph.direction == "in" else (pointers, neighbours)

    def _put_edge_index(self, edge_index: Any, edge_attr: EdgeAttr) -> bool:
        raise _read_only(self._graph)

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise _read_only(self._graph)

    def __reduce__(self) -> tuple[Any, ...]:
        return GraphStore, (self._graph,)


def edge_columns_of(graph: GraphColumns, batch: Data) -> Data:
    """Adds edge columns to a batch; see `Graph.add_edge_columns`."""
    if batch.get("e_id") is None:
        raise UsageError("the batch has no e_id; use a sampler with subgraph_type directional or induced")
    edges = batch.e_id
    if graph.edge_id is not None:
        edges = _places(graph)[edges]
    return add_edge_columns(graph, batch, edges)


def _places(graph: GraphColumns) -> Tensor:
    """Returns the position in `indices` of the edge with each number.

    The ledger counts this tensor. It is kept until the graph is closed.
    """
    if "places of edges" not in graph._columns:
        graph._columns["places of edges"] = places_of(graph.tensor("edge_id")).numpy()
    return torch.from_numpy(graph._columns["places of edges"])


def add_edge_columns(graph: GraphColumns, batch: Data, places: Tensor) -> Data:
    """Adds the rows of the edge columns at these positions in `indices` to the batch, and returns it."""
    for name in ("edge_attr", "edge_weight"):
        if getattr(graph, name) is not None:
            batch[name] = graph.tensor(name).index_select(0, places)
    return batch


def _read_only(graph: GraphColumns) -> UsageError:
    return UsageError(f"{graph.path}: a data set is read-only; make another with plimsoll.ingest.graph")
