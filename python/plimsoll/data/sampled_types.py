"""A graph with types in the form that C++ samples from: the edge lists of each edge type, and times."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.arguments import whole
from plimsoll.data.columns import array_of, features_of, whole_numbers
from plimsoll.data.typed_columns import EdgeName
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.errors import UsageError

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData

_MAX_NODES = 2**32


class EdgeLists(NamedTuple):
    """The lists of one edge type, sorted by target, time and source."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.uint32]
    weights: NDArray[np.float32] | None
    time_of: str  #: The source of an edge's time: "none", "source", "target" or "own".
    time: NDArray[np.int64] | None  #: [E], the times of "own".
    order: NDArray[np.int64] | None  #: [E], the user's number of each edge; None if that is its position.


class SampledTypes:
    """The types of a graph: `nodes` has the number of nodes per type, `time` the times of node types that have times,
    and `edges` the lists.
    """

    def __init__(self, nodes: dict[str, int], time: dict[str, NDArray[np.int64]], edges: dict[EdgeName, EdgeLists]) -> None:
        self.nodes, self.time, self.edges = nodes, time, edges

    def columns(self) -> _core.TypedColumns:
        """Returns the columns for C++, which borrows them."""
        columns, numbers = _core.TypedColumns(), {name: number for number, name in enumerate(self.nodes)}
        for name, count in self.nodes.items():
            columns.add_nodes(count, self.time.get(name))
        for (source, _, target), lists in self.edges.items():
            columns.add_edges(
                numbers[source], numbers[target], lists.indptr, lists.indices, lists.weights, lists.time_of, lists.time
            )
        return columns

    def number(self, node_type: str) -> int:
        """Returns the number of a node type. Errors: `UsageError`."""
        if node_type not in self.nodes:
            raise UsageError(f"no node type {node_type!r}, expected one of {list(self.nodes)}")
        return list(self.nodes).index(node_type)

    def fan_outs(self, num_neighbors: Any) -> list[list[int]]:
        """Returns the neighbours per node of each edge type, by hop. Errors: `UsageError`."""
        if hasattr(num_neighbors, "get_values"):  # PyTorch Geometric's NumNeighbors.
            num_neighbors = num_neighbors.get_values(list(self.edges))
        if not isinstance(num_neighbors, Iterable) or isinstance(num_neighbors, str):
            raise UsageError(f"num_neighbors={num_neighbors!r}: expected a list of whole numbers, or one for each edge type")
        if not isinstance(num_neighbors, dict):
            hops = [whole("num_neighbors", count, -1) for count in num_neighbors]
            return [hops for _ in self.edges]
        if unknown := [name for name in num_neighbors if name not in self.edges]:
            raise UsageError(f"num_neighbors: names {unknown[0]!r}, which is not an edge type; expected names from {list(self.edges)}")
        if missing := [name for name in self.edges if name not in num_neighbors]:
            raise UsageError(f"num_neighbors: lacks the edge type {missing[0]!r}; expected all, with zeros for types to skip")
        fan_outs = [[whole("num_neighbors", count, -1) for count in num_neighbors[name]] for name in self.edges]
        if len({len(hops) for hops in fan_outs}) > 1:
            raise UsageError(f"num_neighbors={num_neighbors!r}: the number of hops must be the same across all edge types")
        return fan_outs

    @property
    def is_temporal(self) -> bool:
        """Whether nodes or edges have times that restrict samples."""
        return bool(self.time) or any(lists.time_of == "own" for lists in self.edges.values())

    def times_of(self, node_type: str, nodes: NDArray[np.int64], argument: str) -> NDArray[np.int64] | None:
        """Returns the times of seeds for which the caller gave none; None without times. Errors: `UsageError` naming
        the argument that gives times, if the node type has none.
        """
        if not self.is_temporal:
            return None
        if node_type not in self.time:
            raise UsageError(f"{argument}: is missing, and the nodes of type {node_type!r} have no times; give a time for each seed")
        if len(nodes) and not 0 <= nodes.min() <= nodes.max() < self.nodes[node_type]:
            raise UsageError(f"seeds: found {nodes.min()} to {nodes.max()}, expected 0 to {self.nodes[node_type] - 1}")
        return self.time[node_type][nodes]

    def identity(self, *seeds: NDArray[np.int64]) -> str:
        """Returns text that differs between graphs, and between seeds."""
        digest = hashlib.blake2b(repr((self.nodes, list(self.edges))).encode(), digest_size=16)
        for lists in self.edges.values():
            for column in lists:
                if isinstance(column, np.ndarray):
                    digest.update(np.ascontiguousarray(column).data)
        for column in (*self.time.values(), *seeds):
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()


