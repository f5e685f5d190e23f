"""Models of PyTorch Geometric's examples on proteins, news, links and sets."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import MLP, GATConv, GCN2Conv, GCNConv, LCMAggregation, SortAggregation, global_max_pool
from torch_geometric.transforms import Compose, GCNNorm, ToSparseTensor

from example_models.case import Case
from example_models.data import edges, interactions, made, nodes_of, protein

BITS = 8


class Ppi(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.conv1 = GATConv(50, width, heads=4, residual=True)
        self.conv2 = GATConv(4 * width, width, heads=4, residual=True)
        self.conv3 = GATConv(4 * width, 12, heads=6, concat=False, residual=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = F.elu(self.conv1(x, edge_index))
        return self.conv3(F.elu(self.conv2(x, edge_index)), edge_index)


class Gcn2(nn.Module):
    def __init__(self, width: int = 32, layers: int = 9) -> None:
        super().__init__()
        self.lins = nn.ModuleList([nn.Linear(50, width), nn.Linear(width, 12)])
        self.convs = nn.ModuleList(GCN2Conv(width, 0.5, 1.0, layer + 1, False, normalize=False) for layer in range(layers))

    def forward(self, x: Tensor, adj_t: Tensor) -> Tensor:
        x = x_0 = self.lins[0](x).relu()
        for conv in self.convs:
            x = (conv(x, x_0, adj_t) + x).relu()
        return self.lins[1](x)


class GeniePath(nn.Module):
    def __init__(self, width: int = 16, layers: int = 3) -> None:
        super().__init__()
        self.width = width
        self.lin1, self.lin2 = nn.Linear(50, width), nn.Linear(width, 12)
        self.breadths = nn.ModuleList(GATConv(width, width, heads=1) for _ in range(layers))
        self.depths = nn.ModuleList(nn.LSTM(width, width, 1, bias=False) for _ in range(layers))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.lin1(x)
        h = torch.zeros(1, x.shape[0], self.width)
        c = torch.zeros(1, x.shape[0], self.width)
        for breadth, depth in zip(self.breadths, self.depths):
            x, (h, c) = depth(torch.tanh(breadth(x, edge_index))[None, :], (h, c))
            x = x[0]
        return self.lin2(x)


class Upfd(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.conv1, self.lin0 = GCNConv(3, width), nn.Linear(3, width)
        self.lin1, self.lin2 = nn.Linear(2 * width, width), nn.Linear(width, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        h = global_max_pool(self.conv1(x, edge_index).relu(), batch)
        root = (batch[1:] - batch[:-1]).nonzero(as_tuple=False).view(-1)
        root = torch.cat([root.new_zeros(1), root + 1], dim=0)
        h = self.lin1(torch.cat([self.lin0(x[root]).relu(), h], dim=-1)).relu()
        return self.lin2(h).log_softmax(dim=-1)


class Seal(nn.Module):
    def __init__(self, graphs: list[Data], width: int = 16, layers: int = 3) -> None:
        super().__init__()
        nodes = sorted(int(graph.num_nodes or 0) for graph in graphs)
        k = max(10, nodes[math.ceil(0.6 * len(nodes)) - 1])
        sizes = [int(graphs[0].num_features), *[width] * layers, 1]
        self.convs = nn.ModuleList(GCNConv(a, b) for a, b in zip(sizes, sizes[1:]))
        latent = width * layers + 1
        self.conv1, self.conv2 = nn.Conv1d(1, 16, latent, latent), nn.Conv1d(16, 32, 5, 1)
        self.pool, self.maxpool1d = SortAggregation(k), nn.MaxPool1d(2, 2)
        self.mlp = MLP([(int((k - 2) / 2 + 1) - 4) * 32, 32, 1], norm=None)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        xs = [x]
        for conv in self.convs:
            xs.append(conv(xs[-1], edge_index).tanh())
        x = self.pool(torch.cat(xs[1:], dim=-1), batch).unsqueeze(1)
        x = self.conv2(self.maxpool1d(self.conv1(x).relu())).relu()
        return self.mlp(x.view(x.size(0), -1))


class Lcm(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(2, width) for _ in range(BITS))
        self.encoder = nn.Sequential(nn.Linear(width, width), nn.GELU())
        self.aggr = LCMAggregation(width, width, project=False)
        self.decoder = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, BITS))

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        x = torch.stack([emb(bits) for emb, bits in zip(self.embs, x.t())], dim=0).sum(0)
        return self.decoder(self.aggr(self.encoder(x), batch))


def sparse(i: int) -> Data:
    return Compose([GCNNorm(), ToSparseTensor(layout=torch.sparse_csr)])(interactions(i))


def link(i: int) -> Data:
    """As the subgraphs of SEAL: z i64 [N], x [N, 5], y an int."""
    z = torch.randint(5, (nodes_of(i),))
    return Data(x=F.one_hot(z, 5).to(torch.get_default_dtype()), z=z, edge_index=edges(nodes_of(i)), y=i % 2)


def multiset(i: int) -> Data:
    """Integers as bits: x i64 [N, 8], y [1, 8] is the second smallest."""
    x = torch.randint(2, (2 + i % 15, BITS))
    values = (x * torch.pow(2, torch.arange(BITS)).flip([0])).sum(dim=-1)
    return Data(x=x, y=x[values.topk(k=2, largest=False).indices[-1:]].to(torch.get_default_dtype()))


bce = F.binary_cross_entropy_with_logits

CASES = [
    Case("ppi", "examples/ppi.py", lambda _: Ppi(), lambda: made(interactions), bce),
    Case("gcn2_ppi", "examples/gcn2_ppi.py", lambda _: Gcn2(), lambda: made(sparse), bce),
    Case("geniepath", "examples/geniepath.py", lambda _: GeniePath(), lambda: made(interactions), bce),
    Case("upfd", "examples/upfd.py", lambda _: Upfd(), lambda: made(protein), F.nll_loss),
    Case("seal", "examples/seal_link_pred.py", Seal, lambda: made(link), lambda out, y: bce(out.view(-1), y.to(out.dtype))),
    Case("lcm", "examples/lcm_aggr_2nd_min.py", lambda _: Lcm(), lambda: made(multiset), bce),
]
