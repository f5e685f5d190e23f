#!/usr/bin/env python3
"""Whether pretraining on trees helps: classes of neurons from pretrained weights, from scratch, by GIN and GraphSAGE, and by
boosted trees on morphometrics.

    bench/gtssl.py LOG [DATA] [--sets rat fly] [--models NAME ...] [--seeds 5] [--folds 5] [--share 1 0.25] [--step 20]
                   [--pretrain 30] [--epochs 30] [--threads 2] [--first-seed 1] [--pretraining KEY=VALUE ...] [--tuning KEY=VALUE ...]
                   [--table] [--results FILE] [--title TEXT]

rat: DATA/tree-neuron-ratcortex, interneurons and principal cells; fly: the types of DATA/tree-neuron-drosophila379 with 12
trees or more. Points are resampled to steps of at most --step; nodes have their radius and how many children they have,
never their type, which gives classes away. Folds are stratified and by slice or file, so that no two reconstructions of one
cell are on both sides. Each fold is judged by models trained on the others, of which a tenth validates; pretraining has the
trees of these others without labels. --share takes that part of the labels in training, with --epochs over its square
root (below a quarter a quarter of them validates, so that classes of two trees do): fewer steps than with all labels, and more
of each tree. Sets take turns, so that a run that is stopped has as many folds of each.

--pretraining and --tuning change keys of the recipe, of pretraining, and of fine-tuning and from scratch. `frozen` is a logistic
regression on what pretrained weights say of a tree, which stay as they are, and `frozen, untrained` on what random ones say.

Each run adds a line of JSON to LOG; runs that it has are not done again, and pretrained weights stay in the folder LOG.weights.
Prints a table in Markdown of what LOG has; with
--results it becomes the section TITLE of that file, with --table nothing is run.
"""

import argparse
import itertools
import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import report

SETS = {"rat": "tree-neuron-ratcortex", "fly": "tree-neuron-drosophila379"}
LEAST = 12  # trees of a type
COMMON = ("training.batch_size=16", "split.test=0", "paths.hidden=32", "paths.layers=2", "training.patience=1000")
FROZEN = ("frozen", "frozen, untrained")
CLASSES = ("task=graph_classification", "training.learning_rate=0.0003")
MODELS = {  # options; None: boosted trees
    "pretrained": CLASSES,
    "from scratch": CLASSES,
    "GIN": (*CLASSES[:1], "model=gnn", "gnn.conv=gin", "gnn.pooling=mean", "training.learning_rate=0.001"),
    "GraphSAGE": (*CLASSES[:1], "model=gnn", "gnn.conv=sage", "gnn.pooling=mean", "training.learning_rate=0.001"),
    "morphometrics": None,
    **dict.fromkeys(FROZEN, (*CLASSES[:1], "training.learning_rate=0")),
}
JUDGED = [model for model in MODELS if model not in FROZEN]


