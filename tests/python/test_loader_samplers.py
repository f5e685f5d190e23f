"""Samplers of torch and PyTorch Geometric in `plimsoll.DataLoader` over lists, and `DynamicBatchSampler`."""

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch.utils.data import DistributedSampler, RandomSampler, WeightedRandomSampler
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader, ImbalancedSampler


def graphs_of(nodes, edges=None):
    edges = edges or [count - 1 for count in nodes]
    return [Data(x=torch.full((n, 1), float(i)), edge_index=torch.zeros(2, e, dtype=torch.long), y=torch.tensor([i % 5 == 0]).long())
            for i, (n, e) in enumerate(zip(nodes, edges))]


def contents(loader):
    return [batch.x[batch.ptr[:-1], 0].int().tolist() for batch in loader]


GRAPHS = graphs_of([2 + i % 7 for i in range(50)])


@pytest.mark.parametrize(("sampler", "workers"), [([3, 3, 1, 49, 0, 3, 7], 0), (torch.arange(40, 10, -3), 0), (range(4), 1)],
                         ids=["list", "tensor", "range"])
def test_batches_follow_a_sampler_as_in_pyg(sampler, workers):
    for drop_last in (False, True):
        theirs = DataLoader(GRAPHS, 3, sampler=sampler, drop_last=drop_last)
        ours = plimsoll.DataLoader(GRAPHS, 3, sampler=sampler, drop_last=drop_last, num_workers=workers)
        assert contents(ours) == contents(theirs) and len(ours) == len(theirs)


def test_a_sampler_with_its_own_generator_draws_as_in_pyg():
    ours, theirs = (
        loader(GRAPHS, 4, sampler=RandomSampler(GRAPHS, generator=torch.Generator().manual_seed(7)))
        for loader in (plimsoll.DataLoader, DataLoader)
    )
    assert [contents(ours) for _ in range(3)] == [contents(theirs) for _ in range(3)]


def test_an_epoch_of_a_sampler_follows_from_the_seed_and_its_number():
    def loader(seed=3):
        return plimsoll.DataLoader(GRAPHS, 8, sampler=WeightedRandomSampler(torch.ones(50), 200), seed=seed)

    ours = loader()
    first, second = contents(ours), contents(ours)
    assert first != second and sum(map(len, first)) == 200
    assert [contents(loader())] == [first] and contents(loader(4)) != first
    again = loader()
    iterator = iter(again)
    begun = [next(iterator) for _ in range(3)]
    resumed = loader()
    resumed.load_state_dict(again.state_dict())
    assert contents(begun) + contents(resumed) == first


def test_ranks_share_the_order_of_a_sampler():
    sampler = [5, 1, 1, 8, 2, 0, 9]
    parts = [contents(plimsoll.DataLoader(GRAPHS, 2, sampler=sampler, rank=rank, num_replicas=2)) for rank in range(2)]
    assert parts == [[[5, 1], [2, 9]], [[1, 8], [0, 5]]]


def test_classes_are_balanced_by_imbalanced_sampler():
    sampler = ImbalancedSampler(GRAPHS, num_samples=2000)
    labels = torch.cat([batch.y for batch in plimsoll.DataLoader(GRAPHS, 100, sampler=sampler)])
    assert len(labels) == 2000 and 0.45 < labels.float().mean() < 0.55


def test_a_batch_sampler_as_in_pyg():
    batches = [[4, 4, 1], [0], [49, 3]]
    ours = plimsoll.DataLoader(GRAPHS, batch_sampler=batches)
    assert contents(ours) == contents(DataLoader(GRAPHS, batch_sampler=batches)) == batches and len(ours) == 3
    ranks = [contents(plimsoll.DataLoader(GRAPHS, batch_sampler=batches, rank=rank, num_replicas=2)) for rank in range(2)]
    assert ranks == [[[4, 4, 1], [49, 3]], [[0], [4, 4, 1]]]


def test_a_sampler_beside_limits_leaves_out_what_is_too_big():
    ours = plimsoll.DataLoader(GRAPHS, 3, sampler=[6, 0, 6, 1, 2, 3], max_nodes=7, skip_too_big=True)  # graph 6 has 8 nodes
    assert contents(ours) == [[0, 1], [2], [3]]


