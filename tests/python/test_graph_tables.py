"""`plimsoll ingest graph` on tables as users have them: each is read right or refused with the remedy, never silently wrong."""

import bz2
import gzip
import json
import lzma
import subprocess

import numpy as np
import pytest


@pytest.fixture
def ingest(bin_dir, tmp_path):
    """ingest(*arguments): gives the summary, the columns and what was written to standard error."""

    def make(*arguments, code=0, stdin=None):
        out = tmp_path / "out"
        command = [bin_dir / "plimsoll", "ingest", "graph", "--out", out, "--force", "--json", *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, input=stdin, timeout=600)
        error = done.stderr.decode()
        assert done.returncode == code, error
        if code:
            return error
        columns = {path.stem: np.load(path) for path in out.glob("*.npy")}
        return json.loads(done.stdout), columns, error

    return make


def write(path, text):
    path.write_text(text)
    return path


def edges_of(columns):
    """Pairs (source, target) of a graph whose rows hold sources."""
    target = np.repeat(np.arange(len(columns["indptr"]) - 1), np.diff(columns["indptr"]))
    return sorted(zip(columns["indices"].tolist(), target.tolist(), strict=True))


def test_text_under_any_name_is_unpacked_or_refused(ingest, tmp_path):
    text = b"0 1\n1 2\n"
    (tmp_path / "gzip.txt").write_bytes(gzip.compress(text))
    assert edges_of(ingest("--edges", tmp_path / "gzip.txt")[1]) == [(0, 1), (1, 2)]
    for name, pack, remedy in (("bz", bz2.compress, "bzcat "), ("xz", lzma.compress, "xzcat ")):
        (tmp_path / name).write_bytes(pack(text))
        assert remedy in ingest("--edges", tmp_path / name, code=3)


def test_part_files_with_a_header_each(ingest, tmp_path):
    parts = [write(tmp_path / f"part-{i}.csv", f"src,dst\nn{i},n{i + 1}\n") for i in range(3)]
    assert "--header yes or --header no" in ingest("--edges", *parts, code=2)
    summary, columns, _ = ingest("--edges", *parts, "--header", "yes")
    assert (summary["headers"], summary["edges"]) == (3, 3)
    assert edges_of(columns) == [(0, 1), (1, 2), (2, 3)]
    assert ingest("--edges", *parts, "--header", "no")[0]["edges"] == 6
    assert ingest("--edges", *parts, "--header")[0]["headers"] == 3  # As before there was a word.


def test_comments_are_counted(ingest, tmp_path):
    edges = write(tmp_path / "edges.txt", "# SNAP\n#tag a\n#tag b\nx #tag\n#tag y\n")
    summary, columns, _ = ingest("--edges", edges)
    assert (summary["comments"], summary["edges"]) == (3, 2)
    assert ingest("--edges", edges, "--comments", "none")[0]["edges"] == 5
    assert ingest("--edges", edges, "--comments", "all")[0]["comments"] == 4
    assert "--comments all" in ingest("--edges", write(edges, "0 1\n# later\n1 2\n"), code=3)


def test_padded_numbers_are_texts_with_a_note(ingest, tmp_path):
    edges = write(tmp_path / "edges.txt", "007 7\n")
    summary, _, error = ingest("--edges", edges)
    assert (summary["ids"], summary["nodes"]) == ("text", 2)
    assert "note: " in error and "'007'" in error
    assert ingest("--edges", edges, "--ids", "sparse")[0]["nodes"] == 1


@pytest.mark.parametrize("text", ["18446744073709551615 1\n", "-1 2\n"])
def test_ids_that_no_number_holds_get_the_remedy(ingest, tmp_path, text):
    edges = write(tmp_path / "edges.txt", text)
    assert "--ids text" in ingest("--edges", edges, code=3)
    assert ingest("--edges", edges, "--ids", "text")[0]["nodes"] == 2


