#!/usr/bin/env python3
"""One signal after the other falsified in benign drives of vehicles that did not train: what a calibrated detector sees of each, and beside it
what plain bounds of the same signals see (signal_baseline.py).

    signals.py MODEL FRAMES... [--calibrate 200] [--judge 400] [--signals 24] [--json FILE]

MODEL is a detector of recipes/transfer.yaml; FRAMES are folders of `plimsoll ingest can`. Of each recording without attacks the first windows
calibrate, at most a third, and the next ones are judged. In the middle of these, a signal that `calibrate` found has other values, in all frames
of its ID: IDs, times and all other bits stay, checksums too. Signals are drawn evenly over all. Prints one line a drive and kind: the median AUC over the
signals, the share of them with .9, recall, and what is called an attack elsewhere; of the detector, then of the plain baseline, which knows all signals
that the detector does. FILE gets a row a signal.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import report
from safetensors import safe_open
from signal_baseline import Baseline, per_window

WINDOW = 100
KINDS = ["constant", "random", "delta 1/8", "delta 1/2", "drift 1/8", "drift 1/2", "replayed"]


def rows(time_ns, can_id, length, data, label):
    head = "timestamp,arbitration_id,data_field,attack\n"
    return head + "".join(f"{t // 10**9}.{t % 10**9 // 1000:06d},{i & 0x1FFFFFFF:0{8 if i >> 31 else 3}X},{bytes(d[:n]).hex()},{int(a == 1)}\n" for t, i, n, d, a in
                          zip(time_ns.tolist(), can_id.tolist(), length.tolist(), data, label.tolist(), strict=True))


def auc(score, truth):
    order = np.argsort(np.argsort(score, kind="stable")) + 1.0
    for value in np.unique(score):
        order[score == value] = order[score == value].mean()
    return (order[truth].sum() - truth.sum() * (truth.sum() + 1) / 2) / (truth.sum() * (~truth).sum())


class Signal:
    """A field of one ID's payloads: `first` and `bits` as in profile.signal_place."""

    def __init__(self, can_id, first, bits):
        self.can_id, self.first, self.bits = can_id, int(first), int(bits)

    def of(self, data):
        return np.unpackbits(data, axis=1)[:, self.first:self.first + self.bits] @ (1 << np.arange(self.bits)[::-1])

    def put(self, data, values):
        bits = np.unpackbits(data, axis=1)
        bits[:, self.first:self.first + self.bits] = values[:, None] >> np.arange(self.bits)[::-1] & 1
        return np.packbits(bits, axis=1)


def falsified(values, kind, known, random):
    """Other values, of the same number; `known` are those of the calibration."""
    least, most = known.min(), known.max()
    size = most - least
    if kind == "constant":
        return np.full(len(values), values[0])
    if kind == "random":
        return random.integers(least, most + 1, len(values))
    if kind == "replayed":
        return np.resize(known, len(values))
    share = 1 / 8 if kind.endswith("1/8") else 1 / 2
    ramp = 1 if kind.startswith("delta") else np.linspace(0, 1, len(values))
    # Within the range: upwards from its lower half, downwards from its upper one.
    way = np.where(values[0] - least <= size / 2, 1, -1)
    return np.clip(values + np.round(way * share * size * ramp).astype(int), least, most)


def judged(model, capture, first):
    lines = subprocess.run([report.PLIMSOLL, "detect", model, capture, "--all", "--json"], check=True, capture_output=True, text=True).stdout.splitlines()
    found = [json.loads(line) for line in lines if '"parts"' in line][first:]
    return np.array([one["score"] for one in found]), [max(one["parts"], key=lambda part: one["parts"][part] or 0) for one in found]


def figures(score, level, part, truth):
    alarms = [p for p, s, t in zip(part, score, truth, strict=True) if t and s > level]
    return {"auc": round(float(auc(score, truth)), 4), "recall": round(float((score[truth] > level).mean()), 4),
            "false": int((score[~truth] > level).sum()), "part": max(set(alarms), key=alarms.count) if alarms else ""}


