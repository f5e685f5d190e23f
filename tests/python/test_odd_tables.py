"""`ingest tables` on tables whose parts disagree: other types in a later file, keys of other types, damaged Arrow files."""

import subprocess

import numpy as np
import pytest

import plimsoll

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
ipc = pytest.importorskip("pyarrow.ipc")


@pytest.fixture
def ingest(bin_dir, tmp_path):
    """ingest(*arguments): what `plimsoll ingest tables` ended with, for the output `graph` in the test's folder."""

    def run(*arguments):
        command = [bin_dir / "plimsoll", "ingest", "tables", *arguments, "--out", tmp_path / "graph"]
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=60)

    return run


def test_a_list_column_leaves_nothing_to_the_columns_of_a_longer_chunk(tmp_path):
    def batch(rows):
        times = pa.array([None, *range(1, rows)], pa.timestamp("s"))
        return pa.record_batch({"a": pa.array(range(rows)), "tags": pa.array([["x", "y"]] * rows), "at": times})

    table = pa.Table.from_batches([batch(3), batch(8192)])
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph", times={"t": "at"})
    assert graph["t"]["a"].tolist() == [*range(1, 3), *range(1, 8192)]


@pytest.mark.parametrize(("first", "second"), [
    (pa.array([[1.0, 2.0]], pa.list_(pa.float64(), 2)), pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))),
    (pa.array([7], pa.int32()), pa.array(["a"]).dictionary_encode()),
    (pa.array([[7]], pa.list_(pa.int64())), pa.array([["a"]], pa.list_(pa.string()))),
], ids=["elements", "dictionary", "items"])  # fmt: skip
def test_files_of_one_table_with_other_types_inside_are_refused(ingest, tmp_path, first, second):
    (tmp_path / "t").mkdir()
    for number, values in enumerate([first, second]):
        pq.write_table(pa.table({"c": values}), tmp_path / "t" / f"{number}.parquet")
    done = ingest("--table", f"t={tmp_path / 't'}")
    assert done.returncode == 3 and "1.parquet" in done.stderr and not (tmp_path / "graph").exists()


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 4, 5]], ids=["counting", "shuffled"])
def test_a_foreign_key_of_another_type_is_refused_in_any_order_of_keys(tmp_path, order):
    users, events = pa.table({"id": order}), pa.table({"at": pa.array([1, 2, 5], pa.timestamp("s"))})
    with pytest.raises(plimsoll.InputError, match="at"):
        plimsoll.ingest.tables({"users": users, "events": events}, tmp_path / "graph", keys={"users": "id"},
                               foreign_keys={"events": {"at": "users"}})  # fmt: skip


def test_a_missing_element_of_a_vector_is_nan(tmp_path):
    table = pa.table({"v": pa.array([[1.5, None], [None, 4.0]], pa.list_(pa.float32(), 2))})
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph")
    np.testing.assert_array_equal(graph["t"]["v"], [[1.5, np.nan], [np.nan, 4.0]])


@pytest.mark.parametrize("writer", [ipc.new_file, ipc.new_stream], ids=["file", "stream"])
def test_arrow_files_with_offsets_past_their_texts_are_refused(ingest, tmp_path, writer):
    texts = [f"text{number}" for number in range(1000)]
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, writer(file, pa.schema([("s", pa.string())])) as to:
        to.write_table(pa.table({"s": texts}))
    content = (tmp_path / "t.arrow").read_bytes()
    offsets = np.cumsum([0, *map(len, texts)]).astype(np.int32)
    at = content.index(offsets.tobytes())
    offsets[500:] += 1_000_000_000
    (tmp_path / "t.arrow").write_bytes(content[:at] + offsets.tobytes() + content[at + offsets.nbytes :])
    done = ingest("--table", f"t={tmp_path / 't.arrow'}")
    assert done.returncode == 3 and "t.arrow" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["t.arrow"]


def test_files_that_moved_to_another_table_are_other_sources(ingest, tmp_path):
    for name, rows in {"a/1": [1], "a/2": [2], "b/3": [3]}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"id": rows}), tmp_path / f"{name}.parquet")
    tables = ["--table", f"a={tmp_path / 'a'}", "--table", f"b={tmp_path / 'b'}"]
    assert ingest(*tables).returncode == 0
    (tmp_path / "a" / "2.parquet").rename(tmp_path / "b" / "2.parquet")
    assert ingest(*tables).returncode == 1
    assert ingest(*tables, "--force").returncode == 0
    graph = plimsoll.open(tmp_path / "graph")
    assert [graph[name].num_nodes for name in graph.node_types] == [1, 2]


def test_many_long_texts_are_left_out_in_a_small_budget(tmp_path):
    table = pa.table({"s": [f"{number:06d}" + "x" * 50_000 for number in range(2500)]})
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph", budget="64MiB")
    assert "s" in str(graph.manifest["node_types"][0]["left_out"])


def test_a_skipped_column_may_hold_anything(tmp_path):
    table = pa.table({"a": [1, 2], "hash": pa.array([2**63, 1], pa.uint64())})
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph", meanings={"t": {"hash": "skip"}})
    assert list(graph["t"].columns) == ["a"]


@pytest.mark.parametrize(("words", "role"), [(":key=id", "key"), ("", "value")])
def test_a_whole_number_beyond_63_bits_is_refused_by_name(ingest, tmp_path, words, role):
    pq.write_table(pa.table({"id": pa.array([1, 2**64 - 1, None], pa.uint64()), "n": [1, 2, 3]}).slice(0, 2), tmp_path / "t.parquet")
    refused = ingest("--table", f"t={tmp_path}/t.parquet{words}")
    assert refused.returncode == 3 and "column 'id': holds 18446744073709551615, expected numbers below 2^63" in refused.stderr
    assert "write it as text" in refused.stderr
    if role == "value":
        assert ingest("--table", f"t={tmp_path}/t.parquet", "--meaning", "t.id=skip").returncode == 0
