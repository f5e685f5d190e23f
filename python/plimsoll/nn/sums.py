"""GCNConv, SAGEConv and GINConv of PyTorch Geometric and Dropout of torch, computed by torch.ops.plimsoll.

Sums over edges store no tensor of edges x channels (src/ops/aggregate/aggregate.h) and, together with the linear layer that
follows, none of nodes x channels (src/ops/aggregate/aggregate_linear.cc). Dropout stores no mask
(src/ops/dropout/dropout.h).
"""

from __future__ import annotations

from typing import Any

import torch
import torch_geometric.nn
from torch import Tensor
from torch_geometric.nn import MeanAggregation, MessagePassing
from torch_geometric.typing import OptTensor, OptPairTensor

from plimsoll.nn import reasons
from plimsoll.nn.first_linear import split


class GCNConv(torch_geometric.nn.GCNConv):  # type: ignore[misc]
    """`torch_geometric.nn.GCNConv` whose forward and backward passes store no tensor of edges x channels.

    Arguments, parameters and `state_dict` are those of PyTorch Geometric. Calls that are not fused run its code;
    `why_not` gives the reason.
    """

    propagate = MessagePassing.propagate
    propagate_type = {"x": Tensor, "edge_weight": OptTensor}

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Returns [N, out_channels] for `x` [N, in_channels], f32 or f64, and `edge_index` i64 [2, E].

        Fused calls are differentiable once. Errors: RuntimeError for edges out of range and shapes that do not match.
        """
        if type(self) is not GCNConv or reasons.of_sum(self, x, edge_index, edge_weight) is not None:
            return super().forward(x, edge_index, edge_weight)
        nodes, loops = len(x), self.add_self_loops
        order = torch.ops.plimsoll.edge_order(edge_index, nodes, nodes, loops, loops)
        degree = torch.ops.plimsoll.in_degrees(order, nodes, nodes).to(x.dtype)
        scale = (degree + 1).rsqrt() if loops else degree.rsqrt().masked_fill(degree == 0, 0)

        def around(z: Tensor) -> Tensor:
            summed: Tensor = torch.ops.plimsoll.aggregate(z, order, scale, scale)
            return torch.addcmul(summed, z, scale.square().unsqueeze(1)) if loops else summed

        # Compute A x W in the order with the narrower intermediate result.
        out: Tensor = self.lin(around(x)) if self.in_channels < self.out_channels else around(self.lin(x))
        return out if self.bias is None else out + self.bias


class _Sums:
    """`propagate` for layers whose messages are the sources' features."""

    def propagate(self: Any, edge_index: Any, size: Any = None, **features: Any) -> Any:
        x = features.get("x")
        known = type(self) in (SAGEConv, GINConv) and features.keys() == {"x"}  # A subclass may have other messages.
        if not known or reasons.of_sum(self, x, edge_index, size=size) is not None:
            return MessagePassing.propagate(self, edge_index, size=size, **features)
        sources, targets = reasons.ends(x)
        count = reasons.target_count(sources, targets, size)
        order = torch.ops.plimsoll.edge_order(edge_index, len(sources), count, False, False)
        return torch.ops.plimsoll.aggregate(sources, order, None, _share(self, order, sources, count), count)


class SAGEConv(torch_geometric.nn.SAGEConv):  # type: ignore[misc]
    """`torch_geometric.nn.SAGEConv` whose means or sums and their product with `lin_l` are one operator.

    If sources and targets are different nodes, or with `project`, only the means or sums are fused.
    """

    propagate = _Sums.propagate
    propagate_type = {"x": OptPairTensor}

    def forward(self, x: Tensor | tuple[Tensor, Tensor | None], edge_index: Any, size: Any = None) -> Tensor:
        """Returns [T, out_channels] for `x` [N, in_channels] or a pair, f32 or f64, and `edge_index` i64 [2, E].

        Fused calls are differentiable once. Errors: RuntimeError for edges out of range and shapes that do not match.
        """
        if type(self) is not SAGEConv or self.project or not _in_one_piece(self, x, edge_index, size):
            return super().forward(x, edge_index, size)
        sources = reasons.ends(x)[0]
        order = torch.ops.plimsoll.edge_order(edge_index, len(sources), len(sources), False, False)
        out: Tensor = torch.ops.plimsoll.aggregate_linear(
            sources, order, self.lin_l.weight, self.lin_r.weight if self.root_weight else None, self.lin_l.bias,
            _share(self, order, sources, len(sources)),
        )  # fmt: skip
        return torch.nn.functional.normalize(out, p=2.0, dim=-1) if self.normalize else out


class GINConv(torch_geometric.nn.GINConv):  # type: ignore[misc]
    """`torch_geometric.nn.GINConv` whose sums and their product with the first layer of `nn` are one operator.

    If sources and targets are different nodes, with `train_eps`, or if `nn` does not begin with a linear layer, only
    the sums are fused.
    """

    propagate = _Sums.propagate
    propagate_type = {"x": OptPairTensor}

    def forward(self, x: Tensor | tuple[Tensor, Tensor | None], edge_index: Any, size: Any = None) -> Tensor:
        """Computes the layer. Arguments, result and errors are those of `SAGEConv.forward`."""
        known = type(self) is GINConv and not self.eps.requires_grad
        network = split(self.nn) if known and _in_one_piece(self, x, edge_index, size) else None
        if network is None:
            return super().forward(x, edge_index, size)
        linear, rest = network
        sources = reasons.ends(x)[0]
        order = torch.ops.plimsoll.edge_order(edge_index, len(sources), len(sources), False, False)
        own = (1 + self.eps).to(sources.dtype)
        return rest(
            torch.ops.plimsoll.aggregate_linear(
                sources, order, linear.weight, None, linear.bias, _share(self, order, sources, len(sources)), own
            )
        )


def _in_one_piece(conv: Any, x: Any, edge_index: Any, size: Any) -> bool:
    """Returns whether sources and targets are the same nodes and sums are fused."""
    sources, targets = reasons.ends(x)
    return sources is targets and reasons.of_sum(conv, x, edge_index, size=size) is None


def _share(conv: Any, order: Tensor, x: Tensor, targets: int) -> Tensor | None:
    """Returns the factors [targets] that turn sums into means; None for a layer of sums."""
    if type(conv.aggr_module) is not MeanAggregation:
        return None
    degrees: Tensor = torch.ops.plimsoll.in_degrees(order, len(x), targets)
    return degrees.to(x.dtype).clamp_(min=1).reciprocal_()


class Dropout(torch.nn.Dropout):  # type: ignore[misc]
    """`torch.nn.Dropout` that stores no mask for the backward pass, for f32 on the CPU.

    The distribution is the same as torch's, the random numbers are not. Each call draws a key from torch's generator,
    so `torch.manual_seed` controls it.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Returns the input with elements set to 0 at random in training mode, as torch does."""
        plain = type(input) in (Tensor, torch.nn.Parameter) and input.layout == torch.strided
        fused = plain and input.device.type == "cpu" and input.dtype == torch.float32 and not self.inplace
        if not fused or not self.training or not 0 < self.p < 1 or reasons.of_transformation():
            return super().forward(input)
        out: Tensor = torch.ops.plimsoll.dropout(input, self.p, torch.randint(2**16, (3,), device="cpu"))
        return out
