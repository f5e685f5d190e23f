"""plimsoll.nn: fused layers in the place of PyTorch Geometric's, and where these run instead."""

import copy
import io
import os
import pickle
import re
import subprocess
import sys

import pytest
from package_data import python
from test_package_import import BLOCKED

torch = pytest.importorskip("torch")
tg = pytest.importorskip("torch_geometric.nn")
from attention_cases import (  # noqa: E402
    FLOAT32, FLOAT64, OPTIONS, alpha_rows, assert_close, both_kinds, mixed, random_inputs, random_weights, small_graphs,
)
from attention_twin import evaluate, make_conv, run_pyg  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


@pytest.fixture(scope="module")
def nn(ops):
    import plimsoll.nn

    return plimsoll.nn


@pytest.fixture
def fused(nn):
    """fused(conv): a copy with the class of plimsoll.nn."""

    def make(conv):
        conv = copy.deepcopy(conv)
        assert nn.replace(conv).replaced == 1
        return conv

    return make


def pair(kind, nn, *arguments, **how):
    """A layer of each with the same parameters."""
    theirs = make_conv(kind, *arguments, **how)
    ours = {"gat": nn.GATConv, "gatv2": nn.GATv2Conv}[kind](*arguments, **how).to(torch.float64)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


EQUAL = OPTIONS | {
    "plain": {},
    "edges": {"edge_dim": 3},
    "edges, no self-loops": {"edge_dim": 3, "add_self_loops": False},
    "residual": {"residual": True, "edge_dim": 3},
    "residual, mean of heads": {"residual": True, "concat": False},
}


@both_kinds
@pytest.mark.parametrize("name", EQUAL)
def test_values_and_gradients_are_those_of_pyg(kind, name, fused, nn):
    how = {"heads": 3} | EQUAL[name]
    nodes, edge_index = mixed()
    for dtype, tolerance in ((torch.float64, FLOAT64), (torch.float32, FLOAT32)):
        conv = make_conv(kind, 6, 5, dtype, **how)
        x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, how.get("edge_dim"), dtype)
        weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes), dtype)
        ours = fused(conv)
        assert nn.why_not(ours, x, edge_index, edge_attr) is None
        found = evaluate(run_pyg, ours, x, edge_index, edge_attr, weights)
        double = [None if v is None else v.double() for v in (x, edge_attr, *weights)]
        expected = evaluate(run_pyg, conv.double(), double[0], edge_index, double[1], double[2:])
        assert_close(found, expected, tolerance)


@both_kinds
@pytest.mark.parametrize("how", [{}, {"add_self_loops": False}, {"residual": True, "edge_dim": 3},
                                 {"concat": False, "share_weights": True}], ids=str)
@pytest.mark.parametrize("ends", ["others", "others of one width", "the same"])
def test_pairs_are_those_of_pyg(kind, how, ends, fused, nn):
    how = dict(how)
    if kind == "gat":
        how.pop("share_weights", None)
    nodes, edge_index = mixed()
    targets = nodes if ends == "the same" else nodes // 2
    edge_index = edge_index[:, edge_index[1] < targets]
    widths = 6 if "of one" in ends else (6, 6) if how.get("share_weights") or ends == "the same" else (6, 4)
    conv = make_conv(kind, widths, 5, heads=3, **how)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, how.get("edge_dim"))
    if ends != "the same":
        x = x, random_inputs(targets, 0, widths if isinstance(widths, int) else widths[1], None)[0]
    ours = fused(conv)
    assert nn.why_not(ours, x, edge_index, edge_attr) is None
    weights = random_weights(conv, targets, alpha_rows(conv, edge_index, targets))
    found, expected = (evaluate(run_pyg, each, x, edge_index, edge_attr, weights) for each in (ours, conv))
    assert_close(found, expected, FLOAT64)
    if ends == "the same":
        torch.testing.assert_close(ours((x, x), edge_index, edge_attr), conv((x, x), edge_index, edge_attr))


