"""torch.ops.plimsoll.gat and gatv2 against PyTorch Geometric's GATConv and GATv2Conv: values and gradients."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import (  # noqa: E402
    FLOAT32, FLOAT64, GRAPHS, HUB_FLOAT32, OPTIONS, alpha_rows, assert_close, both_kinds, compare, errors, hub,
    large_graph, mixed, random_inputs, random_weights, small_graphs,
)
from attention_twin import LAYERS, edge_order, evaluate, make_conv, run_pyg  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


@both_kinds
@pytest.mark.parametrize("edge_dim", [None, 1, 11, 64])
@pytest.mark.parametrize("heads", [1, 3, 4, 8])
@pytest.mark.parametrize("channels", [1, 7, 32, 33, 48])
def test_same_as_pyg_for_sizes(kind, channels, heads, edge_dim):
    compare(kind, mixed(), channels, edge_dim=edge_dim, heads=heads)


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("edge_dim", [None, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_same_as_pyg_for_graphs(kind, name, edge_dim, keep_projection):
    hub = "hub" in name
    compare(kind, GRAPHS[name](), 2 if hub else 8, edge_dim=edge_dim, heads=2 if hub else 3,
            keep_projection=keep_projection, float32=HUB_FLOAT32 if hub else FLOAT32)


@both_kinds
@pytest.mark.parametrize("graph", [mixed, small_graphs, large_graph])
@pytest.mark.parametrize("option", OPTIONS)
def test_same_as_pyg_for_options(kind, option, graph):
    compare(kind, graph(), 8, edge_dim=5, heads=4, **OPTIONS[option])


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("edge_dim", [None, 3])
@pytest.mark.parametrize("graph", [mixed, large_graph])
def test_same_as_pyg_for_other_targets(kind, graph, edge_dim, loops, keep_projection):
    compare(kind, graph(), 7, edge_dim=edge_dim, bipartite=True, heads=3, add_self_loops=loops,
            keep_projection=keep_projection)


@pytest.mark.parametrize("graph", [mixed, small_graphs, large_graph])
@pytest.mark.parametrize("keep_projection", [True, False])
def test_gatv2_with_shared_weights(graph, keep_projection):
    compare("gatv2", graph(), 7, edge_dim=3, heads=4, share_weights=True, keep_projection=keep_projection)


@both_kinds
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_closed_pieces_give_what_the_general_schedule_gives(kind, dtype):
    nodes, edge_index = small_graphs()
    conv = make_conv(kind, 6, 16, dtype, heads=4, edge_dim=5)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 5, dtype)
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes), dtype)
    closed = edge_order(conv, edge_index, x)
    general = torch.ops.plimsoll.edge_order(edge_index, nodes, nodes, False, True)
    assert not torch.equal(closed, general)
    found, expected = (evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, order=order)
                       for order in (closed, general))
    tolerance = 1e-13 if dtype == torch.float64 else 2e-6
    assert_close(found, {name: value.double() for name, value in expected.items()},
                 {"values": tolerance, "gradients": tolerance})


@both_kinds
def test_a_part_of_the_gradients(kind):
    """What does not require a gradient gets none, and the rest stays as it is."""
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 4, heads=2, edge_dim=3)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
    grad = random_weights(conv, nodes, 0)[0]

    def gradients(wanted):
        tensors = {"x": x.clone(), "edge_attr": edge_attr.clone()}
        tensors |= {name: parameter for name, parameter in conv.named_parameters()}
        for name, tensor in tensors.items():
            tensor.requires_grad_(name in wanted)
        out, _ = LAYERS[kind].run(conv, tensors["x"], edge_index, tensors["edge_attr"])
        return dict(zip(wanted, torch.autograd.grad(out, [tensors[name] for name in wanted], grad)))

    every = gradients(["x", "edge_attr", *(name for name, _ in conv.named_parameters())])
    for name, value in every.items():
        assert torch.equal(gradients([name])[name], value), name


@both_kinds
@pytest.mark.parametrize("graph", [mixed, large_graph])
def test_gradient_through_attention_alone(kind, graph):
    nodes, edge_index = graph()
    conv = make_conv(kind, 6, 4, heads=2)
    x = random_inputs(nodes, 0, 6, None)[0]
    weight = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes))[1]
    found, expected = (torch.autograd.grad(run(conv, leaf, edge_index)[1], leaf, weight)[0]
                       for run in (LAYERS[kind].run, run_pyg) for leaf in [x.clone().requires_grad_()])
    assert_close({"grad.x": found}, {"grad.x": expected}, FLOAT64)


@both_kinds
def test_inputs_may_lie_in_any_way(kind):
    """Columns of a larger tensor, transposed, expanded."""
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 4, heads=2, edge_dim=3)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes))
    expected = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights)
    spread = torch.stack([edge_index, edge_index], dim=2)[:, :, 0]

    def strided(conv, x, edge_index, edge_attr):
        return LAYERS[kind].run(conv, x.t().clone().t(), edge_index, torch.stack([edge_attr, x.new_zeros(
            edge_attr.shape)], dim=2)[:, :, 0])

    found = evaluate(strided, conv, x, spread, edge_attr, weights)
    assert all(torch.equal(found[name], value) for name, value in expected.items())
    leaf = x.clone().requires_grad_()
    sums = [torch.autograd.grad(run(conv, leaf, edge_index, edge_attr)[0].sum(), leaf)[0]
            for run in (LAYERS[kind].run, run_pyg)]
    assert_close({"grad.x": sums[0]}, {"grad.x": sums[1]}, FLOAT64)


@both_kinds
def test_a_value_that_is_no_number_stays_with_its_neighbours(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 8, torch.float32, heads=8)
    x = random_inputs(nodes, 0, 6, None, torch.float32)[0]
    x[7, 0] = torch.nan
    found, expected = (run(conv, x, edge_index)[0].isnan() for run in (LAYERS[kind].run, run_pyg))
    assert torch.equal(found, expected) and 0 < expected.any(1).sum() < nodes


@both_kinds
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_large_scores(kind, dtype):
    """exp overflows where the largest score is not taken off first; small weights underflow."""
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 8, dtype, heads=4)
    x = 300 * random_inputs(nodes, 0, 6, None, dtype)[0]
    found, expected = (run(layer, value, edge_index)
                       for run, layer, value in ((LAYERS[kind].run, conv, x),
                                                 (run_pyg, copy.deepcopy(conv).double(), x.double())))
    names = ("out", "alpha")
    # Scores of 1e3 have errors of 1e-4 in float32.
    tolerance = 1e-10 if dtype == torch.float64 else 1e-4
    assert_close(dict(zip(names, found)), dict(zip(names, expected)), {"values": tolerance})
