"""Converts data sets of PyTorch Geometric: `from_pyg`."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, texts
from plimsoll.data.columns import array_of, class_of, features_of, node_classes, positions, targets_of, whole_numbers
from plimsoll.data.data_set import DataSet
from plimsoll.data.from_hetero import is_hetero, write_hetero
from plimsoll.data.graph import Graph
from plimsoll.data.graph_set import GraphSet
from plimsoll.data.pyg_data import is_data, write_data
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.errors import Failure, UsageError
from plimsoll.replacing import hidden_name

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData

Made = TypeVar("Made", bound=DataSet)

_STORED = {"x", "edge_index", "edge_attr", "y", "node_y", "pos", "num_nodes"}
_PROGRESS_GRAPHS = 256
_WAITING_BYTES = 1 << 20
_MAX_NODES = 2**31 - 1  # nodes of a graph in a graph_set, whose edges are i32


@overload
def from_pyg(
    dataset: Data, path: PathLike, *, leave_out: Iterable[str] = (), force: bool = False, budget: Budget = None
) -> Graph: ...
@overload
def from_pyg(
    dataset: HeteroData,
    path: PathLike,
    *,
    leave_out: Iterable[str] = (),
    force: bool = False,
    budget: Budget = None,
    time_unit: str | None = None,
) -> TypedGraph: ...
@overload
def from_pyg(
    dataset: Iterable[Data] | Mapping[str, Iterable[Data]],
    path: PathLike,
    *,
    leave_out: Iterable[str] = (),
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
    tables: Mapping[str, Any] | None = None,
) -> GraphSet: ...
def from_pyg(
    dataset: Any,
    path: PathLike,
    *,
    leave_out: Iterable[str] = (),
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
    tables: Mapping[str, Any] | None = None,
    time_unit: str | None = None,
) -> GraphSet | Graph | TypedGraph:
    """Writes a PyTorch Geometric data set of small graphs to a `graph_set`, or one `Data` or `HeteroData` to a `graph`, and
    opens it.

    - `dataset`: anything that yields `Data` objects, or a mapping from split names to such; or one `Data` or `HeteroData`.
    - `path`: path of the new data set.
    - `leave_out`: attributes to ignore. Any other attribute that cannot be stored is refused.
    - `force`: replace an existing data set. Without it, an existing data set is compared with a new one, which is
      written next to it and deleted; if they have the same columns, it is opened, with a warning.
    - `budget`: limits the buffers of the columns, which need at most 1.75 MiB.
    - `progress`: called with the number of finished graphs and the total, which is 0 if it is not known.
    - `tables`: `features`, `recordings` and `vocabulary` as in the manifest of a `graph_set`
      (docs/formats/graph-set.md). Without them features are named x_0, x_1, ... and edge_attr_0, ..., and there are
      no recordings and no vocabulary.

    A data set is read once, one graph at a time. All graphs must have the same attributes. If the first graphs have
    no labels, they are held until one has; beyond 1 MiB they are held in a temporary file (`TMPDIR`). These
    attributes of each graph are stored:

    - `x` [n, F] and `edge_attr` [e, K]: features. Both may be missing; a single column may have one axis.
    - `edge_index` [2, e]. A graph without it has no edges.
    - `pos` [n, 2] or [n, 3]: coordinates. Two coordinates get z = 0.
    - `y`: the class of the graph, one whole number, -1 for none. `node_y` [n]: the classes of its nodes, -1 for none.
    - Regression targets are floating-point numbers, NaN if unknown, or several labels, whole numbers or bool in T
      columns. `y` [1] or [1, T] becomes the column `target`, and `node_y` [n] or [n, T] the column `node_target`. A
      graph without targets gets NaN. The class of a graph with targets may be in `graph_y`.

    Features, targets and positions are stored as f32; values that f32 cannot represent exactly are refused.

    A single `Data` becomes one large graph, from `x`, `edge_index`, `edge_attr`, `edge_weight` [e], node classes `y`
    [n], and splits as `train_mask`, `val_mask` and `test_mask` [n] or as `train_idx`, `valid_idx` and `test_idx`.
    Edges are sorted by target; the column `edge_id` has their positions in `edge_index`, by which `Graph.to_pyg` and
    loaders number them.

    A `HeteroData` becomes a graph with types (`TypedGraph`), which needs pyarrow: each attribute with a row per node or
    edge, numbers [R] or [R, D] or a list of texts, is a column of its name. `time` is the time of nodes or edges, in
    `time_unit`: "s", "ms", "us" or "ns". Edges are sorted by (target, time, source). The key of a node is its number,
    in the column "node". Floating-point numbers stay f32 or f64.

    If the call fails, the output stays as it was. Errors: `UsageError` naming the graph, `Failure`, `BudgetExceeded`.
    """
    left_out = set(texts("leave_out", leave_out))
    if is_data(dataset):
        _refuse("one Data", progress=progress, tables=tables, time_unit=time_unit)
        return unless_exists(path, force, lambda out: write_data(dataset, out, left_out, force, budget), Graph)
    if is_hetero(dataset):
        _refuse("one HeteroData", progress=progress, tables=tables)
        return unless_exists(
            path, force, lambda out: write_hetero(dataset, out, left_out, force, budget, time_unit), TypedGraph
        )
    _refuse("a data set of small graphs", time_unit=time_unit)
    _require_one_type(dataset, "dataset")
    splits = dict(dataset) if isinstance(dataset, Mapping) else {"all": dataset}
    if wrong := [name for name in splits if not isinstance(name, str) or not name]:
        raise UsageError(f"dataset: names a split {wrong[0]!r}, expected text")

    def write(out: Path) -> GraphSet:
        read = lambda data, where: _graph(data, left_out, where)  # noqa: E731
        return write_graphs(splits, read, out, "torch_geometric", force, budget, progress, tables)

    return unless_exists(path, force, write, GraphSet)


def _refuse(kind: str, **options: object) -> None:
    """Refuses options that do not apply to this kind of data, rather than ignoring them."""
    if given := [name for name, value in options.items() if value is not None]:
        raise UsageError(f"{given[0]}: does not apply to {kind}; leave it out")


def unless_exists(path: PathLike, force: bool, write: Callable[[Path], Made], kind: type[Made]) -> Made:
    """Calls `write` with `path`, unless there is a data set with the same columns, which is opened with a warning.

    Errors: `Failure` for an output with other content, unless `force` replaces a data set; and what `write` raises.
    """
    path = Path(path)
    if force or not os.path.lexists(path):
        return write(path)
    other = Failure(f"{path} already exists with different content; give another path, or force=True to replace it")
    if (existing := _content(path)) is None:
        raise Failure(f"{path} already exists and is not a data set; give another path")
    made = path.with_name(f"{hidden_name(path)}{os.getpid()}")
    try:
        write(made).close()
        if _content(made) != existing:
            raise other
    finally:
        shutil.rmtree(made, ignore_errors=True)
    warnings.warn(f"{path} already has these graphs; nothing was written", stacklevel=3)
    return kind(path)


def _content(folder: Path) -> Any:
    """Returns the manifest of a data set without its provenance; None if there is none."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest.pop("provenance", None)
        return manifest
    except (OSError, ValueError, AttributeError):
        return None


