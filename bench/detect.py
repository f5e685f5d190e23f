#!/usr/bin/env python3
"""Latency and speed of `plimsoll detect` as a markdown table: run by bench/detect.sh.

    detect.py CAPTURES FOLDER [--quick]

Every test recording, whole, on one core, in turn with the peer; best and median of the rounds.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path

import report

RECIPE = """task: detection
data: {{features: {features}}}
training: {{max_epochs: 1}}
gat: {{preset: {preset}, edge_features: {edges}}}
"""
DETECTORS = {  # name: features, preset, edge features, stride
    "small, behaviour": ("behaviour", "small", "true", 100),
    "small, behaviour, a window every 10 frames": ("behaviour", "small", "true", 10),
    "small, compat": ("compat", "small", "false", 100),
    "large, behaviour": ("behaviour", "large", "true", 100),
}


def run(*arguments):
    subprocess.run([str(argument) for argument in (report.PLIMSOLL, *arguments)], check=True, stdout=subprocess.DEVNULL)


def prepare(captures, work):
    """A run of each detector, and the graphs of all windows for the peer."""
    run("ingest", "can", captures, "--out", work / "frames")
    for name, (features, preset, edges, _) in DETECTORS.items():
        if (work / f"{preset}-{features}").exists():
            continue
        recipe = work / "recipe.yaml"
        recipe.write_text(RECIPE.format(features=features, preset=preset, edges=edges))
        run("train", recipe, "--data", work / "frames", "--run", work / f"{preset}-{features}")
    for features in ("behaviour", "compat"):
        run("windows", work / "frames", "--features", features, "--out", work / features)


def detect(model, recording, stride):
    command = ["taskset", "-c", "0", report.PLIMSOLL, "detect", model, recording, "--stride", stride, "--json"]
    wall, cpu, output = report.timed(command)
    summary = json.loads(output.splitlines()[-1])["summary"]
    return dict(summary, wall=wall, cpu=cpu)


def peer(model, graphs, recording):
    command = ["taskset", "-c", "0", report.PYTHON, Path(__file__).parent / "peers" / "detect.py", model, graphs, recording]
    return json.loads(report.timed(command)[2])


def us(values):
    return f"{min(values) / 1e3:,.0f} / {statistics.median(values) / 1e3:,.0f}"


def main():
    captures, work = Path(sys.argv[1]), Path(sys.argv[2])
    quick = "--quick" in sys.argv
    prepare(captures, work)
    recordings = sorted(path for path in captures.glob("test*/*.csv*"))[:2 if quick else None]
    print(f"{report.machine()}\n")
    print("Ours is from the read of a window's last frame to its verdict: parsing, features, network, and waiting for other windows "
          "of the read. PyTorch Geometric has the network alone, its graph ready in memory, after 20 windows of warming up.\n")
    print("| detector | recording | windows | p50 us, best / median | p99 us | p99.9 us | most us | windows/s of a core | MiB resident "
          "| first verdict ms | PyG: p50 us | p99.9 us | PyG / ours p50 |")
    print("|" + "---|" * 13)
    for name, (features, preset, _, stride) in DETECTORS.items():
        model = work / f"{preset}-{features}" / "detector.safetensors"
        for recording in recordings:
            ours, theirs = [], []
            for _ in range(1 if quick else 3):
                ours.append(detect(model, recording, stride))
                if stride == 100:
                    theirs.append(peer(model, work / features, f"{recording.parent.name}/{recording.name.split('.')[0]}"))
            latency = {key: [one["latency_ns"][key] for one in ours] for key in ("p50", "p99", "p99_9", "max")}
            memory = max(one["memory"]["anonymous_peak_bytes"] + one["memory"]["held"]["file_backed_bytes"] for one in ours)
            cells = [name, recording.name.split(".")[0], f"{ours[0]['windows']:,}",
                     *(us(latency[key]) for key in ("p50", "p99", "p99_9", "max")),
                     f"{max(one['windows_per_s'] for one in ours):,.0f}", f"{memory / 2**20:.1f}",
                     f"{1e3 * max(one['first_verdict_s'] for one in ours):.1f}"]
            if theirs:
                p50 = min(one["p50"] for one in theirs)
                cells += [f"{p50 / 1e3:,.0f}", f"{min(one['p99_9'] for one in theirs) / 1e3:,.0f}",
                          f"{p50 / min(latency['p50']):.0f}"]
            else:
                cells += ["", "", ""]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