def test_a_far_id_is_announced_and_ctrl_c_ends_the_work(bin_dir, tmp_path):
    edges = write(tmp_path / "edges.txt", "0 1\n1 3000000000\n")
    command = [bin_dir / "plimsoll", "ingest", "graph", "--edges", edges, "--ids", "dense", "--out", tmp_path / "out"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert "makes 3,000,000,001 nodes" in process.stderr.readline()
        process.terminate()
        assert process.wait(4) == -15
    assert [path.name for path in tmp_path.iterdir()] == ["edges.txt"]


def test_a_matrix_of_matrix_market_is_read_as_scipy_reads_it(ingest, tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    sparse = pytest.importorskip("scipy.sparse")
    dice = np.random.default_rng(1)
    upper = np.triu(dice.random((30, 30)) < 0.1) * dice.integers(1, 9, (30, 30))
    for name, matrix in (("general", upper), ("symmetric", upper + np.triu(upper, 1).T)):
        scipy_io.mmwrite(tmp_path / f"{name}.mtx", sparse.coo_array(matrix.astype(np.float64)), symmetry=name)
        _, columns, _ = ingest("--edges", tmp_path / f"{name}.mtx", "--weight", 2, "--direction", "out")
        wanted = sparse.csr_array(matrix)
        np.testing.assert_array_equal(columns["indptr"], wanted.indptr)
        np.testing.assert_array_equal(columns["indices"], wanted.indices)
        np.testing.assert_array_equal(columns["edge_weight"], wanted.data)


def test_tables_between_semicolons_and_bars(ingest, tmp_path):
    for separator in ";|":
        edges = write(tmp_path / "edges.txt", f"src{separator}dst\n0{separator}1\n1{separator}2\n")
        nodes = write(tmp_path / "nodes.txt", f"0{separator}5\n1{separator}6\n2{separator}\n")
        _, columns, _ = ingest("--edges", edges, "--nodes", nodes, "--node-features", 1, "--missing", 0)
        assert edges_of(columns) == [(0, 1), (1, 2)]
        assert columns["x"].ravel().tolist() == [5, 6, 0]


@pytest.fixture
def line(tmp_path):
    """Edges 0 -> 1 -> 2."""
    return ["--edges", write(tmp_path / "line.txt", "0 1\n1 2\n")]


LABELS = {"float": np.array([1, np.nan, 0], np.float32), "column": np.array([[1], [-1], [0]]),
          "short": np.array([1, -1, 0], np.int16), "double": np.array([1, np.nan, 0])}


@pytest.mark.parametrize("name", LABELS)
def test_labels_of_any_type(ingest, line, tmp_path, name):
    np.save(tmp_path / "y.npy", LABELS[name])
    np.savez(tmp_path / "y.npz", y=LABELS[name])
    for file in ("y.npy", "y.npz", "y.npz:y"):
        summary, columns, _ = ingest(*line, "--labels", tmp_path / file)
        assert columns["y"].tolist() == [1, -1, 0] and summary["classes"] == 2


def test_labels_that_are_no_classes_are_refused(ingest, line, tmp_path):
    np.save(tmp_path / "y.npy", np.array([1, 0.5, 0]))
    assert "row 1: found 0.5" in ingest(*line, "--labels", tmp_path / "y.npy", code=3)
    np.save(tmp_path / "y.npy", np.zeros((3, 2), np.int64))
    assert "has the shape 3 x 2" in ingest(*line, "--labels", tmp_path / "y.npy", code=3)


def test_features_of_any_type_and_order(ingest, line, tmp_path):
    x = np.random.default_rng(0).random((3, 4))
    narrow = x.astype(np.float32)
    np.save(tmp_path / "double.npy", x)
    _, columns, error = ingest(*line, "--features", tmp_path / "double.npy")
    np.testing.assert_array_equal(columns["x"], narrow)
    assert "double.npy: holds numbers of type '<f8', which are rounded to f32" in error
    np.save(tmp_path / "fortran.npy", np.asfortranarray(narrow))
    np.savez(tmp_path / "all.npz", x=narrow, other=x)
    narrow.tofile(tmp_path / "raw.bin")
    for arguments in (["fortran.npy"], ["all.npz:x"], ["raw.bin", "--dtype", "f32", "--shape", "3,4"]):
        _, columns, error = ingest(*line, "--features", tmp_path / arguments[0], *arguments[1:])
        np.testing.assert_array_equal(columns["x"], narrow)
        assert "note:" not in error
    assert "found the arrays x, other" in ingest(*line, "--features", tmp_path / "all.npz", code=3)
    assert "has no array 'z'" in ingest(*line, "--features", tmp_path / "all.npz:z", code=3)
    np.savez_compressed(tmp_path / "packed.npz", x=narrow)
    assert "is compressed" in ingest(*line, "--features", tmp_path / "packed.npz", code=3)
    error = ingest(*line, "--features", tmp_path / "raw.bin", "--dtype", "f32", "--shape", "3,5", code=3)
    assert "raw.bin: found 48 bytes of data, expected 15 numbers of 4 bytes" in error
    np.save(tmp_path / "nan.npy", np.array([[1], [np.nan], [2]]))
    assert "--missing" in ingest(*line, "--features", tmp_path / "nan.npy", code=3)
    assert ingest(*line, "--features", tmp_path / "nan.npy", "--missing", 7)[1]["x"].ravel().tolist() == [1, 7, 2]


def test_splits_of_any_type_and_masks(ingest, line, tmp_path):
    for ids in (np.array([2, 0], np.int32), np.array([2, 0], np.uint8), np.array([[2], [0]], np.uint64),
                np.array([True, False, True])):
        np.save(tmp_path / "train.npy", ids)
        assert ingest(*line, "--train", tmp_path / "train.npy")[1]["train_idx"].tolist() == [0, 2]
    np.save(tmp_path / "train.npy", np.array([True, False]))
    assert "has 2 rows, expected 3" in ingest(*line, "--train", tmp_path / "train.npy", code=3)
    np.save(tmp_path / "train.npy", np.array([1, 0, 1], np.uint8))
    assert "save a mask as an array of bool" in ingest(*line, "--train", tmp_path / "train.npy", code=3)
    np.save(tmp_path / "train.npy", np.array([True, False, True]))
    nodes = write(tmp_path / "nodes.csv", "id\n2\n1\n0\n")
    assert "is a mask" in ingest(*line, "--nodes", nodes, "--train", tmp_path / "train.npy", code=3)


def test_a_square_array_needs_its_layout(ingest, tmp_path):
    np.save(tmp_path / "edges.npy", np.array([[0, 1], [5, 6]]))
    assert "--layout rows" in ingest("--edges", tmp_path / "edges.npy", code=2)
    assert edges_of(ingest("--edges", tmp_path / "edges.npy", "--layout", "columns")[1]) == [(0, 5), (1, 6)]
    assert edges_of(ingest("--edges", tmp_path / "edges.npy", "--layout", "rows")[1]) == [(0, 1), (5, 6)]


def test_edges_of_any_whole_type(ingest, tmp_path):
    for dtype in (np.int16, np.uint16, np.uint64, np.int8):
        edges = np.array([[0, 1], [1, 2], [2, 2]], dtype)
        np.save(tmp_path / "edges.npy", np.asfortranarray(edges))
        np.savez(tmp_path / "data.npz", edge_index=edges.T, num_nodes=3)
        for file in ("edges.npy", "data.npz:edge_index"):
            assert edges_of(ingest("--edges", tmp_path / file)[1]) == [(0, 1), (1, 2), (2, 2)]
    np.save(tmp_path / "w.npy", np.array([0.1, 0.2, 0.3]))
    _, columns, error = ingest("--edges", tmp_path / "edges.npy", "--weight", tmp_path / "w.npy")
    np.testing.assert_array_equal(columns["edge_weight"], np.array([0.1, 0.2, 0.3], np.float32))
    assert "w.npy: holds numbers of type '<f8'" in error


def test_standard_input_and_pipes(ingest, bin_dir, tmp_path):
    text = b"src,dst\n0,1\n1,2\n"
    for name in ("-", "/dev/stdin"):
        for data in (text, gzip.compress(text)):
            summary, columns, _ = ingest("--edges", name, stdin=data)
            assert (summary["headers"], edges_of(columns)) == (1, [(0, 1), (1, 2)])
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [source["source"] for source in manifest["provenance"]["sources"]] == ["stdin"]
    assert ingest("--edges", "-", stdin=b"0 1\n1 x\n", code=3).startswith("plimsoll: stdin:2:3: found 'x'")
    nodes = write(tmp_path / "nodes.csv", "id,x\n0,5\n1,6\n2,7\n")
    script = ("exec $PLIMSOLL ingest graph --edges <(echo 0 1; echo 1 2) --nodes <(cat $NODES) --node-features x "
              "--out $OUT --force")
    subprocess.run(["bash", "-c", script], check=True, capture_output=True,
                   env={"PLIMSOLL": bin_dir / "plimsoll", "NODES": nodes, "OUT": tmp_path / "out", "PATH": "/bin:/usr/bin"})
    assert np.load(tmp_path / "out" / "x.npy").ravel().tolist() == [5, 6, 7]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["nodes.csv", "out"]  # The copies are gone.


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint8, np.int8])
def test_linked_features_are_those_of_the_file(ingest, bin_dir, line, tmp_path, dtype):
    x = np.random.default_rng(0).integers(0, 100, (3, 5)).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", np.array([0, 1, 0]))
    arrays = ["--features", tmp_path / "x.npy", "--labels", tmp_path / "y.npy"]
    _, columns, _ = ingest(*line, *arrays, "--link")
    np.testing.assert_array_equal(columns["x"], x)
    assert columns["y"].tolist() == [0, 1, 0]
    linked = tmp_path / "out" / "x.npy"
    assert linked.samefile(tmp_path / "x.npy") and not linked.is_symlink()
    column = json.loads((tmp_path / "out" / "manifest.json").read_text())["columns"]["x"]
    assert column["link"] == "hard"
    verify = [bin_dir / "plimsoll", "verify", tmp_path / "out"]
    assert b"intact" in subprocess.run(verify, check=True, capture_output=True).stdout
    with (tmp_path / "x.npy").open("r+b") as file:  # A change of the file is found.
        file.seek(-1, 2)
        file.write(b"\x01")
    assert subprocess.run(verify, capture_output=True).returncode == 3


