"""Trains models drawn at random by `plimsoll.fit`, and compares each with plain PyTorch on one whole batch.

    OMP_NUM_THREADS=1 PYTHONPATH=python .venv/bin/python bench/random_models.py --seed 1 --models 100 [--first 0]

A model has layers, norms, activations, a pool, a head, a loss, block limits and dtypes of features drawn from (seed, number). One
step of SGD in float64 over graphs in blocks is compared with the same step on one batch. A *silent difference* is an update that
differs by more than 1e-4 of its norm without a refusal; a *wrong refusal* is one for a model whose batch loss is the mean of the
losses of its graphs. Either ends the program with exit code 1.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import plimsoll
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric import nn as pyg
from torch_geometric.data import Data

sys.path.insert(0, str(Path(__file__).parent))

from example_models.case import Case  # noqa: E402
from example_models.data import edges  # noqa: E402
from models import LIMIT, couples_graphs, default_dtype, fitted_update, plain_update  # noqa: E402

WIDTH = 8
CLASSES = 3


def mlp(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.ReLU(), nn.Linear(WIDTH, outputs))


CONVS: dict[str, Callable[[], nn.Module]] = {
    "GCN": lambda: pyg.GCNConv(WIDTH, WIDTH),
    "GCN cached by none": lambda: pyg.GCNConv(WIDTH, WIDTH, improved=True, add_self_loops=False),
    "SAGE mean": lambda: pyg.SAGEConv(WIDTH, WIDTH),
    "SAGE max": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr="max", normalize=True),
    "SAGE lstm": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr="lstm"),
    "SAGE median": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr="median"),
    "SAGE softmax": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr=pyg.SoftmaxAggregation(learn=True)),
    "SAGE several": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr=["min", "std", "var"]),
    "GAT": lambda: pyg.GATConv(WIDTH, WIDTH // 2, heads=2),
    "GATv2": lambda: pyg.GATv2Conv(WIDTH, WIDTH // 2, heads=2),
    "GIN": lambda: pyg.GINConv(mlp(WIDTH, WIDTH), train_eps=True),
    "GIN with batch norm": lambda: pyg.GINConv(pyg.MLP([WIDTH, WIDTH, WIDTH])),
    "Graph": lambda: pyg.GraphConv(WIDTH, WIDTH),
    "Transformer": lambda: pyg.TransformerConv(WIDTH, WIDTH // 2, heads=2),
    "TAG": lambda: pyg.TAGConv(WIDTH, WIDTH, K=2),
    "Cheb": lambda: pyg.ChebConv(WIDTH, WIDTH, K=2),
    "SG": lambda: pyg.SGConv(WIDTH, WIDTH, K=2),
    "ARMA": lambda: pyg.ARMAConv(WIDTH, WIDTH),
    "GatedGraph": lambda: pyg.GatedGraphConv(WIDTH, 2),
    "ResGated": lambda: pyg.ResGatedGraphConv(WIDTH, WIDTH),
    "LE": lambda: pyg.LEConv(WIDTH, WIDTH),
    "Edge": lambda: pyg.EdgeConv(mlp(2 * WIDTH, WIDTH)),
    "FiLM": lambda: pyg.FiLMConv(WIDTH, WIDTH),
    "SuperGAT": lambda: pyg.SuperGATConv(WIDTH, WIDTH // 2, heads=2),
    "GEN": lambda: pyg.GENConv(WIDTH, WIDTH),
    "EG": lambda: pyg.EGConv(WIDTH, WIDTH, num_heads=2, num_bases=2),
}
NORMS: dict[str, Callable[[], nn.Module | None]] = {
    "none": lambda: None,
    "batch": lambda: nn.BatchNorm1d(WIDTH),
    "batch of PyG": lambda: pyg.BatchNorm(WIDTH),
    "batch without weights": lambda: nn.BatchNorm1d(WIDTH, affine=False),
    "batch without running statistics": lambda: nn.BatchNorm1d(WIDTH, track_running_stats=False),
    "layer of torch": lambda: nn.LayerNorm(WIDTH),
    "layer by graph": lambda: pyg.LayerNorm(WIDTH),
    "layer by node": lambda: pyg.LayerNorm(WIDTH, mode="node"),
    "graph": lambda: pyg.GraphNorm(WIDTH),
    "instance": lambda: pyg.InstanceNorm(WIDTH),
    "pair": lambda: pyg.PairNorm(),
    "size": lambda: pyg.GraphSizeNorm(),
    "mean subtraction": lambda: pyg.MeanSubtractionNorm(),
    "diff group": lambda: pyg.DiffGroupNorm(WIDTH, 2),
    "message": lambda: nn.Identity(),
}
POOLS: dict[str, Callable[[], Any]] = {
    "mean": lambda: pyg.MeanAggregation(),
    "sum": lambda: pyg.SumAggregation(),
    "max": lambda: pyg.MaxAggregation(),
    "median": lambda: pyg.MedianAggregation(),
    "std": lambda: pyg.StdAggregation(),
    "softmax": lambda: pyg.SoftmaxAggregation(learn=True),
    "power mean": lambda: pyg.PowerMeanAggregation(learn=True),
    "attention": lambda: pyg.AttentionalAggregation(nn.Linear(WIDTH, 1)),
    "attention with batch norm": lambda: pyg.AttentionalAggregation(pyg.MLP([WIDTH, WIDTH, 1])),
    "set transformer": lambda: pyg.SetTransformerAggregation(WIDTH, heads=2),
    "deep sets": lambda: pyg.DeepSetsAggregation(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)),
    "gru": lambda: pyg.GRUAggregation(WIDTH, WIDTH),
    "quantile": lambda: pyg.QuantileAggregation(0.3),
}
HEADS: dict[str, Callable[[int], nn.Module]] = {
    "linear": lambda outputs: nn.Linear(WIDTH, outputs),
    "batch norm": lambda outputs: nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.BatchNorm1d(WIDTH), nn.ReLU(), nn.Linear(WIDTH, outputs)),
    "layer norm": lambda outputs: nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, outputs)),
}


class Loss(NamedTuple):
    outputs: int
    function: Callable[[Any, Tensor], Tensor]
    target: Callable[[int, int], Tensor]  #: of a graph by its number and nodes
    by_node: bool = False
    weights: Callable[[Any], Any] | None = None


def _labelled(out: Tensor, y: Tensor) -> Tensor:
    known = y == y
    return F.mse_loss(out.view(-1)[known], y[known])


def _float(value: float) -> Tensor:
    return torch.tensor([value], dtype=torch.get_default_dtype())


LOSSES: dict[str, Loss] = {
    "cross entropy": Loss(CLASSES, F.cross_entropy, lambda i, n: torch.tensor([i % CLASSES])),
    "cross entropy with ignored": Loss(
        CLASSES, nn.CrossEntropyLoss(ignore_index=1), lambda i, n: torch.tensor([i % CLASSES])),
    "label smoothing": Loss(CLASSES, nn.CrossEntropyLoss(label_smoothing=0.1), lambda i, n: torch.tensor([i % CLASSES])),
    "sum": Loss(CLASSES, nn.CrossEntropyLoss(reduction="sum"), lambda i, n: torch.tensor([i % CLASSES])),
    "squared": Loss(1, lambda out, y: F.mse_loss(out.squeeze(-1), y), lambda i, n: _float(i % 5 - 2)),
    "squeezed": Loss(1, lambda out, y: F.l1_loss(out.squeeze(), y), lambda i, n: _float(i % 5 - 2)),
    "binary": Loss(
        1, lambda out, y: F.binary_cross_entropy_with_logits(out.view(-1), y.to(out.dtype)), lambda i, n: torch.tensor([i % 2])),
    "several tasks": Loss(4, F.binary_cross_entropy_with_logits, lambda i, n: torch.randint(2, (1, 4)).to(torch.get_default_dtype())),
    "missing": Loss(
        1, _labelled, lambda i, n: _float(float("nan") if i % 4 == 1 else i % 5), weights=lambda batch: (batch.y == batch.y).sum()),
    "nodes": Loss(CLASSES, F.cross_entropy, lambda i, n: torch.randint(CLASSES, (n,)), by_node=True),
    "pairs": Loss(1, lambda out, y: (out.view(-1, 1) - out.view(1, -1)).square().mean(), lambda i, n: _float(i % 5)),
}  # fmt: skip


class Net(nn.Module):
    """An encoder, layers with norms, a pool and a head, as the names in `choice` say."""

    def __init__(self, choice: dict[str, Any]) -> None:
        super().__init__()
        self.encoder = nn.Embedding(6, WIDTH) if choice["features"] == "integers" else nn.Linear(5, WIDTH)
        self.convs = nn.ModuleList(CONVS[name]() for name in choice["convs"])
        self.norms = nn.ModuleList(NORMS[choice["norm"]]() or nn.Identity() for _ in choice["convs"])
        self.gives_batch, self.residual, self.by_node = choice["batch given"], choice["residual"], LOSSES[choice["loss"]].by_node
        self.pool, self.head = POOLS[choice["pool"]](), HEADS[choice["head"]](LOSSES[choice["loss"]].outputs)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        x = self.encoder(x[:, 0] if isinstance(self.encoder, nn.Embedding) else x)
        for conv, norm in zip(self.convs, self.norms):
            h = conv(x, edge_index)
            takes_batch = self.gives_batch and type(norm).__module__.startswith("torch_geometric") and "batch" in type(norm).forward.__code__.co_varnames
            h = F.elu(norm(h, batch) if takes_batch else norm(h))
            x = x + h if self.residual else h
        return self.head(x if self.by_node else self.pool(x, batch))


def drawn(seed: int, number: int) -> dict[str, Any]:
    """What model `number` consists of."""
    draw = random.Random(f"{seed} {number}")
    return {
        "convs": [draw.choice([*CONVS]) for _ in range(draw.randint(1, 3))], "norm": draw.choice([*NORMS]), "pool": draw.choice([*POOLS]),
        "head": draw.choice([*HEADS]), "loss": draw.choice([*LOSSES]), "features": draw.choice(["floats", "integers"]),
        "batch given": draw.random() < 0.7, "residual": draw.random() < 0.5, "graphs": draw.randint(7, 24), "block": draw.randint(1, 6),
    }  # fmt: skip


def graphs_for(choice: dict[str, Any]) -> list[Data]:
    loss, graphs = LOSSES[choice["loss"]], []
    torch.manual_seed(7)
    for i in range(choice["graphs"]):
        nodes = 5 + 3 * i % 8
        x = torch.randint(6, (nodes, 1)) if choice["features"] == "integers" else torch.randn(nodes, 5)
        graphs.append(Data(x=x, edge_index=edges(nodes), y=loss.target(i, nodes)))
    return graphs


def result(choice: dict[str, Any]) -> tuple[str, str]:
    """A word for the table, and more about it."""
    loss = LOSSES[choice["loss"]]
    options = {} if loss.weights is None else {"weights": loss.weights}
    case = Case("", "", lambda _: Net(choice), lambda: graphs_for(choice), loss.function, options)
    with default_dtype(torch.float64):
        graphs = case.graphs()
        torch.manual_seed(5)
        model = case.model(graphs)
        try:
            wanted = plain_update(case, model, graphs)
        except Exception as error:
            return "plain PyTorch fails", f"{type(error).__name__}: {error}"
        if not wanted.isfinite().all():
            return "plain PyTorch gives no numbers", ""
        try:
            got = fitted_update(case, model, graphs, plimsoll.BlockLimits(choice["block"]))
        except plimsoll.UsageError as refusal:
            torch.manual_seed(5)
            return ("refused" if couples_graphs(case, case.model(graphs), graphs) else "WRONG REFUSAL"), str(refusal)
        except Exception as error:
            return "FAILED", f"{type(error).__name__}: {error}"
        difference = float((got - wanted).norm() / wanted.norm().clamp_min(1e-12))
        return ("same" if difference < LIMIT else "SILENT DIFFERENCE"), f"{difference:.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("seed", 1), ("models", 100), ("first", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: collections.Counter[str] = collections.Counter()
    for number in range(options.first, options.first + options.models):
        word, more = result(choice := drawn(options.seed, number))
        counts[word] += 1
        if word.isupper():
            print(f"{number}: {word}: {more[:300]}\n    {choice}", flush=True)
    print(f"seed {options.seed}, models {options.first} to {number}: " + ", ".join(f"{count} {word}" for word, count in counts.most_common()))
    sys.exit(any(word.isupper() for word in counts))


if __name__ == "__main__":
    main()
