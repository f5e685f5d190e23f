"""Converts a `graph_set` to and from files of PyTorch Geometric.

A file `SPLIT.pt` is what `InMemoryDataset.save` writes and `InMemoryDataset.load` reads: the concatenated graphs of
one split, and where each graph begins. `graph_set.json` next to the files has what they cannot store: the order of
splits, feature names, recordings and the vocabulary.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plimsoll.arguments import Budget, PathLike, Progress
from plimsoll.data.from_pyg import from_pyg
from plimsoll.data.graph_set import GraphSet
from plimsoll.data.to_pyg import require_pyg
from plimsoll.errors import Failure, InputError, UsageError
from plimsoll.replacing import failures_of, new_folder

if TYPE_CHECKING:
    from torch_geometric.data import Data

TABLES = "graph_set.json"
_KEPT = ("splits", "features", "recordings", "vocabulary")
_KEPT_IF_THERE = ("channels",)


def to_pyg_files(graphs: GraphSet | PathLike, out: PathLike, *, force: bool = False, progress: Progress = None) -> None:
    """Writes a `graph_set` to a folder of files that PyTorch Geometric loads, one per split, without loss.

    - `graphs`: a `graph_set` or its path.
    - `out`: the folder.
    - `force`: replace a folder that holds only files of the same names.
    - `progress`: called with the number of finished graphs and the total.

    Attributes are those of `Graphs.to_pyg`. If graphs have both targets, in `y`, and classes, the classes are in
    `graph_y`. The edges of one split are in memory as i64; other columns are pages of the mapped files.

    Errors: `Failure`, `InputError`, `MissingPackage`.
    """
    require_pyg("to_pyg_files")
    import torch
    from torch_geometric.data import Data

    graphs = graphs if isinstance(graphs, GraphSet) else GraphSet(graphs)
    out = Path(out)
    _require_free(out, force, {_below(out, f"{name}.pt") for name in graphs.splits} | {out / TABLES})
    with new_folder(out) as made:
        for split in graphs.splits.values():
            file = _below(made, f"{split.name}.pt")
            columns, slices = _joined(graphs, split.first_graph, split.first_graph + split.graphs)
            with failures_of(out):
                file.parent.mkdir(parents=True, exist_ok=True)
                with open(file, "wb") as stream:
                    torch.save((columns, slices, Data), stream)
            if progress is not None:
                progress(split.first_graph + split.graphs, len(graphs))
        kept = _KEPT + tuple(key for key in _KEPT_IF_THERE if key in graphs.manifest)
        with failures_of(out):
            (made / TABLES).write_text(json.dumps({key: graphs.manifest[key] for key in kept}, indent=1) + "\n")


def from_pyg_files(
    source: PathLike,
    out: PathLike,
    *,
    leave_out: Iterable[str] = (),
    trust: bool = False,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> GraphSet:
    """Reads files of PyTorch Geometric into a `graph_set` and opens it.

    - `source`: a `.pt` file, whose split is named `all`, or a folder of them, one per split. A file holds what
      `InMemoryDataset.save` writes, a list of `Data`, or a mapping from split names to such lists.
    - `out`: path of the `graph_set`.
    - `trust`: load files that may run code, as a pickle can. Without it files are read as data only.
    - `leave_out`, `force`, `budget`, `progress`: as in `from_pyg`.

    Files written by `to_pyg_files` are read back into the same columns and tables. Errors: `InputError`,
    `UsageError`, `Failure`, `BudgetExceeded`.
    """
    require_pyg("from_pyg_files")
    source = Path(source)
    tables: dict[str, Any] = {}
    if source.is_dir():
        files = {str(file.relative_to(source).with_suffix("")): file for file in sorted(source.rglob("*.pt"))}
        if not files:
            raise InputError(f"{source}: holds no .pt files")
        if (source / TABLES).exists():
            tables = _tables(source / TABLES, files)
            files = {split["name"]: files[split["name"]] for split in tables["splits"]}
        splits: dict[str, Iterable[Data]] = {name: _graphs(file, trust) for name, file in files.items()}
    elif source.exists():
        loaded = _load(source, trust)
        of_splits = loaded if _has_splits(loaded) else {"all": loaded}
        splits = {name: _each(graphs, source) for name, graphs in of_splits.items()}
    else:
        raise InputError(f"no such file or folder: {source}")
    return from_pyg(splits, out, leave_out=leave_out, force=force, budget=budget, progress=progress, tables=tables or None)


def _require_free(out: Path, force: bool, files: set[Path]) -> None:
    """Checks that `out` does not exist or, with `force`, holds only `files`. Errors: `Failure`."""
    if not os.path.lexists(out):
        return
    existing = [out] if not out.is_dir() else sorted(path for path in out.rglob("*") if not path.is_dir())
    if others := [path for path in existing if path not in files]:
        raise Failure(f"{others[0]} was not written by plimsoll; name another output")
    if not force:
        raise Failure(f"{out} already exists; give --force to replace it")


def _below(folder: Path, name: str) -> Path:
    """Returns the path of a file in a folder. Errors: `InputError` for a name that leads out of the folder."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(f"split {name!r} cannot be used as a file name")
    return folder / name