def test_features_on_another_file_system_are_linked_by_name(ingest, line, tmp_path):
    import os
    import tempfile

    if os.stat("/dev/shm").st_dev == tmp_path.stat().st_dev:
        pytest.skip("/dev/shm is the file system of the tests")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        np.save(f"{folder}/x.npy", np.ones((3, 2), np.float32))
        ingest(*line, "--features", f"{folder}/x.npy", "--link")
        assert (tmp_path / "out" / "x.npy").readlink().as_posix() == f"{folder}/x.npy"
        column = json.loads((tmp_path / "out" / "manifest.json").read_text())["columns"]["x"]
        assert column["link"] == "symbolic"


def test_features_that_cannot_be_linked_are_refused(ingest, line, tmp_path):
    for name, array in (("f64", np.ones((3, 2))), ("fortran", np.asfortranarray(np.ones((3, 2), np.float32))),
                        ("nan", np.full((3, 2), np.nan, np.float32))):
        np.save(tmp_path / f"{name}.npy", array)
        assert f"{name}.npy" in ingest(*line, "--features", tmp_path / f"{name}.npy", "--link", code=3)
    np.save(tmp_path / "x.npy", np.ones((3, 2), np.float32))
    for more in (["--order", "degree"], ["--ids", "sparse"], ["--features-dtype", "f16"], ["--missing", 0]):
        assert "--link" in ingest(*line, "--features", tmp_path / "x.npy", "--link", *more, code=2)


