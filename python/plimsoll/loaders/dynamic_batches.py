"""Batches limited by nodes and edges, for any loader that accepts a `batch_sampler`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll import _torch  # noqa: F401  Imported first: if torch is missing, its error says how to install it.

import numpy as np
import torch
from numpy.typing import NDArray

from plimsoll.arguments import one_of, whole
from plimsoll.errors import UsageError
from plimsoll.loaders.size_limits import SizeLimits


class DynamicBatchSampler(torch.utils.data.Sampler[list[int]]):  # type: ignore[misc]
    """`torch_geometric.loader.DynamicBatchSampler` that can limit nodes and edges together.

        sampler = plimsoll.DynamicBatchSampler(dataset, max_nodes=10_000, max_edges=50_000, shuffle=True)
        loader = torch_geometric.loader.DataLoader(dataset, batch_sampler=sampler)

    A batch ends before it would exceed a limit.

    - `dataset`: a list or data set of `Data`, or graphs of a `GraphSet`. The constructor reads their counts once.
    - `max_num`, `mode`: PyTorch Geometric's single limit: `max_nodes` for the mode "node", `max_edges` for "edge".
    - `max_nodes`, `max_edges`: whole numbers, 0 or more, or None for no limit. At least one is needed.
    - `shuffle`: draw the order of each epoch from torch's generator.
    - `skip_too_big`: leave out graphs that exceed a limit by themselves; otherwise these are a `UsageError`.
    - `num_steps`: maximum number of batches per epoch.

    `len(sampler)` is the number of batches per epoch. With `shuffle` it is `num_steps`, the maximum, or undefined
    without `num_steps`; `plimsoll.DataLoader(dataset, max_nodes=..., max_edges=..., shuffle=True)` has a length.
    Errors: `UsageError`.
    """

    def __init__(
        self,
        dataset: Sequence[Any],
        max_num: int | None = None,
        mode: str = "node",
        shuffle: bool = False,
        skip_too_big: bool = False,
        num_steps: int | None = None,
        *,
        max_nodes: int | None = None,
        max_edges: int | None = None,
    ) -> None:
        mode = one_of("mode", mode, ("node", "edge"))
        if max_num is not None:
            if (max_nodes if mode == "node" else max_edges) is not None:
                raise UsageError(f"max_num={max_num} and max_{mode}s set the same limit; leave max_num out")
            max_nodes, max_edges = (max_num, max_edges) if mode == "node" else (max_nodes, max_num)
        if max_nodes is None and max_edges is None:
            raise UsageError("expected max_nodes, max_edges or both; found neither")
        self.max_nodes, self.max_edges = (
            None if limit is None else whole(name, limit, 0) for name, limit in (("max_nodes", max_nodes), ("max_edges", max_edges))
        )
        self.dataset, self.shuffle, self.skip_too_big = dataset, bool(shuffle), bool(skip_too_big)
        self.num_steps = None if num_steps is None else whole("num_steps", num_steps, 1)
        self._limits = SizeLimits(dataset, self.max_nodes, self.max_edges, self.skip_too_big)

    def __iter__(self) -> Iterator[list[int]]:
        items = self._limits.items
        if self.shuffle:
            items = items[torch.randperm(len(items)).numpy()]
        return iter(self._cut(items))

    def __len__(self) -> int:
        if not self.shuffle:
            return len(self._cut(self._limits.items))
        if self.num_steps is None:
            raise _NoLength(
                "the length of 'DynamicBatchSampler' is undefined with shuffle=True, because it depends on the order; give "
                "num_steps, or "
                "plimsoll.DataLoader(dataset, max_nodes=..., max_edges=..., shuffle=True), which has a length"
            )
        return self.num_steps

    def _cut(self, items: NDArray[np.int64]) -> list[list[int]]:
        return self._limits.cut(items, max_graphs=max(len(items), 1))[: self.num_steps]


class _NoLength(UsageError, TypeError):
    """A sampler has no length. As a `TypeError` it lets `list(loader)` continue without a length."""
