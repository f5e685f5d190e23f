"""Groups of options of `plimsoll.ingest.graph`: columns of edges, a table of nodes, and how the graph is stored."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from plimsoll import _core
from plimsoll.arguments import PathLike, column, one_of, whole
from plimsoll.errors import UsageError

Column: TypeAlias = str | int
FEATURE_DTYPES = ("auto", "f32", "f16", "bf16", "i8")


@dataclass(frozen=True, kw_only=True)
class EdgeColumns:
    """The columns of edge files, by name or by number counted from 0, and which lines are edges.

    - `source`, `target`: the two IDs of an edge.
    - `weight`: a column of numbers, or a .npy file with one number per edge.
    - `features`: columns of numbers, or a .npy file with one row per edge.
    - `header`: whether the files have a header line; None: detected from their contents.
    - `comments`: which lines that begin with # or % are comments: `leading` (those before the first edge), `all` or
      `none`.
    - `layout`: `rows` or `columns` of an array of edges; empty: by its shape.

    Errors: `UsageError` for any other value.
    """

    source: Column = 0
    target: Column = 1
    weight: Column | PathLike | None = None
    features: Sequence[Column] | PathLike = ()
    header: bool | None = None
    comments: str = "leading"
    layout: str = ""

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            column(name, getattr(self, name))
        if self.weight is not None and not isinstance(self.weight, os.PathLike):
            column("weight", self.weight)
        if not isinstance(self.features, str | os.PathLike):
            for feature in self.features:
                column("features", feature)
        _yes_no_or_none("header", self.header)
        one_of("comments", self.comments, ("leading", "all", "none"))
        one_of("layout", self.layout, ("", "rows", "columns"))

    def set_options(self, options: _core.GraphOptions) -> None:
        """Writes the columns into the options of the builder."""
        edges = options.edges
        edges.source, edges.target = str(self.source), str(self.target)
        edges.weight = "" if self.weight is None else str(self.weight)
        if isinstance(self.features, str | os.PathLike):
            edges.features = [str(self.features)]
        else:
            edges.features = [str(column) for column in self.features]
        edges.header, edges.comments, edges.layout = self.header, self.comments, self.layout


@dataclass(frozen=True)
class NodeTable:
    """A table with one row per node, and its columns, by name or by number counted from 0.

    - `path`: a text file, which may be compressed with zstd or gzip.
    - `id`: the column of IDs, by default the first.
    - `label`: the column of classes. `unlabelled`: a text that means no class, in addition to empty fields and -1.
    - `split`: the column of splits: train, valid (or val), test or none.
    - `features`: columns of numbers. A field may hold several numbers, separated by blanks.
    - `missing`: the value of features that are empty, NA or NaN; None: they are refused.
    - `header`: whether the first line names the columns; None: yes if options name columns or the line's ID is not a
      number.
    """

    path: PathLike
    id: Column = ""
    label: Column = ""
    split: Column = ""
    features: Sequence[Column] = ()
    unlabelled: str = ""
    missing: float | None = None
    header: bool | None = None

    def __post_init__(self) -> None:
        for name in ("id", "label", "split"):
            column(name, getattr(self, name))
        if isinstance(self.features, str):
            raise UsageError(f"features={self.features!r}: expected a list of columns")
        for feature in self.features:
            column("features", feature)
        _yes_no_or_none("header", self.header)
        if self.missing is not None and (isinstance(self.missing, str) or not math.isfinite(self.missing)):
            raise UsageError(f"missing={self.missing!r}: expected a finite number")

    def set_options(self, options: _core.GraphOptions) -> None:
        """Writes table and columns into the options of the builder."""
        nodes = options.nodes
        nodes.table = os.fspath(self.path)
        nodes.id, nodes.label, nodes.split = str(self.id), str(self.label), str(self.split)
        nodes.unlabelled = self.unlabelled
        nodes.features = [str(feature) for feature in self.features]
        nodes.header, nodes.missing = self.header, self.missing


@dataclass(frozen=True, kw_only=True)
class GraphLayout:
    """How a graph is stored; docs/giant-graphs.md explains each option.

    - `ids`: the kind of IDs: `auto`, `dense`, `sparse` or `text`.
    - `node_count`: the number of nodes; all IDs must be below it.
    - `direction`: a row holds the sources of edges into its node (`in`) or the targets of edges out of it (`out`).
    - `order`: the order of nodes: `none` (by ID), `degree`, `frequency` or `partition`.
    - `features_dtype`: the type in which features are stored: `auto`, `f32`, `f16`, `bf16` or `i8`.

    Errors: `UsageError` for any other value.
    """

    ids: str = "auto"
    node_count: int | None = None
    direction: str = "in"
    order: str = "none"
    features_dtype: str = "auto"

    def __post_init__(self) -> None:
        one_of("ids", self.ids, ("auto", "dense", "sparse", "text"))
        one_of("direction", self.direction, ("in", "out"))
        one_of("order", self.order, ("none", "degree", "frequency", "partition"))
        one_of("features_dtype", self.features_dtype, FEATURE_DTYPES)
        if self.node_count is not None:
            whole("node_count", self.node_count, 1)

    def set_options(self, options: _core.GraphOptions) -> None:
        """Writes the layout into the options of the builder."""
        options.ids, options.direction, options.order = self.ids, self.direction, self.order
        options.features_dtype = self.features_dtype
        options.node_count = -1 if self.node_count is None else int(self.node_count)


def _yes_no_or_none(name: str, value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise UsageError(f"{name}={value!r}: expected True, False or None")
