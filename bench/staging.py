#!/usr/bin/env python3
"""How fast `plimsoll stage` copies and `plimsoll merge` joins, beside cp: the same bytes, in turn, best and median.

    bench/staging.py DATA [--shards DIR...] [--scratch DIR] [--times 5]

`cp` leaves the bytes in the page cache, as stage does on a disk of this machine; `cp, sync` has them on the disk at the end, as merge does.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLIMSOLL = Path(os.environ.get("PLIMSOLL_BIN", Path(__file__).resolve().parents[1] / "build" / "release" / "bin")) / "plimsoll"


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, shell=isinstance(command, str), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def size(folders):
    return sum(file.stat().st_size for folder in folders for file in Path(folder).iterdir())


def table(ways, bytes_of, scratch, times):
    taken = {name: [] for name in ways}
    for _ in range(times):
        for name, command in ways.items():
            for left in scratch.iterdir():
                shutil.rmtree(left)
            subprocess.run("sync", check=True)
            taken[name].append(seconds(command))
    print("| way | best | median | GB/s, best | GB/s, median |\n|---|---|---|---|---|")
    for name, all_of in taken.items():
        best, median = min(all_of), statistics.median(all_of)
        print(f"| {name} | {best:.2f} s | {median:.2f} s | {bytes_of / best / 1e9:.2f} | {bytes_of / median / 1e9:.2f} |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--shards", nargs="*", default=[])
    parser.add_argument("--scratch")
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        scratch = Path(folder)
        print(f"{options.data}: {size([options.data]) / 1e6:.0f} MB, in the page cache\n")
        table({
            "cp": ["cp", "-r", options.data, scratch / "copy"],
            "cp, sync": f"cp -r '{options.data}' '{scratch}/copy' && sync '{scratch}'/copy/*",
            "plimsoll stage": [PLIMSOLL, "stage", options.data, "--to", scratch / "cache"],
        }, size([options.data]), scratch, options.times)
        if options.shards:
            listed = " ".join(f"'{shard}'" for shard in options.shards)
            print(f"{len(options.shards)} shards: {size(options.shards) / 1e6:.0f} MB\n")
            table({
                "cp, sync": f"cp -r {listed} '{scratch}' && sync '{scratch}'/*/*",
                "plimsoll merge": [PLIMSOLL, "merge", *options.shards, "--out", scratch / "merged"],
            }, size(options.shards), scratch, options.times)
    return 0


if __name__ == "__main__":
    sys.exit(main())
