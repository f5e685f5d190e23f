#!/usr/bin/env python3
"""From benign captures to alarms with names, on real traffic: two buses together, and a truck with a DBC.

    bench/buses.py DATA [--dbc J1939.dbc] [--results bench/results/buses.md]    # DATA: the folder with can/ and can-j1939-truck/

The buses are two cars of hcrl_sa, kia as can0 and sonata as can1, the first 60 s of each as the benign drive; then 32 s more of can0
beside traffic with an attack on can1. The truck's captures become BLF; canmatrix has a DBC of J1939. Windows with an attack are those that hold a frame of it.
"""

import argparse
import datetime
import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from report import PLIMSOLL, machine, write_section

FOREIGN = "018"  # an ID that kia has and sonata has not
START = 1513920000


def call(*words):
    done = subprocess.run([str(PLIMSOLL), *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def rows_of(capture, folder):
    """[(seconds from the first frame, ID#payload, 0 or 1)]"""
    call("convert", capture, "--out", folder / "rows.log", "--force")
    rows = [line.split() for line in (folder / "rows.log").read_text().splitlines()]
    first = float(rows[0][0][1:-1])
    return [(float(time[1:-1]) - first, frame, int(label[0]) if label else 0) for time, _, frame, *label in rows]


def part(rows, begin, end):
    return [(time - begin, frame, label) for time, frame, label in rows if begin <= time < end]


def write(path, *buses):
    """A capture of these buses; gives the labels of its frames."""
    rows = sorted((time, bus, frame, label) for bus, its in enumerate(buses) for time, frame, label in its)
    path.write_text("".join(f"({START + time:.6f}) can{bus} {frame}\n" for time, bus, frame, _ in rows))
    return [label for *_, label in rows]


def judged(model, capture, labels):
    """Cells of a table: windows with an attack, of them with an alarm, other windows, of them with an alarm, IDs in most alarms."""
    counts, names = Counter(), Counter()
    for line in map(json.loads, call("detect", model, capture, "--all", "--json").splitlines()[:-1]):
        attack = any(labels[line["first_frame"]:line["first_frame"] + line["frames"]])
        counts[attack, line["alarm"]] += 1
        if line["alarm"]:
            names.update(line["unknown_ids"])
    found, missed, false, quiet = (counts[key] for key in ((True, True), (True, False), (False, True), (False, False)))
    named = ", ".join(f"`{name}` {count}" for name, count in names.most_common(2))
    return f"{found + missed} | {found} | {false + quiet} | {false} | {named}"


def two_buses(data, folder):
    cars = data / "can" / "hcrl_sa"
    kia, sonata = (rows_of(cars / "train_01_attack_free" / f"attack-free-{car}.csv.zst", folder) for car in ("kia", "sonata"))
    fuzzing = rows_of(cars / "train_02_with_attacks" / "fuzzing-sonata.csv.zst", folder)
    dos = rows_of(cars / "test_01_known_vehicle_known_attack" / "DoS-sonata.csv.zst", folder)
    write(folder / "benign.log", part(kia, 0, 60), part(sonata, 0, 60))
    foreign = part(sonata, 0, 32) + [(10 + 0.002 * n, f"{FOREIGN}#0000000000000000", 1) for n in range(500)]
    call("detector", folder / "benign.log", "--merge-channels", "--out", folder / "car.safetensors")
    for name, watched in (("DoS", part(dos, 0, 32)), ("fuzzing", part(fuzzing, 0, 32)), (f"{FOREIGN} of can0 on can1", foreign)):
        labels = write(folder / "watched.log", part(kia, 60, 92), watched)
        yield f"two buses, {name}", judged(folder / "car.safetensors", folder / "watched.log", labels)


def truck(data, folder):
    captures = data / "can-j1939-truck"
    for name in ("normal", "dos_full"):
        call("convert", captures / f"{name}.log.zst", "--out", folder / f"{name}.blf")
    flood = [int(frame.split("#")[0] == "00000000") for _, frame, _ in rows_of(captures / "dos_full.log.zst", folder)]
    call("detector", folder / "normal.blf", "--out", folder / "truck.safetensors")
    yield "truck, flood", judged(folder / "truck.safetensors", folder / "dos_full.blf", flood)


def incidents(folder, dbc):
    lines = call("detect", folder / "truck.safetensors", folder / "dos_full.blf", "--dbc", dbc, "--events", "json").splitlines()[:-1]
    closed = [event for event in map(json.loads, lines) if event["state"] == "closed"]
    return max(closed, key=lambda event: event["windows"])["ids"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--dbc", type=Path)
    parser.add_argument("--results", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rows = [*two_buses(options.data, folder), *truck(options.data, folder)]
        text = f"{datetime.date.today()}: `bench/buses.py DATA --dbc J1939.dbc`. {machine()}\n\n| capture | windows with an attack | alarms there | other windows | alarms there | unknown IDs in most alarms |\n|---|---|---|---|---|---|\n"
        text += "".join(f"| {name} | {figures} |\n" for name, figures in rows)
        if options.dbc:
            text += f"\nWith `{options.dbc.name}` the longest incident of the truck names first `{json.dumps(incidents(folder, options.dbc))}`.\n"
    if options.results:
        write_section("Alarms with names", text, options.results)
    else:
        print(text)


if __name__ == "__main__":
    main()
