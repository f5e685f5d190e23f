"""Samples a graph with types in C++ for PyTorch Geometric's `NodeLoader` and `LinkLoader`."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    HeteroSamplerOutput,
    NegativeSampling,
    NodeSamplerInput,
    SamplerOutput,
)
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

from plimsoll import _core
from plimsoll.data.sampled_types import SampledTypes
from plimsoll.data.typed_columns import EdgeName
from plimsoll.errors import UsageError


class TypedSampling(NamedTuple):
    """How neighbours are sampled in a graph with types."""

    num_neighbors: list[list[int]]  #: [edge types][hops]
    replace: bool = False
    disjoint: bool = False
    temporal_strategy: str = "uniform"
    before: bool = False  #: Leave out edges whose time is that of the seed.
    window: int | None = None  #: Maximum age of sampled edges relative to the seed; None: no limit.
    subgraph_type: str = "directional"  #: "directional", or "bidirectional" to add the reverse edges

    def loading(self, types: SampledTypes) -> _core.TypedLoading:
        """Returns the options for C++. Errors: `UsageError`."""
        loading = _core.TypedLoading()
        sampling = loading.sampling
        sampling.fan_outs, sampling.replace, sampling.disjoint = self.num_neighbors, self.replace, self.disjoint
        sampling.before, sampling.window = self.before, self.window
        sampling.weighted = any(lists.weights is not None for lists in types.edges.values())
        sampling.set_strategy(self.temporal_strategy)
        return loading


def edge_pairs(types: SampledTypes, tensors: dict[str, Tensor]) -> dict[EdgeName, Tensor]:
    """Returns `edge_index` i64 [2, M] of each edge type, as views of one tensor for all types."""
    counts = tensors["num_sampled_edges"].sum(1).tolist()
    pairs = tensors["edge_index"].split([2 * count for count in counts])
    return {name: pair.view(2, -1) for name, pair in zip(types.edges, pairs)}


def sampler_output(types: SampledTypes, tensors: dict[str, Tensor]) -> HeteroSamplerOutput:
    """Splits the tensors of all types into tensors per type, which are views of the same memory."""
    nodes_per_hop, edges_per_hop = tensors["num_sampled_nodes"], tensors["num_sampled_edges"]
    counts, edge_counts = nodes_per_hop.sum(1).tolist(), edges_per_hop.sum(1).tolist()
    pairs = edge_pairs(types, tensors).values()

    def by_node_type(rows: Any) -> dict[str, Any]:
        return dict(zip(types.nodes, rows))

    def by_edge_type(rows: Any) -> dict[EdgeName, Any]:
        return dict(zip(types.edges, rows))

    return HeteroSamplerOutput(
        node=by_node_type(tensors["n_id"].split(counts)),
        row=by_edge_type(pair[0] for pair in pairs),
        col=by_edge_type(pair[1] for pair in pairs),
        edge=by_edge_type(tensors["e_id"].split(edge_counts)),
        batch=by_node_type(tensors["batch"].split(counts)) if "batch" in tensors else None,
        num_sampled_nodes=by_node_type(nodes_per_hop.tolist()),
        num_sampled_edges=by_edge_type(edges_per_hop.tolist()),
    )


def permutation(types: SampledTypes) -> dict[EdgeName, Tensor | None]:
    """Returns the user's number of each edge that is sampled, by edge type; None if that is its position."""
    return {name: None if lists.order is None else torch.from_numpy(lists.order) for name, lists in types.edges.items()}