@pytest.mark.parametrize("loops", [True, False])
def test_sources_without_targets(loops, nn):
    theirs, ours = pair("gat", nn, (6, 4), 5, heads=3, add_self_loops=loops, residual=True)
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0], None
    assert nn.why_not(ours, x, edge_index) is None
    torch.testing.assert_close(ours(x, edge_index), theirs(x, edge_index))


@both_kinds
def test_edges_as_a_column_and_edges_that_are_not_contiguous(kind, nn):
    theirs, ours = pair(kind, nn, 6, 5, heads=2, edge_dim=1)
    nodes, edge_index = mixed()
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 1)
    edge_index = edge_index.t().contiguous().t()
    arguments = x.t().contiguous().t(), edge_index, edge_attr[:, 0]
    assert nn.why_not(ours, *arguments) is None
    torch.testing.assert_close(ours(*arguments), theirs(*arguments))


@both_kinds
def test_attention_that_is_returned(kind, nn):
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0]
    for loops in (True, False):
        theirs, ours = pair(kind, nn, 6, 5, heads=3, add_self_loops=loops)
        (out, (edges, alpha)), (out2, (edges2, alpha2)) = (conv(x, edge_index, return_attention_weights=True)
                                                           for conv in (ours, theirs))
        torch.testing.assert_close((out, edges, alpha), (out2, edges2, alpha2))
        assert isinstance(ours(x, edge_index, return_attention_weights=False), torch.Tensor)


@both_kinds
def test_state_goes_both_ways_and_layers_are_saved(kind, nn):
    theirs, ours = pair(kind, nn, 6, 5, heads=3, edge_dim=2, residual=True)
    assert list(theirs.state_dict()) == list(ours.state_dict()) and str(ours) == str(theirs)
    theirs.load_state_dict(ours.state_dict())
    file = io.BytesIO()
    torch.save(ours, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    nodes, edge_index = mixed()
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 2)
    assert type(loaded) is type(ours) and torch.equal(loaded(x, edge_index, edge_attr), ours(x, edge_index, edge_attr))


def projection(conv):
    return conv.lin if hasattr(conv, "lin") else conv.lin_l


def doubled(*arguments):
    """A hook that doubles what its place gives."""
    return 2 * arguments[-1]


def sparse(edges, nodes):
    return torch.sparse_coo_tensor(edges.flip(0), torch.ones(edges.shape[1]), (nodes, nodes)).coalesce()


same = lambda x, edge_index: (x, edge_index)  # noqa: E731
# Arguments of the layer, what is done to it, the arguments of its call, and the reason.
FALL_BACK = {
    "flow": ({"flow": "target_to_source"}, None, same, "flow="),
    "aggr": ({"aggr": "max"}, None, same, "aggr="),
    "hook of messages": ({}, lambda conv: conv.register_message_forward_hook(doubled), same, "hooks of message"),
    "hook of edges": ({}, lambda conv: conv.register_edge_update_forward_hook(doubled), same, "hooks of message"),
    "hook of a projection": ({}, lambda conv: projection(conv).register_forward_hook(doubled), same, "has hooks"),
    "another message": ({}, lambda conv: setattr(conv, "message", lambda x_j, alpha: x_j), same, r"message\(\) was"),
    "another projection": ({}, lambda conv: torch.nn.utils.parametrizations.weight_norm(projection(conv)), same,
                           "is ParametrizedLinear"),
    "dropout of all": ({"dropout": 1.0}, None, same, "dropout=1.0"),
    "int32": ({}, None, lambda x, edges: (x, edges.int()), "int32"),
    "sparse edges": ({"add_self_loops": False}, None, lambda x, edges: (x, sparse(edges, len(x))), "edge_index is not"),
    "sparse x": ({}, None, lambda x, edges: (x.to_sparse(), edges), "x or edge_attr is not"),
    "more targets with self-loops": ({}, None, lambda x, edges: ((x, x.repeat(2, 1)), edges), "self-loop"),
}


