"""Attention of plimsoll.nn where PyTorch Geometric's code runs instead, and what is refused."""

import re

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric.nn")
from attention_cases import both_kinds, mixed, random_inputs  # noqa: E402
from attention_twin import make_conv  # noqa: E402
from fused_layers import doubled, fused, nn, pair  # noqa: E402, F401

pytestmark = pytest.mark.usefixtures("ops", "threads")


def projection(conv):
    return conv.lin if hasattr(conv, "lin") else conv.lin_l


def sparse(edges, nodes):
    return torch.sparse_coo_tensor(edges.flip(0), torch.ones(edges.shape[1]), (nodes, nodes)).coalesce()


same = lambda x, edge_index: (x, edge_index)  # noqa: E731
# Arguments of the layer, what is done to it, the arguments of its call, and the reason.
FALL_BACK = {
    "flow": ({"flow": "target_to_source"}, None, same, "flow="),
    "aggr": ({"aggr": "max"}, None, same, "aggr="),
    "hook of messages": ({}, lambda conv: conv.register_message_forward_hook(doubled), same, "message-passing hooks"),
    "hook of edges": ({}, lambda conv: conv.register_edge_update_forward_hook(doubled), same, "message-passing hooks"),
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
