"""Loaders of graphs with types: PyTorch Geometric's attributes and order, data sets and HeteroData, times, links, refusals."""

import copy
import pickle

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
pa = pytest.importorskip("pyarrow")

from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.loader import NodeLoader  # noqa: E402
from torch_geometric.sampler import NumNeighbors  # noqa: E402
from temporal_graphs import EDGE_TYPES, TIMES, random_hetero, times_of, trees_in  # noqa: E402


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Orders with times of users and films, as a data set."""
    random = np.random.default_rng(1)
    users = pa.table({"id": np.arange(50), "age": pa.array(random.integers(80, size=50), mask=random.random(50) < 0.2),
                      "since": pa.array(random.integers(20, size=50), pa.timestamp("s"))})
    films = pa.table({"id": np.arange(20), "genre": random.choice(["crime", "war"], 20)})
    orders = pa.table({"user": random.integers(50, size=400), "film": random.integers(20, size=400),
                       "price": random.random(400), "at": pa.array(random.integers(TIMES, size=400), pa.timestamp("s"))})
    return plimsoll.ingest.tables(
        {"users": users, "films": films, "orders": orders}, tmp_path_factory.mktemp("typed") / "shop",
        keys={"users": "id", "films": "id"}, times={"orders": "at", "users": "since"},
        foreign_keys={"orders": {"user": "users", "film": "films"}}, reverse=True)


def same(one, other):
    assert one.node_types == other.node_types and one.edge_types == other.edge_types
    for store, twin in zip(one.stores, other.stores, strict=True):
        assert list(store.keys()) == list(twin.keys())
        for key in store.keys():
            a, b = store[key], twin[key]
            if isinstance(a, torch.Tensor):
                assert a.dtype == b.dtype and torch.allclose(a.double(), b.double(), rtol=0, atol=0, equal_nan=True), key
            else:
                assert a == b, key


@pytest.mark.parametrize("options", [{}, {"disjoint": True}, {"time_attr": "time"}])
def test_batches_are_those_of_pytorch_geometric(options):
    from plimsoll.data.sampled_types import types_of_data
    from plimsoll.data.typed_samplers import TypedNeighborSampler, TypedSampling

    data = random_hetero(1)
    seeds = ("order", torch.tensor([3, 70, 3, 9, 11]))
    ours = list(plimsoll.NeighborLoader(data, [3, 2], seeds, batch_size=2, seed=7, **options))
    types = types_of_data(data, options.get("time_attr"), None)
    sampler = TypedNeighborSampler(types, TypedSampling([[3, 2]] * 4, disjoint=options.get("disjoint", False)), 7)
    theirs = list(NodeLoader(data, sampler, seeds, batch_size=2))
    for one, other in zip(ours, theirs, strict=True):
        assert isinstance(one, HeteroData)
        other["order"].input_id = other["order"].input_id.long()
        same(one, other)
    assert [batch["order"].batch_size for batch in ours] == [2, 2, 1]
    assert ours[0]["user"].num_sampled_nodes[0] == 0 and len(ours[0]["order", "by", "user"].num_sampled_edges) == 2


@pytest.mark.parametrize("kind", ["users", "orders", "films"])
def test_a_data_set_gives_the_batches_of_its_hetero_data(shop, kind):
    times = np.linspace(0, TIMES * 10**9, shop[kind].num_nodes).astype(np.int64)
    data = shop.to_pyg()
    options = {"batch_size": 16, "seed": 3, "time_attr": "time"}
    # A HeteroData has the time of an order for both of its edges, as the data set.
    ours = plimsoll.NeighborLoader(shop, [4, 3], kind, times, **options)
    assert isinstance(ours, plimsoll.TypedNeighborLoader)
    for one, other in zip(ours, plimsoll.NeighborLoader(data, [4, 3], kind, times, **options), strict=True):
        same(one, other)
    assert torch.equal(one["orders"].x, data["orders"].x[one["orders"].n_id])
    for one, other in zip(plimsoll.NeighborLoader(shop, [-1, -1], kind), plimsoll.NeighborLoader(data, [-1, -1], kind), strict=True):
        for edge_type in data.edge_types:
            assert sorted(one[edge_type].e_id.tolist()) == sorted(other[edge_type].e_id.tolist())


def test_batches_have_multi_categories(tmp_path):
    table = pa.table({"id": [0, 1, 2], "tags": [["b", "a"], [], ["b"]], "to": [1, 1, 0]})
    graph = plimsoll.ingest.tables({"t": table}, tmp_path / "graph", keys={"t": "id"}, foreign_keys={"t": {"to": "t"}})
    (batch,) = plimsoll.NeighborLoader(graph, [-1], ("t", [1]))
    assert batch["t"].n_id.tolist() == [1, 0] and batch["t"].num_nodes == 2
    assert batch["t"].tags.tolist() == [1, 0] and batch["t"].tags_ptr.tolist() == [0, 0, 2]


def test_no_row_of_a_data_set_is_later_than_the_seed(shop):
    films = torch.arange(20).repeat_interleave(TIMES)
    times = torch.arange(TIMES).repeat(20) * 10**9
    drawn = 0
    for batch in plimsoll.NeighborLoader(shop, [-1, -1, 4], ("films", films), times, time_attr="time", batch_size=100):
        last = batch["films"].seed_time
        for kind in ("users", "orders"):
            assert (batch[kind].time <= last[batch[kind].batch]).all()
        for edge_type in batch.edge_types:
            store = batch[edge_type]
            assert (store.time <= last[batch[edge_type[2]].batch[store.edge_index[1]]]).all()
            drawn += len(store.e_id)
    assert drawn > 10_000


def test_one_type_without_times_has_the_bits_of_a_data():
    generator = torch.Generator().manual_seed(1)
    data = Data(edge_index=torch.randint(200, (2, 3_000), generator=generator), num_nodes=200, w=torch.rand(3_000, generator=generator))
    hetero = HeteroData()
    hetero["v"].num_nodes = 200
    hetero["v", "to", "v"].edge_index, hetero["v", "to", "v"].w = data.edge_index, data.w
    for options in ({}, {"disjoint": True}, {"replace": True}, {"weight_attr": "w"}, {"input_nodes": torch.tensor([5, 9, 5, 1])}):
        nodes = options.pop("input_nodes", None)
        options = {"batch_size": 32, "shuffle": True, "seed": 5, **options}
        typed = plimsoll.NeighborLoader(hetero, [5, 3], ("v", nodes), **options)
        for one, other in zip(plimsoll.NeighborLoader(data, [5, 3], nodes, **options), typed, strict=True):
            assert torch.equal(one.n_id, other["v"].n_id) and torch.equal(one.input_id, other["v"].input_id)
            assert torch.equal(one.edge_index, other["v", "to", "v"].edge_index)
            assert torch.equal(one.e_id, other["v", "to", "v"].e_id)


@pytest.mark.parametrize("level", ["node", "edge"])
def test_a_data_may_have_times(level):
    random = np.random.default_rng(4)
    data = Data(x=torch.arange(60.0).view(-1, 1), edge_index=torch.from_numpy(random.integers(60, size=(2, 900))))
    data.time = torch.from_numpy(random.integers(TIMES, size=60 if level == "node" else 900))
    seeds, times = torch.arange(60), torch.full((60,), 20)
    loader = plimsoll.NeighborLoader(data, [4, 4], seeds, input_time=times, time_attr="time", batch_size=20)
    for batch in loader:
        assert isinstance(batch, Data) and torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert torch.equal(batch.batch[batch.edge_index[0]], batch.batch[batch.edge_index[1]])
        time = data.time[data.edge_index[0]] if level == "node" else data.time
        assert len(batch.e_id) and (time[batch.e_id] <= 20).all() and batch.seed_time.tolist() == [20] * 20


def test_seeds_without_a_time_have_that_of_their_node():
    data = random_hetero(2)
    given = plimsoll.NeighborLoader(data, [3, 3], "order", data["order"].time, time_attr="time", batch_size=50)
    for one, other in zip(plimsoll.NeighborLoader(data, [3, 3], "order", time_attr="time", batch_size=50), given, strict=True):
        assert "seed_time" not in one["order"] and trees_in(one) == trees_in(other)


def test_fan_outs_by_edge_type_masks_and_calls():
    data = random_hetero(3)
    mask = torch.zeros(120, dtype=torch.bool)
    mask[[5, 70]] = True
    fan_outs = {name: [0, 0] for name in EDGE_TYPES} | {("user", "made", "order"): [2, 0], ("order", "by", "user"): [0, 1]}
    for given in (fan_outs, NumNeighbors(fan_outs)):
        (batch,) = plimsoll.NeighborLoader(data, given, ("order", mask), batch_size=9)
        assert batch["order"].input_id.tolist() == [5, 70] == batch["order"].n_id[:2].tolist()
        assert batch["user", "made", "order"].num_sampled_edges == [4, 0]
        assert batch["order", "by", "user"].num_sampled_edges[0] == 0 < batch["order", "by", "user"].num_sampled_edges[1]
        assert batch["order", "follows", "order"].edge_index.shape == (2, 0)
    loader = plimsoll.NeighborLoader(data, [2], "user", seed=1)
    assert loader([3, 7])["user"].n_id[:2].tolist() == loader([3, 7])["user"].input_id.tolist() == [3, 7]


@pytest.mark.parametrize("neg_sampling", [None, "binary", "triplet"])
def test_links_have_nothing_after_their_time(neg_sampling):
    data = random_hetero(4)
    kind = ("order", "by", "user")
    edges, times = data[kind].edge_index[:, :200], torch.from_numpy(np.random.default_rng(1).integers(25, TIMES, size=200))
    loader = plimsoll.LinkNeighborLoader(
        data, [3, 2], (kind, edges), edge_label_time=times, time_attr="time", batch_size=50, neg_sampling=neg_sampling, seed=1
    )
    for batch in loader:
        if neg_sampling == "triplet":
            last = batch["order"].seed_time
            assert torch.equal(batch["user"].n_id[batch["user"].dst_pos_index], edges[1][batch[kind].input_id])
        else:
            last = batch[kind].edge_label_time[:50]
            ends = batch[kind].edge_label_index[:, :50]
            assert torch.equal(torch.stack([batch["order"].n_id[ends[0]], batch["user"].n_id[ends[1]]]), edges[:, batch[kind].input_id])
        for edge_type in EDGE_TYPES:
            store = batch[edge_type]
            tree = batch[edge_type[2]].batch[store.edge_index[1]]
            time = torch.from_numpy(times_of(data, edge_type)[0])
            assert (time[store.e_id] <= last[tree]).all()
    assert len(batch["order", "by", "user"].e_id)


def test_links_of_a_data_set(shop):
    kind = ("orders", "f2p_user", "users")
    loader = plimsoll.LinkNeighborLoader(shop, [2, 2], kind, batch_size=64, neg_sampling="binary", seed=1)
    batch = next(iter(loader))
    ends = batch[kind].edge_label_index[:, :64]
    assert torch.equal(batch["users"].n_id[ends[1]], shop.to_pyg()[kind].edge_index[1, :64])


def test_a_pickled_loader_of_a_data_set_has_no_edges(shop):
    loader = plimsoll.NeighborLoader(shop, [3, 2], "orders", batch_size=100, time_attr="time", seed=7)
    pickled = pickle.dumps(loader)
    assert len(pickled) < 8 * 400 + 4000  # The times of the seeds, which the caller may have given.
    expected = list(loader)
    loader.set_epoch(0)
    for other in (pickle.loads(pickled), copy.copy(loader)):
        for one, two in zip(expected, other, strict=True):
            same(one, two)


def test_states_copies_and_pickles_go_on():
    data = random_hetero(5)
    loader = plimsoll.NeighborLoader(data, [3, 2], "order", time_attr="time", batch_size=25, shuffle=True, seed=2)
    batches = list(loader)
    loader.set_epoch(0)
    running = iter(loader)
    for _ in range(3):
        next(running)
    state = loader.state_dict()
    for other in (pickle.loads(pickle.dumps(loader)), copy.copy(loader)):
        other.load_state_dict(state)
        for one, twin in zip(other, batches[3:], strict=True):
            same(one, twin)
    other = plimsoll.NeighborLoader(data, [3, 2], "order", data["order"].time + 1, time_attr="time", batch_size=25, shuffle=True, seed=2)
    with pytest.raises(plimsoll.UsageError, match="other data"):
        other.load_state_dict(state)


def test_batches_are_in_the_ledger_until_they_are_freed(shop):
    loader = plimsoll.NeighborLoader(shop, [3, 2], "orders", batch_size=60, prefetch_factor=0)
    batch = next(iter(loader))
    sampled = [store[name] for store in batch.stores for name in ("n_id", "edge_index", "e_id") if name in store]
    assert loader.live_bytes >= sum(tensor.nbytes for tensor in sampled) > 0
    del batch, sampled
    assert loader.live_bytes == 0


@pytest.mark.parametrize(
    ("text", "fan_outs", "nodes", "options"),
    [
        ("input_nodes: is missing", [2], None, {}),
        ("no node type 'film'", [2], "film", {}),
        ("expected whole numbers of shape", [2], ("order", torch.rand(3)), {}),
        ("node 120 of 120", [2], ("order", [120]), {}),
        ("num_neighbors=7", 7, "order", {}),
        ("fan-out of -2|num_neighbors=-2", [-2], "order", {}),
        ("lacks the edge type", {EDGE_TYPES[0]: [2]}, "order", {}),
        ("which is not an edge type", {("a", "b", "c"): [2]}, "order", {}),
        ("hops must be the same across all", {name: [2] * (1 + (name == EDGE_TYPES[3])) for name in EDGE_TYPES}, "order", {}),
        ("subgraph_type='induced'", [2], "order", {"subgraph_type": "induced"}),
        ("temporal_strategy='first'", [2], "order", {"temporal_strategy": "first"}),
        ("no node type and no edge type has it", [2], "order", {"time_attr": "at"}),
        ("weight_attr='w'", [2], "order", {"weight_attr": "w"}),
        ("input_time: needs time_attr", [2], "order", {"input_time": torch.zeros(120, dtype=torch.long)}),
        ("input_time", [2], "order", {"input_time": torch.zeros(7, dtype=torch.long), "time_attr": "time"}),
        ("the nodes of type 'user' have no times", [2], "user", {"time_attr": "time"}),
        ("temporal_strategy: needs time_attr", [2], "order", {"temporal_strategy": "last"}),
        ("neighbor_sampler: is not supported", [2], "order", {"neighbor_sampler": 1}),
        ("window=-1", [2], "order", {"window": -1, "time_attr": "time"}),
    ],
)
def test_refuses_by_name(text, fan_outs, nodes, options):
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.NeighborLoader(random_hetero(1), fan_outs, nodes, **options)


def test_refuses_what_a_data_set_does_not_have(shop):
    for options, text in (({"time_attr": "at"}, "expected 'time'"), ({"weight_attr": "w"}, "weights of a graph with types are not supported")):
        with pytest.raises(plimsoll.UsageError, match=text):
            plimsoll.NeighborLoader(shop, [2], "users", **options)
    data = random_hetero(1)
    data["order", "by", "user"].edge_index[0, 0] = 120
    with pytest.raises(plimsoll.UsageError, match="edge_index names nodes 0 to 120, expected 0 to 119"):
        plimsoll.NeighborLoader(data, [2], "user")
    with pytest.raises(plimsoll.UsageError, match="'time_attr' is not set"):
        plimsoll.LinkNeighborLoader(random_hetero(1), [2], EDGE_TYPES[0], edge_label_time=torch.zeros(600))
