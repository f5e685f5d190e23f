"""What `plimsoll.nn.replace` alone gains GCN, GraphSAGE and GIN: steps of training by a loop as users write it, on batches of
graphs, against PyTorch Geometric as it is and compiled, interleaved in one process.

    package_sums.py DATA... [--rounds 5] [--batch 512] [--threads 2] [--compile]

DATA are graph sets, or .npz files with node_features and edges (one large graph). Prints best and median milliseconds of a step,
and ratios of the best ones.
"""

import argparse
import copy
import statistics
import time
from pathlib import Path

import numpy as np
import plimsoll
import plimsoll.nn
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCN, GIN, GraphSAGE


def batch_of(path, count):
    if path.endswith(".npz"):
        file = np.load(path)
        edges = torch.from_numpy(file["edges"].astype(np.int64)).t()
        edges = torch.cat([edges, edges.flip(0)], 1).contiguous()
        return Data(x=torch.from_numpy(file["node_features"].astype(np.float32)), edge_index=edges)
    graphs = plimsoll.open(path)
    return Batch.from_data_list([graphs.to_pyg(i) for i in range(min(count, len(graphs)))])


def step(model, batch):
    begin = time.perf_counter()
    model.zero_grad()
    model(batch.x, batch.edge_index).square().mean().backward()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print("| data | nodes | edges | model | case | ms, best | median | of default |\n|---|---|---|---|---|---|---|---|")
    for path in arguments.data:
        batch = batch_of(path, arguments.batch)
        for kind in (GCN, GraphSAGE, GIN):
            torch.manual_seed(0)
            model = kind(batch.x.shape[1], 64, num_layers=3, out_channels=2, dropout=0.2)
            cases = {"default": model, "replaced": copy.deepcopy(model)}
            plimsoll.nn.replace(cases["replaced"])
            if arguments.compile:
                cases["compiled"] = torch.compile(copy.deepcopy(model))
            times = {name: [] for name in cases}
            for _ in range(arguments.rounds + 1):
                for name, case in cases.items():
                    times[name].append(1000 * step(case, batch))
            best = {name: min(found[1:]) for name, found in times.items()}
            for name, found in times.items():
                print(f"| {Path(path).stem} | {batch.num_nodes} | {batch.num_edges} | {kind.__name__} | {name} | {best[name]:.1f} | "
                      f"{statistics.median(found[1:]):.1f} | {best['default'] / best[name]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
