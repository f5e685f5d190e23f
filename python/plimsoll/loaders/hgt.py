"""Batches with a given number of nodes of each type, for heterogeneous graph transformers: PyTorch Geometric's
`NodeLoader` over nodes that C++ samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plimsoll import _torch  # noqa: F401  Imported first: if torch is missing, its error says how to install it.

import numpy as np
import torch
from torch import Tensor
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler import BaseSampler, EdgeSamplerInput, HeteroSamplerOutput, NegativeSampling, NodeSamplerInput

from plimsoll import _core
from plimsoll.arguments import whole
from plimsoll.data.sampled_types import SampledTypes
from plimsoll.data.typed_columns import EdgeName
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.data.typed_samplers import permutation, sampler_output
from plimsoll.errors import UsageError
from plimsoll.loaders.typed_neighbours import has_types, types_of


_REMEDIES = {
    "input_time": "its samples have no times; plimsoll.NeighborLoader samples with times",
    "time_attr": "its samples have no times; plimsoll.NeighborLoader samples with times",
    "custom_cls": "batches are HeteroData; use transform= to change them",
    "input_id": "input_nodes selects them",
    "transform_sampler_output": "use transform= to change batches",
}


class HGTLoader(NodeLoader):  # type: ignore[misc]
    """Iterates over nodes of a graph with types in batches. Around the nodes of a batch it samples a given number of
    nodes of each type, with all edges between them (Hu et al., "Heterogeneous graph transformer", WWW 2020).

    It is PyTorch Geometric's `NodeLoader`, a `torch.utils.data.DataLoader`, and needs no torch-sparse. Batches are those of PyTorch
    Geometric's `HGTLoader`, except that all neighbours of a node are considered, not only 520.

    - `data`: a `HeteroData`, or a `TypedGraph`, which is read into memory.
    - `num_samples`: nodes to sample in each hop, a list for all node types or a dictionary with a list for each.
    - `input_nodes`: as in `plimsoll.TypedNeighborLoader`. `transform` and all other arguments: as in PyTorch Geometric's loader,
      but without `input_time`, because samples have no times.
    - `seed`: the seed of the samples; None draws a new one from torch's generator for each sample.

    Errors: `UsageError`; `BudgetExceeded`.
    """

    def __init__(
        self,
        data: Any,
        num_samples: Any,
        input_nodes: Any,
        is_sorted: bool = False,
        transform: Callable[[Any], Any] | None = None,
        *,
        seed: int | None = None,
        **options: Any,
    ) -> None:
        if not has_types(data) or isinstance(data, tuple):
            raise UsageError(f"data: is {type(data).__name__}, expected a HeteroData or a plimsoll.TypedGraph")
        for name, remedy in _REMEDIES.items():
            if options.pop(name, None) is not None:
                raise UsageError(f"{name}: is not supported; {remedy}")
        sampler = HGTSampler(types_of(data, None, None), num_samples, seed)
        source = data.to_pyg() if isinstance(data, TypedGraph) else data
        super().__init__(source, sampler, input_nodes, transform=transform, **options)


class HGTSampler(BaseSampler):  # type: ignore[misc]
    """Samples nodes of each type for `HGTLoader`."""

    def __init__(self, types: SampledTypes, num_samples: Any, seed: int | None) -> None:
        if not isinstance(num_samples, dict):
            if not isinstance(num_samples, list | tuple):
                raise UsageError(f"num_samples={num_samples!r}: expected a list of whole numbers, or one for each node type")
            num_samples = dict.fromkeys(types.nodes, num_samples)
        if num_samples.keys() != types.nodes.keys():
            raise UsageError(f"num_samples: is for {list(num_samples)}, expected {list(types.nodes)}")
        self._types = types
        self._counts = [[whole("num_samples", count, 0) for count in num_samples[name]] for name in types.nodes]
        self.seed = None if seed is None else whole("seed", seed, 0, 2**64 - 1)
        # Raises for numbers that cannot be sampled.
        _core.hgt_sample(types.columns(), self._counts, 0, np.empty(0, np.int64), 0)

    @property
    def edge_permutation(self) -> dict[EdgeName, Tensor | None]:
        """The user's number of each edge that is sampled; None if that is its position."""
        return permutation(self._types)

    def sample_from_nodes(self, index: NodeSamplerInput) -> HeteroSamplerOutput:
        """Samples around nodes, as PyTorch Geometric's `BaseSampler` defines it."""
        out = self._sample(self._types.number(index.input_type), index.node)
        out.metadata = (index.input_id, index.time)
        return out

    def sample_from_edges(self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None) -> HeteroSamplerOutput:
        """Raises `UsageError`, because `HGTLoader` samples around nodes only."""
        raise UsageError("HGTLoader samples around nodes; plimsoll.LinkNeighborLoader samples around edges")

    def _sample(self, number: int, seeds: Tensor) -> HeteroSamplerOutput:
        seed = int(torch.randint(2**63 - 1, ())) if self.seed is None else self.seed
        nodes = np.ascontiguousarray(seeds.to(torch.int64).numpy())
        out = sampler_output(self._types, _core.hgt_sample(self._types.columns(), self._counts, number, nodes, seed))
        out.num_sampled_nodes = out.num_sampled_edges = None
        return out
