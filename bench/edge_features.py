#!/usr/bin/env python3
"""What the 11 edge features are worth: the published student (recipes/gat.yaml) with and without them, on every test split of
the captures in FOLDER, as a section of bench/results/detection.md.

    bench/edge_features.py CAPTURES FOLDER [--sets hcrl_sa,set_01,set_03] [--seeds 5]

Runs in FOLDER that are there already are used again, so that it can be stopped and gone on with; what is there is reported.
"""

import argparse
import json
import statistics
import subprocess
from pathlib import Path

import report

VARIANTS = {"with": "true", "without": "false"}


def plimsoll(*arguments):
    return subprocess.run([str(a) for a in (report.PLIMSOLL, *arguments)], capture_output=True, text=True, check=True).stdout


def figures_of(run, frames):
    """By split: F1 at the threshold of 1 %, and AUC, of the GAT."""
    if not (run / "evaluation.json").exists():
        plimsoll("evaluate", run, "--data", frames)
    found = {}
    for split in json.loads((run / "evaluation.json").read_text())["splits"]:
        for row in split["models"]:
            if row["name"] == "gat" and row.get("target_fpr") == 0.01:
                found[split["name"]] = row.get("f1"), row.get("auc")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("captures", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--sets", default="hcrl_sa,set_01,set_03")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    for seed in range(42, 42 + options.seeds):  # all sets have a seed before any has the next
        for name in options.sets.split(","):
            frames = options.work / name
            if not frames.exists():
                plimsoll("ingest", "can", options.captures / "can" / name, "--out", frames)
            for variant, value in VARIANTS.items():
                run = options.work / f"{name}-{variant}-{seed}"
                if not (run / "detector.safetensors").exists():
                    plimsoll("train", "recipes/gat.yaml", "--data", frames, "--run", run, "--resume", "-O", f"seed={seed}", "-O",
                             f"gat.edge_features={value}")
                figures_of(run, frames)
        report_on(options)


def report_on(options):
    rows = ["| set | split | seeds | F1 with | F1 without | AUC with | AUC without |", "| --- | --- | --- | --- | --- | --- | --- |"]
    for name in options.sets.split(","):
        by_variant = {}
        for variant in VARIANTS:
            runs = sorted(options.work.glob(f"{name}-{variant}-*/evaluation.json"))
            by_variant[variant] = [figures_of(path.parent, None) for path in runs]
        seeds = min(map(len, by_variant.values()))
        if not seeds:
            continue
        for split in by_variant["with"][0]:
            cells = [name, split, str(seeds)]
            for figure in (0, 1):
                for variant in VARIANTS:
                    values = [figures[split][figure] for figures in by_variant[variant][:seeds] if figures[split][figure] is not None]
                    cells.append(f"{statistics.median(values):.3f} ({min(values):.3f})" if values else "-")
            rows.append(f"| {' | '.join(cells)} |")
    text = ("`bench/edge_features.py`: recipes/gat.yaml, `gat.edge_features` true and false; threshold at 1 % of benign validation "
            "windows; the median over seeds (the worst).\n\n")
    report.write_section("What edge features are worth", text + "\n".join(rows), report.RESULTS.parent / "detection.md")


if __name__ == "__main__":
    main()
