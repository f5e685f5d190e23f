"""`plimsoll ingest graph --append`: the bytes of one ingest of the old and the new files, for any kind of IDs and nodes."""

import json
import os
import re
import subprocess

import numpy as np
import pytest


@pytest.fixture
def ingest(bin_dir, tmp_path):
    """ingest(name, *arguments): makes a graph, verifies it, gives its folder; with `code`, gives the error instead."""
    program = str(bin_dir / "plimsoll")

    def make(name, *arguments, code=0):
        out = tmp_path / name
        command = [program, "ingest", "graph", "--out", out, *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
        assert done.returncode == code or (code is None and done.returncode in (2, 3)), done.stderr
        if code != 0:
            assert not out.exists()
            assert not list(tmp_path.glob(f".{name}*"))
            return done.stderr
        assert "intact" in subprocess.run([program, "verify", str(out)], capture_output=True, text=True).stdout
        return out

    return make


def content(graph):
    """The bytes of all columns, and the manifest without the provenance, in its order."""
    manifest = json.loads((graph / "manifest.json").read_text())
    del manifest["provenance"]
    return {path.name: path.read_bytes() for path in graph.glob("*.npy")} | {"manifest": json.dumps(manifest)}


def expect_same(appended, whole):
    found, wanted = content(appended), content(whole)
    assert sorted(found) == sorted(wanted)
    assert [name for name in wanted if found[name] != wanted[name]] == [], (found["manifest"], wanted["manifest"])


class Parts:
    """Edges and rows of nodes in parts, of which each brings new nodes, written as texts or arrays."""

    def __init__(self, folder, dice, ids, rows, weighted, spread):
        self.folder, self.dice, self.ids, self.rows, self.weighted = folder, dice, ids, rows, weighted
        self.names, self.known = [], 0
        self.spread = spread  # The features of a part that is not the first.

    def name(self, node):
        if self.ids == "dense":
            return str(node)
        number = (int(node) * 0x9E3779B97F4A7C15 + 7) % (1 << 62)
        return f"n/{number:x}" if self.ids == "text" else str(number)

    def part(self, index, new_nodes, edges, loops=True):
        """Files of one more part: {role: lines or array}."""
        first, self.known = self.known, self.known + new_nodes
        ends = (self.known * self.dice.random((2, edges)) ** 2).astype(np.int64)
        ends = self.known - 1 - ends if index % 2 else ends
        if not loops:
            ends = ends[:, (ends[0] != ends[1]) | (ends[0] >= first)]
        if self.rows == "none" and self.ids == "dense":
            ends = np.concatenate([ends, [[self.known - 1], [0]]], 1)
        values = self.dice.integers(0, 9, (ends.shape[1], 2))
        lines = ["\t".join([self.name(s), self.name(t), *map(str, v[:2 * self.weighted])])
                 for s, t, v in zip(*ends, values, strict=True)]
        x = self.dice.integers(0, 200, (new_nodes, 3)).astype(np.float32)
        x = x if index == 0 else x * np.float32(self.spread)
        part = {"edges": lines, "x": x, "y": self.dice.integers(-1, 3 + index, new_nodes),
                "z": np.where(self.dice.random((new_nodes, 2)) < 0.1, np.nan, 1).astype(np.float32)}
        colours = ["red", "green", ""] + ["blue", "azure"] * (index > 0)
        rows = ["\t".join([self.name(first + i), self.dice.choice(colours),
                           self.dice.choice(["train", "val", "none", "test"]), " ".join(f"{v:g}" for v in x[i])])
                for i in self.dice.permutation(new_nodes)]
        return part | {"nodes": rows, "train": [self.name(n) for n in self.dice.integers(0, self.known, 5)]}

    def arguments(self, name, parts, first):
        """The arguments that name files with all these parts. Those of columns only if `first`."""
        def text(role, header=""):
            path = self.folder / f"{name}-{role}.tsv"
            path.write_text(header + "".join(line + "\n" for part in parts for line in part[role]))
            return path

        def array(role):
            path = self.folder / f"{name}-{role}.npy"
            np.save(path, np.concatenate([part[role] for part in parts]))
            return path

        arguments = ["--edges", text("edges")]
        if first and self.weighted:
            arguments += ["--weight", "2", "--edge-features", "3"]
        if self.rows == "table":
            arguments += ["--nodes", text("nodes", "id\tcolour\tpart\tx\n")]
            if first:
                arguments += ["--label", "colour", "--split", "part", "--node-features", "x"]
        if self.rows == "arrays":
            arguments += ["--features", array("x"), "--labels", array("y"), "--targets", array("z"),
                          "--train", text("train")]
        return arguments


LAYOUTS = [[], ["--direction", "out"], ["--undirected"], ["--undirected", "--dedup"], ["--dedup", "--self-loops", "drop"],
           ["--self-loops", "add"], ["--undirected", "--dedup", "--self-loops", "add"]]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: "".join(layout) or "plain")
