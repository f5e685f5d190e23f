"""One giant graph (docs/formats/graph.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from plimsoll.data.graph_columns import GraphColumns

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from plimsoll.data.samplers import NeighborSampler
    from plimsoll.data.stores import FeatureStore, GraphStore


class Graph(GraphColumns):
    """A `graph` data set: one graph of V nodes with F features, and E edges with K features.

    Missing columns are None. Nodes are numbered 0 .. V-1, and edges by their position in `indices`.
    """

    def to_pyg(self) -> Data:
        """Returns the whole graph as one `torch_geometric.data.Data`.

        `x` f32 [V, F], `edge_attr` f32 [E, K], `y` i64 [V], `edge_weight` f32 [E] and the splits `train_idx`,
        `valid_idx` and `test_idx` i64 [n] map the files without copies, as `tensor()` does. `edge_index` i64 [2, E]
        is computed; it needs 16 bytes of memory per edge, and 8 more while it is made.

        Column e of `edge_index` is edge e. With `direction` "in" it is sorted by target; pass `is_sorted=True` to
        PyG's loaders. If the graph has `edge_id`, column e is the edge with number e, as in the `Data` that the graph
        was made from, and edge columns are copies.

        Errors: `BudgetExceeded`, with the bytes needed, if the system has less memory available; `UsageError` for a
        closed data set; `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import to_giant_data

        return to_giant_data(self)

    def stores(self) -> tuple[FeatureStore, GraphStore]:
        """Returns the graph in the form that PyTorch Geometric's own loaders accept: `NeighborLoader(graph.stores(),
        ...)`.

        PyTorch Geometric does not fetch edge columns from stores; pass `transform=graph.add_edge_columns` for that.
        `plimsoll.NeighborLoader` needs less memory. Errors: `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import require_pyg

        require_pyg("stores")
        from plimsoll.data.stores import FeatureStore, GraphStore

        return FeatureStore(self), GraphStore(self)

    def add_edge_columns(self, batch: Data) -> Data:
        """Adds `edge_attr` f32 [M, K] and `edge_weight` f32 [M] of the edges `e_id` to a batch, if the graph has them,
        and returns it.

        Pass it as `transform` to PyTorch Geometric's loaders over `stores()` with a `sampler()`. If the graph has
        `edge_id`, this needs 8 bytes of memory per edge until `close()`, and 8 more during the first call; the ledger
        counts them as torch's tensors. Errors: `UsageError` for a batch without `e_id`.
        """
        from plimsoll.data.stores import edge_columns_of

        return edge_columns_of(self, batch)

    def sampler(
        self,
        num_neighbors: Iterable[int],
        replace: bool = False,
        subgraph_type: str = "directional",
        disjoint: bool = False,
        weight_attr: str | None = None,
        seed: int | None = None,
    ) -> NeighborSampler:
        """Returns a sampler for PyTorch Geometric's loaders that needs no pyg-lib.

            NodeLoader(graph.stores(), graph.sampler([10, 5]))

        Arguments are as in `plimsoll.NeighborLoader`, except `seed`. With `seed` None each batch is drawn from
        torch's generator, as in PyTorch Geometric. With a number, the neighbours sampled for a node depend only on
        that number, the seed node and the node.

        Errors: `UsageError` for arguments; `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import require_pyg

        require_pyg("sampler")
        from plimsoll.data.samplers import NeighborSampler

        return NeighborSampler(self, num_neighbors, replace, subgraph_type, disjoint, weight_attr, seed)
