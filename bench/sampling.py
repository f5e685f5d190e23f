"""Neighbour sampling beside PyTorch Geometric: bench/sampling.sh builds what it needs and calls it with the graph."""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np

import report

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from arcs import read_lists  # noqa: E402

NODES = 325_557  # of cnr-2000
SEEDS = 20_000
ROUNDS = 6
FAN_OUTS = (15, 10, 5)
PEERS = {"PyG NeighborLoader": "loader", "PyG NeighborSampler alone": "sampler"}


def write_columns(graph, folder):
    indptr, indices = read_lists(graph, NODES)
    with_list = np.flatnonzero(np.diff(indptr))
    seeds = np.random.default_rng(1).permutation(with_list)[:SEEDS]
    for name, column in (("indptr", indptr), ("indices", indices), ("indices32", indices.astype(np.uint32)),
                         ("seeds", seeds)):
        np.save(folder / f"{name}.npy", column)


def ours(folder, indices):
    """The best of the epochs of one run."""
    command = [report.PLIMSOLL.with_name("bench_sampling"), folder / "indptr.npy", folder / f"{indices}.npy",
               folder / "seeds.npy", 5, *FAN_OUTS]
    epochs = [json.loads(line) for line in report.timed(command)[2].splitlines()]
    return min(epochs, key=lambda epoch: epoch["cpu"])


def peer(folder, kind, seed):
    script = report.ROOT / "bench" / "peers" / "sampling.py"
    return json.loads(report.timed([report.PYTHON, script, folder, kind, seed])[2])


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_columns(sys.argv[1], folder)
        cases = {"Plimsoll, u32 indices": lambda _: ours(folder, "indices32"),
                 "Plimsoll, i64 indices": lambda _: ours(folder, "indices")}
        probe = peer(folder, "sampler", 0)
        if "missing" not in probe:
            for label, kind in PEERS.items():
                cases[f"{label}, {probe['backend']}"] = lambda seed, kind=kind: peer(folder, kind, seed)
        place = report.machine()
        runs = {label: [] for label in cases}
        for seed in range(ROUNDS):
            for label, run in cases.items():
                runs[label].append(run(seed))

    lines = ["| engine | wall s, best / median | processor s, best / median | seeds/s of a core | sampled edges | nodes |",
             "|---|---|---|---|---|---|"]
    rate = {}
    for label, rounds in runs.items():
        wall, cpu = (sorted(run[key] for run in rounds) for key in ("wall", "cpu"))
        rate[label] = SEEDS / cpu[0]
        lines.append(f"| {label} | {wall[0]:.4f} / {np.median(wall):.4f} | {cpu[0]:.4f} / {np.median(cpu):.4f} "
                     f"| {rate[label]:,.0f} | {rounds[0]['edges']:,} | {rounds[0]['nodes']:,} |")
    first, *others = rate
    ratios = [f"{rate[first] / rate[label]:.1f} times {label}" for label in others if label.startswith("PyG")]
    words = f"Ratio: {', '.join(ratios)}." if ratios else f"Peer: none in this run, {probe['missing']}."
    report.write_section(
        f"cnr-2000, fan-outs {', '.join(map(str, FAN_OUTS))}",
        f"Command: `bench/sampling.sh`; {place} {SEEDS:,} seeds with an out-arc, batches of 1,024, one thread, graph in "
        f"memory, relabelled, with edges and counts per hop; cases take turns, {ROUNDS} rounds.\n\n"
        + "\n".join(lines) + f"\n\n{words}", report.ROOT / "bench" / "results" / "sampling.md")


if __name__ == "__main__":
    main()
