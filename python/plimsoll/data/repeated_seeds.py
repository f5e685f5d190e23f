"""Samples one batch around seeds that may repeat, as PyTorch Geometric does."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core

_OF_NODES = ("n_id", "x", "y")
_OF_EDGES = ("e_id", "edge_attr", "edge_weight")


def sample_at_once(
    mapping: _core.Mapping, seeds: NDArray[np.int64], loading: _core.NeighbourLoading, disjoint: bool, both_ways: bool, epoch: int,
    numpy: bool = False,
) -> tuple[dict[str, Any], _core.Neighbours]:  # fmt: skip
    """Returns one batch of all these seeds, and the object that made it. `both_ways` is for a bidirectional subgraph.

    Errors: `UsageError` for a node that does not exist; `InputError`; `BudgetExceeded`.
    """
    different, places = (seeds, None) if disjoint or not repeats(seeds) else once_each(seeds)
    if places is not None and both_ways:
        loading.sampling.set_subgraph("directional")
    loading.batching.batch_size, loading.batching.shuffle = max(len(different), 1), False
    made = _core.Neighbours(mapping, different, loading)
    batch: dict[str, Any] = made.next(made.stream(epoch, 0, 1, 0, 0), numpy)
    if places is not None:
        batch = with_repeats(batch, places)
        if both_ways:
            batch = with_reverses(batch)
    return batch, made


def repeats(seeds: NDArray[np.int64] | None) -> bool:
    """Returns whether a node is in `seeds` more than once."""
    if seeds is None or (np.diff(seeds) > 0).all():
        return False
    return len(np.unique(seeds)) < len(seeds)


def once_each(seeds: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the distinct seeds in the order in which they first appear, and the position of each seed among them."""
    _, first, places = np.unique(seeds, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return seeds[np.sort(first)], rank[places.reshape(-1)]


def with_repeats(batch: dict[str, Any], places: NDArray[np.int64]) -> dict[str, Any]:
    """Turns a batch of distinct seeds into one of all seeds. `places` has the position of each seed among the distinct
    ones.

    As in PyTorch Geometric, each seed is a node of the batch with its own copy of the edges into its node. An edge
    from a node that is a seed several times leads from the first of these. All copies of a seed have the same
    neighbours, because the sample of a node depends only on the loader's seed, the epoch and the node.
    """
    seeds = int(places.max()) + 1
    added = len(places) - seeds
    rows, columns = np.asarray(batch["edge_index"])
    nodes = np.concatenate([places, np.arange(seeds, len(batch["n_id"]))])
    new_number = np.concatenate([np.unique(places, return_index=True)[1], np.arange(seeds, len(batch["n_id"])) + added])
    # The edges of each node are next to each other, in the order of the nodes.
    by_column = np.argsort(columns, kind="stable")
    counts = np.bincount(columns, minlength=len(batch["n_id"]))
    first = np.cumsum(counts) - counts
    lengths = counts[nodes]
    ends = np.cumsum(lengths)
    edges = by_column[np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths) + np.repeat(first[nodes], lengths)]
    edge_index = np.stack([new_number[rows[edges]], np.repeat(np.arange(len(nodes)), lengths)])
    out = dict(batch)
    out.update({name: batch[name][nodes] for name in _OF_NODES if name in batch})
    out.update({name: batch[name][edges] for name in _OF_EDGES if name in batch})
    out["edge_index"] = _like(batch["edge_index"], edge_index)
    for name, more in (("num_sampled_nodes", added), ("num_sampled_edges", len(edges) - len(rows))):
        if name in batch and len(batch[name]):
            out[name] = _like(batch[name], np.asarray(batch[name]))
            out[name][0] += more
    return out


def with_reverses(batch: dict[str, Any]) -> dict[str, Any]:
    """Returns the same batch with the reverse of each edge, as PyTorch Geometric makes it bidirectional."""
    import torch
    from torch_geometric.sampler.utils import to_bidirectional

    rows, columns = torch.from_numpy(np.asarray(batch["edge_index"]).copy())
    places = torch.arange(len(rows))
    rows, columns, places = to_bidirectional(rows, columns, rows, columns, places, places)
    out = {name: value for name, value in batch.items() if not name.startswith("num_sampled")}
    out.update({name: batch[name][places.numpy()] for name in _OF_EDGES if name in batch})
    out["edge_index"] = _like(batch["edge_index"], torch.stack([rows, columns]).numpy())
    return out


def _like(given: Any, array: NDArray[np.int64]) -> Any:
    if isinstance(given, np.ndarray):
        return array.copy()
    import torch

    return torch.from_numpy(array.copy())
