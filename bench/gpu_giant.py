#!/usr/bin/env python3
"""GraphSAGE on a giant graph whose features lie partly on a GPU, as markdown: run by `scripts/check gpu`.

    gpu_giant.py PROGRAMS        the folder with plimsoll

A simulated graph is trained by `plimsoll train` with room on the GPU for all, half and a fifth of its rows of features, and on the
smallest budget, each in a fresh process; the weights must be the same.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NODES, FEATURES, ROUNDS = 400_000, 256, 2
MIB = 2**20


def output(*command):
    return json.loads(subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True).stdout)


def call(plimsoll, verb, work, budget, *more):
    return output(plimsoll, verb, ROOT / "recipes" / "node_classification.yaml", "--data", work / "graph", "--budget", "16GiB",
                  "--device", "cuda", "--device-budget", budget, "--json", "-O", "training.max_epochs=2",
                  "-O", "training.block.seeds=1024", *more)


def train(plimsoll, work, name, budget):
    run = work / name
    summary = call(plimsoll, "train", work, budget, "--run", run)
    with open(next(run.glob("seed-*/gnn/metrics.csv"))) as file:
        summary["epoch_s"] = [float(row["seconds"]) for row in csv.DictReader(file)]
    return summary


def main():
    plimsoll = Path(sys.argv[1]) / "plimsoll"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        output(plimsoll, "simulate", "graph", "--nodes", NODES, "--degree", 20, "--features", FEATURES, "--features-dtype", "f32",
               "--classes", 8, "--out", work / "graph", "--json")
        data = 4 * NODES * FEATURES
        plan = call(plimsoll, "plan", work, "16GiB", "--mode", "measured")["device"]
        budgets = {share: str(plan["peak_bytes"] - int((1 - share) * data) + 4 * MIB) for share in (1, 0.5, 0.2)}
        budgets[0] = str(plan["min_budget_bytes"] + 2 * MIB)
        runs = {share: [train(plimsoll, work, f"{share}-{turn}", budget) for turn in range(1, ROUNDS + 1)]
                for share, budget in budgets.items()}
    print(f"## A giant graph with rows of features on the GPU\n\n`bench/gpu_giant.py`: {NODES:,} nodes of {FEATURES} features "
          f"({data / MIB:,.0f} MiB), GraphSAGE with 15, 10 and 5 neighbours, blocks of 1,024 seeds; the second epoch with its "
          f"validation, the better of {ROUNDS} runs.\n")
    print("| rows on the GPU | device budget MiB | planned MiB | used MiB | s an epoch | of the speed with all | weights |\n"
          "|---|---|---|---|---|---|---|")
    seconds = {share: min(run["epoch_s"][-1] for run in of) for share, of in runs.items()}
    for share, of in runs.items():
        device = of[0]["device"]
        print(f"| {device['feature_rows'] / NODES:.0%} | {device['budget_bytes'] / MIB:,.0f} | {device['planned_peak_bytes'] / MIB:,.0f} | "
              f"{device['measured_peak_bytes'] / MIB:,.0f} | {seconds[share]:.2f} | {seconds[1] / seconds[share]:.0%} | "
              f"{of[0]['weights'][:12]} |")
    if len({run["weights"] for of in runs.values() for run in of}) != 1:
        raise SystemExit("weights differ with the budget")


if __name__ == "__main__":
    main()
