"""Replaces the layers of a PyTorch Geometric model with fused ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch_geometric.nn
from torch import Tensor
from torch_geometric.nn import MessagePassing

from plimsoll.nn import reasons
from plimsoll.nn.attention import GATConv, GATv2Conv
from plimsoll.nn.sums import Dropout, GCNConv, GINConv, SAGEConv

_ATTENTION = {torch_geometric.nn.GATConv: GATConv, torch_geometric.nn.GATv2Conv: GATv2Conv}
_SUMS = {
    torch_geometric.nn.GCNConv: GCNConv,
    torch_geometric.nn.SAGEConv: SAGEConv,
    torch_geometric.nn.GINConv: GINConv,
}
_FUSED: dict[type, type] = {**_ATTENTION, **_SUMS}
_NAMES = {kind.__name__ for kind in _FUSED}


class Layer(NamedTuple):
    """The result of `replace` for one layer: its name in the model ("" for the model itself), its former class, whether
    it was replaced, and the reason, "" if there is none.
    """

    name: str
    kind: str
    replaced: bool
    reason: str

    def __str__(self) -> str:
        text = f"{self.name or 'the model'}: {self.kind} {'replaced' if self.replaced else 'left alone'}"
        return f"{text}: {self.reason}" if self.reason else text


@dataclass(frozen=True)
class Report:
    """The message-passing and dropout layers that `replace` found, in the order of `named_modules`."""

    layers: tuple[Layer, ...]

    @property
    def replaced(self) -> int:
        """The number of replaced layers."""
        return sum(layer.replaced for layer in self.layers)

    def __iter__(self) -> Iterator[Layer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __str__(self) -> str:
        return "\n".join([f"{self.replaced} of {len(self)} layers replaced", *map(str, self.layers)])


def replace(model: torch.nn.Module) -> Report:
    """Turns the layers of a PyTorch Geometric model into fused layers, in place, and returns a report.

    Replaces GATConv, GATv2Conv, GCNConv, SAGEConv and GINConv in `model`, or `model` itself, with fused layers, and every
    torch.nn.Dropout by one that stores no mask.

    A layer stays the same object and changes its class, so parameters, hooks, optimizers and names stay valid. Layers
    that would never run fused are left alone, as are subclasses, which may compute something else. Raises no errors;
    the report gives the reasons.
    """
    return Report(tuple(done for name, module in model.named_modules() for done in _replaced(name, module)))


def _replaced(name: str, module: torch.nn.Module) -> Iterator[Layer]:
    kind = type(module).__name__
    if isinstance(module, torch.jit.ScriptModule):
        if module.original_name in _NAMES:
            reason = "it is compiled to TorchScript; call replace before torch.jit.script"
            yield Layer(name, module.original_name, False, reason)
    elif type(module) in _FUSED:
        never = _of_options(module)
        if never is not None:
            yield Layer(name, kind, False, never)
            return
        module.__class__ = _FUSED[type(module)]
        module._set_jittable_templates()  # Constructing a layer of the new class would have done this.
        now = reasons.of_state(module)
        yield Layer(name, kind, True, f"runs PyTorch Geometric's code while {now}" if now else "")
    elif type(module) is torch.nn.Dropout:
        module.__class__ = Dropout
        yield Layer(name, kind, True, "")
    elif isinstance(module, (*_FUSED.values(), Dropout)):
        yield Layer(name, kind, False, "it is a fused layer already")
    elif isinstance(module, tuple(_FUSED)):
        yield Layer(name, kind, False, "it is a subclass, which may compute something else")
    elif isinstance(module, MessagePassing):
        yield Layer(name, kind, False, f"there is no fused layer for {kind}")


def why_not(
    conv: torch.nn.Module, x: Any, edge_index: Any, edge_attr: Tensor | None = None, size: Any = None
) -> str | None:
    """Returns why `conv` runs PyTorch Geometric's code for these arguments; None if the call is fused.

    The arguments are those of the layer's forward(); `edge_attr` is `edge_weight` for a GCNConv.
    """
    if type(conv) not in _FUSED.values():
        return f"it is {type(conv).__module__}.{type(conv).__qualname__}, not a layer of plimsoll.nn"
    if type(conv) in _SUMS.values():
        return reasons.of_sum(conv, x, edge_index, edge_attr, size)
    return reasons.of_options(conv) or reasons.of_state(conv) or reasons.of_call(conv, x, edge_index, edge_attr, size)


def _of_options(conv: torch.nn.Module) -> str | None:
    return reasons.of_sum_options(conv) if type(conv) in _SUMS else reasons.of_options(conv)
