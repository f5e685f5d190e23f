#!/usr/bin/env python3
"""Batches of `plimsoll.NeighborLoader` with rows of features in a cache of a part of them, against all of them in memory.

    bench/neighbour_loader.py GRAPH [--shares 1.25 0.5 0.2 0.1] [--rounds 3] [--epochs 2] [--batch 1024] [--split train]

GRAPH is a `graph` of `plimsoll`. Epochs over a split, shuffled, 10 and 5 neighbours; nothing is done with a batch.
`map` takes rows from the map, all of them in the page cache: the rate in memory. A share is `cache_bytes`, of the features as
f32 (1.25 holds all rows); it starts empty and reads past the page cache. Cases take turns. Edges come from the map, in the page cache, in all cases.
Prints a table in Markdown: seconds of the first and of a later epoch, medians over rounds, and the rate to that of the map.
"""

import argparse
import statistics
import time

import numpy as np

import plimsoll


def run(graph, options, cache_bytes):
    """Seconds of each epoch, and what the cache counted."""
    seconds = []
    loader = plimsoll.NeighborLoader(graph, [10, 5], options.split, batch_size=options.batch, shuffle=True, seed=1, cache_bytes=cache_bytes,
                                     as_numpy=True)
    for _ in range(options.epochs):
        start = time.perf_counter()
        for _ in loader:
            pass
        seconds.append(time.perf_counter() - start)
    return seconds, loader.row_counters()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--shares", type=float, nargs="+", default=[1.25, 0.5, 0.2, 0.1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--split", default="train")
    parser.add_argument("--batch", type=int, default=1024)
    options = parser.parse_args()
    graph = plimsoll.open(options.graph)
    features = 4 * graph.num_nodes * graph.num_node_features
    cases = {"map": None} | {f"{share:.0%}": int(share * features) for share in options.shares}
    for name in ("x", "indices", "indptr"):  # into the page cache
        np.add.reduce(np.load(graph.path / f"{name}.npy", mmap_mode="r").view(np.uint8)[..., ::64], axis=None)
    found = {case: [] for case in cases}
    counters = {}
    for _ in range(options.rounds):
        for case, cache_bytes in cases.items():
            seconds, counters[case] = run(graph, options, cache_bytes)
            found[case].append(seconds)
    median = {case: [statistics.median(column) for column in zip(*runs)] for case, runs in found.items()}
    print("| rows | first epoch, s | later, s | rate to the map's: first; later | read, MiB |")
    print("|---|---|---|---|---|")
    whole = median["map"][-1]
    for case, (first, *_, later) in median.items():
        print(f"| {case} | {first:.2f} | {later:.2f} | {whole / first:.0%}; {whole / later:.0%} | {counters[case]['bytes_read'] / 2**20:.0f} |")


if __name__ == "__main__":
    main()
