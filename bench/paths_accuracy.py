#!/usr/bin/env python3
"""What networks of paths learn: SGMP beside convolutions that have coordinates as features.

    bench/paths_accuracy.py LOG [DATA] [--sets bzr digits] [--models NAME ...] [--seeds 5] [--folds 10] [--epochs 30]
                            [--digits 600] [--threads 2] [--options KEY=VALUE ...] [--results FILE] [--title TEXT]

bzr: the molecules of DATA/graph-tu/BZR.zip (default ../shared/data), where atoms lie and what they are. digits: the first images of
scikit-learn's digits; a pixel above a quarter of the scale is a point with its intensity, edges come from its 8 nearest.
SGMP has coordinates as `pos`; GIN and GAT have them as features beside the others, or do without. All train
recipes/sgmp.yaml with the options below and those of --options. A seed draws weights and stratified folds, the same for all models: one fold is
judged, of the others a tenth validates, and the epoch of the least validation loss is judged.

Each run adds a line of JSON to LOG; runs that it has are not done again, so that the same command goes on where it was
stopped. Runs go by seed and fold, all models of each before the next. Prints a table in Markdown of what LOG has; with
--results it becomes the section TITLE of that file, with --table nothing is run.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import report

RECIPE = report.ROOT / "recipes" / "sgmp.yaml"
MODELS = {  # which of the sets a model has, and its options
    "SGMP": ("pos", "model=sgmp", "paths.aggregate=sum"),
    "SGMP, mean of paths": ("pos", "model=sgmp", "paths.aggregate=mean"),
    "SGMP, normalised": ("pos", "model=sgmp", "paths.norm=batch"),
    "SGMP, normalised, mean of nodes": ("pos", "model=sgmp", "paths.norm=batch", "paths.readout=mean"),
    "SGMP, normalised, distances only": ("pos", "model=sgmp", "paths.norm=batch", "paths.distances_only=true"),
    "SGMP, distances only": ("pos", "model=sgmp", "paths.distances_only=true"),
    "SGMP, spanning trees": ("pos", "model=sgmp", "paths.spanning_trees=25"),
    "GIN, coordinates as features": ("features", "model=gnn", "gnn.conv=gin"),
    "GAT, coordinates as features": ("features", "model=gnn", "gnn.conv=gat", "gnn.heads=4"),
    "GIN without coordinates": ("bare", "model=gnn", "gnn.conv=gin"),
}
OPTIONS = ("training.patience=100", "training.batch_size=32", "split.validation=0.1", "split.test=0",
           "gnn.pooling=sum",
           "gnn.hidden=64", "gnn.layers=3", "paths.hidden=32", "paths.layers=2")


def call(*command):
    done = subprocess.run([str(report.PLIMSOLL), *map(str, command), "--json"], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def molecules(data, folder):
    archive = data / "graph-tu" / "BZR.zip"
    call("ingest", "tu", archive, "--positions", "0,1,2", "--out", folder / "pos")
    call("ingest", "tu", archive, "--out", folder / "features")
    call("ingest", "tu", archive, "--node-features", "labels", "--out", folder / "bare")


def images(count, folder):
    from sklearn.datasets import load_digits

    digits = load_digits()
    texts = {"pos": ["graph,x,y,label,intensity"], "features": ["graph,x,y,label,intensity,column,row"]}
    for number, (image, label) in enumerate(zip(digits.images[:count], digits.target[:count])):
        for row, column in zip(*(image > 4).nonzero()):
            point = f"{number},{column},{-row},{label},{image[row, column] / 16}"
            texts["pos"].append(point)
            texts["features"].append(f"{point},{column},{-row}")
    for name, lines in texts.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        call("ingest", "points", folder / f"{name}.csv", "--knn", 8, "--out", folder / name)
    (folder / "bare").symlink_to(folder / "pos")  # convolutions do not read pos


def write_folds(source, seed, folds, to):
    """The sets FOLD/train and FOLD/judged below `to` of a set's stratified folds."""
    import plimsoll
    from sklearn.model_selection import StratifiedKFold

    graph_set = plimsoll.open(source)
    graphs = [graph_set.to_pyg(g) for g in range(len(graph_set))]
    labels = [int(graph.y) for graph in graphs]
    for fold, (train, judged) in enumerate(StratifiedKFold(folds, shuffle=True, random_state=seed).split(labels, labels)):
        for name, chosen in (("train", train), ("judged", judged)):
            plimsoll.from_pyg([graphs[g] for g in chosen], to / str(fold) / name)