class TypedNeighborSampler(BaseSampler):  # type: ignore[misc]
    """Samples around nodes for `NodeLoader` and around edges for `LinkLoader`.

    `seed` is the seed of the samples; None draws a new one from torch's generator for each sample. Errors when
    sampling: `UsageError` for a node that does not exist; `BudgetExceeded`.
    """

    def __init__(self, types: SampledTypes, sampling: TypedSampling, seed: int | None) -> None:
        self._types, self._sampling, self.seed = types, sampling, seed
        self._sample({})  # Options that cannot be sampled raise here.

    @property
    def edge_permutation(self) -> dict[EdgeName, Tensor | None] | Tensor | None:
        """The user's number of each edge that is sampled; None if that is its position."""
        orders = permutation(self._types)
        return orders[("", "", "")] if self._is_one_type else orders

    @property
    def _is_one_type(self) -> bool:
        return "" in self._types.nodes

    def sample_from_nodes(self, index: NodeSamplerInput) -> HeteroSamplerOutput | SamplerOutput:
        """Samples around nodes, as PyTorch Geometric's `BaseSampler` defines it."""
        return self._both_ways(node_sample(index, self._sample))

    def sample_from_edges(
        self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None
    ) -> HeteroSamplerOutput | SamplerOutput:
        """Samples around edges, as PyTorch Geometric's `BaseSampler` defines it."""
        nodes: Any = self._types.nodes
        time: Any = self._known_from or None
        if self._is_one_type:
            nodes, time = nodes[""], None if time is None else time[""]
        disjoint = self._sampling.disjoint or self._types.is_temporal
        return self._both_ways(edge_sample(index, self._sample, nodes, disjoint, time, neg_sampling))

    @cached_property
    def _known_from(self) -> dict[str, Tensor]:
        """The earliest time at which PyTorch Geometric may draw each node for negative edges."""
        time = {name: torch.from_numpy(times) for name, times in self._types.time.items()}
        if not self._sampling.before:
            return time
        # Add one because PyTorch Geometric also draws nodes whose time equals the label's.
        return {name: times.clamp(max=2**63 - 2) + 1 for name, times in time.items()}

    def require_negatives(self, labels: EdgeSamplerInput, neg_sampling: NegativeSampling | None) -> None:
        """Checks that PyTorch Geometric can draw negative edges that are known at the times of all labels. Errors: `UsageError`."""
        if neg_sampling is None or labels.time is None:
            return
        if neg_sampling.amount != int(neg_sampling.amount):
            raise UsageError(
                f"neg_sampling, neg_sampling_ratio: found a ratio of {neg_sampling.amount}, expected a whole number of negative edges "
                "for each edge, as there are times"
            )
        ends = ("", "") if labels.input_type is None else (labels.input_type[0], labels.input_type[2])
        for name in dict.fromkeys(ends if neg_sampling.is_binary() else ends[1:]):
            self._require_known_nodes(name, labels.time)

    def _require_known_nodes(self, name: str, times: Tensor) -> None:
        if name not in self._known_from or not len(self._known_from[name]):
            return
        first = int(self._known_from[name].min())
        if early := int((times < first).sum()):
            raise UsageError(
                f"neg_sampling: no node of type {name!r} is known at {early} of {len(times)} times in edge_label_time, expected times "
                f"of {first} or later; leave these edges out"
            )

    def _both_ways(self, out: HeteroSamplerOutput | SamplerOutput) -> HeteroSamplerOutput | SamplerOutput:
        return out.to_bidirectional() if self._sampling.subgraph_type == "bidirectional" else out

    def _sample(self, seeds: Any, times: Any = None) -> HeteroSamplerOutput | SamplerOutput:
        if not isinstance(seeds, dict):
            seeds, times = {"": seeds}, None if times is None else {"": times}
        loading = self._sampling.loading(self._types)
        loading.batching.seed = int(torch.randint(2**63 - 1, ())) if self.seed is None else self.seed
        loading.sampling.disjoint = self._sampling.disjoint or self._types.is_temporal
        native = _core.TypedNeighbours(self._types.columns(), loading)
        given = [(self._types.number(name), *self._seeds(name, nodes, times)) for name, nodes in seeds.items()]
        out = sampler_output(self._types, native.sample(given, 0))
        if not self._is_one_type:
            return out
        edge, name = ("", "", ""), ""
        batch = None if out.batch is None else out.batch[name]
        counts = out.num_sampled_nodes[name], out.num_sampled_edges[edge]
        return SamplerOutput(out.node[name], out.row[edge], out.col[edge], out.edge[edge], batch, *counts)

    def _seeds(self, name: str, nodes: Tensor, times: Any) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
        numbers = _numbers(nodes)
        if times is None:
            return numbers, self._types.times_of(name, numbers, "input_time")
        return numbers, _numbers(times[name])


def _numbers(tensor: Tensor) -> NDArray[np.int64]:
    return np.ascontiguousarray(tensor.to(torch.int64).numpy())