@pytest.mark.parametrize(("options", "text"), [
    ({"sampler": [1, 50]}, "sampler: returned 50; expected whole numbers from 0 to 49"),
    ({"sampler": [-1]}, "sampler: returned -1; expected whole numbers from 0 to 49"),
    ({"sampler": ["a"]}, "sampler: returned 'a'; expected whole numbers"),
    ({"batch_sampler": [[1], [77]]}, "batch_sampler: returned 77; expected"),
    ({"sampler": 3}, "sampler=3: expected a sampler"),
    ({"sampler": [1], "shuffle": True}, "sampler: determines the order and cannot be combined with shuffle=True"),
    ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler: determines the order and cannot be combined with batch_size"),
    ({"batch_sampler": [[1]], "sampler": [1]}, "sampler: determines the order and cannot be combined with batch_sampler"),
    ({"sampler": DistributedSampler(GRAPHS, 2, 0)}, "is a DistributedSampler; leave it out"),
])
def test_what_is_no_order_is_refused(options, text):
    with pytest.raises(plimsoll.UsageError, match=text):
        list(plimsoll.DataLoader(GRAPHS, **options))


DYNAMIC = [Data(num_nodes=n, edge_index=torch.zeros(2, e, dtype=torch.long), x=torch.full((n, 1), float(i)))
           for i, (n, e) in enumerate([(3, 4), (2, 9), (5, 0), (1, 1), (4, 12), (2, 2)])]


@pytest.mark.parametrize("loader", [plimsoll.DataLoader, DataLoader])
@pytest.mark.parametrize(("limits", "batches"), [
    ({"max_nodes": 6}, [[0, 1], [2, 3], [4, 5]]),
    ({"max_edges": 13}, [[0, 1, 2], [3, 4], [5]]),
    ({"max_nodes": 6, "max_edges": 12}, [[0], [1], [2, 3], [4], [5]]),
    ({"max_num": 6}, [[0, 1], [2, 3], [4, 5]]),
    ({"max_num": 13, "mode": "edge"}, [[0, 1, 2], [3, 4], [5]]),
    ({"max_nodes": 10, "max_edges": 8, "skip_too_big": True}, [[0, 2, 3], [5]]),
    ({"max_nodes": 10, "max_edges": 0, "skip_too_big": True}, [[2]]),
    ({"max_nodes": 6, "num_steps": 2}, [[0, 1], [2, 3]]),
    ({"max_nodes": 6, "num_steps": 9}, [[0, 1], [2, 3], [4, 5]]),
])
def test_batches_within_nodes_and_edges(loader, limits, batches):
    sampler = plimsoll.DynamicBatchSampler(DYNAMIC, **limits)
    assert list(sampler) == list(sampler) == batches and len(sampler) == len(batches)
    ours = loader(DYNAMIC, batch_sampler=sampler)
    assert contents(ours) == batches and len(ours) == len(batches)


def test_shuffled_dynamic_batches():
    sampler = plimsoll.DynamicBatchSampler(GRAPHS, max_nodes=20, max_edges=15, shuffle=True)
    torch.manual_seed(2)
    first, second = list(sampler), list(sampler)
    torch.manual_seed(2)
    assert first == list(sampler) != second
    for batches in (first, second):
        assert sorted(sum(batches, [])) == list(range(50))
        for batch in batches:
            assert sum(GRAPHS[i].num_nodes for i in batch) <= 20 and sum(GRAPHS[i].num_edges for i in batch) <= 15
    with pytest.raises(plimsoll.UsageError, match="undefined with shuffle=True.*give num_steps"):
        len(sampler)
    assert len(plimsoll.DynamicBatchSampler(GRAPHS, max_nodes=20, shuffle=True, num_steps=3)) == 3
    assert sum(len(batch.y) for batch in list(DataLoader(GRAPHS, batch_sampler=sampler))) == 50


class Counting(list):
    reads = 0

    def __getitem__(self, i):
        self.reads += 1
        return super().__getitem__(i)


def test_dynamic_batches_read_the_data_set_once():
    graphs = Counting(GRAPHS)
    sampler = plimsoll.DynamicBatchSampler(graphs, max_nodes=20)
    for _ in range(3):
        list(sampler)
    assert graphs.reads == len(graphs)


@pytest.mark.parametrize(("options", "text"), [
    ({}, "expected max_nodes, max_edges or both; found neither"),
    ({"max_nodes": 4}, "graph 2: has 5 nodes, but max_nodes=4; give a larger limit, or skip_too_big=True"),
    ({"max_nodes": 9, "max_edges": 11}, "graph 4: has 12 edges, but max_edges=11; give a larger limit, or skip_too_big=True"),
    ({"max_num": 11, "mode": "edge"}, "graph 4: has 12 edges"),
    ({"max_num": -1}, "max_nodes=-1: expected a whole number"),
    ({"max_num": 5, "mode": "graph"}, "mode='graph': expected one of node, edge"),
    ({"max_num": 5, "max_nodes": 6}, "set the same limit"),
    ({"max_nodes": 9, "num_steps": 0}, "num_steps=0: expected a whole number of 1 or more"),
])
def test_wrong_limits_are_refused(options, text):
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.DynamicBatchSampler(DYNAMIC, **options)
