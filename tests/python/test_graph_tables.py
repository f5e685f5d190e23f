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
