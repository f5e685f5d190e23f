#!/usr/bin/env python3
"""plimsoll.fit on a GPU beside a loop of PyTorch Geometric there: seconds of an epoch, windows a second, memory.

    python bench/fit_gpu.py [--frames 400000] [--batch 4096] [--budget 8GiB] [--stand-in]

Each in a process of its own, on windows of simulated frames. `--stand-in` takes the CPU for a GPU, to try the program.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EPOCHS = 3


def model_of(torch, replaced):
    from torch_geometric.nn import GAT, global_mean_pool

    import plimsoll.nn

    class Classifier(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gat = GAT(11, 64, num_layers=3, heads=4)
            self.lin = torch.nn.Linear(64, 2)

        def forward(self, x, edge_index, batch, batch_size):
            return self.lin(global_mean_pool(self.gat(x, edge_index), batch, batch_size))

    torch.manual_seed(0)
    model = Classifier()
    if replaced:
        plimsoll.nn.replace(model)
    return model


def one(kind, arguments, graphs):
    import torch

    import plimsoll

    graphs = plimsoll.open(graphs)
    if kind == "fit" or kind == "fit, replaced":
        from plimsoll import _torch
        from plimsoll._fit import device

        if arguments.stand_in:
            device._open = _torch.stand_in(1 << 30, 1 << 20)
        size = None if arguments.stand_in else arguments.budget
        run = plimsoll.fit(
            model_of(torch, "replaced" in kind), graphs, epochs=EPOCHS, batch_size=arguments.batch,
            block=plimsoll.BlockLimits(512, 1 << 20, 1 << 20), device="cuda", device_budget=size,
        )  # fmt: skip
        return {"seconds": run.seconds, "bytes": run.device_peak, "smallest": run.device_smallest_budget}
    from torch_geometric.loader import DataLoader

    device = "cpu" if arguments.stand_in else "cuda"
    loader = DataLoader([graphs.to_pyg(i) for i in range(len(graphs))], arguments.batch, shuffle=True)
    model = model_of(torch, False).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    seconds = []
    for _ in range(EPOCHS):
        begin = time.perf_counter()
        for batch in loader:
            batch = batch.to(device)
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index, batch.batch, batch.num_graphs)
            torch.nn.functional.cross_entropy(out, batch.y).backward()
            optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    taken = 0 if arguments.stand_in else torch.cuda.mem_get_info()
    return {"seconds": seconds, "bytes": taken[1] - taken[0] if taken else 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--frames", type=int, default=400_000)
    parser.add_argument("--batch", type=int, default=4096)
    parser.add_argument("--budget", default="8GiB")
    parser.add_argument("--stand-in", action="store_true")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(one(arguments.one[0], arguments, arguments.one[1])))
        return
    import plimsoll

    with tempfile.TemporaryDirectory() as folder:
        plimsoll.simulate.can(f"{folder}/frames", frames=arguments.frames, seed=1)
        count = len(plimsoll.windows(f"{folder}/frames", f"{folder}/graphs"))
        print(f"{count} windows, batch {arguments.batch}\n")
        print("| | s an epoch | windows a second | of the GPU | smallest device budget |\n|---|---|---|---|---|")
        for kind in ("PyTorch Geometric", "fit", "fit, replaced"):
            command = [sys.executable, __file__, *sys.argv[1:], "--one", kind, str(Path(folder) / "graphs")]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(f"| {kind} | failed: {done.stderr.strip().splitlines()[-1]} |")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            best = min(found["seconds"][1:])
            smallest = f"{found['smallest'] >> 20} MiB" if "smallest" in found else ""
            print(f"| {kind} | {best:.2f} | {count / best:.0f} | {found['bytes'] >> 20} MiB | {smallest} |", flush=True)


if __name__ == "__main__":
    main()
