"""Samples the batches of bench_sampling with PyTorch Geometric, whose backend is torch-sparse or pyg-lib.

    sampling.py FOLDER loader|sampler SEED...

FOLDER has indptr.npy, indices.npy and seeds.npy. Prints wall and processor seconds of one pass over all seeds, after one
to warm up, and what was sampled, as JSON; or {"missing": REASON}. SEED is that of torch.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch_geometric import typing
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.sampler import NeighborSampler, NodeSamplerInput

FAN_OUTS = [15, 10, 5]
BATCH = 1024


def batches_of_loader(data, seeds):
    loader = NeighborLoader(data, FAN_OUTS, input_nodes=seeds, batch_size=BATCH, is_sorted=True)
    return ((batch.n_id.numel(), batch.e_id.numel()) for batch in loader)


def batches_of_sampler(data, seeds):
    sampler = NeighborSampler(data, FAN_OUTS, is_sorted=True)

    def batches():
        for first in range(0, seeds.numel(), BATCH):
            out = sampler.sample_from_nodes(NodeSamplerInput(None, seeds[first:first + BATCH]))
            yield out.node.numel(), out.edge.numel()

    return batches()


def main():
    if not (typing.WITH_PYG_LIB or typing.WITH_TORCH_SPARSE):
        print(json.dumps({"missing": "neither pyg-lib nor torch-sparse is installed"}))
        return
    folder = Path(sys.argv[1])
    indptr, indices, seeds = (torch.from_numpy(np.load(folder / f"{name}.npy"))
                              for name in ("indptr", "indices", "seeds"))
    targets = torch.arange(indptr.numel() - 1).repeat_interleave(indptr.diff())
    data = Data(edge_index=torch.stack([indices, targets]), num_nodes=indptr.numel() - 1)
    make = {"loader": batches_of_loader, "sampler": batches_of_sampler}[sys.argv[2]]
    torch.set_num_threads(1)
    torch.manual_seed(int(sys.argv[3]))
    for batches in make(data, seeds), make(data, seeds):
        wall, cpu = time.perf_counter(), time.process_time()
        nodes, edges = map(sum, zip(*batches))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(json.dumps({"wall": wall, "cpu": cpu, "nodes": nodes, "edges": edges,
                      "backend": "pyg-lib" if typing.WITH_PYG_LIB else "torch-sparse"}))


if __name__ == "__main__":
    main()
