#!/usr/bin/env python3
"""Captures to frames on a Dask cluster of this machine: `plimsoll.dask.ingest` beside a Dask bag that reads each file with
pandas, as users write it. The same cluster, in turn.

    bench/dask_ingest.py CAPTURES [--workers 2] [--times 3]         # needs dask, distributed and pandas; captures are ctat CSV
"""

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

import plimsoll
import plimsoll.dask


def read_with_pandas(path):
    """Frames of one capture: IDs and payload bytes as numbers."""
    import numpy as np
    import pandas as pd

    table = pd.read_csv(path, dtype={"arbitration_id": str, "data_field": str}, keep_default_na=False)
    ids = table["arbitration_id"].map(lambda text: int(text, 16)).to_numpy(np.uint32)
    padded = table["data_field"].str.pad(16, side="right", fillchar="0").str.slice(0, 16)
    payload = np.array([list(bytes.fromhex(text)) for text in padded], dtype=np.uint8)
    return len(ids), int(ids.astype(np.int64).sum()), int(payload.astype(np.int64).sum())


def bag(client, captures):
    import dask.bag

    files = sorted(str(path) for path in Path(captures).rglob("*.csv*"))
    return sum(frames for frames, _, _ in dask.bag.from_sequence(files, npartitions=len(files)).map(read_with_pandas).compute())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder, LocalCluster(
        n_workers=options.workers, threads_per_worker=1, memory_limit="4GiB", dashboard_address=None, host="127.0.0.1",
        local_directory=folder) as cluster, Client(cluster) as client:
        for _ in range(options.times):
            out = Path(folder) / "frames"
            shutil.rmtree(out, ignore_errors=True)
            begin = time.perf_counter()
            frames = len(plimsoll.dask.ingest(client, options.captures, out))
            ours.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            of_bag = bag(client, options.captures)
            theirs.append(time.perf_counter() - begin)
            assert frames == of_bag, (frames, of_bag)
    print(f"{frames:,} frames, {options.workers} workers of one thread, {options.times} times in turn\n")
    print("| way | best | median |\n|---|---|---|")
    for name, taken in (("plimsoll.dask.ingest", ours), ("Dask bag, pandas", theirs)):
        print(f"| {name} | {min(taken):.2f} s | {statistics.median(taken):.2f} s |")
    print(f"\nratio of medians: {statistics.median(theirs) / statistics.median(ours):.1f}")


if __name__ == "__main__":
    main()
