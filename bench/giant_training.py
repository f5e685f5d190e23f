#!/usr/bin/env python3
"""Training on one giant graph at shares of what it takes, against the same with all of it in memory.

    bench/giant_training.py GRAPH [--shares 1 0.5 0.2 0.1 0.05] [--rounds 2] [-O KEY=VALUE ...] [--peer SECONDS [--random]]

The budget of a run is what its plan takes without a cache, and the share of the columns indptr, indices and x as f32; it is
in force in a memory group of the kernel where there is one (--enforce). Runs of a round follow each other; each reads past
the page cache, which is dropped before it where that is allowed. Prints a table in Markdown; the time is that of epochs,
validation included. Fails where weights differ.

With --peer, bench/peers/giant_training.py trains for so long after each run (GraphSAGE, 10/5 neighbours, blocks of 128), under
the same limit in a memory group, with nothing in the page cache at first: PyTorch Geometric from maps, by `make bench-peers`.
With --random it tells the kernel not to read ahead (MADV_RANDOM): the rival at its fairest where memory is short.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
from cgroup import MemoryCgroup  # noqa: E402

PLIMSOLL = ROOT / "build" / "release" / "bin" / "plimsoll"
RECIPE = ROOT / "recipes" / "node_classification.yaml"


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\nexit code {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def drop_page_cache():
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1")
    except OSError:
        pass


def train(graph, budget, overrides, folder):
    drop_page_cache()
    summary = call(PLIMSOLL, "train", RECIPE, "--data", graph, "--run", folder, "--budget", budget, "--enforce",
                   "--force", "--json", *overrides)
    with open(next(folder.glob("seed-*/gnn/metrics.csv"))) as file:
        summary["epoch_s"] = [float(row["seconds"]) for row in csv.DictReader(file)]
    return summary


def train_peer(graph, row, budget, seconds, workers, random):
    """What the peer printed, with how often the kernel killed it."""
    drop_page_cache()
    with MemoryCgroup(budget) as group:
        command = [sys.executable, ROOT / "bench/peers/giant_training.py", graph, row, "--seconds", str(seconds),
                   "--workers", str(workers), *(["--random"] if random else [])]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=group.join,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "build" / "peers")})
        if done.returncode != 0 and not group.kills():
            sys.exit(done.stderr)
        return {"killed": True} if done.returncode != 0 else json.loads(done.stdout)


def print_peers(peers, runs, seeds):
    print("\n| share | Plimsoll, seeds/s | PyTorch Geometric, 0 and 2 workers | ratio |\n|---|---|---|---|")
    for share, done in peers.items():
        own = seeds / min(second for run in runs[share] for second in run["epoch_s"])
        best = max((run.get("seeds_per_s", 0) for run in done), default=0)
        of_peer = ", ".join("killed" if "killed" in run else f"{run['seeds_per_s']:,.0f}" for run in done)
        print(f"| {share:.0%} | {own:,.0f} | {of_peer} | {f'{own / best:.1f}' if best else ''} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("--shares", type=float, nargs="+", default=[1, 0.5, 0.2, 0.1, 0.05])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("-O", action="append", default=[], dest="overrides")
    parser.add_argument("--peer", type=float, metavar="SECONDS")
    parser.add_argument("--random", action="store_true")
    arguments = parser.parse_args()
    overrides = [word for override in arguments.overrides for word in ("-O", override)]
    plan = call(PLIMSOLL, "plan", RECIPE, "--data", arguments.graph, "--json", *overrides)
    without = plan["peak_bytes"] - plan["breakdown"].get("cache", 0)
    # A share is of the features as f32, however they are stored.
    nodes, features = np.load(arguments.graph / "x.npy", mmap_mode="r").shape
    size = sum((arguments.graph / f"{name}.npy").stat().st_size for name in ("indptr", "indices")) + 4 * nodes * features
    print(f"columns {size / 2**20:.0f} MiB; a run without a cache {without / 2**20:.0f} MiB\n")
    runs = {share: [] for share in arguments.shares}
    peers = {share: [] for share in arguments.shares}
    with tempfile.TemporaryDirectory(dir=arguments.graph.resolve().parent) as scratch:
        row = Path(scratch) / "row.npy"
        if arguments.peer:
            np.save(row, np.load(arguments.graph / "indices.npy", mmap_mode="r").astype(np.int64))
        for _ in range(arguments.rounds):
            for share in arguments.shares:
                # All of it takes a little more than its bytes.
                budget = int(without + share * size * (1.6 if share >= 1 else 1))
                runs[share].append(train(arguments.graph, budget, overrides, Path(scratch) / "run"))
                print(f"# {share:.0%}: {runs[share][-1]['epoch_s']}", file=sys.stderr, flush=True)
                for workers in (0, 2) if arguments.peer else ():
                    peers[share].append(train_peer(arguments.graph, row, budget, arguments.peer, workers, arguments.random))
                    print(f"# peer: {peers[share][-1]}", file=sys.stderr, flush=True)
    whole = min(second for run in runs[max(runs)] for second in run["epoch_s"])
    print("| share | budget | epoch, best / median | speed | from memory | read | waited for disk"
          " / stalled | binds |\n|---|---|---|---|---|---|---|---|")
    for share, done in runs.items():
        seconds = [second for run in done for second in run["epoch_s"]]
        reading = done[-1]["reading"]
        print(f"| {share:.0%} | {done[-1]['memory']['budget_bytes'] / 2**20:.0f} MiB"
              f" | {min(seconds):.1f} / {statistics.median(seconds):.1f} s | {whole / min(seconds):.0%}"
              f" | {1 - reading['miss_ratio']:.1%} | {reading['bytes_read'] / 2**30:.2f} GiB"
              f" | {reading['waited_s']:.1f} / {reading['stalled_s']:.1f} of {reading['seconds']:.1f} s | {reading['binds']} |")
    if arguments.peer:
        print_peers(peers, runs, len(np.load(arguments.graph / "train_idx.npy", mmap_mode="r")))
    weights = {run["weights"] for done in runs.values() for run in done}
    print(f"\nweights: {len(weights)} different: {', '.join(sorted(weights))}")
    sys.exit(len(weights) != 1)


if __name__ == "__main__":
    main()