@pytest.mark.parametrize("ids", ["dense", "sparse", "text"])
@pytest.mark.parametrize("rows", ["none", "table", "arrays"])
def test_appending_gives_the_bytes_of_one_ingest(ingest, tmp_path, ids, rows, layout):
    if rows == "arrays" and ids != "dense":
        pytest.skip("arrays of nodes need IDs 0 .. V-1")
    dice = np.random.default_rng([len(ids), len(rows), *map(len, layout)])
    parts = Parts(tmp_path, dice, ids, rows, weighted=dice.random() < 0.5, spread=dice.choice([1, -1, 0.5, 1.1]))
    loops = "add" not in layout
    made = [parts.part(0, 120, 900), parts.part(1, 7, 60, loops), parts.part(2, 0, 30, loops),
            parts.part(3, 300, 40, loops)]
    options = ["--ids", ids, *layout, "--budget", "16MiB"]
    before = ingest("graph-0", *parts.arguments("first", made[:1], True), *options)
    for index in range(1, len(made)):
        whole = ingest(f"whole-{index}", *parts.arguments("all", made[:index + 1], True), *options)
        old = content(before)
        after = ingest(f"graph-{index}", "--append", before, "--threads", index,
                       *parts.arguments("more", made[index:index + 1], False))
        expect_same(after, whole)
        assert content(before) == old
        before = after


def test_python_appends_as_the_command_line_does(ingest, tmp_path):
    plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    parts = Parts(tmp_path, np.random.default_rng(4), "text", "table", True, 1)
    made = [parts.part(0, 60, 300), parts.part(1, 9, 40)]
    options = ["--undirected", "--dedup"]
    base = ingest("base", *parts.arguments("first", made[:1], True), *options)
    whole = ingest("whole", *parts.arguments("all", made, True), *options)
    _, edges, _, nodes = parts.arguments("more", made[1:], False)
    table = plimsoll.ingest.NodeTable(nodes)
    graph = plimsoll.ingest.graph(edges, tmp_path / "more", nodes=table, append=base)
    expect_same(tmp_path / "more", whole)
    assert graph.num_nodes == 69
    for wrong, name in [({"undirected": True}, "undirected"), ({"self_loops": "drop"}, "self_loops"),
                        ({"layout": plimsoll.ingest.GraphLayout(ids="text")}, "GraphLayout.ids")]:
        with pytest.raises(plimsoll.UsageError, match=f"append: {name} is that of"):
            plimsoll.ingest.graph(edges, tmp_path / "no", nodes=table, append=base, **wrong)


@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_rounded_features_stay_rounded(ingest, tmp_path, dtype):
    parts = Parts(tmp_path, np.random.default_rng(1), "dense", "arrays", False, 1.1)
    made = [parts.part(0, 50, 100), parts.part(1, 9, 20)]
    made[0]["x"] += np.float32(0.1)
    options = ["--features-dtype", dtype, "--ids", "dense"]
    base = ingest("base", *parts.arguments("first", made[:1], True), *options)
    more = ingest("more", "--append", base, *parts.arguments("more", made[1:], False))
    expect_same(more, ingest("whole", *parts.arguments("all", made, True), *options))


def test_columns_without_changes_are_shared(ingest, tmp_path):
    parts = Parts(tmp_path, np.random.default_rng(2), "text", "table", True, 1)
    base = ingest("base", *parts.arguments("first", [parts.part(0, 80, 200)], True))
    arguments = parts.arguments("more", [parts.part(1, 0, 30)], False)
    more = ingest("more", "--append", base, *arguments[:arguments.index("--nodes")])
    shared = {path.stem for path in more.glob("*.npy") if path.samefile(base / path.name)}
    assert shared == {"x", "y", "node_name", "node_name_ptr", "train_idx", "valid_idx", "test_idx"}
    assert subprocess.run(["chmod", "-R", "u+w", str(base)], check=True)
    for path in base.iterdir():
        path.unlink()
    assert np.load(more / "x.npy").shape == (80, 3)


