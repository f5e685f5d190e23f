"""The budget that `evaluate` and `predict` name when theirs is too small works, and gives the same result."""

import json
import os
import random
import re
import shutil
import subprocess

import numpy as np
import pytest

SMALL = "training: {max_epochs: 1, batch_size: 32}\n"
GIANT = "sampling: {fan_outs: [4, 4]}\n" + SMALL
GRAPHS = "split: {by: graph, validation: 0.3, test: 0.2}\n" + SMALL
PATHS = GRAPHS + "paths: {hidden: 8, layers: 2, tile: 32}\n"
RUNS = {
    "classes": ("trees", "task: graph_classification\n" + GRAPHS + "gnn: {hidden: 32, layers: 3, conv: gatv2}\n"),
    "classes-batch": ("trees", "task: graph_classification\n" + GRAPHS + "gnn: {hidden: 16, layers: 2, conv: sage, norm: batch}\n"),
    "classes-paths": ("trees", "task: graph_classification\nmodel: sgmp\n" + PATHS),
    "nodes": ("trees", "task: node_classification\n" + GRAPHS + "gnn: {hidden: 16, layers: 2, conv: gin}\n"),
    "values": ("trees", "task: graph_regression\n" + GRAPHS + "gnn: {hidden: 16, layers: 2, conv: gcn}\n"),
    "node-values": ("trees", "task: node_regression\n" + GRAPHS + "gnn: {hidden: 64, layers: 2, conv: gat}\n"),
    "tree-classes": ("trees", "task: tree_classification\nmodel: gtmp\n" + PATHS + "fine_tuning: {max_epochs: 1}\n"),
    "tree-growth": ("trees", "task: tree_pretraining\nmodel: gtmp\n" + PATHS),
    "giant-sage": ("giant", "task: node_classification\n" + GIANT + "gnn: {hidden: 16, layers: 2, conv: sage}\n"),
    "giant-gcn": ("giant", "task: node_classification\n" + GIANT + "gnn: {hidden: 64, layers: 2, conv: gcn, jk: cat}\n"),
    "links": ("links", "task: link_prediction\n" + GIANT + "gnn: {hidden: 32, layers: 2, conv: gat}\n"),
    "detection": ("frames", "task: detection\n" + SMALL + "gat: {hidden: 8, layers: 2}\n"),
    "autoencoder": ("frames", "task: autoencoder\n" + SMALL + "vgae: {hidden: [16], latent: 8}\n"),
}


@pytest.fixture(scope="module")
def trained(run, seal, tmp_path_factory):
    """trained(name): the folder of a run, and its data; both are made once."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "data").mkdir()

    def data(kind):
        path = folder / "data" / kind
        if path.exists():
            return path
        if kind == "trees":
            make_trees(path)
            seal(path)
        elif kind == "giant":
            run("plimsoll", "simulate", "graph", "--out", path, "--nodes", "20000", "--features", "8", "--classes", "3")
        elif kind == "links":
            run("plimsoll", "split-edges", data("giant"), "--out", path)
        else:
            run("plimsoll", "simulate", "can", "--out", path, "--frames", "60000", "--seed", "3")
        return path

    def train(name):
        kind, recipe = RUNS[name]
        if not (folder / name).exists():
            (folder / f"{name}.yaml").write_text(recipe)
            run("plimsoll", "train", folder / f"{name}.yaml", "--data", data(kind), "--run", folder / name)
        return folder / name, data(kind)

    return train


def make_trees(folder):
    """A graph_set of trees with positions, classes and targets of graphs and nodes, as a file of columns has it."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(2, 40, 400)
    nodes = int(sizes.sum())
    parents = [np.maximum(0, np.arange(1, n) - 1 - rng.integers(0, 3, n - 1)) for n in sizes]
    pairs = [np.concatenate([np.stack([p, np.arange(1, len(p) + 1)], 1), np.stack([np.arange(1, len(p) + 1), p], 1)]) for p in parents]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = {
        "node_ptr": starts.astype("<i8"), "edge_ptr": np.concatenate([[0], np.cumsum([len(p) for p in pairs])]).astype("<i8"),
        "x": rng.normal(size=(nodes, 4)).astype("<f4"), "edges": np.concatenate(pairs).astype("<i4"),
        "edge_attr": np.zeros((sum(map(len, pairs)), 0), "<f4"), "y": (np.arange(400) % 3).astype("<i8"),
        "node_y": (np.arange(nodes) % 4 - 1).astype("<i8"), "pos": rng.normal(size=(nodes, 3)).astype("<f4"),
        "target": rng.normal(size=(400, 2)).astype("<f4"), "node_target": rng.normal(size=(nodes, 1)).astype("<f4")}
    folder.mkdir()
    for name, values in columns.items():
        np.save(folder / f"{name}.npy", values)
    (folder / "manifest.json").write_text(json.dumps({
        "kind": "graph_set", "format_version": 1, "graphs": 400, "nodes": nodes, "edges": len(columns["edges"]),
        "columns": {name: {"file": f"{name}.npy", "dtype": values.dtype.str, "shape": values.shape, "xxh3": "0"}
                    for name, values in columns.items()},
        "splits": [{"name": "all", "first_graph": 0, "graphs": 400}], "recordings": [],
        "features": {"node": ["a", "b", "c", "d"], "edge": []}, "vocabulary": [], "provenance": {}}))


def options_of(rng, name, verb):
    """Words of a random call."""
    words = ["--threads", str(rng.choice([1, 1, 2, 3]))]
    if verb == "predict":
        if name not in ("autoencoder", "links") and rng.random() < 0.4:
            words.append("--embeddings")
        return words + (["--csv"] if rng.random() < 0.3 else [])
    if name in ("detection", "autoencoder"):
        words += rng.choice([[], ["--calibrate", "0"], ["--split", "validation"]])
    elif name.startswith("giant") or name == "links":
        words += rng.choice([[], ["--split", "valid"]])
    elif rng.random() < 0.3:
        words += ["--split", "validation"]
    return words


def outcome(done, out):
    """What a call leaves: columns of predictions, or the findings."""
    if out.exists():
        return {path.name: path.read_bytes() for path in sorted(out.iterdir())}
    return done.stdout


NAMES = list(RUNS) if os.environ.get("PLIMSOLL_SLOW") else ["classes", "giant-gcn"]


@pytest.mark.parametrize("verb", ["evaluate", "predict"])
@pytest.mark.parametrize("name", NAMES)
def test_what_a_refusal_names_works(bin_dir, trained, tmp_path, name, verb):
    if (name, verb) == ("tree-growth", "predict"):
        pytest.skip("task tree_pretraining makes no predictions for new trees")
    folder, data = trained(name)
    rng = random.Random(f"{name} {verb}")
    words = [verb, folder, "--data", data, *options_of(rng, name, verb)]
    words += ["--out", tmp_path / "out"] if verb == "predict" else ["--json"]

    def call(*budget):
        done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", *words, *budget)], capture_output=True, text=True, timeout=600)
        left = outcome(done, tmp_path / "out")
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        return done, left

    _, expected = call()
    for budget in ("1MiB", f"{rng.choice([45, 50, 55, 60])}MiB"):
        done, left = call("--budget", budget)
        if done.returncode == 0:
            assert left == expected
            continue
        found = re.search(r"smallest budget that works is (\d+) bytes", done.stderr)
        assert done.returncode == 4 and found, done.stderr
        done, left = call("--budget", found[1])
        assert done.returncode == 0, f"{budget}, then {found[1]}: {done.stderr}"
        assert left == expected
