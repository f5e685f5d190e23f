"""plimsoll.NeighborLoader beside PyTorch Geometric's loaders."""

import json
import os
import pickle

import numpy as np
import pytest
from package_data import plimsoll, python

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
import torch_geometric.typing
from full_neighbourhood import FullNeighbourhood
from torch_geometric.data import Data
from torch_geometric.loader import NodeLoader
from torch_geometric.utils import k_hop_subgraph, subgraph

NODES = 3000
ONE_NODE_TWICE = [7, 7]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph with hubs, weights, features of nodes and edges, classes and splits."""
    folder = tmp_path_factory.mktemp("neighbours")
    dice = np.random.default_rng(2)
    edges = (NODES * dice.random((12 * NODES, 2)) ** [2, 1]).astype(np.int64)
    arrays = {"edges": edges, "x": dice.random((NODES, 64), np.float32), "y": dice.integers(-1, 4, NODES),
              "weights": dice.random(len(edges), np.float32), "edge_x": dice.random((len(edges), 2), np.float32),
              "train": np.sort(dice.choice(NODES, 500, replace=False))}
    file = {}
    for name, array in arrays.items():
        file[name] = folder / f"{name}.npy"
        np.save(file[name], array)
    plimsoll.ingest.graph(file["edges"], folder / "graph", features=file["x"], labels=file["y"],
                          columns=plimsoll.ingest.EdgeColumns(weight=file["weights"], features=file["edge_x"]),
                          splits={"train": file["train"]}, dedup=True)
    return folder / "graph"


@pytest.fixture
def graph(folder):
    with plimsoll.open(folder) as graph:
        yield graph


def as_data(graph):
    """What PyTorch Geometric's loaders take; they would copy splits into every batch as they are."""
    data = graph.to_pyg()
    for name in list(data.keys()):
        if name.endswith("_idx"):
            del data[name]
    return data


def full_loader(graph, data, hops, input_nodes, batch_size, **options):
    sampler = FullNeighbourhood(graph.tensor("indptr"), graph.tensor("indices"), hops, **options)
    return NodeLoader(data, sampler, input_nodes, batch_size=batch_size)


def assert_same(ours, theirs):
    assert type(ours) is type(theirs) is Data
    assert list(ours.to_dict()) == list(theirs.to_dict())
    for name, value in theirs.to_dict().items():
        mine = ours[name]
        if isinstance(value, torch.Tensor):
            assert mine.dtype == value.dtype and torch.equal(mine, value), name
        else:
            assert mine == value and type(mine) is type(value), name
    assert (ours.num_nodes, ours.num_edges, ours.num_features) == (theirs.num_nodes, theirs.num_edges, theirs.num_features)


def contents(loader):
    return [{name: value.tolist() if isinstance(value, torch.Tensor) else value for name, value in batch.to_dict().items()}
            for batch in loader]


@pytest.mark.parametrize("cache_bytes", [None, "256KiB"])
@pytest.mark.parametrize("seeds", [None, "numbers", "mask"])
@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"subgraph_type": "bidirectional"}], ids=str)
def test_batches_of_all_neighbours_are_those_of_pyg(graph, options, seeds, cache_bytes):
    count = 70 if options.get("disjoint") else 300
    nodes = {None: None, "numbers": torch.randperm(NODES)[:count], "mask": torch.arange(NODES) % 20 == 3}[seeds]
    size = 7 if options.get("disjoint") else 600
    ours = plimsoll.NeighborLoader(graph, [-1, -1], nodes, batch_size=size, cache_bytes=cache_bytes, **options)
    bidirectional = options.get("subgraph_type") == "bidirectional"
    theirs = full_loader(graph, as_data(graph), 2, nodes, size, disjoint=options.get("disjoint", False),
                         bidirectional=bidirectional)
    assert len(ours) == len(theirs) > (0 if seeds else 4)
    for i, (one, other) in enumerate(zip(ours, theirs)):
        if bidirectional:
            assert same_but_edges_there_and_back(one, other)
        assert_same(one, other)
        if i == 4:
            break
    else:
        assert i == len(theirs) - 1


def same_but_edges_there_and_back(ours, theirs):
    """Of an edge and its reverse PyTorch Geometric names either; ours are the ones sampled. Makes them the same."""
    assert torch.equal(ours.edge_index, theirs.edge_index)
    for name in ("e_id", "edge_attr", "edge_weight"):
        ours[name] = theirs[name]
    return True


