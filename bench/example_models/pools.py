"""Models of PyTorch Geometric's examples that pool the nodes of a graph by layers."""

from __future__ import annotations

from math import ceil
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Batch, Data
from torch_geometric.nn import (
    DeepGCNLayer,
    DenseGraphConv,
    DenseSAGEConv,
    DMoNPooling,
    GATConv,
    GCNConv,
    GINConv,
    GraphConv,
    GraphMultisetTransformer,
    MemPooling,
    SAGPooling,
    TopKPooling,
    dense_diff_pool,
    dense_mincut_pool,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)
from torch_geometric.transforms import ToDense
from torch_geometric.utils import scatter, to_dense_adj, to_dense_batch

from example_models.case import Case
from example_models.data import edges, made, nodes_of, protein

MAX_NODES = 16
CLUSTERS = 6


class Mem(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.lin = nn.Linear(3, width)
        self.convs = nn.ModuleList(
            DeepGCNLayer(GATConv(width, width), nn.BatchNorm1d(width), nn.LeakyReLU(), block="res+") for _ in range(2)
        )
        self.mem1 = MemPooling(width, 20, heads=5, num_clusters=10)
        self.mem2 = MemPooling(20, 2, heads=5, num_clusters=1)
        self.mem1.k.requires_grad = self.mem2.k.requires_grad = False  # as in the first half of an epoch

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        x = self.lin(x)
        for conv in self.convs:
            x = conv(x, edge_index)
        x, s1 = self.mem1(x, batch)
        x, s2 = self.mem2(F.leaky_relu(x))
        return F.log_softmax(x.squeeze(1), dim=-1), MemPooling.kl_loss(s1) + MemPooling.kl_loss(s2)


class TopK(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.convs = nn.ModuleList(GraphConv(3 if i == 0 else width, width) for i in range(3))
        self.pools = nn.ModuleList(TopKPooling(width, ratio=0.8) for _ in range(3))
        self.lin1, self.lin2, self.lin3 = nn.Linear(2 * width, width), nn.Linear(width, 16), nn.Linear(16, 2)

    def forward(self, data: Data) -> Tensor:
        x, edge_index, batch = data.x, data.edge_index, data.batch
        outs = []
        for conv, pool in zip(self.convs, self.pools):
            x, edge_index, _, batch, _, _ = pool(F.relu(conv(x, edge_index)), edge_index, None, batch)
            outs.append(torch.cat([global_max_pool(x, batch), global_mean_pool(x, batch)], dim=1))
        x = F.relu(self.lin2(F.relu(self.lin1(sum(outs)))))
        return F.log_softmax(self.lin3(x), dim=-1)


class DenseGnn(nn.Module):
    def __init__(self, inputs: int, width: int, outputs: int, lin: bool = True) -> None:
        super().__init__()
        sizes = [inputs, width, width, outputs]
        self.convs = nn.ModuleList(DenseSAGEConv(a, b) for a, b in zip(sizes, sizes[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) for size in sizes[1:])
        self.lin = nn.Linear(2 * width + outputs, outputs) if lin else None

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None) -> Tensor:
        outs = []
        for conv, norm in zip(self.convs, self.norms):
            x = conv(x, adj, mask).relu()
            x = norm(x.view(-1, x.shape[-1])).view(x.shape)
            outs.append(x)
        x = torch.cat(outs, dim=-1)
        return x if self.lin is None else self.lin(x).relu()


class DiffPool(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        clusters = ceil(0.25 * MAX_NODES)
        self.pool1, self.embed1 = DenseGnn(3, width, clusters), DenseGnn(3, width, width, lin=False)
        clusters = ceil(0.25 * clusters)
        self.pool2, self.embed2 = DenseGnn(3 * width, width, clusters), DenseGnn(3 * width, width, width, lin=False)
        self.embed3 = DenseGnn(3 * width, width, width, lin=False)
        self.lin1, self.lin2 = nn.Linear(3 * width, width), nn.Linear(width, 2)

    def forward(self, x: Tensor, adj: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        s, x = self.pool1(x, adj, mask), self.embed1(x, adj, mask)
        x, adj, l1, e1 = dense_diff_pool(x, adj, s, mask)
        s, x = self.pool2(x, adj), self.embed2(x, adj)
        x, adj, l2, e2 = dense_diff_pool(x, adj, s)
        x = self.embed3(x, adj).mean(dim=1)
        return F.log_softmax(self.lin2(self.lin1(x).relu()), dim=-1), l1 + l2, e1 + e2


class Dense(nn.Module):
    """MinCut or DMoN between a sparse and two dense convolutions; gives what pooling adds to the loss as well."""

    def __init__(self, dmon: bool, width: int = 16) -> None:
        super().__init__()
        counts = (CLUSTERS, ceil(CLUSTERS / 2))
        self.conv1, self.conv2, self.conv3 = GCNConv(3, width), DenseGraphConv(width, width), DenseGraphConv(width, width)
        self.pools = nn.ModuleList(DMoNPooling([width, width], count) if dmon else nn.Linear(width, count) for count in counts)
        self.lin1, self.lin2 = nn.Linear(width, width), nn.Linear(width, 2)

    def _pool(self, pool: nn.Module, x: Tensor, adj: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        if isinstance(pool, DMoNPooling):
            _, x, adj, spectral, _, cluster = pool(x, adj, mask)
            return x, adj, spectral + cluster
        x, adj, cut, orthogonality = dense_mincut_pool(x, adj, pool(x), mask)
        return x, adj, cut + orthogonality

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> tuple[Tensor, Tensor]:
        x, mask = to_dense_batch(self.conv1(x, edge_index).relu(), batch)
        x, adj, first = self._pool(self.pools[0], x, to_dense_adj(edge_index, batch), mask)
        x, adj, second = self._pool(self.pools[1], self.conv2(x, adj).relu(), adj, None)
        x = self.conv3(x, adj).mean(dim=1)
        return F.log_softmax(self.lin2(self.lin1(x).relu()), dim=-1), first + second


class Gmt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(GCNConv(3 if i == 0 else 8, 8) for i in range(3))
        self.pool = GraphMultisetTransformer(24, k=5, heads=4)
        self.lin1, self.lin2 = nn.Linear(24, 16), nn.Linear(16, 2)

    def forward(self, x0: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        xs = [x0]
        for conv in self.convs:
            xs.append(conv(xs[-1], edge_index).relu())
        return self.lin2(self.lin1(self.pool(torch.cat(xs[1:], dim=-1), batch)).relu())


def _gin(inputs: int) -> GINConv:
    return GINConv(nn.Sequential(nn.Linear(inputs, 32), nn.ReLU(), nn.Linear(32, 32)))


class Colors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.pool1, self.conv2, self.lin = _gin(4), TopKPooling(4, min_score=0.05), _gin(32), nn.Linear(32, 1)

    def forward(self, data: Data) -> tuple[Tensor, Tensor, float]:
        x, edge_index, batch = data.x, data.edge_index, data.batch
        out = F.relu(self.conv1(x, edge_index))
        out, edge_index, _, batch, perm, score = self.pool1(out, edge_index, None, batch, attn=x)
        ratio = out.size(0) / x.size(0)
        out = self.lin(global_add_pool(F.relu(self.conv2(out, edge_index)), batch)).view(-1)
        attention = F.kl_div(torch.log(score + 1e-14), data.attn[perm], reduction="none")
        return out, scatter(attention, batch, reduce="mean"), ratio


class Triangles(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList([_gin(4), _gin(32), _gin(32)])
        self.pools = nn.ModuleList(SAGPooling(32, min_score=0.001, GNN=GCNConv) for _ in range(2))
        self.lin = nn.Linear(32, 1)

    def forward(self, data: Data) -> tuple[Tensor, Tensor, float]:
        x, edge_index, batch = data.x, data.edge_index, data.batch
        kept = torch.arange(len(x))
        for conv, pool in zip(self.convs, self.pools):
            x, edge_index, _, batch, perm, score = pool(F.relu(conv(x, edge_index)), edge_index, None, batch)
            kept = kept[perm]
        ratio = x.size(0) / data.x.size(0)
        x = self.lin(global_max_pool(F.relu(self.convs[2](x, edge_index)), batch)).view(-1)
        attention = F.kl_div(torch.log(score + 1e-14), data.attn[kept], reduction="none")
        return x, scatter(attention, batch, reduce="mean"), ratio


def dense(i: int) -> Data:
    """As PROTEINS after ToDense: x [M, 3], adj [M, M], mask [M], y i64 [1]."""
    graph = ToDense(MAX_NODES)(protein(i))
    graph.adj = graph.adj.to(graph.x.dtype)
    return graph


def attended(i: int) -> Data:
    """As COLORS-3: x [N, 4], attn [N], y [1]."""
    attn = torch.rand(nodes_of(i)).softmax(0)
    return Data(x=torch.randn(nodes_of(i), 4), edge_index=edges(nodes_of(i)), attn=attn, y=torch.randn(1))


def with_attention(out: Any, y: Tensor) -> Tensor:
    return ((out[0] - y).pow(2) + 100 * out[1]).mean()


def first_nll(out: Any, y: Tensor) -> Tensor:
    return F.nll_loss(out[0], y.view(-1))


def _densely(model: nn.Module, batch: Batch) -> Any:
    shape = batch.num_graphs, MAX_NODES
    return model(batch.x.view(*shape, -1), batch.adj.view(*shape, MAX_NODES), batch.mask.view(*shape))


def and_pooling(out: Any, y: Tensor) -> Tensor:
    return first_nll(out, y) + out[1]


CASES = [
    Case("mem_pool", "examples/mem_pool.py", lambda _: Mem(), lambda: made(protein), first_nll),
    Case("proteins_topk_pool", "examples/proteins_topk_pool.py", lambda _: TopK(), lambda: made(protein), F.nll_loss),
    Case("proteins_diff_pool", "examples/proteins_diff_pool.py", lambda _: DiffPool(), lambda: made(dense), first_nll,
         {"forward": _densely}),
    Case("proteins_mincut_pool", "examples/proteins_mincut_pool.py", lambda _: Dense(dmon=False), lambda: made(protein), and_pooling),
    Case("proteins_dmon_pool", "examples/proteins_dmon_pool.py", lambda _: Dense(dmon=True), lambda: made(protein), and_pooling),
    Case("proteins_gmt", "examples/proteins_gmt.py", lambda _: Gmt(), lambda: made(protein), F.cross_entropy,
         {"forward": lambda model, batch: model(batch.x, batch.edge_index, batch.batch)}),
    Case("colors_topk_pool", "examples/colors_topk_pool.py", lambda _: Colors(), lambda: made(attended), with_attention),
    Case("triangles_sag_pool", "examples/triangles_sag_pool.py", lambda _: Triangles(), lambda: made(attended), with_attention),
]  # fmt: skip
