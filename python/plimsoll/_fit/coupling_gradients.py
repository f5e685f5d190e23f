"""Uses gradients to find modules that mix graphs, for models whose outputs are random."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from plimsoll._fit.steps import Forward
from plimsoll._fit.trial import copied, tensors_in


def modules_by_gradient(model: torch.nn.Module, first: int, pair: Data, forward: Forward) -> list[str]:
    """Returns the modules that mix graphs, as "name (Class)", and all other modules of the same classes.

    A module mixes graphs if an output for the `first` graphs of a batch has a gradient with respect to the features of
    the others, and no input has one. A forward pass in training mode runs on a copy of the model, and a backward pass
    for each module. torch's generator stays unchanged. Returns [] if graphs have no floating-point features.
    """
    pair = pair.clone()
    if not isinstance(pair.x, Tensor) or not pair.x.is_floating_point():
        return []
    x = pair.x.detach().clone().requires_grad_()
    pair.x = x.clone()  # The model may write to it.
    rows_of_first = [
        (int(pair.num_nodes), pair.batch < first),
        (int(pair.num_edges), pair.batch[pair.edge_index[0]] < first),
        (int(pair.num_graphs), torch.arange(pair.num_graphs) < first),
    ]
    counts = [count for count, _ in rows_of_first]
    of_first = {count: rows for count, rows in rows_of_first if counts.count(count) == 1}  # Otherwise the count is ambiguous.

    found: list[torch.nn.Module] = []

    def mixes(values: Any) -> bool:
        for value in tensors_in(values):
            if not value.requires_grad:
                continue
            rows = of_first.get(len(value)) if value.dim() else None
            if rows is None:
                # It is unknown whose rows these are, as with added self-loops. Assume they are mixed after a module that
                # mixes.
                if found:
                    return True
                continue
            picked = value[rows]
            weights = torch.linspace(0.5, 1.5, picked.numel()).view_as(picked)  # The weights differ because a plain sum may be constant.
            (gradient,) = torch.autograd.grad((picked * weights).sum(), x, retain_graph=True, allow_unused=True)
            if gradient is not None and bool((gradient[pair.batch >= first] != 0).any()):
                return True
        return False

    mixed_inside: list[bool] = []

    def before(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        mixed_inside.append(mixes([args, kwargs]))

    def after(module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        if not mixed_inside.pop() and mixes(output):
            found.append(module)
            mixed_inside[:] = [True] * len(mixed_inside)

    model = copied(model).train()
    for module in model.modules():
        module.register_forward_pre_hook(before, with_kwargs=True)
        module.register_forward_hook(after, with_kwargs=True)
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        forward(model, pair)
    classes = {type(module) for module in found}
    found.clear()  # Break the cycle: the modules' hooks reference this list and the graphs.
    return [f"{name or 'the model'} ({type(module).__name__})" for name, module in model.named_modules() if type(module) in classes]
