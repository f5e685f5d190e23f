"""`plimsoll ingest graph` against NumPy: the same rows of neighbours, values and IDs, on made-up and real lists."""

import gzip
import json
import subprocess

import numpy as np
import pytest
import scipy.sparse

from cgroup import MemoryCgroup


@pytest.fixture(scope="module")
def ingest(bin_dir):
    """ingest(out, *arguments): makes a graph, verifies it and gives its columns and manifest."""
    program = str(bin_dir / "plimsoll")

    def make(out, *arguments, code=0):
        command = [program, "ingest", "graph", "--out", out, "--force", *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        if code:
            assert not out.exists()
            return done.stderr
        assert "intact" in subprocess.run([program, "verify", str(out)], capture_output=True, text=True).stdout
        columns = {path.stem: np.load(path) for path in out.glob("*.npy")}
        return columns, json.loads((out / "manifest.json").read_text())

    return make


def oracle(source, target, values, ids, direction="in", undirected=False, dedup=False, loops="keep", order="none",
           shown=None):
    """Rows of neighbours as a list of (indptr, indices, values, node_id), by sorting all in memory; `shown` are the IDs
    in an order that is not made here."""
    if loops == "drop":
        keep = source != target
        source, target, values = source[keep], target[keep], values[keep]
    row, neighbour = (target, source) if direction == "in" else (source, target)
    if undirected:  # the way back stands after each edge, so that order among equals is that of the input
        both = np.stack([np.ones(len(row), bool), row != neighbour], 1).ravel()
        row, neighbour = (np.stack([row, neighbour], 1).ravel()[both], np.stack([neighbour, row], 1).ravel()[both])
        values = np.repeat(values, 2, axis=0)[both]
    shown = np.asarray(ids if shown is None else shown)
    if order == "degree":
        degrees = np.bincount(np.searchsorted(shown, neighbour), minlength=len(ids))
        shown = shown[np.lexsort((np.arange(len(ids)), -degrees))]
    place = np.argsort(shown)
    row, neighbour = (place[np.searchsorted(ids, ends)] for ends in (row, neighbour))
    if loops == "add":
        missing = np.setdiff1d(np.arange(len(ids)), row[row == neighbour])
        row, neighbour = np.concatenate([row, missing]), np.concatenate([neighbour, missing])
        loop = np.eye(1, values.shape[1], dtype=values.dtype) if values.shape[1] else np.zeros((1, 0), values.dtype)
        values = np.concatenate([values, np.repeat(loop, len(missing), axis=0)])
    rank = np.lexsort((np.arange(len(row)), neighbour, row))
    if dedup and len(rank):
        pairs = np.stack([row[rank], neighbour[rank]], 1)
        rank = rank[np.concatenate([[True], (pairs[1:] != pairs[:-1]).any(1)])]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row[rank], minlength=len(ids)))])
    return indptr, neighbour[rank], values[rank], shown


def expect(columns, wanted, weighted=False):
    indptr, indices, values, _ = wanted
    np.testing.assert_array_equal(columns["indptr"], indptr)
    np.testing.assert_array_equal(columns["indices"], indices)
    if weighted:
        np.testing.assert_array_equal(columns["edge_weight"], values[:, 0])
        np.testing.assert_array_equal(columns["edge_attr"], values[:, 1:])


def random_edges(seed, nodes, edges):
    """Ends with hubs, repetitions and loops; a weight and a feature each."""
    dice = np.random.default_rng(seed)
    ends = (nodes * dice.random((2, edges)) ** 2).astype(np.int64)
    return ends[0], ends[1], dice.integers(0, 1000, (edges, 2)).astype(np.float32)


def write_table(path, *columns, header=None, separator="\t"):
    lines = [separator.join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join(([separator.join(header)] if header else []) + lines) + "\n")
    return path


OPTIONS = [{}, {"direction": "out"}, {"undirected": True}, {"dedup": True}, {"loops": "drop"}, {"loops": "add"},
           {"order": "degree"}, {"undirected": True, "dedup": True, "loops": "add", "order": "degree"},
           {"order": "frequency"}, {"undirected": True, "dedup": True, "loops": "add", "order": "frequency"},
           {"direction": "out", "loops": "drop", "order": "partition"}]


