"""`plimsoll.ingest.tables` and graphs with types: the same values as pyarrow, and HeteroData."""

import json
import pickle

import numpy as np
import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pa = pytest.importorskip("pyarrow")


def shop():
    users = pa.table({"id": [70, -3, 12], "age": pa.array([30, None, 41], pa.int32()), "city": ["Rome", None, "Oslo"],
                      "vip": [True, False, True]})
    orders = pa.table({"user_id": [12, 70, 12, None, 5, 12], "price": [1.5, 2, 3, 4, 5, 6],
                       "at": pa.array([30, 10, 20, 40, 50, 20], pa.timestamp("s"))})
    return {"users": users, "orders": orders}


def ingest(folder, tables=None, **options):
    options = {"keys": {"users": "id"}, "times": {"orders": "at"}, "foreign_keys": {"orders": {"user_id": "users"}},
               "reverse": True, **options}
    return plimsoll.ingest.tables(tables or shop(), folder, **options)


def test_gives_types_columns_and_edges(tmp_path):
    graph = ingest(tmp_path / "graph")
    assert isinstance(graph, plimsoll.TypedGraph) and plimsoll.verify(tmp_path / "graph") == []
    graph = plimsoll.open(tmp_path / "graph")
    assert graph.node_types == ["users", "orders"]
    assert graph.edge_types == [("orders", "f2p_user_id", "users"), ("users", "rev_f2p_user_id", "orders")]
    users = graph["users"]
    assert (users.num_nodes, users.columns, users.meaning("city")) == (3, ["age", "city", "vip"], "category")
    assert users.x_names == ["age", "vip"]
    assert np.array_equal(users.x, np.array([[30, 1], [np.nan, 0], [41, 1]], np.float32), equal_nan=True)
    assert users["city"].tolist() == [1, -1, 0] and users.vocabulary("city") == ["Oslo", "Rome"]
    assert users.valid("age").tolist() == [True, False, True] and users.valid("vip").all()
    assert users.key().tolist() == [70, -3, 12] and users.time is None
    edges = graph["orders", "f2p_user_id", "users"]
    assert edges.edge_index.tolist() == [[1, 2, 5, 0], [0, 2, 2, 2]]
    assert (edges.time / 10**9).tolist() == [10, 20, 20, 30]
    assert graph["users", "rev_f2p_user_id", "orders"].edge_index.tolist() == [[2, 0, 2, 2], [0, 1, 2, 5]]
    assert pickle.loads(pickle.dumps(graph)).node_types == graph.node_types
    for wrong in ("films", ("users", "f2p_user_id", "orders")):
        with pytest.raises(plimsoll.UsageError, match="no type"):
            graph[wrong]
    with pytest.raises(plimsoll.UsageError, match="no column 'zip'"):
        users["zip"]


def test_multi_categories_and_vectors(tmp_path):
    pytest.importorskip("torch_geometric")
    table = pa.table({"tags": [["b", "a"], None, [], ["b"]],
                      "embedding": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(8, dtype=np.float32)), 2)})
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph")
    nodes = graph["t"]
    assert (nodes.meaning("tags"), nodes.vocabulary("tags")) == ("multi-category", ["a", "b"])
    assert nodes["tags"].tolist() == [1, 0, 1] and nodes.ptr("tags").tolist() == [0, 2, 2, 2, 3]
    assert nodes["embedding"].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    data = graph.to_pyg()
    assert data["t"]["tags_ptr"].tolist() == [0, 2, 2, 2, 3] and data["t"]["embedding"].shape == (4, 2)
    with pytest.raises(plimsoll.UsageError, match="expected a multi-category"):
        nodes.ptr("embedding")


def test_to_pyg(tmp_path):
    torch_geometric = pytest.importorskip("torch_geometric")
    data = ingest(tmp_path / "graph").to_pyg()
    assert isinstance(data, torch_geometric.data.HeteroData) and data.validate()
    assert data["users"].num_nodes == 3 and data["users"].x.shape == (3, 2) and data["users"]["city"].tolist() == [1, -1, 0]
    assert (data["orders"].time // 10**9).tolist() == [30, 10, 20, 40, 50, 20]
    edges = data["orders", "f2p_user_id", "users"]
    assert edges.edge_index.tolist() == [[1, 2, 5, 0], [0, 2, 2, 2]] and len(edges.time) == 4


def test_the_same_bytes_from_batches_and_from_parquet(tmp_path, run):
    ingest(tmp_path / "graph")
    tables = {name: pa.Table.from_batches(table.to_batches(max_chunksize=1)) for name, table in shop().items()}
    ingest(tmp_path / "batches", tables)
    pq = pytest.importorskip("pyarrow.parquet")
    for name, table in shop().items():
        pq.write_table(table, tmp_path / f"{name}.parquet", coerce_timestamps="us")
    run("plimsoll", "ingest", "tables", "--table", f"users={tmp_path}/users.parquet:key=id", "--table",
        f"orders={tmp_path}/orders.parquet:time=at,user_id->users", "--reverse", "--out", tmp_path / "files")
    for column in (tmp_path / "graph").glob("*.npy"):
        assert column.read_bytes() == (tmp_path / "batches" / column.name).read_bytes()
        assert column.read_bytes() == (tmp_path / "files" / column.name).read_bytes()
    of_stream, of_batches = (json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("graph", "batches"))
    assert of_stream == of_batches


class Stream:
    """A table of Arrow whose stream is there once, as another library might have it."""

    def __init__(self, table):
        self.capsule = table.__arrow_c_stream__()

    def __arrow_c_stream__(self, requested_schema=None):
        return self.capsule


def test_takes_any_stream_once(tmp_path):
    stream = Stream(shop()["users"])
    graph = plimsoll.ingest.tables({"users": stream}, tmp_path / "graph", keys={"users": "id"})
    assert graph["users"].num_nodes == 3
    with pytest.raises(plimsoll.InputError, match="read before"):
        plimsoll.ingest.tables({"users": stream}, tmp_path / "again", keys={"users": "id"})


def test_meanings_and_integer_times(tmp_path):
    table = pa.table({"zip": [10, 9, 10], "seen": [5, 6, 7], "at": [1, 2, 3], "note": ["a", "b", "c"]})
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph", times={"t": "at"}, time_units={"t": "ms"},
                                   meanings={"t": {"zip": "category", "seen": "time:s", "note": "skip"}})
    assert graph["t"].vocabulary("zip") == ["10", "9"] and graph["t"]["seen"].dtype == "datetime64[s]"
    assert graph["t"].time.tolist() == [1_000_000, 2_000_000, 3_000_000] and "note" not in graph["t"].columns


