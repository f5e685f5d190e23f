"""Plimsoll's attention under the layers of PyTorch Geometric: what is compared with what.

run(conv, x, edge_index, edge_attr) gives (out, alpha) for the parameters and options of `conv`, alpha in the order of
PyTorch Geometric's edges: those of the caller, without self-loops where the layer adds its own, and then these.
x is a pair (sources, targets) where targets are other nodes.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch_geometric.nn import GATConv, GATv2Conv


def edge_order(conv, edge_index, x):
    """The order of a layer's edges."""
    sources, targets = (x[0], x[1]) if isinstance(x, tuple) else (x, x)
    return torch.ops.plimsoll.edge_order(edge_index, len(sources), len(targets), sources is targets,
                                         conv.add_self_loops)


def options(conv, dropout, keep_projection, attention):
    """The arguments of an operator that are no tensors."""
    fill = conv.fill_value
    kind, value = (fill, 0.0) if isinstance(fill, str) else ("value" if fill else "zero", float(fill))
    return (conv.heads, conv.negative_slope, conv.add_self_loops, kind, value, dropout, keep_projection, attention)


def as_pyg(conv, edge_index, out, alpha):
    """An operator's (out, alpha) as PyTorch Geometric gives them."""
    if not conv.concat:
        out = out.view(-1, conv.heads, conv.out_channels).mean(1)
        out = out if conv.bias is None else out + conv.bias
    if conv.add_self_loops and len(alpha):
        edges = edge_index.shape[1]
        alpha = torch.cat([alpha[:edges][edge_index[0] != edge_index[1]], alpha[edges:]])
    return out, alpha


def precise(tensor):
    """Scores and what is folded into them are not bfloat16."""
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor


def run_gat(conv, x, edge_index, edge_attr=None, *, order=None, seed=None, keys=None, dropout=0.0,
            keep_projection=True, attention=True):
    heads, channels = conv.heads, conv.out_channels
    order = edge_order(conv, edge_index, x) if order is None else order
    source, target = conv.att_src.view(heads, channels), conv.att_dst.view(heads, channels)
    target_score = q = None
    if isinstance(x, tuple):
        projected = torch.nn.functional.linear(precise(x[1]), precise(conv.lin_dst.weight))
        target_score = (projected.view(-1, heads, channels) * precise(target)).sum(-1)
        target = None
    if edge_attr is not None:
        q = (precise(conv.lin_edge.weight).view(heads, channels, -1)
             * precise(conv.att_edge).view(heads, channels, 1)).sum(1).t()
    out, alpha, *_ = torch.ops.plimsoll.gat(
        *((x[0], conv.lin_src.weight) if isinstance(x, tuple) else (x, conv.lin.weight)), source, target,
        target_score, order, edge_attr, q, conv.bias if conv.concat else None, seed, keys,
        *options(conv, dropout, keep_projection, attention))
    return as_pyg(conv, edge_index, out, alpha)


def run_gatv2(conv, x, edge_index, edge_attr=None, *, order=None, seed=None, keys=None, dropout=0.0,
              keep_projection=True, attention=True):
    order = edge_order(conv, edge_index, x) if order is None else order
    x, x_target = x if isinstance(x, tuple) else (x, None)
    own = conv.lin_r is not conv.lin_l or x_target is not None  # a projection of targets
    out, alpha, *_ = torch.ops.plimsoll.gatv2(
        x, conv.lin_l.weight, conv.lin_l.bias, x_target, conv.lin_r.weight if own else None,
        conv.lin_r.bias if own else None, conv.att.view(conv.heads, conv.out_channels), order, edge_attr,
        None if edge_attr is None else conv.lin_edge.weight.t(), conv.bias if conv.concat else None, seed, keys,
        *options(conv, dropout, keep_projection, attention))
    return as_pyg(conv, edge_index, out, alpha)


def run_pyg(conv, x, edge_index, edge_attr=None):
    out, (_, alpha) = conv(x, edge_index, edge_attr, return_attention_weights=True)
    return out, alpha


class Layer(NamedTuple):
    pyg: type  # PyTorch Geometric's layer
    run: Callable  # Plimsoll's


LAYERS = {"gat": Layer(GATConv, run_gat), "gatv2": Layer(GATv2Conv, run_gatv2)}


def make_conv(kind, in_channels, channels, dtype=torch.float64, **how):
    """A layer of PyTorch Geometric whose parameters are all random."""
    torch.manual_seed(1)
    conv = LAYERS[kind].pyg(in_channels, channels, **how).to(dtype)
    with torch.no_grad():
        for parameter in conv.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return conv


def evaluate(run, conv, x, edge_index, edge_attr, weights, **how):
    """{name: value} of out, alpha and the gradient of <weights[0], out> + <weights[1], alpha> by each input."""
    leaf = lambda tensor: None if tensor is None else tensor.detach().clone().requires_grad_()  # noqa: E731
    x = tuple(map(leaf, x)) if isinstance(x, tuple) else leaf(x)
    edge_attr = leaf(edge_attr)
    out, alpha = run(conv, x, edge_index, edge_attr, **how)
    inputs = dict(conv.named_parameters())
    inputs |= {"x": x[0], "x_target": x[1]} if isinstance(x, tuple) else {"x": x}
    inputs |= {} if edge_attr is None else {"edge_attr": edge_attr}
    loss = (weights[0] * out).sum() + (weights[1] * alpha).sum()
    gradients = torch.autograd.grad(loss, list(inputs.values()), materialize_grads=True)
    return {"out": out.detach(), "alpha": alpha.detach()} | {
        f"grad.{name}": gradient for name, gradient in zip(inputs, gradients)}
