"""PyTorch Geometric's FeatureStore and GraphStore over the files of a graph."""

import pickle

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
import torch_geometric.typing
from full_neighbourhood import FullNeighbourhood
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.sampler import NeighborSampler

HAS_SAMPLER = torch_geometric.typing.WITH_PYG_LIB or torch_geometric.typing.WITH_TORCH_SPARSE


@pytest.fixture(params=["in", "out"])
def graph(request, tmp_path):
    dice = np.random.default_rng(3)
    np.save(tmp_path / "edges.npy", dice.integers(0, 400, (3000, 2)))
    np.save(tmp_path / "x.npy", dice.random((400, 5), np.float32))
    np.save(tmp_path / "y.npy", dice.integers(0, 3, 400))
    return plimsoll.ingest.graph(tmp_path / "edges.npy", tmp_path / "graph", features=tmp_path / "x.npy",
                                 labels=tmp_path / "y.npy", dedup=True,
                                 layout=plimsoll.ingest.GraphLayout(direction=request.param))


@pytest.fixture
def sampler(monkeypatch):
    """Where PyTorch Geometric has nothing to sample with, its loader gets all neighbours from Python."""
    if not HAS_SAMPLER:
        def sample(self, seed, seed_time=None, **kwargs):
            return FullNeighbourhood(self.colptr, self.row, self.num_neighbors.num_hops).sample(seed)

        monkeypatch.setattr(NeighborSampler, "_sample", sample)


@pytest.mark.usefixtures("sampler")
@pytest.mark.filterwarnings("ignore:Using 'NeighborSampler' without")
@pytest.mark.parametrize("workers", [0, 2])
def test_pygs_loader_gives_the_same_as_of_data(graph, workers):
    whole = graph.to_pyg()
    data = Data(x=whole.x, edge_index=whole.edge_index, y=whole.y)
    seeds = torch.randperm(400)[:90]
    # Data that is not known to be sorted is sorted, and not stably.
    ours, theirs = (NeighborLoader(source, [-1, -1], seeds, batch_size=40, num_workers=workers,
                                   is_sorted=graph.direction == "in") for source in (graph.stores(), data))
    for one, other in zip(ours, theirs, strict=True):
        assert set(one.to_dict()) == set(other.to_dict()) | {"num_nodes"}
        for name, value in other.to_dict().items():
            assert torch.equal(one[name], value) if isinstance(value, torch.Tensor) else one[name] == value, name


def test_features(graph):
    features, _ = graph.stores()
    assert [attr.attr_name for attr in features.get_all_tensor_attrs()] == ["x", "y"]
    index = torch.tensor([3, 399, 3])
    for at in (index, slice(5, 9), torch.arange(400) % 7 == 0, 7):
        assert torch.equal(features[None, "x", at], graph.tensor("x")[at])
    assert torch.equal(features[None, "y", None], graph.tensor("y"))
    assert features.get_tensor_size(None, "x") == (400, 5) and features.get_tensor_size(None, "x", index) == (3, 5)
    some = features[None, "x", slice(5, 9)]
    some.zero_()
    assert torch.equal(features[None, "x", slice(5, 9)], graph.tensor("x")[5:9])
    for wrong in ((None, "z", None), ("paper", "x", None)):
        with pytest.raises(KeyError, match="expected None and one of x, y"):
            features[wrong]
    with pytest.raises(IndexError):
        features[None, "x", torch.tensor([400])]


def test_edges(graph):
    _, edges = graph.stores()
    row, colptr, perm = edges.csc()
    data = graph.to_pyg()
    order = torch.arange(data.num_edges) if perm is None else perm
    assert torch.equal(row, data.edge_index[0, order])
    assert torch.equal(colptr.diff(), torch.bincount(data.edge_index[1], minlength=400))
    (attr,) = edges.get_all_edge_attrs()
    assert (attr.layout.value, attr.size) == ("csc" if graph.direction == "in" else "csr", (400, 400))
    assert edges[attr][0] is edges[attr][0]
    with pytest.raises(KeyError):
        edges.get_edge_index(edge_type=("a", "to", "b"), layout=attr.layout)


def test_what_would_write_is_refused(graph):
    features, edges = graph.stores()
    (attr,) = edges.get_all_edge_attrs()
    for write in (lambda: features.put_tensor(torch.ones(400, 5), None, "x", None),
                  lambda: features.remove_tensor(None, "x", None),
                  lambda: edges.put_edge_index((torch.ones(1), torch.ones(1)), attr),
                  lambda: edges.remove_edge_index(attr)):
        with pytest.raises(plimsoll.UsageError, match="read-only"):
            write()
    graph.close()
    with pytest.raises(plimsoll.UsageError, match="closed"):
        graph.stores()


def test_go_to_other_processes_by_their_path(graph):
    features, edges = pickle.loads(pickle.dumps(graph.stores()))
    assert torch.equal(features[None, "x", None], graph.tensor("x"))
    assert torch.equal(edges.csc()[0], graph.stores()[1].csc()[0])


def test_a_graph_without_features(tmp_path):
    (tmp_path / "edges.txt").write_text("0 1\n1 2\n")
    features, edges = plimsoll.ingest.graph(tmp_path / "edges.txt", tmp_path / "graph").stores()
    assert features.get_all_tensor_attrs() == [] and edges.csc()[0].tolist() == [0, 1]
