#!/usr/bin/env python3
"""What `plimsoll plan` says a whole run on a giant graph takes, and what `plimsoll train` takes.

    bench/giant_predicted_time.py GRAPH... [--shares 0.05 0.1 0.2 0.5] [--epochs 2] [-O KEY=VALUE ...]

For each graph and share of it in memory, the budget is the plan's ("what memory buys"). Columns are dropped from the page cache
before each run. Prints a table in Markdown: seconds of the clock predicted and measured, their ratio, and bytes read and
written. Seconds compare only on a quiet machine, so the load of the last minute is shown.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLIMSOLL = Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build" / "release" / "bin")) / "plimsoll"
RECIPE = ROOT / "recipes" / "node_classification.yaml"
GIB = 1 << 30
SECTOR = 512  # Bytes of a block of `rusage`.


def plan(graph, budget, overrides):
    words = [PLIMSOLL, "plan", RECIPE, "--data", graph, "--budget", str(budget), "--json", *overrides]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 4):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def reading(found):
    """The entry `reading` of the plan's only stage."""
    if isinstance(found, dict):
        if "shares" in found:
            return found
        found = list(found.values())
    if isinstance(found, list):
        return next((entry for entry in map(reading, found) if entry), None)
    return None


def train(graph, budget, overrides):
    for column in graph.glob("*.npy"):
        with open(column, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with tempfile.TemporaryDirectory(dir=graph.parent) as folder:
        words = [PLIMSOLL, "train", RECIPE, "--data", graph, "--run", Path(folder) / "run", "--budget", str(budget), "--json"]
        start = time.monotonic()
        process = subprocess.Popen([str(word) for word in (*words, *overrides)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
    if status != 0:
        sys.exit(f"training with {budget} bytes ended with status {status}")
    return seconds, usage


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs", nargs="+", type=Path)
    parser.add_argument("--shares", nargs="+", type=float, default=[0.05, 0.1, 0.2, 0.5])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("-O", action="append", default=[], dest="overrides", metavar="KEY=VALUE")
    given = parser.parse_args()
    overrides = [word for override in (f"training.max_epochs={given.epochs}", *given.overrides) for word in ("-O", override)]
    print("| graph | share | budget | predicted | measured | predicted / measured | compute of an epoch | processors | read, GiB | written, GiB | load |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for graph in given.graphs:
        budgets = {entry["share"]: entry["budget_bytes"] for entry in reading(plan(graph, "4GiB", overrides))["shares"]}
        for share in given.shares:
            said = reading(plan(graph, budgets[share], overrides))
            run = said["run"]
            load = os.getloadavg()[0]
            seconds, usage = train(graph, budgets[share], overrides)
            read = said["start_up"]["bytes_read"] + given.epochs * run["bytes_read"]
            predicted = run["seconds"] or float("nan")
            print(f"| {graph.name} | {share:.0%} | {budgets[share] >> 20} MiB | {predicted:.1f} s | {seconds:.1f} s | "
                  f"{predicted / seconds:.2f} | {said['shares'][0]['compute_seconds']:.1f} s | "
                  f"{usage.ru_utime + usage.ru_stime:.1f} s | {read / GIB:.2f}; {usage.ru_inblock * SECTOR / GIB:.2f} | "
                  f"{given.epochs * run['bytes_written'] / GIB:.2f}; {usage.ru_oublock * SECTOR / GIB:.2f} | {load:.0f} |", flush=True)


if __name__ == "__main__":
    main()
