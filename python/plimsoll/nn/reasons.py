"""Reasons why a layer runs PyTorch Geometric's code instead of a fused operator, as text, or None.

An operator computes the same as the layer's own code, but in one step. Hooks, explanations and transformations that
observe or change steps of that code need the code itself. Arguments that this code does not accept are also passed to
it, so that it raises its own errors.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, Linear, MeanAggregation, SumAggregation

_PLAIN = (Tensor, torch.nn.Parameter)
_STEPS = ("forward", "message", "aggregate", "update", "edge_update")
_HOOKS = [
    f"_{step}_forward_{kind}"
    for step in ("propagate", "message", "aggregate", "edge_update")
    for kind in ("pre_hooks", "hooks")
]
_LINEAR = {"lin", "lin_src", "lin_dst", "lin_l", "lin_r", "lin_edge"}
_LINEAR_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def of_options(conv: Any) -> str | None:
    """Returns a reason in the options of an attention layer."""
    if (reason := _of_messages(conv, (SumAggregation,))) is not None:
        return reason
    fill = conv.fill_value
    if conv.add_self_loops and conv.edge_dim is not None and fill != "mean" and not isinstance(fill, int | float):
        return f"fill_value={fill!r} is not fused; only 'mean' and numbers are"
    return None


def of_sum_options(conv: Any) -> str | None:
    """Returns a reason in the options of a sum layer."""
    if not isinstance(conv, GCNConv):
        return _of_messages(conv, (SumAggregation, MeanAggregation))
    if not conv.normalize or conv.improved or conv.cached:
        return "normalize=False, improved and cached are not fused"
    return _of_messages(conv, (SumAggregation,))


def of_sum(conv: Any, x: Any, edge_index: Any, edge_weight: Any = None, size: Any = None) -> str | None:
    """Returns why a sum layer, whose messages are the sources' features, runs PyTorch Geometric's code; None if it is
    fused.
    """
    reason = of_sum_options(conv) or of_state(conv) or _of_edges(edge_index)
    if reason is not None:
        return reason
    if edge_weight is not None:
        return "edge weights are not fused"
    sources, targets = ends(x)
    given = [tensor for tensor in (sources, targets) if tensor is not None]
    if any(type(tensor) not in _PLAIN or tensor.layout != torch.strided or tensor.dim() != 2 for tensor in given):
        return "x is not a plain tensor with 2 dimensions"
    if any(tensor.device.type != "cpu" for tensor in [*given, edge_index]):
        return "sums are fused only on the CPU"
    if any(tensor.dtype not in (torch.float32, torch.float64) for tensor in given) or torch.is_autocast_enabled("cpu"):
        return "sums are fused only in float32 and float64, and not under autocast"
    own = [*conv.parameters(recurse=False), *conv.buffers(recurse=False)]  # for example eps, whose dtype the result has
    if len({tensor.dtype for tensor in [*given, *own]}) > 1:
        return "x and the layer have different dtypes"
    if size is not None and not _fits(size, len(sources), None if targets is None else len(targets)):
        return f"size={size!r} is not that of x"
    return of_transformation()


def _of_messages(conv: Any, aggregations: tuple[type, ...]) -> str | None:
    if conv.flow != "source_to_target":
        return f"flow='{conv.flow}' is not fused"
    if type(conv.aggr_module) not in aggregations:
        return f"aggr={conv.aggr!r} is not fused; only sums{' and means' if len(aggregations) > 1 else ''} are"
    return None


def of_state(conv: Any) -> str | None:
    """Returns a reason in the layer's current state: explanations, hooks, or replaced parts."""
    if conv.explain:
        return "its messages are being explained"
    if conv.decomposed_layers != 1:
        return "it has decomposed_layers"
    if any(getattr(conv, name) for name in _HOOKS):
        return "it has message-passing hooks"
    changed = [name for name in _STEPS if name in vars(conv)]
    if changed:
        return f"its {changed[0]}() was replaced"
    for name in _LINEAR & conv._modules.keys():
        part = conv._modules[name]
        if part is None:
            continue
        if type(part) is not Linear:
            return f"its {name} is {type(part).__name__}, expected Linear"
        if type(part.weight) not in _PLAIN:
            return f"its {name}.weight is {type(part.weight).__name__}"
        if not is_plain(part):
            return f"its {name} has hooks"
    if conv.training and not 0 <= getattr(conv, "dropout", 0) < 1:
        return f"dropout={conv.dropout} is not fused"
    return None


