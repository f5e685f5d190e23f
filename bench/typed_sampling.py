"""Sampling of the flights of 2013 with and without times: seeds a second, in bench/results/relational.md.

    .venv/bin/python bench/typed_sampling.py
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import plimsoll
from plimsoll import _core
from plimsoll.data.sampled_types import types_of_graph
from plimsoll.data.typed_samplers import TypedSampling
from report import PLIMSOLL, ROOT, machine, rounds, timed, write_section

RESULTS = ROOT / "bench" / "results" / "relational.md"
FLIGHTS = Path(os.environ.get("PLIMSOLL_DATA", ROOT.parent / "shared" / "data")) / "relational-nycflights13"
SEEDS, FAN_OUTS, BATCH, ROUNDS = 20_000, [64, 32], 512, 7


def sampled(graph, times, strategy="uniform"):
    """A function that samples all batches on this thread: (wall seconds, processor seconds), and its counts."""
    seeds = np.random.default_rng(0).integers(graph["planes"].num_nodes, size=SEEDS)
    types = types_of_graph(graph, None if times is None else "time", None)
    loading = TypedSampling(types.fan_outs(FAN_OUTS), disjoint=True, temporal_strategy=strategy).loading(types)
    loading.batching.batch_size, loading.seed_type = BATCH, types.number("planes")
    loading.set_seeds(seeds)
    if times is not None:
        loading.set_times(times)
    native = _core.TypedNeighbours(types.columns(), loading)
    counts = {}

    def run():
        wall, cpu, edges, nodes = time.perf_counter(), time.process_time(), 0, 0
        stream = native.stream(0, 0, 1, 0, 0)
        for _ in range(stream.size):
            batch = native.next(stream)
            edges, nodes = edges + len(batch["e_id"]), nodes + len(batch["n_id"])
        counts.update(edges=edges, nodes=nodes)
        return time.perf_counter() - wall, time.process_time() - cpu

    return run, counts


def main():
    if not FLIGHTS.is_dir():
        sys.exit(f"no data at {FLIGHTS} (set PLIMSOLL_DATA)")
    with tempfile.TemporaryDirectory() as folder:
        timed([PLIMSOLL, "ingest", "tables", FLIGHTS, "--reverse", "--out", f"{folder}/flights"])
        graph = plimsoll.open(f"{folder}/flights")
        flights = graph["flights"].time
        late = np.full(SEEDS, flights.max() + 1)
        spread = np.random.default_rng(1).choice(flights, SEEDS)
        cases = {
            "disjoint, without times": sampled(graph, None),
            "times after all flights": sampled(graph, late),
            "times after all flights, latest": sampled(graph, late, "last"),
            "times of random flights": sampled(graph, spread),
            "times of random flights, latest": sampled(graph, spread, "last"),
        }
        where = machine()
        times = rounds({name: run for name, (run, _) in cases.items()}, ROUNDS, lambda: None)
    lines = ["| case | seeds/s of a core, best / median | edges a seed | nodes a seed | seconds, first case = 1 |", "|---|---|---|---|---|"]
    first = None
    for name, (_, counts) in cases.items():
        cpu = sorted(seconds for _, seconds in times[name])
        first = first or cpu[0]
        lines.append(
            f"| {name} | {SEEDS / cpu[0]:,.0f} / {SEEDS / cpu[len(cpu) // 2]:,.0f} | {counts['edges'] / SEEDS:.0f} "
            f"| {counts['nodes'] / SEEDS:.0f} | {cpu[0] / first:.2f} |"
        )
    text = f"""Command: `.venv/bin/python bench/typed_sampling.py`; {where} {SEEDS:,} planes as seeds, batches of {BATCH}, fan-outs
{', '.join(map(str, FAN_OUTS))} for each of ten edge types, one thread, processor seconds; cases take turns, {ROUNDS} rounds. No peer: PyTorch Geometric's
loader needs pyg-lib for times, which no package index has.

""" + "\n".join(lines)
    write_section("Sampling with times", text, RESULTS)


if __name__ == "__main__":
    main()
