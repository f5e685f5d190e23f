"""Attention with bfloat16 stored and float32 computed, and under torch.autocast."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import (  # noqa: E402
    GRAPHS, alpha_rows, assert_close, both_kinds, dropout_of, errors, large_graph, mixed, random_inputs,
    random_weights, small_graphs,
)
from attention_twin import LAYERS, evaluate, make_conv, run_pyg  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")

LARGE = ("lin.weight", "lin_l.weight", "lin_r.weight", "lin_l.bias", "lin_r.bias")  # parameters of projections
BF16 = {"values": 5e-3, "gradients": 2e-2}


def rounded(tensor):
    return None if tensor is None else tensor.bfloat16()


class Store(torch.autograd.Function):
    """Rounds as storing does; the gradient does not see it."""

    @staticmethod
    def forward(context, z):
        return z.bfloat16().double()

    @staticmethod
    def backward(context, gradient):
        return gradient


def reference(conv):
    """PyTorch Geometric's layer in float64. GATv2's with its projections rounded as they are stored: LeakyReLU of each
    channel turns at 0, where rounding changes the side of some, which by itself, in exact arithmetic, moves the gradients
    of lin_r by up to 0.07 of their norm (0.27 in the smallest of these graphs). What is computed from them is compared.
    """
    conv = copy.deepcopy(conv).double()
    for linear in {getattr(conv, name, None) for name in ("lin_l", "lin_r")} - {None}:
        linear.register_forward_hook(lambda module, inputs, z: Store.apply(z))
    return conv


def compare_bf16(kind, graph, channels, edge_dim=None, bipartite=False, keep_projection=True, **how):
    """Values and gradients of a layer in bfloat16 against PyTorch Geometric's in float64, from the same numbers."""
    nodes, edge_index = graph
    features, targets = 6, nodes
    if bipartite:
        features, targets = (6, 4), nodes // 2
        edge_index = edge_index[:, edge_index[1] < targets]
    conv = make_conv(kind, features, channels, torch.bfloat16, edge_dim=edge_dim, **how)
    x, edge_attr = map(rounded, random_inputs(nodes, edge_index.shape[1], 6, edge_dim))
    if bipartite:
        x = x, rounded(random_inputs(targets, 0, 4, None)[0])
    weights = random_weights(conv, targets, alpha_rows(conv, edge_index, targets))
    weights = weights[0].bfloat16(), weights[1].float()
    found = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, keep_projection=keep_projection)
    double = lambda value: value if value is None else value.double()  # noqa: E731
    expected = evaluate(run_pyg, reference(conv), tuple(map(double, x)) if bipartite else x.double(),
                        edge_index, double(edge_attr), list(map(double, weights)))
    assert {name: value.dtype for name, value in found.items()} == {
        name: torch.float32 if name == "alpha" else torch.bfloat16 for name in expected}
    assert_close(found, expected, BF16)


@both_kinds
@pytest.mark.parametrize("edge_dim", [None, 3, 11])
@pytest.mark.parametrize("heads", [1, 3, 4, 8])
@pytest.mark.parametrize("channels", [7, 8, 32, 48])
def test_bf16_for_sizes(kind, channels, heads, edge_dim):
    compare_bf16(kind, mixed(), channels, edge_dim=edge_dim, heads=heads)


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("name", [name for name in GRAPHS if "hub" not in name])
def test_bf16_for_graphs(kind, name, keep_projection):
    compare_bf16(kind, GRAPHS[name](), 8, edge_dim=3, heads=3, keep_projection=keep_projection)


@both_kinds
@pytest.mark.parametrize("graph", [mixed, large_graph])
@pytest.mark.parametrize("how", [{"add_self_loops": False}, {"fill_value": 2.5}, {"concat": False}, {"bias": False},
                                 {"bipartite": True}, {"bipartite": True, "add_self_loops": False}], ids=str)
def test_bf16_for_options(kind, how, graph):
    compare_bf16(kind, graph(), 8, edge_dim=5, heads=4, **how)


@pytest.mark.parametrize("graph", [mixed, small_graphs, large_graph])
@pytest.mark.parametrize("keep_projection", [True, False])
def test_bf16_with_shared_weights(graph, keep_projection):
    compare_bf16("gatv2", graph(), 7, edge_dim=3, heads=4, share_weights=True, keep_projection=keep_projection)


def parts(kind, graph, dtype=torch.bfloat16):
    nodes, edge_index = graph
    conv = make_conv(kind, 37, 33, dtype, heads=3, edge_dim=3)
    x, edge_attr = (tensor.to(dtype) for tensor in random_inputs(nodes, edge_index.shape[1], 37, 3))
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes))
    return conv, x, edge_index, edge_attr, (weights[0].to(dtype), weights[1].float())


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("graph", [lambda: small_graphs(20), lambda: small_graphs(150), large_graph],
                         ids=["one piece", "pieces", "one large graph"])
def test_bf16_has_the_same_bits_for_any_number_of_threads(kind, graph, keep_projection, threads):
    given = parts(kind, graph())
    results = []
    for number in (1, 2, 4):
        threads(number)
        results.append(evaluate(LAYERS[kind].run, *given, **dropout_of(0.2), keep_projection=keep_projection))
    for name, value in results[0].items():
        assert all(torch.equal(other[name], value) for other in results[1:]), name


@both_kinds
def test_bf16_drops_the_weights_that_float32_drops(kind):
    conv, x, edge_index, edge_attr, _ = parts(kind, small_graphs())
    dropped = [LAYERS[kind].run(copy.deepcopy(conv).to(dtype), x.to(dtype), edge_index, edge_attr.to(dtype),
                                **dropout_of(0.3))[1] == 0 for dtype in (torch.bfloat16, torch.float32)]
    assert torch.equal(*dropped) and 0.2 < float(dropped[0].float().mean()) < 0.4


