#!/usr/bin/env python3
"""Captures to window graphs on a Dask cluster of this machine, beside a Dask bag whose tasks make the graphs of a file with pandas,
as the source document does (`db.from_sequence(csv_files).map(dataset_creation_streaming)`). The same cluster, in turn.

    bench/dask_ingest.py CAPTURES [--workers 2] [--times 3]         # needs dask, distributed and pandas; captures are ctat CSV

Three rows: `plimsoll.dask.ingest` to frames on the disk, the same and `plimsoll.windows` to graphs on the disk, and the bag, which keeps
nothing (`bench/peers/pandas_graphs.py`, whose graphs are equal to those of `--features compat`). A fourth reads each file with pandas alone.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from distributed import Client, LocalCluster

import plimsoll
import plimsoll.dask

PEERS = str(Path(__file__).resolve().parent / "peers")


def read_with_pandas(path):
    """Frames of one capture: IDs and payload bytes as numbers."""
    import numpy as np
    import pandas as pd

    table = pd.read_csv(path, dtype={"arbitration_id": str, "data_field": str}, keep_default_na=False)
    ids = table["arbitration_id"].map(lambda text: int(text, 16)).to_numpy(np.uint32)
    padded = table["data_field"].str.pad(16, side="right", fillchar="0").str.slice(0, 16)
    payload = np.array([list(bytes.fromhex(text)) for text in padded], dtype=np.uint8)
    return len(ids), int(ids.astype(np.int64).sum()), int(payload.astype(np.int64).sum())


def ids_of(path, peers):
    sys.path.append(peers)
    from pandas_graphs import vocabulary_of

    return set(vocabulary_of([path]))


def graphs_of(path, vocabulary, peers):
    """How many graphs a capture has; they are made, and not kept."""
    sys.path.append(peers)
    import pandas_graphs

    return len(pandas_graphs.graphs_of(path, vocabulary))


def bag(captures):
    import dask.bag

    files = sorted(str(path) for path in Path(captures).rglob("*.csv*"))
    return dask.bag.from_sequence(files, npartitions=len(files))


def graphs_by_bag(captures):
    known = sorted(set().union(*bag(captures).map(ids_of, PEERS).compute()))
    vocabulary = {number: index for index, number in enumerate(known)}
    return sum(bag(captures).map(graphs_of, vocabulary, PEERS).compute())


def frames_by_bag(captures):
    return sum(frames for frames, _, _ in bag(captures).map(read_with_pandas).compute())


def seconds(call):
    started = time.perf_counter()
    found = call()
    return time.perf_counter() - started, found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    taken = {"plimsoll.dask.ingest": [], "the same, and plimsoll.windows": [], "Dask bag, graphs with pandas": [],
             "Dask bag, frames with pandas": []}
    with tempfile.TemporaryDirectory() as folder, LocalCluster(
        n_workers=options.workers, threads_per_worker=1, memory_limit="4GiB", dashboard_address=None, host="127.0.0.1",
        local_directory=folder) as cluster, Client(cluster) as client:
        frames, graphs = Path(folder) / "frames", Path(folder) / "graphs"
        for _ in range(options.times):
            for made in (frames, graphs):
                shutil.rmtree(made, ignore_errors=True)
            reading, made = seconds(lambda: len(plimsoll.dask.ingest(client, options.captures, frames)))
            cutting, cut = seconds(lambda: len(plimsoll.windows(frames, graphs, features="compat", threads=options.workers)))
            slow, slow_cut = seconds(lambda: graphs_by_bag(options.captures))
            bare, read = seconds(lambda: frames_by_bag(options.captures))
            assert (made, cut) == (read, slow_cut), (made, read, cut, slow_cut)
            for column, figure in zip(taken.values(), (reading, reading + cutting, slow, bare), strict=True):
                column.append(figure)
    print(f"{made:,} frames, {cut:,} graphs, {options.workers} workers of one thread, {options.times} times in turn\n")
    print("| way | best | median |\n|---|---|---|")
    for name, column in taken.items():
        print(f"| {name} | {min(column):.2f} s | {statistics.median(column):.2f} s |")
    medians = [statistics.median(column) for column in taken.values()]
    print(f"\nratios of medians: graphs {medians[2] / medians[1]:.1f}, frames {medians[3] / medians[0]:.1f}")


if __name__ == "__main__":
    main()