def words(direction="in", undirected=False, dedup=False, loops="keep", order="none"):
    return ["--direction", direction, "--self-loops", loops, "--order", order,
            *["--undirected"] * undirected, *["--dedup"] * dedup]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
@pytest.mark.parametrize("ids", ["dense", "sparse", "text"])
def test_any_list_gives_the_rows_that_numpy_gives(ingest, tmp_path, ids, options):
    source, target, values = random_edges(len(options), 60, 500)
    if ids == "dense":
        names = np.arange(60)
    else:
        names = np.unique(np.concatenate([source, target]))
        numbers = np.sort(np.random.default_rng(3).integers(0, 1 << 62, 60))[names]
        source, target = (numbers[np.searchsorted(names, ends)] for ends in (source, target))
        names = numbers
    if ids == "text":
        names = np.array([f"node {number:x}" for number in names])
        order = np.argsort(names)
        source, target = (np.array([f"node {number:x}" for number in ends]) for ends in (source, target))
        names = names[order]
    edges = write_table(tmp_path / "edges.tsv", source, target, values[:, 0], values[:, 1])
    columns, manifest = ingest(tmp_path / "graph", "--edges", edges, "--weight", 2, "--edge-features", 3,
                               *["--node-count", 60] * (ids == "dense"), *words(**options))
    shown = columns.get("node_id", np.arange(len(names)))
    if ids == "text":
        ends = columns["node_name_ptr"]
        table = [bytes(columns["node_name"][a:b]).decode() for a, b in zip(ends[:-1], ends[1:], strict=True)]
        assert table == sorted(names)
        shown = np.array(table)[shown]
    by_edges = options.get("order") in ("frequency", "partition")
    wanted = oracle(source, target, values, names, **options, shown=shown if by_edges else None)
    expect(columns, wanted, weighted=True)
    assert manifest["direction"] == options.get("direction", "in")
    np.testing.assert_array_equal(shown, wanted[3])
    np.testing.assert_array_equal(np.sort(shown), names)
    assert ("node_id" in columns) == (ids == "sparse" or "order" in options)


def often_sampled(indptr, indices, fan_outs=(15, 10, 5)):
    """In how many samples a node is expected, where all are seeds: SciPy's product of matrices, in double precision."""
    degrees = np.diff(indptr)
    matrix = scipy.sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(degrees), len(degrees)))
    at, total = np.ones(len(degrees)), np.zeros(len(degrees))
    for fan_out in fan_outs:
        at = matrix.T @ (at * np.minimum(1, fan_out / np.maximum(degrees, 1)))
        total += at
    return total


@pytest.mark.parametrize("budget", ["64MiB", "1GiB"])
def test_nodes_that_are_sampled_most_are_first(ingest, tmp_path, budget):
    source, target, _ = random_edges(9, 30_000, 400_000)
    np.save(tmp_path / "edges.npy", np.stack([source, target], 1))
    columns, _ = ingest(tmp_path / "graph", "--edges", tmp_path / "edges.npy", "--order", "frequency", "--budget", budget)
    often = often_sampled(columns["indptr"], columns["indices"])
    assert (often[1:] <= often[:-1] * (1 + 1e-4) + 1e-6).all() and often[0] > 20 * np.median(often)
    by_degree, _ = ingest(tmp_path / "degree", "--edges", tmp_path / "edges.npy", "--order", "degree")
    assert not np.array_equal(columns["node_id"], by_degree["node_id"])