def test_a_folder_that_does_not_exist_is_said_to_be_missing(bin_dir, tmp_path):
    for name, found in (("nowhere", "no such folder: "), ("file", "is a file"), ("empty", "has no manifest.json")):
        (tmp_path / "file").write_text("")
        (tmp_path / "empty").mkdir(exist_ok=True)
        done = subprocess.run([bin_dir / "plimsoll", "inspect", tmp_path / name], capture_output=True, text=True)
        assert done.returncode == 3 and found in done.stderr


@pytest.mark.parametrize("limit", ["-v", "-d"])
def test_limits_of_the_shell_leave_room_for_threads(bin_dir, line, tmp_path, limit):
    command = f"ulimit {limit} 400000; exec $PLIMSOLL ingest graph --edges {line[1]} --out $OUT --threads 8 --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True,
                          env={"PLIMSOLL": bin_dir / "plimsoll", "OUT": tmp_path / "out", "PATH": "/bin"})
    assert done.returncode == 0, done.stderr


def pack(path, rows):
    """Writes rows as OGB does: CSV in gzip, without a header."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, rows, fmt="%s", delimiter=",")
    return path


def test_a_folder_of_ogb_is_read_as_it_is(ingest, tmp_path):
    """The layout of ogbn-arxiv; with OGB and pandas installed, its own reader is asked too."""
    dice = np.random.default_rng(2)
    edges, x, y = dice.integers(0, 20, (50, 2)), dice.random((20, 4)).astype(np.float32), dice.integers(0, 5, (20, 1))
    raw, split = tmp_path / "ogbn_arxiv" / "raw", tmp_path / "ogbn_arxiv" / "split" / "time"
    pack(raw / "edge.csv.gz", edges)
    pack(raw / "node-feat.csv.gz", x)
    pack(raw / "node-label.csv.gz", y)
    pack(raw / "num-node-list.csv.gz", [20])
    pack(raw / "num-edge-list.csv.gz", [50])
    parts = np.split(dice.permutation(20), [10, 15])
    files = [pack(split / f"{name}.csv.gz", ids) for name, ids in zip(("train", "valid", "test"), parts, strict=True)]
    _, columns, error = ingest("--edges", raw / "edge.csv.gz", "--features", raw / "node-feat.csv.gz", "--labels",
                               raw / "node-label.csv.gz", "--train", files[0], "--valid", files[1], "--test", files[2])
    assert error == ""
    assert edges_of(columns) == sorted(map(tuple, edges.tolist()))
    np.testing.assert_array_equal(columns["x"], x)
    np.testing.assert_array_equal(columns["y"], y.ravel())
    for name, ids in zip(("train", "valid", "test"), parts, strict=True):
        assert columns[f"{name}_idx"].tolist() == sorted(ids)
    try:
        from ogb.io.read_graph_raw import read_csv_graph_raw
    except ImportError:
        return
    (graph,) = read_csv_graph_raw(str(raw))
    assert edges_of(columns) == sorted(map(tuple, graph["edge_index"].T.tolist()))
    np.testing.assert_array_equal(columns["x"], graph["node_feat"])


def test_folders_of_igb_and_mag240m_are_read_as_they_are(ingest, tmp_path):
    """The layouts of IGB (edges [E, 2], f32) and MAG240M (edges [2, E], f16, labels with NaN)."""
    dice = np.random.default_rng(3)
    edges, x = dice.integers(0, 20, (50, 2)), dice.integers(0, 50, (20, 8))
    labels = np.where(np.arange(20) % 3 > 0, dice.integers(0, 4, 20), np.nan).astype(np.float32)
    for cites, dtype, label in (("paper__cites__paper", np.float32, "node_label_19.npy"),
                                ("paper___cites___paper", np.float16, "node_label.npy")):
        folder = tmp_path / cites / "processed"
        (folder / "paper").mkdir(parents=True)
        (folder / cites).mkdir()
        np.save(folder / cites / "edge_index.npy", edges.T if dtype == np.float16 else edges)
        np.save(folder / "paper" / "node_feat.npy", x.astype(dtype))
        np.save(folder / "paper" / label, labels)
        _, columns, _ = ingest("--edges", folder / cites / "edge_index.npy", "--features", folder / "paper" / "node_feat.npy",
                               "--link", "--labels", folder / "paper" / label)
        assert edges_of(columns) == sorted(map(tuple, edges.tolist()))
        np.testing.assert_array_equal(columns["x"], x.astype(dtype))
        np.testing.assert_array_equal(columns["y"], np.nan_to_num(labels, nan=-1))


def test_texts_of_features_and_labels_that_do_not_fit_are_refused(ingest, line, tmp_path):
    for text, found in (("1,2\n3\n5,6\n", "x.csv:2:1: found '3', expected 2 fields"), ("1\n2\n", "x.csv:3:"),
                        ("1\n\n3\n", "blank line"), ("1\nx\n3\n", "x.csv:2:1: found 'x'"), ("1\nNA\n3\n", "--missing")):
        error = ingest(*line, "--node-count", 3, "--features", write(tmp_path / "x.csv", text), code=3)
        assert found in error or (found == "x.csv:3:" and "has 2 rows, expected 3" in error)
    assert "a class" in ingest(*line, "--labels", write(tmp_path / "y.csv", "0\nred\n1\n"), code=3)
    assert "has 2 fields per line" in ingest(*line, "--labels", write(tmp_path / "y.csv", "0,1\n"), code=3)
    x, y = write(tmp_path / "x.csv", "1\nNA\n3\n"), write(tmp_path / "y.csv", "1\nnan\n0\n")
    _, columns, _ = ingest(*line, "--features", x, "--labels", y, "--missing", 9)
    assert columns["x"].ravel().tolist() == [1, 9, 3] and columns["y"].tolist() == [1, -1, 0]
