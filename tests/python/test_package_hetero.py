"""`plimsoll.from_pyg` of HeteroData, `as_edge` and stypes of torch_frame in `plimsoll.ingest.tables`."""

import enum

import numpy as np
import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pa = pytest.importorskip("pyarrow")
torch = pytest.importorskip("torch")
Data = pytest.importorskip("torch_geometric.data").Data
HeteroData = pytest.importorskip("torch_geometric.data").HeteroData


def shop():
    data = HeteroData()
    data["users"].x = torch.tensor([[0.1, 1.0], [2.0, 3.0], [4.0, 5.0]])
    data["users"].city = ["Rome", "Oslo", "Rome"]
    data["users"].train_mask = torch.tensor([True, False, True])
    data["films"].num_nodes = 2
    data["films"].time = torch.tensor([3, 1])
    data["films"].y = torch.tensor([-1, 70_000])
    data["users", "rates", "films"].edge_index = torch.tensor([[2, 0, 1, 0], [1, 0, 1, 1]])
    data["users", "rates", "films"].edge_attr = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    data["users", "rates", "films"].time = torch.tensor([5, 6, 4, 5])
    data["users", "knows", "users"].edge_index = torch.tensor([[1, 0], [0, 1]])
    data["films", "rates", "users"].edge_index = torch.empty(2, 0, dtype=torch.int64)
    return data


def test_hetero_data_comes_back(tmp_path):
    graph = plimsoll.from_pyg(shop(), tmp_path / "graph", time_unit="s")
    assert isinstance(graph, plimsoll.TypedGraph) and plimsoll.verify(tmp_path / "graph") == []
    assert graph.node_types == ["users", "films"]
    assert graph.edge_types == [("users", "rates", "films"), ("users", "knows", "users"), ("films", "rates", "users")]
    assert graph["users"].vocabulary("city") == ["Oslo", "Rome"] and graph["users"].key().tolist() == [0, 1, 2]
    data, given = graph.to_pyg(), shop()
    assert data.validate()
    assert torch.equal(data["users"].x, given["users"].x) and data["users"].city.tolist() == [1, 0, 1]
    assert data["users"].train_mask.tolist() == [1, 0, 1]
    assert data["films"].time.tolist() == [3 * 10**9, 10**9]
    edges = data["users", "rates", "films"]
    assert edges.edge_index.tolist() == [[0, 1, 0, 2], [0, 1, 1, 1]] and edges.edge_attr.ravel().tolist() == [2, 3, 4, 1]
    assert (edges.time // 10**9).tolist() == [6, 4, 5, 5]
    assert data["users", "knows", "users"].edge_index.tolist() == [[1, 0], [0, 1]]
    assert data["films", "rates", "users"].edge_index.shape == (2, 0)
    with pytest.warns(UserWarning, match="already has these graphs"):
        plimsoll.from_pyg(shop(), tmp_path / "graph", time_unit="s")


@pytest.mark.parametrize("change, options, words", [
    (lambda data: None, {}, "is not a unit"),
    (lambda data: setattr(data["users"], "x", torch.ones(2, 2)), {}, r"'users': x: is float32 of shape \(2, 2\), expected 3 numbers"),
    (lambda data: setattr(data["users"], "note", {"a": 1}), {}, r"leave_out=\['note'\]"),
    (lambda data: setattr(data["users", "knows", "users"], "edge_index", torch.tensor([[0], [7]])), {"time_unit": "s"},
     "names nodes 7 to 7, expected 0 to 2"),
    (lambda data: setattr(data["users", "rates", "films"], "source", torch.ones(4)), {"time_unit": "s"}, "is a reserved name"),
])
def test_refuses_what_has_no_column(tmp_path, change, options, words):
    data = shop()
    data["users"].num_nodes = 3
    change(data)
    with pytest.raises(plimsoll.UsageError, match=words):
        plimsoll.from_pyg(data, tmp_path / "graph", **options)
    assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize("data, option, kind", [
    (lambda: shop(), {"progress": print}, "one HeteroData"),
    (lambda: shop(), {"tables": {}}, "one HeteroData"),
    (lambda: Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), {"time_unit": "s"}, "one Data"),
    (lambda: [Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)], {"time_unit": "s"}, "a data set of small graphs"),
])
def test_options_of_other_data_are_refused(tmp_path, data, option, kind):
    with pytest.raises(plimsoll.UsageError, match=f"{next(iter(option))}: does not apply to {kind}; leave it out"):
        plimsoll.from_pyg(data(), tmp_path / "graph", **option)
    assert not (tmp_path / "graph").exists()


def test_leave_out_ignores_attributes(tmp_path):
    data = shop()
    data["users"].note = {"a": 1}
    graph = plimsoll.from_pyg(data, tmp_path / "graph", leave_out=["note", "time"])
    assert graph["films"].time is None and "note" not in graph["users"].columns


def test_tables_as_edges(tmp_path):
    tables = {"users": pa.table({"id": [7, 8]}), "ratings": pa.table({"a": [8, 7, 9], "b": [7, 7, 7], "stars": [3, 4, 5]})}
    graph = plimsoll.ingest.tables(tables, tmp_path / "graph", keys={"users": "id"}, as_edge=["ratings"],
                                   foreign_keys={"ratings": {"a": "users", "b": "users"}})
    edges = graph["users", "ratings", "users"]
    assert edges.edge_index.tolist() == [[0, 1], [0, 0]] and edges["stars"].tolist() == [4, 3]
    for options, words in (({"as_edge": ["nobody"]}, "no table 'nobody'"), ({"as_edge": ["users"]}, "a key and 0 foreign keys")):
        with pytest.raises(plimsoll.UsageError, match=words):
            plimsoll.ingest.tables(tables, tmp_path / "again", keys={"users": "id"}, **options)


def test_stypes_of_torch_frame_are_meanings(tmp_path):
    stype = enum.Enum("stype", {name: name for name in ("numerical", "categorical", "timestamp", "text_embedded", "other")})
    table = pa.table({"id": [0, 1], "zip": [10, 9], "age": [1, 2], "at": pa.array([1, 2], pa.timestamp("s")), "note": ["a", "a"]})
    stypes = {"id": stype.numerical, "zip": stype.categorical, "age": stype.numerical, "at": stype.timestamp, "note": stype.text_embedded}
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph", keys={"t": "id"}, meanings={"t": stypes})
    assert {column: graph["t"].meaning(column) for column in graph["t"].columns} == {"zip": "category", "age": "number", "at": "time"}
    with pytest.raises(plimsoll.UsageError, match="one of the stypes"):
        plimsoll.ingest.tables({"t": table}, tmp_path / "again", meanings={"t": {"zip": stype.other}})


def test_x_of_numbers_is_as_before(tmp_path):
    graph = plimsoll.ingest.tables({"t": pa.table({"a": [1.5, None], "b": [True, False]})}, tmp_path / "graph")
    assert graph["t"].x_names == ["a", "b"]
    assert np.array_equal(graph["t"].x, np.array([[1.5, 1], [np.nan, 0]], np.float32), equal_nan=True)
