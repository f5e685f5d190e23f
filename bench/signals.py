#!/usr/bin/env python3
"""One byte of one ID's payloads changed in benign drives of vehicles that did not train, by kind: what a calibrated detector finds.

    signals.py MODEL FRAMES... [--calibrate 200]

MODEL is a detector of recipes/transfer.yaml; FRAMES are folders of `plimsoll ingest can`. Of each recording without attacks the first
windows calibrate; in the rest, spans of 5 windows in every 25 have the changing byte of one ID replaced: IDs and times stay. Prints one
line a kind: AUC, recall and false alarms of the fused score, and without `steps`.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import report

WINDOW = 100
KINDS = ["random", "constant", "offset", "replayed"]


def rows(time_ns, can_id, length, data, label):
    head = "timestamp,arbitration_id,data_field,attack\n"
    return head + "".join(f"{t // 10**9}.{t % 10**9 // 1000:06d},{i & 0x1FFFFFFF:03X},{bytes(d[:n]).hex()},{a}\n" for t, i, n, d, a in
                          zip(time_ns.tolist(), can_id.tolist(), length.tolist(), data, label.tolist(), strict=True))


def auc(score, truth):
    order = np.argsort(np.argsort(score, kind="stable")) + 1.0
    for value in np.unique(score):
        order[score == value] = order[score == value].mean()
    return (order[truth].sum() - truth.sum() * (truth.sum() + 1) / 2) / (truth.sum() * (~truth).sum())


def changed(data, can_id, first, kind, random):
    """The payloads with bytes of one ID after the other changed, and the windows in which some are."""
    data = data.copy()
    windows = len(data) // WINDOW
    truth = np.zeros(windows, bool)
    moving = []
    for one in np.unique(can_id[:first * WINDOW]):
        payloads = data[:first * WINDOW][can_id[:first * WINDOW] == one]
        share = (np.diff(payloads.astype(int), axis=0) != 0).mean(0) if len(payloads) > 100 else np.zeros(8)
        moving += [(one, byte) for byte in np.flatnonzero(share > 0.1)]
    random.shuffle(moving)
    for span, start in enumerate(range(first + 10, windows - 5, 25)):
        one, byte = moving[span % len(moving)]
        at = start * WINDOW + np.flatnonzero(can_id[start * WINDOW:(start + 5) * WINDOW] == one)
        if len(at) == 0:
            continue
        old = data[at, byte].copy()
        known = data[:first * WINDOW][can_id[:first * WINDOW] == one][:, byte]
        data[at, byte] = {"random": random.integers(0, 256, len(at)), "constant": np.full(len(at), old[0]), "offset": old + np.uint8(64),
                          "replayed": np.resize(known, len(at))}[kind]
        truth[np.unique(at[data[at, byte] != old] // WINDOW)] = True
    return data, truth


def main():
    windows = int(sys.argv[sys.argv.index("--calibrate") + 1]) if "--calibrate" in sys.argv else 200
    model, *folders = [one for one in sys.argv[1:] if one not in ("--calibrate", str(windows))]
    found = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as scratch:
        car, capture = Path(scratch) / "car.safetensors", Path(scratch) / "capture.csv"
        for folder in map(Path, folders):
            columns = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("time_ns", "can_id", "length", "data", "label")}
            for recording in json.loads((folder / "manifest.json").read_text())["recordings"]:
                if recording["attack"] or recording["attack_frames"] or recording["copy_of"]:
                    continue
                part = slice(recording["first_frame"], recording["first_frame"] + recording["frames"] // WINDOW * WINDOW)
                time_ns, can_id, length, data, label = (np.array(column[part]) for column in columns.values())
                first = min(windows, len(data) // WINDOW // 3)
                capture.write_text(rows(*(column[:first * WINDOW] for column in (time_ns, can_id, length, data, label))))
                subprocess.run([report.PLIMSOLL, "calibrate", model, "--benign", capture, "--out", car, "--force"], check=True,
                               capture_output=True)
                for kind in KINDS:
                    attacked, truth = changed(data, can_id, first, kind, np.random.default_rng(35))
                    capture.write_text(rows(time_ns, can_id, length, attacked, label))
                    lines = subprocess.run([report.PLIMSOLL, "detect", car, capture, "--all", "--json"], check=True, capture_output=True,
                                           text=True).stdout.splitlines()
                    judged = [json.loads(line) for line in lines if '"parts"' in line][first:]
                    fused = np.array([one["score"] for one in judged])
                    others = np.array([max(value for part, value in one["parts"].items() if part != "steps" and value is not None)
                                       for one in judged])
                    truth = truth[first:]
                    found[kind].append((truth, fused, others))
                    print(recording["name"], kind, *(f"{auc(score, truth):.3f} {(score[truth] > 1).mean():.3f} "
                                                     f"{(score[~truth] > 1).sum()}/{(~truth).sum()};" for score in (fused, others)),
                          flush=True)
    for kind, all_of in found.items():
        line = [kind, f"{sum(truth.sum() for truth, *_ in all_of):,}"]
        for at in (1, 2):
            false = sum((one[at][~one[0]] > 1).sum() for one in all_of)
            hits = sum((one[at][one[0]] > 1).sum() for one in all_of) / sum(one[0].sum() for one in all_of)
            line.append(f"{np.median([auc(one[at], one[0]) for one in all_of]):.3f} / {hits:.3f} / {false}")
        print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main()
