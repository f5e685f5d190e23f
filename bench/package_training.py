"""What the Python package gains a model of PyTorch Geometric: KD-GAT's GAT trained on window graphs, by a loop as its users
write it, with layers replaced, and by plimsoll.fit. A fresh process a case, the cases interleaved.

    package_training.py GRAPH_SET [--rounds 3] [--model large] [--threads 2] [--batches 512 4096] [--cases NAME...]

Prints, for each case, graphs a second (best and median of the rounds), CPU seconds of 1,000 graphs, and the most anonymous
memory. GRAPH_SET has the splits train...; `plimsoll windows` makes it (compat features).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python")]

CASES = {  # name: (way, layers replaced, graphs a block)
    "pyg": ("loop", False, 0),
    "pyg, tuned malloc": ("loop", False, 0),
    "pyg, layers replaced": ("loop", True, 0),
    "fit": ("fit", False, 64),
    "fit, layers replaced": ("fit", True, 64),
    "fit, layers replaced, blocks of 128": ("fit", True, 128),
}
TUNED = {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_MMAP_THRESHOLD_": "4000000000"}
IDS = 2049


def measure(arguments):
    import gat_with_jk
    import numpy as np
    import plimsoll
    import torch
    from torch_geometric.loader import DataLoader

    way, replaced, block = CASES[arguments.one]
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    graphs = plimsoll.open(arguments.graphs)
    ranges = [np.arange(s.first_graph, s.first_graph + s.graphs) for s in graphs.splits.values() if s.name.startswith("train")]
    graphs = graphs[np.concatenate(ranges)[: arguments.count]]
    model = gat_with_jk.GATWithJK(IDS, **getattr(gat_with_jk, arguments.model.upper()))
    if replaced:
        import plimsoll.nn

        plimsoll.nn.replace(model)
    optimizer = torch.optim.Adam(model.parameters())
    if way == "fit":
        limits = plimsoll.BlockLimits(block, 10**6, 10**6)
        cpu, memory = [], 0

        def noted(*_):
            cpu.append(time.process_time())

        run = plimsoll.fit(model, graphs, optimizer=optimizer, epochs=2, batch_size=arguments.batch, block=limits,
                           budget=arguments.budget, on_epoch=noted)
        seconds, cpu_seconds, memory = run.seconds[1], cpu[1] - cpu[0], run.peak_process
        more = {"planned": run.smallest_budget, "tensors": run.peak}
    else:
        data = [graphs.to_pyg(i) for i in range(len(graphs))]
        loader = DataLoader(data, batch_size=arguments.batch, shuffle=True)
        for _ in range(2):
            begin, begin_cpu = time.perf_counter(), time.process_time()
            for batch in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y).backward()
                optimizer.step()
            seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - begin_cpu
        memory, more = peak_anonymous(), {}
    print(json.dumps({"rate": len(graphs) / seconds, "cpu": 1000 * cpu_seconds / len(graphs), "memory": memory, **more}))


def peak_anonymous():
    """VmHWM less what is mapped from files now: Linux keeps no high-water mark of anonymous memory alone."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    kib = {name: int(status[name].split()[0]) for name in ("VmHWM", "RssFile")}
    return 1024 * (kib["VmHWM"] - kib["RssFile"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default="large")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, nargs="+", default=[512, 4096])
    parser.add_argument("--count", type=int, default=8192)
    parser.add_argument("--cases", nargs="+", default=list(CASES))
    parser.add_argument("--budget")
    parser.add_argument("--batch", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments)
        return
    found = {}
    for _ in range(arguments.rounds):
        for batch in arguments.batches:
            for case in arguments.cases:
                command = [sys.executable, __file__, *sys.argv[1:], "--one", case, "--batch", str(batch)]
                environment = {**os.environ, **(TUNED if case.endswith("tuned malloc") else {})}
                done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
                found.setdefault((batch, case), []).append(json.loads(done.stdout.splitlines()[-1]))
    print("| batch | case | graphs/s, best | median | of PyG | CPU s / 1,000 graphs | anonymous MiB | of it tensors |")
    print("|---|---|---|---|---|---|---|---|")
    for (batch, case), runs in found.items():
        rates = [run["rate"] for run in runs]
        base = max(run["rate"] for run in found.get((batch, "pyg"), runs))
        print(f"| {batch} | {case} | {max(rates):,.0f} | {statistics.median(rates):,.0f} | {max(rates) / base:.2f} | "
              f"{min(run['cpu'] for run in runs):.2f} | {max(run['memory'] for run in runs) / 2**20:,.0f} | "
              f"{max(run.get('tensors', 0) for run in runs) / 2**20:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
