"""Plimsoll's loaders where PyTorch Geometric's stood: lists, subsets, one Data, links, clusters, worker processes."""

import copy
import gc
import os
import pickle
from collections.abc import Sequence
from itertools import islice

import numpy as np
import pytest
from package_data import plimsoll, python

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch.utils.data import ConcatDataset, Subset, random_split  # noqa: E402
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.loader import DataLoader as PygDataLoader  # noqa: E402
from torch_geometric.loader import NodeLoader  # noqa: E402
from torch_geometric.utils import subgraph  # noqa: E402

NODES, EDGES = 120, 900


def small_graphs(count=23):
    generator = torch.Generator().manual_seed(1)
    return [
        Data(
            x=torch.randn(3 + i % 4, 2, generator=generator),
            edge_index=torch.randint(3 + i % 4, (2, 5 + i % 3), generator=generator),
            y=torch.tensor([i]),
        )
        for i in range(count)
    ]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    return plimsoll.from_pyg(small_graphs(), tmp_path_factory.mktemp("drop-in") / "graphs")


def large(generator=None):
    """Whatever a user's Data holds: whole numbers as features, weights, attributes of the graph, edges in no order."""
    generator = generator or torch.Generator().manual_seed(2)
    return Data(
        x=torch.arange(NODES),
        edge_index=torch.randint(NODES, (2, EDGES), generator=generator),
        edge_attr=torch.arange(EDGES, dtype=torch.float64),
        weight=torch.rand(EDGES, generator=generator),
        y=torch.randint(3, (NODES,), generator=generator),
        name="a graph",
    )


def same(one, other):
    assert set(one.keys()) == set(other.keys())
    for key in one.keys():
        a, b = one[key], other[key]
        assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b, key


@pytest.mark.parametrize("workers", [0, 2])
def test_a_list_comes_in_the_batches_of_pyg(workers):
    data = small_graphs()
    ours = plimsoll.DataLoader(data, 4, follow_batch=["y"], num_workers=workers, persistent_workers=False)
    theirs = PygDataLoader(data, 4, follow_batch=["y"])
    assert len(ours) == len(theirs) == 6
    for one, other in zip(ours, theirs, strict=True):
        same(one, other)


def test_a_list_has_the_order_of_its_graph_set(graphs):
    for options in ({"shuffle": True, "seed": 5}, {"shuffle": True, "drop_last": True}, {"max_nodes": 17},
                    {"min_steps_per_epoch": 9}, {"shuffle": True, "rank": 1, "num_replicas": 3}):
        of_list, of_set = (plimsoll.DataLoader(of, 4, **options) for of in (small_graphs(), graphs))
        for _ in range(2):
            assert len(of_list) == len(of_set)
            for one, other in zip(of_list, of_set, strict=True):
                assert torch.equal(one.y, other.y) and torch.equal(one.x, other.x), options


def test_a_list_goes_on_where_it_stopped():
    loader = plimsoll.DataLoader(small_graphs(), 4, shuffle=True)
    running = iter(loader)
    next(running), next(running)
    state = loader.state_dict()
    rest = [batch.y for batch in running]
    other = plimsoll.DataLoader(small_graphs(), 4, shuffle=True)
    other.load_state_dict(state)
    assert all(torch.equal(a, b.y) for a, b in zip(rest, other, strict=True))


def test_subsets_of_a_graph_set_are_graphs_of_it(graphs):
    part = random_split(graphs, [10, 13], torch.Generator().manual_seed(0))[0]
    numbers = [int(y) for batch in plimsoll.DataLoader(Subset(part, [3, 1, 4]), 2) for y in batch.y]
    assert numbers == [part.indices[i] for i in (3, 1, 4)]
    assert len(plimsoll.DataLoader(part, 4)) == 3
    several = ConcatDataset([graphs[4:6], Subset(graphs, [1])])
    assert [int(y) for batch in plimsoll.DataLoader(several, 2) for y in batch.y] == [4, 5, 1]
    with pytest.raises(plimsoll.UsageError, match="graphs of several data sets"):
        plimsoll.DataLoader(ConcatDataset([graphs, plimsoll.open(graphs.path)]), 2)


