"""Trains node classifiers with PyTorch Geometric, all of the graph in memory: the peer of bench/accuracy.py.

    accuracy.py FOLDER --seeds 1 2 3 --conv sage --hidden 64 --fan-outs 10 10 --dropout 0.5 --batch 128 --rate 0.005
                --epochs 40 --patience 10

FOLDER has what `plimsoll ingest graph` was given: edges.npy [E, 2] (undirected), x.npy, y.npy (-1: unlabelled), train.npy,
valid.npy and test.npy. Samples are those of NeighborLoader: uniform without replacement, hop by hop, each node expanded
once a batch. Prints a JSON object a seed: figures of the test split from all neighbours, and the best epoch.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch.nn.functional import cross_entropy, dropout
from torch_geometric.nn import GATConv, GATv2Conv, GCNConv, SAGEConv

CONVS = {"sage": SAGEConv, "gcn": GCNConv, "gat": GATConv, "gatv2": GATv2Conv}


class Graph:
    def __init__(self, folder):
        self.x, self.y = (torch.from_numpy(np.load(folder / f"{name}.npy")) for name in ("x", "y"))
        self.train, self.valid, self.test = (np.load(folder / f"{name}.npy") for name in ("train", "valid", "test"))
        edges = np.load(folder / "edges.npy")
        edges = edges[edges[:, 0] != edges[:, 1]]
        target, source = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0).T
        self.edge_index = torch.from_numpy(np.stack([source, target]))
        self.source = source
        self.first = np.searchsorted(target, np.arange(len(self.y) + 1))
        self.place = np.full(len(self.y), -1)

    def neighbours(self, nodes, fan_out, random):
        """(of which of `nodes`, neighbour) of up to fan_out edges of each: by Floyd's algorithm on all rows at once."""
        first, degree = self.first[nodes], self.first[nodes + 1] - self.first[nodes]
        few = np.flatnonzero(degree <= fan_out)
        row = np.repeat(few, degree[few])
        at = np.arange(len(row)) - np.repeat(degree[few].cumsum() - degree[few], degree[few])
        many = np.flatnonzero(degree > fan_out)
        chosen = np.full((len(many), fan_out), -1)
        for i in range(fan_out):
            last = degree[many] - fan_out + i
            drawn = random.integers(0, last + 1)
            chosen[:, i] = np.where((chosen == drawn[:, None]).any(1), last, drawn)
        row = np.concatenate([row, np.repeat(many, fan_out)])
        return row, self.source[first[row] + np.concatenate([at, chosen.ravel()])]

    def sample(self, seeds, fan_outs, random):
        """(nodes with the seeds first, edge_index between their places)."""
        place, node, edges, begin = self.place, seeds, [], 0
        place[seeds] = np.arange(len(seeds))
        for fan_out in fan_outs:
            row, neighbour = self.neighbours(node[begin:], fan_out, random)
            new = np.unique(neighbour[place[neighbour] < 0])
            place[new] = len(node) + np.arange(len(new))
            edges.append(np.stack([place[neighbour], begin + row]))
            begin, node = len(node), np.concatenate([node, new])
        place[node] = -1
        return torch.from_numpy(node), torch.from_numpy(np.concatenate(edges, 1))


class Model(torch.nn.Module):
    def __init__(self, options, features, classes):
        super().__init__()
        widths = [features] + [options.hidden] * len(options.fan_outs)
        self.convs = torch.nn.ModuleList(CONVS[options.conv](*ends) for ends in zip(widths, widths[1:]))
        self.lin = torch.nn.Linear(options.hidden, classes)
        self.dropout = options.dropout

    def forward(self, x, edge_index):
        for conv in self.convs:
            x = dropout(conv(x, edge_index).relu(), self.dropout, self.training)
        return self.lin(x)


def loss_of(model, graph, seeds, sample):
    node, edge_index = sample
    return cross_entropy(model(graph.x[node], edge_index)[:len(seeds)], graph.y[seeds])


def train(graph, options, seed):
    """The model of the epoch with the least validation loss, and that epoch."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = Model(options, graph.x.shape[1], int(graph.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), options.rate)
    valid = np.split(graph.valid, range(options.batch, len(graph.valid), options.batch))
    valid = [(seeds, graph.sample(seeds, options.fan_outs, random)) for seeds in valid]
    best, best_epoch, best_weights = float("inf"), 0, None
    for epoch in range(1, options.epochs + 1):
        model.train()
        order = random.permutation(graph.train)
        for seeds in np.split(order, range(options.batch, len(order), options.batch)):
            optimizer.zero_grad()
            loss_of(model, graph, seeds, graph.sample(seeds, options.fan_outs, random)).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss = sum(loss_of(model, graph, *batch).item() * len(batch[0]) for batch in valid) / len(graph.valid)
        if loss < best:
            best, best_epoch = loss, epoch
            best_weights = {name: value.clone() for name, value in model.state_dict().items()}
        if epoch - best_epoch >= options.patience:
            break
    model.load_state_dict(best_weights)
    return model.eval(), best_epoch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", required=True)
    parser.add_argument("--conv", choices=CONVS, required=True)
    parser.add_argument("--fan-outs", type=int, nargs="+", required=True)
    for name, kind in (("hidden", int), ("dropout", float), ("batch", int), ("rate", float), ("epochs", int),
                       ("patience", int), ("threads", int)):
        parser.add_argument(f"--{name}", type=kind, required=name != "threads", default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    graph = Graph(options.folder)
    for seed in options.seeds:
        begin = time.perf_counter()
        model, best_epoch = train(graph, options, seed)
        with torch.no_grad():
            logits = model(graph.x, graph.edge_index)[graph.test]
        truth = graph.y[graph.test]
        figures = {"accuracy": (logits.argmax(1) == truth).double().mean().item(),
                   "loss": cross_entropy(logits, truth).item()}
        if logits.shape[1] == 2:
            figures["auc"] = float(roc_auc_score(truth, logits[:, 1] - logits[:, 0]))
        print(json.dumps(figures | {"best_epoch": best_epoch, "seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
