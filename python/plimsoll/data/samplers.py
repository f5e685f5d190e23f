"""Samples neighbours for PyTorch Geometric's loaders in C++ from the files of a graph. `Graph.sampler` makes a sampler."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import torch
from torch import Tensor
from torch_geometric.sampler import BaseSampler, EdgeSamplerInput, NegativeSampling, NodeSamplerInput, SamplerOutput
from torch_geometric.sampler.neighbor_sampler import edge_sample, node_sample

from plimsoll import _core
from plimsoll.arguments import whole
from plimsoll.data.graph_columns import GraphColumns
from plimsoll.data.repeated_seeds import sample_at_once
from plimsoll.data.sampling import sampling_options, set_sampling
from plimsoll.errors import UsageError


class NeighborSampler(BaseSampler):  # type: ignore[misc]
    """Samples around nodes for `NodeLoader` and around edges for `LinkLoader`; see `Graph.sampler`.

    Nodes are those of `Graph.to_pyg` and `Graph.stores`, edges those of `Graph.to_pyg`. The sampler holds only the
    mapping; in other processes it opens the graph by its path. A repeated seed becomes several nodes, as in PyTorch
    Geometric.

    Errors when sampling: `UsageError` for a node that does not exist, and for times; `InputError` for a damaged graph;
    `BudgetExceeded`.
    """

    def __init__(
        self,
        graph: GraphColumns,
        num_neighbors: Iterable[int],
        replace: bool = False,
        subgraph_type: str = "directional",
        disjoint: bool = False,
        weight_attr: str | None = None,
        seed: int | None = None,
        exclude_targets: bool = False,
    ) -> None:
        self.graph = graph
        self._exclude_targets = bool(exclude_targets)
        self.seed = None if seed is None else whole("seed", seed, 0, 2**64 - 1)
        self._options = sampling_options(num_neighbors, replace, subgraph_type, disjoint, weight_attr)
        self._sample(torch.empty(0, dtype=torch.int64))  # Options that cannot be sampled raise here.

    @property
    def edge_permutation(self) -> Tensor | None:
        """The user's number of each sampled edge; None if each is the edge's position."""
        return None if self.graph.edge_id is None else self.graph.tensor("edge_id")

    def sample_from_nodes(self, index: NodeSamplerInput) -> SamplerOutput:
        """Samples around nodes, as PyTorch Geometric's `BaseSampler` defines it."""
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> SamplerOutput:
        """Samples around edges, as PyTorch Geometric's `BaseSampler` defines it."""
        targets = torch.stack([index.row, index.col], dim=1) if self._exclude_targets else None
        sample = partial(self._sample, targets=targets)
        return edge_sample(index, sample, self.graph.num_nodes, self._options["disjoint"], None, neg_sampling)

    def _sample(self, seeds: Tensor, times: Tensor | None = None, targets: Tensor | None = None) -> SamplerOutput:
        if times is not None:
            raise UsageError("times of seeds: this graph has no times; leave them out")
        loading = _core.NeighbourLoading()
        set_sampling(loading.sampling, self._options)
        loading.columns = False
        loading.batching.seed = int(torch.randint(2**63 - 1, ())) if self.seed is None else self.seed
        if targets is not None:
            loading.set_targets(targets.to(torch.int64).contiguous().numpy())
        if len(seeds) == 0:
            loading.batching.batch_size = 1
            _core.Neighbours(self.graph._mapping, seeds.to(torch.int64).numpy(), loading)  # Raises for options that cannot be sampled.
            return SamplerOutput(seeds, seeds, seeds, seeds)
        options, nodes = self._options, seeds.to(torch.int64).contiguous().numpy()
        both_ways = options["subgraph_type"] == "bidirectional"
        tensors, _ = sample_at_once(self.graph._mapping, nodes, loading, options["disjoint"], both_ways, epoch=0)
        counts = (tensors[name].tolist() if name in tensors else None for name in ("num_sampled_nodes", "num_sampled_edges"))
        return SamplerOutput(tensors["n_id"], *tensors["edge_index"], tensors["e_id"], tensors.get("batch"), *counts)
