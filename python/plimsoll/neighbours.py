"""Batches of sampled neighbours for PyTorch Geometric, of one graph that is larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plimsoll import _core
from plimsoll.arguments import one_of, whole
from plimsoll.epochs import EpochLoader
from plimsoll.errors import UsageError
from plimsoll.graph import Graph
from plimsoll.sampling import sampling_options, set_sampling

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data


class NeighborLoader(EpochLoader["Data"]):
    """Goes over nodes of a `Graph` in batches, each with neighbours sampled around it: `for batch in loader` is an epoch.

    A batch is what `torch_geometric.loader.NeighborLoader` makes of `graph.to_pyg()`, a `torch_geometric.data.Data`:
    `x` f32 [N, F], `edge_index` i64 [2, M], `edge_attr` f32 [M, K], `y` i64 [N] and `edge_weight` f32 [M] where the
    graph has them, `n_id` i64 [N] and `e_id` i64 [M], the nodes and edges of the graph; `batch` i64 [N], the seed whose
    subgraph a node is in, if `disjoint`; `num_sampled_nodes` and `num_sampled_edges`, lists of how many each hop added;
    `input_id` i64 [B], which of `input_nodes` the seeds are; `batch_size`, B. Seeds are the first B nodes. Tensors are
    copies, may be written to and stay valid. C++ makes them, the next ones on a thread of its own.

    An edge of a batch leads from a neighbour to the node whose row of `indices` it stands in. With `direction` out the
    neighbours are targets of a node's edges, and PyTorch Geometric's loader would go the other way.

    - `num_neighbors`: how many neighbours of each node, hop by hop; -1: all.
    - `input_nodes`: the seeds: whole numbers, a mask over all nodes, the name of a split, or None for all nodes. They
      differ from each other, unless `disjoint`. With a mask `input_id` is the node, as in PyTorch Geometric.
    - `replace`: a neighbour may be sampled more than once.
    - `subgraph_type`: directional: the edges that were sampled; bidirectional: their reverses as well; induced: all
      edges between the nodes. What is counted by hop is of directional ones alone.
    - `disjoint`: each seed has a subgraph by itself.
    - `weight_attr`: `edge_weight`: neighbours are sampled in proportion to the weights of edges.
    - `transform`: called with each batch, on the caller's thread; what it gives is delivered.
    - `batch_size`, `shuffle`, `drop_last`, `seed`, `rank`, `num_replicas`, `pin_memory`, `prefetch_factor`: as of
      `plimsoll.DataLoader`.
    - `cache_bytes`: memory for rows of `x`, a number or text such as "64MiB". The other rows are read from the file past
      the page cache, those together that lie together; which stay is decided by what coming batches want; 1 MiB to read into comes on top. None: rows
      come from the map, and the system's page cache is what keeps them.
    - `horizon`: with `cache_bytes`, how many batches are sampled before they are due, so that the cache knows them.
      Fewer where memory is short.

    What is sampled for a node depends on `seed`, the epoch, the seed in whose subgraph it is and the node
    (docs/sampling.md), and on no thread, cache, horizon or budget. Memory, epochs, `state_dict`, pickling and `fork()`
    are as `plimsoll.DataLoader` says; samples ahead of their batch stand in the ledger under `blocks`, the cache and
    what it plans under `cache`.

    Errors: `UsageError` for arguments, and a closed data set; `InputError` for a damaged one, when the batch comes;
    `BudgetExceeded`; `MissingPackage` without torch or PyTorch Geometric, when an epoch begins.
    """

    def __init__(
        self,
        data: Graph,
        num_neighbors: Iterable[int],
        input_nodes: ArrayLike | str | None = None,
        *,
        replace: bool = False,
        subgraph_type: str = "directional",
        disjoint: bool = False,
        weight_attr: str | None = None,
        transform: Callable[[Data], Data] | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        seed: int = 0,
        cache_bytes: int | str | None = None,
        horizon: int = 8,
        rank: int | None = None,
        num_replicas: int | None = None,
        pin_memory: bool = False,
        prefetch_factor: int = 2,
    ) -> None:
        if not isinstance(data, Graph):
            raise UsageError(f"data: is {type(data).__name__}, expected a plimsoll.Graph; plimsoll.open(path) opens one")
        self.data = data
        self.transform = transform
        self.cache_bytes = 0 if cache_bytes is None else _core.parse_size(str(cache_bytes))
        self.horizon = whole("horizon", horizon, 0)
        self._has_x = data.x is not None
        self._seeds, self._masked = _nodes(data, input_nodes)
        options = {
            **sampling_options(num_neighbors, replace, subgraph_type, disjoint, weight_attr),
            "batch_size": whole("batch_size", batch_size, 1),
            "shuffle": bool(shuffle),
            "drop_last": bool(drop_last),
            "seed": whole("seed", seed, 0, 2**64 - 1),
        }
        super().__init__(options, rank, num_replicas, pin_memory, prefetch_factor)

    def row_counters(self) -> dict[str, Any]:
        """What the cache has done: `hits`, `misses`, `planned_misses`, `fewest_misses`, `bytes_useful`, `bytes_read`
        and `waited_seconds`, as docs/reading.md says; all 0 without one."""
        return self._made().row_counters()

    def _made(self) -> _core.Neighbours:
        made = self._batches()
        assert isinstance(made, _core.Neighbours)
        return made

    def _make(self) -> _core.Neighbours:
        return _core.Neighbours(self.data._mapping, self._seeds, self._loading())

    def _loading(self) -> _core.NeighbourLoading:
        loading = _core.NeighbourLoading()
        batching, options = loading.batching, self._options
        set_sampling(loading.sampling, options)
        batching.batch_size, batching.drop_last = options["batch_size"], options["drop_last"]
        batching.shuffle, batching.seed = options["shuffle"], options["seed"]
        loading.cache_bytes, loading.horizon = self.cache_bytes, self.horizon
        return loading

    def _finish(self, tensors: dict[str, Tensor]) -> Data:
        batch = self._data_of(tensors)
        batch.batch_size = len(tensors["input_id"])
        return batch if self.transform is None else self.transform(batch)

    def _data_of(self, tensors: dict[str, Tensor]) -> Data:
        from torch_geometric.data import Data

        batch = Data()
        for name, tensor in tensors.items():
            if name == "n_id" and not self._has_x:
                batch.num_nodes = len(tensor)
            if name.startswith("num_sampled"):
                batch[name] = tensor.tolist()
            elif name == "input_id" and self._masked:
                batch[name] = tensors["n_id"][: len(tensor)].clone()
            else:
                batch[name] = tensor
        return batch

    def _closed(self) -> bool:
        return self.data.closed

    def _identity(self) -> str:
        chosen = np.empty(0, np.int64) if self._seeds is None else self._seeds
        return _core.identity(self.data._mapping, chosen)

    def __repr__(self) -> str:
        return f"NeighborLoader({self.data!r}, {self._given()})"


def _nodes(graph: Graph, given: Any) -> tuple[NDArray[np.int64] | None, bool]:
    """Nodes as i64 [n], None for all, and whether they were a mask."""
    if given is None:
        return None, False
    if isinstance(given, str):
        return np.array(graph.splits[one_of("input_nodes", given, tuple(graph.splits))]), False
    nodes = np.asarray(given)
    if nodes.dtype == bool and nodes.shape == (graph.num_nodes,):
        return np.flatnonzero(nodes), True
    if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "iu"):
        raise UsageError(
            f"input_nodes: is {nodes.dtype} of shape {nodes.shape}, expected whole numbers of shape [n] or a mask over "
            f"{graph.num_nodes} nodes"
        )
    return np.ascontiguousarray(nodes, dtype=np.int64), False