@pytest.mark.parametrize("workers", [0, 2])
def test_pygs_loader_takes_a_graph_set(graphs, workers):
    theirs = PygDataLoader(graphs, 4, num_workers=workers)
    for one, other in zip(theirs, plimsoll.DataLoader(graphs, 4), strict=True):
        same(one, other)
    assert next(iter(PygDataLoader(Subset(graphs, [5, 7]), 2))).y.tolist() == [5, 7]


class Growing(Sequence):
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return Data(num_nodes=i + 1)


def test_what_a_list_does_not_take():
    assert [batch.num_nodes for batch in plimsoll.DataLoader(Growing(), 2)] == [3, 3]
    with pytest.raises(plimsoll.UsageError, match=r"is one graph; give \[data\]"):
        plimsoll.DataLoader(small_graphs()[0], 2)
    with pytest.raises(plimsoll.UsageError, match="list or data set of Data"):
        plimsoll.DataLoader(iter(small_graphs()), 2)
    with pytest.raises(plimsoll.UsageError, match="max_bytes works only with graphs"):
        plimsoll.DataLoader(small_graphs(), 2, max_bytes="1MiB")
    with pytest.raises(TypeError, match="no argument 'worker'"):
        plimsoll.DataLoader(small_graphs(), 2, worker=3)
    with pytest.raises(plimsoll.UsageError, match="graph 3: has 6 nodes, but max_nodes=5"):
        plimsoll.DataLoader(small_graphs(), 2, max_nodes=5)


@pytest.mark.parametrize("kind", ["directional", "induced"])
def test_neighbours_of_a_data(kind):
    data = large()
    loader = plimsoll.NeighborLoader(data, [4, 3], torch.arange(50), batch_size=16, shuffle=True, subgraph_type=kind,
                                     num_workers=2, filter_per_worker=True)
    seen = []
    for batch in loader:
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert torch.equal(batch.edge_attr, data.edge_attr[batch.e_id]) and torch.equal(batch.x, batch.n_id)
        assert torch.equal(batch.y, data.y[batch.n_id]) and batch.name == "a graph"
        seen += batch.input_id.tolist()
    assert sorted(seen) == list(range(50))
    again = plimsoll.NeighborLoader(data, [4, 3], torch.arange(50), batch_size=16, shuffle=True, subgraph_type=kind)
    again.set_epoch(0)
    loader.set_epoch(0)
    for one, other in zip(loader, again, strict=True):
        same(one, other)


def test_all_neighbours_of_a_data_are_its_subgraph():
    data = large()
    batch = plimsoll.NeighborLoader(data, [-1], subgraph_type="induced")([7, 9])
    assert batch.n_id[:2].tolist() == [7, 9] and batch.input_id.tolist() == [7, 9] and batch.batch_size == 2
    expected, _ = subgraph(batch.n_id, data.edge_index)
    ours = batch.n_id[batch.edge_index]
    assert sorted(map(tuple, ours.t().tolist())) == sorted(map(tuple, expected.t().tolist()))


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"subgraph_type": "induced"}, {"input_nodes": torch.arange(0)}])
@pytest.mark.parametrize("stored", [False, True])
def test_no_seeds_are_a_batch_without_nodes(tmp_path, stored, options):
    data = large()
    source = plimsoll.from_pyg(data, tmp_path / "graph", leave_out=["name", "weight"]) if stored else data
    batch = plimsoll.NeighborLoader(source, [2, 1], **options)([])
    one = plimsoll.NeighborLoader(source, [2, 1], **{**options, "input_nodes": None})([3])
    assert batch.keys() == one.keys() and batch.batch_size == batch.num_nodes == batch.num_edges == len(batch.input_id) == 0
    for key, value in one.items():
        if isinstance(value, torch.Tensor):
            assert batch[key].dtype == value.dtype and batch[key].numel() == 0 and batch[key].dim() == value.dim(), key
    if "num_sampled_nodes" in batch:
        assert batch.num_sampled_nodes == [0, 0, 0] and batch.num_sampled_edges == [0, 0]


