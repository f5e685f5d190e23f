#!/usr/bin/env python3
"""What other ways to save memory save and cost, beside blocks: docs/why-not.md.

One epoch of the published GAT teacher (PyTorch Geometric, 3 x 48 x 8 heads) on windows of made-up traffic, batches of 512, in
a process of its own for each way, interleaved; the best of the rounds for seconds, the most for memory above what the
process held before the data. The last way is `plimsoll.fit` in its smallest budget.

    bench/why_not.py [--graphs 1024] [--rounds 2] [--results bench/results/why-not.md]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCH, SMALL = 512, 64
WAYS = {
    "plain": "one batch at a time, all in memory",
    "malloc": "the same, with freed memory kept (MALLOC_TOP_PAD_)",
    "checkpointing": "torch.utils.checkpoint around each layer",
    "smaller": f"batches of {SMALL}: another optimizer step every {SMALL} graphs",
    "accumulation": f"gradients of {BATCH // SMALL} batches of {SMALL}, then a step",
    "bf16": "torch.autocast('cpu', torch.bfloat16)",
    "mmap": "torch.load(mmap=True), else as plain",
    "fit": "plimsoll.fit, blocks of 64, in its smallest budget",
}


def anonymous():
    """Bytes: now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


class Peak:
    """The most anonymous memory of the process, looked at every 5 ms."""

    def __enter__(self):
        import threading

        self.before, self.most, self.stop = anonymous(), 0, threading.Event()

        def watch():
            while not self.stop.wait(0.005):
                self.most = max(self.most, anonymous())

        self.thread = threading.Thread(target=watch, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    @property
    def bytes(self):
        return max(self.most - self.before, 0)


def model_of(checkpointed):
    import torch
    from torch.utils.checkpoint import checkpoint
    from torch_geometric.nn import GATConv, global_mean_pool

    class Teacher(torch.nn.Module):
        def __init__(self):
            super().__init__()
            widths = [11, 384, 384]
            self.convs = torch.nn.ModuleList(GATConv(width, 48, heads=8) for width in widths)
            self.lin = torch.nn.Linear(3 * 384, 2)

        def forward(self, x, edge_index, batch):
            outputs = []
            for conv in self.convs:
                if checkpointed and x.requires_grad:
                    x = checkpoint(lambda h, c=conv: c(h, edge_index).relu(), x, use_reentrant=False)
                else:
                    x = conv(x, edge_index).relu()
                outputs.append(x)
            return self.lin(global_mean_pool(torch.cat(outputs, 1), batch))

    torch.manual_seed(0)
    return Teacher()


def run(way, folder, graphs, budget):
    """One epoch; prints its figures as JSON."""
    import torch
    from torch.nn.functional import cross_entropy
    from torch_geometric.loader import DataLoader

    torch.set_num_threads(2)
    model = model_of(way == "checkpointing")
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    figures = {}
    if way == "fit":
        import plimsoll

        data = plimsoll.open(folder / "graphs")[:graphs]
        with Peak() as peak:
            done = plimsoll.fit(model, data, optimizer=optimizer, epochs=1, batch_size=BATCH, shuffle=False, budget=budget)
        seconds, loss = done.seconds[0], done.losses[0]
        figures["budget"] = done.smallest_budget
    else:
        with Peak() as peak:
            data = torch.load(folder / "graphs.pt", weights_only=False, mmap=way == "mmap")
            loader = DataLoader(data, batch_size=SMALL if way in ("smaller", "accumulation") else BATCH)
            start, total = time.perf_counter(), 0.0
            for i, batch in enumerate(loader):
                with torch.autocast("cpu", torch.bfloat16, enabled=way == "bf16"):
                    loss = cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)
                (loss * batch.num_graphs / BATCH if way == "accumulation" else loss).backward()
                total += loss.item() * batch.num_graphs
                if way != "accumulation" or (i + 1) % (BATCH // SMALL) == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            seconds, loss = time.perf_counter() - start, total / len(data)
    print(json.dumps(figures | {"way": way, "seconds": seconds, "bytes": peak.bytes, "loss": loss}))


def measured(way, folder, graphs, budget=None):
    """The figures of a process of its own."""
    kept = {"MALLOC_TOP_PAD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 32), "MALLOC_MMAP_MAX_": "0"}
    command = [sys.executable, __file__, "--way", way, "--folder", folder, "--graphs", str(graphs)]
    done = subprocess.run([*command, *(["--budget", str(budget)] if budget else [])], capture_output=True, text=True,
                          env={**os.environ, **(kept if way == "malloc" else {})})
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        return run(options.way, options.folder, options.graphs, options.budget)
    import plimsoll
    import torch

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plimsoll.simulate.can(folder / "frames", frames=options.graphs * 100 + 40_000, seed=1)
        graphs = plimsoll.windows(folder / "frames", folder / "graphs")
        torch.save([graphs.to_pyg(i) for i in range(options.graphs)], folder / "graphs.pt")
        figures = {way: [] for way in WAYS}
        for _ in range(options.rounds):
            for way in WAYS:
                found = measured(way, name, options.graphs)
                figures[way].append(measured(way, name, options.graphs, found["budget"]) if way == "fit" else found)
                print(figures[way][-1], file=sys.stderr)
    plain = min(figure["seconds"] for figure in figures["plain"])
    rows = ["| way | seconds an epoch | of plain | MiB above the start | mean loss |", "|---|---|---|---|---|"]
    for way, what in WAYS.items():
        seconds = min(figure["seconds"] for figure in figures[way])
        most = max(figure["bytes"] for figure in figures[way])
        rows.append(f"| {way}: {what} | {seconds:.2f} | {seconds / plain:.2f} | {most / 2**20:.0f} | {figures[way][0]['loss']:.6f} |")
    table = "\n".join(rows)
    print(table)
    if options.results:
        options.results.write_text(f"# Other ways to save memory\n\n{time.strftime('%Y-%m-%d')}, {options.graphs:,} windows, best of "
                                   f"{options.rounds} rounds, two threads: `bench/why_not.py --graphs {options.graphs} --rounds "
                                   f"{options.rounds}`.\n\n{table}\n")


if __name__ == "__main__":
    main()
