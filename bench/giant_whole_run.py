#!/usr/bin/env python3
"""Whole training runs on one giant graph at several budgets: start-up, epochs and everything else that `plimsoll train` does.

    bench/giant_whole_run.py GRAPH 4GiB 200MiB 140MiB 110MiB [--rounds 3] [-O KEY=VALUE ...]

Runs of a round follow each other, one for each budget, so that a change of the machine's load meets all of them. Before each run
the columns of the graph are dropped from the page cache. Prints a table in Markdown: seconds of the clock (best and median of
the rounds; they compare only on a quiet machine, so the load of the last minute is shown), seconds of processors, and bytes
that the process read from the disk and wrote to it (`rusage`), with those that it printed. Fails where weights differ, or where a
run prints other bytes than it read.
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

ROOT = Path(__file__).resolve().parents[1]
PLIMSOLL = ROOT / "build" / "release" / "bin" / "plimsoll"
RECIPE = ROOT / "recipes" / "node_classification.yaml"
GIB = 1 << 30
SECTOR = 512  # Bytes of a block of `rusage`.


def drop_columns(graph):
    for column in graph.glob("*.npy"):
        with open(column, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def train(graph, budget, overrides):
    drop_columns(graph)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir=graph.parent) as folder:
        words = [PLIMSOLL, "train", RECIPE, "--data", graph, "--run", Path(folder) / "run", "--budget", budget, "--json"]
        start = time.monotonic()
        process = subprocess.Popen([str(word) for word in (*words, *overrides)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"training with {budget} ended with status {status}")
    summary = json.loads(text)
    return {
        "seconds": seconds,
        "start_up": summary["start_up"]["seconds"],
        "processor": usage.ru_utime + usage.ru_stime,
        "read": usage.ru_inblock * SECTOR,
        "written": usage.ru_oublock * SECTOR,
        "printed": summary["usage"]["read_bytes"],
        "counted": summary["start_up"]["bytes_read"] + summary["reading"]["bytes_read"],
        "load": load,
        "weights": summary["weights"][:8],
    }


def row(budget, runs, fastest):
    def median(what):
        return statistics.median(run[what] for run in runs)

    best = min(run["seconds"] for run in runs)
    loads = [run["load"] for run in runs]
    return (
        f"| {budget} | {best:.1f}, {median('seconds'):.1f} s | {median('seconds') / fastest:.2f} | {median('start_up'):.1f} s "
        f"| {median('processor'):.1f} s | {median('read') / GIB:.2f} | {median('counted') / GIB:.2f} | {median('written') / GIB:.2f} "
        f"| {min(loads):.0f} to {max(loads):.0f} | {runs[0]['weights']} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph", type=Path)
    parser.add_argument("budgets", nargs="+")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-O", action="append", default=[], dest="overrides", metavar="KEY=VALUE")
    given = parser.parse_args()
    overrides = [word for override in given.overrides for word in ("-O", override)]
    runs = {budget: [] for budget in given.budgets}
    for _ in range(given.rounds):
        for budget in given.budgets:
            runs[budget].append(train(given.graph, budget, overrides))
    print("| budget | whole run: best, median | ratio | start-up | processors | read, GiB | counted by rows | written, GiB | load | weights |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    fastest = statistics.median(run["seconds"] for run in runs[given.budgets[0]])
    for budget in given.budgets:
        print(row(budget, runs[budget], fastest))
    everything = [run for some in runs.values() for run in some]
    if len({run["weights"] for run in everything}) > 1:
        sys.exit("weights differ")
    for run in everything:
        if abs(run["printed"] - run["read"]) > 0.02 * run["read"]:
            sys.exit(f"a run printed {run['printed']} bytes read, the kernel counted {run['read']}")


if __name__ == "__main__":
    main()