@pytest.mark.parametrize("columns", [{}, {"features": 3}])
def test_graphs_with_fewer_columns(columns, tmp_path):
    graph = plimsoll.simulate.graph(tmp_path / "graph", nodes=400, degree=5, **columns)
    theirs = full_loader(graph, as_data(graph), 2, None, 50)
    for one, other in zip(plimsoll.NeighborLoader(graph, [-1, -1], batch_size=50), theirs, strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("name", ["graph-tolokers", "graph-fb100-amherst41", "graph-cnr2000"])
def test_neighbourhoods_of_real_graphs(data_dir, name, tmp_path):
    folder = data_dir / name
    if not folder.is_dir():
        pytest.skip(f"no graph at {folder} (set PLIMSOLL_DATA)")
    columns = {"features": ["features_dense"], "label": "label"} if name == "graph-tolokers" else {}
    nodes = {} if name == "graph-cnr2000" else {
        "nodes": plimsoll.ingest.NodeTable(folder / "nodes.tsv.zst", **columns), "undirected": True}
    graph = plimsoll.ingest.graph(next(folder.glob("*.tsv.zst" if not nodes else "edges.*")), tmp_path / "graph", **nodes)
    data = as_data(graph)
    seeds = torch.randperm(graph.num_nodes, generator=torch.manual_seed(1))[:30]
    for batch in plimsoll.NeighborLoader(graph, [-1, -1], seeds, batch_size=10):
        reached, edge_index, _, mask = k_hop_subgraph(batch.n_id[:10], 2, data.edge_index, num_nodes=graph.num_nodes)
        assert torch.equal(batch.n_id.sort()[0], reached)
        # Of nodes that only the last hop reached no edges are sampled.
        inner = k_hop_subgraph(batch.n_id[:10], 1, data.edge_index, num_nodes=graph.num_nodes)[0]
        expected = mask.nonzero().flatten()
        expected = expected[torch.isin(data.edge_index[1, expected], inner)]
        assert torch.equal(batch.e_id.sort()[0], expected)
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        if graph.x is not None:
            assert torch.equal(batch.x, data.x[batch.n_id]) and torch.equal(batch.y, data.y[batch.n_id])


def test_induced_is_the_subgraph_of_pyg(graph):
    data = as_data(graph)
    for batch in plimsoll.NeighborLoader(graph, [4, 4], "train", subgraph_type="induced", batch_size=100):
        kept = torch.zeros(NODES, dtype=torch.bool)
        kept[batch.n_id] = True
        edge_index, edge_attr = subgraph(kept, data.edge_index, data.edge_attr)
        rank = torch.argsort(batch.e_id)
        assert torch.equal(batch.n_id[batch.edge_index][:, rank], edge_index)
        assert torch.equal(batch.edge_attr[rank], edge_attr)
        assert "num_sampled_edges" not in batch


@pytest.mark.skipif(not (torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE),
                    reason="PyTorch Geometric samples neighbours with pyg-lib or torch-sparse only")
def test_batches_are_those_of_pygs_own_sampler(graph):
    from torch_geometric.loader import NeighborLoader

    theirs = NeighborLoader(as_data(graph), [-1, -1], is_sorted=True, batch_size=300)
    for one, other in zip(plimsoll.NeighborLoader(graph, [-1, -1], batch_size=300), theirs, strict=True):
        assert torch.equal(one.n_id.sort()[0], other.n_id.sort()[0]) and torch.equal(one.e_id.sort()[0], other.e_id.sort()[0])


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"replace": True}, {"weight_attr": "edge_weight"}], ids=str)
def test_sampled_neighbours(graph, options):
    fan_outs = torch.tensor([6, 3, 0])
    data, degrees = as_data(graph), graph.tensor("indptr").diff()
    for batch in plimsoll.NeighborLoader(graph, [6, 3], "train", batch_size=40, shuffle=True, **options):
        hop = torch.repeat_interleave(torch.arange(3), torch.tensor(batch.num_sampled_nodes))
        assert len(hop) == batch.num_nodes and sum(batch.num_sampled_edges) == batch.num_edges
        wanted = fan_outs[hop]
        if options.get("replace"):
            wanted = wanted * (degrees[batch.n_id] > 0)
        else:
            wanted = torch.minimum(wanted, degrees[batch.n_id])
            assert len(torch.stack([batch.e_id, batch.edge_index[1]]).unique(dim=1)[0]) == batch.num_edges
        assert torch.equal(torch.bincount(batch.edge_index[1], minlength=batch.num_nodes), wanted)
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        for name in ("x", "y"):
            assert torch.equal(batch[name], data[name][batch.n_id])
        for name in ("edge_attr", "edge_weight"):
            assert torch.equal(batch[name], data[name][batch.e_id])
        assert torch.equal(batch.n_id[: batch.batch_size], graph.tensor("train_idx")[batch.input_id])
        if options.get("disjoint"):
            assert torch.equal(*batch.batch[batch.edge_index])


