"""Conversions to PyTorch Geometric, used by `Graphs.to_pyg` and `Graph.to_pyg`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.graph_columns import SPLITS, GraphColumns
from plimsoll.data.graph_view import GraphView
from plimsoll.errors import BudgetExceeded, MissingPackage, UsageError

if TYPE_CHECKING:
    import torch
    from torch_geometric.data import Data, HeteroData

    from plimsoll.data.typed_columns import Columns, EdgeType, NodeType, Rows, TypedColumns


def require_pyg(what: str) -> None:
    """Checks that PyTorch Geometric can be imported. Errors: `MissingPackage` without it or torch."""
    try:
        import torch_geometric.data  # noqa: F401
    except ImportError as error:
        raise MissingPackage(f"{what}: {error}; install both: pip install torch torch_geometric") from error


def to_data(graph: GraphView) -> Data:
    """Converts one small graph; see `Graphs.to_pyg`."""
    require_pyg("to_pyg")
    import torch
    from torch_geometric.data import Data

    def copied(column: NDArray[Any]) -> torch.Tensor | None:
        return torch.from_numpy(column.copy()) if column.shape[1] else None

    def targets(rows: NDArray[np.float32]) -> torch.Tensor:
        return torch.from_numpy(rows.copy()).squeeze(-1) if rows.shape[-1] == 1 else torch.from_numpy(rows.copy())

    data = Data(
        x=copied(graph.x),
        edge_index=torch.from_numpy(np.ascontiguousarray(graph.edge_index, dtype=np.int64)),
        edge_attr=copied(graph.edge_attr),
        y=torch.tensor([graph.y]) if graph.target is None else targets(graph.target[np.newaxis]),
        pos=None if graph.pos is None else torch.from_numpy(graph.pos.copy()),
    )
    if data.x is None:
        data.num_nodes = graph.num_nodes
    if graph.node_target is not None:
        data.node_y = targets(graph.node_target)
    elif graph.node_y is not None:
        data.node_y = torch.from_numpy(graph.node_y.copy())
    return data


def to_giant_data(graph: GraphColumns) -> Data:
    """Converts one giant graph; see `Graph.to_pyg`."""
    require_pyg("to_pyg")
    import torch
    from torch_geometric.data import Data

    def column(name: str) -> torch.Tensor | None:
        return graph.tensor(name) if graph._mapping.has_column(name) else None

    def features() -> torch.Tensor | None:
        if graph.num_node_features == 0 or graph.features_dtype == "f32":
            return column("x")
        rows = torch.empty(graph.num_nodes, graph.num_node_features, dtype=torch.float32)  # The ledger counts it.
        graph._mapping.copy_x(0, rows.numpy())
        return rows

    _require_memory(graph)
    degrees = graph.tensor("indptr").diff()
    edge_index = torch.empty(2, graph.num_edges, dtype=torch.int64)
    neighbours, nodes = edge_index if graph.direction == "in" else reversed(edge_index.unbind())
    neighbours.copy_(graph.tensor("indices"))
    nodes.copy_(torch.repeat_interleave(degrees, output_size=graph.num_edges))
    edge_attr, edge_weight = column("edge_attr"), column("edge_weight")
    if (ids := column("edge_id")) is not None:
        place = places_of(ids)
        edge_index = edge_index[:, place]
        edge_attr, edge_weight = (None if rows is None else rows[place] for rows in (edge_attr, edge_weight))
    data = Data(x=features(), edge_index=edge_index, edge_attr=edge_attr, y=column("y"))
    if edge_weight is not None:
        data.edge_weight = edge_weight
    for name in (f"{split}_idx" for split in SPLITS):
        if graph._mapping.has_column(name):
            data[name] = column(name)
    if data.x is None:
        data.num_nodes = graph.num_nodes
    return data


def _require_memory(graph: GraphColumns) -> None:
    # edge_index, the node numbers of one end while it is made, and the copied columns.
    needed = 24 * graph.num_edges
    if graph._mapping.has_column("edge_id"):
        needed += 16 * graph.num_edges
    if graph.num_node_features and graph.features_dtype != "f32":
        needed += 4 * graph.num_nodes * graph.num_node_features
    if needed > (free := available_memory()):
        raise BudgetExceeded(
            f"to_pyg: a Data of {graph.num_nodes:,} nodes and {graph.num_edges:,} edges needs {needed:,} bytes, but "
            f"{free:,} are available; use plimsoll.NeighborLoader or Graph.stores(), which read the files"
        )


def _require_memory_of_types(graph: TypedColumns) -> None:
    # The copied columns, widened to at most 8 bytes, and for each edge its ends and its time.
    needed = 0
    for rows in (*(graph[name] for name in graph.node_types), *(graph[name] for name in graph.edge_types)):
        needed += sum(8 * rows[column].size for column in rows.columns)
    edges = sum(graph[name].num_edges for name in graph.edge_types)
    needed += 24 * edges
    if needed > (free := available_memory()):
        raise BudgetExceeded(
            f"to_pyg: a HeteroData of {edges:,} edges needs up to {needed:,} bytes, but {free:,} are available; use "
            "plimsoll.NeighborLoader, which reads the files"
        )


def available_memory() -> int:
    """Returns the bytes that the system can provide without swapping: Linux's MemAvailable."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, value = line.split(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return sys.maxsize


