"""Reads edge lists and node tables into a `graph`: `plimsoll.ingest.graph`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, one_of, texts, thread_count, whole
from plimsoll.data.graph import Graph

Column = str | int
FEATURE_DTYPES = ("auto", "f32", "f16", "bf16", "i8")


def graph(
    edges: PathLike | Iterable[PathLike],
    out: PathLike,
    *,
    source: Column = 0,
    target: Column = 1,
    weight: Column | PathLike | None = None,
    edge_features: Iterable[Column] | PathLike = (),
    header: bool = False,
    ids: str = "auto",
    direction: str = "in",
    undirected: bool = False,
    dedup: bool = False,
    self_loops: str = "keep",
    order: str = "none",
    features_dtype: str = "auto",
    nodes: PathLike | None = None,
    id: str = "",
    label: str = "",
    split: str = "",
    node_features: Iterable[str] = (),
    unlabelled: str = "",
    features: PathLike | None = None,
    labels: PathLike | None = None,
    train: PathLike | None = None,
    valid: PathLike | None = None,
    test: PathLike | None = None,
    node_count: int | None = None,
    force: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Graph:
    """Reads one graph of any size from lists of edges into a `graph` data set and opens it.

    The options are those of `plimsoll ingest graph`, explained in docs/giant-graphs.md.

    - `edges`: text files, plain, .zst or .gz, with two IDs per line and optional further columns, or .npy arrays.
    - `out`: path of the data set.
    - `source`, `target`, `weight`, `edge_features`: columns of `edges`, by name or by number from 0. `weight` and
      `edge_features` may each be a .npy file instead. `header`: whether the files have a header line.
    - `nodes`: a table with one row per node. `id`, `label`, `split` and `node_features` name its columns,
      `unlabelled` the label of unlabelled nodes.
    - `features`: a .npy file, f32, f16, u8 or i8 [V, F]. `labels`: a .npy file, whole numbers [V].
    - `train`, `valid`, `test`: files of IDs.
    - `ids`, `direction`, `undirected`, `dedup`, `self_loops`, `order`, `features_dtype`, `node_count`: see
      docs/giant-graphs.md.
    - `force`, `budget`, `threads`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts bytes of the sources, then edges.

    Errors: `InputError` naming file, line and column; `UsageError`; `BudgetExceeded`; `Failure`.
    """
    options = _core.GraphOptions()
    listed = options.edges
    listed.files = [Path(edges)] if isinstance(edges, str | os.PathLike) else [Path(file) for file in edges]
    listed.source, listed.target = str(source), str(target)
    listed.weight = "" if weight is None else str(weight)
    listed.features = _names(edge_features)
    listed.header = header
    table = options.nodes
    table.table, table.feature_array, table.label_array = _path(nodes), _path(features), _path(labels)
    table.id, table.label, table.split, table.unlabelled = id, label, split, unlabelled
    table.features = texts("node_features", node_features)
    options.splits = [_path(train), _path(valid), _path(test)]
    options.node_count = -1 if node_count is None else whole("node_count", node_count, 0)
    options.ids = one_of("ids", ids, ("auto", "dense", "sparse", "text"))
    options.direction = one_of("direction", direction, ("in", "out"))
    options.undirected, options.dedup = undirected, dedup
    options.self_loops = one_of("self_loops", self_loops, ("keep", "drop", "add"))
    options.order = one_of("order", order, ("none", "degree", "frequency", "partition"))
    options.features_dtype = one_of("features_dtype", features_dtype, FEATURE_DTYPES)
    options.out, options.force = Path(out), force
    options.threads = thread_count(threads)
    _core.make_graph(options, budget_text(budget), progress)
    return Graph(out)


def _path(path: PathLike | None) -> str:
    # This is text, not a Path, because Path("") is the current folder.
    return "" if path is None else os.fspath(path)


def _names(columns: Iterable[Column] | PathLike) -> list[str]:
    return [str(columns)] if isinstance(columns, str | os.PathLike) else [str(column) for column in columns]
