"""SGMP and GTMP, networks on the third-order paths of graphs in space, by torch.ops.plimsoll.path_message.

docs/paths.md says what they compute; parameters have the names and shapes of the authors' code.
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
    """The edges that paths walk, by source: what `path_edges` makes once for all layers."""

    row_begin: Tensor
    target: Tensor


def path_edges(edge_index: Tensor, num_nodes: int, direction: Direction = "both") -> PathEdges:
    """The edges i64 [2, E] as layers of paths read them, without self-loops.

    `descendant` walks each edge once from its lower to its higher node, whichever way it is stored, `ancestor` the other
    way: down and up a tree whose parents have lower numbers. Errors: RuntimeError for nodes out of range, and where
    there may be 2^63 paths.
    """
    return PathEdges(*torch.ops.plimsoll.path_edges(edge_index, num_nodes, direction))


def path_counts(edges: PathEdges) -> Tensor:
    """i64 [N]: how many paths of three edges and different nodes begin at each node; none is enumerated."""
    counts: Tensor = torch.ops.plimsoll.path_counts(*edges)
    return counts


class PathConv(Module):  # type: ignore[misc]
    """The messages of one layer of SGMP: of all paths i -> j -> k -> p, at i. It keeps nothing of a path.

    `hidden_channels` H; `num_gaussians` of distances up to `cutoff`, of angles and of torsions. `mode` is "reference" for
    the layer as the authors' code has it, or "corrected": torsions in a periodic basis, and no path (i, i, i, i).
    `distances_only` leaves angles and torsions out. `planar` says that all z are equal: then paths share more, and the
    result is the same but for rounding. `tile`, how many paths are there at once, is part of the result as sums are cut
    by it. `aggr` is "sum", as in the authors' code, or "mean" over the paths from i.
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
        """Xavier's uniform weights and no bias, as the authors' code; the second layers of MLPs are left as they are."""
        for linear in [*(mlp[0] for mlp in self.mlps_dist), *(self.combine[n] for n in (0, 2, 4))]:
            torch.nn.init.xavier_uniform_(linear.weight)
            torch.nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor, pos: Tensor, edge_index: Tensor | PathEdges) -> Tensor:
        """[N, H] of x [N, H], f32 or f64, and pos [N, 3] or [N, 2]; edge_index i64 [2, E], or its `path_edges`.

        Differentiable once, by x and parameters; pos is data. Errors: RuntimeError for shapes that do not fit, edges
        out of range, and positions that are no numbers.
        """
        edges = edge_index if isinstance(edge_index, PathEdges) else path_edges(edge_index, len(x), self.direction)
        out: Tensor = torch.ops.plimsoll.path_message(
            x, _in_space(pos, x), *edges, list(self.parameters()), self.tile, self.cutoff, self.mode,
            self.distances_only, self.planar,
        )  # fmt: skip
        if self.aggr == "mean":
            paths = path_counts(edges) + (self.mode == "reference")  # and the path (i, i, i, i)
            out = out / paths.clamp(min=1).to(out.dtype)[:, None]
        return out

    def extra_repr(self) -> str:
        return f"cutoff={self.cutoff}, mode={self.mode}, direction={self.direction}, tile={self.tile}, aggr={self.aggr}"


class _Network(Module):  # type: ignore[misc]
    """Embedding, interactions and two layers, as models/SGMP.py has them; `interaction` are the options of PathConv.

    With `norm` "batch" nodes pass a BatchNorm1d after each interaction, which the authors' code does not have.
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
        """[N, H]: nodes after all interactions. Arguments as `PathConv.forward`, x [N, input_channels_node]."""
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
    """Spatial Graph Message Passing (Zhang and Zhao, NeurIPS 2021): numbers of each graph from its paths in space.

    Arguments and parameters are those of the authors' models/SGMP.py, whose checkpoints load, and the options of
    `PathConv`. `norm` "batch" normalises nodes after each interaction (BatchNorm1d, `norms.I` in `state_dict`): where nodes have
    hundreds of paths, sums of messages are large and much alike, and the head's ReLU may shut for all graphs.
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
        """[G, output_channels]; batch i64 [N] is the graph of each node, None for one graph. Else as `encode`."""
        pool = global_mean_pool if self.readout == "mean" else global_add_pool
        return self._head(pool(self.encode(x, pos, edge_index), batch, batch_size))


class GTMP(_Network):
    """Geometric Tree Message Passing (arXiv 2408.08799): SGMP on trees, without a readout.

    Paths go from a node to its descendants, as in the authors' models/GTMP.py, or to its ancestors.
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
        """[N, output_channels], numbers of each node. As `encode`."""
        return self._head(self.encode(x, pos, edge_index))


def _in_space(pos: Tensor, x: Tensor) -> Tensor:
    """[N, 3] of x's dtype; points of the plane have z = 0."""
    pos = pos.to(x.dtype)
    if pos.dim() == 2 and pos.shape[1] == 2:
        pos = torch.nn.functional.pad(pos, (0, 1))
    return pos


def _leave_out_centres(_module: Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """The authors' checkpoints also have the centres of Gaussians, which are known here."""
    for name in [name for name in state if name.startswith(prefix) and name.endswith("_expansion.offset")]:
        del state[name]