@both_kinds
@pytest.mark.parametrize("name", FALL_BACK)
def test_what_is_not_fused_is_computed_by_pyg(kind, name, nn):
    how, change, arguments, reason = FALL_BACK[name]
    theirs, ours = pair(kind, nn, 6, 5, heads=2, **how)
    for conv in (theirs, ours):
        if change is not None:
            change(conv)
    nodes, edge_index = mixed()
    given = arguments(random_inputs(nodes, 0, 6, None)[0], edge_index)
    assert re.search(reason, nn.why_not(ours, *given))
    torch.testing.assert_close(ours(*given), theirs(*given))


@both_kinds
@pytest.mark.parametrize("fill", ["max", "add", torch.full((1,), 0.5, dtype=torch.float64)])
def test_fills_that_are_not_fused(kind, fill, nn):
    theirs, ours = pair(kind, nn, 6, 5, heads=2, edge_dim=3, fill_value=fill)
    nodes, edge_index = mixed()
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
    assert "fill_value" in nn.why_not(ours, x, edge_index, edge_attr)
    torch.testing.assert_close(ours(x, edge_index, edge_attr), theirs(x, edge_index, edge_attr))


def test_a_size_is_fused(nn):
    theirs, ours = pair("gat", nn, (6, 4), 5, heads=2)
    x, edges = torch.randn(4, 6).double(), torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]])
    assert nn.why_not(ours, (x, None), edges, size=(4, 2)) is None
    torch.testing.assert_close(ours((x, None), edges, size=(4, 2)), theirs((x, None), edges, size=(4, 2)))
    one, other = pair("gat", nn, 6, 5, heads=2)
    assert nn.why_not(other, x, edges, size=(4, 4)) is None
    torch.testing.assert_close(other(x, edges, size=(4, 4)), one(x, edges, size=(4, 4)))
    assert torch.equal(other(x, edges, size=(4, 4)), other(x, edges))
    assert "size" in nn.why_not(other, x, edges, size=(4, 5))


@both_kinds
def test_lazy_layers_are_fused_from_the_second_call(kind, nn):
    ours = {"gat": nn.GATConv, "gatv2": nn.GATv2Conv}[kind](-1, 5, heads=2)
    nodes, edge_index = mixed()
    x = torch.randn(nodes, 6)
    assert "UninitializedParameter" in nn.why_not(ours, x, edge_index)
    first = ours(x, edge_index)
    assert nn.why_not(ours, x, edge_index) is None
    torch.testing.assert_close(ours(x, edge_index), first)


@both_kinds
def test_transformations_are_left_to_pyg(kind, nn):
    theirs, ours = pair(kind, nn, 6, 5, heads=2)
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0]
    results = [torch.func.jvp(lambda x: conv(x, edge_index), (x,), (x,)) for conv in (theirs, ours)]  # noqa: B023
    torch.testing.assert_close(*results)
    traced = torch.jit.trace(ours, (x, edge_index), check_trace=False)
    torch.testing.assert_close(traced(x, edge_index), theirs(x, edge_index))


@both_kinds
def test_explanations_are_those_of_pyg(kind, nn, fused):
    from torch_geometric.explain import Explainer, GNNExplainer

    nodes, edge_index = mixed()
    x = torch.randn(nodes, 6)
    conv = make_conv(kind, 6, 5, torch.float32, heads=2)
    masks = []
    for layer in (conv, fused(conv)):
        torch.manual_seed(4)
        explainer = Explainer(layer, GNNExplainer(epochs=3), "model", edge_mask_type="object",
                              model_config={"mode": "regression", "task_level": "node", "return_type": "raw"})
        masks.append(explainer(x, edge_index).edge_mask)
    torch.testing.assert_close(*masks)
    assert nn.why_not(layer, x, edge_index) is None
    layer.explain = True
    assert "explained" in nn.why_not(layer, x, edge_index)