def drive(args, name, columns, scratch):
    """Rows of all signals and kinds of one recording."""
    time_ns, can_id, length, data, label = columns
    first = min(args.calibrate, len(data) // WINDOW // 3)
    end = min(first + args.judge, len(data) // WINDOW)
    time_ns, can_id, length, data, label = (column[:end * WINDOW] for column in columns)
    car, capture = scratch / "car.safetensors", scratch / "capture.csv"
    capture.write_text(rows(*(column[:first * WINDOW] for column in (time_ns, can_id, length, data, label))))
    subprocess.run([report.PLIMSOLL, "calibrate", args.model, "--benign", capture, "--out", car, "--force"], check=True, capture_output=True)
    with safe_open(car, "np") as file:
        if "profile.signal_place" not in file.keys():
            return []
        ids, place = file.get_tensor("profile.ids").astype(np.uint32), file.get_tensor("profile.signal_place")
        checked = set(ids[file.get_tensor("profile.checksum_place")[:, 0]]) if "profile.checksum_place" in file.keys() else set()
    known_signals = [Signal(ids[row], *at) for row, *at in place]
    benign = per_window(known_signals, can_id, data, WINDOW)
    baseline = Baseline(benign[..., :first])
    signals = [signal for signal in known_signals if signal.bits >= 4]
    signals = [signals[k] for k in np.unique(np.linspace(0, len(signals) - 1, args.signals).astype(int))]
    start, stop = (first + (end - first) // 3) * WINDOW, (first + 2 * (end - first) // 3) * WINDOW
    random = np.random.default_rng(35)
    found = []
    for signal in signals:
        its = can_id == signal.can_id
        known = signal.of(data[its & (np.arange(len(data)) < first * WINDOW)])
        at = start + np.flatnonzero(its[start:stop])
        if len(at) < 20:
            continue
        for kind in KINDS:
            other = falsified(signal.of(data[at]), kind, known, random)
            attacked = data.copy()
            attacked[at] = signal.put(data[at], other)
            truth = np.zeros(end, bool)
            truth[at[(attacked[at] != data[at]).any(axis=1)] // WINDOW] = True
            truth = truth[first:]
            if not truth.any():
                continue
            capture.write_text(rows(time_ns, can_id, length, attacked, label))
            score, part = judged(car, capture, first)
            table = benign.copy()
            same = [row for row, one in enumerate(known_signals) if one.can_id == signal.can_id]
            table[:, same] = per_window([known_signals[row] for row in same], can_id, attacked, WINDOW)
            plain_score, plain_part = baseline.judged(table[..., first:])
            found.append({"drive": name, "id": f"{signal.can_id & 0x1FFFFFFF:03X}", "first": signal.first, "bits": signal.bits, "kind": kind,
                          "checksum": bool(signal.can_id in checked), "windows": int(truth.sum()), "others": int((~truth).sum()),
                          **figures(score, 1, part, truth), "baseline": figures(plain_score, baseline.level, plain_part, truth)})
    return found


def columns_of(judge, found):
    """Of all signals: the detector's figures, or the baseline's."""
    areas = np.array([one["auc"] for one in judge])
    seen = sum(areas >= 0.9)
    recall = sum(of["recall"] * one["windows"] for of, one in zip(judge, found, strict=True)) / sum(one["windows"] for one in found)
    false = sum(of["false"] for of in judge) / sum(one["others"] for one in found)
    return f"{np.median(areas):.3f} | {seen} ({seen / len(judge):.0%}) | {recall:.3f} | {false:.4f}"


def line(name, kind, found):
    return f"| {name} | {kind} | {len(found)} | {columns_of(found, found)} | {columns_of([one['baseline'] for one in found], found)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("frames", nargs="+", type=Path)
    parser.add_argument("--calibrate", type=int, default=200)
    parser.add_argument("--judge", type=int, default=400)
    parser.add_argument("--signals", type=int, default=24)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    everything = []
    print("| drive | kind | signals | median AUC | AUC of .9 | recall | false alarms elsewhere | baseline: median AUC | AUC of .9 | recall "
          "| false alarms elsewhere |\n" + "|---" * 11 + "|")
    with tempfile.TemporaryDirectory() as scratch:
        for folder in args.frames:
            columns = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("time_ns", "can_id", "length", "data", "label")}
            for recording in json.loads((folder / "manifest.json").read_text())["recordings"]:
                if recording["attack"] or recording["attack_frames"] or recording["copy_of"]:
                    continue
                part = slice(recording["first_frame"], recording["first_frame"] + recording["frames"])
                found = drive(args, recording["name"], [np.array(column[part]) for column in columns.values()], Path(scratch))
                everything += found
                for kind in KINDS:
                    if some := [one for one in found if one["kind"] == kind]:
                        print(line(recording["name"], kind, some), flush=True)
                if args.json:
                    args.json.write_text(json.dumps(everything, indent=0))
    for checked in (False, True):
        for kind in KINDS:
            if some := [one for one in everything if one["kind"] == kind and one["checksum"] == checked]:
                print(line("all, with a checksum" if checked else "all, without a checksum", kind, some))


if __name__ == "__main__":
    main()
