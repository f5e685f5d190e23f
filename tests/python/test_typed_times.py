"""Times in graphs with types: negative edges, edges to predict, weights, limits of i64, and data that is refused by name."""

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from temporal_graphs import EDGE_TYPES, TIMES, random_hetero, times_of  # noqa: E402
from torch_geometric.data import Data, HeteroData  # noqa: E402
from torch_geometric.testing import MyFeatureStore, MyGraphStore  # noqa: E402

KIND = ("user", "made", "order")
FIRST, LAST = -(2**63), 2**63 - 1


def links(data, edges, times, kind=KIND, **options):
    options = {"time_attr": "time", "batch_size": 50, "seed": 1, **options}
    return plimsoll.LinkNeighborLoader(data, [3, 2], (kind, edges), edge_label_time=times, **options)


def expect_known(data, batch, last, window=None):
    """No edge of the batch is after `last` of its tree, or older than the window."""
    for edge_type in EDGE_TYPES:
        store = batch[edge_type]
        tree = batch[edge_type[2]].batch[store.edge_index[1]]
        time = torch.from_numpy(times_of(data, edge_type)[0])[store.e_id]
        assert (time <= last[tree]).all()
        if window is not None:
            assert ((time >= last[tree] - window) | (time == FIRST)).all()


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("neg_sampling", ["binary", "triplet"])
def test_negative_edges_are_known_at_the_time_of_their_label(neg_sampling, before):
    data = random_hetero(1)
    data["order"].time[0] = 0  # Known at all labels, most of which know few others.
    edges = data[KIND].edge_index[:, :400]
    times = torch.from_numpy(np.random.default_rng(2).integers(1, 6, size=400))
    drawn = 0
    for batch in links(data, edges, times, neg_sampling=neg_sampling, before=before):
        chosen = batch["order"].dst_neg_index if neg_sampling == "triplet" else batch[KIND].edge_label_index[1, 50:]
        last = batch["order"].seed_time if neg_sampling == "triplet" else batch[KIND].edge_label_time[50:]
        assert (data["order"].time[batch["order"].n_id[chosen]] <= last - int(before)).all()
        drawn += len(chosen)
    assert drawn == 400


@pytest.mark.parametrize(("before", "early"), [(False, 2), (True, 3)])
@pytest.mark.parametrize("neg_sampling", ["binary", "triplet"])
def test_refuses_negative_edges_before_any_node_is_known(neg_sampling, before, early):
    data = random_hetero(1)
    data["order"].time += 10 - data["order"].time.min()
    edges, times = data[KIND].edge_index[:, :5], torch.tensor([9, 10, 11, 3, 12])
    with pytest.raises(plimsoll.UsageError, match=f"neg_sampling: no node of type 'order' is known at {early} of 5 times"):
        links(data, edges, times, neg_sampling=neg_sampling, before=before)
    assert len(list(links(data, edges, times, before=before))) == 1


@pytest.mark.parametrize("options", [{"neg_sampling_ratio": 0.5}, {"neg_sampling_ratio": 1.5}])
def test_refuses_a_part_of_a_negative_edge(options):
    data = random_hetero(1)
    edges, times = data[KIND].edge_index[:, :20], torch.full((20,), TIMES)
    with pytest.raises(plimsoll.UsageError, match="neg_sampling_ratio: found a ratio of"):
        links(data, edges, times, **options)
    plimsoll.LinkNeighborLoader(data, [2], (KIND, edges), **options)
    assert len(next(iter(links(data, edges, times, neg_sampling_ratio=2.0)))[KIND].edge_label) == 60


def test_an_edge_to_predict_is_not_in_its_own_sample():
    data = random_hetero(3, edge_time=True)
    kind = ("order", "follows", "order")
    given = {"kind": kind, "edges": data[kind].edge_index, "times": data[kind].time}
    seen = 0
    for before in (False, True):
        for batch in links(data, data[kind].edge_index, data[kind].time, kind, before=before):
            tree = batch["order"].batch[batch[kind].edge_index[1]]
            own = batch[kind].e_id == batch[kind].input_id[tree]
            seen += int(own.sum())
            assert not (before and own.any())
            expect_known(data, batch, batch[kind].edge_label_time - int(before))
    assert seen


