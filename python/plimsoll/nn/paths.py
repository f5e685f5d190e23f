"""SGMP and GTMP: networks on the third-order paths of graphs in space, computed by torch.ops.plimsoll.path_message.

docs/paths.md gives the formulas. Parameters have the names and shapes of the authors' code.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, Module, ModuleList, ReLU, Sequential
from torch_geometric.nn import global_add_pool, global_mean_pool

Mode = Literal["corrected", "reference"]
Direction = Literal["both", "ancestor", "descendant"]
Aggregation = Literal["sum", "mean"]
Norm = Literal["none", "batch"]
_GAUSSIANS = (50, 6, 12)


class PathEdges(NamedTuple):
    """The edges that paths walk, sorted by source. `path_edges` makes them once for all layers."""

    row_begin: Tensor
    target: Tensor


def path_edges(edge_index: Tensor, num_nodes: int, direction: Direction = "both") -> PathEdges:
    """Returns the edges i64 [2, E] in the form that path layers read, without self-loops.

    With `direction` "descendant" paths walk each edge once, from its lower to its higher node, whichever way it is
    stored; with "ancestor" the other way. In a tree whose parents have lower numbers than their children, paths then
    lead down the tree or up.

    Errors: RuntimeError for nodes out of range, and if there may be 2^63 paths or more.
    """
    return PathEdges(*torch.ops.plimsoll.path_edges(edge_index, num_nodes, direction))


def path_counts(edges: PathEdges) -> Tensor:
    """Returns i64 [N]: the number of paths of three edges and distinct nodes that start at each node. Paths are not
    enumerated.
    """
    counts: Tensor = torch.ops.plimsoll.path_counts(*edges)
    return counts


class PathConv(Module):  # type: ignore[misc]
    """One message layer of SGMP: sums the messages of all paths i -> j -> k -> p at node i. It stores nothing per path.

    - `hidden_channels`: H, the width of node features.
    - `num_gaussians`: the numbers of Gaussians for distances, angles and torsions.
    - `cutoff`: the largest distance that the Gaussians cover.
    - `mode`: "reference" computes the layer as in the authors' code; "corrected" uses a periodic basis for torsions
      and has no path (i, i, i, i).
    - `direction`: as in `path_edges`.
    - `distances_only`: use neither angles nor torsions.
    - `planar`: all z are equal. Paths then share more work; the result is the same except for rounding.
    - `tile`: maximum number of paths in memory at a time. Sums are split by it, so it affects rounding.
    - `aggr`: "sum", as in the authors' code, or "mean" over the paths from i.
    """

    def __init__(
        self,
        hidden_channels: int,
        num_gaussians: tuple[int, int, int] = _GAUSSIANS,
        cutoff: float = 10.0,
        mode: Mode = "corrected",
        direction: Direction = "both",
        distances_only: bool = False,
        planar: bool = False,
        tile: int = 256,
        aggr: Aggregation = "sum",
    ) -> None:
        super().__init__()
        h, (distances, angles, torsions) = hidden_channels, num_gaussians
        if distances_only:
            angles = torsions = 0
        self.cutoff, self.mode, self.direction = cutoff, mode, direction
        if aggr not in ("sum", "mean"):
            raise ValueError(f"aggr={aggr!r}, expected 'sum' or 'mean'")
        self.distances_only, self.planar, self.tile, self.aggr = distances_only, planar, tile, aggr
        self.mlps_dist = ModuleList(
            Sequential(Linear(inputs, h), ReLU(), Linear(h, h))
            for inputs in (distances, distances + angles, distances + angles + torsions)
        )
        self.combine = Sequential(
            Linear(7 * h, 4 * h), ReLU(), Linear(4 * h, 2 * h), ReLU(), Linear(2 * h, h)
        )  # fmt: skip
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws Xavier-uniform weights and sets biases to 0, as in the authors' code. The second layers of MLPs stay as
        they are.
        """
        for linear in [*(mlp[0] for mlp in self.mlps_dist), *(self.combine[n] for n in (0, 2, 4))]:
            torch.nn.init.xavier_uniform_(linear.weight)
            torch.nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, pos: Tensor, edge_index: Tensor | PathEdges) -> Tensor:
        """Returns [N, H].

        - `x`: [N, H], f32 or f64.
        - `pos`: [N, 3] or [N, 2].
        - `edge_index`: i64 [2, E], or its `path_edges`.

        Differentiable once by `x` and parameters, not by `pos`. Errors: RuntimeError for shapes that do not match,
        edges out of range, and positions that are NaN.
        """
        edges = edge_index if isinstance(edge_index, PathEdges) else path_edges(edge_index, len(x), self.direction)
        out: Tensor = torch.ops.plimsoll.path_message(
            x, _in_space(pos, x), *edges, list(self.parameters()), self.tile, self.cutoff, self.mode,
            self.distances_only, self.planar,
        )  # fmt: skip
        if self.aggr == "mean":
            paths = path_counts(edges) + (self.mode == "reference")  # Counts the path (i, i, i, i) too.
            out = out / paths.clamp(min=1).to(out.dtype)[:, None]
        return out

    def extra_repr(self) -> str:
        return f"cutoff={self.cutoff}, mode={self.mode}, direction={self.direction}, tile={self.tile}, aggr={self.aggr}"