@pytest.mark.parametrize("budget", ["64MiB", "1GiB"])
def test_parts_lie_together(ingest, tmp_path, budget):
    """Four groups of 16,384 nodes, shuffled, each of neighbours on a line, and a tenth of edges anywhere."""
    dice = np.random.default_rng(11)
    nodes = 4 * 16384
    source = np.repeat(np.arange(nodes), 8)
    near = source // 16384 * 16384 + (source % 16384 + dice.integers(1, 50, len(source))) % 16384
    target = np.where(dice.random(len(source)) < 0.1, dice.integers(0, nodes, len(source)), near)
    names = dice.permutation(nodes)
    np.save(tmp_path / "edges.npy", names[np.stack([source, target], 1)])
    cut = {}
    for order in ("none", "partition"):
        columns, _ = ingest(tmp_path / order, "--edges", tmp_path / "edges.npy", "--undirected", "--dedup", "--order", order,
                            "--budget", budget)
        row = np.repeat(np.arange(nodes), np.diff(columns["indptr"]))
        cut[order] = np.mean(row // 16384 != columns["indices"] // 16384)
    assert cut["none"] > 0.7 and cut["partition"] < 0.4


def test_all_forms_of_a_list_are_one_graph(ingest, tmp_path):
    source, target, _ = random_edges(5, 40, 300)
    wanted = oracle(source, target, np.zeros((300, 0), np.float32), np.arange(40))
    plain = write_table(tmp_path / "plain.txt", source, target, separator=" ")
    forms = {"blanks": [plain], "commas": [write_table(tmp_path / "a.csv", source, target, separator=",")],
             "header": [write_table(tmp_path / "h.csv", source, target, header=["from", "to"], separator=",")]}
    snap = tmp_path / "snap.txt"
    snap.write_text("# Directed graph\n# FromNodeId\tToNodeId\r\n" +
                    "".join(f"{a}\t{b}\r\n" for a, b in zip(source, target, strict=True)))
    forms["snap"] = [snap]
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(plain.read_bytes()))
    forms["gzip"] = [tmp_path / "a.txt.gz"]
    halves = [write_table(tmp_path / f"{part}.tsv", source[at], target[at])
              for part, at in (("one", slice(0, 100)), ("two", slice(100, None)))]
    forms["two files"] = halves
    arrays = {"rows": np.stack([source, target], 1), "columns": np.stack([source, target]).astype(np.int32),
              "s": source.astype(np.uint32), "t": target.astype(np.uint32)}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", np.ascontiguousarray(array))
    forms |= {"rows": [tmp_path / "rows.npy"], "columns": [tmp_path / "columns.npy"],
              "vectors": [tmp_path / "s.npy", tmp_path / "t.npy"]}
    for name, files in forms.items():
        columns, _ = ingest(tmp_path / name.replace(" ", "_"), "--edges", *files, "--node-count", 40)
        expect(columns, wanted)


@pytest.mark.parametrize("ids", ["dense", "sparse", "text"])
def test_budgets_and_threads_change_no_byte(ingest, tmp_path, ids):
    source, target, values = random_edges(7, 30_000, 400_000)
    if ids == "sparse":
        source, target = source * 7_000_000_019 % (1 << 50), target * 7_000_000_019 % (1 << 50)
    if ids == "text":
        source, target = (np.char.add("https://example.org/page/", ends.astype(str)) for ends in (source, target))
    edges = write_table(tmp_path / "edges.tsv", source, target, values[:, 0])
    order = ["--order", "degree"] if ids != "dense" else []
    first = None
    for budget, threads in (("2GiB", 2), ("18MiB", 1), ("32MiB", 3)):
        ingest(tmp_path / "graph", "--edges", edges, "--weight", 2, "--budget", budget, "--threads", threads, *order,
               "--undirected")
        found = {path.name: path.read_bytes() for path in (tmp_path / "graph").iterdir()}
        first = first or found
        assert found == first, f"budget {budget}"


def test_a_list_larger_than_the_memory_there_is_ends_without_a_kill(bin_dir, tmp_path):
    edges = np.random.default_rng(2).integers(0, 300_000, (6_000_000, 2), dtype=np.int32)
    np.save(tmp_path / "edges.npy", edges)
    command = [str(bin_dir / "plimsoll"), "ingest", "graph", "--edges", str(tmp_path / "edges.npy"), "--undirected",
               "--force", "--out", str(tmp_path / "out")]
    try:
        group = MemoryCgroup(36 << 20)  # 96 MB of keys
    except OSError as error:
        pytest.skip(f"no memory cgroup of our own to be had: {error}")
    with group:
        subprocess.run([*command, "--budget", "20MiB"], check=True, capture_output=True, preexec_fn=group.join)
        assert group.kills() == 0
    short = (tmp_path / "out" / "manifest.json").read_bytes()
    subprocess.run(command, check=True, capture_output=True)
    assert (tmp_path / "out" / "manifest.json").read_bytes() == short


