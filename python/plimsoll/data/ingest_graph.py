"""Reads edge lists and node tables into a `graph`: `plimsoll.ingest.graph`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, instance_of, one_of, thread_count
from plimsoll.data.graph import Graph
from plimsoll.data.ingest_options import EdgeColumns, GraphLayout, NodeTable
from plimsoll.data.option_words import in_python, options_given, python_words
from plimsoll.errors import UsageError

SPLITS = ("train", "valid", "test")


def graph(
    edges: PathLike | Iterable[PathLike],
    out: PathLike,
    *,
    columns: EdgeColumns = EdgeColumns(),
    undirected: bool = False,
    dedup: bool = False,
    self_loops: str = "keep",
    nodes: NodeTable | None = None,
    features: PathLike | None = None,
    dtype: str = "",
    shape: Iterable[int] = (),
    link: bool = False,
    labels: PathLike | None = None,
    splits: Mapping[str, PathLike] = MappingProxyType({}),
    layout: GraphLayout = GraphLayout(),
    append: PathLike | None = None,
    force: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Graph:
    """Reads one graph of any size from edge lists into a `graph` data set and opens it.

    The options are those of `plimsoll ingest graph`, explained in docs/giant-graphs.md.

    - `edges`: text files, plain, zstd or gzip, with two IDs per line and optional further columns, MatrixMarket files,
      or .npy arrays.
    - `out`: path of the data set.
    - `columns`: an `EdgeColumns`, if the IDs are not the first two columns or edges have weights or features.
    - `undirected`: store each edge in both directions. `dedup`: keep only the first of edges with the same ends.
      `self_loops`: `keep`, `drop` or `add`.
    - `nodes`: a `NodeTable` with one row per node.
    - `features`: a .npy or .npz array [V, F], or a text file without a header line, with one node per line; or, with
      `dtype` ("f32", ...) and `shape`, a raw file. `link`: link a .npy file into the graph instead of copying it; the
      file must then not change. `labels`: a .npy or .npz file, whole numbers [V], -1 or NaN for none, or a text with
      one per line.
    - `splits`: files of IDs, or masks of bool [V], by split: `{"train": file, "valid": file, "test": file}`, or fewer.
    - `layout`: a `GraphLayout`: IDs, direction, order of nodes and type of features.
    - `append`: path of a graph that this function or `plimsoll ingest graph` made. Writes it to `out` with the edges and
      nodes of the new files added, the same bytes as one ingest of all files. Options that are not given are those of
      that graph.
    - `force`, `budget`, `threads`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts bytes of the sources, then edges.

    Warns if the input is read in a way that users may not expect, such as IDs with leading zeros.

    Errors: `InputError` naming file, line and column; `UsageError`; `BudgetExceeded`; `Failure`.
    """
    options = _core.GraphOptions()
    options.edges.files = _files(edges)
    instance_of("columns", columns, EdgeColumns).set_options(options)
    options.undirected, options.dedup = undirected, dedup
    options.self_loops = one_of("self_loops", self_loops, ("keep", "drop", "add"))
    if nodes is not None:
        instance_of("nodes", nodes, NodeTable).set_options(options)
    options.nodes.feature_array, options.nodes.label_array = _path(features), _path(labels)
    options.nodes.link = link
    options.nodes.feature_layout = (dtype, [int(size) for size in shape])
    if unknown := [name for name in splits if name not in SPLITS]:
        raise UsageError(f"splits: found {unknown[0]!r}, expected {', '.join(SPLITS)}")
    options.splits = [_path(splits.get(name)) for name in SPLITS]
    instance_of("layout", layout, GraphLayout).set_options(options)
    options.out, options.force = Path(out), force
    options.threads = thread_count(threads)
    options.append = _path(append)
    given = [name for group in (columns, nodes, layout) if group is not None for name in options_given(group)]
    flags = {"--undirected": undirected, "--dedup": dedup, "--self-loops": self_loops != "keep", "--link": link}
    given += [name for name, is_given in flags.items() if is_given]
    with python_words():
        notes = _core.make_graph(options, given, budget_text(budget), progress)
    for note in notes:
        warnings.warn(in_python(note), stacklevel=2)
    return Graph(out)


def _files(edges: PathLike | Iterable[PathLike]) -> list[Path]:
    files = [edges] if isinstance(edges, str | os.PathLike) else list(edges)
    if not files or not all(isinstance(file, str | os.PathLike) for file in files):
        raise UsageError(f"edges={edges!r}: expected a path, or a list of at least one path; save an array with numpy.save")
    return [Path(file) for file in files]


def _path(path: PathLike | None) -> str:
    # This is text, not a Path, because Path("") is the current folder.
    return "" if path is None else os.fspath(path)
