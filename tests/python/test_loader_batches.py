"""Batches of plimsoll.DataLoader beside PyTorch Geometric's, and what it refuses."""

import pickle
import shutil

import numpy as np
import pytest
from package_data import plimsoll
from window_graphs import as_data, folder, graphs  # noqa: F401

torch = pytest.importorskip("torch")
pyg_data = pytest.importorskip("torch_geometric.data")
Batch, Data = pyg_data.Batch, pyg_data.Data
PygLoader = pytest.importorskip("torch_geometric.loader").DataLoader


def same_values(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return one == other


def assert_same_batch(ours, theirs):
    assert type(ours) is type(theirs)
    assert list(ours.keys()) == list(theirs.keys())
    for key in theirs.keys():
        assert same_values(ours[key], theirs[key]), key
    for table in ("_slice_dict", "_inc_dict"):
        assert list(getattr(ours, table)) == list(getattr(theirs, table))
        for key, value in getattr(theirs, table).items():
            assert same_values(getattr(ours, table)[key], value), (table, key)
    assert ours.num_graphs == theirs.num_graphs and ours.num_nodes == theirs.num_nodes
    assert (ours.num_edges, ours.num_features, len(ours)) == (theirs.num_edges, theirs.num_features, len(theirs))
    for mine, their in zip(ours.to_data_list(), theirs.to_data_list(), strict=True):
        assert list(mine.keys()) == list(their.keys()) and mine.num_nodes == their.num_nodes
        assert all(same_values(mine[key], their[key]) for key in their.keys())


@pytest.mark.parametrize("options", [{}, {"follow_batch": ["x", "edge_index"]}, {"exclude_keys": ["edge_attr", "y"]},
                                     {"follow_batch": ["y"], "exclude_keys": ["x", "edge_index"]}])
def test_batches_are_those_of_pyg(graphs, options):
    ours = plimsoll.DataLoader(graphs, 70, **options)
    theirs = PygLoader(as_data(graphs), 70, **options)
    assert len(ours) == len(theirs) > 3
    for one, other in zip(ours, theirs, strict=True):
        assert_same_batch(one, other)


@pytest.mark.parametrize("node_features", [0, 3])
@pytest.mark.parametrize("edge_features", [0, 2])
@pytest.mark.parametrize("node_classes", [False, True])
@pytest.mark.parametrize("left_out", [(), ("x",), ("num_nodes", "node_y")])
def test_graphs_of_all_kinds(tmp_path, node_features, edge_features, node_classes, left_out):
    generator = torch.Generator().manual_seed(1)
    dataset = []
    for nodes in (5, 1, 30, 2, 100):
        edges = 0 if nodes == 2 else 3 * nodes
        data = Data(edge_index=torch.randint(0, nodes, (2, edges), generator=generator), y=torch.tensor([nodes]))
        if node_features:
            data.x = torch.randn(nodes, node_features, generator=generator)
        else:
            data.num_nodes = nodes
        if edge_features:
            data.edge_attr = torch.randn(edges, edge_features, generator=generator)
        if node_classes:
            data.node_y = torch.arange(nodes) - 1
        dataset.append(data)
    graphs = plimsoll.from_pyg(dataset, tmp_path / "graphs")
    for size in (1, 2, 5):
        ours = plimsoll.DataLoader(graphs, size, exclude_keys=left_out)
        theirs = PygLoader(as_data(graphs), size, exclude_keys=list(left_out))
        for one, other in zip(ours, theirs, strict=True):
            if node_features and left_out == ("x",):
                one.num_nodes, other.num_nodes = one.ptr[-1], other.ptr[-1]  # PyG guesses from edge_index
            assert_same_batch(one, other)


def test_a_batch_is_the_users_own(graphs):
    batch = next(iter(plimsoll.DataLoader(graphs, 8)))
    before = graphs[0].x.copy()
    batch.x += 1
    assert np.array_equal(graphs[0].x, before) and torch.equal(batch[0].x, torch.from_numpy(before) + 1)
    again = pickle.loads(pickle.dumps(batch))
    assert torch.equal(again.x, batch.x) and again.num_graphs == 8
    batch.x.requires_grad_().sum().backward()


def test_real_captures(captures, tmp_path):
    frames = plimsoll.ingest.can(captures("set_01"), tmp_path / "frames")
    graphs = plimsoll.windows(frames, tmp_path / "graphs", features="compat")
    some = graphs[:2000]
    for one, other in zip(plimsoll.DataLoader(some, 512), PygLoader(as_data(some), 512), strict=True):
        assert_same_batch(one, other)


def test_chosen_graphs_come_in_their_order(graphs):
    chosen = graphs[[5, 3, 3, 8]]
    assert_same_batch(next(iter(plimsoll.DataLoader(chosen, 4))), Batch.from_data_list(as_data(chosen)))
    assert len(plimsoll.DataLoader(graphs[:0], 4)) == 0 and list(plimsoll.DataLoader(graphs[:0], 4)) == []


@pytest.mark.parametrize("wrong", [
    {"batch_size": 0}, {"batch_size": 2.5}, {"batch_size": None}, {"max_nodes": 0}, {"seed": -1},
    {"prefetch_factor": -1}, {"rank": 1}, {"rank": 2, "num_replicas": 2}, {"rank": 0, "num_replicas": 0},
    {"follow_batch": "x"}, {"min_steps_per_epoch": -1}, {"rank": "0", "num_replicas": 2}, {"rank": 0.5, "num_replicas": 2},
    {"rank": 2**62, "num_replicas": 2**63 - 1},
])
def test_arguments_are_checked(graphs, wrong):
    with pytest.raises(plimsoll.UsageError, match="expected"):
        plimsoll.DataLoader(graphs, **wrong)


def test_other_data_sets_are_refused_with_the_remedy(graphs):
    with pytest.raises(plimsoll.UsageError, match="plimsoll.from_pyg"):
        plimsoll.DataLoader(iter(as_data(graphs[:3])), 2)
    for sampler in ({"sampler": [1, 2]}, {"batch_sampler": [[1], [2]]}):
        with pytest.raises(plimsoll.UsageError, match="sampler: is not supported"):
            plimsoll.DataLoader(graphs, **sampler)
    with pytest.raises(TypeError):
        plimsoll.DataLoader(graphs, workers=2)
    for size in ("lots", 0, "80%"):
        with pytest.raises(plimsoll.UsageError):
            plimsoll.DataLoader(graphs, max_bytes=size)


def test_a_closed_data_set(folder):
    graphs = plimsoll.open(folder)
    loader = plimsoll.DataLoader(graphs, 50)
    running = iter(loader)
    next(running)
    graphs.close()
    assert len(list(running)) == len(range(50, int(len(loader.dataset.indices)), 50))
    for use in (lambda: next(iter(loader)), lambda: len(loader), lambda: plimsoll.DataLoader(graphs, 5), loader.state_dict):
        with pytest.raises(plimsoll.UsageError, match="closed"):
            use()


def test_a_damaged_data_set(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "graphs")
    edges = np.load(tmp_path / "graphs" / "edges.npy", mmap_mode="r+")
    graph = 120
    edges[plimsoll.open(folder).edge_ptr[graph]] = -5
    edges.flush()
    loader = plimsoll.DataLoader(plimsoll.open(tmp_path / "graphs"), 50)
    running = iter(loader)
    assert len([next(running), next(running)]) == 2
    for _ in range(2):
        with pytest.raises(plimsoll.InputError, match=f"graph {graph} points outside.*plimsoll verify"):
            next(running)
    pointers = np.load(tmp_path / "graphs" / "node_ptr.npy", mmap_mode="r+")
    pointers[10] = 2**60
    pointers.flush()
    damaged = plimsoll.open(tmp_path / "graphs")
    with pytest.raises(plimsoll.InputError, match="graph 9"):
        list(plimsoll.DataLoader(damaged, 5))
    with pytest.raises(plimsoll.InputError, match="graph 9"):
        plimsoll.DataLoader(damaged, 5, max_nodes=1000)