def test_a_made_up_graph_can_be_learned_from_neighbours(run, tmp_path):
    run("plimsoll", "simulate", "graph", "--nodes", 20_000, "--degree", 20, "--features", 32, "--classes", 8, "--out",
        tmp_path / "out")
    assert "intact" in run("plimsoll", "verify", tmp_path / "out")
    assert "20,000 nodes" in run("plimsoll", "inspect", tmp_path / "out")
    load = {path.stem: np.load(path) for path in (tmp_path / "out").glob("*.npy")}
    x, y, train, test, degrees = (load[name] for name in ("x", "y", "train_idx", "test_idx", "indptr"))
    degrees = np.diff(degrees)
    means = np.zeros_like(x)
    np.add.at(means, np.repeat(np.arange(len(y)), degrees), x[load["indices"]])
    means /= np.maximum(degrees, 1)[:, None]

    def accuracy(features):  # of the class whose mean is nearest
        centres = np.stack([features[train][y[train] == c].mean(0) for c in range(8)])
        return ((features[test] @ centres.T - (centres**2).sum(1) / 2).argmax(1) == y[test]).mean()

    assert 0.3 < accuracy(x) < 0.65
    assert accuracy(means) > 0.8


def test_features_labels_and_splits_follow_their_nodes(ingest, tmp_path):
    dice = np.random.default_rng(11)
    ids = dice.permutation(5000)[:200] + 3
    x = dice.integers(0, 1000, (200, 3)).astype(np.float32)
    labels = dice.choice(["red", "green, pale", "blue", ""], 200)
    splits = dice.choice(["train", "val", "test", "none"], 200)
    source, target = dice.choice(ids, 900), dice.choice(ids, 900)
    edges = write_table(tmp_path / "edges.csv", source, target, separator=",")
    table = write_table(tmp_path / "nodes.csv", ids, x[:, 0], [f"{b:g} {c:g}" for _, b, c in x],
                        [f'"{label}"' for label in labels], splits,
                        header=["id", "size", "more", "colour", "part"], separator=",")
    for order in ("none", "degree"):
        columns, manifest = ingest(tmp_path / order, "--edges", edges, "--nodes", table, "--label", "colour", "--split",
                                   "part", "--node-features", "size,more", "--order", order)
        expect(columns, oracle(source, target, np.zeros((900, 0), np.float32), np.sort(ids), order=order))
        place = np.array([np.flatnonzero(ids == shown)[0] for shown in columns["node_id"]])
        np.testing.assert_array_equal(columns["x"], x[place])
        assert manifest["class_names"] == ["blue", "green, pale", "red"]
        assert manifest["features"]["node"] == ["size", "more_0", "more_1"]
        assert [(manifest["class_names"] + [""])[y] for y in columns["y"]] == list(labels[place])
        for column, word in (("train_idx", "train"), ("valid_idx", "val"), ("test_idx", "test")):
            np.testing.assert_array_equal(columns[column], np.flatnonzero(splits[place] == word))


def test_arrays_of_nodes_and_files_of_splits(ingest, tmp_path):
    source, target, _ = random_edges(5, 40, 300)
    edges = write_table(tmp_path / "edges.tsv", source, target)
    x = np.random.default_rng(0).random((40, 5), np.float32)
    y = np.random.default_rng(1).integers(-1, 4, 40)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y.astype(np.int32))
    np.save(tmp_path / "train.npy", np.array([9, 3, 3, 30]))
    (tmp_path / "test.txt").write_text("39\n0\n")
    for order in ("none", "degree"):
        columns, manifest = ingest(tmp_path / order, "--edges", edges, "--features", tmp_path / "x.npy", "--labels",
                                   tmp_path / "y.npy", "--train", tmp_path / "train.npy", "--test",
                                   tmp_path / "test.txt", "--order", order)
        shown = columns.get("node_id", np.arange(40))
        np.testing.assert_array_equal(columns["x"], x[shown])
        np.testing.assert_array_equal(columns["y"], y[shown])
        assert sorted(shown[columns["train_idx"]]) == [3, 9, 30]
        assert sorted(shown[columns["test_idx"]]) == [0, 39]
        assert "valid_idx" not in columns and manifest["classes"] == 4


