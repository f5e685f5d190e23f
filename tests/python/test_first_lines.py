"""First lines and IDs of edge lists that may be read in two ways: read right, announced or refused, never silently wrong."""

import json
import subprocess

import numpy as np
import pytest


@pytest.fixture
def ingest(bin_dir, tmp_path):
    """ingest(text, *arguments): gives the summary, the columns and the notes; or stderr of exit code `code`."""

    def make(text, *arguments, code=0, name="edges.txt"):
        out, edges = tmp_path / "out", tmp_path / name
        edges.write_text(text)
        command = [bin_dir / "plimsoll", "ingest", "graph", "--edges", edges, "--out", out, "--force", "--json", *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        if code:
            return done.stderr
        return json.loads(done.stdout), {path.stem: np.load(path) for path in out.glob("*.npy")}, done.stderr

    return make


@pytest.mark.parametrize("text", ["1e3 1\n2 3\n", "1.000e+03 1.0\n2 3\n", "1000.0 1\n2.000000000000000000e+00 3\n"])
def test_numbers_in_any_notation_are_ids_and_no_header(ingest, text):
    summary, _, notes = ingest(text, "--ids", "sparse")
    assert (summary["headers"], summary["edges"], summary["nodes"]) == (0, 2, 4) and notes == ""


def test_ids_of_savetxt_are_whole_numbers(ingest, tmp_path):
    edges = np.random.default_rng(0).integers(0, 30, (50, 2))
    np.savetxt(tmp_path / "float.txt", edges.astype(np.float64))
    np.savetxt(tmp_path / "nodes.txt", np.stack([np.arange(30), np.arange(30) / 2]).T)
    _, expected, _ = ingest("\n".join(f"{source} {target}" for source, target in edges), "--node-count", 30)
    summary, columns, notes = ingest((tmp_path / "float.txt").read_text(), "--nodes", tmp_path / "nodes.txt",
                                     "--node-features", 1, "--nodes-header", "no")
    assert summary["ids"] == "dense" and notes == ""
    for name, column in expected.items():
        assert np.array_equal(columns[name], column)
    assert columns["x"].ravel().tolist() == (np.arange(30) / 2).tolist()


def test_ids_that_are_no_whole_numbers_become_texts_with_a_note(ingest):
    summary, _, notes = ingest("1.5 2\n2 3\n")
    assert summary["ids"] == "text" and "found the ID '1.5'" in notes
    assert "note" not in ingest("1.5 2\n2 3\n", "--ids", "text")[2]
    assert "found '1.5'" in ingest("1 2\n1.5 2\n", code=3)
    assert "found '1e300'" in ingest("1 2\n1e300 2\n", code=3)


def test_skipped_lines_that_may_be_ids_are_announced(ingest):
    _, _, notes = ingest("#tag a\n#tag b\na b\n")
    assert "note: 2 lines are skipped as comments" in notes and "--comments none" in notes
    assert ingest("# a comment\n0 1\n")[2] == ""
    assert ingest("#tag a\na b\n", "--comments", "none")[2] == ""


def test_a_line_that_may_name_columns_is_announced(ingest):
    summary, _, notes = ingest("id,parent\na,b\n")
    assert summary["edges"] == 2 and "'id' and 'parent', is read as an edge" in notes
    assert ingest("id,parent\na,b\n", "--header", "no")[2] == ""
    assert ingest("anna,bert\na,b\n")[2] == ""


def test_targets_before_sources_are_announced(ingest):
    _, columns, notes = ingest("dst,src\n0,1\n1,2\n")
    assert "'dst' is read as the column of sources" in notes and "--source src --target dst" in notes
    assert columns["indptr"].tolist() == [0, 0, 1, 2]
    _, columns, notes = ingest("dst,src\n0,1\n1,2\n", "--source", "src", "--target", "dst")
    assert notes == "" and columns["indptr"].tolist() == [0, 1, 2, 2]
    assert ingest("src,dst\n0,1\n")[2] == ""


def test_a_matrix_of_far_more_nodes_than_entries(ingest):
    matrix = "%%MatrixMarket matrix coordinate pattern general\n{0} {0} 1\n1 2\n"
    error = ingest(matrix.format(2**32), name="edges.mtx", code=3)
    assert "makes 4,294,967,296 nodes" in error and "32 GiB" in error and "--node-count 4294967296" in error
    summary, _, notes = ingest(matrix.format(5000), name="edges.mtx")
    assert summary["nodes"] == 5000 and "makes 5,000 nodes" in notes
    assert ingest(matrix.format(5000), "--node-count", 5000, name="edges.mtx")[2] == ""
    assert ingest(matrix.format(2**32), "--ids", "sparse", name="edges.mtx")[0]["nodes"] == 2
    assert ingest(matrix.format(900), name="edges.mtx")[2] == ""


def test_numbers_without_a_header_need_their_type(ingest, tmp_path):
    np.arange(6, dtype=np.float32).tofile(tmp_path / "raw.bin")
    assert "give --dtype and --shape" in ingest("0 1\n1 2\n", "--features", tmp_path / "raw.bin", code=2)


def test_a_missing_feature_is_a_finite_number(ingest, tmp_path):
    (tmp_path / "nodes.csv").write_text("id,x\n0,1\n1,\n")
    features = ["--nodes", tmp_path / "nodes.csv", "--node-features", "x", "--missing"]
    assert "found 'nan', expected a number" in ingest("0 1\n", *features, "nan", code=2)
    assert ingest("0 1\n", *features, "-2.5")[1]["x"].ravel().tolist() == [1, -2.5]


def test_one_is_no_plural(bin_dir, tmp_path):
    (tmp_path / "edges.txt").write_text("0 0\n")
    command = [bin_dir / "plimsoll", "ingest", "graph", "--edges", tmp_path / "edges.txt", "--out", tmp_path / "out"]
    made = subprocess.run(command, capture_output=True, text=True).stdout
    shown = subprocess.run([bin_dir / "plimsoll", "inspect", tmp_path / "out"], capture_output=True, text=True).stdout
    assert "1 node (dense IDs) with 0 features, 1 edge with 0, 0 classes" in made and "1 edge read in" in made
    assert "graph, 1 node with 0 features, 1 edge with 0, 0 classes" in shown
