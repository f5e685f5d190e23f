"""Classes of the nodes of one web graph with PyTorch Geometric: the peer of bench/beside.py for a giant graph.

    web_pyg.py FOLDER [--epochs 2] [--seed 42]

FOLDER has edges/, a graph of `plimsoll ingest graph --direction out`, and x.npy, y.npy, train.npy, valid.npy and test.npy.
The model and its training are those of bench/peers/accuracy.py with the values of recipes/node_classification.yaml. Prints
the accuracy on sampled neighbours and the checksum of the weights as JSON.
"""

import argparse
import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import accuracy
import numpy as np
import torch

RECIPE = {"conv": "sage", "hidden": 64, "fan_outs": [15, 10, 5], "dropout": 0.5, "batch": 1024, "rate": 0.003, "patience": 10}


class OutLinks(accuracy.Graph):
    """A graph in memory whose neighbours of a node are the nodes that it links to."""

    def __init__(self, folder):
        self.x, self.y = (torch.from_numpy(np.load(folder / f"{name}.npy")) for name in ("x", "y"))
        self.y = self.y.long()
        self.train, self.valid, self.test = (np.load(folder / f"{name}.npy") for name in ("train", "valid", "test"))
        self.first = np.load(folder / "edges" / "indptr.npy").astype(np.int64)
        self.source = np.load(folder / "edges" / "indices.npy").astype(np.int64)
        self.place = np.full(len(self.y), -1)


def score(model, graph, seeds, options):
    random, right = np.random.default_rng(0), 0
    with torch.no_grad():
        for chosen in np.split(seeds, range(options.batch, len(seeds), options.batch)):
            node, edge_index = graph.sample(chosen, options.fan_outs, random)
            right += (model(graph.x[node], edge_index)[:len(chosen)].argmax(1) == graph.y[chosen]).sum().item()
    return right / len(seeds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=42)
    arguments = parser.parse_args()
    options = SimpleNamespace(**RECIPE, epochs=arguments.epochs)
    graph = OutLinks(arguments.folder)
    model, _ = accuracy.train(graph, options, arguments.seed)
    digest = hashlib.sha256(b"".join(value.numpy().tobytes() for value in model.state_dict().values())).hexdigest()
    print(json.dumps({"weights": digest[:32], "test": score(model, graph, graph.test, options)}))


if __name__ == "__main__":
    main()
