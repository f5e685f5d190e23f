"""What `plimsoll.nn.replace` alone gains GCN, GraphSAGE and GIN: steps of training by a loop as users write it, against PyTorch
Geometric without Plimsoll, as it is, with a tuned malloc, and compiled. A fresh process a case, the cases interleaved.

    package_sums.py DATA... [--rounds 2] [--steps 7] [--batches 512 4096] [--threads 2] [--cases NAME...]

DATA are graph sets, or .npz files with node_features and edges (one large graph). Prints best and median milliseconds of a step,
those of the same products of matrices alone (which all cases have), and ratios of the best ones.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = ["default", "tuned malloc", "compiled", "replaced", "replaced, compiled"]
MODELS = ["GCN", "GraphSAGE", "GIN"]
TUNED = {"MALLOC_TRIM_THRESHOLD_": "4000000000", "MALLOC_MMAP_THRESHOLD_": "4000000000"}


def write_batch(path, count, file):
    """A batch as tensors, which a process without Plimsoll can read."""
    import numpy as np
    import torch

    if path.endswith(".npz"):
        columns = np.load(path)
        edges = torch.from_numpy(columns["edges"].astype(np.int64)).t()
        tensors = torch.from_numpy(columns["node_features"].astype(np.float32)), torch.cat([edges, edges.flip(0)], 1).contiguous()
    else:
        import plimsoll
        from torch_geometric.data import Batch

        graphs = plimsoll.open(path)
        batch = Batch.from_data_list([graphs.to_pyg(i) for i in range(min(count, len(graphs)))])
        tensors = batch.x, batch.edge_index
    torch.save(tensors, file)
    return len(tensors[0]), tensors[1].shape[1]


def products(model, rows):
    """Milliseconds of the products of a step, forward and backward, of all linear layers of the model."""
    import torch

    layers = [module for module in model.modules() if hasattr(module, "weight") and module.weight.dim() == 2]
    pairs = [(torch.randn(rows, layer.weight.shape[1]), torch.randn(rows, layer.weight.shape[0]), layer) for layer in layers]

    def run():
        begin = time.perf_counter()
        with torch.no_grad():
            for i, (x, out, layer) in enumerate(pairs):
                x @ layer.weight.t()
                out.t() @ x
                if i:
                    out @ layer.weight
        return 1000 * (time.perf_counter() - begin)

    return min(run() for _ in range(7))


def measure(case, file, threads, steps):
    import torch
    from torch_geometric import nn

    if case.startswith("replaced"):
        import plimsoll.nn

    torch.set_num_threads(threads)
    x, edge_index = torch.load(file)
    found = {}
    for name in MODELS:
        torch.manual_seed(0)
        model = getattr(nn, name)(x.shape[1], 64, num_layers=3, out_channels=2, dropout=0.2)
        times = []
        product = products(model, len(x))
        if case.startswith("replaced"):
            plimsoll.nn.replace(model)
        if case.endswith("compiled"):
            model = torch.compile(model)
        for _ in range(steps + 2):
            begin = time.perf_counter()
            model.zero_grad()
            model(x, edge_index).square().mean().backward()
            times.append(1000 * (time.perf_counter() - begin))
        found[name] = {"times": times[2:], "products": product}
    print(json.dumps(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--batches", type=int, nargs="+", default=[512, 4096])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=["default", "tuned malloc", "replaced"], choices=CASES)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.one, arguments.data[0], arguments.threads, arguments.steps)
        return
    print("| data | nodes | edges | model | case | ms, best | median | of default | products alone, ms |\n|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.data:
            for batch in arguments.batches[: 1 if path.endswith(".npz") else None]:
                file = f"{folder}/batch.pt"
                nodes, edges = write_batch(path, batch, file)
                report(Path(path).stem, nodes, edges, arguments, run_cases(arguments, file))


def run_cases(arguments, file):
    found = {}
    for _ in range(arguments.rounds):
        for case in arguments.cases:
            command = [sys.executable, __file__, file, "--one", case, "--threads", str(arguments.threads), "--steps", str(arguments.steps)]
            environment = {**os.environ, **(TUNED if case == "tuned malloc" else {})}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
            for model, result in json.loads(done.stdout.splitlines()[-1]).items():
                found.setdefault((model, case), []).append(result)
    return found


def report(name, nodes, edges, arguments, found):
    for model in MODELS:
        best = {case: min(min(run["times"]) for run in found[model, case]) for case in arguments.cases}
        for case in arguments.cases:
            runs = found[model, case]
            median = statistics.median(time for run in runs for time in run["times"])
            alone = min(run["products"] for run in runs)
            ratio = best[arguments.cases[0]] / best[case]
            print(f"| {name} | {nodes} | {edges} | {model} | {case} | {best[case]:.1f} | {median:.1f} | {ratio:.2f} | {alone:.1f} |", flush=True)


if __name__ == "__main__":
    main()
