"""A `Graph` as PyTorch Geometric's remote backends: what its loaders take in place of `Data`. `Graph.stores` makes both."""

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
    """`x` f32 [V, F] and `y` i64 [V] of a graph, those that it has, over the mapped files.

    All rows are a tensor without copies, as `Graph.tensor` gives it, but for features that are stored narrow; some, by a tensor, slice or
    number, are copies. PyTorch Geometric fetches no features of edges here: `Graph.add_edge_columns` does. It can be pickled, by the path
    of the graph. Errors: `UsageError` for what would write to it; `KeyError` for a name that it does not have, `IndexError` for a node.
    """

    def __init__(self, graph: GraphColumns) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph
        names = [name for name, present in (("x", graph.num_node_features), ("y", graph.y is not None)) if present]
        self.__dict__["_columns"] = {name: graph.tensor(name) for name in names}
        self.__dict__["_scale"] = graph.tensor("x_scale") if graph.has_column("x_scale") else None

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
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
        rows = rows.to(torch.float32)  # exact, and a copy only where features are stored narrow
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
    """The edges of a graph: one type, None, in the layout in which they lie, csc with `direction` in and csr with out.

    `indptr` comes without copies. PyTorch Geometric wants neighbours as i64, which takes 8 bytes an edge of memory where
    `indices` is u32; they are kept for the next time. Its loaders sort edges of csr, for more. It can be pickled, by the
    path of the graph. Errors: `UsageError` for what would write to it; `KeyError` for another type or layout.
    """

    def __init__(self, graph: GraphColumns) -> None:
        super().__init__()
        self.__dict__["_graph"] = graph
        self.__dict__["_edges"] = None

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
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
    """What `Graph.add_edge_columns` says."""
    if batch.get("e_id") is None:
        raise UsageError("the batch has no e_id: a sampler of subgraph_type directional or induced gives it")
    edges = batch.e_id
    if graph.edge_id is not None:
        edges = _places(graph)[edges]
    return add_edge_columns(graph, batch, edges)


def _places(graph: GraphColumns) -> Tensor:
    """Where in `indices` the edge of each number is. Memory of torch, so that it is in the ledger, until the graph is closed."""
    if "places of edges" not in graph._columns:
        graph._columns["places of edges"] = places_of(graph.tensor("edge_id")).numpy()
    return torch.from_numpy(graph._columns["places of edges"])


def add_edge_columns(graph: GraphColumns, batch: Data, places: Tensor) -> Data:
    """Rows of the columns of edges, by places in `indices`."""
    for name in ("edge_attr", "edge_weight"):
        if getattr(graph, name) is not None:
            batch[name] = graph.tensor(name).index_select(0, places)
    return batch


def _read_only(graph: GraphColumns) -> UsageError:
    return UsageError(f"{graph.path}: a data set is not written to; plimsoll.ingest.graph makes another")
