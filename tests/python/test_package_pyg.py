"""From and to PyTorch Geometric."""

import os

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pyg_data = pytest.importorskip("torch_geometric.data")
Data, HeteroData = pyg_data.Data, pyg_data.HeteroData
from torch_geometric.transforms import OneHotDegree  # noqa: E402
from tu_sets import archive_of, columns_of, read_tu  # noqa: E402


def random_graph(generator, nodes, node_features=3, edge_features=2, node_classes=False):
    edges = int(torch.randint(0, 4 * nodes + 1, (), generator=generator)) if nodes else 0
    data = Data(
        edge_index=torch.randint(0, max(nodes, 1), (2, edges), generator=generator),
        y=torch.randint(0, 5, (1,), generator=generator),
        num_nodes=nodes,
    )
    if node_features:
        del data.num_nodes
        data.x = torch.randn(nodes, node_features, generator=generator)
    if edge_features:
        data.edge_attr = torch.randn(edges, edge_features, generator=generator)
    if node_classes:
        data.node_y = torch.randint(-1, 3, (nodes,), generator=generator)
    return data


def assert_same(one, other):
    one, other = one.to_dict(), other.to_dict()
    assert one.keys() == other.keys()
    for key, value in one.items():
        if isinstance(value, torch.Tensor):
            assert value.dtype == other[key].dtype and torch.equal(value, other[key]), key
        else:
            assert value == other[key], key


@pytest.mark.parametrize("node_features", [0, 3])
@pytest.mark.parametrize("edge_features", [0, 2])
@pytest.mark.parametrize("node_classes", [False, True])
def test_round_trip(tmp_path, node_features, edge_features, node_classes):
    generator = torch.Generator().manual_seed(1)
    dataset = [random_graph(generator, nodes, node_features, edge_features, node_classes)
               for nodes in [5, 1, 30, 0, 2, 100]]
    graphs = plimsoll.from_pyg(iter(dataset), tmp_path / "graphs")
    assert plimsoll.verify(graphs) == [] and len(graphs) == len(dataset)
    for i, data in enumerate(dataset):
        assert_same(graphs.to_pyg(i), data)
        assert graphs[i].num_nodes == data.num_nodes and graphs[i].num_edges == data.num_edges


# Graphs, nodes, edges without self-loops and repetitions.
TU_SETS = {
    "MUTAG": (135, 2_545, 5_626),
    "PROTEINS": (975, 42_323, 158_022),
    "ENZYMES": (595, 19_327, 73_980),
    "NCI1": (3_785, 112_952, 245_052),
    "IMDB-BINARY": (493, 11_872, 109_424),
    "Letter-med": (29, 198, 328),
}


@pytest.mark.parametrize("name", TU_SETS)
def test_tu_data_sets(run, data_dir, tmp_path, name):
    """What `TUDataset` reads is written value for value, and is a sound set for the command line."""
    transform = OneHotDegree(135, in_degree=True) if name == "IMDB-BINARY" else None  # its nodes have no features
    dataset = read_tu(archive_of(data_dir, name), tmp_path / "tu", transform=transform)
    graphs = plimsoll.from_pyg(dataset, tmp_path / "graphs")
    expected = columns_of(list(dataset))
    for column, values in expected.items():
        np.testing.assert_array_equal(getattr(graphs, column), values, err_msg=column)
    assert ("edge_attr" in expected) == (graphs.edge_attr.size > 0)
    assert (len(graphs), len(graphs.x), len(graphs.edges)) == TU_SETS[name]
    run("plimsoll", "verify", tmp_path / "graphs")
    last = dataset[-1]
    if transform:
        del last.num_nodes  # follows from x
    assert_same(graphs.to_pyg(len(graphs) - 1), last)


def test_windows_round_trip_and_batch_as_in_pyg(tmp_path):
    from torch_geometric.data import Batch

    source = plimsoll.windows(plimsoll.simulate.can(tmp_path / "frames", frames=30_000), tmp_path / "source")
    graphs = plimsoll.from_pyg((source.to_pyg(i) for i in range(len(source))), tmp_path / "graphs")
    assert np.array_equal(graphs.x, source.x) and np.array_equal(graphs.edges, source.edges)
    batch = Batch.from_data_list([graphs.to_pyg(i) for i in range(4)])
    assert batch.ptr.tolist() == graphs.node_ptr[:5].tolist()
    assert np.array_equal(batch.x.numpy(), graphs.x[: graphs.node_ptr[4]])