def types_of_graph(graph: TypedGraph, time_attr: str | None, weight_attr: str | None) -> SampledTypes:
    """Returns the types of a data set, with its times if `time_attr` is "time". Errors: `UsageError`."""
    if time_attr not in (None, "time"):
        raise UsageError(f"time_attr={time_attr!r}: expected 'time', the times of a graph with types, or None for none")
    if weight_attr is not None:
        raise UsageError(f"weight_attr={weight_attr!r}: weights of a graph with types are not supported; give graph.to_pyg(), a HeteroData")
    time = {}
    if time_attr is not None:
        time = {name: times for name in graph.node_types if (times := graph[name].time) is not None}
        if not time and not any(graph[name].time_end == "edge" for name in graph.edge_types):
            raise UsageError(f"time_attr={time_attr!r}: no node type and no edge type has it")
    edges = {}
    for name in graph.edge_types:
        end = graph[name].time_end
        if end == "edge" and time_attr is not None:
            edges[name] = EdgeLists(graph[name].indptr, graph[name].indices, None, "own", graph[name].time, None)
            continue
        known_by = "none" if end in (None, "edge") or name[0 if end == "source" else 2] not in time else end
        edges[name] = EdgeLists(graph[name].indptr, graph[name].indices, None, known_by, None, None)
    return SampledTypes({name: graph[name].num_nodes for name in graph.node_types}, time, edges)


def types_of_data(data: HeteroData | Data, time_attr: str | None, weight_attr: str | None) -> SampledTypes:
    """Returns the types of a `HeteroData`, or of a `Data`, whose one node type is "" and whose one edge type ("", "", "").

    Edges have their own times if they have `time_attr`, else those of their source. Errors: `UsageError`.
    """
    if hasattr(data, "node_items"):
        stores, edge_stores = dict(data.node_items()), dict(data.edge_items())
    else:
        stores, edge_stores = {"": data}, {("", "", ""): data}
    ends = {end for name in edge_stores for end in (name[0], name[2])}
    nodes = {name: _node_count(store, name, time_attr, name in ends) for name, store in stores.items()}
    node_time, edge_time = (_with_attribute(some, time_attr) for some in (stores, edge_stores))
    if "" in node_time:  # The times of a Data are those of its nodes, or else those of its edges.
        (edge_time if stores[""].is_node_attr(time_attr) else node_time).clear()
    if time_attr is not None and not node_time and not edge_time:
        raise UsageError(f"time_attr={time_attr!r}: no node type and no edge type has it")
    time = {name: whole_numbers(value, (nodes[name],), f"{name} {time_attr}".lstrip()) for name, value in node_time.items()}
    edges = {
        name: _lists(store, name, nodes, time, edge_time.get(name), weight_attr) for name, store in edge_stores.items()
    }
    if weight_attr is not None and all(lists.weights is None for lists in edges.values()):
        raise UsageError(f"weight_attr={weight_attr!r}: no edge type has it")
    return SampledTypes(nodes, time, edges)


def with_node_counts(data: Any, time_attr: str | None) -> Any:
    """Returns the data, or a copy of a `HeteroData` in which node types that have only times also have `num_nodes`,
    which PyTorch Geometric needs to choose rows of these times.
    """
    if not hasattr(data, "node_items"):
        return data
    missing = {
        name: array_of(value, f"{name} {time_attr}").size
        for name, value in _with_attribute(dict(data.node_items()), time_attr).items()
        if _known_count(data[name]) is None
    }
    counted = copy.copy(data) if missing else data
    for name, count in missing.items():
        counted[name].num_nodes = count
    return counted


def _with_attribute(stores: dict[Any, Any], attribute: str | None) -> dict[Any, Any]:
    """Returns the values of an attribute in the stores that have it."""
    return {name: store[attribute] for name, store in stores.items() if attribute is not None and attribute in store}


def _known_count(store: Any) -> int | None:
    with warnings.catch_warnings():  # PyTorch Geometric warns if it cannot infer the number.
        warnings.simplefilter("ignore")
        count = store.num_nodes
    return None if count is None else int(count)


