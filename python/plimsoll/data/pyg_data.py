"""Stores one `Data` of PyTorch Geometric as a `graph`: the whole `Data` for `from_pyg`, or only its edges, in a
temporary folder, for a loader.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, budget_text
from plimsoll.data.columns import array_of, chosen_rows, features_of, node_classes, whole_numbers
from plimsoll.data.graph import Graph
from plimsoll.data.graph_columns import SPLITS
from plimsoll.errors import UsageError

if TYPE_CHECKING:
    from torch_geometric.data import Data

_STORED = {"x", "edge_index", "edge_attr", "edge_weight", "y", "num_nodes"}
_MASKS = {"train": "train_mask", "valid": "val_mask", "test": "test_mask"}


def is_data(value: Any) -> bool:
    """Returns whether a value is a `torch_geometric.data.Data` with one type of nodes. Imports nothing."""
    return any(base.__module__ == "torch_geometric.data.data" and base.__name__ == "Data" for base in type(value).__mro__)


def one_graph(value: Any) -> str:
    """Returns the error text for one `Data` given in place of a data set of graphs."""
    if hasattr(value, "to_data_list"):
        return "dataset: is one Batch; give batch.to_data_list()"
    return "dataset: is one graph; give [data], or use plimsoll.NeighborLoader(data, ...) if it is large"


def write_data(data: Data, path: PathLike, leave_out: Iterable[str], force: bool, budget: Budget) -> Graph:
    """Writes one `Data` to a `graph` and opens it; see `from_pyg`."""
    left_out = set(leave_out)
    values: dict[str, Any] = {k: v for k, v in data.to_dict().items() if v is not None and k not in left_out}
    known = _STORED | set(_MASKS.values()) | {f"{name}_idx" for name in SPLITS}
    if unknown := sorted(values.keys() - known):
        raise UsageError(
            f"data: has {', '.join(unknown)}, for which a graph has no columns; give leave_out={unknown} to leave it out"
        )
    nodes = int(data.num_nodes or 0)
    arrays, order = _with_edges(values.get("edge_index"), nodes)
    edges = len(order)
    x = features_of(values.get("x"), nodes, "data: x")
    edge_attr = features_of(values.get("edge_attr"), edges, "data: edge_attr")
    arrays.x = x if x.shape[1] else None
    arrays.edge_attr = edge_attr[order] if edge_attr.shape[1] else None
    if "edge_weight" in values:
        arrays.edge_weight = _weights(values["edge_weight"], edges, "edge_weight")[order]
    if "y" in values:
        y = array_of(values["y"], "data: y")
        classes = node_classes(y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y, nodes, "data: y")
        arrays.y, arrays.classes = classes, int(classes.max(initial=-1)) + 1
    arrays.splits = [_split(values, name, nodes) for name in SPLITS]
    arrays.set_features([f"x_{i}" for i in range(x.shape[1])], [f"edge_attr_{i}" for i in range(edge_attr.shape[1])])
    _core.write_graph(Path(path), force, arrays, "torch_geometric", budget_text(budget))
    return Graph(path)


class EdgesOfData(Graph):
    """The edges of a `Data` in a temporary folder, which is removed with this object.

    A copy, also a pickled one, has its own folder.
    """

    def __init__(self, path: PathLike, data: Data, weight_attr: str | None) -> None:
        super().__init__(path)
        self._made_of = data, weight_attr

    def __reduce__(self) -> Any:
        return edges_of, self._made_of


def edges_of(data: Data, weight_attr: str | None = None) -> Graph:
    """Returns the edges of a `Data`, and the attribute with their weights, as a graph in a temporary folder."""
    arrays, order = _with_edges(data.get("edge_index"), int(data.num_nodes or 0))
    if weight_attr is not None:
        if data.get(weight_attr) is None:
            raise UsageError(f"weight_attr={weight_attr!r}: data has no such attribute")
        arrays.edge_weight = _weights(data[weight_attr], len(order), weight_attr)[order]
    folder = tempfile.mkdtemp(prefix="plimsoll-")
    try:
        _core.write_graph(Path(folder) / "graph", False, arrays, "torch_geometric", "")
        graph = EdgesOfData(Path(folder) / "graph", data, weight_attr)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(graph, _remove, folder, os.getpid())
    return graph


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # A child of fork() must not remove its parent's folder.
        shutil.rmtree(folder, ignore_errors=True)


def _with_edges(edge_index: Any, nodes: int) -> tuple[_core.GraphArrays, NDArray[np.int64]]:
    """Returns the edges as one row of sources per target, and the position of each edge in `edge_index`."""
    pairs = np.empty((2, 0), np.int64) if edge_index is None else np.asarray(edge_index.detach().cpu().as_subclass(_tensor()))
    pairs = whole_numbers(pairs, (2, pairs.shape[-1] if pairs.ndim else 0), "data: edge_index")
    if pairs.size and not 0 <= pairs.min() <= pairs.max() < nodes:
        raise UsageError(f"data: edge_index names nodes {pairs.min()} to {pairs.max()}, expected 0 to {nodes - 1}")
    if nodes > 2**32:
        raise UsageError(f"data: has {nodes} nodes, expected at most 2^32; plimsoll.ingest.graph supports more")
    sources, targets = pairs
    order = np.lexsort((sources, targets))
    arrays = _core.GraphArrays()
    arrays.row_ends = np.cumsum(np.bincount(targets, minlength=nodes), dtype=np.int64)
    arrays.indices = sources[order].astype(np.uint32)
    if (np.diff(order) != 1).any() or (len(order) and order[0] != 0):
        arrays.edge_id = order
    return arrays, order


def _tensor() -> Any:
    import torch

    return torch.Tensor


def _weights(value: Any, edges: int, name: str) -> NDArray[np.float32]:
    weights = features_of(value, edges, f"data: {name}")
    if weights.shape != (edges, 1):
        raise UsageError(f"data: {name} has {weights.shape[1]} numbers per edge, expected one")
    return weights[:, 0]


def _split(values: dict[str, Any], name: str, nodes: int) -> NDArray[np.int64] | None:
    """Returns the nodes of a split in ascending order, from a mask as PyTorch Geometric's data sets have it, or from
    `NAME_idx`.
    """
    if (mask := values.get(_MASKS[name])) is not None:
        if tuple(mask.shape) != (nodes,):
            raise UsageError(f"data: {_MASKS[name]} has the shape {tuple(mask.shape)}, expected ({nodes},): select one of its "
                             "splits")
        return np.flatnonzero(np.asarray(mask))
    if (index := values.get(f"{name}_idx")) is not None:
        return np.unique(chosen_rows(array_of(index, f"data: {name}_idx").reshape(-1), nodes, f"data: {name}_idx"))
    return None
