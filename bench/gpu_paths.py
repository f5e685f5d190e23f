#!/usr/bin/env python3
"""SGMP on a GPU, as markdown: run by `scripts/check gpu`.

    gpu_paths.py PROGRAMS        the folder with plimsoll

Graphs of 100 points with edges to the 8 nearest, H = 64, L = 3: training by `plimsoll train` under several budgets of the
GPU, each a fresh process, whose weights must be the same; and a step of torch alone with all paths of 16 graphs at once.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "bench" / "peers"))
import path_networks as peer  # noqa: E402

GRAPHS, A_STEP = 592, 16  # 576 of them train: nine batches
MIB = 2**20


def made_up():
    """pos and edge_index of each graph, whose edges lead from the nearest others, as `plimsoll ingest points` has them."""
    generator = torch.Generator().manual_seed(1)
    for _ in range(GRAPHS):
        pos = peer.jittered_grid(10, generator, planar=False)
        yield pos, peer.knn_edges(pos).flip(0)


def plimsoll(programs, *command):
    run = subprocess.run([Path(programs) / "plimsoll", *map(str, command)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(run.stdout)


def train(programs, work, threads, budget):
    options = (f"training.batch_size={4 * A_STEP}", "training.max_epochs=1", "split.test=0.0135", "split.validation=0.0136",
               f"training.block.graphs={A_STEP}")
    return plimsoll(programs, "train", ROOT / "recipes" / "sgmp.yaml", "--data", work / "data", "--run", work / f"{threads}-{budget}",
                    "--budget", "8GiB", "--threads", threads, "--device", "cuda", "--device-budget", budget, "--json",
                    *(part for option in options for part in ("-O", option)))


def torch_alone(graphs):
    """(graphs a second, MiB of tensors) of a step of 16 graphs with all their paths at once, which are made once."""
    pos = torch.cat([of for of, _ in graphs[:A_STEP]])
    paths = peer.third_order_paths(torch.cat([edges + 100 * g for g, (_, edges) in enumerate(graphs[:A_STEP])], 1), len(pos))
    torch.set_default_device("cuda")
    pos, paths, batch = pos.cuda(), paths.cuda(), torch.arange(A_STEP).repeat_interleave(100)
    x, y = torch.randn(len(pos), 5), torch.arange(A_STEP) % 2
    model = peer.SGMP(5, 64, 2, 3)
    optimizer = torch.optim.Adam(model.parameters())

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x, pos, batch, A_STEP, paths, cutoff=1.0, corrected=True), y).backward()
        optimizer.step()

    step()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(5):
        step()
    torch.cuda.synchronize()
    return 5 * A_STEP / (time.perf_counter() - started), torch.cuda.max_memory_allocated() / MIB


def main():
    graphs = list(made_up())
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        np.save(work / "grids.npy", np.stack([pos.numpy() for pos, _ in graphs]))
        np.save(work / "labels.npy", np.arange(len(graphs)) % 2)
        plimsoll(sys.argv[1], "ingest", "points", work / "grids.npy", "--knn", 8, "--labels", work / "labels.npy", "--out",
                 work / "data", "--json")
        print(f"## SGMP, graphs of 100 points with edges to the 8 nearest\n\n`bench/gpu_paths.py`: blocks of {A_STEP} graphs.\n")
        print("| device budget | threads | blocks in flight | planned MiB | used MiB | of them beside the context | a range, planned / "
              "used MiB | graphs/s | weights |\n|---|---|---|---|---|---|---|---|---|")
        weights, least = set(), None
        for threads, budget in ((1, "8GiB"), (1, None), (4, "8GiB")):
            run = train(sys.argv[1], work, threads, budget or str(least))
            device = run["device"]
            least = device["min_budget_bytes"]
            weights.add(run["weights"])
            beside = device["measured_peak_bytes"] - (device["budget_bytes"] - device["region_bytes"])
            print(f"| {device['budget_bytes'] / MIB:,.0f} MiB | {threads} | {device['blocks_in_flight']} | "
                  f"{device['planned_peak_bytes'] / MIB:,.0f} | {device['measured_peak_bytes'] / MIB:,.0f} | {beside / MIB:,.0f} | "
                  f"{device['range_bytes'] / MIB:.1f} / {device['highest_range_bytes'] / MIB:.1f} | {run['graphs_per_s']:,.0f} | "
                  f"{run['weights'][:12]} |", flush=True)
        if len(weights) != 1:
            raise SystemExit("weights differ with the budget")
    rate, bytes_at_once = torch_alone(graphs)
    print(f"\ntorch alone, all paths of {A_STEP} graphs at once, made before: {rate:,.0f} graphs/s, {bytes_at_once:,.0f} MiB of tensors.")


if __name__ == "__main__":
    main()
