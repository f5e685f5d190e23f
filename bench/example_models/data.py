"""Made-up graphs with the fields of well-known data sets. Floats have torch's default dtype."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

COUNT = 40
ATOM_FEATURES = (119, 5, 12, 12, 10, 6, 6, 2, 2)
BOND_FEATURES = (5, 6, 2)


def made(make: Callable[[int], Data]) -> list[Data]:
    """COUNT graphs, the same on each call."""
    torch.manual_seed(11)
    return [make(i) for i in range(COUNT)]


def edges(nodes: int) -> Tensor:
    """A chain with a few chords, in both directions."""
    chain = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)])
    chords = torch.randint(nodes, (2, nodes // 2))
    return to_undirected(torch.cat([chain, chords[:, chords[0] != chords[1]]], dim=1), num_nodes=nodes)


def nodes_of(i: int) -> int:
    return 8 + 3 * i % 7


def numbers(rows: int, sizes: tuple[int, ...]) -> Tensor:
    """One integer below each of these sizes a row."""
    return torch.stack([torch.randint(size, (rows,)) for size in sizes], dim=1)


def molecule(i: int) -> Data:
    """As ogbg-molhiv: x i64 [N, 9], edge_attr i64 [E, 3], y i64 [1, 1]."""
    edge_index = edges(nodes_of(i))
    return Data(
        x=numbers(nodes_of(i), ATOM_FEATURES), edge_index=edge_index, edge_attr=numbers(edge_index.shape[1], BOND_FEATURES),
        y=torch.tensor([[i % 2]]),
    )  # fmt: skip


def zinc(i: int) -> Data:
    """As ZINC with positions of random walks: x i64 [N, 1], edge_attr i64 [E], pe [N, 20], y [1]."""
    edge_index = edges(nodes_of(i))
    return Data(
        x=torch.randint(21, (nodes_of(i), 1)), edge_index=edge_index, edge_attr=torch.randint(4, (edge_index.shape[1],)),
        pe=torch.rand(nodes_of(i), 20), y=torch.randn(1),
    )  # fmt: skip


def protein(i: int) -> Data:
    """As PROTEINS of the TU sets: x [N, 3], y i64 [1]."""
    return Data(x=torch.randn(nodes_of(i), 3) + i % 2, edge_index=edges(nodes_of(i)), y=torch.tensor([i % 2]))


def interactions(i: int) -> Data:
    """As PPI: x [N, 50], y [N, 12] of zeros and ones."""
    return Data(
        x=torch.randn(nodes_of(i), 50), edge_index=edges(nodes_of(i)), y=torch.randint(2, (nodes_of(i), 12)).to(torch.get_default_dtype())
    )


def points(i: int) -> Data:
    """As ModelNet: pos [N, 3], y i64 [1]."""
    return Data(pos=torch.rand(20 + i % 5, 3) * 2 - 1, y=torch.tensor([i % 10]))
