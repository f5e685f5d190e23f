"""Stores of the caller's own in `plimsoll.NeighborLoader` and `LinkNeighborLoader`."""

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Data, HeteroData
from torch_geometric.testing import MyFeatureStore, MyGraphStore


def stores(edge_type=None):
    torch.manual_seed(1)
    features, graph = MyFeatureStore(), MyGraphStore()
    features.put_tensor(torch.rand(40, 3), group_name=None, attr_name="x", index=None)
    edge_index = torch.randint(40, (2, 200))
    graph.put_edge_index(tuple(edge_index), edge_type=edge_type, layout="coo", size=(40, 40))
    return (features, graph), Data(x=features.get_tensor(group_name=None, attr_name="x", index=None), edge_index=edge_index)


@pytest.mark.parametrize("hops", [[-1, -1], [3, 2]])
def test_batches_are_those_of_the_same_data(hops):
    pair, data = stores()
    loaders = [plimsoll.NeighborLoader(source, hops, torch.arange(25), batch_size=10, seed=3) for source in (pair, data)]
    for one, other in zip(*loaders, strict=True):
        for name in ("x", "edge_index", "n_id", "e_id", "input_id"):
            assert torch.equal(one[name], other[name]), name
    assert str(loaders[0]) == str(loaders[1])


def test_stores_may_have_types_and_times():
    features, graph, data = MyFeatureStore(), MyGraphStore(), HeteroData()
    for kind, count in (("a", 30), ("b", 20)):
        data[kind].x, data[kind].time = torch.rand(count, 3), torch.randint(10, (count,))
        for name in ("x", "time"):
            features.put_tensor(data[kind][name], group_name=kind, attr_name=name, index=None)
    data["a", "to", "b"].edge_index = torch.stack([torch.randint(30, (200,)), torch.randint(20, (200,))])
    graph.put_edge_index(tuple(data["a", "to", "b"].edge_index), edge_type=("a", "to", "b"), layout="coo", size=(30, 20))
    for options in ({}, {"time_attr": "time"}):
        loaders = [plimsoll.NeighborLoader(source, [3], "b", batch_size=7, seed=3, **options) for source in ((features, graph), data)]
        for one, other in zip(*loaders, strict=True):
            assert torch.equal(one["a"].x, other["a"].x) and torch.equal(one["a"].time, other["a"].time)
            assert torch.equal(one["a", "to", "b"].edge_index, other["a", "to", "b"].edge_index)


def test_links_of_stores():
    pair, data = stores()
    for batch in plimsoll.LinkNeighborLoader(pair, [3], data.edge_index[:, :30], batch_size=10, neg_sampling_ratio=1.0):
        assert torch.equal(batch.x, data.x[batch.n_id]) and len(batch.edge_label) == 20


def test_what_stores_do_not_have_is_refused():
    with pytest.raises(plimsoll.UsageError, match="input_nodes: is missing; give a node type"):
        plimsoll.NeighborLoader(stores(("a", "to", "b"))[0], [2])
    with pytest.raises(plimsoll.UsageError, match="weight_attr='w': stores have no edge weights"):
        plimsoll.NeighborLoader(stores(("a", "to", "b"))[0], [2], "b", weight_attr="w")
    with pytest.raises(plimsoll.UsageError, match="time_attr='time': no node type has it"):
        plimsoll.NeighborLoader(stores(("a", "to", "b"))[0], [2], "b", time_attr="time")
    with pytest.raises(plimsoll.UsageError, match="weight_attr='w': stores have no edge weights"):
        plimsoll.NeighborLoader(stores()[0], [2], weight_attr="w")