def _joined(graphs: GraphSet, first: int, end: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the columns of some graphs as PyTorch Geometric joins them, and where each graph begins."""
    import torch

    nodes = slice(graphs.node_ptr[first], graphs.node_ptr[end])
    edges = slice(graphs.edge_ptr[first], graphs.edge_ptr[end])
    starts = {
        "graphs": torch.arange(end - first + 1),
        "nodes": torch.from_numpy(graphs.node_ptr[first : end + 1] - nodes.start),
        "edges": torch.from_numpy(graphs.edge_ptr[first : end + 1] - edges.start),
    }
    columns: dict[str, Any] = {}
    slices: dict[str, Any] = {}

    def add(name: str, column: str, rows: slice, unit: str) -> None:
        values = torch.from_numpy(np.array(graphs._column(column)[rows], order="C"))
        columns[name] = values.squeeze(-1) if "target" in column and values.shape[-1] == 1 else values
        slices[name] = starts[unit]

    some = slice(first, end)
    if graphs.x.shape[1]:
        add("x", "x", nodes, "nodes")
    columns["edge_index"] = torch.from_numpy(np.ascontiguousarray(graphs.edges[edges].T, dtype=np.int64))
    slices["edge_index"] = starts["edges"]
    if graphs.edge_attr.shape[1]:
        add("edge_attr", "edge_attr", edges, "edges")
    if graphs.pos is not None:
        add("pos", "pos", nodes, "nodes")
    add("y", "target" if graphs.target is not None else "y", some, "graphs")
    if graphs.target is not None and (graphs.y[some] != -1).any():
        add("graph_y", "y", some, "graphs")
    if graphs.node_target is not None:
        add("node_y", "node_target", nodes, "nodes")
    elif graphs.node_y is not None:
        add("node_y", "node_y", nodes, "nodes")
    if "x" not in columns:
        counts = np.diff(graphs.node_ptr[first : end + 1])
        columns["_num_nodes"] = counts.tolist()
        columns["num_nodes"] = int(counts.sum())
    return columns, slices


def _tables(file: Path, files: dict[str, Path]) -> dict[str, Any]:
    try:
        tables: dict[str, Any] = json.loads(file.read_text())
        named = [split["name"] for split in tables["splits"]]
        differ = set(named) != set(files) or any(key not in tables for key in _KEPT)
    except (ValueError, KeyError, TypeError, OSError, RecursionError) as error:
        raise InputError(f"{file}: {error!r}; expected the file that plimsoll convert wrote, or no such file") from error
    if differ:
        raise InputError(f"{file}: names the splits {named}, but the folder has {sorted(files)}; remove the file to ignore it")
    return tables


def _load(file: Path, trust: bool) -> Any:
    import pickle

    import torch
    from torch_geometric.data import Data
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import EdgeStorage, GlobalStorage, NodeStorage

    known = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage, EdgeStorage, NodeStorage]
    try:
        with torch.serialization.safe_globals(known):
            return torch.load(file, map_location="cpu", weights_only=not trust)
    except pickle.UnpicklingError as error:
        why = str(error).splitlines()[0]
        raise InputError(
            f"{file}: {why}; if you trust its author, give --trust (trust=True) to load it anyway, which runs the code in it"
        ) from error
    except Exception as error:  # For damaged bytes torch's reader raises errors of many types.
        raise InputError(f"{file}: cannot be loaded by torch: {error}") from error


def _graphs(file: Path, trust: bool) -> Iterator[Data]:
    """Loads a file when its graphs are asked for, so that one file at a time is in memory."""
    yield from _each(_load(file, trust), file)


def _has_splits(loaded: Any) -> bool:
    return isinstance(loaded, dict) and bool(loaded) and all(isinstance(graphs, (list, tuple)) for graphs in loaded.values())


def _each(loaded: Any, file: Path) -> Iterable[Data]:
    from torch_geometric.data import Data

    if isinstance(loaded, Data):
        loaded = [loaded]
    if isinstance(loaded, (list, tuple)) and all(isinstance(graph, Data) for graph in loaded):
        for graph in loaded:
            _require_current(graph, file)
        return loaded
    joined, slices = (loaded[0], loaded[1]) if isinstance(loaded, tuple) and len(loaded) in (2, 3) else (None, None)
    if isinstance(joined, dict):
        try:
            joined = Data.from_dict(joined)
        except Exception as error:  # Names and columns may have any type.
            raise InputError(f"{file}: {error}; its columns do not match Data") from error
    if not isinstance(joined, Data) or not isinstance(slices, dict) or not slices:
        raise InputError(f"{file}: is {type(loaded).__name__}, expected a list of Data, or a file written by "
                         "InMemoryDataset.save")
    _require_current(joined, file)
    return _separated(joined, slices, file)


def _require_current(graph: Data, file: Path) -> None:
    from torch_geometric.data.storage import GlobalStorage

    if not isinstance(vars(graph).get("_store"), GlobalStorage):
        raise InputError(
            f"{file}: holds Data in the form of an old version of PyTorch Geometric; load it with that version, and save it "
            "again "
            "with a current version of PyTorch Geometric"
        )


def _separated(joined: Data, slices: dict[Any, Any], file: Path) -> Iterator[Data]:
    from torch_geometric.data import Data
    from torch_geometric.data.separate import separate

    starts = next((of_column for of_column in slices.values() if getattr(of_column, "ndim", 0) == 1), None)
    if starts is None:  # The slices of attributes that are mappings or lists are mappings or lists too.
        raise InputError(f"{file}: its slices do not define where each graph begins")
    for i in range(len(starts) - 1):
        try:
            graph = separate(Data, joined, i, slices, decrement=False)
        except Exception as error:  # Slices and columns may have any type.
            raise InputError(f"{file}: graph {i}: {error}; its slices do not match its columns") from error
        yield graph
