"""plimsoll.walks and plimsoll.RandomWalkLoader: the walks of the command line, and batches that Node2Vec trains on."""

import numpy as np
import pytest
import torch
from package_data import plimsoll
from torch_geometric.nn import Node2Vec


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """Two communities of 40 nodes, with few edges between."""
    folder = tmp_path_factory.mktemp("walks")
    random = np.random.default_rng(2)
    inside = random.integers(0, 40, (600, 2)) + 40 * random.integers(0, 2, (600, 1))
    between = np.stack([random.integers(0, 40, 20), random.integers(40, 80, 20)], axis=1)
    np.save(folder / "edges.npy", np.concatenate([inside, between]))
    with plimsoll.ingest.graph(folder / "edges.npy", folder / "graph", undirected=True, dedup=True) as graph:
        yield graph


def test_walks_are_those_of_the_command_line(run, graph, tmp_path):
    run("plimsoll", "walks", graph.path, "--out", tmp_path / "out", "--length", 9, "--walks", 3, "--q", 0.5, "--seed", 7)
    options = {"length": 9, "walks_per_node": 3, "q": 0.5, "seed": 7}
    written = np.load(tmp_path / "out/walks.npy")
    assert (plimsoll.walks(graph, **options) == written).all()
    assert (plimsoll.walks(graph, [5, 70], **options) == written.reshape(-1, 3, 10)[[5, 70]].reshape(-1, 10)).all()
    assert (plimsoll.walks(graph, epoch=1, **options) != written).any()
    many = plimsoll.walks(graph, np.resize(np.arange(80), 8000), **options)  # More than are made between two checks for signals.
    assert (many.reshape(100, -1, 10) == written).all()


def test_refusals(graph):
    for options, text in (({"p": 0}, "found p 0"), ({"length": -1}, "length=-1"), ({"starts": [80]}, "80"),
                          ({"starts": [0.5]}, "starts: is float64")):
        with pytest.raises(plimsoll.UsageError, match=text):
            plimsoll.walks(graph, **options)
    data = graph.to_pyg()
    for walk in (plimsoll.walks, lambda data: plimsoll.RandomWalkLoader(data, 5, 2)):
        with pytest.raises(plimsoll.UsageError, match="is Data, expected a plimsoll.Graph .*from_pyg"):
            walk(data)
    with pytest.raises(plimsoll.UsageError, match="context_size"):
        plimsoll.RandomWalkLoader(graph, 5, 6)


def loader_of(graph, **options):
    given = {"batch_size": 30, "shuffle": True, "seed": 3, **options}
    return plimsoll.RandomWalkLoader(graph, 10, 4, walks_per_node=2, num_negative_samples=3, **given)


def test_batches_are_windows_of_walks(graph):
    loader = loader_of(graph)
    assert len(loader) == 3
    starts = []
    for positive, negative in loader:
        assert positive.dtype == torch.int64 and positive.shape[1] == negative.shape[1] == 4
        assert len(negative) == 3 * len(positive)
        walks = len(positive) // 7
        starts.append(positive[:walks:2, 0])
        expected = plimsoll.walks(graph, starts[-1].numpy(), length=9, walks_per_node=2, seed=3)
        windows = np.lib.stride_tricks.sliding_window_view(expected, 4, axis=1).swapaxes(0, 1).reshape(-1, 4)
        assert (positive.numpy() == windows).all()
    assert sorted(torch.cat(starts).tolist()) == list(range(80))


def test_epochs_go_on_where_a_state_was_taken(graph):
    whole, part = loader_of(graph), loader_of(graph)
    first, second = list(whole), list(whole)
    batches = iter(part)
    next(batches)
    resumed = loader_of(graph)
    resumed.load_state_dict(part.state_dict())
    found = list(resumed) + list(resumed)
    for a, b in zip(first[1:] + second, found, strict=True):
        assert torch.equal(a[0], b[0]) and torch.equal(a[1], b[1])
    assert not torch.equal(first[0][0], second[0][0])


@pytest.mark.parametrize("drop_last", [False, True])
def test_ranks_share_the_starts(graph, drop_last):
    order = torch.cat([positive[: len(positive) // 7 : 2, 0] for positive, _ in loader_of(graph)]).numpy()
    for ranks in (1, 3, 80, 100):
        each = 80 // ranks if drop_last else -(-80 // ranks)
        for rank in range(ranks):
            loader = loader_of(graph, batch_size=1, drop_last=drop_last, rank=rank, num_replicas=ranks)
            found = [int(positive[0, 0]) for positive, _ in loader]
            assert found == np.resize(order, each * ranks)[rank::ranks].tolist()


class Embeddings(Node2Vec):
    """Node2Vec without its own sampler, which pyg-lib has."""

    def __init__(self, nodes, dimensions):
        torch.nn.Module.__init__(self)
        self.EPS, self.num_nodes, self.embedding_dim = 1e-15, nodes, dimensions
        self.embedding = torch.nn.Embedding(nodes, dimensions)


def test_node2vec_learns_communities(graph):
    torch.manual_seed(1)
    model = Embeddings(80, 16)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    loader = loader_of(graph)
    for _ in range(15):
        for positive, negative in loader:
            optimizer.zero_grad()
            model.loss(positive, negative).backward()
            optimizer.step()
    vectors = torch.nn.functional.normalize(model().detach())
    likeness = vectors @ vectors.T
    inside = (likeness[:40, :40].mean() + likeness[40:, 40:].mean()) / 2
    assert inside > likeness[:40, 40:].mean() + 0.3
