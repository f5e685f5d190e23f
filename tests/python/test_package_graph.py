"""One giant graph in Python: columns, tensors, PyTorch Geometric's `Data`, and what makes one."""

import os
import pickle

import numpy as np
import pytest
from package_data import plimsoll, python

EDGES = ["b a 0.5 1 2", "c a 1.5 3 4", "a b 2.5 5 6", "a d 3.5 7 8"]


@pytest.fixture
def small(tmp_path):
    """Nodes a, b, c, d; edges b->a, c->a, a->b, a->d."""
    (tmp_path / "edges.txt").write_text("\n".join(EDGES) + "\n")
    (tmp_path / "nodes.tsv").write_text("name\tkind\tpart\tu\tv\na\tred\ttrain\t0\t1\nb\tblue\ttest\t2\t3\n"
                                        "c\tred\ttrain\t4\t5\nd\t\tnone\t6\t7\n")

    def make(name="graph", direction="in", order="none", **options):
        columns = plimsoll.ingest.EdgeColumns(weight=2, features=[3, 4])
        nodes = plimsoll.ingest.NodeTable(tmp_path / "nodes.tsv", label="kind", split="part", features=["u", "v"])
        layout = plimsoll.ingest.GraphLayout(ids="text", direction=direction, order=order)
        return plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / name, columns=columns, nodes=nodes, layout=layout,
                                     **options)

    return make


def same_files(one, other):
    names = sorted(os.listdir(one))
    assert names == sorted(os.listdir(other))
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_columns(small):
    with small() as graph:
        assert isinstance(graph, plimsoll.Graph) and isinstance(plimsoll.open(graph.path), plimsoll.Graph)
        assert graph.indptr.tolist() == [0, 2, 3, 3, 4] and graph.indptr.dtype == np.int64
        assert graph.indices.tolist() == [1, 2, 0, 0] and graph.indices.dtype == np.uint32
        assert graph.edge_weight.tolist() == [0.5, 1.5, 2.5, 3.5]
        assert graph.edge_attr.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
        assert graph.x.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]] and graph.x.dtype == np.float32
        assert graph.y.tolist() == [1, 0, 1, -1] and graph.class_names == ("blue", "red") and graph.num_classes == 2
        assert {name: nodes.tolist() for name, nodes in graph.splits.items()} == {"train": [0, 2], "test": [1]}
        assert (graph.num_nodes, graph.num_edges, graph.num_node_features, graph.num_edge_features) == (4, 4, 2, 2)
        assert graph.features.node == ("u", "v") and graph.direction == "in"
        assert graph.neighbours(0).tolist() == [1, 2] and graph.neighbours(3).tolist() == [0]
        assert [graph.node_name(v) for v in range(4)] == list("abcd")
        assert "nodes=4, edges=4, node_features=2, edge_features=2, classes=2" in repr(graph)
        for beyond in (-1, 4):
            with pytest.raises(IndexError, match="of 4"):
                graph.neighbours(beyond)


def test_names_may_be_any_bytes(tmp_path):
    (tmp_path / "edges.tsv").write_bytes(b"n\xe9\tb\n")
    graph = plimsoll.ingest.graph(tmp_path / "edges.tsv", tmp_path / "graph")
    assert {os.fsencode(graph.node_name(v)) for v in range(2)} == {b"n\xe9", b"b"}


def test_columns_share_the_file_and_are_read_only(small):
    graph = small()
    x = graph.x
    assert not x.flags.writeable and not graph.neighbours(0).flags.owndata
    graph.close()
    assert x.tolist()[3] == [6, 7]
    with pytest.raises(plimsoll.UsageError, match="closed"):
        graph.num_nodes


def test_order_keeps_the_users_ids(small):
    graph = small(order="degree")
    assert graph.node_id is not None and sorted(graph.node_id.tolist()) == [0, 1, 2, 3]
    names = [graph.node_name(v) for v in range(4)]
    assert names[0] == "a" and sorted(names) == list("abcd")
    assert {(names[u], names[v]) for v in range(4) for u in graph.neighbours(v)} == {tuple(e[:3:2]) for e in EDGES}


def test_what_it_does_not_have_is_none(tmp_path):
    graph = plimsoll.simulate.graph(tmp_path / "graph", nodes=50, degree=3)
    assert graph.x is graph.edge_weight is graph.edge_attr is graph.node_id is None
    assert graph.y is not None and graph.num_node_features == 0 and graph.node_name(7) == "7"


def test_pickles_by_its_path(small):
    graph = small()
    assert pickle.loads(pickle.dumps(graph)).indices.tolist() == graph.indices.tolist()


