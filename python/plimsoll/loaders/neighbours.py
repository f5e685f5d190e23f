"""Batches of sampled neighbours of one graph that is larger than memory, for PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plimsoll import _core
from plimsoll.arguments import accept_loader_options, one_of, whole
from plimsoll.data.columns import chosen_rows
from plimsoll.data.graph import Graph
from plimsoll.data.pyg_data import edges_of, is_data
from plimsoll.data.repeated_seeds import repeats, sample_at_once
from plimsoll.data.sampling import sampling_options, set_sampling, subgraph_of
from plimsoll.data.to_pyg import require_pyg
from plimsoll.errors import UsageError
from plimsoll.loaders.custom_stores import are_stores, edges_of_stores, filtered
from plimsoll.loaders.drawn_order import require_sampler
from plimsoll.loaders.epochs import EpochLoader
from plimsoll.loaders.seed_batches import SeedBatches
from plimsoll.loaders.typed_neighbours import TypedNeighborLoader, has_types

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data

    from plimsoll.data.stores import FeatureStore, GraphStore


class NeighborLoader(EpochLoader["Data"]):
    """Iterates over nodes of a graph in batches, with neighbours sampled around them: `for batch in loader` is one
    epoch.

    A batch equals that of `torch_geometric.loader.NeighborLoader` for `graph.to_pyg()`, a
    `torch_geometric.data.Data`: `x` f32 [N, F], `edge_index` i64 [2, M], `edge_attr` f32 [M, K], `y` i64 [N] and
    `edge_weight` f32 [M] if the graph has them; `n_id` i64 [N] and `e_id` i64 [M], the nodes and edges of
    `graph.to_pyg()`; with `disjoint`, `batch` i64 [N], the seed to whose subgraph a node belongs; `num_sampled_nodes`
    and `num_sampled_edges`, lists of the numbers added by each hop; `input_id` i64 [B], the positions of the seeds in
    `input_nodes`; and `batch_size`, B. Seeds are the first B nodes. Tensors are copies, may be written to and stay
    valid. C++ makes them ahead of time in a separate thread.

    An edge of a batch leads from a neighbour to the node in whose row of `indices` it is. With `direction` "out" the
    neighbours are the targets of a node's edges, and PyTorch Geometric's loader would follow edges the other way.

    - `data`: a `Graph`, its `stores()`, a `torch_geometric.data.Data`, or your own `FeatureStore` and `GraphStore`. For
      a `Data`, batches have all its attributes, as in PyTorch Geometric's loader, and `e_id` are columns of its
      `edge_index`. A copy of its edges, 12 bytes each, is in a temporary folder (`TMPDIR`) while the loader exists; a
      copy of the loader, also a pickled one, has its own `Data` and folder.
    - `num_neighbors`: maximum number of neighbours per node, by hop; -1 for all.
    - `input_nodes`: the seeds, as whole numbers, a mask over all nodes, the name of a split, or None for all nodes.
      With a mask, `input_id` is the node, as in PyTorch Geometric. A seed that repeats in a batch becomes several
      nodes, each with its own edges.
    - `sampler`: a sampler of torch or PyTorch Geometric, such as `ImbalancedSampler`, or a list: the order of
      `input_nodes`, by number. It draws as in `plimsoll.DataLoader`.
    - `replace`: sample with replacement.
    - `subgraph_type`: "directional" for the sampled edges; "bidirectional" for their reverses as well; "induced", or
      `directed=False`, for all edges between the nodes. Only directional subgraphs have counts by hop.
    - `disjoint`: give each seed its own subgraph.
    - `weight_attr`: "edge_weight", or any attribute of a `Data`; neighbours are sampled in proportion to these edge
      weights.
    - `transform`: called with each batch, on the caller's thread; its result is delivered.
    - `batch_size`, `shuffle`, `drop_last`, `seed`, `rank`, `num_replicas`, `pin_memory`, `prefetch_factor`,
      `as_numpy`: as in `plimsoll.DataLoader`.
    - `cache_bytes`: memory for rows of `x`, a number or text such as "64MiB". Coming batches are sampled ahead, and
      their rows are read in file order, bypassing the page cache; a read buffer of 1 MiB, and an eighth of the size
      for samples, are added. None: rows come from the mapped file, and the page cache keeps them. Not with `sampler`.
    - `horizon`: with `cache_bytes`, maximum number of batches sampled ahead. None: as many as fit in memory.
    - `num_workers`, `filter_per_worker` and other arguments for how PyTorch Geometric's loader makes batches are
      accepted but not needed.

    `loader(numbers)` is the batch of the `input_nodes` with these numbers, or of a mask over them; without numbers it has no nodes.

    The neighbours sampled for a node depend only on `seed`, the epoch, the seed of its subgraph and the node
    (docs/sampling.md), not on threads, cache, horizon or budget. Memory, epochs, `state_dict`, thread safety,
    pickling and `fork()` are as in `plimsoll.DataLoader`. The ledger counts samples made ahead under `blocks`, the
    cache and its plan under `cache`.

    Errors: `UsageError` for arguments, and a closed data set; `InputError` for a damaged data set, when the batch is
    reached; `BudgetExceeded`; `MissingPackage` without torch or PyTorch Geometric, when an epoch begins.

    For a graph with types, a `TypedGraph` or `HeteroData`, and for times (`time_attr`) the result is a
    `TypedNeighborLoader`, which has the arguments for them.
    """

    def __new__(cls, data: Any = None, *arguments: Any, **options: Any) -> Any:
        """Makes a `TypedNeighborLoader` instead, if `data` has types or there are times."""
        if has_types(data) or (is_data(data) and options.get("time_attr") is not None):
            return TypedNeighborLoader(data, *arguments, **options)
        return super().__new__(cls)

    def __init__(
        self,
        data: Graph | Data | tuple[FeatureStore, GraphStore],
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
        horizon: int | None = None,
        rank: int | None = None,
        num_replicas: int | None = None,
        pin_memory: bool = False,
        prefetch_factor: int | None = 2,
        as_numpy: bool = False,
        directed: bool = True,
        sampler: Iterable[int] | None = None,
        **others: Any,
    ) -> None:
        accept_loader_options(others)
        if sampler is not None:
            require_sampler("sampler", sampler, {"shuffle=True": shuffle, "cache_bytes": cache_bytes is not None})
        self.sampler = sampler
        subgraph_type = subgraph_of(subgraph_type, directed)
        self._weight_attr = weight_attr
        self._source, self.data = graph_of(data, weight_attr)
        if self._source is not None:
            if cache_bytes is not None:
                raise UsageError("cache_bytes: features of a Data are already in memory; make a Graph with "
                                 "plimsoll.from_pyg(data, path)")
            weight_attr = None if weight_attr is None else "edge_weight"
        graph = self.data
        self._edge_id = graph.edge_id
        self.transform = transform
        self.cache_bytes = 0 if cache_bytes is None else _core.parse_size(str(cache_bytes))
        self.horizon = None if horizon is None else whole("horizon", horizon, 0)
        self._has_x = self._source is not None or graph.num_node_features > 0
        self._seeds, self._masked = _nodes(graph, input_nodes)
        self._repeats = not disjoint and repeats(self._seeds)
        options = {
            **sampling_options(num_neighbors, replace, subgraph_type, disjoint, weight_attr),
            "batch_size": whole("batch_size", batch_size, 1),
            "shuffle": bool(shuffle),
            "drop_last": bool(drop_last),
            "seed": whole("seed", seed, 0, 2**64 - 1),
        }
        super().__init__(options, rank, num_replicas, pin_memory, prefetch_factor)
        if as_numpy and (self._source is not None or graph.edge_id is not None):
            raise UsageError("as_numpy works only with a plimsoll.Graph without edge_id")
        self._numpy = bool(as_numpy)

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_edge_id": None}  # A copy reads it from the files, which may be larger than memory.

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._edge_id = None if self.data.closed else self.data.edge_id

    def row_counters(self) -> dict[str, Any]:
        """Returns the counters of the cache: `hits`, `misses`, `bytes_useful`, `bytes_read` and `waited_seconds`
        (docs/reading.md).

        All are 0 without a cache.
        """
        made = self._batches()
        if not isinstance(made, _core.Neighbours):  # There is no cache.
            made = _core.Neighbours(self.data._mapping, np.zeros(0, np.int64), self._loading())
        return made.row_counters()

    def _make(self) -> _core.Neighbours | SeedBatches:
        if self.sampler is not None or (self._repeats and not self.cache_bytes):
            count = self.data.num_nodes if self._seeds is None else len(self._seeds)
            return SeedBatches(count, self._options, self.sampler, self._sampled)
        return _core.Neighbours(self.data._mapping, self._seeds, self._loading())

    def _loading(self) -> _core.NeighbourLoading:
        loading = _core.NeighbourLoading()
        batching, options = loading.batching, self._options
        set_sampling(loading.sampling, options)
        batching.batch_size, batching.drop_last = options["batch_size"], options["drop_last"]
        batching.shuffle, batching.seed = options["shuffle"], options["seed"]
        loading.cache_bytes = self.cache_bytes
        if self.horizon is not None:
            loading.horizon = self.horizon
        loading.columns = self._source is None
        return loading

    def __call__(self, index: ArrayLike) -> Data:
        """Returns the batch of the `input_nodes` with these numbers, sampled as in the coming epoch."""
        require_pyg(type(self).__name__)
        chosen = chosen_rows(index, self.data.num_nodes if self._seeds is None else len(self._seeds), "index")
        if not len(chosen):
            # A batch of node 0 shows which fields a batch has, even if there are no seeds.
            return self._finish(_without_rows(self._sample(np.zeros(1, np.int64), self._coming.epoch)[0]))
        return self._finish(self._sampled(chosen, self._coming.epoch)[0])

    def _sampled(self, numbers: NDArray[np.int64], epoch: int) -> tuple[dict[str, Any], _core.Neighbours]:
        """Returns one batch of all these seeds, and the object that made it. Errors: `UsageError` for a node that does
        not exist.
        """
        batch, made = self._sample(numbers if self._seeds is None else self._seeds[numbers], epoch)
        batch["input_id"] = numbers if self._numpy else batch["n_id"].new_tensor(numbers)
        return batch, made

    def _sample(self, seeds: NDArray[np.int64], epoch: int) -> tuple[dict[str, Any], _core.Neighbours]:
        both_ways = self._options["subgraph_type"] == "bidirectional"
        batch, made = sample_at_once(
            self.data._mapping, seeds, self._loading(), self._options["disjoint"], both_ways, epoch, self._numpy
        )
        batch["input_id"] = seeds if self._numpy else batch["n_id"].new_tensor(seeds)
        return batch, made

    def _finish(self, tensors: dict[str, Tensor]) -> Data:
        batch = self._data_of(tensors)
        batch.batch_size = len(tensors["input_id"])
        return batch if self.transform is None else self.transform(batch)

    def _data_of(self, tensors: dict[str, Tensor]) -> Data:
        if self._edge_id is not None and "e_id" in tensors:
            import torch

            tensors = {**tensors, "e_id": torch.from_numpy(self._edge_id[tensors["e_id"].numpy()])}
        if self._source is not None:
            batch = self._filtered(tensors)
        else:
            from torch_geometric.data import Data

            batch = Data()
        for name, tensor in tensors.items():
            if self._source is not None and name in self._source:
                continue  # As in PyTorch Geometric, an attribute of the data takes precedence.
            if name == "n_id" and not self._has_x:
                batch.num_nodes = len(tensor)
            if name.startswith("num_sampled"):
                batch[name] = tensor.tolist()
            elif name == "input_id" and self._masked:
                batch[name] = tensors["n_id"][: len(tensor)].clone()
            else:
                batch[name] = tensor
        return batch

    def _filtered(self, tensors: dict[str, Tensor]) -> Data:
        """Returns the attributes of a `Data` for the nodes and edges of a batch."""
        from torch_geometric.loader.utils import filter_data

        edges = tensors.get("e_id")
        if are_stores(self._source):
            return filtered(self._source, tensors["n_id"], tensors["edge_index"], edges)
        return filter_data(self._source, tensors["n_id"], *tensors["edge_index"], edges)

    def _in_buffer(self, field: str) -> bool:
        return self._source is None or field not in self._source

    def _closed(self) -> bool:
        return self.data.closed

    def _identity(self) -> str:
        chosen = np.empty(0, np.int64) if self._seeds is None else self._seeds
        return _core.identity(self.data._mapping, chosen)

    def __repr__(self) -> str:
        if self._source is not None:
            return f"{type(self).__name__}()"  # PyTorch Geometric's text.
        return f"{type(self).__name__}({self.data!r}, {self._given()})"


def _without_rows(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns a batch with the same tensors, but no seeds, nodes and edges."""
    return {
        name: tensor.zero_() if name.startswith("num_sampled") else tensor[:, :0] if name == "edge_index" else tensor[:0]
        for name, tensor in tensors.items()
    }


def graph_of(data: Any, weight_attr: str | None = None) -> tuple[Data | None, Graph]:
    """Returns a loader's data and its edges as a graph. The data is a `Data` or the caller's stores, or None for a
    `Graph`.

    Errors: `UsageError`.
    """
    if isinstance(data, Graph):
        return None, data
    if isinstance(data, tuple) and len(data) == 2 and isinstance(graph := getattr(data[0], "_graph", None), Graph):
        return None, graph
    if is_data(data):
        return data, edges_of(data, weight_attr)
    if are_stores(data):
        return data, edges_of_stores(data, weight_attr)
    kind = "tuple of stores" if isinstance(data, tuple) else type(data).__name__
    raise UsageError(f"data: is {kind}, expected a plimsoll.Graph (plimsoll.open(path)), its stores(), or a Data of one node type")


def _nodes(graph: Graph, given: Any) -> tuple[NDArray[np.int64] | None, bool]:
    """Returns nodes as i64 [n], or None for all, and whether they were given as a mask."""
    if given is None:
        return None, False
    if isinstance(given, str):
        if not graph.splits:
            raise UsageError(
                f"input_nodes={given!r}: {graph.path} has no splits; give node numbers, a mask over all nodes, or None for all"
            )
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
