#!/usr/bin/env python3
"""KD-GAT's training on a GPU, as markdown: run by `scripts/check gpu`.

    gpu.py PROGRAMS        the folder with plimsoll and plimsoll-train

Steps of a large GAT and a large autoencoder beside PyTorch Geometric's in the same run, each a fresh process; one
training under several budgets of the GPU, whose weights must be the same; and one in each precision.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PEER = ROOT / "bench" / "peers" / "recipe.py"
BATCH, FRAMES = 4096, 5_000_000
RECIPES = {
    "gat": "task: detection\ngat: {preset: large, learning_rate: 0.003}\n",
    "vgae": "task: autoencoder\nvgae: {preset: large, learning_rate: 0.003}\n",
}
COMMON = (f"seed: 42\ndata: {{features: compat}}\ntraining: {{max_epochs: 6, batch_size: {BATCH}, patience: 10, "
          "block: {graphs: 512, nodes: 65536, edges: 262144}}\n")
MIB = 2**20


def output(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


def train(plimsoll, work, model, name, threads, budget, precision="32"):
    recipe = work / f"{model}.yaml"
    recipe.write_text(COMMON + RECIPES[model])
    trained = json.loads(output(plimsoll, "train", recipe, "--data", work / "frames", "--run", work / name, "--force",
                                "--budget", "16GiB", "--threads", threads, "--device", "cuda", "--device-budget", budget,
                                "-O", f"training.precision={precision}", "--json"))
    events = map(json.loads, next((work / name).rglob("events.jsonl")).read_text().splitlines())
    busy = [event["device"]["busy"] for event in events if "device" in event and event["event"] == "progress"]
    trained["busy"] = statistics.median(found) if (found := [share for share in busy if share is not None]) else None
    return trained


def mib(count):
    return f"{count / MIB:,.0f}"


def peer_of(work, model):
    """PyTorch Geometric's step; None where it is not there."""
    try:
        return json.loads(output(sys.executable, PEER, work / "graphs", f"{model}-large", "--batch", BATCH, "--threads",
                                 min(8, os.cpu_count()), "--device", "cuda"))
    except subprocess.CalledProcessError as error:
        print(f"no PyTorch Geometric beside {model}: exit code {error.returncode}", file=sys.stderr)
        return None


def main():
    plimsoll = Path(sys.argv[1]) / "plimsoll"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        output(plimsoll, "simulate", "can", "--out", work / "frames", "--frames", FRAMES, "--seed", 1)
        output(plimsoll, "windows", work / "frames", "--features", "compat", "--out", work / "graphs")

        print(f"## KD-GAT's steps at batch {BATCH:,}\n\n`bench/gpu.py`: epochs with validation of {FRAMES // 100:,} simulated "
              "windows in blocks of 512, four in flight; PyTorch Geometric as its users run it, batches from a DataLoader.\n")
        print("| model | ours graphs/s | PyG graphs/s | ours / PyG | PyG's share of making batches | ours MiB, all | of them a "
              "range, planned / used | PyG MiB, tensors alone | busy, by NVML |\n|---|---|---|---|---|---|---|---|---|")
        runs = []
        for model in RECIPES:
            peer = peer_of(work, model)
            ours = train(plimsoll, work, model, model, 4, "16GiB")
            device = ours["device"]
            runs.append((model, 4, "16GiB", ours))
            beside = ["", "", "", ""] if peer is None else [
                f"{peer['graphs_per_s']:,.0f}", f"{ours['graphs_per_s'] / peer['graphs_per_s']:.1f}",
                f"{peer['collate_share']:.0%}", mib(peer["device_peak"])]
            print(f"| {model} large | {ours['graphs_per_s']:,.0f} | {' | '.join(beside[:3])} | "
                  f"{mib(device['measured_peak_bytes'])} | {mib(device['range_bytes'])} / {mib(device['highest_range_bytes'])} | "
                  f"{beside[3]} | {'' if ours['busy'] is None else format(ours['busy'], '.0%')} |", flush=True)

        print("\n## One training, several budgets\n")
        print("| model | device budget | threads | blocks in flight | run again | planned MiB | used MiB | process by NVML MiB | "
              "graphs/s | weights |\n|---|---|---|---|---|---|---|---|---|---|")
        for model in RECIPES:
            least = next(run for run in runs if run[0] == model)[3]["device"]["min_budget_bytes"]
            for threads, budget in ((4, str(least + 2 * MIB)), (1, "2GiB"), (8, "24GiB")):
                runs.append((model, threads, budget, train(plimsoll, work, model, f"{model}-{budget}", threads, budget)))
        for model, threads, budget, run in sorted(runs, key=lambda run: run[0]):
            device = run["device"]
            held = device["process_bytes"]
            print(f"| {model} large | {mib(device['budget_bytes'])} MiB | {threads} | {device['blocks_in_flight']} | "
                  f"{'layers' if device['recompute'] else ''} | {mib(device['planned_peak_bytes'])} | "
                  f"{mib(device['measured_peak_bytes'])} | {mib(held) if held else ''} | {run['graphs_per_s']:,.0f} | "
                  f"{run['weights'][:12]} |")
        for model in RECIPES:
            if len({run["weights"] for of, _, _, run in runs if of == model}) != 1:
                raise SystemExit(f"{model}: weights differ with the budget")
        print("\n## One training, in each precision\n\n| model | precision | graphs/s | range used MiB |\n|---|---|---|---|")
        for model in RECIPES:
            for precision in ("32", "bf16-mixed", "16-mixed"):
                run = train(plimsoll, work, model, f"{model}-{precision}", 4, "16GiB", precision)
                print(f"| {model} large | {precision} | {run['graphs_per_s']:,.0f} | {mib(run['device']['highest_range_bytes'])} |", flush=True)
        reasons = {run["device"]["why_inexact"] for _, _, _, run in runs} - {""}
        if reasons:
            print("\nRanges are those of the largest block as it ran, and 1.6 % more: " + "; ".join(sorted(reasons)) + ".")


if __name__ == "__main__":
    main()