def test_rows_of_targets_are_followed_from_their_node(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n0 2\n1 3\n4 0\n")
    graph = plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / "graph", layout=plimsoll.ingest.GraphLayout(direction="out"))
    (batch,) = plimsoll.NeighborLoader(graph, [-1, -1], [0])
    assert batch.n_id.tolist() == [0, 1, 2, 3] and batch.edge_index.tolist() == [[1, 2, 3], [0, 0, 1]]
    assert torch.equal(batch.n_id[batch.edge_index].flip(0), graph.to_pyg().edge_index[:, batch.e_id])


def test_transform(graph):
    def doubled(batch):
        batch.x = 2 * batch.x
        return batch

    for batch in plimsoll.NeighborLoader(graph, [3], "train", batch_size=100, transform=doubled):
        assert torch.equal(batch.x, 2 * graph.tensor("x")[batch.n_id])


def test_weights_of_zero_are_never_sampled(tmp_path):
    (tmp_path / "edges.txt").write_text("".join(f"{u} 0 {u % 2}\n" for u in range(1, 41)))
    graph = plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / "graph", columns=plimsoll.ingest.EdgeColumns(weight=2))
    loader = plimsoll.NeighborLoader(graph, [5], [0], weight_attr="edge_weight")
    for _ in range(20):
        batch = next(iter(loader))
        assert batch.num_edges == 5 and (batch.edge_weight == 1).all()


@pytest.mark.parametrize("disjoint", [False, True])
def test_the_same_whatever_the_cache_and_the_thread(graph, disjoint):
    options = {"batch_size": 60, "shuffle": True, "seed": 5, "disjoint": disjoint}

    def batches(**more):
        return contents(plimsoll.NeighborLoader(graph, [5, 4], "train", **options, **more))

    first = batches()
    assert len(first) == 9 and first[-1]["batch_size"] == 20
    for more in ({"prefetch_factor": 0}, {"cache_bytes": "192KiB"}, {"cache_bytes": 300_000, "horizon": 0},
                 {"cache_bytes": 300_000, "horizon": 100}, {"cache_bytes": "4MiB", "prefetch_factor": 0}):
        assert batches(**more) == first, more
    options["seed"] = 6
    assert batches() != first


def test_epochs_differ_and_come_again(graph):
    loader = plimsoll.NeighborLoader(graph, [2, 2], "train", batch_size=100, shuffle=True)
    first, second = contents(loader), contents(loader)
    assert first != second
    loader.set_epoch(0)
    assert contents(loader) == first
    plain = plimsoll.NeighborLoader(graph, [2], "train", batch_size=100)
    one, two = next(iter(plain)), next(iter(plain))
    assert torch.equal(one.n_id[:100], two.n_id[:100]) and not torch.equal(one.e_id, two.e_id)


def test_a_disjoint_sample_depends_on_its_seed_alone(graph):
    def of_seed(seed, **options):
        for batch in plimsoll.NeighborLoader(graph, [4, 4], "train", disjoint=True, **options):
            for i in (batch.n_id[: batch.batch_size] == seed).nonzero().flatten().tolist():
                return batch.e_id[batch.batch[batch.edge_index[1]] == i].tolist()

    seed = int(graph.splits["train"][77])
    assert of_seed(seed, batch_size=1) == of_seed(seed, batch_size=50, shuffle=True) != []


