"""Batches around edges: PyTorch Geometric's `LinkLoader` over neighbours that C++ samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from plimsoll import _torch  # noqa: F401  Imported first: if torch is missing, its error says how to install it.

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader
from torch_geometric.sampler import SamplerOutput

from plimsoll.arguments import one_of
from plimsoll.data.columns import whole_numbers
from plimsoll.data.graph import Graph
from plimsoll.data.pyg_data import is_data
from plimsoll.data.samplers import NeighborSampler
from plimsoll.data.sampling import subgraph_of
from plimsoll.data.stores import add_edge_columns
from plimsoll.errors import UsageError
from plimsoll.loaders.neighbours import graph_of
from plimsoll.loaders.typed_links import LinkSampling, typed_source
from plimsoll.loaders.typed_neighbours import has_types, require_times


class LinkNeighborLoader(LinkLoader):  # type: ignore[misc]
    """Iterates over edges to predict in batches, with neighbours sampled around their ends, and negative edges.

    It is PyTorch Geometric's `LinkLoader`, a `torch.utils.data.DataLoader`, over `Graph.sampler`, and needs no
    pyg-lib. Batches have the fields of PyTorch Geometric's `LinkNeighborLoader`: those of `plimsoll.NeighborLoader`,
    and `edge_label_index` i64 [2, B], `edge_label` [B] and `input_id`, or `src_index`, `dst_pos_index` and
    `dst_neg_index` for triplets.

    - `data`: a `Graph`, its `stores()`, or a `Data`, as in `plimsoll.NeighborLoader`; a `HeteroData`, or a `TypedGraph`, which is
      read into memory.
    - `num_neighbors`, `replace`, `subgraph_type`, `directed`, `disjoint`, `weight_attr`: as in
      `plimsoll.NeighborLoader`; for a graph with types as in `plimsoll.TypedNeighborLoader`, with `time_attr` and
      `temporal_strategy`.
    - `edge_label_time`: with `time_attr`, the time of each edge to predict, i64 [n]. Samples and negative edges contain
      nothing later.
    - `before`: with times, sample only edges, and nodes for negative edges, whose time is before that of the edge to
      predict, not equal to it. An edge of the graph that is to be predicted at its own time is then not in its own
      sample.
    - `window`: with times, sample no edges that are older than the edge to predict by more than this.
    - `edge_label_index`: i64 [2, n], sources and targets; the name of a split in `Graph.edge_splits`; or None for all
      edges. In a graph with types, an edge type, or a pair of it and i64 [2, n].
    - `edge_label`, `neg_sampling`, `neg_sampling_ratio`, `transform` and all other arguments: as in PyTorch
      Geometric's loader. torch determines the order, draws negative edges and runs worker processes.
    - `seed`: as in `Graph.sampler`.
    - `exclude_targets`: do not sample the edges that a batch predicts, nor their reverses, as
      `sampling.exclude_targets` in a recipe. PyTorch Geometric's loader samples them.

    Errors: those of `NeighborLoader`.
    """

    def __init__(
        self,
        data: Any,
        num_neighbors: Any,
        edge_label_index: Any = None,
        edge_label: Tensor | None = None,
        edge_label_time: Tensor | None = None,
        replace: bool = False,
        subgraph_type: str = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        neg_sampling: Any = None,
        neg_sampling_ratio: float | None = None,
        time_attr: str | None = None,
        weight_attr: str | None = None,
        transform: Callable[[Data], Data] | None = None,
        *,
        seed: int | None = None,
        exclude_targets: bool = False,
        before: bool = False,
        window: int | None = None,
        is_sorted: bool = False,
        directed: bool = True,
        **options: Any,
    ) -> None:
        subgraph_type = subgraph_of(subgraph_type, directed)
        options = {"edge_label": edge_label, "neg_sampling": neg_sampling, "neg_sampling_ratio": neg_sampling_ratio, **options}
        if has_types(data) or (is_data(data) and time_attr is not None):
            given = LinkSampling(
                num_neighbors, replace, subgraph_type, disjoint, temporal_strategy, time_attr, weight_attr, seed, exclude_targets,
                before, window,
            )  # fmt: skip
            typed, typed_sampler = typed_source(data, given, edge_label_time is not None)
            self._of_graph, self._then = False, transform
            super().__init__(typed, typed_sampler, edge_label_index, transform=self._transform, **options)
            if edge_label_time is not None:
                count = self.input_data.row.numel()
                self.input_data.time = torch.from_numpy(whole_numbers(edge_label_time, (count,), "edge_label_time"))
                typed_sampler.require_negatives(self.input_data, self.neg_sampling)
            return
        require_times(None, {"before": before, "window": window is not None})
        if edge_label_time is not None or time_attr is not None:
            raise UsageError("edge_label_time, time_attr: this data has no times; give a graph with types, a HeteroData or a Data with times")
        source, self._graph = graph_of(data, weight_attr)
        weight = "edge_weight" if weight_attr is not None and source is not None else weight_attr
        sampler = NeighborSampler(self._graph, num_neighbors, replace, subgraph_type, disjoint, weight, seed, exclude_targets)
        pairs = _pairs(self._graph, source, edge_label_index)
        super().__init__(
            self._graph.stores() if source is None else source,
            sampler,
            pairs if is_data(source) else (None, pairs),
            transform=self._transform,
            **options,
        )
        self._of_graph, self._then = source is None, transform

    def filter_fn(self, out: SamplerOutput) -> Data:
        """Makes a batch of a sample. Called by PyTorch Geometric."""
        self._edges = out.edge
        return super().filter_fn(out)

    def _transform(self, batch: Data) -> Data:
        if self._of_graph and self._edges is not None:
            batch = add_edge_columns(self._graph, batch, self._edges)
        return batch if self._then is None else self._then(batch)


def _pairs(graph: Graph, source: Data | None, given: Any) -> Tensor:
    """Returns the edges to predict as sources and targets, i64 [2, n]. Errors: `UsageError`."""
    if given is None:
        pairs: Tensor | None = (graph.to_pyg() if source is None or not is_data(source) else source).edge_index
        return torch.empty(2, 0, dtype=torch.int64) if pairs is None else pairs
    if not isinstance(given, str):
        try:
            found = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError) as error:
            raise UsageError(f"edge_label_index: cannot become a tensor: {error}; expected whole numbers of shape [2, n]") from error
        are_whole = not found.numel() or not (found.is_floating_point() or found.is_complex() or found.dtype == torch.bool)
        if found.dim() != 2 or len(found) != 2 or not are_whole:
            raise UsageError(
                f"edge_label_index: is {found.dtype} of shape {list(found.shape)}, expected whole numbers of shape [2, n]"
            )
        return found.long()
    if source is not None:
        raise UsageError(f"edge_label_index={given!r}: a Data has no named splits of edges; give pairs [2, n], or None for all "
                         "edges")
    splits = graph.edge_splits
    if not splits:
        raise UsageError(
            f"edge_label_index={given!r}: {graph.path} has no edges to predict; make some with plimsoll.split_edges, or give "
            "pairs"
        )
    named = torch.from_numpy(splits[one_of("edge_label_index", given, tuple(splits))].copy()).t()
    return named if graph.direction == "in" else named.flip(0)
