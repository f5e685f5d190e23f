"""A batch that a budget refused is delivered by the next call of `next`, and no batch is lost or comes twice."""

import multiprocessing
from collections.abc import Sequence

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Data  # noqa: E402

GRAPHS, NODES = 12, 60


class Trouble:
    """Raises `BudgetExceeded` the first time that it is called with one of `numbers`, in any process."""

    def __init__(self, *numbers):
        self.left = {number: multiprocessing.Value("i", 1) for number in numbers}

    def __call__(self, number):
        if number in self.left and self.left[number].value:
            self.left[number].value = 0
            raise plimsoll.BudgetExceeded(f"no memory for {number}")


class Bad(Trouble):
    """Raises `ValueError` instead."""

    def __call__(self, number):
        try:
            super().__call__(number)
        except plimsoll.BudgetExceeded as error:
            raise ValueError(str(error)) from None


class Troubled(Sequence):
    """A list of graphs that calls `trouble` with the number of each item that is read."""

    def __init__(self, graphs, trouble):
        self.graphs, self.trouble = graphs, trouble

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, i):
        self.trouble(i)
        return self.graphs[i]


def ring(nodes, y):
    numbers = torch.arange(nodes)
    return Data(x=torch.ones(nodes, 2), edge_index=torch.stack([numbers, (numbers + 1) % nodes]), y=y)


def small():
    return [ring(3 + i % 4, torch.tensor([i])) for i in range(GRAPHS)]


def delivered(loader, errors):
    """Batches of an epoch in which `errors` batches are refused once. `state_dict` counts delivered batches."""
    found, running = [], iter(loader)
    while True:
        position = loader.state_dict()["position"]
        try:
            found.append(next(running))
            assert position == len(found) - 1
        except StopIteration:
            break
        except plimsoll.BudgetExceeded:
            errors -= 1
            assert loader.state_dict()["position"] == len(found)
    assert errors == 0
    return found


def same(ours, expected):
    assert len(ours) == len(expected)
    for one, other in zip(ours, expected, strict=True):
        assert set(one.keys()) == set(other.keys())
        for key in one.keys():
            a, b = one[key], other[key]
            assert torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b, key


@pytest.mark.parametrize("workers", [0, 2])
def test_a_refused_batch_of_a_list_comes_next(workers):
    options = {"batch_size": 2, "shuffle": True, "num_workers": workers}
    expected = list(plimsoll.DataLoader(small(), **options))
    troubled = Troubled(small(), Trouble(*(int(expected[batch].y[1]) for batch in (0, -1))))
    same(delivered(plimsoll.DataLoader(troubled, **options), 2), expected)


def test_a_refused_batch_of_a_graph_set_comes_next(tmp_path, monkeypatch):
    from plimsoll.loaders import batch as made_batch

    graphs = plimsoll.from_pyg(small(), tmp_path / "graphs")
    expected = list(plimsoll.DataLoader(graphs, 2, shuffle=True))
    to_batch, trouble = made_batch.to_batch, Trouble(*(int(batch.y[0]) for batch in (expected[1], expected[-1])))

    def refused(tensors, *rest):
        batch = to_batch(tensors, *rest)
        trouble(int(batch.y[0]))
        return batch

    monkeypatch.setattr(made_batch, "to_batch", refused)
    same(delivered(plimsoll.DataLoader(graphs, 2, shuffle=True), 2), expected)


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("stored", [False, True])
def test_a_refused_batch_of_neighbours_comes_next_and_is_transformed_once(tmp_path, stored, prefetch):
    data = ring(NODES, torch.arange(NODES) % 3)
    source = plimsoll.from_pyg(data, tmp_path / "graph") if stored else data
    trouble = Trouble()

    def transform(batch):
        batch.x.mul_(2)
        trouble(int(batch.n_id[0]))
        return batch

    options = {"batch_size": 7, "shuffle": True, "transform": transform, "prefetch_factor": prefetch}
    expected = list(plimsoll.NeighborLoader(source, [1], **options))
    trouble = Trouble(*(int(expected[batch].n_id[0]) for batch in (0, 2, -1)))
    same(delivered(plimsoll.NeighborLoader(source, [1], **options), 3), expected)
    assert all((batch.x == 2).all() for batch in expected)


@pytest.mark.parametrize("stored", [False, True])
def test_a_refused_batch_of_clusters_comes_next(tmp_path, stored):
    data = ring(NODES, torch.arange(NODES) % 3)
    source = plimsoll.from_pyg(data, tmp_path / "graph") if stored else data
    clusters = plimsoll.ClusterData(source, 6, parts=torch.arange(NODES) // 10)
    trouble = Trouble()

    def transform(batch):
        trouble(int(batch.y.sum()))
        return batch

    expected = list(plimsoll.ClusterLoader(clusters, transform=transform))
    trouble = Trouble(int(expected[2].y.sum()))
    same(delivered(plimsoll.ClusterLoader(clusters, transform=transform), 1), expected)


def test_a_refused_batch_of_walks_comes_next(tmp_path, monkeypatch):
    graph = plimsoll.from_pyg(ring(NODES, torch.arange(NODES) % 3), tmp_path / "graph")
    options = {"walk_length": 3, "context_size": 2, "batch_size": 8}
    expected = [pair[0].tolist() for pair in plimsoll.RandomWalkLoader(graph, **options)]
    loader, trouble = plimsoll.RandomWalkLoader(graph, **options), Trouble(16)
    windows = type(loader._batches())._windows

    def refused(self, made):
        trouble(int(made[0, 0]))
        return windows(self, made)

    monkeypatch.setattr(type(loader._batches()), "_windows", refused)
    assert [pair[0].tolist() for pair in delivered(loader, 1)] == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_after_another_error_of_the_users_code_the_next_batch_comes(workers):
    options = {"batch_size": 2, "num_workers": workers}
    expected = list(plimsoll.DataLoader(small(), **options))
    loader = plimsoll.DataLoader(Troubled(small(), Bad(2, 7)), **options)
    running = iter(loader)
    found = []
    for batch in range(GRAPHS // 2):
        if batch in (1, 3):
            with pytest.raises(ValueError):
                next(running)
        else:
            found.append(next(running))
    assert next(running, None) is None
    assert loader.state_dict() == {**loader.state_dict(), "epoch": 1, "position": 0}
    same(found, [batch for i, batch in enumerate(expected) if i not in (1, 3)])


def test_after_an_error_of_a_transform_the_next_batch_comes():
    data, bad = ring(NODES, torch.arange(NODES) % 3), Bad(7)

    def transform(batch):
        bad(int(batch.n_id[0]))
        return batch

    running = iter(plimsoll.NeighborLoader(data, [1], batch_size=7, transform=transform))
    assert int(next(running).n_id[0]) == 0
    with pytest.raises(ValueError):
        next(running)
    assert [int(batch.n_id[0]) for batch in running] == list(range(14, NODES, 7))