def test_tensors_may_be_written(tmp_path):
    graphs = plimsoll.from_pyg([random_graph(torch.Generator(), 4)], tmp_path / "graphs")
    data = graphs.to_pyg(0)
    data.x.zero_()
    data.edge_index.zero_()
    data.edge_attr.zero_()
    graphs.close()
    assert plimsoll.verify(tmp_path / "graphs") == []


def test_splits_by_name(tmp_path):
    generator = torch.Generator().manual_seed(1)
    dataset = {"train": [random_graph(generator, 5) for _ in range(3)], "none": [], "test": [random_graph(generator, 7)]}
    graphs = plimsoll.from_pyg(dataset, tmp_path / "graphs")
    assert {name: split.graphs for name, split in graphs.splits.items()} == {"train": 3, "none": 0, "test": 1}
    assert graphs[graphs.splits["test"].slice][0].num_nodes == 7


def test_numbers_that_float32_holds(tmp_path):
    data = Data(x=torch.tensor([1, 0]), edge_index=torch.tensor([[0], [1]]), edge_attr=torch.tensor([0.5]).double(),
                y=torch.tensor(True))
    graph = plimsoll.from_pyg([data], tmp_path / "graphs")[0]
    assert graph.x.tolist() == [[1.0], [0.0]] and graph.edge_attr.tolist() == [[0.5]] and graph.y == 1


def test_a_second_identical_call_opens_what_is_there(tmp_path):
    dataset = [random_graph(torch.Generator().manual_seed(i), 4) for i in range(3)]
    first = plimsoll.from_pyg(dataset, tmp_path / "graphs")
    before = (tmp_path / "graphs" / "manifest.json").stat().st_mtime_ns
    with pytest.warns(UserWarning, match="already has these graphs"):
        again = plimsoll.from_pyg(iter(dataset), tmp_path / "graphs")
    assert len(again) == len(first) and (tmp_path / "graphs" / "manifest.json").stat().st_mtime_ns == before
    with pytest.raises(plimsoll.Failure, match="force=True"):
        plimsoll.from_pyg(dataset[:2], tmp_path / "graphs")
    (tmp_path / "text").write_text("mine")
    with pytest.raises(plimsoll.Failure, match="is not a data set; give another path"):
        plimsoll.from_pyg(dataset, tmp_path / "text")
    assert sorted(os.listdir(tmp_path)) == ["graphs", "text"]


def test_graphs_without_answers_and_without_edges(tmp_path):
    edges = torch.tensor([[0, 1], [1, 2]])
    bare = plimsoll.from_pyg([Data(x=torch.ones(3, 2)), Data(x=torch.ones(2, 2), edge_index=edges[:, :1])], tmp_path / "bare")
    assert bare.y.tolist() == [-1, -1] and bare[0].num_edges == 0 and bare[1].num_edges == 1
    some = [Data(x=torch.ones(3, 2), edge_index=edges, y=y) for y in (torch.tensor(0.5), None, torch.tensor([1.5]))]
    assert np.array_equal(plimsoll.from_pyg(some, tmp_path / "some").target[:, 0], [0.5, np.nan, 1.5], equal_nan=True)
    labels = [Data(x=torch.ones(3, 2), edge_index=edges, y=torch.tensor([[1, 0, 1]])),
              Data(x=torch.ones(3, 2), edge_index=edges, y=torch.tensor([[False, True, True]]))]
    several = plimsoll.from_pyg(labels, tmp_path / "several")
    assert several.target.tolist() == [[1, 0, 1], [0, 1, 1]] and several.to_pyg(0).y.tolist() == [[1, 0, 1]]
    nodes = plimsoll.from_pyg([Data(x=torch.ones(3, 2), edge_index=edges, node_y=torch.eye(3).bool())], tmp_path / "nodes")
    assert nodes.node_target.tolist() == torch.eye(3).tolist()


