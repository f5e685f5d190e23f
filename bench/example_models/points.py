"""Models of PyTorch Geometric's examples on points in space. They search neighbours by pyg-lib, or by its stand-in."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.nn import (
    MLP,
    DynamicEdgeConv,
    PointNetConv,
    PointTransformerConv,
    SchNet,
    fps,
    global_max_pool,
    global_mean_pool,
    knn,
    knn_graph,
    radius,
)
from torch_geometric.utils import scatter

from example_models import pyg_lib_stand_in
from example_models.case import Case
from example_models.data import made, nodes_of, points

pyg_lib_stand_in.register()


class Dgcnn(nn.Module):
    def __init__(self, k: int = 5) -> None:
        super().__init__()
        self.conv1 = DynamicEdgeConv(MLP([2 * 3, 16, 16, 16]), k, "max")
        self.conv2 = DynamicEdgeConv(MLP([2 * 16, 32]), k, "max")
        self.lin1, self.mlp = nn.Linear(32 + 16, 64), MLP([64, 32, 16, 10], norm=None)

    def forward(self, data: Data) -> Tensor:
        x1 = self.conv1(data.pos, data.batch)
        x2 = self.conv2(x1, data.batch)
        out = global_max_pool(self.lin1(torch.cat([x1, x2], dim=1)), data.batch)
        return F.log_softmax(self.mlp(out), dim=1)


class Abstraction(nn.Module):
    def __init__(self, ratio: float, r: float, mlp: nn.Module) -> None:
        super().__init__()
        self.ratio, self.r, self.conv = ratio, r, PointNetConv(mlp, add_self_loops=False)

    def forward(self, x: Tensor | None, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        some = fps(pos, batch, ratio=self.ratio, random_start=False)
        row, col = radius(pos, pos[some], self.r, batch, batch[some], max_num_neighbors=64)
        x = self.conv((x, None if x is None else x[some]), (pos, pos[some]), torch.stack([col, row], dim=0))
        return x, pos[some], batch[some]


class PointNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sa1 = Abstraction(0.5, 0.6, MLP([3, 16, 16, 32]))
        self.sa2 = Abstraction(0.25, 1.0, MLP([32 + 3, 32, 32, 48]))
        self.sa3, self.mlp = MLP([48 + 3, 48, 64, 64]), MLP([64, 32, 16, 10], norm=None)

    def forward(self, data: Data) -> Tensor:
        x, pos, batch = self.sa2(*self.sa1(data.x, data.pos, data.batch))
        x = global_max_pool(self.sa3(torch.cat([x, pos], dim=1)), batch)
        return self.mlp(x).log_softmax(dim=-1)


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        options = {"norm": None, "plain_last": False}
        self.lin_in, self.lin_out = nn.Linear(width, width), nn.Linear(width, width)
        self.transformer = PointTransformerConv(
            width, width, pos_nn=MLP([3, 16, width], **options), attn_nn=MLP([width, 16, width], **options)
        )

    def forward(self, x: Tensor, pos: Tensor, edge_index: Tensor) -> Tensor:
        return self.lin_out(self.transformer(self.lin_in(x).relu(), pos, edge_index)).relu()


class Down(nn.Module):
    def __init__(self, inputs: int, outputs: int, k: int) -> None:
        super().__init__()
        self.k, self.mlp = k, MLP([inputs, outputs], plain_last=False)

    def forward(self, x: Tensor, pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        some = fps(pos, ratio=0.25, batch=batch, random_start=False)
        near = knn(pos, pos[some], k=self.k, batch_x=batch, batch_y=batch[some])
        x = self.mlp(x)
        return scatter(x[near[1]], near[0], dim=0, dim_size=len(some), reduce="max"), pos[some], batch[some]


class PointTransformer(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (16, 32), k: int = 5) -> None:
        super().__init__()
        self.k = k
        self.mlp_input, self.mlp_output = MLP([1, widths[0]], plain_last=False), MLP([widths[-1], 16, 10], norm=None)
        self.blocks = nn.ModuleList(Block(width) for width in widths)
        self.downs = nn.ModuleList(Down(a, b, k) for a, b in zip(widths, widths[1:]))

    def forward(self, x: Tensor | None, pos: Tensor, batch: Tensor) -> Tensor:
        x = self.mlp_input(torch.ones(len(pos), 1) if x is None else x)
        x = self.blocks[0](x, pos, knn_graph(pos, k=self.k, batch=batch))
        for down, block in zip(self.downs, self.blocks[1:]):
            x, pos, batch = down(x, pos, batch)
            x = block(x, pos, knn_graph(pos, k=self.k, batch=batch))
        return F.log_softmax(self.mlp_output(global_mean_pool(x, batch)), dim=-1)


def after_a_step(model: nn.Module) -> nn.Module:
    """Without features, batch norm of equal rows gives zeros until its bias is trained, and rounding decides what ReLU makes of them."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm1d):
            nn.init.normal_(module.bias, std=0.1)
    return model


def atoms(i: int) -> Data:
    """As QM9: z i64 [N], pos [N, 3], y [1, 19]."""
    return Data(z=torch.randint(1, 10, (nodes_of(i),)), pos=torch.randn(nodes_of(i), 3) * 2, y=torch.randn(1, 19))


CASES = [
    Case("dgcnn_classification", "examples/dgcnn_classification.py", lambda _: Dgcnn(), lambda: made(points), F.nll_loss),
    Case("pointnet2", "examples/pointnet2_classification.py", lambda _: PointNet(), lambda: made(points), F.nll_loss),
    Case("point_transformer", "examples/point_transformer_classification.py", lambda _: after_a_step(PointTransformer()), lambda: made(points),
         F.nll_loss, {"forward": lambda model, batch: model(batch.x, batch.pos, batch.batch)}),
    Case("schnet", "examples/qm9_pretrained_schnet.py",
         lambda _: SchNet(hidden_channels=16, num_filters=16, num_interactions=3, num_gaussians=10, cutoff=4.0),
         lambda: made(atoms), lambda out, y: F.l1_loss(out.view(-1), y[:, 7])),
]  # fmt: skip
