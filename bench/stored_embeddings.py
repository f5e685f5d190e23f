#!/usr/bin/env python3
"""What a table of learned embeddings costs a run on a disk, beside the same run in memory and PyTorch's sparse table.

    bench/stored_embeddings.py [--nodes 2000000] [--seeds 200000] [--epochs 2] [--rounds 2] [--budget MIB] [--not-in-memory]
                               [--before FILE] [--folder DIR] [--results FILE]

Trains GraphSAGE (10 and 5 neighbours, batches of 256 seeds) to classify nodes without features. Each of 5 edges per node starts
at a node that is drawn by a power law, so some rows are in almost every step and most are in few. The runs on a disk have
the smallest budget, and one of which half is a quarter of the table, or --budget in place of both; --enforce makes the kernel
hold them to it, page cache included, if the system allows it. --not-in-memory leaves out the run in memory, whose smallest budget
may exceed the machine, and --before also measures another plimsoll on a disk. Processor seconds are user and system time of whole processes, start, checkpoints
and validation included, on one thread; seconds are the time that passed; bytes are those that the process read from the disk and gave to it. The peer trains
the same network of PyTorch Geometric from `plimsoll.NeighborLoader` with `nn.Embedding(sparse=True)` under SparseAdam, and
writes no checkpoints. Rounds alternate between all cases. Prints a table in Markdown; with --results it becomes a section
of that file.
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

import embeddings
import numpy as np
import report

EDGES_OF_NODE, CLASSES, EXPONENT = 5, 8, 3


def make_graph(folder, nodes, seeds):
    random = np.random.default_rng(5)
    edges = np.empty((EDGES_OF_NODE * nodes, 2), np.int64)
    edges[:, 0] = nodes * random.random(len(edges)) ** EXPONENT
    edges[:, 1] = random.integers(0, nodes, len(edges))
    np.save(folder / "edges.npy", edges)
    np.save(folder / "y.npy", random.integers(0, CLASSES, nodes))
    order = random.permutation(nodes)
    ends = np.cumsum([seeds, seeds // 20, seeds // 20])
    for split, part in zip(("train", "valid", "test"), np.split(order[:ends[-1]], ends[:-1])):
        np.save(folder / f"{split}.npy", np.sort(part))
    splits = [word for split in ("train", "valid", "test") for word in (f"--{split}", folder / f"{split}.npy")]
    words = [report.PLIMSOLL, "ingest", "graph", "--edges", folder / "edges.npy", "--labels", folder / "y.npy", "--ids", "dense",
             *splits, "--out", folder / "graph"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    (folder / "edges.npy").unlink()
    return folder / "graph"


def measured(command):
    """(processor seconds, seconds, bytes read, bytes written, output) of a program."""
    start = time.monotonic()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start, 512 * usage.ru_inblock, 512 * usage.ru_oublock, output


class Runs:
    def __init__(self, graph, folder, options):
        self.recipe = folder / "recipe.yaml"
        self.recipe.write_text(embeddings.RECIPE)
        self.weights = set()
        self.words = ["--data", graph, "--threads", 1, "--json", "-O", f"training.max_epochs={options.epochs}"]
        self.run, self.enforce = folder / "run", ["--enforce"] if options.enforce else []

    def train(self, *words, program=report.PLIMSOLL):
        found = measured([program, "train", self.recipe, "--run", self.run, "--force", *self.words, *words])
        self.weights.add(json.loads(found[-1])["weights"])
        return found

    def smallest_budget(self, place):
        output = measured([report.PLIMSOLL, "plan", self.recipe, *self.words, "-O", f"run.embeddings={place}"])[-1]
        return json.loads(output)["min_budget_bytes"]

    def on_disk(self, budget, program=report.PLIMSOLL):
        return lambda: self.train("-O", "run.embeddings=disk", "--budget", budget, *self.enforce, program=program)

    def cases(self, options, graph):
        mib, cases = 2**20, {}
        if not options.not_in_memory:
            whole = self.smallest_budget("memory")
            cases[f"in memory, smallest budget {whole / mib:,.0f} MiB"] = lambda: self.train("-O", "run.embeddings=memory")
        least = self.smallest_budget("disk")
        budgets = {"budget": options.budget * mib} if options.budget else {
            "budget": least + options.nodes * 4 * embeddings.WIDTH * 4 // 2, "smallest budget": least}
        for name, budget in budgets.items():
            cases[f"on disk, {name} {budget / mib:,.0f} MiB"] = self.on_disk(budget)
            if options.before:
                cases[f"before, on disk, {name} {budget / mib:,.0f} MiB"] = self.on_disk(budget, options.before)
        peer = [report.PYTHON, embeddings.__file__, "--peer", "sparse", "--graph", graph, "--epochs", options.epochs]
        return cases | {"PyTorch, sparse, in memory": lambda: measured(peer)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=2_000_000)
    parser.add_argument("--seeds", type=int, default=200_000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--enforce", action="store_true")
    parser.add_argument("--budget", type=int, help="in MiB")
    parser.add_argument("--not-in-memory", action="store_true")
    parser.add_argument("--before", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    lines = [report.machine(), f"{options.nodes:,} rows of {embeddings.WIDTH}, {options.seeds:,} seeds, whole runs of {options.epochs} "
             f"epochs; processor seconds: best / median of {options.rounds}; seconds and bytes: of the last round.", "",
             "| case | processor s | s | read | written |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        graph = make_graph(folder, options.nodes, options.seeds)
        runs = Runs(graph, folder, options)
        cases = runs.cases(options, graph)
        found = {case: [] for case in cases}
        for _ in range(options.rounds):
            for case, run in cases.items():
                os.sync()
                found[case].append(run())
                print(case, found[case][-1][:-1], file=sys.stderr, flush=True)
        for case, results in found.items():
            seconds = [cpu for cpu, *_ in results]
            _, passed, read, written, _ = results[-1]
            lines.append(f"| {case} | {min(seconds):.0f} / {statistics.median(seconds):.0f} | {passed:.0f} | {read / 1e9:.2f} GB | {written / 1e9:.2f} GB |")
    if len(runs.weights) != 1:
        sys.exit(f"the runs have different weights: {runs.weights}")
    lines += ["", "All runs of Plimsoll have the same weights to the bit."]
    text = "\n".join(lines)
    report.write_section("A table on a disk", text, options.results) if options.results else print(text)


if __name__ == "__main__":
    sys.exit(main())
