#!/usr/bin/env python3
"""How well `plimsoll train` classifies nodes of real graphs, beside PyTorch Geometric with all of the graph in memory.

    bench/accuracy.py [DATA] [--graphs NAME ...] [--convs sage] [--seeds 5] [--first-seed 42] [--jobs 2]
                      [--bits NAME] [--results FILE] [--title TEXT]

DATA (default ../shared/data) has folders of public graphs, which are read where they lie; those that are absent are
named and left out. Each becomes edges, features, labels and splits in a temporary folder; `plimsoll ingest graph` and
the peer (bench/peers/accuracy.py) both start from these files. Both train recipes/node_classification.yaml with the
options below from as many seeds, keep the weights of the epoch with the least validation loss, and are judged on the
test split from all neighbours. Within the spread is a difference of means of no more than the pooled standard deviation
of the seeds; t is Welch's. Engine and peer have one thread each, and --jobs of them run at a time. --bits trains on this
graph with the smallest and an ample budget, with one and two threads, and compares weights. Prints tables in Markdown;
with --results they become the section TITLE of that file. Exit code 1 where bits differ.
"""

import argparse
import csv
import io
import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import report
import zstandard
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

RECIPE = report.ROOT / "recipes" / "node_classification.yaml"
LAYERS, HIDDEN, FAN_OUTS, DROPOUT = 2, 64, [10, 10], 0.5
BATCH, RATE, EPOCHS, PATIENCE = 128, 0.003, 50, 10
OPTIONS = {"gnn.layers": LAYERS, "gnn.hidden": HIDDEN, "gnn.dropout": DROPOUT, "sampling.fan_outs": FAN_OUTS,
           "training.batch_size": BATCH, "training.block.seeds": BATCH, "training.learning_rate": RATE,
           "training.max_epochs": EPOCHS, "training.patience": PATIENCE}


def text_of(path):
    return zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().decode()


def rows_of(path, separator):
    return list(csv.DictReader(io.StringIO(text_of(path)), delimiter=separator))


def pairs_of(path, separator, header):
    return np.loadtxt(io.StringIO(text_of(path)), np.int64, delimiter=separator, skiprows=int(header))


