"""Seeds that come twice in a batch of `NeighborLoader`, and samplers that give them."""

import pickle

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from full_neighbourhood import FullNeighbourhood
from torch_geometric.data import Data
from torch_geometric.loader import ImbalancedSampler, NodeLoader

NODES = 120
SEEDS = [5, 9, 5, 5, 70, 9, 33, 2, 2, 2, 2]


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    dice = np.random.default_rng(3)
    folder = tmp_path_factory.mktemp("repeated")
    np.save(folder / "edges.npy", dice.integers(0, NODES, (900, 2)))
    np.save(folder / "x.npy", dice.random((NODES, 5), np.float32))
    np.save(folder / "weights.npy", dice.random(900, np.float32))
    return plimsoll.ingest.graph(folder / "edges.npy", folder / "graph", features=folder / "x.npy",
                                 columns=plimsoll.ingest.EdgeColumns(weight=folder / "weights.npy"))


def full(graph, options):
    return FullNeighbourhood(graph.tensor("indptr"), graph.tensor("indices"), 2, **options)


def same(ours, theirs, left_out=()):
    assert set(ours.keys()) == set(theirs.keys())
    for name, value in theirs.to_dict().items():
        if name not in left_out:
            assert torch.equal(ours[name], value) if isinstance(value, torch.Tensor) else ours[name] == value, name


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"bidirectional": True}], ids=str)
def test_repeated_seeds_are_nodes_of_their_own_as_in_pyg(graph, options):
    kind = {"subgraph_type": "bidirectional"} if options.get("bidirectional") else options
    theirs = list(NodeLoader(graph.to_pyg(), full(graph, options), torch.tensor(SEEDS), batch_size=8))
    left_out = ["e_id", "edge_weight"] if options.get("bidirectional") else []  # of an edge and its reverse either is named
    ours = plimsoll.NeighborLoader(graph, [-1, -1], SEEDS, batch_size=8, **kind)
    for one, other in zip(ours, theirs, strict=True):
        assert one.n_id[: one.batch_size].tolist() == [SEEDS[i] for i in one.input_id]
        same(one, other, left_out)
    for one, other in zip(NodeLoader(graph.to_pyg(), graph.sampler([-1, -1], **kind), torch.tensor(SEEDS), batch_size=8), theirs):
        same(one, other, left_out)
    data = plimsoll.NeighborLoader(graph.to_pyg(), [-1, -1], torch.tensor(SEEDS), batch_size=8, **kind)
    for one, other in zip(data, theirs, strict=True):
        assert torch.equal(one.n_id, other.n_id) and one.num_edges == other.num_edges and torch.equal(one.x, other.x)


@pytest.mark.parametrize("kind", ["directional", "induced"])
def test_what_is_sampled_is_in_the_graph(graph, kind):
    data = graph.to_pyg()
    batch = plimsoll.NeighborLoader(graph, [3, 2], subgraph_type=kind)(SEEDS)
    assert batch.n_id[: len(SEEDS)].tolist() == SEEDS and batch.batch_size == len(SEEDS)
    assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
    assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id]) and torch.equal(batch.x, data.x[batch.n_id])
    into = [sorted(batch.e_id[batch.edge_index[1] == i].tolist()) for i in range(len(SEEDS))]
    assert into[0] == into[2] == into[3] and into[1] == into[5] and all(edges for edges in into)
    if kind == "directional":
        once = plimsoll.NeighborLoader(graph, [3, 2])(sorted(set(SEEDS), key=SEEDS.index))
        assert batch.num_sampled_nodes == [once.num_sampled_nodes[0] + len(SEEDS) - 5, *once.num_sampled_nodes[1:]]
        assert sum(batch.num_sampled_edges) == batch.num_edges and batch.num_sampled_edges[1] == once.num_sampled_edges[1]