def write_graphs(
    splits: Mapping[str, Iterable[Any]],
    read: Callable[[Any, str], Columns],
    path: PathLike,
    source: str,
    force: bool,
    budget: Budget,
    progress: Progress,
    tables: Mapping[str, Any] | None = None,
) -> GraphSet:
    """Writes what `read(graph, where)` returns for each graph to a `graph_set` and opens it. The rest is as in `from_pyg`."""
    path = Path(path)
    sized = [graphs for graphs in splits.values() if isinstance(graphs, Sized)]
    total = sum(map(len, sized)) if len(sized) == len(splits) else 0
    counts: list[tuple[str, int]] = []

    def graphs_read() -> Iterator[Columns]:
        done = 0
        for name, graphs in splits.items():
            before = done
            for data in graphs:
                yield read(data, f"graph {done}" + (f" (of split {name!r})" if len(splits) > 1 else ""))
                done += 1
                if progress is not None and done % _PROGRESS_GRAPHS == 0:
                    progress(done, total)
            counts.append((name, done - before))

    writer: _core.GraphWriter | None = None
    try:
        for number, graph in enumerate(_with_targets(graphs_read())):
            if writer is None:
                first = graph
                widths = graph.x.shape[1], graph.edge_attr.shape[1], len(graph.target), graph.node_target.shape[1]
                writer = _core.GraphWriter(path, force, *widths, budget_text(budget))
            writer.append(*_like(first, graph, number))
        if writer is None:
            raise UsageError(f"{path}: the data set has no graphs; expected at least one")
        if progress is not None:
            progress(number + 1, total)
        named = {"node": _names("x", first.x), "edge": _names("edge_attr", first.edge_attr)}
        without: dict[str, Any] = {"features": named, "recordings": [], "vocabulary": []}
        rest = without if tables is None else _tables(tables, _splits(counts), named)
        writer.publish(json.dumps({"splits": _splits(counts), **rest}), source)
    except BaseException:
        if writer is not None:
            writer.abandon()
        raise
    return GraphSet(path)


