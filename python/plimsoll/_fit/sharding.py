"""Gradients and optimizer state per rank if ranks shard them (ZeRO, Rajbhandari et al., SC 2020)."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import torch

from plimsoll import _torch
from plimsoll._fit.trial import Trial, tensors_in
from plimsoll.arguments import one_of, whole
from plimsoll.errors import UsageError


class Share(NamedTuple):
    """Bytes that a rank holds at the end of its backward pass; the maximum over ranks."""

    gradients: int
    optimizer: int


def checked(sharding: str | None, ranks: int) -> int:
    """Returns the stage of ZeRO, 0 for none. Errors: `UsageError`."""
    ranks = whole("ranks", ranks, 1)
    if sharding is None:
        if ranks > 1:
            raise UsageError(f"ranks={ranks} without sharding: each rank then holds as much as a single process; expected "
                             "sharding zero1 or zero2")
        return 0
    return int(one_of("sharding", sharding, ("zero1", "zero2"))[-1])


def share_of(trial: Trial, stage: int, ranks: int) -> Share:
    """Returns the share of a rank, from a trial that has stepped.

    Each rank has a slice of all parameters in a row: 1 / `ranks` of their elements, rounded up. Stage 1 shards the
    optimizer's state, stage 2 also the gradients. State that does not have one element per parameter element, such as
    a count of steps, is held once by every rank for its slice.
    """
    trained = [parameter for parameter in trial.model.parameters() if parameter.requires_grad]
    gradients = _elements(trained)
    if stage == 0:
        return Share(sum(_torch.tensor_bytes(p.nbytes) for p in trained), trial.optimizer_state)
    sliced: Counter[tuple[str, torch.dtype]] = Counter()
    unsliced: dict[str, int] = {}
    for parameter, state in trial.optimizer.state.items():
        for name, value in state.items():
            for tensor in tensors_in(value):
                if tensor.numel() == parameter.numel() and tensor.dim() == parameter.dim():
                    sliced[name, tensor.dtype] += tensor.numel()
                else:
                    unsliced[name] = _torch.tensor_bytes(tensor.nbytes)
    return Share(
        _slices(gradients, ranks if stage == 2 else 1),
        sum(_slices(Counter({dtype: count}), ranks) for (_, dtype), count in sliced.items()) + sum(unsliced.values()),
    )


def _elements(tensors: list[torch.nn.Parameter]) -> Counter[torch.dtype]:
    counts: Counter[torch.dtype] = Counter()
    for tensor in tensors:
        counts[tensor.dtype] += tensor.numel()
    return counts


def _slices(elements: Counter[torch.dtype], ranks: int) -> int:
    """Returns the bytes of a slice of each dtype."""
    return sum(_torch.tensor_bytes(-(-count // ranks) * dtype.itemsize) for dtype, count in elements.items() if count)