def call(verb, *command):
    done = subprocess.run([str(report.PLIMSOLL), verb, *map(str, command), "--json"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{verb}: exit code {done.returncode}")
    return json.loads(done.stdout)


def read(data, name, step, folder):
    """Graphs of PyTorch Geometric and what must stay together of each."""
    import plimsoll

    source = data / SETS[name]
    made = call("ingest", "swc", source / "swc.tar.zst", "--labels", source / "labels.tsv", "--resample", f"{step}um",
                "--node-features", "radius,children", "--out", folder / name)
    names = members(source / "swc.tar.zst")
    graphs = plimsoll.open(folder / name)
    labels = np.asarray(graphs.y)
    kept = [label for label in range(len(made["classes"])) if (labels == label).sum() >= LEAST]
    chosen = [g for g in range(len(graphs)) if labels[g] in kept]
    trees = [graphs.to_pyg(g) for g in chosen]
    for tree in trees:
        tree.y = tree.y * 0 + kept.index(int(tree.y))
    stems = [names[g].split("/")[-1].split(".")[0] for g in chosen]
    return trees, [stem.split("-")[0] if name == "rat" else stem for stem in stems]


def members(archive):
    import io
    import tarfile

    import zstandard

    with zstandard.open(archive) as stream, tarfile.open(fileobj=io.BytesIO(stream.read())) as files:
        return [file.name.removeprefix("./") for file in files if file.name.endswith(".swc")]


def morphometrics(tree):
    """Numbers of points, branches and ends, lengths, extents, radii, and Sholl's crossings of ten spheres."""
    pos, edges = tree.pos.numpy().astype(float), tree.edge_index.numpy()
    parent, child = edges[:, edges[0] < edges[1]]
    children = np.bincount(parent, minlength=len(pos))
    lengths = np.linalg.norm(pos[child] - pos[parent], axis=1)
    path, depth = np.zeros(len(pos)), np.zeros(len(pos))
    for p, c, length in sorted(zip(parent, child, lengths), key=lambda edge: edge[1]):
        path[c], depth[c] = path[p] + length, depth[p] + (children[p] > 1)
    away = np.linalg.norm(pos - pos[0], axis=1)
    spheres = np.linspace(0, away.max() or 1, 12)[1:-1]
    crossings = [((away[parent] < r) != (away[child] < r)).sum() for r in spheres]
    radius = tree.x.numpy()[:, 0]
    return [len(pos), (children > 1).sum(), (children == 0).sum(), children[0], lengths.sum(), path.max(), path.mean(),
            away.max(), away.mean(), depth.max(), depth.mean(), radius.mean(), radius.max(), *np.ptp(pos, axis=0), *crossings]


def figures(probability, labels):
    from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

    said = probability.argmax(1)
    scores = probability[:, 1] if probability.shape[1] == 2 else probability
    return {"accuracy": accuracy_score(labels, said), "f1": f1_score(labels, said, average="macro"),
            "auc": roc_auc_score(labels, scores, multi_class="ovr")}


def boosted(train, judged, seed):
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(random_state=seed).fit([morphometrics(tree) for tree in train], [int(tree.y) for tree in train])
    return figures(model.predict_proba([morphometrics(tree) for tree in judged]), [int(tree.y) for tree in judged])


def regressed(run, labelled, judged, labels, folder):
    """On the embeddings of a model as it is."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = []
    for data in (labelled, judged):
        call("predict", run, "--data", data, "--out", folder / "said", "--embeddings", "--force")
        rows.append(np.load(folder / "said" / "embedding.npy"))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)).fit(rows[0], labels)
    return model.predict_proba(rows[1])


def share_of(trees, share, seed):
    """A stratified part, of each class two trees at least."""
    rng, kept = np.random.default_rng(seed), []
    labels = np.array([int(tree.y) for tree in trees])
    for label in np.unique(labels):
        of = rng.permutation(np.flatnonzero(labels == label))
        kept += of[:max(2, round(share * len(of)))].tolist()
    return [trees[g] for g in sorted(kept)]


def trained(data, run, seed, epochs, given, *options):
    overrides = [part for option in (*COMMON, *options, f"seed={seed}", f"training.max_epochs={epochs}") for part in ("-O", option)]
    return call("train", report.ROOT / "recipes" / "gtssl.yaml", "--data", data, "--run", run, "--force", "--threads", given.threads, *overrides)


def pretrained(train, judged, kept, seed, epochs, given, folder, *options):
    """The file of weights, and how it judges the growth of trees that it has not seen."""
    weights, figures = kept.with_suffix(".safetensors"), kept.with_suffix(".json")
    if not figures.exists():
        import plimsoll

        plimsoll.from_pyg(train, folder / "unlabelled", force=True)
        run = folder / "pretrained"
        summary = trained(folder / "unlabelled", run, seed, epochs, given, "task=tree_pretraining", "split.validation=0.1", *options)
        growth = call("evaluate", run, "--data", judged)["splits"][0]["models"][0]
        kept.parent.mkdir(exist_ok=True)
        shutil.copy(run / f"seed-{seed}" / "gnn" / "model.safetensors", weights)
        figures.write_text(json.dumps({"pretrain_seconds": summary["seconds"], "growth": growth["growth"], "parent_edge": growth["parent_edge"]}))
    return weights, json.loads(figures.read_text())


def run_fold(name, seed, fold, train, judged, given, done, folder):
    import plimsoll

    kept = given.log.with_suffix(".weights") / f"{name}-{seed}-{fold}"
    plimsoll.from_pyg(judged, folder / "judged")
    for share in given.share:
        labelled = share_of(train, share, seed)
        wanted = [model for model in given.models if (name, model, share, seed, fold) not in done]
        if wanted:
            plimsoll.from_pyg(labelled, folder / "labelled", force=True)
        for model in wanted:
            what = {"set": name, "model": model, "share": share, "seed": seed, "fold": fold}
            if MODELS[model] is None:
                found = boosted(labelled, judged, seed)
            else:
                options = [*MODELS[model], *(given.tuning if model in ("pretrained", "from scratch") else [])]
                if model in ("pretrained", "frozen"):
                    weights, growth = pretrained(train, folder / "judged", kept, seed, given.pretrain, given, folder, *given.pretraining)
                    what |= growth
                    options.append(f"init_from={weights}")
                epochs = 1 if model in FROZEN else round(given.epochs / share**0.5)
                summary = trained(folder / "labelled", folder / "run", seed, epochs, given,
                                  f"split.validation={0.1 if share >= 0.25 else 0.25}", *options)
                if model in FROZEN:
                    probability = regressed(folder / "run", folder / "labelled", folder / "judged", [int(tree.y) for tree in labelled], folder)
                else:
                    call("predict", folder / "run", "--data", folder / "judged", "--out", folder / "said", "--force")
                    probability = np.load(folder / "said" / "probability.npy")
                found = figures(probability, [int(tree.y) for tree in judged])
                found["seconds"] = summary["seconds"]
            with given.log.open("a") as log:
                log.write(json.dumps(what | found) + "\n")


def run_all(given, done):
    from sklearn.model_selection import StratifiedGroupKFold

    with tempfile.TemporaryDirectory() as scratch:
        sets = {name: read(given.data, name, given.step, Path(scratch)) for name in given.sets}
        for name, (trees, groups) in sets.items():
            print(f"{name}: {len(trees)} trees, {sum(len(tree.x) for tree in trees)} nodes, {len(set(groups))} groups", flush=True)
        for seed, fold, name in itertools.product(range(given.first_seed, given.first_seed + given.seeds), range(given.folds), sets):
            trees, groups = sets[name]
            labels = [int(tree.y) for tree in trees]
            folds = StratifiedGroupKFold(given.folds, shuffle=True, random_state=seed).split(labels, labels, groups)
            train, judged = next(itertools.islice(folds, fold, None))
            folder = Path(scratch) / f"{name}-{seed}-{fold}"
            folder.mkdir()
            run_fold(name, seed, fold, [trees[g] for g in train], [trees[g] for g in judged], given, done, folder)
            shutil.rmtree(folder)


def row_of(name, model, share, runs):
    cells = [f"{100 * statistics.mean(of):.1f} ± {100 * statistics.pstdev(of):.1f}"
             for of in ([run[what] for run in runs] for what in ("accuracy", "f1", "auc"))]
    seconds = [run["seconds"] for run in runs if "seconds" in run]
    took = f"{statistics.median(seconds):.1f}" if seconds else ""
    return f"| {name} | {model} | {share:g} | {len(runs)} | {' | '.join(cells)} | {took} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", type=Path)
    parser.add_argument("data", type=Path, nargs="?", default=report.ROOT.parent / "shared" / "data")
    parser.add_argument("--sets", choices=SETS, nargs="+", default=list(SETS))
    parser.add_argument("--models", choices=MODELS, nargs="+", default=JUDGED)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--pretraining", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument("--tuning", nargs="+", default=[], metavar="KEY=VALUE")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--share", type=float, nargs="+", default=[1.0])
    parser.add_argument("--step", type=float, default=20)
    parser.add_argument("--pretrain", type=int, default=30)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--title", default="Classes of neurons")
    given = parser.parse_args()
    runs = [json.loads(line) for line in given.log.read_text().splitlines()] if given.log.exists() else []
    if not given.table:
        run_all(given, {(run["set"], run["model"], run["share"], run["seed"], run["fold"]) for run in runs})
        runs = [json.loads(line) for line in given.log.read_text().splitlines()]
    rows = []
    for name in given.sets:
        for share in given.share:
            for model in given.models:
                found = [run for run in runs if (run["set"], run["model"], run["share"]) == (name, model, share)]
                rows += [row_of(name, model, share, found)] if found else []
    text = "\n".join([report.machine(), "", "Mean ± standard deviation over runs, one a fold, in %.", "",
                      "| set | model | labels | runs | accuracy | macro F1 | AUC | median seconds |",
                      "|---|---|---|---|---|---|---|---|", *rows])
    if given.results:
        report.write_section(given.title, text, given.results)
    else:
        print(text)


if __name__ == "__main__":
    main()
