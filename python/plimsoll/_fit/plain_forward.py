"""Forward passes in which graphs do not affect each other through torch's own operations."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch_geometric.data import Data

from plimsoll._fit import other_random
from plimsoll._fit.batch_statistics import with_given_statistics
from plimsoll._fit.steps import Forward
from plimsoll._fit.trial import copied

_DROPOUTS = {F.dropout, F.dropout1d, F.dropout2d, F.dropout3d, F.alpha_dropout, F.feature_alpha_dropout}


class _WithoutDropout(TorchFunctionMode):  # type: ignore[misc]
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _DROPOUTS:
            return args[0] if args else kwargs["input"]
        return func(*args, **kwargs)


def plain(forward: Forward) -> Forward:
    """Returns the same forward pass without dropout, and with given statistics for batch norm."""
    given = with_given_statistics(forward)

    def run(model: torch.nn.Module, batch: Data) -> Any:
        with _WithoutDropout():
            return given(model, batch)

    return run


def in_double(model: torch.nn.Module) -> torch.nn.Module:
    """Returns a copy of the model in float64."""
    return copied(model).double()


def batch_in_double(batch: Data) -> Data:
    """Returns a copy of the batch with floating-point fields in float64."""
    batch = batch.clone()
    for name, value in batch.to_dict().items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            batch[name] = value.double()
    return batch


def draws(model: torch.nn.Module, batch: Data, forward: Forward) -> bool:
    """Returns whether a forward pass draws random numbers from the generators of torch, Python or NumPy."""
    before, others = torch.get_rng_state(), other_random.state()
    with torch.no_grad():
        forward(model, batch)
    return not torch.equal(before, torch.get_rng_state()) or others != other_random.state()