def test_tensors_outlive_the_loader_and_are_counted(graph):
    loader = plimsoll.NeighborLoader(graph, [5], "train", batch_size=100, cache_bytes="200KiB")
    running = iter(loader)
    kept = [next(running) for _ in range(3)]
    assert loader.live_bytes >= sum(value.nbytes for batch in kept for value in batch.to_dict().values()
                                    if isinstance(value, torch.Tensor) and len(value) > 9)
    x = graph.tensor("x")
    del loader, running
    for batch in kept:
        batch.x += 1
        assert torch.equal(batch.x, x[batch.n_id] + 1)
    assert torch.equal(graph.tensor("x"), x)


def test_a_closed_graph_ends_nothing_that_runs(graph):
    loader = plimsoll.NeighborLoader(graph, [3], "train", batch_size=100)
    running = iter(loader)
    next(running)
    graph.close()
    assert len(list(running)) == 4
    with pytest.raises(plimsoll.UsageError, match="closed"):
        next(iter(loader))


def test_the_cache_knows_what_comes(graph):
    options = {"num_neighbors": [5, 5], "input_nodes": "train", "batch_size": 50}
    everything = plimsoll.NeighborLoader(graph, cache_bytes="4MiB", **options)
    reached = set()
    for batch in everything:
        reached |= set(batch.n_id.tolist())
    assert everything.row_counters()["misses"] == len(reached)
    list(everything)
    assert everything.row_counters()["misses"] < NODES

    known, unknown = (plimsoll.NeighborLoader(graph, horizon=horizon, cache_bytes="600KiB", **options) for horizon in (None, 0))
    list(known), list(unknown)
    assert known.row_counters()["misses"] <= unknown.row_counters()["misses"]
    assert known.row_counters()["bytes_useful"] == known.row_counters()["misses"] * 256


def test_epochs_that_run_together_and_end_early(graph):
    def loader(**options):
        return plimsoll.NeighborLoader(graph, [5], "train", batch_size=50, shuffle=True, **options)

    plain = loader()
    first, second = contents(plain), contents(plain)
    both = loader(cache_bytes="400KiB", horizon=3)
    one, two = iter(both), iter(both)
    together = [pair for _ in range(10) for pair in (contents([next(one)])[0], contents([next(two)])[0])]
    assert together[::2] == first and together[1::2] == second
    both.set_epoch(0)
    for _, batch in zip(range(3), both):
        assert batch.batch_size == 50
    assert contents(both) == second


def test_goes_on_where_a_state_says(graph):
    def loader():
        return plimsoll.NeighborLoader(graph, [3], "train", batch_size=60, shuffle=True, seed=3, cache_bytes="200KiB")

    one = loader()
    whole = contents(one)
    one.set_epoch(0)
    running = iter(one)
    for _ in range(4):
        next(running)
    state = json.loads(json.dumps(one.state_dict()))
    two = pickle.loads(pickle.dumps(loader()))
    two.load_state_dict(state)
    assert contents(two) == whole[4:]
    other = plimsoll.NeighborLoader(graph, [4], "train", batch_size=60, shuffle=True, seed=3)
    with pytest.raises(plimsoll.UsageError, match="num_neighbors"):
        other.load_state_dict(state)


def test_ranks_share_the_seeds(graph):
    def seeds(**options):
        loader = plimsoll.NeighborLoader(graph, [2], "train", batch_size=30, shuffle=True, **options)
        assert len(loader) == len(list(loader))
        loader.set_epoch(0)
        return [batch.n_id[: batch.batch_size].tolist() for batch in loader]

    ranks = [seeds(rank=rank, num_replicas=3) for rank in range(3)]
    assert {len(batches) for batches in ranks} == {6}
    everyone = [node for batches in ranks for batch in batches for node in batch]
    assert len(everyone) == 501 and set(everyone) == set(graph.splits["train"].tolist())
    assert [len(batch) for batch in seeds(drop_last=True)] == [30] * 16


