"""plimsoll.split_edges beside the command line."""

import json
import os

import numpy as np
import pytest
from package_data import plimsoll


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    """A list of edges both ways when it is read as undirected."""
    file = tmp_path_factory.mktemp("edges") / "edges.npy"
    np.save(file, np.random.default_rng(1).integers(0, 400, (3000, 2)))
    return file


@pytest.fixture(params=[False, True], ids=["directed", "undirected"])
def graph(request, edges, tmp_path):
    with plimsoll.ingest.graph(edges, tmp_path / "graph", undirected=request.param, dedup=True) as graph:
        yield graph


def test_bytes_and_counts_are_those_of_the_command_line(run, graph, tmp_path):
    for options in ({}, {"valid": 0.1, "test": 0.2, "train": 0.5, "seed": 7}):
        name = f"split{len(options)}"
        seen = []
        made = plimsoll.split_edges(graph, tmp_path / name, **options, progress=lambda *progress: seen.append(progress))
        line = tmp_path / f"{name}-line"
        words = [word for option, value in options.items() for word in (f"--{option}", value)]
        said = json.loads(run("plimsoll", "split-edges", graph.path, "--out", line, "--json", *words))
        names = sorted(os.listdir(line))
        assert sorted(os.listdir(tmp_path / name)) == names
        for file in names:
            assert (tmp_path / name / file).read_bytes() == (line / file).read_bytes(), file
        for count in ("already_there", "undirected", "nodes", "edges", "train_edges", "valid_edges", "test_edges"):
            assert getattr(made, count) == said[count], count
        assert made.graph.num_edges == made.edges < graph.num_edges and seen
        pairs = made.graph.edge_splits
        assert [len(pairs[split]) for split in ("train", "valid", "test")] == [
            made.train_edges, made.valid_edges, made.test_edges]
        for neighbour, node in np.concatenate([pairs["valid"], pairs["test"]]):
            assert neighbour in graph.neighbours(node) and neighbour not in made.graph.neighbours(node)


def test_once_made_it_is_there(graph, tmp_path):
    first = plimsoll.split_edges(graph.path, tmp_path / "split")
    again = plimsoll.split_edges(graph, tmp_path / "split")
    assert again.already_there and again.undirected is None and not first.already_there
    assert (again.nodes, again.edges, again.test_edges) == (first.nodes, first.edges, first.test_edges)
    with pytest.raises(plimsoll.Failure, match="exists already"):
        plimsoll.split_edges(graph, tmp_path / "split", seed=1)
    assert plimsoll.split_edges(graph, tmp_path / "split", seed=1, force=True).graph.num_nodes == first.nodes


def test_what_cannot_be_split_is_refused(graph, tmp_path):
    for options in ({"valid": -0.1}, {"valid": 0.6, "test": 0.6}, {"train": 2}, {"seed": -1}):
        with pytest.raises(plimsoll.UsageError):
            plimsoll.split_edges(graph, tmp_path / "split", **options)
    with pytest.raises(plimsoll.InputError):
        plimsoll.split_edges(tmp_path / "nothing", tmp_path / "split")
    with pytest.raises(plimsoll.BudgetExceeded):
        plimsoll.split_edges(graph, tmp_path / "split", budget=1000)
    assert os.listdir(tmp_path) == ["graph"] and graph.edge_splits == {}