BAD = {
    "unknown": ("0 1\n2 3\n1 7\n", ["--node-count", 4], [":3:3:", "found '7'", "from 0 to 3"]),
    "unknown source": ("0 1\n9 3\n", ["--node-count", 4], [":2:1:", "found '9'"]),
    "negative": ("# c\n0 1\n-2 3\n", [], [":3:1:", "found '-2'", "from 0"]),
    "text": ("0 1\n2 3\n1 x7\n", [], [":3:3:", "found 'x7'", "--ids text"]),
    "short": ("0 1\n2\n", [], [":2:", "2 fields"]),
    "weight": ("0 1 0.5\n1 2 nan\n", ["--weight", 2], [":2:5:", "'nan'", "finite"]),
    "feature": ("0 1 0.5\n1 2 1e99\n", ["--edge-features", 2], [":2:5:", "'1e99'"]),
    "text after a quote": ('"1"2,3\n', [], [":1:4:", "'2,3'", "quote"]),
    "open quote": ('1,"b,0.5\n', ["--ids", "text"], [":1:3:", "quote"]),
    "long": (f"1 {'b' * 65537}\n", ["--ids", "text"], [":1:3:", "65536"]),
    "empty": ("# nothing\n", [], ["edges.txt", "only comments"]),
}


def test_weights_of_another_shape_are_refused(ingest, tmp_path):
    np.save(tmp_path / "edges.npy", np.array([[0, 1], [1, 2], [2, 0]]))
    for shape, code in (((3, 3), 3), ((3, 1, 1), 3), ((2,), 3), ((3, 1), 0)):
        np.save(tmp_path / "weights.npy", np.arange(np.prod(shape), dtype=np.float32).reshape(shape))
        options = ("--edges", tmp_path / "edges.npy", "--weight", tmp_path / "weights.npy")
        if code == 0:
            assert ingest(tmp_path / "out", *options)[0]["edge_weight"].tolist() == [2, 0, 1]  # by target
        else:
            assert "weights.npy: has" in ingest(tmp_path / "out", *options, code=code)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_edge_is_named_by_its_line(ingest, tmp_path, name):
    text, options, found = BAD[name]
    edges = tmp_path / "edges.txt"
    edges.write_text(text)
    error = ingest(tmp_path / "out", "--edges", edges, *options, code=3)
    for word in [str(edges), *found]:
        assert word in error
    assert not list(tmp_path.glob(".out*"))


BAD_NODES = {
    "unknown": ("id,a\n5,1\n9,1\n", [["edges.txt:2:3:", "found '7'", "nodes.csv"]], []),
    "again": ("id,a\n5,1\n9,1\n7,1\n9,2\n", [["nodes.csv:5:", "line 3"]], []),
    "nan": ("id,a\n5,1\n9,nan\n7,1\n", [["nodes.csv:3:3:", "'nan'"]], ["--node-features", "a"]),
    "width": ("id,a\n5,1\n9,1 2\n7,1\n", [["nodes.csv:3:", "1 features"]], ["--node-features", "a"]),
    "text": ("id,a\n5,1\nx,1\n7,1\n", [["nodes.csv:3:1:", "'x'", "--ids text"]], []),
    "commented": ("# made by hand\n\nid,a\n5,1\n9,1\n7,1\n9,2\n", [["nodes.csv:7:", "line 5"]], []),
    "quote": ('id,a\n5,1\n9,"1"x\n', [["nodes.csv:3:6:", "'x'", "quote"]], ["--label", "a"]),
    "latin-1": ("id,a\n5,1\n9,gr\udcfcn\n", [["nodes.csv:3:3:", "a label in UTF-8"]], ["--label", "a"]),
    "split": ("id,a\n5,train\n9,1\n7,test\n", [["nodes.csv:3:3:", "'1'", "train"]], ["--split", "a"]),
}


