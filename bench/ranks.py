#!/usr/bin/env python3
"""Ranks beside threads: 2 ranks on 2 cores against 2 threads of one process, the share of the exchange, and its traffic.

    bench/ranks.py FRAMES [--rounds 5] [--epochs 3] [--only small] [--results bench/results/ranks.md]

FRAMES is a data set of `plimsoll ingest can` or `plimsoll simulate can`. Runs take turns; graphs a second are those within
epochs, start and imports left out. Of the time that a rank waits for others, the part before sums are exchanged is what
slower ranks took longer; the rest is the exchange.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from report import PYTHON, ROOT

MODELS = {
    "small GAT, batch 256": {"training.batch_size": 256},
    "large GAT, batch 4,096": {"gat.preset": "large", "training.batch_size": 4096},
}
#: (ranks, threads of each)
CASES = {"1 process, 2 threads": (1, 2), "2 ranks, 1 thread each": (2, 1), "1 process, 1 thread": (1, 1)}
MORE_RANKS = {"3 ranks, 1 thread each": (3, 1), "4 ranks, 1 thread each": (4, 1)}


def train(options, overrides, ranks, threads):
    """(summary, entries of the journal for epochs) of a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        words = [word for key, value in overrides.items() for word in ("-O", f"{key}={value}")]
        command = [PYTHON, "-m", "plimsoll", "train", ROOT / "recipes" / "gat.yaml", "--data", options.frames, "--run", run,
                   "--threads", threads, "--ranks", ranks, "--json", f"-Otraining.max_epochs={options.epochs}",
                   "-Otraining.checkpoint_every_s=1e9", *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stderr}")
        journal = next(run.glob("seed-*/gat/events.jsonl"))
        entries = [json.loads(line) for line in journal.read_text().splitlines()]
        return json.loads(done.stdout.strip().splitlines()[-1]), [entry for entry in entries if entry["event"] == "epoch"]


def plan(options, overrides, ranks):
    words = [word for key, value in overrides.items() for word in ("-O", f"{key}={value}")]
    command = [PYTHON, "-m", "plimsoll", "plan", ROOT / "recipes" / "gat.yaml", "--data", options.frames, "--ranks", ranks, "--json",
               "--threads", 1, *words]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def exchange_of(epochs, steps):
    """Seconds a step, share of an epoch, and bytes that rank 0 sends in a step: medians over epochs."""
    own = [entry["exchange"]["seconds"] - entry["exchange"]["for_slower_seconds"] for entry in epochs]
    return (
        statistics.median(seconds / steps for seconds in own),
        statistics.median(seconds / entry["seconds"] for seconds, entry in zip(own, epochs)),
        statistics.median(entry["exchange"]["for_slower_seconds"] / entry["seconds"] for entry in epochs),
        statistics.median(entry["exchange"]["bytes_sent"] / steps for entry in epochs),
    )


def measure(options, name, overrides):
    speeds, epochs, weights, summary = {case: [] for case in CASES}, {}, set(), None
    for _ in range(options.rounds):
        for case, (ranks, threads) in CASES.items():
            summary, entries = train(options, overrides, ranks, threads)
            speeds[case].append(summary["graphs_per_s"])
            weights.add(summary["weights"])
            epochs.setdefault(case, []).extend(entries)
    for case, (ranks, threads) in MORE_RANKS.items():
        summary, epochs[case] = train(options, overrides, ranks, threads)
        weights.add(summary["weights"])

    lines = [f"## {name[0].upper()}{name[1:]}", "", f"Hashes of the weights of all these runs: {', '.join(f'`{w}`' for w in sorted(weights))}.",
             "", "| case | graphs/s, best | median | beside 2 threads, best | median |", "|---|---|---|---|---|"]
    first = speeds["1 process, 2 threads"]
    for case, found in speeds.items():
        lines.append(f"| {case} | {max(found):,.0f} | {statistics.median(found):,.0f} | {max(found) / max(first):.3f} | "
                     f"{statistics.median(found) / statistics.median(first):.3f} |")
    steps = summary["steps"] / summary["epochs"]
    lines += ["", "| ranks | exchange, ms a step | of an epoch | waits for slower ranks, of an epoch | sent a step | beside 2 P (R - 1) / R | "
              "optimizer state of a rank | beside one process |", "|---|---|---|---|---|---|---|---|"]
    whole = plan(options, overrides, 1)["breakdown"]["optimizer"]
    for case, (ranks, _) in (CASES | MORE_RANKS).items():
        if ranks == 1:
            continue
        found = plan(options, overrides, ranks)
        seconds, share, slower, sent = exchange_of(epochs[case], steps)
        parameters = found["ranks"]["parameter_bytes"]
        state = found["breakdown"]["optimizer"]
        lines.append(f"| {ranks} | {1000 * seconds:.2f} | {100 * share:.1f} % | {100 * slower:.1f} % | {sent:,.0f} B | "
                     f"{sent / (2 * parameters * (ranks - 1) / ranks):.3f} | {state:,} B | {state / whole:.4f} |")
    return lines + [""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frames")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--only", help="models whose name begins so")
    parser.add_argument("--results")
    options = parser.parse_args()
    lines = []
    for name, overrides in MODELS.items():
        if name.startswith(options.only or ""):
            lines += measure(options, name, overrides)
    processor = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
                     platform.machine())
    text = "\n".join([f"`bench/ranks.py FRAMES --rounds {options.rounds} --epochs {options.epochs}`, {time.strftime('%Y-%m-%d')}, "
                      f"{os.cpu_count()} cores of {processor}, load {os.getloadavg()[0]:.1f} at the end.", "", *lines])
    print(text)
    if options.results:
        with open(options.results, "a") as file:
            file.write("\n" + text)


if __name__ == "__main__":
    main()
