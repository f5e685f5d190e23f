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

    Columns that the data set does not have are None. Nodes and edges are known by their places in it; an edge is a
    place in `indices`.
    """

    def to_pyg(self) -> Data:
        """All of it as one `torch_geometric.data.Data`.

        `x` f32 [V, F], `edge_attr` f32 [E, K], `y` i64 [V], `edge_weight` f32 [E] and splits as `train_idx`,
        `valid_idx` and `test_idx` i64 [n] lie over the mapped files, without copies, as `tensor()` says.
        `edge_index` i64 [2, E] has to be computed: it takes 16 bytes an edge of memory, and 8 more meanwhile. Column e
        of it is edge e; with `direction` in it is sorted by target, which PyG's loaders are told by `is_sorted=True`.
        Where the graph has `edge_id`, column e is the edge of that number, as in the `Data` that it was made of, and
        columns of edges are copies.
        Errors: `UsageError` of a closed data set; `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import to_giant_data

        return to_giant_data(self)

    def stores(self) -> tuple[FeatureStore, GraphStore]:
        """The graph as PyTorch Geometric's own loaders take it: `NeighborLoader(graph.stores(), ...)`.

        PyTorch Geometric fetches no columns of edges from stores: `transform=graph.add_edge_columns` does.
        `plimsoll.NeighborLoader` needs less memory. Errors: `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import require_pyg

        require_pyg("stores")
        from plimsoll.data.stores import FeatureStore, GraphStore

        return FeatureStore(self), GraphStore(self)

    def add_edge_columns(self, batch: Data) -> Data:
        """Gives a batch `edge_attr` f32 [M, K] and `edge_weight` f32 [M], those that the graph has, of its edges `e_id`.

        What `transform` of PyTorch Geometric's loaders takes, over `stores()` with a `sampler()`. Memory: where the graph has
        `edge_id`, 8 bytes an edge until `close()`, and 8 more in the first call; they are tensors of torch, and in the ledger
        as these are. Errors: `UsageError` of a batch without `e_id`.
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
        """What samples in PyTorch Geometric's loaders, without pyg-lib: `NodeLoader(graph.stores(), graph.sampler([10, 5]))`.

        Arguments as of `plimsoll.NeighborLoader`. `seed` None: each batch is drawn by torch's generator, as PyTorch
        Geometric does it; a number: what is sampled for a node depends on it, the seed node and the node alone.
        Errors: `UsageError` for arguments; `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.data.to_pyg import require_pyg

        require_pyg("sampler")
        from plimsoll.data.samplers import NeighborSampler

        return NeighborSampler(self, num_neighbors, replace, subgraph_type, disjoint, weight_attr, seed)