@pytest.mark.parametrize("name", BAD_NODES)
def test_a_bad_row_of_nodes_is_named_by_its_line(ingest, tmp_path, name):
    text, [found], options = BAD_NODES[name]
    (tmp_path / "edges.txt").write_text("5 9\n9 7\n7 5\n")
    (tmp_path / "nodes.csv").write_text(text, errors="surrogateescape")
    error = ingest(tmp_path / "out", "--edges", tmp_path / "edges.txt", "--nodes", tmp_path / "nodes.csv", *options,
                   code=3)
    for word in found:
        assert word in error


def test_a_column_has_one_use(ingest, tmp_path):
    """The second use of a column took its values, and the first was filled with zeros."""
    (tmp_path / "edges.csv").write_text("a,b,w,x\n0,1,5,6\n")
    for options in (["--weight", "w", "--edge-features", "w", "x"], ["--edge-features", "x", "x"], ["--source", "a", "--target", "a"]):
        error = ingest(tmp_path / "out", "--edges", tmp_path / "edges.csv", "--header", *options, code=2)
        assert "is named twice" in error


def test_quotes_comments_and_wide_rows(ingest, tmp_path):
    (tmp_path / "edges.csv").write_text('"a" ,b\n"c, d",a\n')
    wide = " ".join(str(n % 97) for n in range(50_000))
    (tmp_path / "nodes.tsv").write_text(f"# made by hand\nname\tcolour\tx\na\tred\t{wide}\nb\tred\t{wide}\nc, d\tblue\t{wide}\n")
    columns, manifest = ingest(tmp_path / "out", "--edges", tmp_path / "edges.csv", "--ids", "text", "--nodes", tmp_path / "nodes.tsv",
                               "--label", "colour", "--node-features", "x")
    assert columns["y"].tolist() == [1, 1, 0]  # a, b, and "c, d"
    assert columns["x"].shape == (3, 50_000) and (columns["x"][2] == np.arange(50_000) % 97).all()


def test_names_that_do_not_ascend_are_refused(run, bin_dir, seal, tmp_path):
    (tmp_path / "edges.txt").write_text("a b\nb c\nc d\nd e\ne a\n")
    run("plimsoll", "ingest", "graph", "--edges", tmp_path / "edges.txt", "--ids", "text", "--out", tmp_path / "graph")
    ends = np.load(tmp_path / "graph" / "node_name_ptr.npy")
    ends[1] = 100
    np.save(tmp_path / "graph" / "node_name_ptr.npy", ends)
    seal(tmp_path / "graph")
    done = subprocess.run([bin_dir / "plimsoll", "split-edges", tmp_path / "graph", "--out", tmp_path / "split"],
                          capture_output=True, text=True)
    assert done.returncode == 3 and "'node_name_ptr' does not ascend" in done.stderr, done.stderr
    assert not list(tmp_path.glob("*split*"))


