"""Words about one giant graph: it has nodes, edges and blocks; counts have the right number; splits are counted."""

import json
import subprocess

import pytest

RECIPE = """
task: node_classification
sampling: {fan_outs: [3]}
training: {max_epochs: 1, batch_size: 64, block: {seeds: 32}}
gnn: {conv: sage, layers: 1, hidden: 8}
"""


@pytest.fixture(scope="module")
def say(bin_dir):
    """say(*arguments): what the program prints."""

    def call(*arguments):
        done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", *arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.fixture(scope="module")
def graph(say, tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    say("simulate", "graph", "--nodes", 500, "--features", 4, "--classes", 3, "--out", folder / "graph")
    (folder / "recipe.yaml").write_text(RECIPE)
    return folder


def test_a_plan_counts_blocks_and_not_graphs(say, graph):
    text = say("plan", graph / "recipe.yaml", "--data", graph / "graph")
    assert "blocks/s" in text and "one block may need up to" in text
    assert "graphs/s" not in text and "1 graphs" not in text and "one graph" not in text


def test_a_run_has_the_right_number_of_epochs_and_nodes(say, graph):
    text = say("train", graph / "recipe.yaml", "--data", graph / "graph", "--run", graph / "run")
    assert "best of 1 epoch is 1" in text and "graphs" not in text
    text = say("evaluate", graph / "run", "--data", graph / "graph")
    items = json.loads((graph / "run" / "evaluation.json").read_text())["splits"]
    assert f"{sum(split['items'] for split in items)} nodes in " in text and "graphs in" not in text


def ingest(say, folder, *words):
    (folder / "edges.txt").write_text("0 1\n")
    return say("ingest", "graph", "--edges", folder / "edges.txt", "--ids", "dense", "--node-count", 6, "--out", folder / "out",
               "--force", *words)


def test_one_is_not_many(say, tmp_path):
    text = ingest(say, tmp_path)
    assert "6 nodes (dense IDs) with 0 features, 1 edge with 0, 0 classes" in text and "1 edge read in" in text
    assert "6 nodes with 0 features, 1 edge with 0" in say("inspect", tmp_path / "out")


def test_splits_are_counted_and_overlaps_are_told(say, tmp_path):
    for name, nodes in (("train", "0\n1\n2\n"), ("valid", "2\n"), ("test", "2\n3\n1\n")):
        (tmp_path / f"{name}.txt").write_text(nodes)
    splits = [word for name in ("train", "valid", "test") for word in (f"--{name}", tmp_path / f"{name}.txt")]
    text = ingest(say, tmp_path, *splits)
    assert "train: 3 nodes; valid: 1 node; test: 3 nodes\n" in text
    assert "2 nodes in more than one split" in text
    summary = json.loads(ingest(say, tmp_path, *splits, "--json"))
    assert summary["splits"] == {"train": 3, "valid": 1, "test": 3, "overlapping": 2}
