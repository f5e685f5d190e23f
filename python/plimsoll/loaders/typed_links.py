"""Options and samplers of `LinkNeighborLoader` for a graph with types or times."""

from __future__ import annotations

from typing import Any, NamedTuple

from plimsoll.arguments import one_of, whole
from plimsoll.data.sampled_types import with_node_counts
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.data.typed_samplers import TypedNeighborSampler, TypedSampling
from plimsoll.errors import UsageError
from plimsoll.loaders.typed_neighbours import is_bidirectional, require_times, types_of


class LinkSampling(NamedTuple):
    """The arguments of `LinkNeighborLoader` that determine the sample."""

    num_neighbors: Any
    replace: bool
    subgraph_type: str
    disjoint: bool
    temporal_strategy: str
    time_attr: str | None
    weight_attr: str | None
    seed: int | None
    exclude_targets: bool
    before: bool
    window: int | None


def typed_source(data: Any, given: LinkSampling, has_label_time: bool) -> tuple[Any, TypedNeighborSampler]:
    """Returns the data in the form that PyTorch Geometric's loader accepts, and a sampler for it. Errors:
    `UsageError`.
    """
    if given.exclude_targets:
        raise UsageError("exclude_targets: is supported only for graphs with one node type")
    if has_label_time != (given.time_attr is not None):
        missing = "edge_label_time" if given.time_attr is not None else "time_attr"
        raise UsageError(f"edge_label_time and time_attr must be given together; {missing!r} is not set")
    chosen = given.temporal_strategy == "last"
    require_times(given.time_attr, {"temporal_strategy": chosen, "before": given.before, "window": given.window is not None})
    types = types_of(data, given.time_attr, given.weight_attr)
    sampling = TypedSampling(
        types.fan_outs(given.num_neighbors),
        bool(given.replace),
        bool(given.disjoint),
        one_of("temporal_strategy", given.temporal_strategy, ("uniform", "last")),
        bool(given.before),
        None if given.window is None else whole("window", given.window, 0),
        "bidirectional" if is_bidirectional(given.subgraph_type) else "directional",
    )
    seed = None if given.seed is None else whole("seed", given.seed, 0, 2**64 - 1)
    source = data.to_pyg() if isinstance(data, TypedGraph) else with_node_counts(data, given.time_attr)
    return source, TypedNeighborSampler(types, sampling, seed)
