#!/usr/bin/env python3
"""What networks of paths learn: SGMP beside convolutions that have coordinates as features.

    bench/paths_accuracy.py [DATA] [--sets bzr digits] [--models NAME ...] [--seeds 5] [--folds 10] [--epochs 60]
                            [--digits 600] [--jobs 2] [--results FILE] [--title TEXT]

bzr: the molecules of DATA/graph-tu/BZR.zip (default ../shared/data), where atoms lie and what they are, in stratified folds. digits:
the first images of scikit-learn's digits, half of them to train; a pixel above a quarter of the scale is a point with
its intensity, edges come from its 8 nearest. SGMP has coordinates as `pos`, GIN and GAT as features beside the others. All
train recipes/sgmp.yaml with the options below, a tenth of what trains validates, and the epoch of the least validation
loss is judged by `plimsoll evaluate` on the fold, or half, that did not train. For bzr a seed's figure is the mean over folds.
Each run has one thread, and --jobs of them run at a time. Prints a table in Markdown; with --results it becomes the
section TITLE of that file.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import plimsoll
import report
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from torch_geometric.data import Data

RECIPE = report.ROOT / "recipes" / "sgmp.yaml"
MODELS = {
    "SGMP": ("model=sgmp",),
    "SGMP, distances only": ("model=sgmp", "paths.distances_only=true"),
    "SGMP as coded (`reference`)": ("model=sgmp", "paths.mode=reference"),
    "GIN": ("model=gnn", "gnn.conv=gin"),
    "GAT": ("model=gnn", "gnn.conv=gat", "gnn.heads=4"),
    "GIN without coordinates": ("model=gnn", "gnn.conv=gin"),
}
OPTIONS = {"bzr": ("gnn.hidden=64", "gnn.layers=3", "gnn.pooling=sum", "training.batch_size=32"),
           "digits": ("gnn.hidden=64", "gnn.layers=3", "gnn.pooling=sum", "training.batch_size=32", "paths.hidden=32",
                      "paths.layers=2")}


def call(*command):
    return json.loads(subprocess.run([*map(str, command), "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)


def molecules(data):
    graphs = plimsoll.ingest.tu(data / "graph-tu" / "BZR.zip", Path(tempfile.mkdtemp()) / "bzr", positions=(0, 1, 2))
    return [graphs.to_pyg(i) for i in range(len(graphs))]


def images(count):
    digits = load_digits()
    graphs, sets = [], []
    for image in digits.images[:count]:
        rows, columns = np.nonzero(image > 4)
        sets.append(np.stack([columns, -rows], 1).astype(np.float32))
        graphs.append(image[rows, columns, None].astype(np.float32) / 16)
    made = plimsoll.from_points(sets, Path(tempfile.mkdtemp()) / "digits", knn=8, features=graphs,
                                y=digits.target[:count].tolist())
    return [made.to_pyg(i) for i in range(count)]


def as_features(data, coordinates):
    x = torch.cat([data.x, data.pos], 1) if coordinates else data.x
    return Data(x=x, edge_index=data.edge_index, y=data.y)


def sets_of(graphs, train, test, folder):
    """The same split for models of paths, and for others with and without coordinates as features."""
    for name, change in (("pos", lambda data: data), ("features", lambda data: as_features(data, True)),
                         ("bare", lambda data: as_features(data, False))):
        plimsoll.from_pyg({"train": [change(graphs[i]) for i in train], "test": [change(graphs[i]) for i in test]},
                          folder / name)


def judge(folder, model, options, seed, epochs):
    """The figures of one run on its test split."""
    data = folder / ("pos" if model.startswith("SGMP") else "bare" if "without" in model else "features")
    run = folder / f"run-{list(MODELS).index(model)}-{seed}"
    overrides = [part for option in (*options, *MODELS[model], f"seed={seed}", f"training.max_epochs={epochs}",
                                     "training.patience=1000", "split.test=0") for part in ("-O", option)]
    trained = call(report.PLIMSOLL, "train", RECIPE, "--data", data, "--run", run, "--threads", 1, *overrides)
    judged = call(report.PLIMSOLL, "evaluate", run, "--data", data, "--threads", 1, "--split", "test")["splits"][0]["models"][0]
    return {"accuracy": judged["accuracy"], "auc": judged["auc"], "f1": judged["f1"], "seconds": trained["seconds"]}


def row_of(name, model, runs, metrics):
    """`runs`: the figures of each fold, seed by seed."""
    cells = []
    for metric in metrics:
        of_seeds = [100 * statistics.mean(fold[metric] for fold in of_seed) for of_seed in runs]
        spread = f" ± {statistics.stdev(of_seeds):.1f}" if len(of_seeds) > 1 else ""
        folds = [100 * fold[metric] for of_seed in runs for fold in of_seed]
        cells.append(f"{statistics.mean(of_seeds):.1f}{spread} ({statistics.pstdev(folds):.1f})")
    seconds = statistics.mean(fold["seconds"] for of_seed in runs for fold in of_seed)
    return f"| {name} | {model} | {' | '.join(cells)} | {seconds:.1f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=report.ROOT.parent / "shared" / "data")
    parser.add_argument("--sets", choices=["bzr", "digits"], nargs="+", default=["bzr", "digits"])
    parser.add_argument("--models", choices=MODELS, nargs="+", default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--digits", type=int, default=600)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--title", default="What paths learn")
    arguments = parser.parse_args()
    rows, cases = [], []
    machine = report.machine()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        for name in arguments.sets:
            graphs = molecules(arguments.data) if name == "bzr" else images(arguments.digits)
            labels = [int(data.y) for data in graphs]
            count = arguments.folds if name == "bzr" else 2
            folds = list(StratifiedKFold(count, shuffle=True, random_state=0).split(labels, labels))
            for number, (train, test) in enumerate(folds[:count if name == "bzr" else 1]):
                sets_of(graphs, train, test, Path(scratch) / f"{name}-{number}")
            for model in arguments.models:
                runs = [[pool.submit(judge, Path(scratch) / f"{name}-{number}", model, OPTIONS[name], seed, arguments.epochs)
                         for number in range(count if name == "bzr" else 1)] for seed in range(1, arguments.seeds + 1)]
                cases.append((name, model, runs))
        for name, model, runs in cases:
            found = [[fold.result() for fold in of_seed] for of_seed in runs]
            rows.append(row_of(name, model, found, ("accuracy", "auc") if name == "bzr" else ("accuracy", "f1")))
            print(rows[-1], file=sys.stderr, flush=True)
    text = "\n".join([machine, "", f"{arguments.seeds} seeds, {arguments.epochs} epochs. Mean over seeds ± their standard deviation "
                      "(that over single runs), in %; the second figure is AUC for bzr and F1 for digits.", "",
                      "| set | model | accuracy | AUC or F1 | seconds a run |", "|---|---|---|---|---|", *rows])
    if arguments.results:
        report.write_section(arguments.title, text, arguments.results)
    else:
        print(text)


if __name__ == "__main__":
    main()
