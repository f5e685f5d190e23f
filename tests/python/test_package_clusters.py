"""plimsoll.ClusterData and ClusterLoader: partitions by streaming and by METIS, batches of whole parts."""

import pickle

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.utils import subgraph  # noqa: E402

NODES, COMMUNITIES = 2000, 10
METHODS = ["stream", "metis"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Hidden communities with most edges, features, classes and weights."""
    folder = tmp_path_factory.mktemp("clusters")
    dice = np.random.default_rng(4)
    source = dice.integers(0, NODES, 8 * NODES)
    near = source % COMMUNITIES + COMMUNITIES * dice.integers(0, NODES // COMMUNITIES, len(source))
    target = np.where(dice.random(len(source)) < 0.9, near, dice.integers(0, NODES, len(source)))
    arrays = {"edges": np.stack([source, target], 1), "x": dice.random((NODES, 64), np.float32),
              "y": dice.integers(0, 4, NODES), "weights": dice.random(len(source), np.float32)}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    plimsoll.ingest.graph(folder / "edges.npy", folder / "graph", undirected=True, dedup=True,
                          columns=plimsoll.ingest.EdgeColumns(weight=folder / "weights.npy"), features=folder / "x.npy", labels=folder / "y.npy")
    return folder / "graph"


@pytest.fixture
def graph(folder):
    with plimsoll.open(folder) as graph:
        yield graph


@pytest.fixture
def ring(tmp_path):
    """30 nodes: fewer than finders of parts use up."""
    numbers = torch.arange(30)
    data = Data(x=torch.ones(30, 2), edge_index=torch.stack([numbers, (numbers + 1) % 30]), y=numbers % 3)
    return plimsoll.from_pyg(data, tmp_path / "ring")


def cut_by_hand(graph, parts):
    owner = np.repeat(np.arange(graph.num_nodes), np.diff(graph.indptr))
    return int((parts[owner] != parts[graph.indices]).sum())


@pytest.mark.parametrize("method", METHODS)
def test_parts_are_balanced_and_cut_few_edges(graph, method):
    clusters = plimsoll.ClusterData(graph, COMMUNITIES, method=method)
    assert clusters.parts.dtype == np.int32 and clusters.parts.shape == (NODES,) and len(clusters) == COMMUNITIES
    sizes = np.bincount(clusters.parts, minlength=COMMUNITIES)
    assert len(sizes) == COMMUNITIES and sizes.min() > 0 and sizes.max() <= 1.1 * NODES / COMMUNITIES
    assert clusters.cut_edges == cut_by_hand(graph, clusters.parts) < 0.35 * graph.num_edges
    again = plimsoll.ClusterData(graph, COMMUNITIES, method=method, budget="64MiB")
    assert np.array_equal(again.parts, clusters.parts)


@pytest.mark.parametrize("data", ["graph-cnr2000/cnr-2000.arcs.tsv.zst", "graph-cora/edges.tsv.zst"])
def test_metis_cuts_less_of_real_graphs(data_dir, tmp_path, data):
    if not (data_dir / data).exists():
        pytest.skip(f"no {data}")
    graph = plimsoll.ingest.graph(data_dir / data, tmp_path / "graph", undirected=True, dedup=True)
    found = {method: plimsoll.ClusterData(graph, 64, method=method) for method in METHODS}
    chance = np.random.default_rng(0).integers(0, 64, graph.num_nodes)
    chance = plimsoll.ClusterData(graph, 64, parts=chance)
    assert found["metis"].cut_edges < found["stream"].cut_edges < chance.cut_edges
    assert found["metis"].cut_edges == cut_by_hand(graph, found["metis"].parts)
    assert np.bincount(found["metis"].parts).max() <= np.ceil(1.11 * graph.num_nodes / 64)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("cache_bytes", [None, "256KiB"])
def test_a_batch_is_the_subgraph_of_its_parts(graph, method, cache_bytes):
    clusters = plimsoll.ClusterData(graph, 20, method=method)
    loader = plimsoll.ClusterLoader(clusters, batch_size=3, shuffle=True, seed=2, cache_bytes=cache_bytes)
    data = graph.to_pyg()
    seen = []
    for batch in loader:
        nodes = np.concatenate([np.flatnonzero(clusters.parts == part) for part in batch.input_id.tolist()])
        assert np.array_equal(batch.n_id, nodes)
        for name in ("x", "y"):
            assert torch.equal(batch[name], data[name][batch.n_id])
        assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id])
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        _, _, inside = subgraph(batch.n_id, data.edge_index, num_nodes=NODES, return_edge_mask=True)
        assert batch.num_edges == int(inside.sum())
        seen.append(batch.n_id)
    assert len(loader) == len(seen) == 7
    assert torch.equal(torch.cat(seen).sort().values, torch.arange(NODES))


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("method, num_parts", [("metis", 20), ("metis", 29), ("stream", 8)])
def test_a_part_without_nodes_is_an_empty_batch(ring, method, num_parts, keep):
    clusters = plimsoll.ClusterData(ring, num_parts, method=method, keep_inter_cluster_edges=keep)
    sizes = np.bincount(clusters.parts, minlength=num_parts)
    assert 0 in sizes
    parts = list(clusters)
    assert [part.batch_size for part in parts] == sizes.tolist()
    assert [int(part.input_id) for part in parts] == list(range(num_parts))
    full = parts[int(sizes.argmax())]
    for part in (parts[i] for i in np.flatnonzero(sizes == 0)):
        assert part.keys() == full.keys() and part.num_nodes == part.num_edges == len(part.y) == 0
        assert part.x.shape == (0, 2) and part.edge_index.shape == (2, 0) and part.edge_index.dtype == torch.int64
        assert not keep or part.num_sampled_nodes == [0, 0] and part.num_sampled_edges == [0]


def test_epochs_ranks_and_states(graph):
    clusters = plimsoll.ClusterData(graph, 12)
    loader = plimsoll.ClusterLoader(clusters, batch_size=2, shuffle=True, seed=5, transform=lambda data: data.input_id.tolist())
    first, second = list(loader), list(loader)
    assert first != second and sorted(sum(first, [])) == sorted(sum(second, [])) == list(range(12))
    loader.set_epoch(0)
    epoch = iter(loader)
    assert [next(epoch), next(epoch)] == first[:2]
    state = loader.state_dict()
    other = plimsoll.ClusterLoader(pickle.loads(pickle.dumps(clusters)), batch_size=2, shuffle=True, seed=5,
                                   transform=loader.transform)
    other.load_state_dict(state)
    assert list(other) == first[2:]
    shares = [plimsoll.ClusterLoader(clusters, transform=loader.transform, rank=rank, num_replicas=2) for rank in (0, 1)]
    assert sorted(sum((part for share in shares for part in share), [])) == list(range(12))
    moved = plimsoll.ClusterData(graph, 12, parts=(clusters.parts + 1) % 12)
    with pytest.raises(plimsoll.UsageError, match="other data"):
        plimsoll.ClusterLoader(moved, batch_size=2, shuffle=True, seed=5).load_state_dict(state)


def test_what_is_no_partition_is_refused(graph):
    for options, text in (({"num_parts": 0}, "num_parts=0"), ({"num_parts": NODES + 1}, "found 2001 parts"),
                          ({"method": "random"}, "expected one of stream, metis"), ({"slack": -1}, "slack of -1"),
                          ({"parts": [0, 1]}, r"shape \[2000\]"), ({"parts": np.full(NODES, 9)}, "expected 0 to 4")):
        for method in METHODS:
            with pytest.raises(plimsoll.UsageError, match=text):
                plimsoll.ClusterData(graph, **{"num_parts": 5, "method": method, **options})
    with pytest.raises(plimsoll.UsageError, match=r"expected a plimsoll\.Graph"):
        plimsoll.ClusterData(5, 3)
    with pytest.raises(plimsoll.UsageError, match=r"expected a plimsoll\.ClusterData"):
        plimsoll.ClusterLoader(graph)


def test_a_budget_that_does_not_suffice_is_refused(graph):
    with pytest.raises(plimsoll.BudgetExceeded, match="partition by streaming instead"):
        plimsoll.ClusterData(graph, 5, method="metis", budget="1MiB")
    assert len(plimsoll.ClusterData(graph, 5, method="stream", budget="1MiB").parts) == NODES
