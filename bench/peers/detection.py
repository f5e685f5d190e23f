"""Gradient-boosted trees (scikit-learn) on the columns that the GAT of recipes/transfer.yaml sees, as JSON.

    detection.py RECIPE_WITHOUT TRAINED GRAPHS SPLIT CALIBRATION [RECORDING]

Of each window: mean, greatest and least of each node column, mean and greatest of each edge column. Trained on the windows
that train the GAT; the level is the higher of those of 0.1 % of benign validation windows and of a recording's own
calibration windows. TRAINED and GRAPHS are graph sets with calibrated profiles.
"""

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


def main():
    without, trained, graphs, split, most = sys.argv[1].split(","), Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4], int(sys.argv[5])
    manifest, x, y = features(trained, without)
    training, validation, seen = [], [], set()
    for recording in manifest["recordings"]:
        content = recording.get("content")
        if not recording["split"].startswith("train") or recording.get("copy_of") or content in seen:
            continue
        seen.add(content)
        first, count = recording["first_graph"], recording["graphs"]
        cut = first + count - int(VALIDATION * count)
        training.extend(range(first, cut - 1))
        validation.extend(range(cut, first + count))
    trees = HistGradientBoostingClassifier(random_state=0).fit(x[training], y[training])
    score = lambda rows: trees.decision_function(rows)
    benign = np.sort(score(x[[g for g in validation if y[g] == 0]]))
    trained_level = benign[-1 - int(0.001 * len(benign))]
    manifest, x, y = features(graphs, without)
    scores, verdicts, truth = [], [], []
    for recording in manifest["recordings"]:
        if recording["split"] != split or (len(sys.argv) > 6 and recording["name"] != sys.argv[6]):
            continue
        first, count = recording["first_graph"], recording["graphs"]
        calibration = calibration_windows(y, first, count, most)
        judged = np.setdiff1d(np.arange(first, first + count), calibration)
        level = max(trained_level, score(x[calibration]).max()) if len(calibration) else trained_level
        found = score(x[judged])
        scores.extend(found - level)
        verdicts.extend(found > level)
        truth.extend(y[judged] == 1)
    scores, verdicts, truth = map(np.asarray, (scores, verdicts, truth))
    hits, alarms = (verdicts & truth).sum(), (verdicts & ~truth).sum()
    print(json.dumps({"f1": 2 * hits / (hits + alarms + truth.sum()) if truth.any() else None,
                      "fpr": float(alarms / max((~truth).sum(), 1)),
                      "auc": roc_auc_score(truth, scores) if 0 < truth.sum() < len(truth) else None}))


if __name__ == "__main__":
    main()