class _Network(Module):  # type: ignore[misc]
    """An embedding, interactions and two linear layers, as in models/SGMP.py. `interaction` are the options of PathConv.

    With `norm` "batch", node features pass through a BatchNorm1d after each interaction, which the authors' code does
    not have.
    """

    def __init__(
        self, input_channels_node: int, hidden_channels: int, output_channels: int, num_interactions: int,
        norm: Norm, **interaction: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if norm not in ("none", "batch"):
            raise ValueError(f"norm={norm!r}, expected 'none' or 'batch'")
        h = hidden_channels
        self.embedding = Sequential(Linear(input_channels_node, h), ReLU(), Linear(h, h))
        self.interactions = ModuleList(PathConv(h, **interaction) for _ in range(num_interactions))
        self.norms = ModuleList(BatchNorm1d(h) for _ in range(num_interactions if norm == "batch" else 0))
        self.lin1, self.lin2 = Linear(h, h // 2), Linear(h // 2, output_channels)
        for linear in (self.lin1, self.lin2):
            torch.nn.init.xavier_uniform_(linear.weight)
            torch.nn.init.zeros_(linear.bias)
        self.direction: Direction = interaction["direction"]
        self.register_load_state_dict_pre_hook(_leave_out_centres)

    def encode(self, x: Tensor, pos: Tensor, edge_index: Tensor | PathEdges) -> Tensor:
        """Returns [N, H]: node features after all interactions. `x` is [N, input_channels_node]; the rest is as in
        `PathConv.forward`.
        """
        x = self.embedding(x)
        pos = _in_space(pos, x)
        edges = edge_index if isinstance(edge_index, PathEdges) else path_edges(edge_index, len(x), self.direction)
        for n, interaction in enumerate(self.interactions):
            x = x + interaction(x, pos, edges)
            if self.norms:
                x = self.norms[n](x)
        return x

    def _head(self, x: Tensor) -> Tensor:
        out: Tensor = self.lin2(torch.relu(self.lin1(x)))
        return out


class SGMP(_Network):
    """Spatial Graph Message Passing (Zhang and Zhao, NeurIPS 2021): predicts numbers per graph from its paths in space.

    Arguments and parameters are those of the authors' models/SGMP.py, whose checkpoints can be loaded, and the options
    of `PathConv`. `norm` "batch" normalises node features after each interaction (BatchNorm1d, `norms.I` in
    `state_dict`). Without it, if nodes have hundreds of paths, sums of messages are large and similar, and the head's
    ReLU may be 0 for all graphs.
    """

    def __init__(
        self, input_channels_node: int, hidden_channels: int = 128, output_channels: int = 1,
        num_interactions: int = 3, num_gaussians: tuple[int, int, int] = _GAUSSIANS, cutoff: float = 10.0,
        readout: Literal["add", "sum", "mean"] = "add", mode: Mode = "corrected", direction: Direction = "both",
        distances_only: bool = False, planar: bool = False, tile: int = 256, aggr: Aggregation = "sum", norm: Norm = "none",
    ) -> None:  # fmt: skip
        super().__init__(
            input_channels_node, hidden_channels, output_channels, num_interactions, norm, num_gaussians=num_gaussians,
            cutoff=cutoff, mode=mode, direction=direction, distances_only=distances_only, planar=planar, tile=tile,
            aggr=aggr,
        )  # fmt: skip
        if readout not in ("add", "sum", "mean"):
            raise ValueError(f"readout={readout!r}, expected 'add', 'sum' or 'mean'")
        self.readout = readout

    def forward(
        self, x: Tensor, pos: Tensor, edge_index: Tensor | PathEdges, batch: Tensor | None = None,
        batch_size: int | None = None,
    ) -> Tensor:  # fmt: skip
        """Returns [G, output_channels]. `batch` i64 [N] is the graph of each node, None for one graph; the rest is as in
        `encode`.
        """
        pool = global_mean_pool if self.readout == "mean" else global_add_pool
        return self._head(pool(self.encode(x, pos, edge_index), batch, batch_size))


class GTMP(_Network):
    """Geometric Tree Message Passing (arXiv 2408.08799): SGMP on trees, without a readout.

    Paths lead from a node to its descendants, as in the authors' models/GTMP.py, or to its ancestors.
    """

    def __init__(
        self, input_channels_node: int, hidden_channels: int = 128, output_channels: int = 1,
        num_interactions: int = 3, num_gaussians: tuple[int, int, int] = _GAUSSIANS, cutoff: float = 10.0,
        mode: Mode = "corrected", direction: Direction = "descendant", distances_only: bool = False,
        planar: bool = False, tile: int = 256, aggr: Aggregation = "sum", norm: Norm = "none",
    ) -> None:  # fmt: skip
        super().__init__(
            input_channels_node, hidden_channels, output_channels, num_interactions, norm, num_gaussians=num_gaussians,
            cutoff=cutoff, mode=mode, direction=direction, distances_only=distances_only, planar=planar, tile=tile,
            aggr=aggr,
        )  # fmt: skip

    def forward(self, x: Tensor, pos: Tensor, edge_index: Tensor | PathEdges) -> Tensor:
        """Returns [N, output_channels], numbers per node. Arguments are those of `encode`."""
        return self._head(self.encode(x, pos, edge_index))


def _in_space(pos: Tensor, x: Tensor) -> Tensor:
    """Returns positions [N, 3] in the dtype of `x`. Points of the plane get z = 0."""
    pos = pos.to(x.dtype)
    if pos.dim() == 2 and pos.shape[1] == 2:
        pos = torch.nn.functional.pad(pos, (0, 1))
    return pos


def _leave_out_centres(_module: Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Removes the centres of Gaussians from the authors' checkpoints; PathConv does not store them."""
    for name in [name for name in state if name.startswith(prefix) and name.endswith("_expansion.offset")]:
        del state[name]