def test_subclasses_keep_their_own_code(nn):
    class Mine(nn.GATConv):
        def message(self, x_j, alpha):
            return x_j

    torch.manual_seed(1)
    mine = Mine(6, 5, heads=2)
    nodes, edge_index = mixed()
    x = torch.randn(nodes, 6)
    plain = nn.GATConv(6, 5, heads=2)
    plain.load_state_dict(mine.state_dict())
    assert "Mine" in nn.why_not(mine, x, edge_index)
    assert not torch.allclose(mine(x, edge_index), plain(x, edge_index))

    class Doubles(nn.SAGEConv):
        def message(self, x_j):
            return 2 * x_j

    torch.manual_seed(1)
    doubles, sage = Doubles(6, 5), nn.SAGEConv(6, 5)
    sage.load_state_dict(doubles.state_dict())
    assert not torch.allclose(doubles(x, edge_index), sage(x, edge_index))


@both_kinds
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(kind, backend, nn):
    if backend == "inductor" and not os.environ.get("PLIMSOLL_SLOW"):
        pytest.skip("compiles C++ (set PLIMSOLL_SLOW=1)")
    torch._dynamo.reset()
    _, ours = pair(kind, nn, 6, 5, heads=2, edge_dim=3, residual=True, dropout=0.4)
    compiled = torch.compile(ours, fullgraph=True, backend=backend, dynamic=True)
    for graph in (mixed, small_graphs):
        nodes, edge_index = graph()
        x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
        ours.eval()
        results = []
        for conv in (ours, compiled):
            leaf = x.clone().requires_grad_()
            out = conv(leaf, edge_index, edge_attr)
            results.append([out, *torch.autograd.grad(out.square().sum(), [leaf, *ours.parameters()])])
        torch.testing.assert_close(*results)
    ours.train()
    torch.manual_seed(5)
    one, two = (compiled(x, edge_index, edge_attr) for _ in range(2))
    torch.manual_seed(5)
    assert torch.equal(compiled(x, edge_index, edge_attr), one) and not torch.equal(one, two)


@both_kinds
def test_replacing_in_a_compiled_model_takes_effect(kind, nn):
    torch._dynamo.reset()
    conv = make_conv(kind, 6, 5, heads=2)
    code = []

    def backend(module, inputs):
        code.append(module.code)
        return module

    compiled = torch.compile(conv, backend=backend)
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0]
    before = compiled(x, edge_index)
    assert nn.replace(compiled).replaced == 1 and not any("plimsoll" in text for text in code)
    torch.testing.assert_close(compiled(x, edge_index), before)
    assert "plimsoll" in code[-1]


@both_kinds
def test_autocast(kind, nn, fused):
    nodes, edge_index = small_graphs()
    conv = make_conv(kind, 6, 8, torch.float32, heads=3, edge_dim=3, residual=True)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3, torch.float32)
    expected = conv(x, edge_index, edge_attr)
    ours = fused(conv)
    with torch.autocast("cpu", torch.bfloat16):
        assert nn.why_not(ours, x, edge_index, edge_attr) is None
        found, (_, alpha) = ours(x, edge_index, edge_attr, return_attention_weights=True)
    assert found.dtype == torch.bfloat16 and alpha.dtype == torch.float32
    assert (found - expected).norm() < 1e-2 * expected.norm()
    found.float().square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in ours.parameters())
    with torch.autocast("cpu", torch.float16):
        assert "autocast" in nn.why_not(ours, x, edge_index, edge_attr)


@both_kinds
def test_bfloat16(kind, fused):
    nodes, edge_index = small_graphs()
    conv = make_conv(kind, 6, 8, torch.float32, heads=3)
    x = random_inputs(nodes, 0, 6, None, torch.float32)[0]
    ours = fused(conv).bfloat16()
    out, (_, alpha) = ours(x.bfloat16(), edge_index, return_attention_weights=True)
    expected = conv(x, edge_index)
    assert out.dtype == alpha.dtype == torch.bfloat16
    assert (out - expected).norm() < 2e-2 * expected.norm()


