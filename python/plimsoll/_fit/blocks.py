"""Decides which graphs make up each batch and each block of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from plimsoll._fit import other_random
from plimsoll._fit.apart import drawing
from plimsoll._fit.order import Order
from plimsoll.arguments import texts, whole
from plimsoll.data.graph_set import Graphs, as_graphs
from plimsoll.data.pyg_data import is_data, one_graph
from plimsoll.data.sizes import Size, rows_of, sizes_and_targets_of
from plimsoll.errors import UsageError
from plimsoll.loaders.batch import Collator


class BlockLimits(NamedTuple):
    """The limits of a block, which closes before it would exceed one of them.

    A graph that exceeds a limit is a block by itself. The limits affect the result; the budget does not change them.
    """

    graphs: int = 64  #: Maximum graphs.
    nodes: int = 4096  #: Maximum nodes.
    edges: int = 16384  #: Maximum edges.


class Block(NamedTuple):
    """Graphs that run through the model together."""

    number: int  #: Number within its epoch.
    graphs: NDArray[np.int64]
    size: Size


class BlockList:
    """A data set in batches of `batch_size` graphs, cut into blocks.

    Batches and blocks of an epoch depend only on (seed, epoch) and the limits. `shares` f64 [G] is what `share`
    returns for the targets of each graph. A `sampler` takes the place of (seed, epoch); see `Order`.
    """

    def __init__(
        self,
        dataset: Sequence[Data] | Graphs,
        batch_size: int,
        limits: BlockLimits,
        seed: int,
        shuffle: bool,
        follow_batch: Iterable[str] | None = None,
        exclude_keys: Iterable[str] | None = None,
        share: Callable[[torch.Tensor], float] = rows_of,
        sampler: Iterable[int] | None = None,
        first_epoch: int = 0,
    ) -> None:
        if hasattr(dataset, "dataset") and hasattr(dataset, "drop_last"):  # This is a loader of torch or Plimsoll.
            raise UsageError(
                f"dataset: is a {type(dataset).__name__}; expected its data set, because fit makes the batches: "
                "fit(model, loader.dataset, batch_size=..., shuffle=...)"
            )
        dataset = as_graphs(dataset) or dataset
        if is_data(dataset):
            raise UsageError(one_graph(dataset))
        if not isinstance(dataset, Graphs) and not (hasattr(dataset, "__getitem__") and hasattr(dataset, "__len__")):
            raise UsageError(
                f"dataset: is {type(dataset).__name__}, expected graphs of a plimsoll.GraphSet, or a list or data set of Data"
            )
        batch_size = whole("batch_size", batch_size, 1)
        seed = whole("seed", seed, 0, 2**63)
        if not isinstance(limits, tuple) or len(limits) != len(BlockLimits._fields):
            raise UsageError(f"block={limits!r}: expected plimsoll.BlockLimits(graphs, nodes, edges)")
        limits = BlockLimits(*(whole(f"block.{name}", limit, 1) for name, limit in zip(BlockLimits._fields, limits)))
        self.dataset, self.batch_size, self.limits = dataset, batch_size, limits
        self.seed, self.shuffle = seed, shuffle
        self.min_graphs = 1  #: Minimum graphs of a block; 2 for a model that cannot run on one.
        other_random.seed(seed)
        with drawing(seed):  # Graphs may be random.
            self.sizes, (self.shares, self.unusual) = sizes_and_targets_of(dataset, share)
        self._follow = texts("follow_batch", follow_batch or [])
        self._left_out = texts("exclude_keys", exclude_keys or [])
        if isinstance(dataset, Graphs):
            self._collator = Collator(dataset, self._follow, self._left_out)
        if not len(self.sizes):
            raise UsageError("the data set has no graphs; expected at least one")
        self.order, self.first_epoch = Order(len(self.sizes), seed, shuffle, sampler), first_epoch

    def batches(self, epoch: int) -> Iterator[list[Block]]:
        """Yields the batches of an epoch, each as its blocks."""
        order = self.order.of(epoch)
        number = 0
        for first in range(0, len(order), self.batch_size):
            blocks = []
            for graphs in self._cut(order[first : first + self.batch_size]):
                blocks.append(Block(number, graphs, Size.of_graphs(self.sizes[graphs])))
                number += 1
            yield blocks

    def graphs_to_try(self, count: int) -> NDArray[np.int64]:
        """Returns graphs to try a model on, the smallest first.

        Graphs with edges and with eight nodes or more are preferred, if there are `count` of them. A data set without
        edges, such as one of point sets, also gives graphs to try.
        """
        graphs, edges, nodes = np.arange(len(self.sizes)), self.sizes[:, 2], self.sizes[:, 1]
        for some in (graphs[(edges > 0) & (nodes >= 8)], graphs[edges > 0], graphs[nodes >= 8], graphs):
            if len(some) >= count:
                break
        return some[np.argsort(self.sizes[some, 1:3].sum(axis=1), kind="stable")]

    def largest_possible(self) -> Size:
        """Returns an upper bound of the counts of any block, whatever graphs it has."""
        more = self.min_graphs - 1  # number of graphs of a last block that joins the one before it
        together = min(max(self.limits.graphs, self.min_graphs) + more, self.batch_size)
        counts = np.sort(self.sizes, axis=0)[::-1][:together]
        if self.order.repeats:
            counts = np.repeat(counts[:1], together, axis=0)
        graphs, nodes, edges, loops = map(int, counts.sum(axis=0))
        largest = counts[0]
        # Before another block joins it, a block exceeds a limit only if it has the minimum number of graphs.
        nodes = min(nodes, max(self.limits.nodes, self.min_graphs * int(largest[1])) + more * int(largest[1]))
        edges = min(edges, max(self.limits.edges, self.min_graphs * int(largest[2])) + more * int(largest[2]))
        return Size(graphs, nodes, edges, min(loops, edges), int(largest[1]))

    def _cut(self, graphs: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        limits = np.array(self.limits)
        cuts = [0]
        held = np.zeros(3, np.int64)
        for i, size in enumerate(self.sizes[graphs][:, :3]):
            if i - cuts[-1] >= self.min_graphs and ((held + size) > limits).any():
                cuts.append(i)
                held = np.zeros(3, np.int64)
            held = held + size
        if len(graphs) - cuts[-1] < self.min_graphs and len(cuts) > 1:
            cuts.pop()  # The last block joins the one before it.
        return np.split(graphs, cuts[1:])

    def load(self, graphs: NDArray[np.int64]) -> Batch:
        """Returns these graphs as one batch, collated as by PyTorch Geometric."""
        if isinstance(self.dataset, Graphs):
            return self._collator(graphs)
        return Batch.from_data_list([self.dataset[int(graph)] for graph in graphs], self._follow, self._left_out)
