"""Finds the modules of a model whose result depends on which graphs run together.

Graphs run separately and together, in float64, without dropout and with given statistics in batch norm. If a row of the
output differs, it depends on the other graphs. Batch norm is found by its calls, and is exact over a batch
(`batch_statistics.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from plimsoll._fit.batch_statistics import BatchNormCalls, is_batch_norm, with_given_statistics
from plimsoll._fit.coupling_gradients import modules_by_gradient
from plimsoll._fit.plain_forward import batch_in_double, draws, in_double, plain
from plimsoll._fit.steps import Forward
from plimsoll._fit.trial import copied, tensors_in
from plimsoll.errors import BudgetExceeded

_TOLERANCE = {torch.float64: 1e-8, torch.float32: 1e-4}


class Couplings(NamedTuple):
    """Modules whose result depends on all graphs that run together, as "name (Class)"."""

    batch_norm: list[str]  #: Batch norms, which compute statistics of their input.
    others: list[str]  #: All other such modules.
    calls: int = 0  #: Calls of batch norm with such statistics in a forward pass.


def couplings(model: torch.nn.Module, parts: Sequence[Data], together: Data, forward: Forward) -> Couplings:
    """Compares two batches with one batch of all their graphs, on a copy of the model. torch's generator stays
    unchanged.

    A model that draws random numbers other than for dropout is compared in evaluation mode, and in training mode by
    the gradient of one graph's output by the other's features.
    """
    with torch.random.fork_rng(devices=[]):
        norms, calls = _batch_norms(model, together, forward)
        copy = copied(model).train()
        found: list[str] = []
        if draws(copy, together, plain(forward)):
            found = modules_by_gradient(model, parts[0].num_graphs, together, with_given_statistics(forward))
            copy = copied(model).eval()
            if draws(copy, together, plain(forward)):
                return Couplings(norms, found, calls)
        return Couplings(norms, found or _by_outputs(copy, parts, together, forward), calls)


def _batch_norms(model: torch.nn.Module, batch: Data, forward: Forward) -> tuple[list[str], int]:
    """Returns the batch norms that a forward pass in training mode calls with statistics of their input, and the number
    of calls.
    """
    copy = copied(model).train()
    owners: set[int] = set()
    calls = 0

    def on_call(_: Any, call: Any) -> Tensor:
        nonlocal calls
        calls += 1
        owners.update(id(tensor) for tensor in call[1:5] if tensor is not None)
        zeros = torch.zeros(call.x.shape[1], dtype=torch.float64)
        normalised: Tensor = call.normalised(zeros, torch.ones_like(zeros))
        return normalised

    with torch.no_grad(), BatchNormCalls(on_call):
        forward(copy, batch)
    names = []
    for name, module in copy.named_modules():
        if is_batch_norm(module):
            own = (module.running_mean, module.running_var, module.weight, module.bias)
            if any(id(tensor) in owners for tensor in own if tensor is not None):
                names.append(f"{name or 'the model'} ({type(module).__name__})")
    return names or ["batch_norm"] * bool(calls), calls


def _by_outputs(model: torch.nn.Module, parts: Sequence[Data], together: Data, forward: Forward) -> list[str]:
    """Returns the modules whose output for a graph depends on other graphs while their input does not; [] if the
    model's output does not.
    """
    try:
        return _differing(in_double(model), [*map(batch_in_double, parts)], batch_in_double(together), forward)
    except BudgetExceeded:
        raise
    except RuntimeError:  # The model itself converts tensors to a fixed dtype.
        return _differing(model, parts, together, forward)


def _differing(model: torch.nn.Module, parts: Sequence[Data], together: Data, forward: Forward) -> list[str]:
    alone = [_Trace(model, part, forward) for part in parts]
    whole = _Trace(model, together, forward)
    if _agree([trace.output for trace in alone], whole.output, parts) is not False:
        return []
    found: list[torch.nn.Module] = []
    for key, call in whole.calls.items():
        parted = [trace.calls[key] for trace in alone if key in trace.calls]
        if len(parted) < len(alone):
            continue  # How often it is called depends on the batch.
        inputs = _agree([part.inputs for part in parted], call.inputs, parts)
        if inputs is not False and _agree([part.output for part in parted], call.output, parts) is False:
            found.append(key.module)
            break
    classes = {type(module) for module in found or [model]}
    return [f"{name or 'the model'} ({type(module).__name__})" for name, module in model.named_modules() if type(module) in classes]


class _Key(NamedTuple):
    module: torch.nn.Module
    times: int  #: Number of its earlier calls.


class _Call(NamedTuple):
    inputs: list[Tensor]
    output: list[Tensor]


class _Trace:
    """A forward pass, with the input and output of every call of a module, in the order in which the calls end."""

    def __init__(self, model: torch.nn.Module, batch: Data, forward: Forward) -> None:
        self.calls: dict[_Key, _Call] = {}
        self._times: dict[torch.nn.Module, int] = {}
        hooks = [module.register_forward_hook(self._after, with_kwargs=True) for module in model.modules()]
        try:
            with torch.no_grad():
                self.output = _tensors(plain(forward)(model, batch.clone()))
        finally:
            for hook in hooks:
                hook.remove()

    def _after(self, module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        times = self._times[module] = self._times.get(module, -1) + 1
        self.calls[_Key(module, times)] = _Call(_tensors([args, kwargs]), _tensors(output))


def _tensors(value: Any) -> list[Tensor]:
    return [tensor.detach() for tensor in tensors_in(value) if tensor.is_floating_point() and tensor.layout is torch.strided]


def _agree(alone: list[list[Tensor]], together: list[Tensor], parts: Sequence[Data]) -> bool | None:
    """Returns whether the outputs of the separate parts equal those of all parts together; None if it is unknown which
    row belongs to which part.
    """
    if any(len(tensors) != len(together) for tensors in alone):
        return None
    answers = [_same_rows(list(of_parts), whole, parts) for whole, *of_parts in zip(together, *alone)]
    if False in answers:
        return False
    return True if answers and None not in answers else None


def _same_rows(alone: list[Tensor], together: Tensor, parts: Sequence[Data]) -> bool | None:
    if not together.dim() or any(part.dim() != together.dim() for part in alone):
        return None
    if sum(map(len, alone)) != len(together):
        return None
    if any(part.shape[1:] != together.shape[1:] for part in alone):
        return _same_padded(alone, together)
    if _close(torch.cat(alone), together):
        return True
    counts = [(int(part.num_edges), int(part.num_nodes)) for part in parts]
    if all(len(rows) == edges + nodes for rows, (edges, nodes) in zip(alone, counts)):
        # The rows are edges, followed by the self-loops that a layer appended.
        edges = [rows[: count[0]] for rows, count in zip(alone, counts)]
        loops = [rows[count[0] :] for rows, count in zip(alone, counts)]
        return _close(torch.cat([*edges, *loops]), together)
    return False


def _same_padded(alone: list[Tensor], together: Tensor) -> bool:
    """Compares rows that are padded to the largest graph, up to the width of each part."""
    first = 0
    for part in alone:
        rows = together[first : first + len(part)]
        shared = tuple(slice(0, min(a, b)) for a, b in zip(part.shape, rows.shape))
        if not _close(part[shared], rows[shared]):
            return False
        first += len(part)
    return True


def _close(a: Tensor, b: Tensor) -> bool:
    if not a.numel():
        return True
    scale = float(b.abs().nan_to_num(0.0, 0.0, 0.0).max())
    return bool(torch.allclose(a, b, rtol=0.0, atol=_TOLERANCE.get(a.dtype, 1e-2) * max(scale, 1e-12), equal_nan=True))
