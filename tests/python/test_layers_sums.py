"""Layers of plimsoll.nn without attention: GCNConv, SAGEConv, GINConv, and dropout."""

import copy

import pytest

torch = pytest.importorskip("torch")
tg = pytest.importorskip("torch_geometric.nn")
from attention_cases import mixed, random_inputs  # noqa: E402
from fused_layers import doubled, nn  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("ops", "threads")

SUMS = {
    "GCN": lambda nn: nn.GCNConv(6, 5), "GCN, narrower": lambda nn: nn.GCNConv(6, 9),
    "GCN, no loops": lambda nn: nn.GCNConv(6, 5, add_self_loops=False),
    "SAGE": lambda nn: nn.SAGEConv(6, 5, project=True), "SAGE, sums": lambda nn: nn.SAGEConv(6, 5, aggr="sum", normalize=True),
    "SAGE, means": lambda nn: nn.SAGEConv(6, 9), "SAGE, no root": lambda nn: nn.SAGEConv(6, 5, root_weight=False, bias=False),
    "GIN": lambda nn: nn.GINConv(torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU()), train_eps=True),
    "GIN, eps": lambda nn: nn.GINConv(torch.nn.Linear(6, 9), eps=0.7),
    "GIN, Sequential": lambda nn: nn.GINConv(torch.nn.Sequential(torch.nn.Linear(6, 7), torch.nn.ReLU(), torch.nn.Linear(7, 5),
                                                                 torch.nn.Tanh())),
    "GIN, MLP": lambda nn: nn.GINConv(tg.MLP([6, 7, 8, 5], norm=None)), "GIN, MLP of one": lambda nn: nn.GINConv(tg.MLP([6, 5])),
    "GIN, MLP with norms": lambda nn: nn.GINConv(tg.MLP([6, 7, 5], act="elu", plain_last=False)),
    "GIN, other": lambda nn: nn.GINConv(torch.nn.Tanh()),
}  # fmt: skip


@pytest.mark.parametrize("kind", SUMS)
def test_sums_as_pyg(kind, nn):
    """Forward and gradients, with self-loops among the edges and nodes without any; compiled, too."""
    torch.manual_seed(4)
    theirs = SUMS[kind](tg).double()
    ours = copy.deepcopy(theirs)
    assert nn.replace(ours).replaced == 1 and type(ours) is getattr(nn, type(theirs).__name__)
    nodes, edge_index = mixed()
    x, _ = random_inputs(nodes, edge_index.shape[1], 6, 3)
    assert nn.why_not(ours, x, edge_index) is None
    compiled = torch.compile(copy.deepcopy(ours), backend="aot_eager", fullgraph=True)
    results = []
    for conv in (theirs, ours, compiled):
        given = x.detach().clone().requires_grad_()
        out = conv(given, edge_index)
        weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        results.append([out, *torch.autograd.grad((out * weights).sum(), [given, *conv.parameters()])])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            torch.testing.assert_close(one, two)


def test_means_in_float64(nn):
    """Shares are as exact as the numbers."""
    torch.manual_seed(4)
    theirs = tg.SAGEConv(6, 5).double()
    ours = nn.SAGEConv(6, 5).double()
    ours.load_state_dict(theirs.state_dict())
    nodes, edge_index = mixed()
    x, _ = random_inputs(nodes, edge_index.shape[1], 6, 3)
    assert x.dtype == torch.float64 and (edge_index[1].bincount() == 3).any()
    torch.testing.assert_close(ours(x, edge_index), theirs(x, edge_index), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("part", ["lin_l", "nn", "nn.lins.0", "nn.lins.1", "nn.act"])
def test_hooks_of_parts_are_heard(part, nn):
    """They are not called where an operator does their work."""
    torch.manual_seed(4)
    conv = nn.SAGEConv(6, 5) if part == "lin_l" else nn.GINConv(tg.MLP([6, 7, 5], norm=None))
    heard = []
    conv.get_submodule(part).register_forward_hook(lambda *_: heard.append(part))
    nodes, edge_index = mixed()
    conv.double()(random_inputs(nodes, 0, 6, None)[0], edge_index)
    assert heard == [part]


def test_sums_where_pygs_code_runs(nn):
    torch.manual_seed(4)
    nodes, edge_index = mixed()
    x, _ = random_inputs(nodes, edge_index.shape[1], 6, 3)
    weighted = torch.rand(edge_index.shape[1], dtype=x.dtype)
    gcn = nn.GCNConv(6, 5).double()
    assert "weights" in nn.why_not(gcn, x, edge_index, weighted)
    theirs = tg.GCNConv(6, 5).double()
    theirs.load_state_dict(gcn.state_dict())
    torch.testing.assert_close(gcn(x, edge_index, weighted), theirs(x, edge_index, weighted))
    for conv in (tg.SAGEConv(6, 5, aggr="max"), tg.GCNConv(6, 5, improved=True), tg.GCNConv(6, 5, cached=True),
                 tg.GINConv(torch.nn.Linear(6, 5), flow="target_to_source")):  # fmt: skip
        assert nn.replace(conv).replaced == 0
    sage, other = nn.SAGEConv(6, 5).double(), tg.SAGEConv(6, 5).double()
    other.load_state_dict(sage.state_dict())
    pair = (x, x[:7])
    edges = edge_index[:, edge_index[1] < 7]
    torch.testing.assert_close(sage(pair, edges), other(pair, edges))
    handle = sage.register_message_forward_hook(doubled)
    assert "hooks" in nn.why_not(sage, x, edge_index) and not torch.equal(sage(pair, edges), other(pair, edges))
    handle.remove()


def test_dropout_that_keeps_no_mask(nn):
    layer = torch.nn.Sequential(torch.nn.Dropout(0.25))
    assert nn.replace(layer).replaced == 1 and type(layer[0]) is nn.Dropout
    x = torch.randn(300, 7, requires_grad=True)
    torch.manual_seed(1)
    out = layer(x)
    out.sum().backward()
    torch.manual_seed(1)
    assert torch.equal(out, layer(x)) and not torch.equal(out, layer(x))
    kept = out != 0
    assert abs(float(kept.double().mean()) - 0.75) < 0.05
    torch.testing.assert_close(x.grad, kept / 0.75)
    torch.testing.assert_close(out[kept], x[kept] / 0.75)
    assert torch.equal(layer.eval()(x), x)
