"""Fused layers in the place of those that a model of PyTorch Geometric has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch_geometric.nn
from torch_geometric.nn import MessagePassing

from plimsoll.nn import reasons
from plimsoll.nn.attention import GATConv, GATv2Conv

_FUSED = {torch_geometric.nn.GATConv: GATConv, torch_geometric.nn.GATv2Conv: GATv2Conv}
_NAMES = {kind.__name__ for kind in _FUSED}


class Layer(NamedTuple):
    """What `replace` did to a layer: its name in the model ("" is the model), its class before, and why."""

    name: str
    kind: str
    replaced: bool
    reason: str

    def __str__(self) -> str:
        text = f"{self.name or 'the model'}: {self.kind} {'replaced' if self.replaced else 'left alone'}"
        return f"{text}: {self.reason}" if self.reason else text


@dataclass(frozen=True)
class Report:
    """The layers of message passing that `replace` found, in the order of `named_modules`."""

    layers: tuple[Layer, ...]

    @property
    def replaced(self) -> int:
        """How many were replaced."""
        return sum(layer.replaced for layer in self.layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __str__(self) -> str:
        return "\n".join([f"{self.replaced} of {len(self)} layers replaced", *map(str, self.layers)])


def replace(model: torch.nn.Module) -> Report:
    """Makes every GATConv and GATv2Conv of PyTorch Geometric in `model`, or `model` itself, a fused layer, in place.

    A layer stays the object it is and changes its class: parameters, hooks, optimizers and names stay valid. Layers
    that would never run fused are left alone, as are subclasses, whose code is not known. No error; the report says it.
    """
    return Report(tuple(done for name, module in model.named_modules() for done in _replaced(name, module)))


def _replaced(name: str, module: torch.nn.Module) -> Iterator[Layer]:
    kind = type(module).__name__
    if isinstance(module, torch.jit.ScriptModule):
        if module.original_name in _NAMES:
            reason = "it is compiled to TorchScript; replace before torch.jit.script"
            yield Layer(name, module.original_name, False, reason)
    elif type(module) in _FUSED:
        never = reasons.of_options(module)
        if never is not None:
            yield Layer(name, kind, False, never)
            return
        module.__class__ = _FUSED[type(module)]
        module._set_jittable_templates()  # what making one would have done for the class
        now = reasons.of_state(module)
        yield Layer(name, kind, True, f"runs PyTorch Geometric's code while {now}" if now else "")
    elif isinstance(module, GATConv | GATv2Conv):
        yield Layer(name, kind, False, "it is a fused layer already")
    elif isinstance(module, tuple(_FUSED)):
        yield Layer(name, kind, False, "it is a subclass, which may compute something else")
    elif isinstance(module, MessagePassing):
        yield Layer(name, kind, False, f"there is no fused layer for {kind}")
