#!/usr/bin/env python3
"""What networks of paths learn: SGMP beside convolutions that have coordinates as features.

    bench/paths_accuracy.py [DATA] [--sets bzr digits] [--models NAME ...] [--seeds 10] [--epochs 30] [--digits 600]
                            [--threads 2] [--results FILE] [--title TEXT]

bzr: the molecules of DATA/graph-tu/BZR.zip (default ../shared/data), where atoms lie and what they are. digits: the first images of
scikit-learn's digits; a pixel above a quarter of the scale is a point with its intensity, edges come from its 8 nearest.
SGMP has coordinates as `pos`; GIN and GAT have them as features beside the others, or do without. All train
recipes/sgmp.yaml with the options below. A seed draws weights and a stratified split: a tenth validates, a fifth is
judged, by the epoch of the least validation loss; the splits of a seed are the same for all models. Prints a table in
Markdown; with --results it becomes the section TITLE of that file.
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
    "SGMP": ("pos", "model=sgmp"),
    "SGMP, distances only": ("pos", "model=sgmp", "paths.distances_only=true"),
    "GIN, coordinates as features": ("features", "model=gnn", "gnn.conv=gin"),
    "GAT, coordinates as features": ("features", "model=gnn", "gnn.conv=gat", "gnn.heads=4"),
    "GIN without coordinates": ("bare", "model=gnn", "gnn.conv=gin"),
}
OPTIONS = ("training.patience=100", "training.batch_size=32", "split.validation=0.1", "split.test=0.2", "gnn.pooling=sum",
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


def judge(folder, model, seed, epochs, threads):
    data, *options = MODELS[model]
    overrides = [part for option in (*OPTIONS, *options, f"seed={seed}", f"training.max_epochs={epochs}")
                 for part in ("-O", option)]
    trained = call("train", RECIPE, "--data", folder / data, "--run", folder / "run", "--force", "--threads", threads, *overrides)
    judged = call("evaluate", folder / "run", "--data", folder / data, "--split", "test", "--threads", threads)
    figures = judged["splits"][0]["models"][0]
    print(f"# {folder.name} {model} {seed}: {figures['accuracy']:.4f}", file=sys.stderr, flush=True)
    return figures["accuracy"], figures["auc"] if figures["auc"] is not None else figures["f1"], trained["seconds"]


def row_of(name, model, runs):
    *shares, seconds = zip(*runs)
    cells = [f"{100 * statistics.mean(of):.1f} ± {100 * statistics.pstdev(of):.1f}" for of in shares]
    return f"| {name} | {model} | {' | '.join(cells)} | {statistics.mean(seconds):.1f} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=report.ROOT.parent / "shared" / "data")
    parser.add_argument("--sets", choices=["bzr", "digits"], nargs="+", default=["bzr", "digits"])
    parser.add_argument("--models", choices=MODELS, nargs="+", default=list(MODELS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--digits", type=int, default=600)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--title", default="What paths learn")
    arguments = parser.parse_args()
    machine, rows = report.machine(), []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.sets:
            folder = Path(scratch) / name
            folder.mkdir()
            molecules(arguments.data, folder) if name == "bzr" else images(arguments.digits, folder)
            for model in arguments.models:
                runs = [judge(folder, model, seed, arguments.epochs, arguments.threads)
                        for seed in range(1, arguments.seeds + 1)]
                rows.append(row_of(name, model, runs))
                print(rows[-1], file=sys.stderr, flush=True)
    text = "\n".join([machine, "", f"{arguments.seeds} seeds, {arguments.epochs} epochs; mean ± standard deviation over seeds, in %. "
                      "The second figure is ROC AUC, or macro F1 of more than two classes.", "",
                      "| set | model | accuracy | AUC or F1 | seconds a run |", "|---|---|---|---|---|", *rows])
    if arguments.results:
        report.write_section(arguments.title, text, arguments.results)
    else:
        print(text)


if __name__ == "__main__":
    main()
