"""plimsoll.nn's SGMP, GTMP and PathConv against the network of bench/peers/path_networks.py, and in PyTorch Geometric."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from path_graphs import GRAPHS, jittered_grid, knn_edges, third_order_paths, tree  # noqa: E402
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402

import path_networks as peer  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


@pytest.fixture
def nn(ops):
    from plimsoll import nn

    return nn


def grids(count, seed=1):
    """Data with 4 features and kNN-4 edges."""
    generator = torch.Generator().manual_seed(seed)
    for n in range(count):
        pos = jittered_grid(4 + n % 2, generator, planar=False)
        yield Data(x=torch.randn(len(pos), 4, generator=generator), pos=pos, edge_index=knn_edges(pos, 4),
                   y=torch.tensor([n % 2]))


@pytest.mark.parametrize("mode", ["corrected", "reference"])
def test_sgmp_is_the_network_of_torch(nn, mode):
    theirs = peer.SGMP(4, hidden=16, out=3, layers=2).double()
    ours = nn.SGMP(4, 16, 3, 2, cutoff=1.0, mode=mode, tile=64).double()
    assert [(name, value.shape) for name, value in ours.state_dict().items()] == [
        (name, value.shape) for name, value in theirs.state_dict().items()]
    ours.load_state_dict(theirs.state_dict())
    batch = next(iter(DataLoader(list(grids(3)), batch_size=3)))
    x, pos = batch.x.double(), batch.pos.double()
    paths = third_order_paths(batch.edge_index, len(x), self_paths=mode == "reference")
    expected = theirs(x, pos, batch.batch, 3, paths, cutoff=1.0, corrected=mode == "corrected")
    found = ours(x, pos, batch.edge_index, batch.batch)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    given = torch.randn(expected.shape, dtype=torch.float64)
    gradients = [torch.autograd.grad((out * given).sum(), list(of.parameters())) for out, of in
                 ((found, ours), (expected, theirs))]
    for a, b in zip(*gradients, strict=True):
        assert float((a - b).norm()) <= 1e-11 * float(b.norm())


@pytest.mark.parametrize("mode", ["corrected", "reference"])
def test_a_mean_is_the_sum_over_the_paths(nn, mode):
    pos, edge_index = GRAPHS["isolated nodes"]
    x = torch.randn(len(pos), 8, dtype=torch.float64)
    layer = nn.PathConv(8, cutoff=1.0, mode=mode, aggr="mean").double()
    mean = layer(x, pos, edge_index)
    layer.aggr = "sum"
    paths = third_order_paths(edge_index, len(pos), self_paths=mode == "reference")[0].bincount(minlength=len(pos))
    assert (paths == 0).any() == (mode == "corrected")
    torch.testing.assert_close(mean, layer(x, pos, edge_index) / paths.clamp(min=1)[:, None], rtol=1e-15, atol=0)
    with pytest.raises(ValueError, match="expected 'sum' or 'mean'"):
        nn.PathConv(8, aggr="max")


def test_checkpoints_of_the_authors_load(nn):
    model = nn.SGMP(4, 8)
    state = {**model.state_dict(), "distance_expansion.offset": torch.zeros(50),
             "interactions.0.phi_expansion.offset": torch.zeros(12)}
    assert model.load_state_dict(state).unexpected_keys == []


def test_turned_and_moved_points_give_the_same(nn):
    data = next(grids(1))
    model = nn.SGMP(4, 16, 2).double()
    q, _ = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)))
    q = q * torch.linalg.det(q).sign()
    moved = data.pos.double() @ q.t() + torch.tensor([1.0, -2.0, 3.0])
    x = data.x.double()
    torch.testing.assert_close(model(x, moved, data.edge_index), model(x, data.pos, data.edge_index), rtol=1e-9, atol=0)


def test_gtmp_looks_down_or_up_a_tree(nn):
    """A node that has no great-grandchild keeps its embedding."""
    down, pos, x = tree(60), GRAPHS["tree"][0][:60], torch.randn(60, 4, dtype=torch.float64)
    for direction, edge_index in (("descendant", down), ("ancestor", down.flip(0))):
        model = nn.GTMP(4, 8, 5, 1, direction=direction).double()
        embedded = model.embedding(x)
        changed = (model.encode(x, pos, down) != embedded).any(1)
        begins = torch.zeros(60, dtype=torch.bool)
        begins[third_order_paths(edge_index, 60)[0]] = True
        assert torch.equal(changed, begins)
        assert model(x, pos, down).shape == (60, 5)


def test_points_of_the_plane(nn):
    pos = jittered_grid(5, torch.Generator().manual_seed(1))
    edge_index, x = knn_edges(pos, 4), torch.randn(25, 8)
    conv = nn.PathConv(8, cutoff=1.0)
    plain = conv(x, pos, edge_index)
    assert torch.equal(conv(x, pos[:, :2], edge_index), plain)
    conv.planar = True
    torch.testing.assert_close(conv(x, pos[:, :2], edge_index), plain)


def test_edges_are_made_once(nn):
    data = next(grids(1))
    edges = nn.path_edges(data.edge_index, data.num_nodes)
    assert int(nn.path_counts(edges).sum()) == third_order_paths(data.edge_index, data.num_nodes).shape[1]
    model = nn.SGMP(4, 8)
    assert torch.equal(model(data.x, data.pos, edges), model(data.x, data.pos, data.edge_index))


def test_readouts(nn):
    batch = next(iter(DataLoader(list(grids(2)), batch_size=2)))
    model = nn.SGMP(4, 8, readout="mean")
    assert model(batch.x, batch.pos, batch.edge_index, batch.batch).shape == (2, 1)
    with pytest.raises(ValueError, match="readout='max', expected 'add', 'sum' or 'mean'"):
        nn.SGMP(4, 8, readout="max")


def test_a_norm_after_each_interaction(nn):
    """It is BatchNorm1d on what a network without it has of nodes, and keeps the authors' parameters where it is not asked."""
    batch = next(iter(DataLoader(list(grids(3)), batch_size=3)))
    plain, model = nn.SGMP(4, 8, 2, 1), nn.SGMP(4, 8, 2, 1, norm="batch")
    assert not any("norm" in name for name in plain.state_dict())
    assert model.load_state_dict(plain.state_dict(), strict=False).missing_keys == [
        f"norms.0.{of}" for of in ("weight", "bias", "running_mean", "running_var")]
    h = plain.encode(batch.x, batch.pos, batch.edge_index)
    norm = torch.nn.BatchNorm1d(8)
    for training in (True, False):
        model.train(training), norm.train(training)
        torch.testing.assert_close(model.encode(batch.x, batch.pos, batch.edge_index), norm(h))
    with pytest.raises(ValueError, match="norm='layer', expected 'none' or 'batch'"):
        nn.GTMP(4, 8, norm="layer")


def test_it_learns_by_torch(nn):
    """Which of two sizes of grids a graph is."""
    torch.manual_seed(1)
    model = nn.SGMP(4, 8, 2, 1, cutoff=1.0, tile=64)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(15):
        for batch in DataLoader(list(grids(8)), batch_size=8):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(batch.x, batch.pos, batch.edge_index, batch.batch), batch.y)
            loss.backward()
            optimizer.step()
            losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
