#!/usr/bin/env python3
"""Why networks of paths learn digits or do not: what reaches the head of plimsoll.nn.SGMP, before and after training.

    bench/paths_heads.py [--images 30] [--classes 10] [--steps 60] [--hidden 16] [--seed 1] [--networks NAME ...]

The first images of the first classes of scikit-learn's digits as point sets, as bench/paths_accuracy.py has them, all in each
step of Adam at 1e-3. Prints a table in Markdown, a row a network:

    spread   how far graphs' rows, which the head reads, are from their mean (root mean square), over the norm of the mean
    shut     units of the head's first layer whose ReLU is shut for all graphs, of all; before and after
    loss     of the first step and of the last one
    right    graphs of the right class in the last step, %
"""

import argparse
import tempfile
import time

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch_geometric.data import Batch

import plimsoll
from plimsoll import nn

NETWORKS = {
    "sums, mode=reference": {"mode": "reference", "cutoff": 10.0},
    "sums": {},
    "aggr=mean": {"aggr": "mean"},
    "aggr=mean, readout=mean": {"aggr": "mean", "readout": "mean"},
    "norm=batch": {"norm": "batch"},
    "norm=batch, readout=mean": {"norm": "batch", "readout": "mean"},
}


def images(count, classes):
    digits = load_digits()
    chosen = [n for n, label in enumerate(digits.target) if label < classes][:count]
    sets, intensities = [], []
    for image in digits.images[chosen]:
        row, column = (image > 4).nonzero()
        sets.append(np.stack([column, -row], axis=1).astype(np.float32))
        intensities.append(image[row, column, None].astype(np.float32) / 16)
    with tempfile.TemporaryDirectory() as folder:
        made = plimsoll.from_points(sets, f"{folder}/set", knn=8, features=intensities, y=digits.target[chosen].tolist())
        return Batch.from_data_list([made.to_pyg(g).clone() for g in range(len(made))])


def row_of(name, batch, arguments):
    torch.manual_seed(arguments.seed)
    lengths = (batch.pos[batch.edge_index[0]] - batch.pos[batch.edge_index[1]]).norm(dim=1)
    options = {"cutoff": float(lengths.quantile(0.99))} | NETWORKS[name]
    model = nn.SGMP(1, arguments.hidden, arguments.classes, 2, **options)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    seen = {}
    model.lin1.register_forward_hook(lambda _, inputs, out: seen.update(rows=inputs[0].detach(), units=out.detach()))
    shut, started = [], time.process_time()
    for step in range(arguments.steps):
        optimizer.zero_grad()
        out = model(batch.x, batch.pos, batch.edge_index, batch.batch)
        loss = torch.nn.functional.cross_entropy(out, batch.y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        shut.append(int((seen["units"] <= 0).all(0).sum()))
        if step == 0:
            mean = seen["rows"].mean(0)
            spread = float((seen["rows"] - mean).square().sum(1).mean().sqrt() / mean.norm())
            first = float(loss.detach())
    right = float((out.detach().argmax(1) == batch.y).float().mean())
    return (f"| {name} | {spread:.2g} | {shut[0]} and {shut[-1]} of {arguments.hidden // 2} | {first:.3g} and {float(loss.detach()):.2g} "
            f"| {100 * right:.0f} | {time.process_time() - started:.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("images", 30), ("classes", 10), ("steps", 60), ("hidden", 16), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--networks", choices=NETWORKS, nargs="+", default=list(NETWORKS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    batch = images(arguments.images, arguments.classes)
    print("| network | spread | shut | loss | right, % | CPU s |\n|---|---|---|---|---|---|")
    for name in arguments.networks:
        print(row_of(name, batch, arguments), flush=True)


if __name__ == "__main__":
    main()
