"""The caller's own stores in the form of PyTorch Geometric's loaders: node features, and the edges of one graph."""

from __future__ import annotations

from typing import Any

from plimsoll.data.graph import Graph
from plimsoll.data.pyg_data import edges_of
from plimsoll.errors import UsageError


def are_stores(value: Any) -> bool:
    """Returns whether a value is a pair of a `FeatureStore` and a `GraphStore` of PyTorch Geometric. Imports nothing."""
    return isinstance(value, tuple) and len(value) == 2 and all(map(hasattr, value, ("get_all_tensor_attrs", "get_all_edge_attrs")))


def edges_of_stores(stores: Any, weight_attr: str | None) -> Graph:
    """Returns the edges of the stores as a graph. Errors: `UsageError` for several types of nodes or edges, and for
    weights.
    """
    import torch
    from torch_geometric.data import Data

    graph_store = stores[1]
    kinds = graph_store.get_all_edge_attrs()
    if len(kinds) != 1 or kinds[0].edge_type is not None:
        found = [kind.edge_type for kind in kinds]
        raise UsageError(f"data: stores have edges of the types {found}, expected one, None; types of nodes and edges are not "
                         "supported yet")
    if weight_attr is not None:
        raise UsageError(f"weight_attr={weight_attr!r}: stores have no edge weights; give a Data, or a plimsoll.Graph")
    rows, columns, _ = graph_store.coo()
    ends = [int(end.max()) + 1 for end in (rows, columns) if len(end)]
    nodes = max([0, *ends, *(count for count in kinds[0].size or () if count is not None)])
    return edges_of(Data(edge_index=torch.stack([rows, columns]), num_nodes=nodes))


def filtered(stores: Any, nodes: Any, edge_index: Any, edges: Any) -> Any:
    """Returns a `Data` with these edges and the features of these nodes, which the store fetches."""
    from torch_geometric.loader.utils import filter_custom_store

    return filter_custom_store(*stores, nodes, *edge_index, edges)
