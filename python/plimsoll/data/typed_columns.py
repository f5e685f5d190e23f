"""The columns of a graph with types (docs/formats/graph.md). `plimsoll.TypedGraph` adds the exchange with PyTorch Geometric."""

from __future__ import annotations

from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.data_set import DataSet
from plimsoll.data.typed_tasks import Task
from plimsoll.errors import UsageError

EdgeName = tuple[str, str, str]
Rows = NDArray[np.int64] | slice


class Columns:
    """The columns of a node or edge type, with R rows each. Arrays map the files."""

    _what = "type"

    def __init__(self, graph: TypedColumns, entry: dict[str, Any], rows: int) -> None:
        self._graph = graph
        self._entry = entry
        self._rows = rows
        self._columns: dict[str, dict[str, Any]] = {column["name"]: column for column in entry["columns"]}

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order of the table."""
        return list(self._columns)

    def meaning(self, column: str) -> str:
        """Returns "number", "boolean", "category", "multi-category", "time" or "vector"."""
        meaning: str = self._column(column)["meaning"]
        return meaning

    def __getitem__(self, column: str) -> NDArray[Any]:
        """Returns the values [R], or [R, D] for vectors, as they are stored; times as datetime64, categories as codes. Codes
        of multi-categories are those of all rows, one after the other; `ptr` has the position of each row's first code.

        Missing values are NaN, NaT, or -1 for categories; in other numeric columns 0, where `valid` is False. Errors:
        `UsageError` for an unknown column.
        """
        entry = self._column(column)
        values = self._graph._column(entry["column"])
        return values.view(f"datetime64[{entry['unit']}]") if entry["meaning"] == "time" else values

    def ptr(self, column: str) -> NDArray[np.int64]:
        """Returns [R+1]: row v has the codes ptr[v] .. ptr[v+1]-1 of a multi-category. Errors: `UsageError`."""
        entry = self._column(column)
        if "ptr" not in entry:
            raise UsageError(f"column {column!r} of {self._entry['name']!r} is a {entry['meaning']}, expected a multi-category")
        return self._graph._column(entry["ptr"])

    def lists(self, column: str, rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns the codes of a multi-category in these rows, one after the other, and the position of each row's
        first code, followed by the number of codes. Errors: `UsageError`.
        """
        ptr = self.ptr(column)
        first = ptr[:-1][rows]
        counts = ptr[1:][rows] - first
        ends = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(ends[-1]) - np.repeat(ends[:-1] - first, counts)
        return self[column][places].astype(np.int64), ends

    def valid(self, column: str) -> NDArray[np.bool_]:
        """Returns [R]: whether each row has a value."""
        entry = self._column(column)
        if "valid" not in entry:
            return np.ones(self._rows, bool)
        return self._graph._column(entry["valid"]).view(bool)

    def vocabulary(self, column: str) -> list[str]:
        """Returns the text of each code of a category or multi-category. Errors: `UsageError` for other columns."""
        entry = self._column(column)
        if "vocabulary" not in entry:
            raise UsageError(f"column {column!r} of {self._entry['name']!r} is a {entry['meaning']}, expected a category")
        return self._texts(entry["vocabulary"], entry["vocabulary_ptr"])

    def _number_names(self, whole: str) -> list[str]:
        """Returns only the vector called `whole` if there is one, otherwise all numbers and booleans."""
        if whole in self._columns and self.meaning(whole) == "vector":
            return [whole]
        return [name for name, column in self._columns.items() if column["meaning"] in ("number", "boolean")]

    def _numbers(self, names: list[str], whole: str, rows: Rows = slice(None)) -> NDArray[np.float32]:
        if names == [whole] and self.meaning(whole) == "vector":
            return self[whole][rows].astype(np.float32)
        count = len(range(self._rows)[rows]) if isinstance(rows, slice) else len(rows)
        numbers = np.empty((count, len(names)), np.float32)
        for at, name in enumerate(names):
            numbers[:, at] = self[name][rows]
            if "valid" in self._column(name):
                numbers[~self.valid(name)[rows], at] = np.nan
        return numbers

    def _column(self, name: str) -> dict[str, Any]:
        if name not in self._columns:
            raise UsageError(f"{self._what} {self._entry['name']!r} has no column {name!r}, expected one of {self.columns}")
        return self._columns[name]

    def _texts(self, column: str, ptr: str) -> list[str]:
        text = self._graph._column(column).tobytes()
        ends = self._graph._column(ptr).tolist()
        return [text[begin:end].decode(errors="replace") for begin, end in zip(ends, ends[1:])]