@pytest.mark.parametrize("direction", ["in", "out"])
def test_to_pyg(small, direction):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    graph = small(direction=direction)
    data = graph.to_pyg()
    names = [graph.node_name(v) for v in range(4)]
    assert {(names[u], names[v]) for u, v in data.edge_index.T.tolist()} == {tuple(e[:3:2]) for e in EDGES}
    assert data.validate() and data.num_nodes == 4 and data.num_features == 2 and data.num_edge_features == 2
    assert data.edge_index.dtype == data.y.dtype == data.train_idx.dtype == torch.int64
    for name in ("x", "y", "edge_attr", "edge_weight", "train_idx", "test_idx"):
        assert torch.equal(data[name], graph.tensor(name)), name
    weights = {(names[u], names[v]): w for (u, v), w in zip(data.edge_index.T.tolist(), data.edge_weight.tolist())}
    assert weights["a", "d"] == 3.5 and weights["b", "a"] == 0.5
    if direction == "in":
        assert data.is_sorted(sort_by_row=False)
    data.x[0, 0] = 9
    assert graph.x[0, 0] == 0 and plimsoll.verify(graph) == []


def test_to_pyg_without_features_knows_its_nodes(tmp_path):
    pytest.importorskip("torch_geometric")
    (tmp_path / "edges.txt").write_text("0 1\n")
    data = plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / "graph", layout=plimsoll.ingest.GraphLayout(node_count=5)).to_pyg()
    assert data.num_nodes == 5 and data.x is None and data.edge_index.tolist() == [[0], [1]]


def test_needs_neither_torch_nor_pyg_until_it_is_asked_for(tmp_path):
    out = python(f"""
import sys
sys.modules.update({{"torch": None, "torch_geometric": None}})
import plimsoll
graph = plimsoll.simulate.graph({str(tmp_path / "graph")!r}, nodes=50)
loader = plimsoll.NeighborLoader(graph, [3], batch_size=10)
print(len(loader))
for asked in (graph.to_pyg, graph.stores, lambda: graph.sampler([3]), lambda: iter(loader), lambda: graph.tensor("y")):
    try:
        asked()
    except plimsoll.MissingPackage as error:
        print(error)
""")
    assert out.startswith("5") and out.count("pip install torch") == 5


def test_to_pyg_of_more_than_the_memory_there_is_says_how_much_it_takes(small, monkeypatch):
    from plimsoll.data import to_pyg

    graph = small()
    monkeypatch.setattr(to_pyg, "available_memory", lambda: 24 * 4 + 4 * 4 * 2)  # Features are u8 here, and widened.
    graph.to_pyg()
    monkeypatch.setattr(to_pyg, "available_memory", lambda: 127)
    with pytest.raises(plimsoll.BudgetExceeded, match="4 nodes and 4 edges needs 128 bytes, but 127 are available"):
        graph.to_pyg()


def test_to_pyg_copies_no_features(tmp_path):
    pytest.importorskip("torch_geometric")
    plimsoll.simulate.graph(tmp_path / "graph", nodes=200_000, degree=1, features=256)
    out = python(f"""
import plimsoll, torch, torch_geometric.data
from pathlib import Path
def anonymous():
    return sum(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))
graph = plimsoll.open({str(tmp_path / "graph")!r})
graph.to_pyg()
before = anonymous()
data = graph.to_pyg()
data.x.sum()
print(anonymous() - before)
""")
    assert int(out) * 1024 < 200_000 * 256 * 4 // 4


def test_the_bytes_are_those_of_the_command_line(run, small, tmp_path):
    small("here", undirected=True, dedup=True, self_loops="add", order="degree")
    run("plimsoll", "ingest", "graph", "--edges", tmp_path / "edges.txt", "--out", tmp_path / "line", "--weight", "2",
        "--edge-features", "3,4", "--nodes", tmp_path / "nodes.tsv", "--label", "kind", "--split", "part",
        "--node-features", "u,v", "--ids", "text", "--undirected", "--dedup", "--self-loops", "add", "--order", "degree")
    same_files(tmp_path / "here", tmp_path / "line")

    plimsoll.simulate.graph(tmp_path / "made", nodes=3000, degree=7.5, features=3, classes=5, seed=4, threads=2)
    run("plimsoll", "simulate", "graph", "--nodes", "3000", "--degree", "7.5", "--features", "3", "--classes", "5",
        "--seed", "4", "--out", tmp_path / "made-line")
    same_files(tmp_path / "made", tmp_path / "made-line")


def test_named_columns_are_those_of_the_command_line(run, tmp_path):
    (tmp_path / "edges.csv").write_text("w,to,from,f\n1,a,b,7\n2,b,c,8\n3,c,a,9\n")
    (tmp_path / "nodes.tsv").write_text("u\twho\tkind\tpart\n1\ta\tred\ttrain\n2\tb\t?\tvalid\n3\tc\tblue\ttest\n")
    graph = plimsoll.ingest.graph(
        tmp_path / "edges.csv", tmp_path / "here",
        columns=plimsoll.ingest.EdgeColumns(source="from", target="to", weight="w", features=["f"], header=True),
        nodes=plimsoll.ingest.NodeTable(tmp_path / "nodes.tsv", "who", "kind", "part", ["u"], unlabelled="?"))
    assert graph.edge_weight.tolist() == [1, 2, 3] and graph.y.tolist() == [1, -1, 0] and graph.splits["valid"].tolist() == [1]
    run("plimsoll", "ingest", "graph", "--edges", tmp_path / "edges.csv", "--out", tmp_path / "line", "--source", "from",
        "--target", "to", "--weight", "w", "--edge-features", "f", "--header", "--nodes", tmp_path / "nodes.tsv", "--id", "who",
        "--label", "kind", "--split", "part", "--node-features", "u", "--unlabelled", "?")
    same_files(tmp_path / "here", tmp_path / "line")