def test_links_have_a_window():
    data = random_hetero(4, edge_time=True)
    edges, times = data[KIND].edge_index[:, :200], torch.from_numpy(np.random.default_rng(1).integers(TIMES, size=200))
    for batch in links(data, edges, times, window=5):
        expect_known(data, batch, batch[KIND].edge_label_time, 5)


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("temporal_strategy", ["uniform", "last"])
def test_weights_draw_no_edge_after_the_seed(temporal_strategy, replace):
    data = random_hetero(5, edge_time=True)
    for edge_type in EDGE_TYPES:
        # The later an edge, the heavier.
        data[edge_type].w = torch.from_numpy(1.0 + 1000 * np.maximum(times_of(data, edge_type)[0], 0)).float()
    times = torch.from_numpy(np.random.default_rng(1).integers(TIMES, size=120))
    options = {"weight_attr": "w", "time_attr": "time", "temporal_strategy": temporal_strategy, "replace": replace, "batch_size": 40}
    drawn = 0
    for batch in plimsoll.NeighborLoader(data, [3, 3], "order", times, **options):
        expect_known(data, batch, batch["order"].seed_time)
        drawn += sum(len(batch[edge_type].e_id) for edge_type in EDGE_TYPES)
    assert drawn > 500


def two_edges(times):
    """A node 0 with an edge from each other node, known at these times."""
    data = HeteroData()
    data["v"].time = torch.tensor([FIRST, *times])
    ends = torch.arange(1, len(times) + 1)
    data["v", "to", "v"].edge_index = torch.stack([ends, torch.zeros_like(ends)])
    return data


@pytest.mark.parametrize(
    ("time", "options", "expected"),
    [
        (LAST, {}, [0, 1, 2, 3]),
        (LAST, {"before": True}, [0, 1, 2]),
        (LAST, {"window": LAST}, [2, 3]),
        (LAST, {"window": 0}, [3]),
        (0, {"window": LAST}, [1, 2]),
        (-1, {"window": LAST}, [0, 1]),
        (-2, {"window": LAST}, [0, 1]),
        (FIRST + 1, {}, [0, 1]),
        (FIRST + 1, {"before": True}, [0]),
        (FIRST + 1, {"before": True, "window": LAST}, [0]),
        (FIRST + 1, {"window": 0}, [1]),
    ],
)
def test_times_at_the_limits(time, options, expected):
    data = two_edges([FIRST, FIRST + 1, 0, LAST])
    (batch,) = plimsoll.NeighborLoader(data, [-1], ("v", [0]), [time], time_attr="time", **options)
    assert sorted(batch["v", "to", "v"].e_id.tolist()) == expected


def test_a_seed_at_the_first_time_is_refused():
    with pytest.raises(plimsoll.UsageError, match="node 0 has no time; leave it out"):
        list(plimsoll.NeighborLoader(two_edges([0]), [-1], ("v", [0]), [FIRST], time_attr="time"))


@pytest.mark.parametrize("wrong", [torch.arange(119), torch.arange(240).view(120, 2), torch.rand(120), torch.ones(120, dtype=torch.bool)])
def test_refuses_other_times_of_nodes(wrong):
    data = random_hetero(1)
    data["order"].time = wrong
    with pytest.raises(plimsoll.UsageError, match=r"order time: is .* expected whole numbers of shape \(120,\)"):
        plimsoll.NeighborLoader(data, [2], "order", time_attr="time")


@pytest.mark.parametrize(
    "wrong", [torch.rand(20), torch.arange(19), torch.arange(21), torch.ones(20, dtype=torch.bool), np.full(20, 2**63, np.uint64)]
)
def test_refuses_other_times_of_labels(wrong):
    data = random_hetero(1)
    with pytest.raises(plimsoll.UsageError, match="edge_label_time: "):
        links(data, data[KIND].edge_index[:, :20], wrong)
    same = [batch[KIND].edge_label_time for batch in links(data, data[KIND].edge_index[:, :20], np.arange(20, dtype=np.uint64))]
    assert torch.cat(same).tolist() == list(range(20))


def test_refuses_times_that_do_not_fit():
    data = random_hetero(1)
    with pytest.raises(plimsoll.UsageError, match=f"input_time: holds {2**63}, expected at most {LAST}"):
        plimsoll.NeighborLoader(data, [2], "order", np.full(120, 2**63, np.uint64), time_attr="time")
    with pytest.raises(plimsoll.UsageError, match="input_time: is bool"):
        plimsoll.NeighborLoader(data, [2], "order", np.ones(120, bool), time_attr="time")