@both_kinds
def test_rounding_to_bf16_is_torchs(kind):
    """What is stored is the nearest number, ties to even; what is no number stays none. The bias alone is stored."""
    bias = torch.cat([torch.arange(-400, 400) * 2.0**-9 + 1, torch.tensor([torch.nan, torch.inf, -torch.inf, 3e38])])
    order = torch.ops.plimsoll.edge_order(torch.empty(2, 0, dtype=torch.long), 1, 1, True, True)
    zeros = lambda *shape: torch.zeros(shape, dtype=torch.bfloat16)  # noqa: E731
    for channels in (len(bias), len(bias) - 1):
        x, weight, att = zeros(1, 2), zeros(channels, 2), zeros(1, channels)
        tail = (bias[:channels], None, None, 1, 0.2, False, "zero", 0.0, 0.0, True, False)
        if kind == "gat":
            out = torch.ops.plimsoll.gat(x, weight, att, att, None, order, None, None, *tail)[0]
        else:
            out = torch.ops.plimsoll.gatv2(x, weight, None, None, None, None, att, order, None, None, *tail)[0]
        torch.testing.assert_close(out[0], bias[:channels].bfloat16(), rtol=0, atol=0, equal_nan=True)


@both_kinds
def test_small_tensors_may_stay_float32(kind):
    """Gradients have the dtypes of what they are gradients of."""
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 8, torch.float32, heads=4, edge_dim=3)
    for name, parameter in conv.named_parameters():
        if name in LARGE:
            parameter.data = parameter.data.bfloat16()
    x, edge_attr = map(rounded, random_inputs(nodes, edge_index.shape[1], 6, 3))
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes))
    found = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, (weights[0].bfloat16(), weights[1].float()))
    for name, parameter in conv.named_parameters():
        assert found[f"grad.{name}"].dtype == (torch.bfloat16 if name in LARGE else torch.float32), name
    expected = evaluate(run_pyg, reference(conv), x.double(), edge_index, edge_attr.double(), weights)
    assert_close(found, expected, BF16)


def evaluate_autocast(kind, conv, x, edge_index, edge_attr, weights):
    def run(*given):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return LAYERS[kind].run(*given)

    return evaluate(run, conv, x, edge_index, edge_attr, weights)


@both_kinds
@pytest.mark.parametrize("graph", [mixed, large_graph])
def test_autocast(kind, graph):
    """As with torch's products: what is large is computed in bfloat16, gradients have their tensors' dtypes."""
    nodes, edge_index = graph()
    conv = make_conv(kind, 6, 8, torch.float32, heads=4, edge_dim=3)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3, torch.float32)
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes), torch.float32)
    found = evaluate_autocast(kind, conv, x, edge_index, edge_attr, weights)
    assert found.pop("out").dtype == torch.bfloat16
    assert {value.dtype for value in found.values()} == {torch.float32}
    found["out"] = evaluate_autocast(kind, conv, x, edge_index, edge_attr, weights)["out"]
    stored = copy.deepcopy(conv)
    for name, parameter in stored.named_parameters():
        if name in LARGE:
            parameter.data = parameter.data.bfloat16().float()
    expected = evaluate(run_pyg, reference(stored), *(value.bfloat16().double() if value.is_floating_point() else value
                                                      for value in (x, edge_index, edge_attr)),
                        [weight.double() for weight in weights])
    assert_close(found, expected, {"values": 5e-3, "gradients": 2e-2})
    exact = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights)
    assert errors(found, {name: value.double() for name, value in exact.items()})["out"] > 1e-4


@both_kinds
def test_autocast_leaves_float64_alone(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 8, heads=4, edge_dim=3)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
    expected = LAYERS[kind].run(conv, x, edge_index, edge_attr)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        order = torch.ops.plimsoll.edge_order(edge_index, nodes, nodes, True, True)
        found = LAYERS[kind].run(conv, x, edge_index, edge_attr, order=order)
    if kind == "gat":  # its other tensors are made by torch outside the operator
        assert found[0].dtype == torch.float64
    assert torch.equal(found[0], expected[0])


@both_kinds
def test_autocast_to_float16_computes_in_float32(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 8, torch.float32, heads=4)
    x = random_inputs(nodes, 0, 6, None, torch.float32)[0]
    expected = LAYERS[kind].run(conv, x, edge_index)
    with torch.autocast("cpu", dtype=torch.float16):
        found = LAYERS[kind].run(conv, x, edge_index)
    assert found[0].dtype == torch.float32
    assert torch.equal(found[0], expected[0])


@both_kinds
def test_bf16_stores_half(kind):
    """Kept for backward: z in two bytes, scores in four."""
    kept = {}
    for dtype in (torch.bfloat16, torch.float32):
        conv, x, edge_index, edge_attr, _ = parts(kind, small_graphs(), dtype)
        sizes = {}

        def pack(tensor, sizes=sizes):
            if tensor.shape[:1] == (len(x),) and tensor.data_ptr() != x.data_ptr():  # noqa: B023
                sizes[tensor.data_ptr()] = tensor.numel() * tensor.element_size()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            LAYERS[kind].run(conv, x, edge_index, edge_attr, attention=False)
        kept[dtype] = sum(sizes.values())
    scores = (4 if kind == "gat" else 2) * 4 * len(x) * 3
    assert kept[torch.bfloat16] - scores == (kept[torch.float32] - scores) / 2 > 0
