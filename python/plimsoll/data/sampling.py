"""Sampling options that `NeighborLoader` and `Graph.sampler` share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from plimsoll import _core
from plimsoll.arguments import whole
from plimsoll.errors import UsageError


def sampling_options(
    num_neighbors: Iterable[int], replace: bool, subgraph_type: str, disjoint: bool, weight_attr: str | None
) -> dict[str, Any]:
    """Checks and returns the sampling options of `NeighborLoader`. Errors: `UsageError`."""
    if not isinstance(num_neighbors, Iterable) or isinstance(num_neighbors, dict):
        raise UsageError(f"num_neighbors={num_neighbors!r}: expected a list of whole numbers, one per hop")
    if weight_attr not in (None, "edge_weight"):
        raise UsageError(f"weight_attr={weight_attr!r}: expected 'edge_weight' or None")
    return {
        "num_neighbors": [whole("num_neighbors", count, -1) for count in num_neighbors],
        "replace": bool(replace),
        "subgraph_type": str(getattr(subgraph_type, "value", subgraph_type)),
        "disjoint": bool(disjoint),
        "weight_attr": weight_attr,
    }


def subgraph_of(subgraph_type: str, directed: bool) -> str:
    """Returns `subgraph_type`, or "induced" with a warning for `directed=False`, which PyTorch Geometric still accepts."""
    if directed:
        return subgraph_type
    warnings.warn("directed=False is deprecated: give subgraph_type='induced'", stacklevel=3)
    return "induced"


def set_sampling(sampling: _core.NeighbourOptions, options: dict[str, Any]) -> None:
    """Copies the options from `sampling_options` to those of C++."""
    sampling.fan_outs, sampling.replace = options["num_neighbors"], options["replace"]
    sampling.weighted, sampling.disjoint = options["weight_attr"] is not None, options["disjoint"]
    sampling.set_subgraph(options["subgraph_type"])
