"""Writes a `HeteroData` of PyTorch Geometric as a graph with types; used by `plimsoll.from_pyg`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, budget_text
from plimsoll.data.columns import array_of, whole_numbers
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.errors import MissingPackage, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from torch_geometric.data import HeteroData

KEY = "node"  # Name of the column with each node's number, by which edges refer to nodes.
UNITS = ("s", "ms", "us", "ns")


def is_hetero(value: Any) -> bool:
    """Returns whether a value is a `torch_geometric.data.HeteroData`. Imports nothing."""
    return any(base.__module__ == "torch_geometric.data.hetero_data" and base.__name__ == "HeteroData"
               for base in type(value).__mro__)


def write_hetero(
    data: HeteroData, path: PathLike, left_out: set[str], force: bool, budget: Budget, time_unit: str | None
) -> TypedGraph:
    """Writes one `HeteroData` and opens it; see `from_pyg`."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingPackage(f"from_pyg of HeteroData: {error}; install it: pip install pyarrow") from error
    if not data.node_types:
        raise UsageError("dataset: has no node types; expected at least one")
    nodes = {name: _node_count(data, name) for name in data.node_types}
    specs = [_node_spec(data[name], name, nodes[name], left_out, time_unit) for name in data.node_types]
    specs += [_edge_spec(data[name], name, nodes, left_out, time_unit) for name in data.edge_types]
    _core.make_tables(specs, False, Path(path), force, budget_text(budget), None)
    return TypedGraph(path)


def _node_count(data: HeteroData, name: str) -> int:
    count = data[name].num_nodes
    if count is None:
        raise UsageError(f"node type {name!r}: has no num_nodes and nothing to count; set data[{name!r}].num_nodes")
    return int(count)


def _node_spec(store: Mapping[str, Any], name: str, rows: int, left_out: set[str], time_unit: str | None) -> _core.TableSpec:
    spec = _core.TableSpec(name)
    spec.key = [KEY]
    columns = {KEY: np.arange(rows)}
    _set_table(spec, store, columns, rows, left_out | {"num_nodes"}, time_unit, f"node type {name!r}")
    return spec


def _edge_spec(
    store: Mapping[str, Any], name: tuple[str, str, str], nodes: dict[str, int], left_out: set[str], time_unit: str | None
) -> _core.TableSpec:
    where = f"edge type {name}"
    if "edge_index" not in store:
        hint = "; leave torch_geometric.transforms.ToSparseTensor out" if "adj_t" in store else ""
        raise UsageError(f"{where}: has no edge_index{hint}")
    edges = array_of(store["edge_index"], f"{where}: edge_index")
    edges = whole_numbers(edges, (2, edges.shape[-1] if edges.ndim else 0), f"{where}: edge_index")
    for ends, node_type in zip(edges, (name[0], name[2]), strict=True):
        if ends.size and not (ends.min() >= 0 and ends.max() < nodes[node_type]):
            raise UsageError(f"{where}: edge_index names nodes {ends.min()} to {ends.max()}, expected 0 to "
                             f"{nodes[node_type] - 1}, as there are {nodes[node_type]} {node_type!r}")
    spec = _core.TableSpec(".".join(name))
    spec.as_edge, spec.edge = True, name[1]
    spec.add_foreign_key(["source"], name[0])
    spec.add_foreign_key(["target"], name[2])
    columns = {"source": edges[0], "target": edges[1]}
    _set_table(spec, store, columns, edges.shape[1], left_out | {"edge_index"}, time_unit, where)
    return spec


def _set_table(
    spec: _core.TableSpec, store: Mapping[str, Any], columns: dict[str, Any], rows: int, left_out: set[str],
    time_unit: str | None, where: str
) -> None:
    import pyarrow as pa

    meanings = {}
    for name, value in store.items():
        if name in left_out or value is None:
            continue
        if name in columns:
            raise UsageError(f"{where}: {name!r} is a reserved name; rename it")
        columns[name], is_text = _column(value, rows, f"{where}: {name}", name)
        if is_text:
            meanings[name] = "category"
    if "time" in columns:
        if time_unit not in UNITS:
            raise UsageError(f"{where}: has time; time_unit={time_unit!r} is not a unit, expected one of {UNITS}")
        spec.time, spec.time_unit = "time", time_unit
    spec.meanings = meanings
    spec.set_stream(pa.table(columns).__arrow_c_stream__())


def _column(value: Any, rows: int, where: str, name: str) -> tuple[pa.Array, bool]:
    """Returns the values as an Arrow array, and whether they are strings."""
    import pyarrow as pa

    if isinstance(value, list | tuple) and len(value) == rows and all(isinstance(text, str) for text in value):
        return pa.array(value, pa.string()), True
    is_array = hasattr(value, "detach") or isinstance(value, np.ndarray)
    array = array_of(value, where) if is_array else np.empty(0, object)
    if array.ndim not in (1, 2) or len(array) != rows or array.dtype.kind not in "fiub":
        shape = f"{array.dtype} of shape {array.shape}" if is_array else type(value).__name__
        raise UsageError(f"{where}: is {shape}, expected {rows} numbers, rows of numbers or texts; "
                         f"leave_out=[{name!r}] leaves it out")
    if array.ndim == 1:
        return pa.array(np.ascontiguousarray(array)), False
    if array.shape[1] == 0:
        return pa.nulls(rows), False
    flat = np.ascontiguousarray(array, np.float32 if array.dtype.kind == "b" else None).ravel()
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), array.shape[1]), False
