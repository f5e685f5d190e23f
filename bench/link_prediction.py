#!/usr/bin/env python3
"""Link prediction against PyTorch Geometric's same model, and against features alone: figures of the test edges.

    bench/link_prediction.py SPLIT [--epochs 60] [--batch 512] [--fan-outs '[15,10]'] [--rate 0.003] [--seeds 1 2 3]

SPLIT is a graph that `plimsoll split-edges` has made. The peer has two SAGEConv and a linear layer with as many channels,
takes all neighbours of all nodes in each step, and as many steps of Adam; the best epoch by validation loss counts, as in
Plimsoll. Features alone are a perceptron of the same widths, and no model at all. All are judged by the same negative pairs.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import average_precision_score, roc_auc_score
from torch.nn.functional import binary_cross_entropy_with_logits
from torch_geometric.nn import SAGEConv

REPOSITORY = Path(__file__).resolve().parents[1]
BIN = REPOSITORY / "build" / "release" / "bin"
HIDDEN = 64
RANKED = 100


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


class Graph:
    def __init__(self, folder):
        self.folder = folder
        self.x = torch.from_numpy(np.load(folder / "x.npy"))
        indptr, indices = np.load(folder / "indptr.npy"), np.load(folder / "indices.npy").astype(np.int64)
        self.edge_index = torch.from_numpy(np.stack([indices, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))]))
        self.train = torch.from_numpy(np.load(folder / "train_edges.npy"))

    def judged(self, split, seed):
        """The edges of a split, and the negative pairs that Plimsoll judges them beside."""
        edges = np.load(self.folder / f"{('train', 'valid', 'test')[split]}_edges.npy")
        return edges, json.loads(run(BIN / "link_twin", self.folder, "judged", split, seed, RANKED))


class Model(torch.nn.Module):
    def __init__(self, graph, neighbours):
        super().__init__()
        self.graph, self.neighbours = graph, neighbours
        layer = SAGEConv if neighbours else torch.nn.Linear
        self.layers = torch.nn.ModuleList([layer(graph.x.shape[1], HIDDEN), layer(HIDDEN, HIDDEN)])
        self.lin = torch.nn.Linear(HIDDEN, HIDDEN)

    def forward(self):
        h = self.graph.x
        for layer in self.layers:
            h = (layer(h, self.graph.edge_index) if self.neighbours else layer(h)).relu()
        return self.lin(h)


def loss_of(z, edges, negatives):
    pairs = torch.cat([edges, negatives])
    truth = torch.cat([torch.ones(len(edges)), torch.zeros(len(negatives))])
    return binary_cross_entropy_with_logits((z[pairs[:, 0]] * z[pairs[:, 1]]).sum(1), truth)


def figures(graph, z, seed):
    """AUC, AP, MRR and Hits@10 of embeddings on the test edges."""
    edges, negatives = graph.judged(2, seed)
    score = lambda a, b: (z[a] * z[b]).sum(1)
    positive = score(edges[:, 0], edges[:, 1])
    both = np.concatenate([positive, score(negatives["nodes"], negatives["neighbours"])])
    ranked = score(negatives["ranked_nodes"], negatives["ranked_neighbours"]).reshape(-1, RANKED)
    rank = 1 + (ranked > positive[:, None]).sum(1) + 0.5 * (ranked == positive[:, None]).sum(1)
    truth = np.repeat([1, 0], len(edges))
    return roc_auc_score(truth, both), average_precision_score(truth, both), (1 / rank).mean(), (rank <= 10).mean()


def peer(graph, options, seed, neighbours):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = Model(graph, neighbours)
    optimizer = torch.optim.Adam(model.parameters(), lr=options.rate)
    edges, negatives = graph.judged(1, seed)
    valid = torch.from_numpy(edges), torch.tensor([negatives["nodes"], negatives["neighbours"]]).T
    best, embeddings = float("inf"), None
    for _ in range(options.epochs):
        for places in torch.randperm(len(graph.train), generator=generator).split(options.batch):
            others = torch.randint(len(graph.x), (len(places), 2), generator=generator)
            loss = loss_of(model(), graph.train[places], others)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            z = model()
            loss = loss_of(z, *valid).item()
        if loss < best:
            best, embeddings = loss, z.numpy()
    return figures(graph, embeddings, seed)


def plimsoll(graph, options, seed):
    with tempfile.TemporaryDirectory() as folder:
        recipe = REPOSITORY / "recipes" / "link_prediction.yaml"
        keys = {"seed": seed, "training.max_epochs": options.epochs, "training.patience": options.epochs,
                "training.batch_size": options.batch, "training.learning_rate": options.rate,
                "sampling.fan_outs": options.fan_outs, "gnn.hidden": HIDDEN,
                "sampling.exclude_targets": "false"}  # as the peer has it
        overrides = [word for key, value in keys.items() for word in ("-O", f"{key}={value}")]
        run(BIN / "plimsoll", "train", recipe, "--data", graph.folder, "--run", Path(folder) / "run", *overrides)
        splits = json.loads(run(BIN / "plimsoll", "evaluate", Path(folder) / "run", "--data", graph.folder, "--json"))["splits"]
    found = splits[-1]["models"][0]
    return found["auc"], found["average_precision"], found["mrr"], found["hits"]["10"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("split", type=Path)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--fan-outs", default="[15,10]")
    parser.add_argument("--rate", type=float, default=0.003)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()
    graph = Graph(options.split)
    judges = {"plimsoll": lambda seed: plimsoll(graph, options, seed),
              "PyTorch Geometric": lambda seed: peer(graph, options, seed, True),
              "perceptron of features": lambda seed: peer(graph, options, seed, False),
              "dot product of features": lambda seed: figures(graph, graph.x.numpy(), seed)}
    print("| model | AUC | AP | MRR | Hits@10 |\n|---|---|---|---|---|")
    for name, judge in judges.items():
        rows = np.array([judge(seed) for seed in options.seeds])
        cells = " | ".join(f"{mean:.3f} ± {deviation:.3f}" for mean, deviation in zip(rows.mean(0), rows.std(0)))
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
