"""Samples neighbours along edges in both directions, for PyTorch Geometric's loaders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from plimsoll import _torch  # noqa: F401  Imported first: if torch is missing, its error says how to install it.

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.sampler import BaseSampler, EdgeSamplerInput, NegativeSampling, NodeSamplerInput, SamplerOutput
from torch_geometric.sampler.neighbor_sampler import node_sample

from plimsoll.data.graph import Graph
from plimsoll.data.pyg_data import edges_of, is_data
from plimsoll.data.samplers import NeighborSampler
from plimsoll.data.sampling import sampling_options
from plimsoll.errors import UsageError


class BidirectionalNeighborSampler(BaseSampler):  # type: ignore[misc]
    """`torch_geometric.sampler.BidirectionalNeighborSampler` without pyg-lib.

        sampler = plimsoll.BidirectionalNeighborSampler(data, [10, 5])
        loader = torch_geometric.loader.NodeLoader(data, sampler, batch_size=64)

    Each hop samples up to `num_neighbors` of the sources of a node's incoming edges, and as many of the targets of
    its outgoing edges. Edges of a batch keep their direction, and each is in the batch once.

    - `data`: a `torch_geometric.data.Data`. Two copies of its edges, 12 bytes per edge each, are in a temporary
      folder while the sampler exists.
    - `weight_attr`: an attribute of `data`; neighbours are sampled in proportion to it.
    - `seed`: as in `Graph.sampler`.

    `num_sampled_nodes` and `num_sampled_edges` count by hop.

    Errors: `UsageError`, also for `disjoint`, times, samples around edges, induced and bidirectional subgraphs, seeds
    that repeat in a batch, and a `Graph`, whose files have the neighbours of only one direction.
    """

    edge_permutation = None

    def __init__(
        self,
        data: Data,
        num_neighbors: Iterable[int],
        subgraph_type: str = "directional",
        replace: bool = False,
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: None = None,
        weight_attr: str | None = None,
        is_sorted: bool = False,
        share_memory: bool = False,
        directed: bool = True,
        *,
        seed: int | None = None,
    ) -> None:
        if not is_data(data):
            remedy = "; give graph.to_pyg(), because its files have the neighbours in only one direction" if isinstance(data, Graph) else ""
            raise UsageError(f"data: is {type(data).__name__}, expected a torch_geometric.data.Data{remedy}")
        if time_attr is not None or disjoint or not directed or str(getattr(subgraph_type, "value", subgraph_type)) != "directional":
            raise UsageError(
                f"time_attr={time_attr!r}, disjoint={disjoint}, directed={directed}, subgraph_type={subgraph_type!r}: expected None, "
                "False, True and 'directional'; plimsoll.NeighborLoader has disjoint and the other subgraphs in one direction"
            )
        self.num_neighbors: list[int] = sampling_options(num_neighbors, replace, "directional", False, None)["num_neighbors"]
        backward = Data(edge_index=data.edge_index.flip(0), num_nodes=data.num_nodes)
        if weight_attr is not None:
            backward[weight_attr] = data.get(weight_attr)
        weight = None if weight_attr is None else "edge_weight"
        # Each hop has one sampler per direction: along the edges, then against them.
        graphs = [edges_of(edges, weight_attr) for edges in (data, backward)]
        self._hops = [
            [NeighborSampler(graph, [count], replace, weight_attr=weight, seed=seed) for graph in graphs]
            for count in self.num_neighbors
        ]

    def sample_from_nodes(self, index: NodeSamplerInput) -> SamplerOutput:
        """Samples around nodes, as PyTorch Geometric's `BaseSampler` defines it."""
        return node_sample(index, self._sample)

    def sample_from_edges(self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> NoReturn:
        """Raises `UsageError`, because samples around edges are not supported yet."""
        raise UsageError("samples around edges in both directions are not supported yet; plimsoll.LinkNeighborLoader follows "
                         "one direction")

    def _sample(self, seeds: Tensor, times: Tensor | None = None) -> SamplerOutput:
        seeds = seeds.to(torch.int64)
        if times is not None:
            raise UsageError("times of seeds are not supported yet; leave them out")
        if len(seeds.unique()) < len(seeds):
            raise UsageError("a seed occurs twice in a batch; expected distinct seeds; plimsoll.NeighborLoader supports "
                             "repeated ones")
        nodes, edges = seeds, torch.empty(3, 0, dtype=torch.int64)  # sources, targets and positions in edge_index
        node_counts, edge_counts, first = [len(seeds)], [], 0
        for samplers in self._hops:
            before = edges.shape[1]
            around = (_edges_around(nodes[first:], sampler, reverse) for sampler, reverse in zip(samplers, (False, True)))
            edges = _first_of_each(torch.cat([edges, *around], 1), 2)
            first = len(nodes)
            nodes = _first_of_each(torch.cat([nodes, edges[:2, before:].flatten()])[None], 0)[0]
            node_counts.append(len(nodes) - first)
            edge_counts.append(edges.shape[1] - before)
        by_number, order = nodes.sort()
        sources, targets = order[torch.searchsorted(by_number, edges[:2].contiguous())]
        return SamplerOutput(nodes, sources, targets, edges[2], None, node_counts, edge_counts)


def _edges_around(nodes: Tensor, sampler: NeighborSampler, reverse: bool) -> Tensor:
    """Samples edges around these nodes. Returns i64 [3, M]: source, target and position of each edge."""
    out = sampler.sample_from_nodes(NodeSamplerInput(None, nodes))
    places = out.edge if sampler.edge_permutation is None else sampler.edge_permutation[out.edge]
    ends = out.node[out.row], out.node[out.col]
    return torch.stack([*(reversed(ends) if reverse else ends), places])


def _first_of_each(columns: Tensor, row: int) -> Tensor:
    """Returns the columns, in their order, whose number in `row` is in no earlier column."""
    numbers, inverse = columns[row].unique(return_inverse=True)
    places = torch.arange(columns.shape[1])
    first = places.new_full((len(numbers),), columns.shape[1]).scatter_reduce(0, inverse, places, "amin")
    return columns[:, first.sort()[0]]
