"""Random walks through one giant graph: uniform, or those of node2vec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plimsoll import _core
from plimsoll.arguments import whole
from plimsoll.data.graph import Graph
from plimsoll.data.pyg_data import is_data
from plimsoll.errors import UsageError
from plimsoll.loaders.epochs import Epoch, EpochLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

_MAX_UINT32 = 2**32 - 1


def walks(
    graph: Graph,
    starts: ArrayLike | None = None,
    *,
    length: int = 80,
    walks_per_node: int = 10,
    p: float = 1,
    q: float = 1,
    seed: int = 42,
    epoch: int = 0,
) -> NDArray[np.int64]:
    """Returns random walks from `starts` as i64 [starts x walks_per_node, length + 1].

    - `graph`: a `Graph`.
    - `starts`: whole numbers [n], the first nodes; None for every node once.
    - `length`: steps per walk.
    - `walks_per_node`: walks per start. Walks from one start are consecutive rows.
    - `p`, `q`: the return and in-out parameters of node2vec.
    - `seed`, `epoch`: a walk depends only on these, its start and its number. In epoch 0 it equals that of `plimsoll
      walks`, which can write more walks than fit in memory.

    Walks follow the rows of the graph (`Graph.neighbours`) and stay at a node without neighbours. The edges are
    memory-mapped.

    Errors: `UsageError` for options and a start that is not in the graph; `InputError` for rows that do not ascend,
    if p or q is not 1; `BudgetExceeded`.
    """
    _require_graph(graph)
    chosen = np.arange(graph.num_nodes) if starts is None else np.asarray(starts)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise UsageError(f"starts: is {chosen.dtype} of shape {chosen.shape}, expected whole numbers of shape [n]")
    walker = _walker(graph, length, walks_per_node, p, q, seed)
    return walker.walk(np.ascontiguousarray(chosen, dtype=np.int64), whole("epoch", epoch, 0, _MAX_UINT32))


class RandomWalkLoader(EpochLoader["tuple[Tensor, Tensor]"]):
    """Yields batches of positive and negative walks, in the form that `torch_geometric.nn.Node2Vec.loss` expects.

    Options are those of `Node2Vec`. A walk has `walk_length` nodes, and each window of `context_size` nodes is a row,
    i64 [rows, context_size]. In a negative walk all nodes except the start are drawn uniformly. Each node is a start
    once per epoch. Batches depend only on `seed`, epoch and ranks. `set_epoch`, `state_dict` and `load_state_dict`
    are those of `plimsoll.NeighborLoader`. An epoch needs 8 bytes per node for its order.

    Errors: `UsageError` for options; those of `plimsoll.walks`.
    """

    def __init__(
        self,
        graph: Graph,
        walk_length: int,
        context_size: int,
        walks_per_node: int = 1,
        p: float = 1,
        q: float = 1,
        num_negative_samples: int = 1,
        *,
        batch_size: int = 128,
        shuffle: bool = False,
        drop_last: bool = False,
        seed: int = 42,
        rank: int | None = None,
        num_replicas: int | None = None,
    ) -> None:
        _require_graph(graph)
        self.graph = graph
        options = {
            "walk_length": whole("walk_length", walk_length, 2, _MAX_UINT32),
            "context_size": whole("context_size", context_size, 2, walk_length),
            "walks_per_node": whole("walks_per_node", walks_per_node, 1, _MAX_UINT32),
            "p": p,
            "q": q,
            "num_negative_samples": whole("num_negative_samples", num_negative_samples, 1, _MAX_UINT32),
            "batch_size": whole("batch_size", batch_size, 1),
            "shuffle": bool(shuffle),
            "drop_last": bool(drop_last),
            "seed": whole("seed", seed, 0, 2**64 - 1),
        }
        super().__init__(options, rank, num_replicas, False, 0)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return Epoch(self)

    def _make(self) -> _WalkBatches:
        return _WalkBatches(self.graph, self._options)

    def _finish(self, tensors: Any) -> tuple[Tensor, Tensor]:
        import torch

        return torch.from_numpy(tensors["positive"]), torch.from_numpy(tensors["negative"])

    def _closed(self) -> bool:
        return self.graph.closed

    def _identity(self) -> str:
        return _core.identity(self.graph._mapping, np.empty(0, np.int64))

    def __repr__(self) -> str:
        return f"RandomWalkLoader({self.graph!r}, {self._given()})"


class _Stream:
    """The remaining batches of an epoch."""

    def __init__(self, starts: NDArray[np.int64], size: int, epoch: int, rank: int, first: int) -> None:
        self.starts, self.size = starts, size
        self.epoch, self.rank, self.coming = epoch, rank, first


class _WalkBatches:
    """All epochs of a loader."""

    live_bytes = 0

    def __init__(self, graph: Graph, options: dict[str, Any]) -> None:
        self._nodes, self._options = graph.num_nodes, options
        self._walker = _walker(
            graph, options["walk_length"] - 1, options["walks_per_node"], options["p"], options["q"], options["seed"]
        )

    def steps(self, epoch: int, rank: int, ranks: int) -> int:
        each, size = self._each(ranks), int(self._options["batch_size"])
        return each // size if self._options["drop_last"] else -(-each // size)

    def stream(self, epoch: int, rank: int, ranks: int, first: int, ahead: int) -> _Stream:
        order = np.arange(self._nodes)
        if self._options["shuffle"]:
            order = _core.shuffled(self._nodes, self._options["seed"], epoch)
        each = self._each(ranks)
        starts = order[rank::ranks][:each]
        if len(starts) < each:  # The order is extended with its first nodes.
            starts = np.append(starts, order[((each - 1) * ranks + rank) % self._nodes])
        return _Stream(np.ascontiguousarray(starts), self.steps(epoch, rank, ranks), epoch, rank, first)

    def next(self, stream: _Stream, numpy: bool = False) -> dict[str, NDArray[np.int64]]:
        options = self._options
        first = stream.coming * options["batch_size"]
        starts = stream.starts[first : first + options["batch_size"]]
        key = [options["seed"], stream.epoch << 32 | stream.rank]
        draws = np.random.Generator(np.random.Philox(key=key, counter=[0, 0, stream.coming, 0]))
        negative = np.repeat(starts, options["walks_per_node"] * options["num_negative_samples"])
        drawn = draws.integers(0, self._nodes, (len(negative), options["walk_length"] - 1))
        batch = {
            "positive": self._windows(self._walker.walk(starts, stream.epoch)),
            "negative": self._windows(np.concatenate([negative[:, None], drawn], axis=1)),
        }
        stream.coming += 1
        return batch

    def _each(self, ranks: int) -> int:
        return self._nodes // ranks if self._options["drop_last"] else -(-self._nodes // ranks)

    def _windows(self, made: NDArray[np.int64]) -> NDArray[np.int64]:
        size = self._options["context_size"]
        return np.concatenate([made[:, first : first + size] for first in range(made.shape[1] - size + 1)])


def _require_graph(graph: Any) -> None:
    if not isinstance(graph, Graph):
        made = "; make one with plimsoll.from_pyg(data, path)" if is_data(graph) else ""
        raise UsageError(f"graph: is {type(graph).__name__}, expected a plimsoll.Graph (plimsoll.open(path)){made}")


def _walker(graph: Graph, length: int, walks_per_node: int, p: float, q: float, seed: int) -> _core.Walker:
    length, walks_per_node = whole("length", length, 0, _MAX_UINT32), whole("walks_per_node", walks_per_node, 1, _MAX_UINT32)
    return _core.Walker(graph._mapping, length, walks_per_node, p, q, whole("seed", seed, 0, 2**64 - 1))
