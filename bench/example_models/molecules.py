"""Models of PyTorch Geometric's examples on molecules."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import (
    MLP,
    AttentiveFP,
    BatchNorm,
    EGConv,
    GINConv,
    GINEConv,
    GPSConv,
    NNConv,
    PNAConv,
    Set2Set,
    global_add_pool,
    global_mean_pool,
)
from torch_geometric.nn import GIN as GinLayers
from torch_geometric.utils import degree

from example_models.case import Case
from example_models.data import ATOM_FEATURES, edges, made, molecule, nodes_of, protein, zinc
from example_models.ogb import Encoder


class Egc(nn.Module):
    """With edge_index in the place of torch-sparse's adj_t, as EGConv takes no sparse tensor of torch."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.encoder = Encoder(ATOM_FEATURES, width)
        self.convs = nn.ModuleList(EGConv(width, width, ["sum", "mean", "max"], 4, 4) for _ in range(4))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(4))
        self.mlp = nn.Sequential(
            nn.Linear(width, width // 2, bias=False), nn.BatchNorm1d(width // 2), nn.ReLU(inplace=True),
            nn.Linear(width // 2, width // 4, bias=False), nn.BatchNorm1d(width // 4), nn.ReLU(inplace=True),
            nn.Linear(width // 4, 1),
        )  # fmt: skip

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = self.encoder(x)
        for conv, norm in zip(self.convs, self.norms):
            x = x + norm(conv(x, edge_index)).relu_()
        return self.mlp(global_mean_pool(x, batch))


class Gps(nn.Module):
    def __init__(self, width: int = 16, pe_width: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.node_emb, self.edge_emb = nn.Embedding(28, width - pe_width), nn.Embedding(4, width)
        self.pe_lin, self.pe_norm = nn.Linear(20, pe_width), nn.BatchNorm1d(20)
        self.convs = nn.ModuleList()
        for _ in range(layers):
            mlp = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            self.convs.append(GPSConv(width, GINEConv(mlp), heads=4, attn_type="multihead", attn_kwargs={"dropout": 0.0}))
        self.mlp = nn.Sequential(nn.Linear(width, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x: Tensor, pe: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x = torch.cat((self.node_emb(x.squeeze(-1)), self.pe_lin(self.pe_norm(pe))), 1)
        edge_attr = self.edge_emb(edge_attr)
        for conv in self.convs:
            x = conv(x, edge_index, batch, edge_attr=edge_attr)
        return self.mlp(global_add_pool(x, batch))


class Pna(nn.Module):
    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        degrees = [degree(graph.edge_index[1], graph.num_nodes, dtype=torch.long) for graph in graphs]
        names = ["mean", "min", "max", "std"], ["identity", "amplification", "attenuation"]
        options = {"edge_dim": 10, "towers": 5, "pre_layers": 1, "post_layers": 1, "divide_input": False}
        self.node_emb, self.edge_emb = nn.Embedding(21, 15), nn.Embedding(4, 10)
        self.convs = nn.ModuleList(PNAConv(15, 15, *names, deg=torch.bincount(torch.cat(degrees)), **options) for _ in range(4))
        self.norms = nn.ModuleList(BatchNorm(15) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(15, 10), nn.ReLU(), nn.Linear(10, 5), nn.ReLU(), nn.Linear(5, 1))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x, edge_attr = self.node_emb(x.squeeze()), self.edge_emb(edge_attr)
        for conv, norm in zip(self.convs, self.norms):
            x = F.relu(norm(conv(x, edge_index, edge_attr)))
        return self.mlp(global_add_pool(x, batch))


class MutagGin(nn.Module):
    def __init__(self, width: int = 32, layers: int = 5) -> None:
        super().__init__()
        self.convs = nn.ModuleList(GINConv(MLP([3 if i == 0 else width, width, width]), train_eps=False) for i in range(layers))
        self.mlp = MLP([width, width, 2], norm=None)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.mlp(global_add_pool(x, batch))


class LightningGin(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.gnn = GinLayers(3, width, 3, jk="cat")
        self.classifier = MLP([width, width, 2], norm="batch_norm")

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return self.classifier(global_add_pool(self.gnn(x, edge_index), batch))


class Qm9NnConv(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.lin0 = nn.Linear(11, width)
        self.conv = NNConv(width, width, nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, width * width)), aggr="mean")
        self.gru, self.set2set = nn.GRU(width, width), Set2Set(width, processing_steps=3)
        self.lin1, self.lin2 = nn.Linear(2 * width, width), nn.Linear(width, 1)

    def forward(self, data: Data) -> Tensor:
        out = F.relu(self.lin0(data.x))
        h = out.unsqueeze(0)
        for _ in range(3):
            m = F.relu(self.conv(out, data.edge_index, data.edge_attr))
            out, h = self.gru(m.unsqueeze(0), h)
            out = out.squeeze(0)
        return self.lin2(F.relu(self.lin1(self.set2set(out, data.batch)))).view(-1)


def featured(features: int, edge_features: int) -> list[Data]:
    """As QM9 or ESOL with floats for atoms and bonds: y [1]."""

    def make(i: int) -> Data:
        edge_index, nodes = edges(nodes_of(i)), nodes_of(i)
        edge_attr = torch.rand(edge_index.shape[1], edge_features)
        return Data(x=torch.rand(nodes, features), edge_index=edge_index, edge_attr=edge_attr, y=torch.randn(1))

    return made(make)


def mae(out: Tensor, y: Tensor) -> Tensor:
    return (out.squeeze() - y).abs().mean()


CASES = [
    Case("egc", "examples/egc.py", lambda _: Egc(), lambda: made(molecule),
         lambda out, y: F.binary_cross_entropy_with_logits(out, y.to(out.dtype))),
    Case("graph_gps", "examples/graph_gps.py", lambda _: Gps(), lambda: made(zinc), mae),
    Case("pna", "examples/pna.py", Pna, lambda: made(zinc), mae),
    Case("mutag_gin", "examples/mutag_gin.py", lambda _: MutagGin(), lambda: made(protein), F.cross_entropy),
    Case("lightning gin", "examples/pytorch_lightning/gin.py", lambda _: LightningGin(), lambda: made(protein), F.cross_entropy),
    Case("qm9_nn_conv", "examples/qm9_nn_conv.py", lambda _: Qm9NnConv(), lambda: featured(11, 5), F.mse_loss),
    Case("attentive_fp", "examples/attentive_fp.py",
         lambda _: AttentiveFP(39, 32, 1, edge_dim=10, num_layers=2, num_timesteps=2, dropout=0.0),
         lambda: featured(39, 10), lambda out, y: F.mse_loss(out, y.view(-1, 1))),
]  # fmt: skip
