"""Attention of plimsoll.nn beside PyTorch Geometric's: values, gradients, precisions, dropout, compiled."""

import io
import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric.nn")
from attention_cases import (  # noqa: E402
    FLOAT32, FLOAT64, OPTIONS, alpha_rows, assert_close, both_kinds, mixed, random_inputs, random_weights, small_graphs,
)
from attention_twin import evaluate, make_conv, run_pyg  # noqa: E402
from fused_layers import fused, nn, pair  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("ops", "threads")

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
@pytest.mark.parametrize("attention", [True, False, None])
@pytest.mark.parametrize("fused", [True, False])
def test_attention_is_returned_where_it_is_true(kind, nn, attention, fused):
    nodes, edge_index = mixed()
    x = random_inputs(nodes, 0, 6, None)[0]
    theirs, ours = pair(kind, nn, 6, 5, heads=3)
    if not fused:  # PyTorch Geometric's code runs where messages are hooked
        ours.register_message_forward_hook(lambda *_: None)
    assert (nn.why_not(ours, x, edge_index) is None) == fused
    found, expected = (conv(x, edge_index, return_attention_weights=attention) for conv in (ours, theirs))
    assert isinstance(found, tuple) == isinstance(expected, tuple) == (attention is True)
    torch.testing.assert_close(found, expected)


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
