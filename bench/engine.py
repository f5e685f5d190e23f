#!/usr/bin/env python3
"""The block engine's steps as markdown tables: run by bench/engine.sh.

    engine.py PROGRAM GRAPH_SET LARGER_GRAPH_SET [--quick]

Cases that are compared run in turn, so that what else the machine does meets all of them; best and median of the rounds.
"""

import json
import os
import statistics
import subprocess
import sys

TUNED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456"
ALLOCATORS = {"torch, default malloc": ("torch", False), "torch, tuned malloc": ("torch", True),
              "heap under the ledger": ("heap", False), "slab": ("slab", False)}
BLOCKS = [4, 8, 16, 32, 64, 128, 256]
BATCHES = [512, 4096, 16384, 65536]


def measure(program, folder, tuned=False, **arguments):
    environment = dict(os.environ, GLIBC_TUNABLES=TUNED) if tuned else dict(os.environ)
    command = [program, folder, *(part for key, value in arguments.items() for part in (f"--{key}", str(value)))]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout)


def rounds(cases, count):
    """{name: results} of cases {name: function}, each round once through all of them."""
    results = {name: [] for name in cases}
    for _ in range(count):
        for name, case in cases.items():
            results[name].append(case())
    return results


def best(results, key):
    return max(result[key] for result in results)


def median(results, key):
    return statistics.median(result[key] for result in results)


def table(header, rows):
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for cells in rows:
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    print()


def allocators(program, graphs, count, seconds):
    print("## Allocators and threads\n")
    cases = {(model, name, threads): lambda m=model, a=allocator, u=tuned, t=threads: measure(
        program, graphs, u, model=m, allocator=a, threads=t, graphs=16, seconds=seconds)
        for model in ("small", "large") for name, (allocator, tuned) in ALLOCATORS.items() for threads in (1, 2)}
    results = rounds(cases, count)
    rows = []
    for (model, name, threads), found in results.items():
        slab = best(results[model, "slab", threads], "graphs_per_s")
        one = best(results[model, name, 1], "graphs_per_s")
        rows.append([model, name, threads, f"{best(found, 'graphs_per_s'):,.0f} / {median(found, 'graphs_per_s'):,.0f}",
                     f"{best(found, 'graphs_per_cpu_s'):,.0f}", f"{slab / best(found, 'graphs_per_s'):.2f}",
                     f"{best(found, 'graphs_per_s') / one:.2f}", f"{100 * median(found, 'system_share'):.1f} %",
                     f"{median(found, 'faults_per_graph'):.2f}", f"{median(found, 'anonymous') / 2**20:.0f}"])
    table(["model", "memory", "threads", "graphs/s best / median", "graphs/CPU s", "slab is x", "over one thread",
           "system time", "faults a graph", "anonymous MiB"], rows)


def block_limits(program, graphs, count, seconds):
    print("## Block limits (slab, two threads)\n")
    cases = {(model, block): lambda m=model, b=block: measure(program, graphs, model=m, threads=2, graphs=b, seconds=seconds)
             for model in ("small", "large") for block in BLOCKS}
    rows = [[model, block, f"{best(found, 'graphs_per_s'):,.0f} / {median(found, 'graphs_per_s'):,.0f}",
             f"{best(found, 'graphs_per_cpu_s'):,.0f}", f"{found[0]['range_bytes'] / 2**20:.1f}"]
            for (model, block), found in rounds(cases, count).items()]
    table(["model", "graphs a block", "graphs/s best / median", "graphs/CPU s", "range MiB"], rows)


def batch_sizes(program, graphs, seconds):
    print("## Batch sizes (small model, slab, two threads, blocks of 16 graphs)\n")
    found = {batch: measure(program, graphs, batch=batch, threads=2, graphs=16, seconds=seconds) for batch in BATCHES}
    first = found[BATCHES[0]]["ledger_peak"]
    table(["batch", "ledger's peak, bytes", "against 512", "graphs/s"],
          [[f"{batch:,}", f"{result['ledger_peak']:,}", f"{100 * (result['ledger_peak'] / first - 1):+.2f} %",
            f"{result['graphs_per_s']:,.0f}"] for batch, result in found.items()])


def checkpointing(program, graphs, count, seconds):
    print("## Gradient checkpointing (slab, one thread, blocks of 64 graphs)\n")
    models = ["small", "large"] + [f"{conv}-{layers}" for conv in ("gin", "sage", "gcn", "gat", "gatv2") for layers in (3, 6)]
    cases = {(model, recompute): lambda m=model, r=recompute: measure(program, graphs, model=m, recompute=r, seconds=seconds)
             for model in models for recompute in ("off", "on")}
    results = rounds(cases, count)
    rows = []
    for model in models:
        off, on = results[model, "off"], results[model, "on"]
        ranges = [found[0]["range_bytes"] / 2**20 for found in (off, on)]
        times = [1e3 / best(found, "graphs_per_cpu_s") for found in (off, on)]
        rows.append([model, *(f"{r:.1f}" for r in ranges), f"{ranges[1] / ranges[0]:.2f}", *(f"{t:.3f}" for t in times),
                     f"{times[1] / times[0]:.2f}"])
    table(["model", "range MiB", "recomputed", "x", "CPU ms a graph", "recomputed", "x"], rows)


def main():
    program, graphs, larger = sys.argv[1:4]
    quick = "--quick" in sys.argv
    count, seconds = (1, 1) if quick else (3, 4)
    allocators(program, graphs, count, seconds)
    block_limits(program, graphs, count, seconds)
    batch_sizes(program, larger, seconds)
    checkpointing(program, graphs, count, seconds)


if __name__ == "__main__":
    main()
