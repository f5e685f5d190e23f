#!/usr/bin/env python3
"""Batches of a graph_set's training graphs, by plimsoll.DataLoader and PyTorch Geometric's, run by bench/loader.sh.

    loader.py GRAPH_SET [--rounds 9]

Shuffled epochs; nothing is done with a batch. All cases take turns in one process for the times, which are of an epoch
with the start of its workers. Memory, and the time to open the set and have a first batch, are of a process each.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from report import machine, write_section

BATCHES = (512, 4096)
OURS = "plimsoll.DataLoader"
PEERS = {f"PyG, {data}, {workers} workers": (data, workers) for data in ("list", "InMemoryDataset") for workers in (0, 2)}
RESULTS = Path(__file__).resolve().parent / "results" / "loader.md"


def training_graphs(folder):
    import plimsoll

    graphs = plimsoll.open(folder)
    splits = [split for name, split in graphs.splits.items() if name.startswith("train")]
    return graphs[np.concatenate([np.arange(len(graphs))[split.slice] for split in splits])]


def peer_data(graphs, kind):
    from torch_geometric.data import InMemoryDataset

    dataset = [graphs.to_pyg(i) for i in range(len(graphs))]
    if kind == "list":
        return dataset
    whole = InMemoryDataset()
    whole.data, whole.slices = whole.collate(dataset)
    return whole


def loader(case, graphs, batch, data=None):
    import plimsoll
    from torch_geometric.loader import DataLoader

    if case == OURS:
        return plimsoll.DataLoader(graphs, batch, shuffle=True)
    kind, workers = PEERS[case]
    return DataLoader(data or peer_data(graphs, kind), batch, shuffle=True, num_workers=workers)


def epoch(batches):
    steps = 0
    for batch in batches:
        steps += batch.num_graphs > 0
    return steps


def cpu():
    return sum(usage.ru_utime + usage.ru_stime for usage in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                                     resource.RUSAGE_CHILDREN)))


def speed(folder, rounds):
    graphs = training_graphs(folder)
    data = {kind: peer_data(graphs, kind) for kind in ("list", "InMemoryDataset")}
    loaders = {(case, batch): loader(case, graphs, batch, None if case == OURS else data[PEERS[case][0]])
               for batch in BATCHES for case in (OURS, *PEERS)}
    times = {key: [] for key in loaders}
    for turn in range(rounds + 1):
        for key, batches in loaders.items():
            for _ in range(5 if key[0] == OURS else 1):  # as long as one of the peers, so that they meet the same load
                begin, before = time.perf_counter(), cpu()
                epoch(batches)
                if turn:
                    times[key].append((time.perf_counter() - begin, cpu() - before))
    return {"graphs": len(graphs), "times": [[*key, runs] for key, runs in times.items()]}


def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) * 1024


def memory(folder, case, batch):
    """What an epoch adds to the process at its peak; workers are not in it."""
    graphs = training_graphs(folder)
    batches = loader(case, graphs, batch)
    epoch(loader(case, graphs[:8], 4))  # what importing and a first batch leave
    Path("/proc/self/clear_refs").write_text("5")
    anonymous, resident, peak, done = status("RssAnon"), status("VmRSS"), 0, threading.Event()

    def sample():
        nonlocal peak
        while not done.wait(0.0005):
            peak = max(peak, status("RssAnon"))

    sampler = threading.Thread(target=sample)
    sampler.start()
    for _ in range(5):
        epoch(batches)
    done.set()
    sampler.join()
    return {"anonymous": peak - anonymous, "resident": status("VmHWM") - resident}


def first(folder, batch):
    import torch_geometric.data  # noqa: F401
    import torch_geometric.loader  # noqa: F401

    import plimsoll

    begin = time.perf_counter()
    loader = plimsoll.DataLoader(plimsoll.open(folder), batch, shuffle=True)
    next(iter(loader))
    return {"seconds": time.perf_counter() - begin}


def child(*arguments):
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def report(folder, rounds):
    where = machine()
    found = child(folder, "--speed", "--rounds", rounds)
    times = {(case, batch): runs for case, batch, runs in found["times"]}
    count = found["graphs"]
    text = [f"`bench/loader.sh` with {rounds} rounds: shuffled epochs over the {count:,} training graphs of hcrl_sa, compat "
            f"features. {where}"]
    for batch in BATCHES:
        wall = {case: sorted(run[0] for run in times[case, batch]) for case in (OURS, *PEERS)}
        fastest = min(PEERS, key=lambda case: wall[case][0])
        steadiest = min(PEERS, key=lambda case: statistics.median(wall[case]))
        text += ["", f"Batches of {batch}:", "",
                 "| loader | epoch ms, best / median | graphs/s at best | processor ms | anonymous | resident |",
                 "|---|---|---|---|---|---|"]
        for case, seconds in wall.items():
            used = child(folder, "--memory", case, "--batch", batch)
            text.append(f"| {case} | {seconds[0] * 1e3:.1f} / {statistics.median(seconds) * 1e3:.1f} "
                        f"| {count / seconds[0]:,.0f} | {min(run[1] for run in times[case, batch]) * 1e3:.0f} "
                        f"| +{used['anonymous'] / 2**20:.1f} MiB | +{used['resident'] / 2**20:.1f} MiB |")
        begins = sorted(child(folder, "--first", "--batch", batch)["seconds"] * 1e3 for _ in range(5))
        median = statistics.median(wall[steadiest]) / statistics.median(wall[OURS])
        text += ["", f"Against the best of PyG: {wall[fastest][0] / wall[OURS][0]:.1f} times as fast at best ({fastest}), "
                     f"{median:.1f} times in the median ({steadiest}). Opening the set and the first batch: "
                     f"{begins[0]:.1f} ms at best, {begins[2]:.1f} ms in the median of 5 processes."]
    text += ["", "Processor time is of all threads and workers. Memory is what five epochs add to the process at their peak, "
                 "workers not counted; resident memory has the pages of the mapped data set, which are the page cache's. PyG's data "
                 "set lay in memory before. The cases take turns, so that what others do on the machine meets them all."]
    write_section("Epochs", "\n".join(text), RESULTS)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--memory")
    parser.add_argument("--first", action="store_true")
    parser.add_argument("--batch", type=int, default=512)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.speed:
        print(json.dumps(speed(options.folder, options.rounds)))
    elif options.memory:
        print(json.dumps(memory(options.folder, options.memory, options.batch)))
    elif options.first:
        print(json.dumps(first(options.folder, options.batch)))
    else:
        report(options.folder, options.rounds)


if __name__ == "__main__":
    main()