def test_a_repeated_seed_has_the_output_of_that_seed_alone(graph):
    data = graph.to_pyg()
    conv = torch.nn.Linear(5, 3)

    def outputs(batch):
        rows, columns = batch.edge_index
        return torch.zeros(batch.num_nodes, 3).index_add(0, columns, conv(batch.x)[rows])[: batch.batch_size]

    found = outputs(plimsoll.NeighborLoader(graph, [-1])(SEEDS))
    expected = torch.zeros(NODES, 3).index_add(0, data.edge_index[1], conv(data.x)[data.edge_index[0]])[SEEDS]
    torch.testing.assert_close(found, expected)


def test_imbalanced_sampler(graph):
    data = graph.to_pyg()
    data.y = (torch.arange(NODES) % 10 == 0).long()
    data.train_mask = torch.arange(NODES) % 3 > 0

    def loader(source):
        sampler = ImbalancedSampler(data.y, input_nodes=data.train_mask, num_samples=600)
        return plimsoll.NeighborLoader(source, [3, 2], torch.where(data.train_mask)[0], batch_size=50, sampler=sampler, seed=4)

    ours = loader(data)
    batches = list(ours)
    assert len(batches) == len(ours) == 12 and any(len(batch.input_id.unique()) < 50 for batch in batches)
    labels = torch.cat([batch.y[:50] for batch in batches])
    assert 0.4 < labels.float().mean() < 0.6
    assert all(data.train_mask[batch.n_id[:50]].all() for batch in batches)
    for one, other, third in zip(batches, loader(data), loader(graph), strict=True):
        same(one, other)
        assert torch.equal(one.n_id, third.n_id) and torch.equal(one.edge_index, third.edge_index)


def test_epochs_states_ranks_and_copies_of_a_sampler(graph):
    sampler = [1, 1, 0, 4, 4, 4, 9]

    def loader(**options):
        return plimsoll.NeighborLoader(graph, [2], SEEDS[:5] + [8] * 5, sampler=sampler, batch_size=3, **options)

    ours = loader()
    first, second = list(ours), list(ours)
    assert [batch.input_id.tolist() for batch in first] == [[1, 1, 0], [4, 4, 4], [9]]
    assert any(not torch.equal(one.e_id, other.e_id) for one, other in zip(first, second))
    ours.set_epoch(0)
    epoch = iter(ours)
    next(epoch)
    state = ours.state_dict()
    resumed = loader()
    resumed.load_state_dict(state)
    for others in (epoch, resumed, list(pickle.loads(pickle.dumps(loader())))[1:]):
        for one, other in zip(others, first[1:], strict=True):
            same(one, other)
    ranks = [[batch.input_id.tolist() for batch in loader(rank=rank, num_replicas=2)] for rank in range(2)]
    assert ranks == [[[1, 0, 4], [9]], [[1, 4, 4], [1]]]


def test_arrays_memory_and_errors(graph):
    Loader = plimsoll.NeighborLoader
    arrays = next(iter(Loader(graph, [3], SEEDS, batch_size=8, as_numpy=True)))
    batch = next(iter(Loader(graph, [3], SEEDS, batch_size=8)))
    for name, value in arrays.items():
        assert np.array_equal(value, batch[name]), name
    loader = Loader(graph, [3], SEEDS, batch_size=8)
    assert loader.row_counters()["hits"] == 0
    for options, text in (({"sampler": [0, 11]}, "sampler: returned 11; expected whole numbers from 0 to 10"),
                          ({"sampler": [0], "shuffle": True}, "cannot be combined with shuffle=True"),
                          ({"sampler": [0], "cache_bytes": "1MiB"}, "cannot be combined with cache_bytes")):
        with pytest.raises(plimsoll.UsageError, match=text):
            list(Loader(graph, [3], SEEDS, **options))
    with pytest.raises(plimsoll.UsageError, match="node 400 of 120"):
        list(Loader(graph, [3], [400, 400]))
    alone = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3)
    assert next(iter(Loader(alone, [2], [1, 1], batch_size=2))).n_id.tolist() == [1, 1]