def test_loaders_of_a_data_are_pickled_without_their_copy_of_edges():
    data = large()
    for make in (
        lambda: plimsoll.NeighborLoader(data, [3], weight_attr="weight", batch_size=50, seed=2),
        lambda: plimsoll.LinkNeighborLoader(data, [3], batch_size=300, seed=2),
    ):
        loader = make()
        pickled, copied = pickle.dumps(loader), copy.deepcopy(loader)
        expected = list(loader)
        del loader
        gc.collect()
        for other in (pickle.loads(pickled), copied):
            for one, two in zip(other, expected, strict=True):
                same(one, two)


def test_weights_of_a_data():
    data = large()
    data.weight[: EDGES // 2] = 0
    for batch in plimsoll.NeighborLoader(data, [2], weight_attr="weight", batch_size=40):
        assert (batch.weight > 0).all()
    with pytest.raises(plimsoll.UsageError, match="data has no such attribute"):
        plimsoll.NeighborLoader(data, [2], weight_attr="mass")


def test_the_copy_of_edges_goes_with_its_loader():
    folder = python("""
import gc, os, tempfile, torch, plimsoll
from torch_geometric.data import Data
tempfile.tempdir = tempfile.mkdtemp()
data = Data(edge_index=torch.randint(9, (2, 30)), num_nodes=9)
loader = plimsoll.NeighborLoader(data, [2])
assert len(os.listdir(tempfile.tempdir)) == 1
batches = iter(loader)
next(batches)
del loader, batches
gc.collect()
assert not os.listdir(tempfile.tempdir)
kept = plimsoll.LinkNeighborLoader(data, [2])
print(tempfile.tempdir)
""").strip()
    assert os.listdir(folder) == []  # nor at the end of the process


def test_other_graphs_are_refused_with_the_reason():
    with pytest.raises(plimsoll.UsageError, match="input_nodes: is missing; give a node type"):
        plimsoll.NeighborLoader(HeteroData(), [2])
    with pytest.raises(plimsoll.UsageError, match="input_time: is not supported; it needs time_attr"):
        plimsoll.NeighborLoader(large(), [2], input_time=torch.arange(3))
    with pytest.raises(plimsoll.UsageError, match="no node type and no edge type has it"):
        plimsoll.LinkNeighborLoader(large(), [2], time_attr="time", edge_label_time=torch.arange(3))
    with pytest.raises(plimsoll.UsageError, match="'edge_label_time' is not set"):
        plimsoll.LinkNeighborLoader(large(), [2], time_attr="time")
    with pytest.raises(plimsoll.UsageError, match="edge_index names nodes 0 to 9, expected 0 to 4"):
        plimsoll.NeighborLoader(Data(num_nodes=5, edge_index=torch.tensor([[0], [9]])), [2])


def test_a_data_becomes_a_graph_in_its_own_order(tmp_path):
    data = large()
    del data.name, data.weight
    data.x, data.edge_weight = torch.rand(NODES, 3), torch.rand(EDGES)
    data.edge_attr = data.edge_attr.float()
    data.train_mask, data.val_mask = data.y == 0, data.y == 1
    graph = plimsoll.from_pyg(data, tmp_path / "graph")
    assert plimsoll.verify(graph) == []
    back = graph.to_pyg()
    for name in ("x", "edge_index", "edge_weight", "y"):
        assert torch.equal(back[name], data[name]), name
    assert torch.equal(back.edge_attr[:, 0], data.edge_attr)
    data.y = data.y.tolist()
    assert plimsoll.from_pyg(data, tmp_path / "of a list").y.tolist() == data.y
    data.y = torch.tensor(data.y)
    assert np.array_equal(graph.splits["train"], np.flatnonzero(data.train_mask)) and "test" not in graph.splits
    loaders = [
        plimsoll.NeighborLoader(graph, [4, 3], "valid", batch_size=16),
        NodeLoader(graph.stores(), graph.sampler([4, 3]), graph.tensor("valid_idx"), batch_size=16, transform=graph.add_edge_columns),
        plimsoll.LinkNeighborLoader(graph, [4, 3], batch_size=300),
    ]
    for loader in loaders:
        for batch in loader:
            assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
            assert torch.equal(batch.edge_attr[:, 0], data.edge_attr[batch.e_id])
            assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id])


