"""`plimsoll ingest graph --shard` and `plimsoll merge`: the bytes of one process, for any kind of IDs, edges and nodes."""

import filecmp
import json
import os
import subprocess

import numpy as np
import pytest


def same(a, b):
    files = sorted(path.name for path in a.iterdir())
    assert files == sorted(path.name for path in b.iterdir())
    return filecmp.cmpfiles(a, b, files, shallow=False)[0] == files


class Edges:
    """Three lists of a graph with hubs, repetitions and loops, and what is known of its nodes."""

    def __init__(self, folder, seed=5, nodes=300, edges=4000):
        dice = np.random.default_rng(seed)
        self.folder = folder
        self.ends = (nodes * dice.random((2, edges)) ** 2).astype(np.int64)
        self.values = dice.integers(0, 1000, (edges, 2)).astype(np.float32)
        self.cuts = [slice(0, 500), slice(500, 2600), slice(2600, None)]
        self.nodes, self.dice = nodes, dice

    def texts(self, name_of=str):
        files = []
        for number, cut in enumerate(self.cuts):
            lines = [f"{name_of(s)}\t{name_of(t)}\t{w:g}\t{f:g}" for s, t, (w, f) in
                     zip(*self.ends[:, cut], self.values[cut], strict=True)]
            files.append(self.folder / f"edges-{number}.tsv")
            files[-1].write_text("\n".join(lines) + "\n")
        return ["--edges", *files]

    def arrays(self):
        pairs = [self.ends[:, cut] for cut in self.cuts]
        stored = {"rows": pairs[0].T, "source": pairs[1][0], "target": pairs[1][1], "columns": pairs[2].astype(np.int32),
                  "weight": self.values[:, 0], "features": self.values}
        for name, array in stored.items():
            np.save(self.folder / f"{name}.npy", np.ascontiguousarray(array))
        files = [self.folder / f"{name}.npy" for name in ("rows", "source", "target", "columns")]
        return ["--edges", *files, "--weight", self.folder / "weight.npy", "--edge-features", self.folder / "features.npy"]

    def table(self, name_of=str):
        rows = ["\t".join([name_of(node), self.dice.choice(["red", "green", ""]), self.dice.choice(["train", "val", "none"]),
                           f"{self.dice.integers(100)} {self.dice.integers(100)}"]) for node in self.dice.permutation(self.nodes)]
        (self.folder / "nodes.tsv").write_text("\n".join(["name\tcolour\tpart\tx", *rows]) + "\n")
        return ["--nodes", self.folder / "nodes.tsv", "--label", "colour", "--split", "part", "--node-features", "x"]

    def node_arrays(self):
        np.save(self.folder / "x.npy", self.dice.random((self.nodes, 3), np.float32))
        np.save(self.folder / "y.npy", self.dice.integers(-1, 4, self.nodes))
        np.save(self.folder / "train.npy", np.array([9, 3, 30]))
        return ["--features", self.folder / "x.npy", "--labels", self.folder / "y.npy", "--train", self.folder / "train.npy"]


def large(node):
    return str((int(node) + 1) * 7_000_000_019)


def name(node):
    return f"node {int(node) * 7919 % 1009:x}"


VALUES = ["--weight", 2, "--edge-features", 3]
CASES = {
    "dense": lambda e: [*e.texts(), "--ids", "dense"],
    "dense, values": lambda e: [*e.texts(), *VALUES, "--ids", "dense", "--undirected", "--dedup", "--self-loops", "add"],
    "dense, nodes": lambda e: [*e.texts(), *e.node_arrays(), "--ids", "dense", "--direction", "out", "--self-loops", "drop"],
    "auto is dense": lambda e: [*e.texts(), *VALUES],
    "auto is sparse": lambda e: [*e.texts(large), *VALUES, "--dedup"],
    "sparse, nodes": lambda e: [*e.texts(large), *e.table(large), "--ids", "sparse"],
    "auto is text": lambda e: [*e.texts(name), *VALUES],
    "text, nodes": lambda e: [*e.texts(name), *e.table(name), "--undirected"],
    "table of dense": lambda e: [*e.texts(), *e.table(), "--ids", "dense"],
    "arrays": lambda e: [*e.arrays(), "--ids", "dense", "--node-count", 300],
    "arrays, nodes": lambda e: [*e.arrays(), *e.node_arrays()],
    "degree": lambda e: [*e.texts(), *VALUES, "--ids", "dense", "--order", "degree"],
    "text, degree": lambda e: [*e.texts(name), "--order", "degree"],
    "partition": lambda e: [*e.arrays(), "--order", "partition", "--undirected"],
}