@both_kinds
def test_dropout(kind, nn):
    _, ours = pair(kind, nn, 6, 5, heads=2, dropout=0.4)
    nodes, edge_index = small_graphs()
    x = random_inputs(nodes, 0, 6, None)[0]
    expected = ours.eval()(x, edge_index)
    assert torch.equal(ours(x, edge_index), expected)
    ours.train()
    torch.manual_seed(6)
    one, two = ours(x, edge_index), ours(x, edge_index)
    torch.manual_seed(6)
    assert torch.equal(ours(x, edge_index), one) and not torch.equal(one, two)
    draws = 200
    mean = sum(ours(x, edge_index) for _ in range(draws)) / draws
    assert (mean - expected).norm() < 1.3 * (0.4 / 0.6 / draws)**0.5 * expected.norm()
    alpha = ours(x, edge_index, return_attention_weights=True)[1][1]
    full = ours.eval()(x, edge_index, return_attention_weights=True)[1][1]
    assert abs(float((alpha == 0).double().mean()) - 0.4) < 0.05
    torch.testing.assert_close(alpha[alpha != 0], full[alpha != 0] / 0.6)


@both_kinds
def test_checkpoints_draw_the_same_dropout_again(kind, nn):
    _, ours = pair(kind, nn, 6, 5, heads=2, dropout=0.4)
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0].requires_grad_()
    results = []
    for run in (ours, lambda *given: torch.utils.checkpoint.checkpoint(ours, *given, use_reentrant=False)):
        torch.manual_seed(7)
        out = run(x, edge_index)
        results.append([out, *torch.autograd.grad(out.square().sum(), [x, *ours.parameters()])])
    assert all(torch.equal(a, b) for a, b in zip(*results))


def test_second_derivatives_are_refused(nn):
    _, ours = pair("gat", nn, 6, 5, heads=2)
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0].requires_grad_()
    gradient = torch.autograd.grad(ours(x, edge_index).square().sum(), x, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="second derivatives"):
        gradient.sum().backward()


@both_kinds
@pytest.mark.parametrize("change, error", [
    (lambda x, edges, attr: (x, edges + 5, attr), RuntimeError),
    (lambda x, edges, attr: (x, edges - 5, attr), RuntimeError),
    (lambda x, edges, attr: (x[:, :4], edges, attr), RuntimeError),
    (lambda x, edges, attr: (x, edges[:1], attr), (RuntimeError, IndexError)),
    (lambda x, edges, attr: (x, edges[0], attr), (RuntimeError, IndexError, ValueError)),
    (lambda x, edges, attr: (x, edges, attr[:5]), RuntimeError),
    (lambda x, edges, attr: (x, edges, attr[:, :2]), RuntimeError),
    (lambda x, edges, attr: (x.float(), edges, attr), RuntimeError),
    (lambda x, edges, attr: (x[None], edges, attr), AssertionError),
])
def test_bad_input_is_an_exception(kind, change, error, nn):
    _, ours = pair(kind, nn, 6, 5, heads=2, edge_dim=3)
    nodes, edge_index = mixed()
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
    with pytest.raises(error):
        ours(*change(x, edge_index, edge_attr))


@pytest.mark.parametrize("v2", [False, True])
def test_replace_in_a_model_of_pyg(v2, nn):
    torch.manual_seed(8)
    model = tg.models.GAT(6, 8, num_layers=3, out_channels=4, v2=v2, heads=2, edge_dim=3, jk="cat").double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    theirs = copy.deepcopy(model)
    report = nn.replace(model)
    assert [(layer.name, layer.kind, layer.replaced) for layer in report] == [
        ("dropout", "Dropout", True), *((f"convs.{i}", "GATv2Conv" if v2 else "GATConv", True) for i in range(3))]
    nodes, edge_index = mixed()
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
    for each, step in ((theirs, torch.optim.SGD(theirs.parameters(), lr=0.1)), (model, optimizer)):
        each(x, edge_index, edge_attr=edge_attr).square().sum().backward()
        step.step()
    for one, other in zip(model.parameters(), theirs.parameters()):
        torch.testing.assert_close(one, other)


