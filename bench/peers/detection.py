"""Gradient-boosted trees (scikit-learn) on the columns that the GAT of recipes/transfer.yaml sees, as JSON.

    detection.py --trained GRAPHS --without NAMES [--leave-out ATTACK] --judged GRAPHS --split SPLIT [--recording NAME]
                 --calibration N

Of each window: mean, greatest and least of each node column, mean and greatest of each edge column. Trained on the windows
that train the GAT; the level is the higher of those of 0.1 % of benign validation windows and of a recording's own
calibration windows. Graph sets have calibrated profiles.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

VALIDATION = 0.2


def features(folder, without):
    manifest = json.loads((folder / "manifest.json").read_text())
    load = lambda name: np.load(folder / f"{name}.npy", mmap_mode="r")
    columns = []
    for pointer, values, names, reductions in (
            ("node_ptr", "x", manifest["features"]["node"], (np.add, np.maximum, np.minimum)),
            ("edge_ptr", "edge_attr", manifest["features"]["edge"], (np.add, np.maximum))):
        ptr, values = np.asarray(load(pointer)), load(values)
        kept = np.asarray(values[:, [k for k, name in enumerate(names) if name not in without]])
        counts = np.diff(ptr)
        rows = np.flatnonzero(counts)
        for reduce in reductions:
            reduced = np.zeros((len(counts), kept.shape[1]), np.float32)
            reduced[rows] = reduce.reduceat(kept, ptr[rows], axis=0)
            if reduce is np.add:
                reduced /= np.maximum(counts, 1)[:, None]
            columns.append(reduced)
    return manifest, np.concatenate(columns, axis=1), np.asarray(load("y"))


def calibration_windows(y, first, graphs, most):
    return first + np.flatnonzero(y[first:first + graphs] == 0)[:min(most, graphs // 3)]


def trained_trees(manifest, x, y, leave_out):
    """Trees, and the level of 0.1 % of benign validation windows: the last of each recording, as the GAT's."""
    training, validation, seen = [], [], set()
    for recording in manifest["recordings"]:
        if not recording["split"].startswith("train") or recording["content"] in seen or recording["attack"] == leave_out:
            continue
        seen.add(recording["content"])
        first, count = recording["first_graph"], recording["graphs"]
        cut = first + count - int(VALIDATION * count)
        training.extend(range(first, cut - 1))
        validation.extend(range(cut, first + count))
    trees = HistGradientBoostingClassifier(random_state=0).fit(x[training], y[training])
    benign = np.sort(trees.decision_function(x[[g for g in validation if y[g] == 0]]))
    return trees, benign[-1 - int(0.001 * len(benign))]


def judged(recording, options):
    if options.recording is not None and recording["name"] != options.recording:
        return False
    if options.leave_out is not None:
        return recording["attack"] == options.leave_out and recording["split"].startswith("train")
    return recording["split"] == options.split


def main():
    parser = argparse.ArgumentParser()
    for name in ("trained", "judged"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--without", type=lambda names: names.split(","), required=True)
    parser.add_argument("--calibration", type=int, required=True)
    for name in ("leave-out", "split", "recording"):
        parser.add_argument(f"--{name}")
    options = parser.parse_args()
    trees, trained_level = trained_trees(*features(options.trained, options.without), options.leave_out)
    manifest, x, y = features(options.judged, options.without)
    scores, truth = [], []
    for recording in manifest["recordings"]:
        if not judged(recording, options):
            continue
        first, count = recording["first_graph"], recording["graphs"]
        calibration = calibration_windows(y, first, count, options.calibration)
        rest = np.setdiff1d(np.arange(first, first + count), calibration)
        level = max(trained_level, trees.decision_function(x[calibration]).max(initial=-np.inf))
        scores.extend(trees.decision_function(x[rest]) - level)
        truth.extend(y[rest] == 1)
    scores, truth = np.asarray(scores), np.asarray(truth)
    verdicts = scores > 0
    hits, alarms = int((verdicts & truth).sum()), int((verdicts & ~truth).sum())
    print(json.dumps({"f1": 2 * hits / (hits + alarms + int(truth.sum())) if truth.any() else None,
                      "fpr": alarms / max(int((~truth).sum()), 1),
                      "auc": roc_auc_score(truth, scores) if 0 < truth.sum() < len(truth) else None}))


if __name__ == "__main__":
    main()