class Columns(NamedTuple):
    """One graph's values for each column."""

    nodes: int
    x: NDArray[np.float32]
    edges: NDArray[np.int32]
    edge_attr: NDArray[np.float32]
    y: int
    node_y: NDArray[np.int64] | None
    target: NDArray[np.float32]
    node_target: NDArray[np.float32]
    pos: NDArray[np.float32] | None


def _graph(data: Data, left_out: set[str], where: str) -> Columns:
    _require_one_type(data, where)
    if not hasattr(data, "to_dict") or not hasattr(data, "edge_index"):
        raise UsageError(f"{where}: is {type(data).__name__}, expected torch_geometric.data.Data with edge_index")
    given = data.to_dict().items()
    values: dict[str, Any] = {key: value for key, value in given if value is not None and key not in left_out}
    y, node_y = values.get("y"), values.get("node_y")
    target = targets_of(y, 1, f"{where}: y")
    label = values.pop("graph_y", None) if target.shape[1] else y
    unknown = sorted(values.keys() - _STORED)
    if "adj_t" in unknown:
        raise UsageError(f"{where}: has adj_t but no edge_index; remove torch_geometric.transforms.ToSparseTensor")
    if unknown:
        raise UsageError(
            f"{where}: has {', '.join(unknown)}, for which a graph_set has no columns; give leave_out={unknown} to leave it out"
        )
    nodes = int(data.num_nodes or 0)
    if nodes > _MAX_NODES:
        raise UsageError(f"{where}: has {nodes} nodes, expected at most {_MAX_NODES}; plimsoll.ingest.graph supports larger "
                         "graphs")
    edges = _edges(values.get("edge_index"), nodes, where)
    node_target = targets_of(node_y, nodes, f"{where}: node_y")
    return Columns(
        nodes,
        features_of(values.get("x"), nodes, f"{where}: x"),
        edges,
        features_of(values.get("edge_attr"), len(edges), f"{where}: edge_attr"),
        class_of(label, where),
        None if node_y is None or node_target.shape[1] else node_classes(node_y, nodes, f"{where}: node_y"),
        target[0],
        node_target,
        None if values.get("pos") is None else positions(values["pos"], f"{where}: pos", nodes),
    )


def _require_one_type(data: Any, where: str) -> None:
    if "HeteroData" in {base.__name__ for base in type(data).__mro__}:
        raise UsageError(f"{where}: is HeteroData, expected Data; one HeteroData becomes a graph with types: from_pyg(data, path)")


def _edges(value: Any, nodes: int, where: str) -> NDArray[np.int32]:
    if value is None:
        return np.empty((0, 2), np.int32)
    edge_index = array_of(value, f"{where}: edge_index")
    count = edge_index.shape[-1] if edge_index.ndim else 0
    edges = whole_numbers(edge_index, (2, count), f"{where}: edge_index")
    if edges.size and not (edges.min() >= 0 and edges.max() < nodes):
        raise UsageError(
            f"{where}: edge_index names nodes {edges.min()} to {edges.max()}, expected 0 to {nodes - 1}: "
            f"there are {nodes} nodes"
        )
    return np.ascontiguousarray(edges.T, dtype=np.int32)


