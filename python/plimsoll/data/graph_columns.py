"""The columns of one giant graph (docs/formats/graph.md). `plimsoll.Graph` adds the ways to PyTorch Geometric."""

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
    """What `Graph` says of its columns."""

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
    def edge_id(self) -> NDArray[np.int64] | None:
        """i64 [E]: the number that the user has for each edge, each of 0 .. E-1 once; None: its place."""
        return self._optional("edge_id")

    @property
    def x(self) -> NDArray[np.float32] | None:
        """f32 [V, F], named by `features.node`: over the mapped file; where features are stored narrow, a copy of all of them in
        memory, which is kept until `close()` (`tensor("x")` maps what is stored, `x_rows` copies some)."""
        stored = self._optional("x")
        if stored is None or stored.dtype == np.float32:
            return stored
        if "x as f32" not in self._columns:
            self._columns["x as f32"] = self.x_rows(0, self.num_nodes)
            self._columns["x as f32"].flags.writeable = False
        return self._columns["x as f32"]

    def x_rows(self, first: int, end: int) -> NDArray[np.float32]:
        """f32 [end - first, F]: a copy of the features of some nodes, however they are stored. Errors: `UsageError`."""
        rows = np.empty((max(end - first, 0), self.num_node_features), np.float32)
        self._mapping.copy_x(first, rows)
        return rows

    @property
    def features_dtype(self) -> str:
        """How features are stored: f32, f16, bf16, u8 or i8 (docs/formats/graph.md#narrow-features)."""
        return str(self.manifest.get("narrow", {}).get("x", {}).get("type", "f32"))

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
        stored = self._optional("x")
        return 0 if stored is None else int(stored.shape[1])

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
        """What the source called a node, as text; bytes that are not UTF-8 as `os.fsdecode` has them. Errors: `IndexError`."""
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