@pytest.mark.parametrize("options, words", [
    ({"keys": {"nobody": "id"}}, "no table 'nobody'"),
    ({"keys": {"users": "nope"}}, "no column 'nope'"),
    ({"times": {"orders": "price"}}, "expected a time or integers"),
    ({"foreign_keys": {"users": {"id": "orders"}}}, "has no key"),
    ({"meanings": {"users": {"city": "number"}}}, "cannot have the meaning number"),
])
def test_refuses_wrong_options(tmp_path, options, words):
    with pytest.raises(plimsoll.UsageError, match=words):
        ingest(tmp_path / "graph", **options)
    assert not (tmp_path / "graph").exists()


def test_refuses_what_is_no_table(tmp_path):
    with pytest.raises(plimsoll.UsageError, match="__arrow_c_stream__"):
        plimsoll.ingest.tables({"users": [1, 2]}, tmp_path / "graph")


def test_an_error_of_the_source_is_an_input_error(tmp_path):
    def batches():
        yield shop()["users"].to_batches()[0]
        raise ValueError("the source is gone")

    reader = pa.RecordBatchReader.from_batches(shop()["users"].schema, batches())
    with pytest.raises(plimsoll.InputError, match="the source is gone"):
        plimsoll.ingest.tables({"users": reader}, tmp_path / "graph")
    assert not list(tmp_path.iterdir())


def test_too_small_a_budget_is_refused(tmp_path):
    with pytest.raises(plimsoll.BudgetExceeded):
        ingest(tmp_path / "graph", budget="1MiB")
    assert not list(tmp_path.iterdir())


def test_flights_equal_pyarrow(tmp_path, data_dir):
    yaml, pq = pytest.importorskip("yaml"), pytest.importorskip("pyarrow.parquet")
    folder = data_dir / "relational-nycflights13"
    if not folder.is_dir():
        pytest.skip(f"no tables at {folder} (set PLIMSOLL_DATA)")
    about = yaml.safe_load((folder / "manifest.yaml").read_text())["tables"]
    tables = {name: pq.read_table(folder / "db" / f"{name}.parquet") for name in about}
    graph = plimsoll.ingest.tables(
        tables, tmp_path / "graph", reverse=True, budget="64MiB",
        keys={name: table["pkey"] for name, table in about.items() if table["pkey"]},
        times={name: table["time_col"] for name, table in about.items() if table["time_col"]},
        foreign_keys={name: table["fkeys"] for name, table in about.items()})
    assert plimsoll.verify(graph.path) == []
    for name, table in tables.items():
        nodes = graph[name]
        expected = [table[column].cast(pa.float64()).to_numpy(zero_copy_only=False) if table[column].type != pa.bool_()
                    else table[column].to_numpy() for column in nodes.x_names]
        if expected:
            assert np.array_equal(nodes.x, np.stack(expected, 1).astype(np.float32), equal_nan=True)
        for column in (column for column in nodes.columns if nodes.meaning(column) == "category"):
            texts = [*nodes.vocabulary(column), None]
            assert [texts[code] for code in nodes[column]] == table[column].to_pylist()
    data = graph.to_pyg()
    for name, about_table in about.items():
        for column, target in about_table["fkeys"].items():
            foreign = tables[name][column].to_numpy(zero_copy_only=False).astype(float)
            rows = np.flatnonzero(~np.isnan(foreign))
            order = np.lexsort((rows, graph[name].time[rows], foreign[rows]))
            sources, targets = data[name, f"f2p_{column}", target].edge_index.numpy()
            assert np.array_equal(sources, rows[order]) and np.array_equal(targets, foreign[rows[order]])
            assert np.array_equal(data[name, f"f2p_{column}", target].time, graph[name].time[sources])
            back = data[target, f"rev_f2p_{column}", name].edge_index.numpy()
            assert np.array_equal(back, [foreign[rows], rows])