def _with_targets(graphs: Iterator[Columns]) -> Iterator[Columns]:
    """Yields the same graphs. The first graphs without labels are held, in a temporary file if they are large, until a
    graph has labels.
    """
    with tempfile.SpooledTemporaryFile(_WAITING_BYTES) as file:
        waiting, answered = 0, None
        for graph in graphs:
            if graph.y != -1 or len(graph.target) or graph.node_y is not None or graph.node_target.shape[1]:
                answered = graph
                break
            try:
                pickle.dump(graph, file)
            except OSError as error:
                raise Failure(f"{tempfile.gettempdir()}: graphs without targets cannot be kept here: {error}; set TMPDIR to "
                              "another folder") from error
            waiting += 1
        file.seek(0)
        for _ in range(waiting):
            yield _filled(pickle.load(file), 0 if answered is None else len(answered.target))
    if answered is not None:
        yield answered
    yield from graphs


def _filled(graph: Columns, targets: int) -> Columns:
    """Returns the graph with this number of unknown targets if it has no labels."""
    if len(graph.target) or graph.y != -1:
        return graph
    return graph._replace(target=np.full(targets, np.nan, np.float32))


def _like(first: Columns, graph: Columns, number: int) -> Columns:
    """Returns the graph, with unknown targets if it has none. Errors: `UsageError` if its columns differ from those of
    `first`.
    """
    graph = _filled(graph, len(first.target))
    widths, expected = (
        (
            *(g.x.shape[1], g.edge_attr.shape[1], g.node_y is not None, len(g.target), g.node_target.shape[1]),
            g.pos is not None,
        )
        for g in (graph, first)
    )
    if widths != expected:
        raise UsageError(
            f"graph {number}: has (node features, edge features, node_y, targets, targets of nodes, pos) {widths}, the "
            f"first graph has {expected}; expected the same for all graphs"
        )
    return graph


def _splits(counts: list[tuple[str, int]]) -> list[dict[str, Any]]:
    first = 0
    splits = []
    for name, graphs in counts:
        splits.append({"name": name, "first_graph": first, "graphs": graphs})
        first += graphs
    return splits


def _tables(tables: Mapping[str, Any], splits: list[dict[str, Any]], named: dict[str, list[str]]) -> dict[str, Any]:
    """Returns the tables for the manifest, with the names in `named` for features without names.

    Errors: `UsageError`, so that no data set is published that cannot be opened.
    """
    try:
        features = {kind: texts(kind, tables["features"][kind]) for kind in ("node", "edge")}
        for kind, names in features.items():
            if names and len(names) != len(named[kind]):
                raise UsageError(
                    f"tables: features name {len(names)} columns of each {kind}, expected {len(named[kind])}, as in the graphs"
                )
        found = {"features": features, "recordings": list(tables["recordings"]), "vocabulary": list(tables["vocabulary"])}
        if "channels" in tables:
            found["channels"] = texts("channels", tables["channels"])
        ranges = {split["name"]: (split["first_graph"], split["first_graph"] + split["graphs"]) for split in splits}
        expected = 0
        for recording in found["recordings"]:
            first, end = recording["first_graph"], recording["first_graph"] + recording["graphs"]
            begin, last = ranges.get(recording["split"], (0, -1))
            if first != expected or end < first or (end > first and not begin <= first <= end <= last):
                raise UsageError(
                    f"tables: recording {recording['name']!r} of split {recording['split']!r} has the graphs {first} to "
                    f"{end - 1}, expected to start at {expected} and to be within its split"
                )
            expected = end
    except (KeyError, TypeError) as error:
        raise UsageError(
            f"tables: {error!r}; expected features, recordings and vocabulary as in a manifest "
            "(docs/formats/graph-set.md)"
        ) from error
    if found["recordings"] and expected != (graphs := sum(split["graphs"] for split in splits)):
        raise UsageError(f"tables: recordings do not cover the {graphs} graphs")
    return found


def _names(column: str, array: NDArray[np.float32]) -> list[str]:
    return [f"{column}_{i}" for i in range(array.shape[1])]
