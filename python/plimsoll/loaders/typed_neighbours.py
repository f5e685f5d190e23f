"""Batches of sampled neighbours of a graph with types, for PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plimsoll import _core
from plimsoll.arguments import accept_loader_options, one_of, whole
from plimsoll.data.columns import array_of, chosen_rows, whole_numbers
from plimsoll.data.pyg_data import is_data
from plimsoll.data.sampled_types import SampledTypes, types_of_data, types_of_graph, types_of_stores, with_node_counts
from plimsoll.data.sampling import subgraph_of
from plimsoll.data.to_pyg import edge_tensors, node_tensors, require_pyg
from plimsoll.data.typed_columns import EdgeName
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.errors import UsageError
from plimsoll.loaders.custom_stores import are_stores
from plimsoll.loaders.drawn_order import require_sampler
from plimsoll.loaders.epochs import EpochLoader
from plimsoll.loaders.seed_batches import SeedBatches

if TYPE_CHECKING:
    from torch import Tensor
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.sampler import HeteroSamplerOutput


class TypedNeighborLoader(EpochLoader["HeteroData"]):
    """Iterates over nodes of a graph with types in batches, with neighbours sampled around them. `plimsoll.NeighborLoader` makes
    one for such graphs.

    A batch equals that of `torch_geometric.loader.NeighborLoader`, a `torch_geometric.data.HeteroData`. Each node type
    has its attributes, such as `x` and `time`, for the sampled nodes, `n_id` i64 [N], `num_sampled_nodes` and, with
    disjoint subgraphs, `batch` i64 [N]. Each edge type has `edge_index` i64 [2, M], its attributes, `e_id` i64 [M] and
    `num_sampled_edges`. The type of the seeds also has `input_id`, `batch_size` and, if `input_time` was given,
    `seed_time`.

    - `data`: a `TypedGraph`, a `HeteroData`, a `FeatureStore` and a `GraphStore` with types, or a `Data` with `time_attr`.
    - `num_neighbors`: maximum number of neighbours per node and edge type, by hop; -1 for all. A list for all edge types, or a
      dictionary with a list for each.
    - `input_nodes`: a node type, or a pair of a node type and its seeds: whole numbers, a mask, or None for all. A seed that
      repeats in a batch becomes several nodes, each with its own edges.
    - `time_attr`: attribute with the times of nodes or edges, whole numbers in any unit; for a `TypedGraph` "time", in
      nanoseconds. Each seed then has its own subgraph, without edges or nodes later than the seed. The time of an edge
      is its own, or else that of its source; in a `TypedGraph` it is that of the row with the foreign key.
    - `input_time`: i64 [seeds], the time of each seed. None: the time of its node.
    - `temporal_strategy`: "uniform", or "last" for the latest neighbours.
    - `window`: with times, sample no edges that are older than the seed by more than this.
    - `before`: with times, sample only edges whose time is before that of the seed, not equal to it.
    - `replace`, `disjoint`, `weight_attr`, `transform`, `sampler`, `batch_size`, `shuffle`, `drop_last`, `seed`, `rank`,
      `num_replicas`, `pin_memory`, `prefetch_factor`: as in `plimsoll.NeighborLoader`.
    - `subgraph_type`: "directional", or "bidirectional" for the reverse edges as well. `directed=True` is accepted.

    The neighbours sampled for a node depend only on `seed`, the epoch, the seed of its subgraph, its time, the edge type and the
    node. Memory, epochs, `state_dict` and ranks are as in `plimsoll.DataLoader`.

    Errors: `UsageError` for arguments; `InputError` for a damaged data set, when the batch is reached; `BudgetExceeded`;
    `MissingPackage` without torch or PyTorch Geometric.
    """

    def __init__(
        self,
        data: TypedGraph | HeteroData | Data,
        num_neighbors: Any,
        input_nodes: Any = None,
        input_time: ArrayLike | Tensor | None = None,
        *,
        replace: bool = False,
        subgraph_type: str = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | None = None,
        weight_attr: str | None = None,
        window: int | None = None,
        before: bool = False,
        transform: Callable[[Any], Any] | None = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        seed: int = 0,
        rank: int | None = None,
        num_replicas: int | None = None,
        pin_memory: bool = False,
        prefetch_factor: int | None = 2,
        sampler: Iterable[int] | None = None,
        directed: bool = True,
        **others: Any,
    ) -> None:
        require_pyg(type(self).__name__)
        accept_loader_options(others)
        self._both_ways = is_bidirectional(subgraph_of(subgraph_type, directed))
        restricted = {"temporal_strategy": temporal_strategy == "last", "before": before, "window": window is not None}
        require_times(time_attr, {"input_time": input_time is not None, **restricted})
        if sampler is not None:
            require_sampler("sampler", sampler, {"shuffle=True": shuffle})
        self.data, self.transform, self.sampler = with_node_counts(data, time_attr), transform, sampler
        self._time_attr, self._types = time_attr, types_of(data, time_attr, weight_attr)
        self._is_one_type = is_data(data)
        self._seed_type, self._seeds, self._masked = _seeds(self._types, ("", input_nodes) if self._is_one_type else input_nodes)
        self._given_time = input_time is not None
        count = self._types.nodes[self._seed_type] if self._seeds is None else len(self._seeds)
        if input_time is not None:
            self._times: NDArray[np.int64] | None = whole_numbers(input_time, (count,), "input_time")
        else:
            chosen = np.arange(count) if self._seeds is None else self._seeds
            self._times = self._types.times_of(self._seed_type, chosen, "input_time")
        options = {
            "num_neighbors": self._types.fan_outs(num_neighbors),
            "replace": bool(replace),
            "subgraph_type": "bidirectional" if self._both_ways else "directional",
            "disjoint": bool(disjoint) or self._types.is_temporal,
            "temporal_strategy": one_of("temporal_strategy", temporal_strategy, ("uniform", "last")),
            "window": None if window is None else whole("window", window, 0),
            "before": bool(before),
            "batch_size": whole("batch_size", batch_size, 1),
            "shuffle": bool(shuffle),
            "drop_last": bool(drop_last),
            "seed": whole("seed", seed, 0, 2**64 - 1),
        }
        super().__init__(options, rank, num_replicas, pin_memory, prefetch_factor)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if isinstance(self.data, TypedGraph):
            del state["_types"]  # A copy maps the files, which may be larger than memory.
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self.data, TypedGraph):
            self._types = types_of(self.data, self._time_attr, None)

    def _make(self) -> _core.TypedNeighbours | SeedBatches:
        if self._closed():
            raise UsageError("the data set of this loader is closed; open it again")
        if self.sampler is None:
            return _core.TypedNeighbours(self._types.columns(), self._loading())
        count = self._types.nodes[self._seed_type] if self._seeds is None else len(self._seeds)
        return SeedBatches(count, self._options, self.sampler, self._sampled)

    def _loading(self, *, with_seeds: bool = True) -> _core.TypedLoading:
        """Returns how batches are made. `with_seeds` is False for a batch of given seeds, which needs no copy of all
        seeds.
        """
        from plimsoll.data.typed_samplers import TypedSampling

        options = self._options
        loading = TypedSampling(*(options[name] for name in TypedSampling._fields)).loading(self._types)
        batching = loading.batching
        batching.batch_size, batching.drop_last = options["batch_size"], options["drop_last"]
        batching.shuffle, batching.seed = options["shuffle"], options["seed"]
        loading.seed_type = self._types.number(self._seed_type)
        if with_seeds and self._seeds is not None:
            loading.set_seeds(self._seeds)
        if with_seeds and self._times is not None:
            loading.set_times(self._times)
        return loading

    def __call__(self, index: ArrayLike) -> HeteroData:
        """Returns the batch of the seeds with these numbers, or of a mask over them, sampled as in the coming epoch."""
        chosen = chosen_rows(index, self._types.nodes[self._seed_type] if self._seeds is None else len(self._seeds), "index")
        return self._finish(self._sampled(chosen, self._coming.epoch)[0])

    def _sampled(self, numbers: NDArray[np.int64], epoch: int) -> tuple[dict[str, Any], Any]:
        """Returns one batch of all these seeds, and the object that made it."""
        native = _core.TypedNeighbours(self._types.columns(), self._loading(with_seeds=False))
        nodes = numbers if self._seeds is None else self._seeds[numbers]
        times = None if self._times is None else self._times[numbers]
        batch = native.sample([(self._types.number(self._seed_type), nodes, times)], epoch)
        batch["input_id"] = batch["n_id"].new_tensor(numbers)
        return batch, native

    def _finish(self, tensors: dict[str, Tensor]) -> Any:
        import torch

        from plimsoll.data.typed_samplers import edge_pairs, sampler_output

        out, pairs = sampler_output(self._types, tensors), edge_pairs(self._types, tensors)
        if self._both_ways:
            out = out.to_bidirectional()
            pairs = {name: torch.stack([out.row[name], out.col[name]]) for name in out.row}
        numbers = tensors["input_id"]
        batch = self._rows(out, pairs)
        if self._is_one_type:
            added = {"": batch, ("", "", ""): batch}
        else:
            added = {name: batch[name] for name in (*self._types.nodes, *self._types.edges)}
        for name, nodes in out.node.items():
            if "n_id" not in added[name]:
                added[name].n_id = nodes
        for edge_name, edges in out.edge.items():
            if edges is not None and "e_id" not in added[edge_name]:
                added[edge_name].e_id = self._numbers_of(edge_name, edges)
        for key, values in (("batch", out.batch), ("num_sampled_nodes", out.num_sampled_nodes), ("num_sampled_edges", out.num_sampled_edges)):
            for name, value in (values or {}).items():
                added[name][key] = value
        store = added[self._seed_type]
        store.input_id = out.node[self._seed_type][: len(numbers)].clone() if self._masked else numbers
        if self._given_time and self._times is not None:
            store.seed_time = numbers.new_tensor(self._times[numbers.numpy()])
        store.batch_size = len(numbers)
        return batch if self.transform is None else self.transform(batch)

    def _numbers_of(self, name: EdgeName, edges: Tensor | None) -> Tensor | None:
        order = self._types.edges[name].order
        return edges if order is None or edges is None else edges.new_tensor(order[edges.numpy()])

    def _rows(self, out: HeteroSamplerOutput, pairs: dict[EdgeName, Tensor]) -> Any:
        """Returns the attributes of the sampled nodes and edges."""
        if isinstance(self.data, TypedGraph):
            return _batch_of_graph(self.data, out.node, pairs, {name: edges for name, edges in out.edge.items() if edges is not None})
        from torch_geometric.loader.utils import filter_custom_hetero_store, filter_data, filter_hetero_data

        if isinstance(self.data, tuple):
            return filter_custom_hetero_store(*self.data, out.node, out.row, out.col, out.edge)
        edges = {name: self._numbers_of(name, edge) for name, edge in out.edge.items()}
        if not self._is_one_type:
            return filter_hetero_data(self.data, dict(out.node), dict(out.row), dict(out.col), edges)
        name = ("", "", "")
        return filter_data(self.data, out.node[""], out.row[name], out.col[name], edges[name])

    def _in_buffer(self, field: str) -> bool:
        return field in ("n_id", "batch", "input_id") or (field in ("edge_index", "e_id") and isinstance(self.data, TypedGraph))

    def _closed(self) -> bool:
        return isinstance(self.data, TypedGraph) and self.data.closed

    def _identity(self) -> str:
        chosen = np.empty(0, np.int64) if self._seeds is None else self._seeds
        times = np.empty(0, np.int64) if self._times is None else self._times
        if isinstance(self.data, TypedGraph):
            return f"{_core.identity(self.data._mapping, chosen)} {_core.identity(self.data._mapping, times)} {self._seed_type}"
        return f"{self._types.identity(chosen, times)} {self._seed_type}"

    def __repr__(self) -> str:
        return "NeighborLoader()"  # PyTorch Geometric's text.


def types_of(data: Any, time_attr: str | None, weight_attr: str | None) -> SampledTypes:
    """Returns the types of a `TypedGraph`, a `HeteroData`, a `Data` or the caller's stores. Errors: `UsageError`."""
    if are_stores(data):
        return types_of_stores(data, time_attr, weight_attr)
    make = types_of_graph if isinstance(data, TypedGraph) else types_of_data
    return make(data, time_attr, weight_attr)


