"""Sampling from graphs with types and times: no edge from the future, against a slow reference in NumPy, and the same bits however
seeds are put into batches.
"""

import os

import numpy as np
import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from temporal_graphs import EDGE_TYPES, TIMES, known_edges, random_hetero, times_of, tree_of, trees_in  # noqa: E402

QUICK_DRAWS, ALL_DRAWS = 600_000, 10_000_000


def loader_of(data, fan_outs, kind, seeds, times, **options):
    options = {"batch_size": 64, "time_attr": "time", **options}
    return plimsoll.NeighborLoader(data, fan_outs, (kind, torch.as_tensor(seeds)), torch.as_tensor(times), **options)


def random_seeds(random, data, count):
    kind = ("user", "order")[int(random.integers(2))]
    return kind, random.integers(data[kind].num_nodes, size=count), random.integers(-1, TIMES + 1, size=count)


def expect_no_leak(data, batch, last, first=None):
    """Every edge of the batch exists, and neither it nor one of its ends that was reached is later than `last` of its seed."""
    for edge_type in EDGE_TYPES:
        store = batch[edge_type]
        sources, targets = store.edge_index.numpy()
        tree = batch[edge_type[2]].batch.numpy()[targets]
        assert np.array_equal(batch[edge_type[0]].batch.numpy()[sources], tree)
        edges = store.e_id.numpy()
        given = data[edge_type].edge_index.numpy()[:, edges]
        assert np.array_equal(batch[edge_type[0]].n_id.numpy()[sources], given[0])
        assert np.array_equal(batch[edge_type[2]].n_id.numpy()[targets], given[1])
        time, source_time = times_of(data, edge_type)
        assert (time[edges] <= last[tree]).all() and (source_time[edges] <= last[tree]).all()
        if first is not None:
            assert ((time[edges] >= first[tree]) | (time[edges] == np.iinfo(np.int64).min)).all()


def test_draws_none_from_the_future():
    draws = ALL_DRAWS if os.environ.get("PLIMSOLL_SLOW") else QUICK_DRAWS
    random = np.random.default_rng(3)
    drawn, graphs = 0, 0
    while drawn < draws:
        users, orders, edges = (int(random.integers(*limits)) for limits in ((1, 300), (1, 2_000), (1, 12_000)))
        data = random_hetero(graphs, users, orders, edges, edge_time=graphs % 2 == 1)
        for variant in range(8):
            before, window = bool(variant & 1), 10 if variant & 2 else None
            options = {"before": before, "window": window, "temporal_strategy": "last" if variant & 4 else "uniform"}
            kind, seeds, times = random_seeds(random, data, 400)
            for batch in loader_of(data, [4, 3, 2], kind, seeds, times, batch_size=150, replace=graphs % 3 == 2, **options):
                last = times[batch[kind].input_id.numpy()] - before
                first = None if window is None else times[batch[kind].input_id.numpy()] - window
                expect_no_leak(data, batch, last, first)
                drawn += sum(len(store.e_id) for store in batch.edge_stores)
        graphs += 1
    print(f"{drawn:,} draws from {graphs} graphs")


@pytest.mark.parametrize("edge_time", [False, True])
@pytest.mark.parametrize("fan_out", [-1, 1, 3, 1000])
@pytest.mark.parametrize("options", [{}, {"before": True}, {"window": 12}, {"window": 7, "before": True}])
def test_takes_what_the_reference_takes(edge_time, fan_out, options):
    random = np.random.default_rng(5)
    data = random_hetero(7, edge_time=edge_time)
    for _ in range(2):
        kind, seeds, times = random_seeds(random, data, 30)
        batch = next(iter(loader_of(data, [fan_out, fan_out], kind, seeds, times, temporal_strategy="last", **options)))
        for tree, node, time in zip(trees_in(batch), seeds.tolist(), times.tolist(), strict=True):
            assert tree == tree_of(data, [fan_out, fan_out], kind, node, time, last=True, **options)


def test_known_neighbours_are_equally_likely():
    data = random_hetero(8, edges=2_000)
    edge_type, node, time = ("order", "by", "user"), 0, 30
    known = known_edges(data, edge_type, node, time).tolist()
    count, epochs = 4, 3_000
    fan_outs = {name: [count if name == edge_type else 0] for name in EDGE_TYPES}
    loader = loader_of(data, fan_outs, "user", [node], [time], seed=2)
    drawn = np.zeros(data[edge_type].num_edges, np.int64)
    for _ in range(epochs):
        (batch,) = loader
        assert len(set(batch[edge_type].e_id.tolist())) == count
        drawn[batch[edge_type].e_id] += 1
    assert drawn.sum() == drawn[known].sum() == count * epochs
    expected = count * epochs / len(known)
    # Edges of one sample exclude each other, so this statistic is below that of independent draws.
    statistic = ((drawn[known] - expected) ** 2 / expected).sum()
    assert len(known) * 0.4 < statistic < len(known) + 5 * np.sqrt(2 * len(known)), (statistic, len(known))


def trees_by_seed(loader, seeds):
    found = {}
    for batch in loader:
        kind = "order" if "input_id" in batch["order"] else "user"
        for number, tree in zip(batch[kind].input_id.tolist(), trees_in(batch)):
            found[number] = tree
    assert len(found) == len(seeds)
    return found


def test_bits_do_not_depend_on_batches_order_or_ranks():
    data = random_hetero(9, edge_time=True)
    random = np.random.default_rng(9)
    kind, seeds, times = random_seeds(random, data, 90)
    fan_outs = [3, 2]
    expected = trees_by_seed(loader_of(data, fan_outs, kind, seeds, times, seed=4), seeds)
    for options in ({"batch_size": 1}, {"batch_size": 90}, {"batch_size": 7, "shuffle": True}, {"prefetch_factor": 0}):
        assert trees_by_seed(loader_of(data, fan_outs, kind, seeds, times, seed=4, **options), seeds) == expected
    shares = [
        trees_by_seed(loader_of(data, fan_outs, kind, seeds, times, seed=4, rank=rank, num_replicas=3), seeds[:30])
        for rank in range(3)
    ]
    assert {number: tree for share in shares for number, tree in share.items()} == expected
    order = random.permutation(len(seeds))
    permuted = trees_by_seed(loader_of(data, fan_outs, kind, seeds[order], times[order], seed=4), seeds)
    assert {int(order[number]): tree for number, tree in permuted.items()} == expected
    loader = loader_of(data, fan_outs, kind, seeds, times, seed=4, sampler=range(len(seeds) - 1, -1, -1))
    assert trees_by_seed(loader, seeds) == expected
    assert trees_by_seed(loader_of(data, fan_outs, kind, seeds, times, seed=5), seeds) != expected
    assert trees_by_seed(loader_of(data, fan_outs, kind, seeds, times + 1, seed=4), seeds) != expected


def test_repeated_seeds_have_a_subtree_each():
    data = random_hetero(10)
    batch = next(iter(loader_of(data, [3, 2], "user", [0, 1, 0], [40, 40, 40])))
    one, _, other = trees_in(batch)
    assert one == other and any(one.values())
    assert batch["user"].n_id[:3].tolist() == [0, 1, 0] and batch["user"].batch[:3].tolist() == [0, 1, 2]