@pytest.mark.parametrize("first", [1, 400])
def test_graphs_without_targets_may_come_first(tmp_path, first):
    def graphs():
        for i in range(first):
            yield Data(x=torch.full((500, 2), float(i)), y=torch.tensor(-1) if i % 2 else None)
        yield Data(x=torch.ones(3, 2), y=torch.tensor([[1.5, 2]]))
        yield Data(x=torch.ones(2, 2))

    made = plimsoll.from_pyg(graphs(), tmp_path / "graphs")
    assert np.isnan(made.target[:first]).all() and made.target[first].tolist() == [1.5, 2] and np.isnan(made.target[-1]).all()
    assert made.x[: 500 * first : 500, 0].tolist() == list(range(first)) and set(made.y.tolist()) == {-1}
    split = {"unknown": [Data(x=torch.ones(3, 2))] * 2, "known": [Data(x=torch.ones(3, 2), y=torch.tensor(0.5))]}
    split = plimsoll.from_pyg(split, tmp_path / "split")
    assert {name: some.graphs for name, some in split.splits.items()} == {"unknown": 2, "known": 1}
    assert np.array_equal(split.target[:, 0], [np.nan, np.nan, 0.5], equal_nan=True)
    assert sorted(os.listdir(tmp_path)) == ["graphs", "split"] and plimsoll.verify(made) == plimsoll.verify(split) == []


def test_the_text_of_a_graph_is_a_line(tmp_path):
    graph = plimsoll.from_pyg([random_graph(torch.Generator(), 4)], tmp_path / "graphs")[0]
    assert repr(graph).startswith("GraphView(x=[") and len(repr(graph)) < 120


def test_an_output_that_exists_is_replaced_by_force_alone(tmp_path):
    dataset = [random_graph(torch.Generator(), 4)]
    plimsoll.from_pyg(dataset, tmp_path / "graphs")
    with pytest.raises(plimsoll.Failure, match="exists"):
        plimsoll.from_pyg(dataset * 2, tmp_path / "graphs")
    assert len(plimsoll.from_pyg(dataset * 2, tmp_path / "graphs", force=True)) == 2
    assert os.listdir(tmp_path) == ["graphs"]


def changed(**values):
    data = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]), y=torch.tensor([0]))
    for key, value in values.items():
        data[key] = value
    return data


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("text", "is str, expected torch_geometric.data.Data"),
        (HeteroData(a={"x": torch.ones(3, 2)}), "is HeteroData, expected Data; one HeteroData becomes a graph with types"),
        (changed(x=torch.ones(2, 2), num_nodes=3), r"x: is float32 of shape \(2, 2\), expected .* \(3"),
        (changed(x=torch.full((3, 2), torch.nan)), "not finite"),
        (changed(x=torch.full((3, 2), 0.1, dtype=torch.float64)), "float32 cannot represent; convert it: data.x.float()"),
        (changed(x=torch.ones(3, 2, dtype=torch.bfloat16)), "cannot become a NumPy array"),
        (changed(x=torch.ones(3, 5)), "the first graph"),
        (changed(edge_index=torch.tensor([[0, 1], [1, 3]])), "names nodes 0 to 3, expected 0 to 2"),
        (changed(edge_index=torch.tensor([[0, -1], [1, 2]])), "names nodes -1 to 2"),
        (Data(edge_index=torch.tensor([[2**32], [0]]), num_nodes=2**33), f"has {2**33} nodes, expected at most {2**31 - 1}"),
        (changed(edge_index=torch.ones(2, 2)), "expected whole numbers"),
        (changed(edge_index=torch.ones(3, 2).long()), r"shape \(3, 2\)"),
        (changed(edge_index=None, edge_attr=torch.ones(1, 2)), "edge_attr"),
        (changed(edge_attr=torch.ones(1, 2)), "edge_attr"),
        (changed(y=torch.tensor([0.5])), "targets.* the first graph"),
        (changed(y=torch.tensor([0, 1, 0])), "put classes of nodes into data.node_y"),
        (changed(node_y=torch.tensor([0, 1])), "node_y"),
        (changed(y=torch.tensor([-2])), "y is -2, expected a class"),
        (changed(y=torch.tensor([2**40])), f"y is {2**40}, expected a class"),
        (changed(node_y=torch.tensor([-2, 0, 1])), "node_y: holds -2 to 1"),
        (changed(face=torch.ones(3, 3)), r"has face, .* leave_out=\['face'\]"),
    ],
)
def test_bad_graphs_are_named(tmp_path, data, text):
    with pytest.raises(plimsoll.UsageError, match=f"graph 1.*{text}"):
        plimsoll.from_pyg([changed(), data], tmp_path / "graphs")
    assert os.listdir(tmp_path) == []


