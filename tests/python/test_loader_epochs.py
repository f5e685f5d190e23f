"""Epochs of plimsoll.DataLoader: their order, steps, limits, ranks and state."""

import json
import pickle
import threading

import numpy as np
import pytest
from package_data import plimsoll
from window_graphs import folder, graphs, labels  # noqa: F401

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")


def contents(loader):
    return [[t.numpy().tobytes() for t in (b.x, b.edge_index, b.edge_attr, b.ptr)] for b in loader]


def test_order_depends_on_seed_and_epoch_alone(graphs):
    def epochs(seed, prefetch_factor=2):
        loader = plimsoll.DataLoader(graphs, 64, shuffle=True, seed=seed, prefetch_factor=prefetch_factor)
        return [contents(loader) for _ in range(3)]

    torch.manual_seed(1)
    first = epochs(1)
    torch.manual_seed(2)
    assert epochs(1, prefetch_factor=0) == first
    assert first[0] != first[1] != first[2] and epochs(2) != first
    loader = plimsoll.DataLoader(graphs, 64, shuffle=True, seed=1)
    loader.set_epoch(2)
    assert contents(loader) == first[2]
    seen = torch.cat([batch.x.sum(1) for batch in loader]).double().sum()
    assert torch.isclose(seen, torch.from_numpy(graphs.x.sum(1)).double().sum())


def test_limits(graphs):
    nodes, edges = np.diff(graphs.node_ptr), np.diff(graphs.edge_ptr)
    for limits in ({"max_nodes": 200}, {"max_edges": 300}, {"max_bytes": 40_000}, {"max_bytes": "40KB", "batch_size": 3}):
        options = {"batch_size": None, **limits}
        loader = plimsoll.DataLoader(graphs, shuffle=True, **options)
        steps, counted = len(loader), 0
        batches = list(loader)
        assert len(batches) == steps
        for batch in batches:
            counted += batch.num_graphs
            assert batch.num_nodes <= limits.get("max_nodes", batch.num_nodes)
            assert batch.num_edges <= limits.get("max_edges", batch.num_edges)
            tensors = [value for _, value in batch] + [batch._slice_dict["edge_index"]]
            taken = sum(t.nbytes for t in tensors)
            assert "max_bytes" not in limits or taken <= 40_000
        assert counted == len(graphs)
    most = int(nodes.max())
    with pytest.raises(plimsoll.UsageError, match=rf"graph {nodes.argmax()}: has {most} nodes, max_nodes={most - 1}.*skip_too_big"):
        plimsoll.DataLoader(graphs, max_nodes=most - 1)
    loader = plimsoll.DataLoader(graphs, 16, max_nodes=most - 1, skip_too_big=True)
    assert sum(batch.num_graphs for batch in loader) == int((nodes < most).sum())
    assert edges.max() > 0


def test_steps(graphs):
    for steps in (1, 7, 100, len(graphs)):
        for drop_last in (False, True):
            loader = plimsoll.DataLoader(graphs, 64, min_steps_per_epoch=steps, drop_last=drop_last)
            assert len(list(loader)) == len(loader) >= steps
    with pytest.raises(plimsoll.UsageError, match="min_steps_per_epoch"):
        len(plimsoll.DataLoader(graphs, min_steps_per_epoch=len(graphs) + 1))
    assert {b.num_graphs for b in plimsoll.DataLoader(graphs, 64, drop_last=True)} == {64}


@pytest.mark.parametrize("limits", [{}, {"max_nodes": 150}])
@pytest.mark.parametrize("drop_last", [False, True])
def test_ranks(graphs, limits, drop_last):
    options = {"batch_size": 10, "shuffle": True, "drop_last": drop_last, **limits}
    loaders = [plimsoll.DataLoader(graphs, rank=rank, num_replicas=3, **options) for rank in range(3)]
    assert len({len(loader) for loader in loaders}) == 1
    epochs = [[batch.num_graphs for batch in loader] for loader in loaders]
    assert len({len(epoch) for epoch in epochs}) == 1
    if not limits:
        sampler = [torch.utils.data.DistributedSampler(range(len(graphs)), 3, rank, False, drop_last=drop_last)
                   for rank in range(3)]
        for rank, loader in enumerate(loaders):
            expected = [len(b) for b in torch.utils.data.BatchSampler(sampler[rank], 10, drop_last)]
            assert epochs[rank] == expected