def test_arrays_as_sources(tmp_path):
    dice = np.random.default_rng(1)
    edges, x = dice.integers(0, 30, (100, 2)), dice.random((30, 4), np.float32)
    for name, array in {"edges": edges, "x": x, "y": np.arange(30) % 3, "w": np.arange(100, dtype=np.float32),
                        "train": np.arange(0, 30, 2)}.items():
        np.save(tmp_path / f"{name}.npy", array)
    file = {name: tmp_path / f"{name}.npy" for name in ("edges", "x", "y", "w", "train")}
    graph = plimsoll.ingest.graph([file["edges"]], tmp_path / "graph", features=file["x"], labels=file["y"],
                                  columns=plimsoll.ingest.EdgeColumns(weight=file["w"]), splits={"train": file["train"]})
    assert np.array_equal(graph.x, x) and np.array_equal(graph.splits["train"], np.arange(0, 30, 2))
    target = np.repeat(np.arange(30), np.diff(graph.indptr))
    found = sorted(zip(graph.indices.tolist(), target.tolist(), graph.edge_weight.tolist()))
    assert found == sorted((u, v, float(w)) for w, (u, v) in enumerate(edges.tolist()))


def test_errors_are_those_of_the_package(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 -2\n")
    with pytest.raises(plimsoll.InputError, match="edges.txt:2:3"):
        plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / "graph")
    assert not (tmp_path / "graph").exists()
    with pytest.raises(plimsoll.UsageError, match="direction='up'"):
        plimsoll.ingest.GraphLayout(direction="up")
    with pytest.raises(plimsoll.UsageError, match=r"nodes='nodes.tsv': expected plimsoll.ingest.NodeTable"):
        plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / "graph", nodes="nodes.tsv")
    with pytest.raises(plimsoll.UsageError, match="splits: found 'val', expected train, valid, test"):
        plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / "graph", splits={"val": "val.npy"})
    with pytest.raises(plimsoll.UsageError, match="nodes=0"):
        plimsoll.simulate.graph(tmp_path / "graph", nodes=0)
    with pytest.raises(plimsoll.BudgetExceeded):
        plimsoll.simulate.graph(tmp_path / "graph", nodes=100, budget="64KiB")
    seen = []
    plimsoll.simulate.graph(tmp_path / "graph", nodes=100, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (100, 100)


def test_a_real_graph(data_dir, tmp_path):
    folder = data_dir / "graph-tolokers"
    if not folder.is_dir():
        pytest.skip(f"no graph at {folder} (set PLIMSOLL_DATA)")
    graph = plimsoll.ingest.graph(folder / "edges.tsv.zst", tmp_path / "graph", undirected=True, budget="64MiB",
                                  nodes=plimsoll.ingest.NodeTable(folder / "nodes.tsv.zst", label="label", features=["features_dense"]))
    assert (graph.num_nodes, graph.num_edges, graph.num_node_features, graph.num_classes) == (11_758, 1_038_000, 10, 2)
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    data = graph.to_pyg()
    assert data.is_undirected() and torch.equal(data.y.bincount(), torch.from_numpy(np.bincount(graph.y)))


def test_messages_are_in_the_words_of_python(tmp_path):
    edges = tmp_path / "edges.txt"
    for text, error, words in (("0 1\nx 2\n", plimsoll.InputError, r'need GraphLayout\(ids="text"\)'),
                               ("from,to\na,b\n", plimsoll.UsageError, r"EdgeColumns\(header=True\)")):
        edges.write_text(text)
        with pytest.raises(error, match=words) as raised:
            plimsoll.ingest.graph(edges, tmp_path / "graph")
        assert "--" not in str(raised.value)
    edges.write_text("007 7\n")
    with pytest.warns(UserWarning, match=r'GraphLayout\(ids="sparse"\) reads numbers'):
        plimsoll.ingest.graph(edges, tmp_path / "graph")
    edges.write_text("0 1\n")
    (tmp_path / "nodes.csv").write_text("id,x\n0,\n1,1\n")
    with pytest.raises(plimsoll.InputError, match=r"NodeTable\(missing=NUMBER\)"):
        plimsoll.ingest.graph(edges, tmp_path / "graph", force=True,
                              nodes=plimsoll.ingest.NodeTable(tmp_path / "nodes.csv", features=["x"]))