@pytest.mark.parametrize("case", CASES)
def test_shards_of_edges_make_the_bytes_of_one_process(run, tmp_path, case):
    words = CASES[case](Edges(tmp_path))
    make = ("plimsoll", "ingest", "graph", *words)
    run(*make, "--out", tmp_path / "whole")
    assert "intact" in run("plimsoll", "verify", tmp_path / "whole")
    run(*make, "--out", tmp_path / "1", "--shard", "1/1")
    assert same(tmp_path / "whole", tmp_path / "1")
    for shards in (2, 3, 4):
        parts = [tmp_path / f"{number}-of-{shards}" for number in range(1, shards + 1)]
        for number, part in enumerate(parts, start=1):
            run(*make, "--out", part, "--shard", f"{number}/{shards}", "--threads", number)
        made = json.loads(run("plimsoll", "merge", *reversed(parts), "--out", tmp_path / f"merged-{shards}", "--json"))
        assert made["kind"] == "graph" and made["rows"] == len(np.load(tmp_path / "whole" / "indices.npy"))
        assert same(tmp_path / "whole", tmp_path / f"merged-{shards}")
    again = json.loads(run("plimsoll", "merge", *parts, "--out", tmp_path / "merged-4", "--json"))
    assert again["already_there"]


@pytest.mark.parametrize("ids", ["dense", "sparse"])
def test_a_shard_has_the_same_bytes_in_little_memory(run, tmp_path, ids):
    edges = np.random.default_rng(2).integers(0, 300_000, (2_000_000, 2), dtype=np.int32)
    for half in (0, 1):
        np.save(tmp_path / f"{half}.npy", edges[half::2])
    make = ("plimsoll", "ingest", "graph", "--edges", tmp_path / "0.npy", tmp_path / "1.npy", "--ids", ids)
    run(*make, "--out", tmp_path / "whole")
    for number in (1, 2):
        run(*make, "--out", tmp_path / f"part-{number}", "--shard", f"{number}/2")
        run(*make, "--out", tmp_path / f"small-{number}", "--shard", f"{number}/2", "--budget", "18MiB")
        assert same(tmp_path / f"part-{number}", tmp_path / f"small-{number}")
        run("plimsoll", "verify", tmp_path / f"part-{number}")
    run("plimsoll", "merge", tmp_path / "part-1", tmp_path / "part-2", "--out", tmp_path / "merged", "--budget", "18MiB")
    assert same(tmp_path / "whole", tmp_path / "merged")