def test_state_goes_on_behind_the_last_batch(graphs):
    options = {"shuffle": True, "seed": 5, "max_nodes": 900, "batch_size": 50}
    whole = plimsoll.DataLoader(graphs, **options)
    expected = [contents(whole), contents(whole)]
    for stop in (0, 1, 4, len(expected[0])):
        loader = plimsoll.DataLoader(graphs, **options)
        running = iter(loader)
        for _ in range(stop):
            next(running)
        state = json.loads(json.dumps(loader.state_dict()))
        other = plimsoll.DataLoader(plimsoll.open(graphs.path), **options)
        other.load_state_dict(state)
        rest = [contents(other), contents(other)]
        # A whole epoch is over: the next one comes.
        assert rest[0] == (expected[0][stop:] if stop < len(expected[0]) else expected[1])
        assert stop == len(expected[0]) or rest[1] == expected[1]


def test_states_of_others_are_refused(graphs):
    state = plimsoll.DataLoader(graphs, 50, shuffle=True).state_dict()
    for other, text in ((plimsoll.DataLoader(graphs, 51, shuffle=True), "batch_size=50"),
                        (plimsoll.DataLoader(graphs, 50), "shuffle=True"),
                        (plimsoll.DataLoader(graphs, 50, shuffle=True, seed=1), "seed=0"),
                        (plimsoll.DataLoader(graphs[1:], 50, shuffle=True), "other data")):
        with pytest.raises(plimsoll.UsageError, match=text):
            other.load_state_dict(state)
    same = plimsoll.DataLoader(graphs, 50, shuffle=True)
    for broken in ({}, None, {**state, "position": -1}, {**state, "epoch": "one"}, {**state, "options": None},
                   {**state, "options": [1]}):
        with pytest.raises(plimsoll.UsageError):
            same.load_state_dict(broken)
    same.load_state_dict({**state, "position": 10_000})
    with pytest.raises(plimsoll.UsageError, match="after batch 10000"):
        next(iter(same))
    ranked = plimsoll.DataLoader(graphs, 50, shuffle=True, rank=0, num_replicas=2)
    running = iter(ranked)
    next(running)
    same.load_state_dict(ranked.state_dict())
    with pytest.raises(plimsoll.UsageError, match="from 2 ranks"):
        next(iter(same))


def test_pickles_without_its_thread(graphs):
    for dataset in (graphs, graphs[3:90]):
        loader = plimsoll.DataLoader(dataset, 20, shuffle=True, seed=9)
        next(running := iter(loader))
        copy = pickle.loads(pickle.dumps(loader))
        assert contents(copy) == contents(loader)
        assert running is not None


def test_epochs_at_the_same_time_are_independent(graphs):
    loader = plimsoll.DataLoader(graphs, 30)
    first, second = iter(loader), iter(loader)
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.x, other.x)
    shuffled = plimsoll.DataLoader(graphs, 30, shuffle=True)
    iter(shuffled)  # begins none
    both = [(one.y.tolist(), other.y.tolist()) for one, other in zip(shuffled, shuffled)]
    again = plimsoll.DataLoader(graphs, 30, shuffle=True)
    assert both == list(zip(labels(again), labels(again)))
    results = []
    threads = [threading.Thread(target=lambda: results.append(labels(plimsoll.DataLoader(graphs, 30)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [labels(loader)] * 4


def test_planning_leaves_the_epochs_as_they_are(graphs):
    model = pytest.importorskip("torch_geometric.nn").GCN(graphs.num_node_features, 4, 1, 2)
    loader = plimsoll.DataLoader(graphs, 50, shuffle=True)
    plan = plimsoll.plan(model, loader, loss=lambda out, y: out[: len(y)].sum() + y.sum())
    assert plan.exact and loader.state_dict()["position"] == 0
    assert labels(loader) == labels(plimsoll.DataLoader(graphs, 50, shuffle=True))