def _node_count(store: Any, name: str, time_attr: str | None, has_edges: bool) -> int:
    """Returns the number of nodes of a type. Errors: `UsageError` if its store does not determine it."""
    count = _known_count(store)
    if count is None and time_attr is not None and time_attr in store:
        return array_of(store[time_attr], f"{name} {time_attr}").size
    if count is None and (has_edges or len(store)):
        raise UsageError(f"{name or 'data'}: has no attribute that determines the number of nodes; set num_nodes")
    return count or 0


def types_of_stores(stores: Any, time_attr: str | None, weight_attr: str | None) -> SampledTypes:
    """Returns the types of a `FeatureStore` and a `GraphStore`. Errors: `UsageError`."""
    from torch_geometric.data import remote_backend_utils

    if weight_attr is not None:
        raise UsageError(f"weight_attr={weight_attr!r}: stores have no edge weights; give a HeteroData")
    features, graph = stores
    rows, columns, _ = graph.coo()
    attributes = features.get_all_tensor_attrs()
    names = [attribute.group_name for attribute in attributes if isinstance(attribute.group_name, str)]
    names += [end for name in rows for end in (name[0], name[2])]
    nodes = {name: int(remote_backend_utils.num_nodes(features, graph, name)) for name in dict.fromkeys(names)}
    time = {}
    for attribute in attributes:
        if time_attr is None or attribute.attr_name != time_attr:
            continue
        if isinstance(attribute.group_name, tuple):
            raise UsageError(
                f"time_attr={time_attr!r}: found times of the edges {attribute.group_name}, expected stores with times of nodes "
                "only; give a HeteroData"
            )
        if attribute.group_name in nodes:
            whole_attribute = copy.copy(attribute)
            whole_attribute.index = None
            values = features.get_tensor(whole_attribute)
            time[attribute.group_name] = whole_numbers(values, (nodes[attribute.group_name],), f"{attribute.group_name} {time_attr}")
    if time_attr is not None and not time:
        raise UsageError(f"time_attr={time_attr!r}: no node type has it")
    pairs = {name: np.stack([array_of(ends[name], "edge_index") for ends in (rows, columns)]) for name in rows}
    edges = {name: _lists({"edge_index": pair}, name, nodes, time, None, None) for name, pair in pairs.items()}
    return SampledTypes(nodes, time, edges)


def _lists(
    store: Any, name: EdgeName, nodes: dict[str, int], time: dict[str, NDArray[np.int64]], own: Any, weight_attr: str | None
) -> EdgeLists:
    if "adj_t" in store and "edge_index" not in store:
        raise UsageError(f"{name}: has adj_t but no edge_index; remove torch_geometric.transforms.ToSparseTensor")
    if name[0] not in nodes or name[2] not in nodes:
        raise UsageError(f"{name}: leads from or to a type without nodes, expected types from {list(nodes)}")
    pairs = array_of(store["edge_index"], f"{name}: edge_index") if "edge_index" in store else np.empty((2, 0), np.int64)
    pairs = whole_numbers(pairs, (2, pairs.shape[-1] if pairs.ndim else 0), f"{name}: edge_index")
    for ends, end in zip(pairs, (name[0], name[2])):
        if ends.size and not 0 <= ends.min() <= ends.max() < min(nodes[end], _MAX_NODES):
            raise UsageError(f"{name}: edge_index names nodes {ends.min()} to {ends.max()}, expected 0 to {nodes[end] - 1}")
    sources, targets = pairs
    times = None
    if own is not None:
        own = times = whole_numbers(own, (len(sources),), f"{name}: time")
    elif name[0] in time:
        times = time[name[0]][sources]
    order = np.lexsort((sources, targets) if times is None else (sources, times, targets))
    indptr = np.zeros(nodes[name[2]] + 1, np.int64)
    np.cumsum(np.bincount(targets, minlength=nodes[name[2]]), out=indptr[1:])
    weights = None
    if weight_attr is not None and weight_attr in store:
        weights = features_of(store[weight_attr], len(sources), f"{name}: {weight_attr}")
        if weights.shape[1] != 1:
            raise UsageError(f"{name}: {weight_attr} has {weights.shape[1]} numbers per edge, expected one")
        weights = np.ascontiguousarray(weights[order, 0])
    return EdgeLists(
        indptr,
        sources[order].astype(np.uint32),
        weights,
        "own" if own is not None else "none" if times is None else "source",
        None if own is None else own[order],
        order,
    )