def test_a_pickled_loader_has_no_numbers_of_edges(tmp_path):
    """They are in the files of the graph, 8 bytes per edge."""
    edge_index = torch.stack([torch.arange(20_000).flip(0), torch.arange(20_000)])[:, torch.randperm(20_000)]
    graph = plimsoll.from_pyg(Data(edge_index=edge_index, num_nodes=20_000), tmp_path / "graph")
    loader = plimsoll.NeighborLoader(graph, [2], batch_size=4, shuffle=True)
    pickled = pickle.dumps(loader)
    assert graph.edge_id is not None and len(pickled) < 10_000
    for other in (pickle.loads(pickled), copy.copy(loader)):
        assert all(torch.equal(one.e_id, two.e_id) for one, two in zip(islice(loader, 3), islice(other, 3), strict=True))
        loader.set_epoch(0)


def test_places_of_edges_are_found_once_and_stand_in_the_ledger(tmp_path):
    edge_index = torch.stack([torch.arange(100_000).flip(0), torch.arange(100_000)])[:, torch.randperm(100_000)]
    graph = plimsoll.from_pyg(Data(edge_index=edge_index, edge_weight=torch.rand(100_000), num_nodes=100_000), tmp_path / "graph")
    out = python(f"""
import plimsoll, torch
from torch_geometric.data import Data
from plimsoll import _operators
_operators.load()
from plimsoll import _torch
graph, batch = plimsoll.open({str(graph.path)!r}), Data(e_id=torch.tensor([70_000, 3]))
before = _torch.held()
for _ in range(2):
    print(graph.add_edge_columns(batch).edge_weight.tolist(), round((_torch.held() - before) / 100_000))
graph.close()
print(round((_torch.held() - before) / 100_000))
""")
    weights = graph.to_pyg().edge_weight[[70_000, 3]].tolist()
    assert out.splitlines() == [f"{weights} 8", f"{weights} 8", "0"]


@pytest.mark.parametrize("input_nodes", [None, [3, 1]])
@pytest.mark.parametrize("number", [-1, 9])
def test_a_number_of_a_seed_that_does_not_exist_is_refused(input_nodes, number):
    data, typed = Data(x=torch.ones(9, 1), edge_index=torch.tensor([[0, 1], [1, 2]])), HeteroData()
    typed["a"].x, typed["a", "to", "a"].edge_index = data.x, data.edge_index
    for loader in (plimsoll.NeighborLoader(data, [1], input_nodes), plimsoll.NeighborLoader(typed, [1], ("a", input_nodes))):
        with pytest.raises(plimsoll.UsageError, match=f"index: found {number} to 0, expected 0 to" if number < 0 else "index: found 0 to 9"):
            loader([0, number])


@pytest.mark.parametrize("given, words", [
    (torch.tensor([1, 99]), "train_idx: found 1 to 99, expected 0 to 3"),
    (torch.tensor([-1, 2]), "train_idx: found -1 to 2, expected 0 to 3"),
    (torch.tensor([0.7, 1.2]), "train_idx: is float32"),
    (torch.tensor([True, False]), "train_idx: is bool"),
])
def test_nodes_of_a_split_that_do_not_exist_are_refused(tmp_path, given, words):
    data = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1], [1, 2]]), train_idx=given)
    with pytest.raises(plimsoll.UsageError, match=words):
        plimsoll.from_pyg(data, tmp_path / "graph")
    assert not (tmp_path / "graph").exists()