def require_times(time_attr: str | None, given: dict[str, bool]) -> None:
    """Checks that arguments for times are given only together with `time_attr`. Errors: `UsageError`."""
    for name, is_given in given.items():
        if is_given and time_attr is None:
            raise UsageError(f"{name}: needs time_attr, the attribute with the times of nodes or edges")


def has_types(value: Any) -> bool:
    """Returns whether a value is a `TypedGraph`, a `HeteroData`, or a pair of stores with edge types. Imports nothing."""
    if are_stores(value):
        return any(attribute.edge_type is not None for attribute in value[1].get_all_edge_attrs())
    return isinstance(value, TypedGraph) or any(
        base.__module__ == "torch_geometric.data.hetero_data" and base.__name__ == "HeteroData" for base in type(value).__mro__
    )


def is_bidirectional(subgraph_type: Any) -> bool:
    """Returns whether reverse edges are added to those sampled. Errors: `UsageError` for "induced", which types do not have."""
    return one_of("subgraph_type", str(getattr(subgraph_type, "value", subgraph_type)), ("directional", "bidirectional")) != "directional"


def _batch_of_graph(
    graph: TypedGraph, sampled: dict[str, Tensor], pairs: dict[EdgeName, Tensor], as_sampled: dict[EdgeName, Tensor]
) -> HeteroData:
    """Returns the columns of the sampled nodes and edges under the names of `TypedGraph.to_pyg`. `as_sampled` has the
    edge numbers of each type; types that are not in it have reverse edges, without times and columns.
    """
    import torch
    from torch_geometric.data import HeteroData

    batch = HeteroData()
    for name, nodes in sampled.items():
        batch[name].num_nodes = len(nodes)
        batch[name].update(node_tensors(graph[name], nodes.numpy()))
    for edge_name, pair in pairs.items():
        batch[edge_name].edge_index = pair
        if edge_name not in as_sampled:
            continue
        edges, rows = graph[edge_name], as_sampled[edge_name].numpy()
        batch[edge_name].update(edge_tensors(edges, rows))
        end = edges.time_end
        if end == "edge" and (time := edges.time) is not None:
            batch[edge_name].time = torch.from_numpy(time[rows])
            continue
        place = 0 if end == "source" else 1
        node_type = edge_name[2 * place]
        if end is not None and graph[node_type].time is not None:
            batch[edge_name].time = batch[node_type].time[pair[place]]
    return batch


def _seeds(types: SampledTypes, given: Any) -> tuple[str, NDArray[np.int64] | None, bool]:
    """Returns the type of the seeds, the seeds as i64 [n] or None for all, and whether they were given as a mask."""
    if given is None:
        raise UsageError(f"input_nodes: is missing; give a node type, one of {list(types.nodes)}, or a pair of it and its seeds")
    if isinstance(given, str):
        given = given, None
    if not isinstance(given, tuple | list) or len(given) != 2 or not isinstance(given[0], str):
        raise UsageError("input_nodes: expected a node type, or a pair of a node type and its seeds")
    node_type, nodes = given
    types.number(node_type)
    if nodes is None:
        return node_type, None, False
    count = types.nodes[node_type]
    array = array_of(nodes, "input_nodes")
    if array.dtype == bool and array.shape == (count,):
        return node_type, np.flatnonzero(array), True
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise UsageError(
            f"input_nodes: is {array.dtype} of shape {array.shape}, expected whole numbers of shape [n] or a mask over {count} nodes"
        )
    return node_type, np.ascontiguousarray(array, dtype=np.int64), False
