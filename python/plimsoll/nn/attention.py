"""GATConv and GATv2Conv of PyTorch Geometric, computed by torch.ops.plimsoll (docs/attention.md has the formulas)."""

from __future__ import annotations

from typing import Any

import torch
import torch_geometric.nn
from torch import Tensor
from torch_geometric.nn import MessagePassing
from torch_geometric.typing import OptPairTensor, OptTensor, PairTensor

from plimsoll.nn import reasons

# The projection is kept for the backward pass unless it is this many times as wide as the layer's input, or wider.
_RECOMPUTE_BELOW = 4


class GATConv(torch_geometric.nn.GATConv):  # type: ignore[misc]
    """`torch_geometric.nn.GATConv` whose forward and backward passes store no tensor of edges x heads x channels.

    Arguments, parameters, `state_dict` and return types are those of PyTorch Geometric. Calls that are not fused run
    PyTorch Geometric's code; `plimsoll.nn.why_not` gives the reason.
    """

    # PyTorch Geometric generates code for each layer class. It would look for argument types in the source of this
    # class, which does not state them, and would start from the parent's generated code, which cannot be explained.
    propagate = MessagePassing.propagate
    edge_updater = MessagePassing.edge_updater
    edge_updater_type = {"alpha": OptPairTensor, "edge_attr": OptTensor}
    propagate_type = {"x": OptPairTensor, "alpha": Tensor}

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor | None],
        edge_index: Any,
        edge_attr: Tensor | None = None,
        size: tuple[int, int] | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """Returns [T, H * C], or [T, C] if heads are averaged. With `return_attention_weights` returns (out,
        (edge_index, alpha [E', H])).

        - `x`: [N, F], or a pair of sources [S, F] and targets [T, F2] or None; f32, f64 or, on the CPU, bf16.
        - `edge_index`: i64 [2, E].
        - `edge_attr`: [E, K] or [E].
        - `size`: numbers of sources and targets, as in PyTorch Geometric.

        Fused calls are differentiable once. Errors: RuntimeError for edges out of range and shapes that do not match,
        and what PyTorch Geometric raises.
        """
        if _why_not(self, x, edge_index, edge_attr, size) is not None:
            return super().forward(x, edge_index, edge_attr, size, return_attention_weights)
        sources, targets = reasons.ends(x)
        shared = self.lin is not None
        weight, target_weight = (self.lin.weight,) * 2 if shared else (self.lin_src.weight, self.lin_dst.weight)
        att_source, att_target = (att.view(self.heads, self.out_channels) for att in (self.att_src, self.att_dst))
        # The operator computes the target scores itself if targets are the sources and share their projection.
        target_score = None
        count = reasons.target_count(sources, targets, size)
        if targets is None:
            target_score = sources.new_zeros(count, self.heads)
        elif targets is not sources or not shared:
            target_score = targets @ _folded(target_weight, self.att_dst)
        own = target_score is None
        edge_attr = _column(edge_attr) if self.lin_edge is not None else None
        out, alpha, *_ = torch.ops.plimsoll.gat(
            sources, weight, att_source, att_target if own else None, target_score,
            _order(self, edge_index, sources, count, own), edge_attr,
            None if edge_attr is None else _folded(self.lin_edge.weight, self.att_edge),
            self.bias if self.concat else None, *_options(self, weight, return_attention_weights),
        )  # fmt: skip
        return _finish(self, targets, edge_index, out, alpha.to(self.att_src.dtype), return_attention_weights)