def test_a_child_of_fork_goes_on(graph):
    loader = plimsoll.NeighborLoader(graph, [3], "train", batch_size=100, cache_bytes="200KiB")
    running = iter(loader)
    next(running)
    rest = contents(loader)[1:]
    child = os.fork()
    if child == 0:
        os._exit(0 if len(list(running)) == 4 and len(contents(loader)) == 5 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert len(rest) == len(list(running)) == 4


def test_a_data_set_that_was_replaced_is_not_read(tmp_path):
    made = {"out": tmp_path / "graph", "nodes": 200, "degree": 3, "features": 4}
    graph = plimsoll.simulate.graph(**made, seed=1)
    plimsoll.simulate.graph(**made, seed=2, force=True)
    for batch in plimsoll.NeighborLoader(graph, [3], batch_size=50):
        assert np.array_equal(batch.x, graph.x[batch.n_id])
    with pytest.raises(plimsoll.InputError, match="replaced"):
        plimsoll.NeighborLoader(graph, [3], batch_size=50, cache_bytes="1MiB")


def test_a_budget_that_does_not_suffice_is_refused(folder):
    out = python(f"""
import plimsoll
graph = plimsoll.open({str(folder)!r})
graph.to_pyg()
loader = plimsoll.NeighborLoader(graph, [-1, -1, -1], batch_size=1500, cache_bytes="256KiB")
import torch
from plimsoll import _operators
_operators.load()
from plimsoll import _torch
with plimsoll.budget(_torch.anonymous() + (14 << 20)):
    held = []
    try:
        for _ in range(40):
            held += list(loader)
        print("all")
    except plimsoll.BudgetExceeded as error:
        print(error)
held.clear()
print(len(list(loader)))
""")
    assert "batches that were delivered" in out and "num_neighbors" in out and out.split()[-1] == "2"


def test_wrong_arguments(graph):
    Loader = plimsoll.NeighborLoader
    with pytest.raises(plimsoll.UsageError, match="expected a plimsoll.Graph"):
        Loader([as_data(graph)], [3])
    for options, text in (({"subgraph_type": "both"}, "subgraph_type: found 'both'"), ({"weight_attr": "w"}, "weight_attr='w'"),
                          ({"input_nodes": [3, NODES]}, f"node {NODES} of {NODES}"), ({"input_nodes": "valid"}, "valid"),
                          ({"input_nodes": [0.5]}, "float64"), ({"cache_bytes": 10}, "cache_bytes: found 10 B, expected"),
                          ({"batch_size": 0}, "batch_size=0"), ({"rank": 1}, "rank=1")):
        with pytest.raises(plimsoll.UsageError, match=text):
            Loader(graph, [3], **options)
    with pytest.raises(plimsoll.UsageError, match="num_neighbors=-2"):
        Loader(graph, [3, -2])
    with pytest.raises(plimsoll.UsageError, match="with replacement, expected at most 65536"):
        next(iter(Loader(graph, [1 << 40], replace=True)))
    with pytest.raises(plimsoll.UsageError, match="one per hop"):
        Loader(graph, 3)
    assert len(Loader(graph, [3], [])) == len(list(Loader(graph, [3], []))) == 0
    with pytest.raises(plimsoll.UsageError, match="occurs twice"):
        list(Loader(graph, [3], ONE_NODE_TWICE, batch_size=2, cache_bytes="200KiB"))
    one, two = (Loader(graph, [3], ONE_NODE_TWICE, batch_size=2, disjoint=True, cache_bytes=cache)
                for cache in (None, "200KiB"))
    assert contents(one) == contents(two)


def test_a_damaged_graph_is_an_error_when_its_batch_comes(folder, tmp_path):
    import shutil

    shutil.copytree(folder, tmp_path / "graph")
    indices = np.load(tmp_path / "graph" / "indices.npy", mmap_mode="r+")
    indices[np.load(tmp_path / "graph" / "indptr.npy")[NODES - 1]] = NODES + 5
    indices.flush()
    running = iter(plimsoll.NeighborLoader(plimsoll.open(tmp_path / "graph"), [-1], batch_size=1000, cache_bytes="256KiB"))
    assert next(running).batch_size == next(running).batch_size == 1000
    with pytest.raises(plimsoll.InputError, match="verify"):
        next(running)


def test_a_model_learns_from_its_batches(tmp_path):
    from torch_geometric.nn import GraphSAGE

    graph = plimsoll.simulate.graph(tmp_path / "graph", nodes=4000, degree=15, features=16, classes=4)
    torch.manual_seed(1)
    model = GraphSAGE(16, 32, num_layers=2, out_channels=4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = plimsoll.NeighborLoader(graph, [10, 5], "train", batch_size=64, shuffle=True, cache_bytes="256KiB")
    for _ in range(5):
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    right = sum(int((model(b.x, b.edge_index)[: b.batch_size].argmax(1) == b.y[: b.batch_size]).sum())
                for b in plimsoll.NeighborLoader(graph, [-1, -1], "test", batch_size=200))
    assert right > 0.7 * len(graph.splits["test"])