def test_the_report_says_of_every_layer_what_became_of_it(nn):
    class Own(tg.GATConv):
        pass

    model = torch.nn.ModuleDict({
        "mlp": tg.MLP([6, 8, 8]), "gat": tg.GATConv(8, 8), "reversed": tg.GATConv(8, 8, flow="target_to_source"),
        "own": Own(8, 8), "ours": nn.GATv2Conv(8, 8), "cheb": tg.ChebConv(8, 8, 2), "hooked": tg.GATv2Conv(8, 8)})
    model["hooked"].register_propagate_forward_hook(doubled)
    report = nn.replace(model)
    assert report.replaced == 2 and len(report) == 6
    assert str(report).splitlines() == [
        "2 of 6 layers replaced",
        "gat: GATConv replaced",
        "reversed: GATConv left alone: flow='target_to_source' is not fused",
        "own: Own left alone: it is a subclass, which may compute something else",
        "ours: GATv2Conv left alone: it is a fused layer already",
        "cheb: ChebConv left alone: there is no fused layer for ChebConv",
        "hooked: GATv2Conv replaced: runs PyTorch Geometric's code while it has hooks of message passing",
    ]
    assert type(model["reversed"]) is tg.GATConv and type(model["gat"]) is nn.GATConv
    assert "left alone" in str(nn.replace(model)).splitlines()[1]


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


def test_the_package_alone_imports_neither_layers_nor_torch():
    assert python("import plimsoll, sys; print('plimsoll.nn' in sys.modules)").strip() == "False"
    assert "pip install torch torch_geometric" in python(BLOCKED + """
import plimsoll
try:
    import plimsoll.nn
except plimsoll.MissingPackage as error:
    print(error)
""")


def test_a_replaced_model_is_copied_and_pickled(nn):
    model = tg.models.GAT(6, 8, num_layers=2, heads=2)
    nn.replace(model)
    x, edges = torch.randn(5, 6), torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert [type(conv) for conv in other.convs] == [nn.GATConv] * 2
        assert torch.equal(other.eval()(x, edges), model.eval()(x, edges))


def test_distributed_data_parallel(nn, tmp_path):
    """Two processes sum the gradients of the fused layers, which are those of both halves together."""
    code = """
import sys, torch, torch_geometric.nn, plimsoll.nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

rank = int(sys.argv[1]) if len(sys.argv) > 1 else RANK
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch_geometric.nn.GAT(6, 8, num_layers=2, heads=2, out_channels=3).double()
plimsoll.nn.replace(model)
inputs = [(torch.randn(7, 6).double(), torch.randint(7, (2, 20))) for _ in range(2)]
dist.init_process_group("gloo", init_method="file://RENDEZVOUS", rank=rank, world_size=2)
parallel = DistributedDataParallel(model)
parallel(*inputs[rank]).square().mean().backward()
gradients = [parameter.grad.clone() for parameter in model.parameters()]
model.zero_grad()
(sum(model(*given).square().mean() for given in inputs) / 2).backward()
for mine, parameter in zip(gradients, model.parameters()):
    torch.testing.assert_close(mine, parameter.grad)
print("equal")
dist.destroy_process_group()
"""
    code = code.replace("int(sys.argv[1]) if len(sys.argv) > 1 else RANK", "int(sys.argv[1])")
    command = [sys.executable, "-c", code.replace("RENDEZVOUS", str(tmp_path / "meet"))]
    ranks = [subprocess.Popen([*command, str(rank)], stdout=subprocess.PIPE, text=True) for rank in range(2)]
    assert [process.communicate(timeout=240)[0].strip() for process in ranks] == ["equal"] * 2