RECORDING = {"name": "drive", "split": "all", "first_graph": 0, "graphs": 2}


@pytest.mark.parametrize(("tables", "text"), [
    ({"recordings": [], "vocabulary": []}, "'features'"),
    ({"features": "x", "recordings": [], "vocabulary": []}, "expected features"),
    ({"features": {"node": ["a", "b"], "edge": []}, "vocabulary": []}, "'recordings'"),
    ({"features": {"node": ["a"], "edge": []}, "recordings": [], "vocabulary": []}, "name 1 columns of each node, expected 2"),
    ({"features": {"node": ["a", "b"], "edge": []}, "recordings": [{"name": "drive"}], "vocabulary": []}, "'first_graph'"),
    *(({"features": {"node": ["a", "b"], "edge": []}, "recordings": [{**RECORDING, **wrong}], "vocabulary": []}, "tables: recording")
      for wrong in ({"first_graph": 1}, {"graphs": -2}, {"split": "train"}, {"graphs": 3}, {"graphs": 1})),
])
def test_tables_that_fit_no_set_leave_the_output_as_it_was(tmp_path, tables, text):
    plimsoll.from_pyg([changed()], tmp_path / "graphs")
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.from_pyg([changed(), changed()], tmp_path / "graphs", tables=tables, force=True)
    assert len(plimsoll.open(tmp_path / "graphs")) == 1
    fitting = {"features": {"node": ["a", "b"], "edge": []}, "recordings": [RECORDING], "vocabulary": []}
    made = plimsoll.from_pyg([changed(), changed()], tmp_path / "graphs", tables=fitting, force=True)
    assert made.recordings[0].graphs == 2 and made.features.node == ("a", "b")


def test_a_graph_without_a_class_is_unlabelled(tmp_path):
    graphs = plimsoll.from_pyg([changed(y=None), changed(), changed(y=torch.tensor([-1]))], tmp_path / "graphs")
    assert graphs.y.tolist() == [-1, 0, -1] and plimsoll.verify(tmp_path / "graphs") == []


def test_what_has_no_column_can_be_left_out(tmp_path):
    graphs = plimsoll.from_pyg([changed(pos=torch.ones(3, 3), face=torch.ones(3))], tmp_path / "graphs",
                               leave_out=["face", "pos"])
    assert "pos" not in graphs.to_pyg(0)


def test_nothing_is_left_of_a_failure(tmp_path):
    def dataset():
        yield changed()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plimsoll.from_pyg(dataset(), tmp_path / "graphs")
    with pytest.raises(plimsoll.UsageError, match="names a split 0"):
        plimsoll.from_pyg({0: [changed()]}, tmp_path / "graphs")
    with pytest.raises(plimsoll.UsageError, match="no graphs"):
        plimsoll.from_pyg([], tmp_path / "graphs")
    with pytest.raises(plimsoll.BudgetExceeded):
        plimsoll.from_pyg([changed()], tmp_path / "graphs", budget="1MiB")
    (tmp_path / "file").touch()
    with pytest.raises(plimsoll.Failure):
        plimsoll.from_pyg([changed()], tmp_path / "file" / "graphs")
    assert os.listdir(tmp_path) == ["file"]


def test_progress(tmp_path):
    seen = []
    plimsoll.from_pyg([changed()] * 300, tmp_path / "graphs", progress=lambda *step: seen.append(step))
    assert seen == [(256, 300), (300, 300)]