class NodeType(Columns):
    """The nodes of one type: N nodes with columns, and optionally a time for each."""

    _what = "node type"

    def __init__(self, graph: TypedColumns, entry: dict[str, Any]) -> None:
        super().__init__(graph, entry, entry["nodes"])
        self.name: str = entry["name"]
        self.num_nodes: int = entry["nodes"]

    @property
    def time(self) -> NDArray[np.int64] | None:
        """i64 [N]: nanoseconds since 1970-01-01 at which each node is known; None if all nodes are known from the
        start.
        """
        entry = self._entry.get("time")
        return None if entry is None else self._graph._column(entry["column"])

    @property
    def x_names(self) -> list[str]:
        """The columns of `x`: the vector "x", or all numbers and booleans."""
        return self._number_names("x")

    @property
    def x(self) -> NDArray[np.float32]:
        """f32 [N, F]: a new array of the columns `x_names`, NaN where a value is missing."""
        return self.x_rows(slice(None))

    def x_rows(self, rows: Rows) -> NDArray[np.float32]:
        """Returns these rows of `x`, a new array."""
        return self._numbers(self.x_names, "x", rows)

    def key(self, column: str | None = None) -> NDArray[np.int64] | list[str]:
        """Returns the user's key of each node: integers or strings. For a key of several columns, `column` selects one.

        Errors: `UsageError` for a type without such a key.
        """
        for entry in self._entry["key"]:
            if column not in (None, entry["name"]):
                continue
            if "column" not in entry:
                return np.arange(self.num_nodes)
            return self._texts(entry["column"], entry["ptr"]) if "ptr" in entry else self._graph._column(entry["column"])
        raise UsageError(f"node type {self.name!r} has no key{'' if column is None else f' {column!r}'}")

    def __repr__(self) -> str:
        return f"NodeType({self.name!r}, {self.num_nodes} nodes, columns {self.columns})"


class EdgeType(Columns):
    """The edges of one type: lists of sources for each target, sorted by (time, source). It has columns if it was made
    from a table.
    """

    _what = "edge type"

    def __init__(self, graph: TypedColumns, entry: dict[str, Any]) -> None:
        super().__init__(graph, entry, entry["edges"])
        self.name: EdgeName = (entry["source"], entry["name"], entry["target"])
        self.num_edges: int = entry["edges"]

    @property
    def indptr(self) -> NDArray[np.int64]:
        """i64 [N+1]: target v has the edges indptr[v] .. indptr[v+1]-1."""
        return self._graph._column(self._entry["indptr"])

    @property
    def indices(self) -> NDArray[np.uint32]:
        """u32 [E]: the source of each edge."""
        return self._graph._column(self._entry["indices"])

    @property
    def edge_index(self) -> NDArray[np.int64]:
        """i64 [2, E]: sources and targets, a new array, sorted by target."""
        targets = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        return np.stack([self.indices.astype(np.int64), targets])

    @property
    def edge_attr_names(self) -> list[str]:
        """The columns of `edge_attr`: the vector "edge_attr", or all numbers and booleans."""
        return self._number_names("edge_attr")

    @property
    def edge_attr(self) -> NDArray[np.float32]:
        """f32 [E, K]: a new array of the columns `edge_attr_names`, NaN where a value is missing."""
        return self.edge_attr_rows(slice(None))

    def edge_attr_rows(self, rows: Rows) -> NDArray[np.float32]:
        """Returns these rows of `edge_attr`, a new array."""
        return self._numbers(self.edge_attr_names, "edge_attr", rows)

    @property
    def time_end(self) -> str | None:
        """The source of an edge's time: its "source" node, its "target" node or the "edge" itself; None if all edges
        are known from the start.
        """
        end: str | None = self._entry["time"]
        return end

    @property
    def time(self) -> NDArray[np.int64] | None:
        """i64 [E]: the time of each edge in nanoseconds; None if all are known from the start."""
        end = self.time_end
        if end == "edge":
            return self._graph._column(self._entry["times"])
        if end is None:
            return None
        time = self._graph[self._entry[end]].time
        return None if time is None else time[self.edge_index[0 if end == "source" else 1]]

    def __repr__(self) -> str:
        return f"EdgeType({self.name}, {self.num_edges} edges)"


class TypedColumns(DataSet):
    """The types of a `TypedGraph`, and values from its manifest."""

    _kind = "typed_graph"

    @cached_property
    def _node_types(self) -> dict[str, NodeType]:
        return {entry["name"]: NodeType(self, entry) for entry in self.manifest["node_types"]}

    @cached_property
    def _edge_types(self) -> dict[EdgeName, EdgeType]:
        edges = [EdgeType(self, entry) for entry in self.manifest["edge_types"]]
        return {edge.name: edge for edge in edges}

    @property
    def node_types(self) -> list[str]:
        """The names of the node types."""
        return list(self._node_types)

    @property
    def edge_types(self) -> list[EdgeName]:
        """The edge types, each as source, name and target."""
        return list(self._edge_types)

    @cached_property
    def tasks(self) -> dict[str, Task]:
        """The tasks by name, if the graph was made from a folder with tasks."""
        return {entry["name"]: Task(self, entry) for entry in self.manifest.get("tasks", [])}

    @overload
    def __getitem__(self, name: str) -> NodeType: ...
    @overload
    def __getitem__(self, name: EdgeName) -> EdgeType: ...
    def __getitem__(self, name: str | EdgeName) -> NodeType | EdgeType:
        """Returns a node type, by its name, or an edge type, by source, name and target. Errors: `UsageError`."""
        found = self._node_types.get(name) if isinstance(name, str) else self._edge_types.get(name)
        if found is None:
            raise UsageError(f"no type {name!r}, expected one of {self.node_types + self.edge_types}")
        return found

    def _text(self) -> str:
        return f"{len(self.node_types)} node types, {len(self.edge_types)} edge types"
