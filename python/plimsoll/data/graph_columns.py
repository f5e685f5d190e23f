"""The columns of one giant graph (docs/formats/graph.md). `plimsoll.Graph` adds the exchange with PyTorch Geometric."""

from __future__ import annotations

import operator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.data_set import DataSet
from plimsoll.data.tables import Features

SPLITS = ("train", "valid", "test")


class GraphColumns(DataSet):
    """The columns of a `Graph`, and values from its manifest."""

    _kind = "graph"

    @property
    def indptr(self) -> NDArray[np.int64]:
        """i64 [V+1]: node v has the edges indptr[v] .. indptr[v+1]-1."""
        return self._column("indptr")

    @property
    def indices(self) -> NDArray[Any]:
        """u32 [E], or i64 for more than 2^32 nodes: the neighbour of each edge, ascending in each row."""
        return self._column("indices")

    @property
    def edge_weight(self) -> NDArray[np.float32] | None:
        """f32 [E]: the weight of each edge."""
        return self._optional("edge_weight")

    @property
    def edge_attr(self) -> NDArray[np.float32] | None:
        """f32 [E, K]: edge features, named by `features.edge`."""
        return self._optional("edge_attr")

    @property
    def edge_id(self) -> NDArray[np.int64] | None:
        """i64 [E]: the user's number of each edge, a permutation of 0 .. E-1; None if each is the edge's position."""
        return self._optional("edge_id")

    @property
    def x(self) -> NDArray[np.float32] | None:
        """f32 [V, F]: node features, named by `features.node`.

        The array maps the file. If features are stored in a narrower type, it is a copy of all of them in memory,
        which is kept until `close()`; `tensor("x")` maps the stored type, and `x_rows` copies some rows.
        """
        stored = self._optional("x")
        if stored is None or stored.dtype == np.float32:
            return stored
        if "x as f32" not in self._columns:
            self._columns["x as f32"] = self.x_rows(0, self.num_nodes)
            self._columns["x as f32"].flags.writeable = False
        return self._columns["x as f32"]

    def x_rows(self, first: int, end: int) -> NDArray[np.float32]:
        """Returns f32 [end - first, F]: a copy of the features of nodes `first` to `end` - 1. Errors: `UsageError`."""
        rows = np.empty((max(end - first, 0), self.num_node_features), np.float32)
        self._mapping.copy_x(first, rows)
        return rows

    @property
    def features_dtype(self) -> str:
        """The stored type of node features: f32, f16, bf16, u8 or i8 (docs/formats/graph.md#narrow-features)."""
        return str(self.manifest.get("narrow", {}).get("x", {}).get("type", "f32"))

    @property
    def y(self) -> NDArray[np.int64] | None:
        """i64 [V]: class of each node, -1 if it is unlabelled."""
        return self._optional("y")

    @property
    def node_id(self) -> NDArray[np.int64] | None:
        """i64 [V]: the number of each node in the source; None if the numbers were 0 .. V-1."""
        return self._optional("node_id")

    @property
    def splits(self) -> dict[str, NDArray[np.int64]]:
        """The existing splits among train, valid and test: i64 [n], nodes in ascending order."""
        found = ((name, self._optional(f"{name}_idx")) for name in SPLITS)
        return {name: nodes for name, nodes in found if nodes is not None}

    @property
    def edge_splits(self) -> dict[str, NDArray[np.int64]]:
        """Edges to predict, for the existing splits among train, valid and test: i64 [n, 2].

        Each pair is a neighbour and the node in whose row it is, or would be (`plimsoll.split_edges`).
        """
        found = ((name, self._optional(f"{name}_edges")) for name in SPLITS)
        return {name: pairs for name, pairs in found if pairs is not None}

    @property
    def num_nodes(self) -> int:
        """V, the number of nodes."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """E, the number of edges."""
        return len(self.indices)

    @property
    def num_node_features(self) -> int:
        """F, the number of features per node; 0 without features."""
        stored = self._optional("x")
        return 0 if stored is None else int(stored.shape[1])

    @property
    def num_edge_features(self) -> int:
        """K, the number of features per edge; 0 without features."""
        return 0 if self.edge_attr is None else int(self.edge_attr.shape[1])

    @property
    def num_classes(self) -> int:
        """The number of classes of nodes."""
        return int(self.manifest["classes"])

    @property
    def direction(self) -> str:
        """The neighbours that a row holds: "in", the sources of the edges into its node, or "out", the targets of the
        edges out of it.
        """
        return str(self.manifest["direction"])

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes in the source; empty if the source numbers them."""
        return tuple(self.manifest["class_names"])

    @cached_property
    def features(self) -> Features:
        """The names of the node and edge features."""
        names = self.manifest["features"]
        return Features(tuple(names["node"]), tuple(names["edge"]))

    def neighbours(self, node: int) -> NDArray[Any]:
        """Returns the neighbours of one node, a view of `indices`. Errors: `IndexError`."""
        first, end = self.indptr[self._number(node) :][:2]
        return self.indices[first:end]

    def node_name(self, node: int) -> str:
        """Returns the name of a node in the source. Bytes that are not UTF-8 are decoded as by `os.fsdecode`. Errors:
        `IndexError`.
        """
        number = self._number(node)
        if self.node_id is not None:
            number = int(self.node_id[number])
        pointers = self._optional("node_name_ptr")
        if pointers is None:
            return str(number)
        return bytes(self._column("node_name")[pointers[number] : pointers[number + 1]]).decode(errors="surrogateescape")

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