@pytest.mark.parametrize(("options", "name"), [({"before": True, "window": 10}, "before"), ({"window": 10}, "window"), ({"window": 0}, "window")])
def test_before_and_window_need_times(options, name):
    data = random_hetero(1)
    with pytest.raises(plimsoll.UsageError, match=f"{name}: needs time_attr"):
        plimsoll.NeighborLoader(data, [2], "order", **options)
    one_type = Data(edge_index=torch.zeros(2, 1, dtype=torch.long), num_nodes=1)
    for source, edges in ((data, KIND), (one_type, None)):
        with pytest.raises(plimsoll.UsageError, match=f"{name}: needs time_attr"):
            plimsoll.LinkNeighborLoader(source, [2], edges, **options)


def test_refuses_times_of_a_data_set_without_any(tmp_path):
    pa = pytest.importorskip("pyarrow")
    tables = {"t": pa.table({"id": [0, 1], "to": [1, 0]})}
    graph = plimsoll.ingest.tables(tables, tmp_path / "graph", keys={"t": "id"}, foreign_keys={"t": {"to": "t"}})
    with pytest.raises(plimsoll.UsageError, match="time_attr='time': no node type and no edge type has it"):
        plimsoll.NeighborLoader(graph, [2], "t", [1, 1], time_attr="time")


def test_a_type_may_have_only_times():
    data = two_edges([5, 6, 7])
    (batch,) = plimsoll.NeighborLoader(data, [-1], ("v", [0]), [6], time_attr="time")
    assert batch["v"].n_id.tolist() == [0, 1, 2] and batch["v"].time.tolist() == [FIRST, 5, 6]
    assert "num_nodes" not in data["v"]
    with pytest.raises(plimsoll.UsageError, match="v: has no attribute that determines the number of nodes; set num_nodes"):
        plimsoll.NeighborLoader(data, [-1], "v")


def test_calls_take_masks_and_whole_numbers():
    hetero, edges = random_hetero(1), torch.randint(30, (2, 90))
    loaders = [
        (plimsoll.NeighborLoader(hetero, [2], ("order", [5, 70, 9])), lambda batch: batch["order"]),
        (plimsoll.NeighborLoader(Data(edge_index=edges, num_nodes=30), [2], [5, 17, 9]), lambda batch: batch),
    ]
    for loader, seeds_of in loaders:
        assert seeds_of(loader(torch.tensor([True, False, True]))).input_id.tolist() == [0, 2]
        assert seeds_of(loader([0, 2])).n_id[:2].tolist() == [5, 9]
        for wrong in (torch.tensor([True, False]), torch.tensor([0.5, 2.0]), [[0, 1]]):
            with pytest.raises(plimsoll.UsageError, match=r"index: is .* or a mask of shape \(3,\)"):
                loader(wrong)


def test_pytorch_geometrics_directed_is_taken():
    data = random_hetero(1)
    assert list(plimsoll.NeighborLoader(data, [2], "order", directed=True, batch_size=120))
    with pytest.warns(UserWarning, match="deprecated"), pytest.raises(plimsoll.UsageError, match="subgraph_type='induced'"):
        plimsoll.NeighborLoader(data, [2], "order", directed=False)


class KeptAttributes(MyFeatureStore):
    """A store that gives its own attributes, not copies."""

    def get_all_tensor_attrs(self):
        if "kept" not in self.__dict__:
            self.__dict__["kept"] = super().get_all_tensor_attrs()
        return self.__dict__["kept"]


def test_stores_keep_their_attributes_and_may_have_those_of_edges():
    features, graph, edge_type = KeptAttributes(), MyGraphStore(), ("a", "to", "b")
    for kind, count in (("a", 3), ("b", 2)):
        features.put_tensor(torch.rand(count, 3), group_name=kind, attr_name="x", index=None)
        features.put_tensor(torch.arange(count), group_name=kind, attr_name="time", index=None)
    features.put_tensor(torch.rand(4, 1), group_name=edge_type, attr_name="edge_attr", index=None)
    edges = torch.tensor([[0, 1, 2, 0], [0, 0, 1, 1]])
    graph.put_edge_index((edges[0], edges[1]), edge_type=edge_type, layout="coo", size=(3, 2))
    indices = [attribute.index for attribute in features.get_all_tensor_attrs()]
    loader = plimsoll.NeighborLoader((features, graph), [2], "b", time_attr="time")
    assert list(loader._types.nodes) == ["a", "b"]
    assert all(attribute.index is index for attribute, index in zip(features.get_all_tensor_attrs(), indices, strict=True))
    del features.__dict__["kept"]
    features.put_tensor(torch.arange(4), group_name=edge_type, attr_name="time", index=None)
    with pytest.raises(plimsoll.UsageError, match=r"time_attr='time': found times of the edges \('a', 'to', 'b'\)"):
        plimsoll.NeighborLoader((features, graph), [2], "b", time_attr="time")