def drawn_splits(y):
    """Half of the labelled nodes train, a quarter validates, a quarter tests: drawn once, the same for all seeds."""
    nodes = np.random.default_rng(0).permutation(np.flatnonzero(y >= 0))
    cuts = [len(nodes) // 2, len(nodes) * 3 // 4]
    return dict(zip(("train", "valid", "test"), map(np.sort, np.split(nodes, cuts))))


def tolokers(folder):
    """The first of its ten fixed splits."""
    rows = rows_of(folder / "nodes.tsv.zst", "\t")
    x = np.array([row["features_dense"].split() for row in rows], np.float32)
    y = np.array([int(row["label"]) for row in rows])
    splits = {name: np.array([i for i, row in enumerate(rows) if row["splits"][0] == letter])
              for name, letter in (("train", "T"), ("valid", "V"), ("test", "E"))}
    return pairs_of(folder / "edges.tsv.zst", "\t", False), x, y, splits


def facebook100(folder):
    """Gender from the other columns, one-hot of the codes that at least ten nodes have; 0 is missing."""
    rows = rows_of(folder / "nodes.tsv.zst", "\t")
    columns = []
    for name in ("status", "major", "second_major", "dorm", "year", "high_school"):
        codes = np.array([int(row[name]) for row in rows])
        known, counts = np.unique(codes[codes != 0], return_counts=True)
        columns.append(codes[:, None] == known[counts >= 10])
    y = np.array([int(row["gender"]) for row in rows]) - 1
    return pairs_of(folder / "edges.tsv.zst", "\t", False), np.concatenate(columns, 1).astype(np.float32), y, drawn_splits(y)


def words(path, nodes):
    """The lists of words as 128 columns: a truncated singular value decomposition, scaled to a deviation of 1."""
    lists = {int(node): sorted(set(words)) for node, words in json.loads(text_of(path)).items()}
    lists = [lists.get(node, []) for node in range(nodes)]
    ends = np.cumsum([0] + [len(one) for one in lists])
    bags = csr_array((np.ones(ends[-1], np.float32), np.concatenate(lists).astype(np.int64), ends))
    x = TruncatedSVD(128, random_state=0).fit_transform(bags)
    return (x / x.std()).astype(np.float32)


def musae(folder, stem, key, label):
    rows = sorted(rows_of(folder / f"{stem}_target.csv.zst", ","), key=lambda row: int(row[key]))
    assert [int(row[key]) for row in rows] == list(range(len(rows)))
    y = np.unique([row[label] for row in rows], return_inverse=True)[1].astype(np.int64)
    x = words(folder / f"{stem}_features.json.zst", len(rows))
    return pairs_of(folder / f"{stem}_edges.csv.zst", ",", True), x, y, drawn_splits(y)


GRAPHS = {  # what reads the folder graph-NAME, and its metric
    "tolokers": (tolokers, "auc"),
    "musae-facebook": (lambda folder: musae(folder, "facebook", "id", "page_type"), "accuracy"),
    "fb100-amherst41": (facebook100, "accuracy"),
    "fb100-johns-hopkins55": (facebook100, "accuracy"),
    "musae-twitch-de": (lambda folder: musae(folder, "DE", "new_id", "mature"), "auc"),
}


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nexit code {done.returncode}\n{done.stderr}")
    return done.stdout


def plimsoll(verb, *words, **overrides):
    options = [word for key, value in overrides.items() for word in ("-O", f"{key}={str(value).replace(' ', '')}")]
    return json.loads(call(report.PLIMSOLL, verb, *words, "--json", *options))


def prepare(name, data, work):
    """Writes what engine and peer start from, and the data set. The latter, and a line about it."""
    edges, x, y, splits = GRAPHS[name][0](data / f"graph-{name}")
    work.mkdir()
    for column, values in {"edges": edges, "x": x, "y": y, **splits}.items():
        np.save(work / f"{column}.npy", values)
    files = [word for option, column in {"edges": "edges", "features": "x", "labels": "y", "train": "train",
                                         "valid": "valid", "test": "test"}.items()
             for word in (f"--{option}", work / f"{column}.npy")]
    made = plimsoll("ingest", "graph", *files, "--ids", "dense", "--node-count", len(y), "--undirected", "--dedup",
                    "--self-loops", "drop", "--out", work / "graph")
    sizes = " / ".join(f"{len(splits[split]):,}" for split in ("train", "valid", "test"))
    return f"{name} | {made['nodes']:,} | {made['edges']:,} | {x.shape[1]} | {made['classes']} | {sizes}"


def ours(work, conv, seeds):
    found = []
    for seed in seeds:
        summary = plimsoll("train", RECIPE, "--data", work / "graph", "--run", work / conv, "--force", "--threads", 1,
                           **OPTIONS, **{"gnn.conv": conv, "seed": seed})
        judged = plimsoll("evaluate", work / conv, "--data", work / "graph", "--threads", 1)
        test = next(split for split in judged["splits"] if split["name"] == "test")["models"][0]
        found.append({**test, "best_epoch": summary["best_epoch"]})
        print(f"# plimsoll {work.name} {conv} {seed}: {found[-1]}", file=sys.stderr, flush=True)
    return found


def peers(work, conv, seeds):
    lines = call(report.PYTHON, report.ROOT / "bench" / "peers" / "accuracy.py", work, "--conv", conv, "--seeds", *seeds,
                 "--hidden", HIDDEN, "--fan-outs", *FAN_OUTS, "--dropout", DROPOUT, "--batch", BATCH, "--rate", RATE,
                 "--epochs", EPOCHS, "--patience", PATIENCE).splitlines()
    print(f"# peer {work.name} {conv}:", *lines, sep="\n# ", file=sys.stderr, flush=True)
    return [json.loads(line) for line in lines]


def compare(name, conv, metric, our, peer):
    """A row of the table."""
    sides = [[one[metric] * 100 for one in side] for side in (our, peer)]
    means, deviations = [statistics.mean(side) for side in sides], [statistics.stdev(side) for side in sides]
    difference = means[0] - means[1]
    pooled = math.sqrt(sum(one**2 for one in deviations) / 2)
    t = difference / math.sqrt(sum(one**2 / len(our) for one in deviations))
    epochs = [f"{statistics.median(one['best_epoch'] for one in side):g}" for side in (our, peer)]
    within = "yes" if abs(difference) <= pooled else "**no**"
    cells = [f"{mean:.2f} ± {deviation:.2f}" for mean, deviation in zip(means, deviations)]
    return (f"| {name} | {conv} | {'ROC AUC' if metric == 'auc' else metric} | {cells[0]} | {cells[1]} "
            f"| {difference:+.2f} = {difference / pooled:+.2f} std | {t:+.1f} | {' / '.join(epochs)} | {within} |")


def bits(work):
    """Rows of budgets and threads with the weights they gave, and how many weights there are."""
    rows, weights = [], set()
    for threads in (1, 2):
        plan = plimsoll("plan", RECIPE, "--data", work / "graph", "--threads", threads, **OPTIONS)
        for word, budget in (("smallest", plan["min_budget_bytes"]), ("ample", 1 << 30)):
            summary = plimsoll("train", RECIPE, "--data", work / "graph", "--run", work / "bits", "--force", "--threads",
                               threads, "--budget", budget, **OPTIONS)
            rows.append(f"| {threads} | {word}: {budget / 2**20:.1f} MiB | {summary['weights']} |")
            weights.add(summary["weights"])
            print(rows[-1], file=sys.stderr, flush=True)
    return rows, len(weights)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=report.ROOT.parent / "shared" / "data")
    parser.add_argument("--graphs", choices=GRAPHS, nargs="+", default=list(GRAPHS))
    parser.add_argument("--convs", choices=["sage", "gcn", "gat", "gatv2"], nargs="+", default=["sage"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=42)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--bits", choices=GRAPHS)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--title", default="Figures")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    about, cases, rows, weights, differ = [], [], [], [], 1
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        for name in arguments.graphs:
            if not (arguments.data / f"graph-{name}").is_dir():
                print(f"accuracy: no graph-{name} in {arguments.data}; left out", file=sys.stderr)
                continue
            work = Path(scratch) / name
            about.append(f"| {prepare(name, arguments.data, work)} |")
            for conv in arguments.convs:
                cases.append((name, conv, GRAPHS[name][1], *(pool.submit(side, work, conv, seeds) for side in (ours, peers))))
        for *case, our, peer in cases:
            rows.append(compare(*case, our.result(), peer.result()))
            print(rows[-1], file=sys.stderr, flush=True)
        if arguments.bits and (Path(scratch) / arguments.bits).is_dir():
            same, differ = bits(Path(scratch) / arguments.bits)
            weights = [f"\nWeights of {arguments.bits}, {'all the same' if differ == 1 else 'which differ'}:\n",
                       "| threads | budget | weights |", "|---|---|---|", *same]
    text = ["| graph | nodes | edges, both ways | features | classes | train / valid / test |", "|---|---|---|---|---|---|",
            *about, f"\n{len(seeds)} seeds, mean ± standard deviation in %:\n",
            "| graph | conv | metric | Plimsoll | PyTorch Geometric | difference | t | best epoch, medians | within the spread |",
            "|---|---|---|---|---|---|---|---|---|", *rows, *weights]
    if arguments.results:
        report.write_section(arguments.title, "\n".join(text), arguments.results)
    else:
        print("\n".join(text))
    sys.exit(differ != 1)


if __name__ == "__main__":
    main()