def judge(sets, model, seed, arguments):
    overrides = [part for option in (*OPTIONS, *MODELS[model][1:], f"seed={seed}", f"training.max_epochs={arguments.epochs}",
                                *arguments.options)
                 for part in ("-O", option)]
    threads = ("--threads", arguments.threads)
    run = sets / "run"
    trained = call("train", RECIPE, "--data", sets / "train", "--run", run, "--force", *threads, *overrides)
    judged = call("evaluate", run, "--data", sets / "judged", *threads)["splits"][0]["models"][0]
    return {"accuracy": judged["accuracy"], "auc": judged["auc"] if judged["auc"] is not None else judged["f1"],
            "seconds": trained["seconds"]}


def run_all(arguments, done):
    """Adds what is not done to the log, seed by seed and fold by fold."""
    for name in arguments.sets:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch)
            molecules(arguments.data, folder) if name == "bzr" else images(arguments.digits, folder)
            for seed in range(1, arguments.seeds + 1):
                for data in {MODELS[model][0] for model in arguments.models}:
                    write_folds(folder / data, seed, arguments.folds, folder / f"seed-{seed}" / data)
                for fold in range(arguments.folds):
                    for model in arguments.models:
                        what = {"set": name, "model": model, "seed": seed, "fold": fold}
                        if tuple(what.values()) in done:
                            continue
                        found = judge(folder / f"seed-{seed}" / MODELS[model][0] / str(fold), model, seed, arguments)
                        with arguments.log.open("a") as log:
                            log.write(json.dumps(what | found) + "\n")


def row_of(name, model, runs):
    """Mean and standard deviation over runs."""
    cells = [f"{100 * statistics.mean(of):.1f} ± {100 * statistics.pstdev(of):.1f}"
             for of in ([run[what] for run in runs] for what in ("accuracy", "auc"))]
    seconds = statistics.median(run["seconds"] for run in runs)
    return f"| {name} | {model} | {len(runs)} | {' | '.join(cells)} | {seconds:.1f} |"


def read_log(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("data", type=Path, nargs="?", default=report.ROOT.parent / "shared" / "data")
    parser.add_argument("--sets", choices=["bzr", "digits"], nargs="+", default=["bzr", "digits"])
    parser.add_argument("--models", choices=MODELS, nargs="+", default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--digits", type=int, default=600)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--options", nargs="+", default=[], help="of the recipe, for all models")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--title", default="What paths learn")
    arguments = parser.parse_args()
    if not arguments.table:
        run_all(arguments, {(run["set"], run["model"], run["seed"], run["fold"]) for run in read_log(arguments.log)})
    runs, rows = read_log(arguments.log), []
    for name in arguments.sets:
        for model in arguments.models:
            found = [run for run in runs if (run["set"], run["model"]) == (name, model)]
            rows += [row_of(name, model, found)] if found else []
    text = "\n".join([report.machine(), "", "Mean ± standard deviation over runs, one a fold, in %. The second figure is ROC AUC, or macro F1 "
                      "of more than two classes.", "",
                      "| set | model | runs | accuracy | AUC or F1 | median seconds |", "|---|---|---|---|---|---|", *rows])
    if arguments.results:
        report.write_section(arguments.title, text, arguments.results)
    else:
        print(text)


if __name__ == "__main__":
    main()
