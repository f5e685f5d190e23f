"""A graph with node types and edge types (docs/formats/graph.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.data.typed_columns import TypedColumns

if TYPE_CHECKING:
    from torch_geometric.data import HeteroData


class TypedGraph(TypedColumns):
    """A `graph` data set with node types and edge types, such as `plimsoll.ingest.tables` makes.

        graph["users"].x
        graph["users", "rates", "films"].edge_index
    """

    def to_pyg(self) -> HeteroData:
        """Returns the whole graph as one `torch_geometric.data.HeteroData`.

        Each node type has `num_nodes`; `x` f32 [N, F], if it has numbers or booleans, or a vector "x"; `time` i64 [N]
        in nanoseconds, if it has times; and each other column under its own name: codes of categories and times i64
        [N], vectors [N, D], codes of multi-categories i64 with "NAME_ptr" i64 [N+1]. Each edge type has `edge_index`
        i64 [2, E], sorted by target, and `time` i64 [E] if its edges have times. An edge type that was made from a
        table also has `edge_attr` f32 [E, K] and its other columns, as for nodes.

        Errors: `UsageError` for a closed data set, or a column that is called "x", "time" or "num_nodes" and is not a
        number; `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import to_hetero_data

        return to_hetero_data(self)