def test_a_linked_column_stays_a_link(ingest, tmp_path):
    x = np.random.default_rng(3).random((20, 4), np.float32)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "a.tsv").write_text("0 1\n19 3\n")
    (tmp_path / "b.tsv").write_text("4 1\n2 3\n")
    arguments = ["--features", tmp_path / "x.npy", "--link", "--ids", "dense"]
    base = ingest("base", "--edges", tmp_path / "a.tsv", *arguments)
    more = ingest("more", "--append", base, "--edges", tmp_path / "b.tsv")
    expect_same(more, ingest("whole", "--edges", tmp_path / "a.tsv", tmp_path / "b.tsv", *arguments))
    assert (more / "x.npy").samefile(tmp_path / "x.npy")
    np.save(tmp_path / "y.npy", x[:2])
    error = ingest("none", "--append", base, "--edges", tmp_path / "b.tsv", "--features", tmp_path / "y.npy", code=2)
    assert "ingest all edges together" in error


def test_values_of_edges_in_arrays(ingest, tmp_path):
    dice = np.random.default_rng(4)
    names = {}
    for part, edges in {"a": 50, "b": 9, "ab": 59}.items():
        arrays = {"e": dice.integers(0, 30, (edges, 2)), "w": dice.random(edges, np.float32),
                  "f": dice.random((edges, 3), np.float32)}
        if part == "ab":
            arrays = {role: np.concatenate([np.load(names["a"][role]), np.load(names["b"][role])]) for role in "ewf"}
        names[part] = {role: tmp_path / f"{role}-{part}.npy" for role in arrays}
        for role, array in arrays.items():
            np.save(names[part][role], array)

    def arguments(part):
        return ["--edges", names[part]["e"], "--weight", names[part]["w"], "--edge-features", names[part]["f"]]

    base = ingest("base", *arguments("a"), "--node-count", 30)
    assert "--weight" in ingest("none", "--append", base, "--edges", names["b"]["e"], code=2)
    more = ingest("more", "--append", base, *arguments("b"))
    expect_same(more, ingest("whole", *arguments("ab"), "--node-count", 30))


def graph_of(ingest, tmp_path, lines, *options, name="base"):
    (tmp_path / f"{name}.tsv").write_text(lines)
    return ingest(name, "--edges", tmp_path / f"{name}.tsv", *options)


@pytest.mark.parametrize(("options", "more", "given", "code", "words"), [
    ([], "0 x\n", [], 3, r"more.tsv:1:3: found 'x', expected a node ID"),
    ([], "0 007\n", [], 3, r"more.tsv:1:3: found the ID '007', .* --ids text"),
    (["--node-count", "9"], "0 1\n2 9\n", [], 3, r"more.tsv:2:3: found '9', expected a node from 0 to 8.*--node-count"),
    (["--node-count", "9"], "0 1\n", ["--node-count", "5"], 3, r"--node-count 5: .* 9 nodes"),
    ([], "0 1\n", ["--undirected"], 2, r"--undirected is that of .*leave --undirected out"),
    ([], "0 1\n", ["--ids", "sparse"], 2, r"--ids is that of"),
    ([], "0 1\n", ["--order", "degree"], 2, r"--order is that of"),
    ([], "0 1\n", ["--shard", "1/2"], 2, r"leave --shard out"),
    ([], "0 1\n", ["--nodes", "base.tsv"], 2, r"were read without --nodes; leave it out"),
    ([], "0 1 5\n", ["--weight", "2"], 3, r"its edges have no weights; leave out --weight"),
    (["--order", "degree"], "0 1\n", [], 3, r"`--order degree`, so nothing can be appended to it; ingest it with --order none"),
    (["--self-loops", "add"], "1 1\n", [], 3, r"a self-loop of node 1, .* ingest all edges together"),
])
def test_what_cannot_be_appended_is_refused(ingest, tmp_path, options, more, given, code, words):
    base = graph_of(ingest, tmp_path, "0 1\n1 2\n3 1\n", *options)
    before = content(base)
    (tmp_path / "more.tsv").write_text(more)
    given = [tmp_path / part if part.endswith(".tsv") else part for part in given]
    error = ingest("none", "--append", base, "--edges", tmp_path / "more.tsv", *given, code=code)
    assert re.search(words, error), error
    assert content(base) == before


