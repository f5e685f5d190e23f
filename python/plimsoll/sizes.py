"""Counts of graphs and batches that the memory of a step depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from plimsoll.graph_set import Graphs, GraphSet


class Size(NamedTuple):
    """How much is in a batch."""

    graphs: int
    nodes: int
    edges: int
    self_loops: int

    @property
    def terms(self) -> list[int]:
        """What sizes of tensors are taken to be affine in, the constant first."""
        return [1, *self]

    def __str__(self) -> str:
        return f"{self.graphs} graphs, {self.nodes} nodes, {self.edges} edges"


def size_of(batch: Data) -> Size:
    """Of a `Data` or `Batch`."""
    edge_index = batch.edge_index
    graphs = batch.num_graphs if "ptr" in batch else 1
    loops = int((edge_index[0] == edge_index[1]).sum()) if isinstance(edge_index, torch.Tensor) else 0
    return Size(int(graphs), int(batch.num_nodes or 0), int(batch.num_edges), loops)


def sizes_of(graphs: Sequence[Data] | Graphs) -> NDArray[np.int64]:
    """Of each graph: i64 [G, 4], in the order of `Size`. Reads every graph of a data set of PyTorch Geometric."""
    if isinstance(graphs, Graphs):
        return _sizes_in(graphs)
    return np.array([size_of(graph) for graph in graphs], np.int64).reshape(-1, 4)


def _sizes_in(graphs: Graphs) -> NDArray[np.int64]:
    whole: GraphSet = graphs.graph_set
    loops = np.zeros(len(whole.edges) + 1, np.int64)
    np.cumsum(whole.edges[:, 0] == whole.edges[:, 1], out=loops[1:])
    nodes, edges = whole.node_ptr, whole.edge_ptr
    columns = np.ones(len(whole), np.int64), np.diff(nodes), np.diff(edges), np.diff(loops[edges])
    indices = np.asarray(graphs._indices, np.int64)
    return np.stack(columns, axis=1)[indices]
