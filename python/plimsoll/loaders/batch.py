"""Turns the tensors of a batch into a torch_geometric.data.Batch."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from plimsoll import _core
from plimsoll.data.graph_set import Graphs

#: The fields that `_core` returns, in the order of PyTorch Geometric's keys. batch and ptr come last.
FIELDS = ("x", "edge_index", "edge_attr", "y", "pos", "num_nodes", "node_y")


class Collator:
    """Makes batches of given graphs of a selection, in the caller's thread."""

    def __init__(self, dataset: Graphs, follow: Collection[str] = (), left_out: Collection[str] = ()) -> None:
        self._follow, self._left_out = follow, left_out
        self._indices = np.asarray(dataset.indices, np.int64)
        self._has_x = dataset.graph_set.num_node_features > 0
        self._batches = _core.Batches(dataset.graph_set._mapping, self._indices, list(left_out), _core.Batching())

    def __call__(self, graphs: NDArray[np.int64]) -> Batch:
        """Returns the batch of the graphs with these numbers in the selection. Errors: `BudgetExceeded`; `InputError`
        for a damaged graph.
        """
        return to_batch(self._batches.batch_of(self._indices[graphs]), self._has_x, self._follow, self._left_out)


def to_batch(tensors: dict[str, torch.Tensor], has_x: bool, follow: Collection[str], left_out: Collection[str]) -> Batch:
    """Returns the batch that `Batch.from_data_list` makes of the same graphs, with the same keys in the same order and
    the data to split it again.
    """
    ptr, edge_ptr = tensors["ptr"], tensors["edge_ptr"]
    graphs = len(ptr) - 1
    each = torch.arange(graphs + 1)
    slices = {"x": ptr, "pos": ptr, "node_y": ptr, "edge_index": edge_ptr, "edge_attr": edge_ptr, "y": each}
    batch = Batch(_base_cls=Data)
    batch._slice_dict, batch._inc_dict = {}, {}
    for key in FIELDS:
        if key in tensors:
            batch[key] = tensors[key]
            batch._slice_dict[key] = slices[key]
            batch._inc_dict[key] = ptr[:-1] if key == "edge_index" else torch.zeros(graphs, dtype=torch.long)
            if key in follow:
                sizes = slices[key].diff()
                batch[f"{key}_batch"] = torch.repeat_interleave(each[:-1], sizes)
                batch[f"{key}_ptr"] = slices[key].clone()
        elif key == "num_nodes" and not has_x and key not in left_out:
            batch._store._num_nodes = ptr.diff().tolist()
            batch.num_nodes = int(ptr[-1])
    batch.batch, batch.ptr = tensors["batch"], ptr
    batch._num_graphs = graphs
    return batch
