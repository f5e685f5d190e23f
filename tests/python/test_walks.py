"""plimsoll walks: the same bytes for any budget and threads, steps along neighbours, node2vec's bias."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pytest
from package_data import plimsoll


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walks")
    np.save(folder / "edges.npy", np.random.default_rng(1).integers(0, 60_000, (1_500_000, 2)))
    with plimsoll.ingest.graph(folder / "edges.npy", folder / "graph", undirected=True, dedup=True) as graph:
        yield graph


def made(run, graph, out, *words):
    said = json.loads(run("plimsoll", "walks", graph.path, "--out", out, "--json", *words))
    return said, np.load(out / "walks.npy", mmap_mode="r")


@pytest.mark.parametrize("bias", [(), ("--p", "4", "--q", "0.5")], ids=["uniform", "node2vec"])
def test_bytes_do_not_depend_on_budget_or_threads(run, graph, tmp_path, bias):
    words = ("--length", "6", "--walks", "2", *bias)
    said, walks = made(run, graph, tmp_path / "memory", *words, "--threads", "1", "--budget", "256MiB")
    assert said["in_memory"] and said["walks"] == len(walks) == 2 * graph.num_nodes
    assert walks.dtype == np.uint32 and walks.shape[1] == 7
    assert (walks[:, 0] == np.arange(graph.num_nodes).repeat(2)).all()
    for name, *resources in (("three", "--threads", "3"), ("disk", "--threads", "2", "--budget", "14MiB")):
        said, other = made(run, graph, tmp_path / name, *words, *resources)
        assert said["in_memory"] == (name != "disk")
        assert (other == walks).all(), name
        assert (tmp_path / name / "manifest.json").read_bytes() == (tmp_path / "memory/manifest.json").read_bytes()
    run("plimsoll", "verify", tmp_path / "disk")


def test_steps_are_edges_and_p_and_q_bias_them(run, graph, tmp_path):
    back = {}
    for p in (0.05, 1, 20):
        _, walks = made(run, graph, tmp_path / f"p{p}", "--length", "5", "--walks", "1", "--p", p)
        back[p] = (walks[:, 2:] == walks[:, :-2]).mean()
        for walk in walks[:: len(walks) // 50]:
            for at, to in zip(walk, walk[1:]):
                neighbours = graph.neighbours(int(at))
                assert to in neighbours if len(neighbours) else to == at
    # about 50 neighbours: 1/50, and with 1/p = 20 20/(20 + 49)
    assert back[20] < 0.005 < back[1] < 0.04 and 0.2 < back[0.05] < 0.4


def test_an_output_is_kept_or_refused(run, bin_dir, graph, tmp_path):
    made(run, graph, tmp_path / "out", "--length", "3", "--walks", "1")
    said, _ = made(run, graph, tmp_path / "out", "--length", "3", "--walks", "1")
    assert said["already_there"]
    for words, code, text in (
        (("--length", "4", "--walks", "1"), 1, "holds something else"),
        (("--length", "3", "--p", "0", "--force"), 2, "found p 0"),
    ):
        line = [bin_dir / "plimsoll", "walks", graph.path, "--out", tmp_path / "out", *words]
        result = subprocess.run(list(map(str, line)), capture_output=True, text=True)
        assert result.returncode == code and text in result.stderr, result.stderr
    assert np.load(tmp_path / "out/walks.npy").shape[1] == 4
    assert sorted(os.listdir(tmp_path)) == ["out"]


@pytest.mark.parametrize("resources", [(), ("--budget", "12MiB")], ids=["memory", "disk"])
def test_walks_end_where_leaves_reject_nearly_all_and_at_a_signal(run, bin_dir, tmp_path, resources):
    edges = np.stack([np.zeros(200_000, int), np.arange(1, 200_001)], axis=1)
    np.save(tmp_path / "star.npy", edges)
    np.save(tmp_path / "path.npy", [[0, 1], [1, 2]])
    for name in ("star", "path"):
        run("plimsoll", "ingest", "graph", "--edges", tmp_path / f"{name}.npy", "--layout", "rows", "--undirected", "--dedup",
            "--out", tmp_path / name)
    run("plimsoll", "walks", tmp_path / "path", "--p", "1e9", "--length", 5, "--walks", 1, "--out", tmp_path / "walks",
        *resources)
    assert np.load(tmp_path / "walks/walks.npy").tolist()[0] == [0, 1, 2, 1, 0, 1]
    out = tmp_path / "stopped" / "out"
    process = subprocess.Popen(list(map(str, [bin_dir / "plimsoll", "walks", tmp_path / "star", "--p", "1e9", "--out", out,
                                              *resources])), stderr=subprocess.PIPE)
    while not list(tmp_path.glob("stopped/.out.tmp.*/*")):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == -signal.SIGTERM and time.monotonic() - begin < 3
    assert not (tmp_path / "stopped").exists()
