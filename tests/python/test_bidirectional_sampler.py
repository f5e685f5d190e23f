"""`BidirectionalNeighborSampler`: neighbours along edges in both directions."""

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Data
from torch_geometric.loader import LinkLoader, NodeLoader
from torch_geometric.utils import k_hop_subgraph, to_undirected


def graph(edges=500):
    torch.manual_seed(3)
    return Data(edge_index=torch.randint(150, (2, edges)), num_nodes=150, x=torch.rand(150, 2), edge_attr=torch.arange(edges))


@pytest.mark.parametrize("hops", [1, 2])
def test_all_neighbours_are_those_along_edges_in_both_directions(hops):
    data = graph()
    both = to_undirected(data.edge_index)
    for batch in NodeLoader(data, plimsoll.BidirectionalNeighborSampler(data, [-1] * hops), torch.arange(20), batch_size=5):
        assert torch.equal(batch.n_id[:5], batch.input_id) and torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])
        nodes = k_hop_subgraph(batch.input_id, hops, both)[0]
        assert batch.n_id.sort()[0].equal(nodes)
        assert sum(batch.num_sampled_nodes) == batch.num_nodes and sum(batch.num_sampled_edges) == batch.num_edges
        for count in range(hops + 1):
            near = batch.n_id[: sum(batch.num_sampled_nodes[: count + 1])]
            assert near.sort()[0].equal(k_hop_subgraph(batch.input_id, count, both)[0] if count else batch.input_id.sort()[0])
        inner = k_hop_subgraph(batch.input_id, hops - 1, both)[0] if hops > 1 else batch.input_id
        touched = torch.isin(data.edge_index, inner).any(dim=0)
        assert batch.e_id.sort()[0].equal(torch.where(touched)[0])


def test_counts_and_weights_and_seeds():
    data = graph(4000)
    data.weight = (torch.arange(4000) % 2).float()
    sampler = plimsoll.BidirectionalNeighborSampler(data, [3], weight_attr="weight", seed=5)
    one, two = (next(iter(NodeLoader(data, sampler, torch.arange(9), batch_size=9))) for _ in range(2))
    assert torch.equal(one.e_id, two.e_id) and (one.weight == 1).all()
    sources, targets = one.n_id[one.edge_index]
    for seed in range(9):
        assert (targets == seed).sum() >= 3 and (sources == seed).sum() >= 3
    assert len(one.e_id) <= 9 * 6


def test_a_node_without_neighbours():
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=4)
    for batch in NodeLoader(data, plimsoll.BidirectionalNeighborSampler(data, [2, 2]), torch.tensor([3, 0]), batch_size=1):
        assert batch.num_nodes == (1 if batch.input_id == 0 else 2)


@pytest.mark.parametrize(("options", "text"), [
    ({"disjoint": True}, "disjoint=True.*expected None, False, True and 'directional'"),
    ({"subgraph_type": "induced"}, "subgraph_type='induced'"),
    ({"time_attr": "time"}, "time_attr='time'"),
    ({"weight_attr": "mass"}, "weight_attr='mass': data has no such attribute"),
])
def test_what_it_does_not_have_is_refused(options, text):
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.BidirectionalNeighborSampler(graph(), [2], **options)


def test_what_it_is_not_asked_for_is_refused():
    data = graph()
    sampler = plimsoll.BidirectionalNeighborSampler(data, [2])
    with pytest.raises(plimsoll.UsageError, match="a seed occurs twice"):
        next(iter(NodeLoader(data, sampler, torch.tensor([3, 3]), batch_size=2)))
    with pytest.raises(plimsoll.UsageError, match="plimsoll.LinkNeighborLoader follows one direction"):
        next(iter(LinkLoader(data, sampler, data.edge_index, batch_size=2)))


def test_a_graph_on_disk_is_refused_with_the_remedy(tmp_path):
    stored = plimsoll.simulate.graph(tmp_path / "graph", nodes=50, degree=3)
    with pytest.raises(plimsoll.UsageError, match=r"is Graph, expected.*give graph.to_pyg\(\)"):
        plimsoll.BidirectionalNeighborSampler(stored, [2])
