#!/usr/bin/env python3
"""False alarms against what `plimsoll calibrate` promises, as a section of bench/results/detection.md.

    rate_bound.py CAPTURES FOLDER

Benign drives, calibrated on their first third and judged after it, or calibrated on another drive. FOLDER holds the runs
`run kia+sonata SEED` of bench/detection.py.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import report
from detection import SETS, table

SEEDS = range(42, 47)
DRIVES = [  # below CAPTURES, options of SETS
    ("can/hcrl_sa/train_01_attack_free/attack-free-kia.csv.zst", "hcrl_sa"),
    ("can/hcrl_sa/train_01_attack_free/attack-free-sonata.csv.zst", "hcrl_sa"),
    ("can/set_01/train_01_attack_free/accessory-1.csv.zst", "set_01"),
    ("can/set_01/train_01_attack_free/accessory-2.csv.zst", "set_01"),
    ("can/set_03/train_01_attack_free/accessory-3.csv.zst", "set_03"),
    ("can/set_03/train_01_attack_free/accessory-4.csv.zst", "set_03"),
    ("can/set_04/train_01_attack_free/attack-free-4.csv.zst", "set_04"),
    ("can-j1939-truck/normal.log.zst", "j1939"),
    ("can-maritime/frames_0_599999.tsv.zst", "maritime"),
]


def run(*arguments):
    result = subprocess.run([str(report.PLIMSOLL), *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(f"plimsoll {' '.join(map(str, arguments))}: {result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def judged(models, benign, other, options, folder):
    """Of each seed: windows calibrated, alarms in them and the bound; windows and alarms of the other traffic."""
    found = []
    for model in models:
        made = run("calibrate", model, "--benign", benign, "--out", folder / "car.safetensors", "--force", "--json", *options)
        seen = run("detect", folder / "car.safetensors", other, "--json", *options)["summary"]
        found.append((made["windows"], round(made["realised_rate"] * made["windows"]), made["rate_bound"], seen["windows"],
                      seen["alarms"]))
    return found


def row(calibrated, on, found):
    windows, _, _, judged_windows, _ = found[0]
    middle = statistics.median(one[1] for one in found)
    bound = statistics.median(one[2] for one in found)
    alarms = sorted(one[4] for one in found)
    return [calibrated, on, f"{windows:,}", f"{middle:.0f} ({max(one[1] for one in found)})", f"{100 * bound:.2f} %",
            f"{judged_windows:,}", f"{alarms[len(alarms) // 2]:,} ({alarms[-1]:,})",
            f"{100 * alarms[len(alarms) // 2] / judged_windows:.2f} ({100 * alarms[-1] / judged_windows:.2f}) %"]


def main():
    captures, work = Path(sys.argv[1]), Path(sys.argv[2])
    models = [work / f"run kia+sonata {seed}" / "detector.safetensors" for seed in SEEDS]
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, of in DRIVES:
            drive = captures / path
            if not drive.exists():
                continue
            lines = report.timed(["zstd", "-dc", drive] if drive.suffix == ".zst" else ["cat", drive])[2].splitlines(True)
            third = len(lines) // 3
            kind = drive.name.removesuffix(".zst").rpartition(".")[2]
            first, rest = folder / f"first.{kind}", folder / f"rest.{kind}"
            first.write_text("".join(lines[:third]))
            header = [] if lines[0][0] in "(0123456789" else lines[:1]
            rest.write_text("".join(header + lines[third:]))
            rows.append(row(drive.name, "its last two thirds", judged(models, first, rest, SETS[of][1], folder)))
            print(rows[-1], flush=True)
        for of, one, other in (("set_01", "accessory-1", "accessory-2"), ("set_03", "accessory-3", "accessory-4")):
            drives = captures / "can" / of / "train_01_attack_free"
            for a, b in ((one, other), (other, one)):
                if drives.exists():
                    found = judged(models, drives / f"{a}.csv.zst", drives / f"{b}.csv.zst", [], folder)
                    rows.append(row(a, f"the drive {b}", found))
                    print(rows[-1], flush=True)
    protocol = ("```\nbench/rate_bound.py CAPTURES FOLDER\n```\n\nThe detectors of kia and sonata, five seeds. Alarms in the windows that were calibrated on, each half "
                "compared with a profile of the other; the highest rate of false alarms that goes with them; and alarms in benign traffic after that, or "
                "of another drive.\n\n")
    text = protocol + table(["calibrated on", "judged on", "windows", "alarms in them: median (worst seed)", "bound", "windows judged",
                         "alarms: median (worst seed)", "rate"], rows)
    report.write_section("What calibrate promises", text, report.ROOT / "bench" / "results" / "detection.md")


if __name__ == "__main__":
    main()
