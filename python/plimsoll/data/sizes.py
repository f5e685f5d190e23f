"""Counts of graphs and batches on which the memory of a step depends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data, HeteroData

from plimsoll.data.graph_set import Graphs, GraphSet
from plimsoll.errors import UsageError

_EDGES_AT_ONCE = 1 << 16


class Size(NamedTuple):
    """The counts of a batch."""

    graphs: int
    nodes: int
    edges: int
    self_loops: int
    largest: int = 0  #: Nodes of the largest graph.
    types: tuple[int, ...] = ()  #: For a batch with types: its seeds, then the nodes and the edges of each type.

    @classmethod
    def of_graphs(cls, counts: NDArray[np.int64]) -> Size:
        """Returns the size of several graphs together; `counts` i64 [n, 4] has the counts of each."""
        graphs, nodes, edges, self_loops = map(int, counts.sum(axis=0))
        return cls(graphs, nodes, edges, self_loops, int(counts[:, 1].max(initial=0)))

    @property
    def terms(self) -> list[int]:
        """The numbers of which sizes of tensors are assumed to be affine functions, the constant first."""
        return [1, *(self.types or self[:4])]

    @property
    def padded_terms(self) -> list[int]:
        """The same for models that pad graphs to the largest one, as attention over all nodes of a graph does.

        Adds the padded rows, pairs of rows, and the tiles of torch's scaled_dot_product_attention
        (ATen/native/cpu/FlashAttentionKernel.cpp).
        """
        longest_tile = 256 if self.largest >= 768 else 64 if self.largest >= 192 else 32
        tile = min(longest_tile, self.largest)
        padded = self.graphs * self.largest
        return [*self.terms, padded, padded * self.largest, tile * min(512, self.largest), tile]

    def __str__(self) -> str:
        if self.types:
            return f"{self.types[0]} seeds, {self.nodes} nodes, {self.edges} edges"
        graphs = "1 graph" if self.graphs == 1 else f"{self.graphs} graphs"
        return f"{graphs}, {self.nodes} nodes, {self.edges} edges"


def size_of(batch: Data | HeteroData) -> Size:
    """Returns the size of a `Data` or `Batch`, or of a `HeteroData` around seeds. Errors: `UsageError`."""
    if isinstance(batch, HeteroData):
        return _size_of_types(batch)
    if not isinstance(batch, Data):
        raise UsageError(f"is {type(batch).__name__}; expected torch_geometric.data.Data or Batch")
    edge_index = batch.get("edge_index")
    graphs = batch.num_graphs if "ptr" in batch else 1
    if edge_index is None and isinstance(adjacency := batch.get("adj_t"), torch.Tensor) and adjacency.layout is not torch.strided:
        edge_index = adjacency.to_sparse_coo().coalesce().indices()
    loops = int((edge_index[0] == edge_index[1]).sum()) if isinstance(edge_index, torch.Tensor) else 0
    nodes = int(batch.num_nodes or 0)
    largest = int(batch.ptr.diff().max()) if "ptr" in batch and len(batch.ptr) > 1 else nodes
    return Size(int(graphs), nodes, int(batch.num_edges), loops, largest)


def _size_of_types(batch: HeteroData) -> Size:
    nodes = [int(store.num_nodes or 0) for store in batch.node_stores]
    edges = [int(store.num_edges) for store in batch.edge_stores]
    seeds = sum(int(store.get("batch_size") or 0) for store in batch.node_stores)
    # A layer may replace the edges from a node to itself by one for each node, where both ends have one type.
    ends = [store.edge_index for name, store in batch.edge_items() if name[0] == name[2]]
    loops = [int((pairs[0] == pairs[1]).sum()) for pairs in ends]
    return Size(1, sum(nodes), sum(edges), sum(loops), sum(nodes), (seeds, *nodes, *edges, *loops))


def sizes_of(graphs: Sequence[Data] | Graphs) -> NDArray[np.int64]:
    """Returns the counts of each graph, i64 [G, 4], in the order of `Size`. Reads every graph of a data set of PyTorch
    Geometric.
    """
    if isinstance(graphs, Graphs):
        return _sizes_in(graphs)
    return np.array([size_of(graphs[i])[:4] for i in range(len(graphs))], np.int64).reshape(-1, 4)


class Targets(NamedTuple):
    """Facts about the targets of a data set, found in one pass over it."""

    shares: NDArray[np.float64]  #: [G], what `share` returns for `y` of each graph; by default its number of rows.
    unusual: NDArray[np.bool_]  #: [G], whether a graph has a missing target: NaN or a negative class.


def rows_of(y: torch.Tensor) -> float:
    """Returns the number of rows in the targets of a graph."""
    return float(len(y) if y.dim() else 1)


def sizes_and_targets_of(
    graphs: Sequence[Data] | Graphs, share: Callable[[torch.Tensor], float] = rows_of
) -> tuple[NDArray[np.int64], Targets]:
    """Returns `sizes_of` and the targets, in one pass over a data set. Errors: `UsageError` for a graph without targets."""
    if isinstance(graphs, Graphs):
        return _sizes_in(graphs), _targets_in(graphs, share)
    sizes = np.empty((len(graphs), 4), np.int64)
    targets = Targets(np.empty(len(graphs)), np.empty(len(graphs), np.bool_))
    for i in range(len(graphs)):
        graph = graphs[i]
        sizes[i] = size_of(graph)[:4]
        if graph.y is None:
            raise UsageError(f"graph {i}: has no y; expected the targets of the loss")
        y = torch.as_tensor(graph.y)
        targets.shares[i] = share(y)
        targets.unusual[i] = bool((torch.isnan(y) if y.is_floating_point() else y < 0).any())
    return sizes, targets


def _targets_in(graphs: Graphs, share: Callable[[torch.Tensor], float]) -> Targets:
    indices = np.asarray(graphs.indices, np.int64)
    whole = graphs.graph_set
    if whole.target is not None:
        values = np.asarray(whole.target)[indices].reshape(len(indices), -1)
        return Targets(np.ones(len(graphs)), np.asarray(np.isnan(values).any(axis=1)))
    y = np.asarray(whole.y)[indices].astype(np.int64)
    return Targets(np.array([share(target) for target in torch.from_numpy(y).view(-1, 1)]), np.asarray(y < 0))


def _sizes_in(graphs: Graphs) -> NDArray[np.int64]:
    whole: GraphSet = graphs.graph_set
    nodes, edges = whole.node_ptr, whole.edge_ptr
    loops = np.empty(len(whole), np.int64)
    first = 0
    while first < len(whole):  # Some graphs at a time, because the columns may be larger than memory.
        last = max(first + 1, int(np.searchsorted(edges, edges[first] + _EDGES_AT_ONCE, "right")) - 1)
        some = whole.edges[edges[first] : edges[last]]
        sums = np.concatenate([[0], np.cumsum(some[:, 0] == some[:, 1])])
        loops[first:last] = np.diff(sums[edges[first : last + 1] - edges[first]])
        first = last
    columns = np.ones(len(whole), np.int64), np.diff(nodes), np.diff(edges), loops
    return np.stack(columns, axis=1)[np.asarray(graphs.indices, np.int64)]
