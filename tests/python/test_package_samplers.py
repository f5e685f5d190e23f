"""Graph.sampler in PyTorch Geometric's own loaders."""

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from full_neighbourhood import FullNeighbourhood
from torch_geometric.loader import LinkLoader, NeighborLoader, NodeLoader
from torch_geometric.sampler import NegativeSampling


@pytest.fixture
def graph(tmp_path):
    dice = np.random.default_rng(3)
    np.save(tmp_path / "edges.npy", dice.integers(0, 300, (3000, 2)))
    np.save(tmp_path / "x.npy", dice.random((300, 5), np.float32))
    return plimsoll.ingest.graph(tmp_path / "edges.npy", tmp_path / "graph", features=tmp_path / "x.npy", dedup=True)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("options", [{}, {"disjoint": True}], ids=str)
def test_node_loader_gives_what_a_full_sampler_gives(graph, options, workers):
    full = FullNeighbourhood(graph.tensor("indptr"), graph.tensor("indices"), 2, **options)
    ours, theirs = (NodeLoader(graph.stores(), sampler, torch.arange(60), batch_size=25, num_workers=workers)
                    for sampler in (graph.sampler([-1, -1], **options), full))
    for one, other in zip(ours, theirs, strict=True):
        assert list(one.to_dict()) == list(other.to_dict())
        for name, value in other.to_dict().items():
            assert torch.equal(one[name], value) if isinstance(value, torch.Tensor) else one[name] == value, name


def test_neighbor_loader_takes_it_over_stores_and_data(graph):
    for source in (graph.stores(), graph.to_pyg()):
        loader = NeighborLoader(source, [4, 2], torch.arange(100), batch_size=30, neighbor_sampler=graph.sampler([4, 2]))
        for batch in loader:
            assert torch.equal(batch.x, graph.tensor("x")[batch.n_id])
            assert torch.equal(batch.n_id[batch.edge_index], graph.to_pyg().edge_index[:, batch.e_id])
            assert batch.num_sampled_nodes[0] == batch.batch_size


@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_link_loader(graph, mode):
    pairs = graph.to_pyg().edge_index[:, ::7]
    loader = LinkLoader(graph.stores(), graph.sampler([5, 3]), (None, pairs), batch_size=50,
                        neg_sampling=NegativeSampling(mode))
    for batch in loader:
        count = len(batch.input_id)
        ends = batch.edge_label_index[:, :count] if mode == "binary" else torch.stack([batch.src_index, batch.dst_pos_index])
        assert torch.equal(batch.n_id[ends], pairs[:, batch.input_id])
        assert torch.equal(batch.x, graph.tensor("x")[batch.n_id])


def test_draws_by_torchs_generator_or_its_seed(graph):
    def edges(sampler):
        return [batch.e_id.tolist() for batch in NodeLoader(graph.stores(), sampler, torch.arange(90), batch_size=30)]

    torch.manual_seed(4)
    first = edges(graph.sampler([3]))
    assert edges(graph.sampler([3])) != first
    torch.manual_seed(4)
    assert edges(graph.sampler([3])) == first
    sampler = graph.sampler([3], seed=9)
    assert edges(sampler) == edges(sampler) == [batch.e_id.tolist() for batch in plimsoll.NeighborLoader(
        graph, [3], np.arange(90), batch_size=30, seed=9)]


def test_what_cannot_be_sampled_is_refused_at_once(graph):
    for options, text in (({"weight_attr": "edge_weight"}, "no weights"), ({"subgraph_type": "all"}, "'all'"),
                          ({"seed": -1}, "seed=-1")):
        with pytest.raises(plimsoll.UsageError, match=text):
            graph.sampler([3], **options)
    with pytest.raises(plimsoll.UsageError, match="node 300 of 300"):
        next(iter(NodeLoader(graph.stores(), graph.sampler([3]), torch.tensor([300]))))