class GATv2Conv(torch_geometric.nn.GATv2Conv):  # type: ignore[misc]
    """`torch_geometric.nn.GATv2Conv` whose forward and backward passes store no tensor of edges x heads x channels.

    Arguments, parameters, `state_dict` and return types are those of PyTorch Geometric. Calls that are not fused run
    PyTorch Geometric's code; `plimsoll.nn.why_not` gives the reason.
    """

    propagate = MessagePassing.propagate
    edge_updater = MessagePassing.edge_updater
    edge_updater_type = {"x": PairTensor, "edge_attr": OptTensor}
    propagate_type = {"x": PairTensor, "alpha": Tensor}

    def forward(
        self,
        x: Tensor | tuple[Tensor, Tensor],
        edge_index: Any,
        edge_attr: Tensor | None = None,
        return_attention_weights: bool | None = None,
    ) -> Any:
        """Computes the layer as `GATConv.forward` does, without `size`. If `x` is a pair, it must have targets."""
        if _why_not(self, x, edge_index, edge_attr) is not None:
            return super().forward(x, edge_index, edge_attr, return_attention_weights)
        sources, targets = reasons.ends(x)
        others = targets is not sources
        own = self.lin_r if others or not self.share_weights else None  # The projection of the targets, if it is a separate one.
        edge_attr = _column(edge_attr)
        out, alpha, *_ = torch.ops.plimsoll.gatv2(
            sources, self.lin_l.weight, self.lin_l.bias, targets if others else None, own and own.weight,
            own and own.bias, self.att.view(self.heads, self.out_channels),
            _order(self, edge_index, sources, len(targets), not others), edge_attr,
            None if edge_attr is None else self.lin_edge.weight.t(), self.bias if self.concat else None,
            *_options(self, self.lin_l.weight, return_attention_weights),
        )  # fmt: skip
        return _finish(self, targets, edge_index, out, alpha.to(self.att.dtype), return_attention_weights)


def _why_not(conv: Any, x: Any, edge_index: Any, edge_attr: Tensor | None, size: Any = None) -> str | None:
    if type(conv) not in (GATConv, GATv2Conv):
        return "it is a subclass, which may compute something else"
    return reasons.of_options(conv) or reasons.of_state(conv) or reasons.of_call(conv, x, edge_index, edge_attr, size)


def _column(edge_attr: Tensor | None) -> Tensor | None:
    return edge_attr.view(-1, 1) if edge_attr is not None and edge_attr.dim() == 1 else edge_attr


def _folded(weight: Tensor, attention: Tensor) -> Tensor:
    """Returns [F, H]: the attention vectors multiplied into the weight, since <W x, a> = <x, W a>. No result has the
    width of W.
    """
    heads, channels = attention.shape[1:]
    return (weight.view(heads, channels, -1) * attention.view(heads, channels, 1)).sum(1).t()


def _order(conv: Any, edge_index: Tensor, sources: Tensor, targets: int, same_nodes: bool) -> Tensor:
    return torch.ops.plimsoll.edge_order(edge_index, len(sources), targets, same_nodes, conv.add_self_loops)


def _options(conv: Any, weight: Tensor, attention: bool | None) -> tuple[Any, ...]:
    """Returns the arguments of both operators from `seed` on."""
    fill = conv.fill_value
    numbers = isinstance(fill, int | float)
    dropout = conv.dropout if conv.training else 0.0
    # The seed has 48 bits; the operators use the other 16 to count layers.
    seed = torch.randint(2**16, (3,), device="cpu") if dropout else None
    keep = torch.is_grad_enabled() and _RECOMPUTE_BELOW * weight.shape[1] > weight.shape[0]
    return (seed, None, conv.heads, conv.negative_slope, conv.add_self_loops, "value" if numbers else "mean",
            float(fill) if numbers else 0.0, dropout, keep, bool(attention))  # fmt: skip


def _finish(
    conv: Any, targets: Tensor | None, edge_index: Tensor, out: Tensor, alpha: Tensor, attention: bool | None
) -> Any:
    if not conv.concat:
        out = out.view(-1, conv.heads, conv.out_channels).mean(1)
        out = out if conv.bias is None else out + conv.bias
    if conv.res is not None and targets is not None:
        out = out + conv.res(targets)
    if not attention:
        return out
    if conv.add_self_loops:
        edges = edge_index.shape[1]
        kept = edge_index[0] != edge_index[1]
        loops = torch.arange(len(out), device=edge_index.device).expand(2, -1)
        edge_index = torch.cat([edge_index[:, kept], loops], dim=1)
        alpha = torch.cat([alpha[:edges][kept], alpha[edges:]])
    return out, (edge_index, alpha)