@pytest.mark.parametrize("given", [[3, 1, 3], [[3], [1]], [False, True, False, True]])
def test_nodes_of_a_split_are_numbers_or_a_mask(tmp_path, given):
    data = Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1], [1, 2]]), train_idx=torch.tensor(given))
    assert plimsoll.from_pyg(data, tmp_path / "graph").splits["train"].tolist() == [1, 3]
    assert plimsoll.verify(tmp_path / "graph") == []


def test_verify_finds_an_edge_twice(tmp_path, seal):
    graph = plimsoll.from_pyg(Data(edge_index=torch.tensor([[1, 2, 0], [2, 1, 1]]), num_nodes=3), tmp_path / "graph")
    assert graph.edge_id.tolist() == [2, 1, 0]
    file = tmp_path / "graph" / "edge_id.npy"
    np.save(file, np.array([0, 2, 2]))
    seal(tmp_path / "graph")
    assert any("each of 0 to 2 once" in finding for finding in plimsoll.verify(tmp_path / "graph"))


@pytest.mark.parametrize("of_graph", [False, True])
def test_links(of_graph, tmp_path):
    data = large()
    data.x = torch.arange(NODES).float().view(-1, 1)
    source = plimsoll.from_pyg(data, tmp_path / "graph", leave_out=["name", "weight"]) if of_graph else data
    torch.manual_seed(0)
    loader = plimsoll.LinkNeighborLoader(source, [3, 2], neg_sampling_ratio=1.0, batch_size=100, shuffle=True)
    edges = set(map(tuple, data.edge_index.t().tolist()))
    assert len(loader) == 9
    for batch in loader:
        positive = batch.n_id[batch.edge_label_index[:, batch.edge_label == 1]]
        assert positive.shape[1] == 100 and set(map(tuple, positive.t().tolist())) <= edges
        assert torch.equal(data.edge_index[:, batch.input_id], positive)
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"subgraph_type": "induced"}, {"subgraph_type": "bidirectional"},
                                     {"replace": True}, {"weight_attr": "weight"}])
@pytest.mark.parametrize("of_graph", [False, True])
def test_links_can_leave_out_what_they_predict(of_graph, options, tmp_path):
    data = large()
    data.edge_index = torch.cat([data.edge_index, data.edge_index.flip(0)], dim=1)
    data.weight, data.edge_attr = (torch.cat([column, column]) for column in (data.weight, data.edge_attr))
    if of_graph:
        given = plimsoll.from_pyg(Data(edge_index=data.edge_index, edge_weight=data.weight, num_nodes=NODES), tmp_path / "graph")
        options = {name: "edge_weight" if name == "weight_attr" else value for name, value in options.items()}
    else:
        given = data

    def predicted_and_sampled(exclude):
        torch.manual_seed(0)
        count = 0
        for batch in plimsoll.LinkNeighborLoader(given, [-1, 2], neg_sampling_ratio=1.0, batch_size=100, seed=3,
                                                 exclude_targets=exclude, **options):
            targets = batch.n_id[batch.edge_label_index[:, batch.edge_label == 1]]
            targets = set(map(tuple, torch.cat([targets, targets.flip(0)], dim=1).t().tolist()))
            sampled = list(map(tuple, batch.n_id[batch.edge_index].t().tolist()))
            assert sampled
            count += sum(pair in targets for pair in sampled)
        return count

    assert predicted_and_sampled(True) == 0
    assert predicted_and_sampled(False) > 100


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_pairs_of_a_data(kind):
    pairs = [[0, 1, 5], [2, 3, 7]]
    batch = next(iter(plimsoll.LinkNeighborLoader(large(), [2], kind(pairs), batch_size=3)))
    assert batch.n_id[batch.edge_label_index].tolist() == pairs


@pytest.mark.parametrize(("given", "text"), [("train", "has no named splits of edges"), ([1, 2], r"of shape \[2\], expected"),
                                             ([[0.5], [1]], "is torch.float32"), ("ab cd".split(), "cannot become a tensor")])
def test_what_are_no_pairs_of_a_data(given, text):
    with pytest.raises(plimsoll.UsageError, match=f"edge_label_index.*{text}"):
        plimsoll.LinkNeighborLoader(large(), [2], given)