def places_of(numbers: torch.Tensor) -> torch.Tensor:
    """Returns the position of each of 0 .. E-1 in `numbers` i64 [E], a permutation of them."""
    import torch

    places = torch.empty_like(numbers)
    places[numbers] = torch.arange(len(numbers))
    return places


def to_hetero_data(graph: TypedColumns) -> HeteroData:
    """Converts a graph with types; see `TypedGraph.to_pyg`."""
    require_pyg("to_pyg")
    import torch
    from torch_geometric.data import HeteroData

    _require_memory_of_types(graph)
    data = HeteroData()
    for name in graph.node_types:
        data[name].num_nodes = graph[name].num_nodes
        data[name].update(node_tensors(graph[name], slice(None)))
    for edge_name in graph.edge_types:
        edges, edge_store = graph[edge_name], data[edge_name]
        edge_store.edge_index = torch.from_numpy(edges.edge_index)
        if (time := edges.time) is not None:
            edge_store.time = torch.from_numpy(time.copy())
        edge_store.update(edge_tensors(edges, slice(None)))
    return data


def edge_tensors(edges: EdgeType, rows: Rows) -> dict[str, torch.Tensor]:
    """Returns the columns of some edges of a type, without their times, under the names of `TypedGraph.to_pyg`. Errors:
    `UsageError`.
    """
    import torch

    tensors = {"edge_attr": torch.from_numpy(edges.edge_attr_rows(rows))} if edges.edge_attr_names else {}
    return tensors | _column_tensors(edges, rows, edges.edge_attr_names, ("edge_index", "edge_attr", "time"))


def node_tensors(nodes: NodeType, rows: Rows) -> dict[str, torch.Tensor]:
    """Returns the columns of some nodes of a type under the names of `TypedGraph.to_pyg`. Errors: `UsageError`."""
    import torch

    tensors = {}
    if nodes.x_names:
        tensors["x"] = torch.from_numpy(nodes.x_rows(rows))
    if nodes.time is not None:
        tensors["time"] = torch.from_numpy(np.array(nodes.time[rows]))
    return tensors | _column_tensors(nodes, rows, nodes.x_names, ("x", "time", "num_nodes"))


def _column_tensors(columns: Columns, rows: Rows, left_out: list[str], used: tuple[str, ...]) -> dict[str, torch.Tensor]:
    """Returns the columns of a type as tensors by name, except those in `left_out`."""
    import torch

    tensors = {}
    for column in (column for column in columns.columns if column not in left_out):
        if column in used:
            raise UsageError(f"{columns!r} has a column {column!r}, which has another use in HeteroData; rename it")
        if columns.meaning(column) == "multi-category":
            values, ptr = columns.lists(column, rows)
            tensors[column], tensors[f"{column}_ptr"] = torch.from_numpy(values), torch.from_numpy(ptr)
        else:
            chosen = columns[column][rows]
            is_real = chosen.dtype.kind == "f"
            tensors[column] = torch.from_numpy(np.array(chosen) if is_real else chosen.astype(np.int64))
    return tensors