def is_plain(part: Any) -> bool:
    """Returns whether a module has no hooks and no replaced forward, and its parameters are plain tensors."""
    numbers = all(type(parameter) in _PLAIN for parameter in part._parameters.values() if parameter is not None)
    return numbers and "forward" not in vars(part) and not any(getattr(part, hooks) for hooks in _LINEAR_HOOKS)


def of_call(conv: Any, x: Any, edge_index: Any, edge_attr: Any, size: Any) -> str | None:
    """Returns a reason in the arguments of forward(), or in the context of the call."""
    if (reason := _of_edges(edge_index)) is not None:
        return reason
    sources, targets = ends(x)
    gat = isinstance(conv, GATConv)
    attention = conv.att_src if gat else conv.att
    given = [tensor for tensor in (attention, sources, targets, edge_attr) if tensor is not None]
    if any(type(tensor) not in _PLAIN or tensor.layout != torch.strided for tensor in given):
        return "x or edge_attr is not a plain tensor"
    if any(tensor.dim() != 2 for tensor in (sources, targets) if tensor is not None):
        return "x does not have 2 dimensions"
    if edge_attr is not None and edge_attr.dim() not in (1, 2):
        return "edge_attr does not have 1 or 2 dimensions"
    if not gat and (targets is None or (edge_attr is not None and conv.lin_edge is None)):
        return "GATv2Conv has no such arguments"
    if size is not None and not _fits(size, len(sources), None if targets is None else len(targets)):
        return f"size={size!r} is not that of x"
    count = target_count(sources, targets, size)
    if conv.add_self_loops and count > len(sources):
        return "not every target can have a self-loop"
    return _of_numbers([*given, edge_index], {tensor.dtype for tensor in given}) or of_transformation()


def _of_edges(edge_index: Any) -> str | None:
    if type(edge_index) is not Tensor or edge_index.layout != torch.strided:
        return "edge_index is not a plain tensor"
    if edge_index.dtype != torch.int64 or edge_index.dim() != 2:
        return f"edge_index is {edge_index.dtype} with {edge_index.dim()} dimensions, expected int64 with 2"
    return None


def target_count(sources: Tensor, targets: Tensor | None, size: Any) -> int:
    """Returns the number of targets: those in `x`, or the number in `size`, or the number of sources."""
    if targets is not None:
        return len(targets)
    return int(size[1]) if size is not None and size[1] is not None else len(sources)


def _fits(size: Any, sources: int, targets: int | None) -> bool:
    if not isinstance(size, tuple | list) or len(size) != 2:
        return False
    return size[0] in (None, sources) and (targets is None or size[1] in (None, targets))


def ends(x: Any) -> tuple[Any, Any]:
    """Returns the features of sources and of targets; the same tensor if they are the same nodes."""
    return tuple(x) if isinstance(x, tuple | list) and len(x) == 2 else (x, x)


def _of_numbers(tensors: list[Tensor], dtypes: set[torch.dtype]) -> str | None:
    device = tensors[0].device
    if any(tensor.device != device for tensor in tensors):
        return "tensors are on several devices"
    if device.type != "cpu" and not (device.type == "cuda" and _has_cuda()):
        return f"the operators were built without {device.type}"
    autocast = torch.is_autocast_enabled(device.type)
    allowed = {torch.float32, torch.float64} | ({torch.bfloat16} if device.type == "cpu" else set())
    if autocast and (device.type != "cpu" or torch.get_autocast_dtype("cpu") != torch.bfloat16):
        return f"autocast on {device.type} to {torch.get_autocast_dtype(device.type)} is not fused"
    mixed = len(dtypes) > 1 and not (autocast and torch.float64 not in dtypes)
    if mixed or not dtypes <= allowed:
        return f"numbers are {', '.join(sorted(map(str, dtypes)))}"
    return None


def of_transformation() -> str | None:
    """Returns a reason in what torch does around the call, such as tracing."""
    if torch.compiler.is_compiling():
        return None
    if torch.jit.is_tracing():
        return "it is being traced"
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return "torch.func or forward-mode derivatives are in use"
    if torch.nn.modules.module._has_any_global_hook():
        return "there are global module hooks"
    return None


@cache
def _has_cuda() -> bool:
    """Returns whether the library has CUDA kernels. A library without them raises when called."""
    try:
        torch.ops.plimsoll.edge_order(torch.empty(2, 0, dtype=torch.int64, device="cuda"), 0, 0, True, False)
    except RuntimeError:
        return False
    return True