def test_arrays_of_no_row_and_countless_columns_are_refused(ingest, tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n")
    header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1099511627776), }".ljust(117) + b"\n"
    (tmp_path / "wide.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    np.save(tmp_path / "edges.npy", np.zeros((0, 2), np.int64))
    for arguments in (["--edges", tmp_path / "edges.txt", "--features", tmp_path / "wide.npy"],
                      ["--edges", tmp_path / "edges.npy", "--edge-features", tmp_path / "wide.npy"]):
        assert "wide.npy: has more than 1048576 features" in ingest(tmp_path / "out", *arguments, code=3)


def test_arrays_that_do_not_fit_are_refused(ingest, tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    np.save(tmp_path / "x.npy", np.zeros((2, 3), np.float32))
    np.save(tmp_path / "nan.npy", np.array([[0, 1], [0, np.nan], [0, 0]], np.float32))
    np.save(tmp_path / "y.npy", np.zeros(3, np.int64))
    edges = ["--edges", tmp_path / "edges.txt"]
    error = ingest(tmp_path / "out", *edges, "--features", tmp_path / "x.npy", code=3)
    assert "edges.txt:2:3:" in error and "x.npy" in error
    error = ingest(tmp_path / "out", *edges, "--features", tmp_path / "x.npy", "--labels", tmp_path / "y.npy", code=3)
    assert "y.npy: has 3 rows, expected 2" in error
    error = ingest(tmp_path / "out", *edges, "--features", tmp_path / "x.npy", "--node-count", 3, code=3)
    assert "x.npy: has 2 rows, expected 3" in error
    error = ingest(tmp_path / "out", *edges, "--features", tmp_path / "nan.npy", code=3)
    assert "nan.npy: row 1, column 1" in error


def test_the_same_sources_again_are_said_so(ingest, bin_dir, tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    ingest(tmp_path / "out", "--edges", tmp_path / "edges.txt")
    again = [bin_dir / "plimsoll", "ingest", "graph", "--edges", tmp_path / "edges.txt", "--out", tmp_path / "out"]
    assert "nothing done" in subprocess.run(again, capture_output=True, text=True, check=True).stdout
    done = subprocess.run([*again, "--undirected"], capture_output=True, text=True)
    assert done.returncode == 1 and "--force" in done.stderr


@pytest.fixture
def real(data_dir):
    def find(folder, file):
        path = data_dir / folder / file
        if not path.is_file():
            pytest.skip(f"no data set at {path} (set PLIMSOLL_DATA)")
        return path

    return find


def test_cnr_2000_is_read_whole(ingest, real, tmp_path):
    arcs = real("graph-cnr2000", "cnr-2000.arcs.tsv.zst")
    columns, manifest = ingest(tmp_path / "out", "--edges", arcs, "--direction", "out", "--budget", "24MiB")
    assert (manifest["nodes"], manifest["edges"]) == (325_557, 3_216_152)
    degrees = np.diff(columns["indptr"])
    assert degrees.max() == 2_716 and (degrees > 0).sum() == 247_501
    assert (columns["indices"] == np.repeat(np.arange(325_557), degrees)).sum() == 87_442


REAL = {  # folder, files of edges and nodes, options, nodes, edges stored, classes, labelled
    "cora": ("graph-cora", "edges.tsv.zst", "nodes.tsv.zst", ["--label", "label", "--split", "split"], 2_708, 10_556, 7,
             2_708),
    "tolokers": ("graph-tolokers", "edges.tsv.zst", "nodes.tsv.zst",
                 ["--label", "label", "--node-features", "features_dense"], 11_758, 1_038_000, 2, 11_758),
    "fb100": ("graph-fb100-amherst41", "edges.tsv.zst", "nodes.tsv.zst",
              ["--label", "gender", "--unlabelled", "0", "--node-features", "status,major,dorm"], 2_235, 181_908, 2,
              2_032),
    "facebook": ("graph-musae-facebook", "facebook_edges.csv.zst", "facebook_target.csv.zst",
                 ["--label", "page_type"], 22_470, None, 4, 22_470),
    "twitch": ("graph-musae-twitch-de", "DE_edges.csv.zst", "DE_target.csv.zst",
               ["--id", "new_id", "--label", "mature", "--node-features", "days,views"], 9_498, 306_276, 2, 9_498),
}


@pytest.mark.parametrize("name", REAL)
def test_real_graphs(ingest, real, tmp_path, name):
    folder, edges, nodes, options, count, stored, classes, labelled = REAL[name]
    columns, manifest = ingest(tmp_path / "out", "--edges", real(folder, edges), "--nodes", real(folder, nodes),
                               "--undirected", *options)
    assert manifest["nodes"] == count and manifest["classes"] == classes
    assert stored in (None, manifest["edges"])
    assert (columns["y"] >= 0).sum() == labelled
    if name == "cora":
        assert [len(columns[f"{split}_idx"]) for split in ("train", "valid", "test")] == [140, 500, 1000]
