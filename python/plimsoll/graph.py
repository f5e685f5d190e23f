"""One giant graph (docs/formats/graph.md)."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.data_set import DataSet
from plimsoll.tables import Features

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from plimsoll.samplers import NeighborSampler
    from plimsoll.stores import FeatureStore, GraphStore

SPLITS = ("train", "valid", "test")


class Graph(DataSet):
    """A `graph` data set: one graph of V nodes with F features, and E edges with K features.

    Columns that the data set does not have are None. Nodes and edges are known by their places in it; an edge is a
    place in `indices`.
    """

    _kind = "graph"

    @property
    def indptr(self) -> NDArray[np.int64]:
        """i64 [V+1]: node v has the edges indptr[v] .. indptr[v+1]-1."""
        return self._column("indptr")

    @property
    def indices(self) -> NDArray[Any]:
        """u32 [E], or i64 where there are more than 2^32 nodes: the neighbour of each edge, ascending in a row."""
        return self._column("indices")

    @property
    def edge_weight(self) -> NDArray[np.float32] | None:
        """f32 [E]."""
        return self._optional("edge_weight")

    @property
    def edge_attr(self) -> NDArray[np.float32] | None:
        """f32 [E, K], named by `features.edge`."""
        return self._optional("edge_attr")

    @property
    def x(self) -> NDArray[np.float32] | None:
        """f32 [V, F], named by `features.node`."""
        return self._optional("x")

    @property
    def y(self) -> NDArray[np.int64] | None:
        """i64 [V]: class of each node, -1 where it is unlabelled."""
        return self._optional("y")

    @property
    def node_id(self) -> NDArray[np.int64] | None:
        """i64 [V]: what the source called each node, by number; None: it called them 0 .. V-1."""
        return self._optional("node_id")

    @property
    def splits(self) -> dict[str, NDArray[np.int64]]:
        """Those of train, valid and test that there are: i64 [n], nodes in ascending order."""
        found = ((name, self._optional(f"{name}_idx")) for name in SPLITS)
        return {name: nodes for name, nodes in found if nodes is not None}

    @property
    def edge_splits(self) -> dict[str, NDArray[np.int64]]:
        """Edges to predict, of those of train, valid and test that there are: i64 [n, 2], each a neighbour and the node in
        whose row it is, or would be (`plimsoll.split_edges`)."""
        found = ((name, self._optional(f"{name}_edges")) for name in SPLITS)
        return {name: pairs for name, pairs in found if pairs is not None}

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        return len(self.indices)

    @property
    def num_node_features(self) -> int:
        return 0 if self.x is None else int(self.x.shape[1])

    @property
    def num_edge_features(self) -> int:
        return 0 if self.edge_attr is None else int(self.edge_attr.shape[1])

    @property
    def num_classes(self) -> int:
        return int(self.manifest["classes"])

    @property
    def direction(self) -> str:
        """Which neighbours a row holds: `in`, the sources of the edges into its node, or `out`, the targets of those out."""
        return str(self.manifest["direction"])

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """What the source called the classes; empty where it numbered them."""
        return tuple(self.manifest["class_names"])

    @cached_property
    def features(self) -> Features:
        names = self.manifest["features"]
        return Features(tuple(names["node"]), tuple(names["edge"]))

    def neighbours(self, node: int) -> NDArray[Any]:
        """Those of one node, a view of `indices`. Errors: `IndexError`."""
        first, end = self.indptr[self._number(node) :][:2]
        return self.indices[first:end]

    def node_name(self, node: int) -> str:
        """What the source called a node, as text. Errors: `IndexError`."""
        number = self._number(node)
        if self.node_id is not None:
            number = int(self.node_id[number])
        pointers = self._optional("node_name_ptr")
        if pointers is None:
            return str(number)
        return bytes(self._column("node_name")[pointers[number] : pointers[number + 1]]).decode()

    def to_pyg(self) -> Data:
        """All of it as one `torch_geometric.data.Data`.

        `x` f32 [V, F], `edge_attr` f32 [E, K], `y` i64 [V], `edge_weight` f32 [E] and splits as `train_idx`,
        `valid_idx` and `test_idx` i64 [n] lie over the mapped files, without copies, as `tensor()` says.
        `edge_index` i64 [2, E] has to be computed: it takes 16 bytes an edge of memory, and 8 more meanwhile. Column e
        of it is edge e; with `direction` in it is sorted by target, which PyG's loaders are told by `is_sorted=True`.
        Errors: `UsageError` of a closed data set; `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.pyg import to_giant_data

        return to_giant_data(self)

    def stores(self) -> tuple[FeatureStore, GraphStore]:
        """The graph as PyTorch Geometric's own loaders take it: `NeighborLoader(graph.stores(), ...)`.

        `plimsoll.NeighborLoader` needs less memory. Errors: `MissingPackage` without torch or PyTorch Geometric.
        """
        from plimsoll.pyg import require_pyg

        require_pyg("stores")
        from plimsoll.stores import FeatureStore, GraphStore

        return FeatureStore(self), GraphStore(self)

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
        from plimsoll.pyg import require_pyg

        require_pyg("sampler")
        from plimsoll.samplers import NeighborSampler

        return NeighborSampler(self, num_neighbors, replace, subgraph_type, disjoint, weight_attr, seed)

    def _optional(self, name: str) -> NDArray[Any] | None:
        return self._column(name) if self._mapping.has_column(name) else None

    def _number(self, node: int) -> int:
        number = operator.index(node)
        if not 0 <= number < self.num_nodes:
            raise IndexError(f"node {node} of {self.num_nodes}")
        return number

    def _text(self) -> str:
        return (
            f"nodes={self.num_nodes}, edges={self.num_edges}, node_features={self.num_node_features}, "
            f"edge_features={self.num_edge_features}, classes={self.num_classes}"
        )
