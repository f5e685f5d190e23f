"""Models of OGB's examples for properties of graphs."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import MessagePassing, global_add_pool, global_mean_pool

from example_models.case import Case
from example_models.data import ATOM_FEATURES, BOND_FEATURES, edges, made, molecule, nodes_of, numbers

WIDTH = 24


class Encoder(nn.Module):
    """The sum of an embedding of each column."""

    def __init__(self, sizes: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)

    def forward(self, x: Tensor) -> Tensor:
        return sum(table(x[:, i]) for i, table in enumerate(self.tables))  # type: ignore[return-value]


class AstEncoder(nn.Module):
    """Nodes of a syntax tree by type, attribute and depth, which it clamps in place."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.types, self.attributes, self.depths = nn.Embedding(20, width), nn.Embedding(30, width), nn.Embedding(6, width)

    def forward(self, x: Tensor, depth: Tensor) -> Tensor:
        depth[depth > 5] = 5
        return self.types(x[:, 0]) + self.attributes(x[:, 1]) + self.depths(depth)


class Gin(MessagePassing):
    """GIN with features of edges."""

    def __init__(self, width: int, edges: nn.Module) -> None:
        super().__init__(aggr="add")
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.BatchNorm1d(2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.eps, self.edges = nn.Parameter(torch.zeros(1)), edges

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.mlp((1 + self.eps) * x + self.propagate(edge_index, x=x, edge_attr=self.edges(edge_attr)))

    def message(self, x_j: Tensor, edge_attr: Tensor) -> Tensor:
        return F.relu(x_j + edge_attr)


class Gnn(nn.Module):
    """Layers of GIN, each with batch norm, and with a virtual node a graph; `heads` linear layers after the pool."""

    def __init__(
        self, nodes: nn.Module, edges: list[nn.Module], outputs: int, heads: int = 1, virtual: bool = False,
        residual: bool = False, jk: str = "last", pool: Any = global_mean_pool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.nodes, self.jk, self.residual, self.pool, self.heads = nodes, jk, residual, pool, heads
        self.convs = nn.ModuleList(Gin(WIDTH, encoder) for encoder in edges)
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in edges)
        self.virtual = nn.Embedding(1, WIDTH) if virtual else None
        if self.virtual is not None:
            nn.init.constant_(self.virtual.weight, 0)
            self.virtual_mlps = nn.ModuleList(self._mlp() for _ in edges[1:])
        self.outs = nn.ModuleList(nn.Linear(WIDTH, outputs) for _ in range(heads))

    @staticmethod
    def _mlp() -> nn.Module:
        wide = [nn.Linear(WIDTH, 2 * WIDTH), nn.BatchNorm1d(2 * WIDTH), nn.ReLU()]
        return nn.Sequential(*wide, nn.Linear(2 * WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU())

    def forward(self, batched_data: Data) -> Any:
        data, batch = batched_data, batched_data.batch
        hidden = [self.nodes(data.x, data.node_depth.view(-1)) if isinstance(self.nodes, AstEncoder) else self.nodes(data.x)]
        if self.virtual is not None:
            virtual = self.virtual(torch.zeros(int(batch[-1]) + 1, dtype=data.edge_index.dtype))
        for layer, (conv, norm) in enumerate(zip(self.convs, self.norms)):
            if self.virtual is not None:
                hidden[layer] = hidden[layer] + virtual[batch]
            h = norm(conv(hidden[layer], data.edge_index, data.edge_attr))
            if layer < len(self.convs) - 1:
                h = F.relu(h)
            if self.residual:
                h = h + hidden[layer]
            hidden.append(h)
            if self.virtual is not None and layer < len(self.convs) - 1:
                virtual = self.virtual_mlps[layer](global_add_pool(hidden[layer], batch) + virtual)
        h = self.pool(sum(hidden) if self.jk == "sum" else hidden[-1], batch)
        outs = [out(h) for out in self.outs]
        return outs[0] if self.heads == 1 else outs


def _mol(**options: Any) -> Any:
    return lambda _: Gnn(Encoder(ATOM_FEATURES, WIDTH), [Encoder(BOND_FEATURES, WIDTH) for _ in range(4)], 1, **options)


def labelled(out: Tensor, y: Tensor) -> Tensor:
    """Leaves out targets that are NaN, as OGB's training loop does."""
    known = y == y
    return F.binary_cross_entropy_with_logits(out[known], y.to(out.dtype)[known])


def partly_labelled(i: int) -> Data:
    graph = molecule(i)
    graph.y = torch.full((1, 1), float("nan")) if i % 9 == 4 else graph.y.to(torch.get_default_dtype())
    return graph


def regression(i: int) -> Data:
    graph = molecule(i)
    graph.y = torch.randn(1)
    return graph


def association(i: int) -> Data:
    """As ogbg-ppa: x i64 [N] of zeros, edge_attr [E, 7], y i64 [1, 1]."""
    edge_index = edges(nodes_of(i))
    x = torch.zeros(nodes_of(i), dtype=torch.long)
    return Data(x=x, edge_index=edge_index, edge_attr=torch.rand(edge_index.shape[1], 7), y=torch.tensor([[i % 5]]))


def code(i: int) -> Data:
    """As ogbg-code2 once its transforms ran: x i64 [N, 2], node_depth i64 [N, 1], edge_attr [E, 2], y i64 [1, 5]."""
    edge_index, nodes = edges(nodes_of(i)), nodes_of(i)
    return Data(
        x=numbers(nodes, (20, 30)), node_depth=torch.randint(9, (nodes, 1)), edge_index=edge_index,
        edge_attr=torch.randint(2, (edge_index.shape[1], 2)).to(torch.get_default_dtype()), y=torch.randint(12, (1, 5)),
    )  # fmt: skip


def words(outs: list[Tensor], y: Tensor) -> Tensor:
    return sum(F.cross_entropy(out, y[:, i]) for i, out in enumerate(outs)) / len(outs)  # type: ignore[return-value]


def _count(batch: Data) -> Tensor:
    return (batch.y == batch.y).sum()


CASES = [
    Case("ogb mol gin", "ogb:examples/graphproppred/mol/gnn.py", _mol(), lambda: made(partly_labelled), labelled, {"weights": _count}),
    Case("ogb mol gin virtual", "ogb:examples/graphproppred/mol/gnn.py", _mol(virtual=True), lambda: made(partly_labelled), labelled,
         {"weights": _count}),
    Case("ogb ppa gin", "ogb:examples/graphproppred/ppa/gnn.py",
         lambda _: Gnn(nn.Embedding(1, WIDTH), [nn.Linear(7, WIDTH) for _ in range(4)], 5, virtual=True),
         lambda: made(association), lambda out, y: F.cross_entropy(out, y.view(-1))),
    Case("ogb code2 gin", "ogb:examples/graphproppred/code2/gnn.py",
         lambda _: Gnn(AstEncoder(WIDTH), [nn.Linear(2, WIDTH) for _ in range(4)], 12, heads=5), lambda: made(code), words),
    Case("ogb pcqm4m gin", "ogb:examples/lsc/pcqm4m-v2/gnn.py", _mol(jk="sum", residual=True, pool=global_add_pool),
         lambda: made(regression), lambda out, y: F.l1_loss(out.view(-1), y)),
]  # fmt: skip