@pytest.mark.parametrize("Loader", ["NeighborLoader", "LinkNeighborLoader"])
def test_not_directed_is_induced_as_in_pyg(Loader):
    Loader, data, options = getattr(plimsoll, Loader), large(), {"batch_size": 20, "seed": 3}
    with pytest.warns(UserWarning, match="give subgraph_type='induced'"):
        ours = next(iter(Loader(data, [3, 2], directed=False, **options)))
    same(ours, next(iter(Loader(data, [3, 2], subgraph_type="induced", **options))))
    assert ours.num_edges > next(iter(Loader(data, [3, 2], directed=True, **options))).num_edges


def test_links_of_a_split(tmp_path):
    data = large()
    data.edge_index = data.edge_index.unique(dim=1)
    graph = plimsoll.from_pyg(Data(edge_index=data.edge_index, num_nodes=NODES), tmp_path / "graph")
    with pytest.raises(plimsoll.UsageError, match="no edges to predict"):
        plimsoll.LinkNeighborLoader(graph, [2], "valid")
    split = plimsoll.split_edges(graph, tmp_path / "split", valid=0.1, test=0.1).graph
    batch = next(iter(plimsoll.LinkNeighborLoader(split, [2], "valid", batch_size=1000)))
    held_out = {(int(a), int(b)) for a, b in split.edge_splits["valid"]}
    assert {tuple(pair) for pair in batch.n_id[batch.edge_label_index].t().tolist()} == held_out


@pytest.mark.parametrize("keep", [False, True])
def test_clusters_of_a_data_and_of_its_graph(keep, tmp_path):
    data = large()
    data.x, data.edge_attr = torch.rand(NODES, 2), data.edge_attr.float()
    parts = np.arange(NODES) % 4
    graph = plimsoll.from_pyg(data, tmp_path / "graph", leave_out=["name", "weight"])
    for source in (data, graph):
        clusters = plimsoll.ClusterData(source, 4, keep_inter_cluster_edges=keep, parts=parts)
        part = clusters[1]
        inside = int(((data.edge_index % 4) == 1).all(0).sum())
        touching = int((data.edge_index[0 if source is data else 1] % 4 == 1).sum())
        assert part.num_edges == (touching if keep else inside) == len(part.edge_attr)
        edges = 0
        for batch in plimsoll.ClusterLoader(clusters, batch_size=2):
            edges += batch.num_edges
            assert batch.num_nodes == NODES // 2 and len(batch.edge_attr) == batch.num_edges
        assert edges == int((data.edge_index % 4 // 2).diff(dim=0).eq(0).sum())
    found = plimsoll.ClusterData(data, 3)  # by METIS
    assert found.partition.partptr.tolist()[-1] == NODES and len(set(found.parts.tolist())) == 3
    with pytest.raises(IndexError):
        found[3]


def test_batches_of_numpy_need_no_torch(graphs):
    code = """
import sys
sys.modules.update({'torch': None, 'torch_geometric': None})
import plimsoll
for batch in plimsoll.DataLoader(plimsoll.open(PATH), 4, shuffle=True, seed=3, as_numpy=True):
    print(batch['y'].tolist(), batch['x'].shape, batch['edge_ptr'].tolist()[-1], batch['x'].flags.writeable)
"""
    out = python(code.replace("PATH", repr(str(graphs.path)))).splitlines()
    for line, batch in zip(out, plimsoll.DataLoader(graphs, 4, shuffle=True, seed=3), strict=True):
        assert line == f"{batch.y.tolist()} {tuple(batch.x.shape)} {batch.num_edges} True"


def test_loaders_are_copied_and_pickled(graphs):
    for loader in (plimsoll.DataLoader(small_graphs(), 4, shuffle=True), plimsoll.DataLoader(graphs, 4, shuffle=True)):
        for other in (copy.copy(loader), copy.deepcopy(loader), pickle.loads(pickle.dumps(loader))):
            assert all(torch.equal(a.y, b.y) for a, b in zip(loader, other, strict=True))
            loader.set_epoch(0)
