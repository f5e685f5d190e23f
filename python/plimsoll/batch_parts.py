"""A batch, and the same graphs in parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch_geometric.data import Batch, Data


def parts_of(batch: Data, counts: Iterable[int]) -> list[Data]:
    """Batches of the first graphs of a batch, the next ones, and so on; `counts` says how many each has, with the same `follow_batch`."""
    if not isinstance(batch, Batch):
        return [batch]
    graphs, follow = batch.to_data_list(), followed(batch.keys())
    parts, first = [], 0
    for count in counts:
        parts.append(Batch.from_data_list(graphs[first : first + count], follow_batch=follow))
        first += count
    return parts


def followed(keys: Sequence[str]) -> list[str]:
    """The fields that `follow_batch` named when a batch with these keys was made."""
    names = [key.removesuffix("_batch") for key in keys if key.endswith("_batch")]
    return [name for name in names if f"{name}_ptr" in keys]