@pytest.fixture
def merge_error(bin_dir, tmp_path):
    def error(*shards):
        command = [bin_dir / "plimsoll", "merge", *shards, "--out", tmp_path / "merged"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        assert done.returncode == 3 and not (tmp_path / "merged").exists(), done.stderr
        return done.stderr

    return error


def test_a_missing_foreign_or_damaged_shard_is_named(run, tmp_path, merge_error):
    words = Edges(tmp_path).texts()
    for number, options in ((1, []), (2, []), (3, []), (3, ["--dedup"])):
        run("plimsoll", "ingest", "graph", *words, *options, "--shard", f"{number}/3", "--out",
            tmp_path / f"{number}{''.join(options)}")
    one, two, three, foreign = (tmp_path / part for part in ("1", "2", "3", "3--dedup"))
    assert "shard 2/3 is missing" in merge_error(one, three)
    assert f"{foreign} is not a shard of the set of {one}" in merge_error(one, two, foreign)
    assert "are both shard 2/3" in merge_error(one, two, two, three)
    data = bytearray((two / "edges.npy").read_bytes())
    data[-1] ^= 1
    (two / "edges.npy").write_bytes(data)
    assert f"{two}: column 'edges' has the checksum" in merge_error(one, two, three)


def test_a_run_that_lies_is_refused(run, tmp_path, merge_error, seal):
    """Checksums of a shard that was made to look whole."""
    words = [*Edges(tmp_path).texts(), "--ids", "dense"]
    for number in (1, 2):
        run("plimsoll", "ingest", "graph", *words, "--shard", f"{number}/2", "--out", tmp_path / str(number))
    whole = np.load(tmp_path / "2" / "edges.npy")
    lies = [("ends inside a record", np.concatenate([whole, [0x80]])), ("ends inside a record", np.full(50, 0xFF)),
            ("found an edge of node", np.concatenate([whole, [0xFF] * 7 + [1]]))]
    for found, bytes_of in lies:
        manifest = json.loads((tmp_path / "2" / "manifest.json").read_text())
        manifest["columns"]["edges"]["shape"] = [len(bytes_of)]
        (tmp_path / "2" / "manifest.json").write_text(json.dumps(manifest))
        np.save(tmp_path / "2" / "edges.npy", bytes_of.astype(np.uint8))
        seal(tmp_path / "2")
        assert found in merge_error(tmp_path / "1", tmp_path / "2")


@pytest.mark.parametrize("order", ["none", "degree"])
def test_a_shard_that_counts_too_few_nodes_is_refused(run, tmp_path, merge_error, order):
    words = [*Edges(tmp_path).texts(), "--ids", "dense", "--order", order]
    for number in (1, 2):
        run("plimsoll", "ingest", "graph", *words, "--shard", f"{number}/2", "--out", tmp_path / str(number))
        path = tmp_path / str(number) / "manifest.json"
        manifest = json.loads(path.read_text())
        manifest["edges"]["ids_end"] = 5
        path.write_text(json.dumps(manifest))
    error = merge_error(tmp_path / "1", tmp_path / "2")
    assert "found an edge of node" in error and "make the shards again" in error


def test_an_edge_of_no_node_is_named_by_its_line(run, bin_dir, tmp_path, merge_error):
    (tmp_path / "a.txt").write_text("5 9\n9 5\n")
    (tmp_path / "b.txt").write_text("5 5\n9 7\n")
    (tmp_path / "nodes.csv").write_text("id,a\n5,1\n9,1\n")
    make = ("plimsoll", "ingest", "graph", "--edges", tmp_path / "a.txt", tmp_path / "b.txt", "--nodes", tmp_path / "nodes.csv",
            "--ids", "sparse")
    for number in (1, 2):
        run(*make, "--shard", f"{number}/2", "--out", tmp_path / str(number))
    error = merge_error(tmp_path / "1", tmp_path / "2")
    assert "b.txt:2:3: found '7'" in error and "nodes.csv" in error
    (tmp_path / "b.txt").write_text("5 5\n9 9\n")  # where the line was
    error = merge_error(tmp_path / "1", tmp_path / "2")
    assert "nodes.csv: has no row for a node" in error and "again" in error
    assert not list(tmp_path.glob(".merged*"))


def test_a_name_that_is_not_utf_8_is_refused(bin_dir, tmp_path):
    odd = os.fsencode(tmp_path) + b"/stra\xdfe.csv"
    with open(odd, "wb") as file:
        file.write(b"0,1\n1,2\n")
    make = (bin_dir / "plimsoll", "ingest", "graph", "--edges", odd, "--shard", "1/2", "--out", tmp_path / "1")
    done = subprocess.run(make, capture_output=True, text=True, errors="replace")
    assert done.returncode == 3 and "UTF-8" in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [os.path.basename(os.fsdecode(odd))]
