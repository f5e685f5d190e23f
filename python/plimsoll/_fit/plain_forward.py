"""Forward passes in which graphs that run together leave each other alone, as far as torch's own operations go."""

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
    """The same forward pass without dropout, where batch norm has given statistics."""
    given = with_given_statistics(forward)

    def run(model: torch.nn.Module, batch: Data) -> Any:
        with _WithoutDropout():
            return given(model, batch)

    return run


def in_double(model: torch.nn.Module) -> torch.nn.Module:
    """A copy of the model in float64."""
    return copied(model).double()


def batch_in_double(batch: Data) -> Data:
    """A copy of the batch whose fields of floating point are in float64."""
    batch = batch.clone()
    for name, value in batch.to_dict().items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            batch[name] = value.double()
    return batch


def draws(model: torch.nn.Module, batch: Data, forward: Forward) -> bool:
    """Whether a forward pass draws random numbers, from the generator of torch, Python or NumPy."""
    before, others = torch.get_rng_state(), other_random.state()
    with torch.no_grad():
        forward(model, batch)
    return not torch.equal(before, torch.get_rng_state()) or others != other_random.state()
