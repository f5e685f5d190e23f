#!/usr/bin/env python3
"""The weights of the shipped recipes, by level of the processor: the same bits on every machine of a kind.

    hashes.py [--results bench/results/hashes.md]

Trains each recipe for one epoch on data that the simulator makes, and writes the hash of the weights that it ends with; of
several stages a hash over those of all. The level is that of our kernels, of torch's and of MKL's. Weights of one level are
the same for any threads, budget, kill and resume (tests/python); torch's BLAS chooses code by the maker of the processor,
too, so the table says whose it was. A run records the number of the build's arithmetic, kNumerics, and is not resumed under
another: whoever changes the bits raises the number, and without that this program refuses to write other hashes.
"""

import argparse
import hashlib
import json
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "bench" / "results" / "hashes.md"
NUMERICS = ROOT / "src" / "engine" / "fit" / "rounding.h"
PLIMSOLL = Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build" / "release" / "bin")) / "plimsoll"
LEVELS = {  # PLIMSOLL_SIMD: torch's and MKL's words for it, and what the processor must have
    "portable": ("default", "COMPATIBLE", "sse2"),
    "avx2": ("avx2", "AVX2", "avx2"),
    "avx512": ("avx512", "AVX512", "avx512bw"),
}
RECIPES = {  # and the data that they are trained on
    "gat": "frames", "transfer": "frames", "kdgat": "frames", "kdgat-compat": "frames", "kdgat-demo": "frames",
    "graph_classification": "windows", "node_classification": "graph", "link_prediction": "links",
    "node_regression": "values", "node_multilabel_classification": "labels", "sgmp": "points", "gtssl": "trees", "relational": "linked",
    "recommend": "items",
}


def processor():
    """The maker and the instructions of this one."""
    lines = dict(line.split(":", 1) for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in lines.items()}
    return fields.get("vendor_id", platform.machine()), fields.get("flags", "").split()


def levels_here():
    _, flags = processor()
    return [level for level, (_, _, flag) in LEVELS.items() if flag in flags]


def call(*arguments, level=None):
    environment = dict(os.environ)
    if level is not None:
        torch, mkl, _ = LEVELS[level]
        environment |= {"PLIMSOLL_SIMD": level, "ATEN_CPU_CAPABILITY": torch, "MKL_CBWR": mkl}
    done = subprocess.run([str(PLIMSOLL), *map(str, arguments)], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, arguments))}: {done.stderr}")
    return done.stdout


def make_data(folder):
    call("simulate", "can", "--out", folder / "frames", "--frames", 20000, "--seed", 1)
    call("windows", folder / "frames", "--out", folder / "windows")
    call("simulate", "graph", "--out", folder / "graph", "--nodes", 3000, "--features", 8, "--classes", 4, "--seed", 1)
    call("split-edges", folder / "graph", "--out", folder / "links", "--seed", 1)
    call("simulate", "graph", "--out", folder / "ratings", "--nodes", 1000, "--seed", 1)
    call("split-edges", folder / "ratings", "--out", folder / "items", "--seed", 1)
    write_targets(folder / "targets")
    for name in ("values", "labels"):
        made = folder / "targets"
        splits = [word for split in ("train", "valid", "test") for word in (f"--{split}", made / f"{split}.txt")]
        call("ingest", "graph", "--edges", made / "edges.txt", "--features", made / "x.txt", "--targets", made / f"{name}.npy",
             *splits, "--ids", "dense", "--out", folder / name)
    write_tables(folder / "tables")
    call("ingest", "tables", folder / "tables", "--reverse", "--out", folder / "linked")
    write_points(folder / "points.csv", folder / "labels.txt")
    call("ingest", "points", folder / "points.csv", "--labels", folder / "labels.txt", "--knn", 4, "--out", folder / "points")
    write_trees(folder / "swc", folder / "trees.tsv")
    call("ingest", "swc", folder / "swc", "--labels", folder / "trees.tsv", "--out", folder / "trees")


def write_tables(folder):
    """40 planes with 2,000 flights in RelBench's folder format, and a label of each plane for some days."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    day, flights = 86_400, range(2000)
    (folder / "db").mkdir(parents=True)
    task = folder / "tasks" / "plane-active"
    task.mkdir(parents=True)
    pq.write_table(pa.table({"id": range(40), "seats": [plane * 7 % 23 / 4 for plane in range(40)]}), folder / "db" / "planes.parquet")
    pq.write_table(pa.table({
        "id": flights, "at": pa.array([flight * day // 20 for flight in flights], pa.timestamp("s")),
        "plane": [flight * flight * 7 % 41 % 40 for flight in flights], "delay": [flight * 11 % 37 / 8 for flight in flights],
        "kind": [("long", "short")[flight % 3 % 2] for flight in flights]}), folder / "db" / "flights.parquet")
    (folder / "manifest.yaml").write_text(
        "val_timestamp: '1970-03-02'\ntest_timestamp: '1970-03-22'\ntables:\n  planes: {pkey: id, time_col: null, fkeys: {}}\n"
        "  flights: {pkey: id, time_col: at, fkeys: {plane: planes}}\n")
    (task / "manifest.yaml").write_text(
        "kind: forecast\ntask_type: binary_classification\nentity_table: planes\nentity_col: plane\ntarget_col: active\n"
        "time_col: at\nsql: SELECT 1\n")
    for split, days in (("train", range(20, 60, 4)), ("val", (64, 72)), ("test", (84, 92))):
        rows = [(cut, plane) for cut in days for plane in range(40)]
        pq.write_table(pa.table({"at": pa.array([cut * day for cut, _ in rows], pa.timestamp("s")), "plane": [plane for _, plane in rows],
                                 "active": [(cut + plane) % 3 % 2 for cut, plane in rows]}), task / f"{split}.parquet")


def write_targets(folder):
    """2,000 nodes with four edges each, three features, two numbers and three labels, in numbers that f32 holds."""
    folder.mkdir()
    nodes = range(2000)
    x = [(node * 7 % 61 / 8, node * 11 % 37 / 4, node % 5) for node in nodes]
    edges = [(node, (node * step + 1) % len(nodes)) for node in nodes for step in (1, 3, 7, 13)]
    (folder / "edges.txt").write_text("".join(f"{source} {target}\n" for source, target in edges))
    (folder / "x.txt").write_text("".join("{} {} {}\n".format(*row) for row in x))
    write_array(folder / "values.npy", [(a + 2 * b, b - c) for a, b, c in x])
    write_array(folder / "labels.npy", [(a > 4, b > 4, c > 2) for a, b, c in x])
    for first, split in enumerate(("train", "valid", "test")):
        (folder / f"{split}.txt").write_text("".join(f"{node}\n" for node in nodes[first::3]))


def write_array(path, rows):
    """Writes rows as a .npy file of f32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(rows)}, {len(rows[0])}), }}".ljust(117) + "\n"
    values = struct.pack(f"<{len(rows) * len(rows[0])}f", *(value for row in rows for value in row))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + values)