@pytest.mark.parametrize("rows, given, words", [
    ("id\tx\ty\n3\t1\ta\n", ["--label", "y"], "new rows have classes, expected none"),
    ("id\tx\tpart\n3\t1\ttrain\n", ["--split", "part"], "--split: .* give splits as files"),
    ("id\tx\n", ["--node-count", "5"], "there are 2 new nodes; give their rows"),
])
def test_new_rows_with_other_columns_are_refused(ingest, tmp_path, rows, given, words):
    (tmp_path / "edges.tsv").write_text("0\t1\n1\t2\n")
    (tmp_path / "nodes.tsv").write_text("id\tx\n0\t1\n1\t2\n2\t3\n")
    (tmp_path / "more.tsv").write_text("2\t0\n")
    (tmp_path / "rows.tsv").write_text(rows)
    base = ingest("base", "--edges", tmp_path / "edges.tsv", "--nodes", tmp_path / "nodes.tsv", "--node-features", "x")
    error = ingest("none", "--append", base, "--edges", tmp_path / "more.tsv", "--nodes", tmp_path / "rows.tsv", *given, code=None)
    assert re.search(words, error), error


def test_other_folders_are_refused(ingest, bin_dir, tmp_path):
    program = str(bin_dir / "plimsoll")
    edges = tmp_path / "edges.tsv"
    edges.write_text("0 1\n")
    assert "no manifest" not in ingest("none", "--append", tmp_path / "absent", "--edges", edges, code=3)
    shard = ingest("shard", "--edges", edges, "--shard", "1/1", "--ids", "dense")
    subprocess.run([program, "simulate", "graph", "--nodes", "50", "--degree", "3", "--out", tmp_path / "made"], check=True)
    assert "was not made by `plimsoll ingest graph`" in ingest("none", "--append", tmp_path / "made", "--edges", edges, code=3)
    assert shard.exists()


def test_rows_of_nodes_define_the_nodes(ingest, tmp_path):
    (tmp_path / "nodes.tsv").write_text("id\tx\na\t1\nc\t2\n")
    (tmp_path / "edges.tsv").write_text("a\tc\n")
    base = ingest("base", "--edges", tmp_path / "edges.tsv", "--nodes", tmp_path / "nodes.tsv", "--node-features", "x")
    (tmp_path / "more.tsv").write_text("a\tc\na\tb\n")
    error = ingest("none", "--append", base, "--edges", tmp_path / "more.tsv", code=3)
    assert re.search(r"more.tsv:2:.*'b', expected a node that .*base has", error), error
    (tmp_path / "again.tsv").write_text("id\tx\nb\t1\nc\t2\n")
    error = ingest("none", "--append", base, "--edges", tmp_path / "more.tsv", "--nodes", tmp_path / "again.tsv", code=3)
    assert re.search(r"again.tsv:3:.*'c', expected the ID of a new node", error), error
    (tmp_path / "other.tsv").write_text("id\tx\nb\t1 2\n")
    error = ingest("none", "--append", base, "--edges", tmp_path / "more.tsv", "--nodes", tmp_path / "other.tsv", code=3)
    assert "new features of nodes are" in error


@pytest.mark.parametrize("column", ["indices", "indptr", "x"])
def test_a_damaged_base_is_found(ingest, tmp_path, column):
    parts = Parts(tmp_path, np.random.default_rng(5), "dense", "arrays", False, 1)
    base = ingest("base", *parts.arguments("first", [parts.part(0, 40, 200)], True))
    path = base / f"{column}.npy"
    data = bytearray(path.read_bytes())
    data[-12] ^= 1
    path.write_bytes(data)
    error = ingest("none", "--append", base, *parts.arguments("more", [parts.part(1, 3, 20)], False), code=3)
    assert column in error
    assert "make" in error


def test_the_same_appended_again_is_said_so(ingest, bin_dir, tmp_path):
    base = graph_of(ingest, tmp_path, "0 1\n1 2\n")
    (tmp_path / "more.tsv").write_text("2 5\n")
    more = ingest("more", "--append", base, "--edges", tmp_path / "more.tsv")
    before = os.stat(more / "manifest.json").st_mtime_ns
    ingest("more", "--append", base, "--edges", tmp_path / "more.tsv")
    assert os.stat(more / "manifest.json").st_mtime_ns == before
    command = [str(bin_dir / "plimsoll"), "ingest", "graph", "--append", base, "--edges", tmp_path / "more.tsv", "--out", base]
    done = subprocess.run([*map(str, command), "--force"], capture_output=True, text=True)
    assert done.returncode != 0 and (base / "manifest.json").exists(), done.stderr
