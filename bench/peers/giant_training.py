"""Trains on one giant graph with PyTorch Geometric's NeighborLoader and maps of NumPy: the peer of bench/giant_training.py.

    giant_training.py GRAPH ROW --batch 128 --seconds 60 [--workers 2] [--random]

GRAPH is a `graph` of `plimsoll`, whose columns are mapped; ROW is its column `indices` as i64 (.npy), which is what
NeighborLoader reads. With --random the kernel is told not to read ahead (MADV_RANDOM), which NumPy does not. The model is
that of the recipe with 2 SAGEConv of 128, fan-outs 10 and 5. Prints how many batches there were in so many seconds, after 10
to begin with, as JSON; or {"missing": REASON}.
"""

import argparse
import json
import mmap
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from accuracy import Model
from torch.nn.functional import cross_entropy
from torch_geometric import typing
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader

FIRST = 10


def mapped(path, random=False):
    array = np.load(path, mmap_mode="r")
    if random:
        array._mmap.madvise(mmap.MADV_RANDOM)
    with warnings.catch_warnings(action="ignore"):  # that it can only be read
        return torch.from_numpy(array)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("row", type=Path)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--random", action="store_true")
    options = parser.parse_args()
    if not typing.WITH_TORCH_SPARSE:
        print(json.dumps({"missing": "torch-sparse is not installed: make bench-peers"}))
        return
    torch.manual_seed(1)
    x, y = (mapped(options.graph / f"{name}.npy", options.random) for name in ("x", "y"))
    indptr, row = mapped(options.graph / "indptr.npy", options.random), mapped(options.row, options.random)
    adjacency = typing.SparseTensor(rowptr=indptr, row=None, col=row, value=None, sparse_sizes=(len(y), len(y)),
                                    is_sorted=True, trust_data=True)
    data = Data(x=x, y=y, adj_t=adjacency)
    loader = NeighborLoader(data, [10, 5], input_nodes=mapped(options.graph / "train_idx.npy").clone(), shuffle=True,
                            batch_size=options.batch, num_workers=options.workers)
    model = Model(SimpleNamespace(conv="sage", hidden=128, fan_outs=[10, 5], dropout=0.5), x.shape[1], int(y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    batches, begin, cpu = -FIRST, 0.0, 0.0
    for batch in loader:
        if batches == 0:
            begin, cpu = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        cross_entropy(model(batch.x, batch.adj_t)[:batch.batch_size], batch.y[:batch.batch_size]).backward()
        optimizer.step()
        batches += 1
        if batches > 0 and time.perf_counter() - begin > options.seconds:
            break
    seconds = time.perf_counter() - begin
    print(json.dumps({"batches": batches, "seconds": seconds, "cpu": time.process_time() - cpu,
                      "seeds_per_s": batches * options.batch / seconds}))


if __name__ == "__main__":
    main()