def write_trees(folder, labels):
    """40 trees of 60 points in SWC files, bushy or long by class, in numbers that f32 holds."""
    folder.mkdir()
    rows = ["file\tlabel"]
    for tree in range(40):
        lines = ["1 1 0 0 0 1 -1"]
        for point in range(2, 61):
            parent = max(1, point // 2 if tree % 2 else point - 1 - (point * 7 + tree) % 3)
            lines.append(f"{point} 3 {point * 5 % 17 / 4} {point * 3 % 23 / 8} {(point + tree) % 11 / 4} 0.5 {parent}")
        (folder / f"{tree}.swc").write_text("\n".join(lines) + "\n")
        rows.append(f"{tree}.swc\t{tree % 2}")
    labels.write_text("\n".join(rows) + "\n")


def write_points(path, labels):
    """120 sets of 20 points, in a lattice that is bent more or less by class, in numbers that f32 holds."""
    rows = ["graph,x,y,z"]
    for graph in range(120):
        for point in range(20):
            at = (point * 37 + graph * 11) % 64
            rows.append(f"{graph},{point % 5 + at / 64},{point // 5 + at % 7 / 8},{graph % 2 * at / 32}")
    path.write_text("\n".join(rows) + "\n")
    labels.write_text("".join(f"{graph % 2}\n" for graph in range(120)))


def hash_of(recipe, level, data, folder, *options):
    """The weights that a recipe ends with at a level."""
    done = json.loads(call("train", ROOT / "recipes" / f"{recipe}.yaml", "--data", data / RECIPES[recipe], "--run",
                           folder / f"{recipe}-{level}", "-O", "training.max_epochs=1", "-O", "fine_tuning.max_epochs=1", "--json",
                           *options, level=level))
    if "weights" in done:
        return done["weights"]
    stages = " ".join(stage["weights"] for stage in done["stages"] if "weights" in stage)
    return hashlib.sha256(stages.encode()).hexdigest()[:32]


def hashes(level, data, folder):
    return {recipe: hash_of(recipe, level, data, folder) for recipe in RECIPES}


def numerics():
    """The number of the arithmetic of these sources."""
    return int(re.search(r"kNumerics = (\d+);", NUMERICS.read_text())[1])


def numerics_of_table(path=RESULTS):
    """The number under which the table was written."""
    return int(re.search(r"numerics (\d+)", path.read_text())[1])


def torch_version():
    return subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__)"], capture_output=True,
                          text=True).stdout.strip()


def require_new_number(found, path=RESULTS):
    """Ends the program where a hash changes on the same maker's processor and with the same torch, and the number does not."""
    maker, table = read_table(path)
    same_torch = f"torch {torch_version()}," in path.read_text()
    if maker != processor()[0] or not same_torch or numerics() != numerics_of_table(path):
        return
    changed = [f"{recipe} ({level})" for level, hashes_here in found.items() for recipe, value in hashes_here.items()
               if table.get(recipe, {}).get(level, value) not in (value, "not measured")]
    if changed:
        sys.exit(f"other weights under numerics {numerics()}: {', '.join(changed)}. Raise kNumerics in {NUMERICS.relative_to(ROOT)}, "
                 "so that no run is resumed with other bits, then run this again")


def read_table(path=RESULTS):
    """The maker of the processor, and the hash of each recipe and level."""
    text = path.read_text()
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    levels = rows[0][1:]
    maker = text.split("processor of ")[1].split(",")[0]
    return maker, {row[0]: dict(zip(levels, row[1:])) for row in rows[2:]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    results = parser.parse_args().results
    levels = levels_here()
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch) / "data"
        make_data(data)
        found = {level: hashes(level, data, Path(scratch)) for level in levels}
    require_new_number(found)
    lines = ["# Weights of the shipped recipes", "",
             f"Written by `bench/hashes.py` on a processor of {processor()[0]}, torch {torch_version()}, numerics {numerics()}.", "",
             "Each recipe was trained for one epoch on simulated data; of several stages the hash is over those of all. A",
             "change of these is a change of results: `tests/python/test_hashes.py` holds them.", "",
             "| recipe | " + " | ".join(levels) + " |", "|---" * (len(levels) + 1) + "|"]
    lines += [f"| {recipe} | " + " | ".join(f"`{found[level][recipe]}`" for level in levels) + " |" for recipe in RECIPES]
    results.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
