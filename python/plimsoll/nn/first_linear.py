"""Splits off the first linear layer of a GIN's network, so that one operator sums over neighbours and applies the layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch
import torch_geometric.nn
from torch import Tensor
from torch_geometric.nn import MLP

from plimsoll.nn import reasons

_LINEAR = (torch.nn.Linear, torch_geometric.nn.Linear)

#: A linear layer, and a function that runs the rest of the network.
Split: TypeAlias = tuple[torch.nn.Module, Callable[[Tensor], Tensor]]


def split(network: Any) -> Split | None:
    """Splits a network into its first linear layer and the rest.

    Returns None if the first layer is not linear, or if skipping its call would be noticed: it has hooks or is a
    subclass.
    """
    if type(network) in _LINEAR:
        found: Split = network, lambda x: x
    elif type(network) is torch.nn.Sequential and len(network):
        found = network[0], lambda x: _rest_of_sequential(network, x)
    elif type(network) is MLP and len(network.norms) and not network.supports_norm_batch:
        found = network.lins[0], lambda x: _rest_of_mlp(network, x)
    else:
        return None
    first = found[0]
    plain = type(first) in _LINEAR and reasons.is_plain(first) and reasons.is_plain(network)
    return found if plain else None


def _rest_of_sequential(network: torch.nn.Sequential, x: Tensor) -> Tensor:
    modules = list(network)[1:]
    while modules:
        if len(modules) > 1 and _fuses(*modules[:2]):
            x = torch.ops.plimsoll.relu_linear(x, modules[1].weight, modules[1].bias)
            modules = modules[2:]
        else:
            x = modules.pop(0)(x)
    return x


def _rest_of_mlp(mlp: Any, x: Tensor) -> Tensor:
    """Computes the part of PyTorch Geometric's `MLP.forward` after the first layer."""
    following = [*mlp.lins[1:], None]
    for norm, dropout, linear in zip(mlp.norms, mlp.dropout, following):
        drops = mlp.training and dropout > 0
        if linear is not None and type(norm) is torch.nn.Identity and not drops and _fuses(mlp.act, linear):
            x = torch.ops.plimsoll.relu_linear(x, linear.weight, linear.bias)
            continue
        x = mlp.act(x) if mlp.act is not None and mlp.act_first else x
        x = norm(x)
        x = mlp.act(x) if mlp.act is not None and not mlp.act_first else x
        x = torch.nn.functional.dropout(x, p=dropout, training=mlp.training)
        x = x if linear is None else linear(x)
    return torch.nn.functional.dropout(x, p=mlp.dropout[-1], training=mlp.training) if mlp.plain_last else x


def _fuses(act: Any, linear: Any) -> bool:
    """Returns whether these are a ReLU and a linear layer, and skipping their calls would not be noticed."""
    relu = type(act) is torch.nn.ReLU and not act.inplace and reasons.is_plain(act)
    return relu and type(linear) in _LINEAR and reasons.is_plain(linear)
