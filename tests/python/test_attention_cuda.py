"""Plimsoll's layers on a CUDA device against the same layers on the CPU, which test_attention.py compares with PyTorch
Geometric. Skipped without a GPU; a build without CUDA kernels must say so."""

import copy

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device for torch", allow_module_level=True)
from attention_cases import (  # noqa: E402
    FLOAT32, FLOAT64, GRAPHS, HUB_FLOAT32, OPTIONS, alpha_rows, assert_close, both_kinds, large_graph, mixed,
    random_inputs, random_weights, small_graphs,
)
from attention_twin import LAYERS, edge_order, evaluate, make_conv, run_pyg  # noqa: E402

DEVICE = torch.device("cuda")
REMEDY = "cmake --preset cuda"


def move(value):
    if isinstance(value, (tuple, list)):
        return type(value)(map(move, value))
    return value.to(DEVICE) if isinstance(value, torch.Tensor) else value


@pytest.fixture(scope="module")
def kernels(ops):
    """Skips where the build has no CUDA kernels."""
    try:
        ops.segment_softmax(torch.ones(1, 1, device=DEVICE), torch.tensor([0, 1], device=DEVICE))
    except RuntimeError as error:
        assert REMEDY in str(error)
        pytest.skip(f"a build without CUDA kernels: {error}")


def problem(kind, graph, channels, dtype, edge_dim=None, bipartite=False, **how):
    """(conv, x, edge_index, edge_attr, weights) on the CPU."""
    nodes, edge_index = graph
    features, targets = 6, nodes
    if bipartite:
        features, targets = (6, 4), nodes // 2
        edge_index = edge_index[:, edge_index[1] < targets]
    conv = make_conv(kind, features, channels, dtype, edge_dim=edge_dim, **how)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, edge_dim, dtype)
    if bipartite:
        x = x, random_inputs(targets, 0, 4, None, dtype)[0]
    return conv, x, edge_index, edge_attr, random_weights(conv, targets, alpha_rows(conv, edge_index, targets), dtype)


def on_device(conv, *rest):
    return (copy.deepcopy(conv).to(DEVICE), *map(move, rest))


def on_cpu(values):
    return {name: value.cpu() for name, value in values.items()}


def compare(kind, graph, channels, keep_projection=True, float32=FLOAT32, **how):
    for dtype, tolerance in ((torch.float64, FLOAT64), (torch.float32, float32)):
        conv, x, edge_index, edge_attr, weights = problem(kind, graph, channels, dtype, **how)
        there = on_device(conv, x, edge_index, edge_attr, weights)
        found = evaluate(LAYERS[kind].run, *there, keep_projection=keep_projection)
        double = lambda value: tuple(map(double, value)) if isinstance(value, tuple) else (  # noqa: E731
            value if value is None else value.double())
        expected = evaluate(LAYERS[kind].run, copy.deepcopy(conv).double(), double(x), edge_index, double(edge_attr),
                            [weight.double() for weight in weights])
        peer = on_cpu(evaluate(run_pyg, *there)) if dtype == torch.float32 else None
        assert_close(on_cpu(found), expected, tolerance, peer)


@both_kinds
@pytest.mark.parametrize("edge_dim", [None, 1, 11, 64])
@pytest.mark.parametrize("heads", [1, 3, 8])
@pytest.mark.parametrize("channels", [1, 7, 32, 33])
def test_sizes(kind, channels, heads, edge_dim, kernels):
    compare(kind, mixed(), channels, edge_dim=edge_dim, heads=heads)


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(kind, name, keep_projection, kernels):
    hub = "hub" in name
    compare(kind, GRAPHS[name](), 2 if hub else 8, edge_dim=3, heads=2 if hub else 3, keep_projection=keep_projection,
            float32=HUB_FLOAT32 if hub else FLOAT32)


@both_kinds
@pytest.mark.parametrize("option", OPTIONS)
def test_options(kind, option, kernels):
    compare(kind, small_graphs(), 8, edge_dim=5, heads=4, **OPTIONS[option])


@both_kinds
@pytest.mark.parametrize("loops", [False, True])
def test_other_targets(kind, loops, kernels):
    compare(kind, large_graph(), 7, edge_dim=3, bipartite=True, heads=3, add_self_loops=loops)


def test_gatv2_with_shared_weights(kernels):
    compare("gatv2", small_graphs(), 7, edge_dim=3, heads=4, share_weights=True)


@both_kinds
def test_same_as_pyg_on_the_device(kind, kernels):
    arguments = on_device(*problem(kind, small_graphs(), 8, torch.float64, edge_dim=5, heads=4))
    assert_close(evaluate(LAYERS[kind].run, *arguments), evaluate(run_pyg, *arguments), FLOAT64)


@both_kinds
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_drops_the_weights_that_the_cpu_drops(kind, dtype, kernels):
    conv, x, edge_index, edge_attr, weights = problem(kind, small_graphs(), 8, dtype, edge_dim=3, heads=3)
    seed = torch.tensor([5, 1, 2])
    keys = torch.stack([torch.arange(len(x)) % 7, torch.arange(len(x)) + 3, torch.zeros(len(x), dtype=torch.long)])
    expected = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, seed=seed, keys=keys, dropout=0.4)
    found = on_cpu(evaluate(LAYERS[kind].run, *on_device(conv, x, edge_index, edge_attr, weights), seed=seed,
                            keys=keys.to(DEVICE), dropout=0.4))
    assert torch.equal(found["alpha"] == 0, expected["alpha"] == 0)
    assert 0.3 < (expected["alpha"] == 0).double().mean() < 0.5
    tolerance = 1e-10 if dtype == torch.float64 else 2e-5
    assert_close(found, {name: value.double() for name, value in expected.items()},
                 {"values": tolerance, "gradients": tolerance})


@both_kinds
@pytest.mark.parametrize("graph", [small_graphs, large_graph])
def test_same_bits_each_time(kind, graph, kernels):
    conv, x, edge_index, edge_attr, weights = on_device(
        *problem(kind, graph(), 32, torch.float32, edge_dim=11, heads=8))
    order = edge_order(conv, edge_index, x)
    of_the_host = edge_order(conv, edge_index.cpu(), x.cpu()).to(DEVICE)
    first = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, order=order)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.synchronize()
        again = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, order=of_the_host)
        torch.cuda.synchronize()
    for name, value in first.items():
        assert torch.equal(again[name], value), name


@both_kinds
def test_waits_for_nothing(kind, kernels):
    conv, x, edge_index, edge_attr, weights = on_device(
        *problem(kind, small_graphs(), 8, torch.float32, edge_dim=3, heads=4, concat=True, add_self_loops=False))
    order, seed = edge_order(conv, edge_index, x), torch.tensor([1, 2, 3])
    torch.cuda.set_sync_debug_mode("error")
    try:
        evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, order=order, seed=seed, dropout=0.2)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@both_kinds
def test_memory(kind, kernels):
    """Nothing of edges x heads x channels is allocated, forward or backward."""
    nodes, edges, heads, channels = 2000, 200_000, 8, 32
    edge_index = torch.randint(0, nodes, (2, edges), generator=torch.Generator().manual_seed(1))
    conv, x, edge_index, edge_attr, weights = on_device(
        *problem(kind, (nodes, edge_index), channels, torch.float32, edge_dim=3, heads=heads))
    order = edge_order(conv, edge_index, x)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, order=order)
    assert torch.cuda.max_memory_allocated() - before < edges * heads * channels * 4 / 2


@both_kinds
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("bipartite", [False, True])
def test_autocast_computes_in_float32(kind, bipartite, dtype, kernels):
    """Also from what torch's products under autocast have rounded."""
    arguments = on_device(*problem(kind, mixed(), 8, torch.float32, edge_dim=3, heads=4, bipartite=bipartite))

    def run(*given):
        with torch.autocast("cuda", dtype=dtype):
            return LAYERS[kind].run(*given)

    found, expected = evaluate(run, *arguments), evaluate(LAYERS[kind].run, *arguments)
    assert all(value.dtype == torch.float32 for value in found.values())
    assert_close(found, expected, {"values": 5e-3, "gradients": 5e-2} if bipartite else FLOAT32)


@both_kinds
def test_bfloat16_is_an_error(kind, kernels):
    conv, x, edge_index, edge_attr, _ = on_device(*problem(kind, mixed(), 4, torch.bfloat16, edge_dim=3, heads=2))
    with pytest.raises(RuntimeError, match="x f32 or f64 on a CUDA device.*BFloat16"):
        LAYERS[kind].run(conv, x, edge_index, edge_attr)


@pytest.mark.parametrize("what", ["order", "seed", "keys"])
def test_bad_input_is_an_error(what, kernels):
    conv, x, edge_index, _, _ = on_device(*problem("gat", mixed(), 4, torch.float32, heads=2))
    order = edge_order(conv, edge_index, x)
    how = {"order": order, "seed": torch.tensor([1, 2, 3]), "keys": torch.zeros(3, len(x), dtype=torch.long,
                                                                              device=DEVICE), "dropout": 0.5}
    how[what] = how[what].to("cpu" if what != "seed" else DEVICE)
    with pytest.raises(RuntimeError):
        LAYERS["gat"].run(conv, x, edge_index, **how)


def test_bad_edges_are_an_error(kernels):
    for edge in ([[0], [3]], [[-1], [0]]):
        with pytest.raises(RuntimeError, match="3 nodes"):
            torch.ops.plimsoll.edge_order(torch.tensor(edge, device=DEVICE), 3, 3, True, True)


def test_gather_csr(kernels):
    ptr = torch.tensor([0, 3, 3, 40])
    x = torch.randn(3, 7, dtype=torch.float64, device=DEVICE, requires_grad=True)
    out = torch.ops.plimsoll.gather_csr(x, ptr.to(DEVICE), 40)
    assert torch.equal(out, x.repeat_interleave(ptr.diff().to(DEVICE), dim=0))
    (gradient,) = torch.autograd.grad(out.sum(), x)
    assert torch.equal(gradient, ptr.diff().to(DEVICE, torch.float64)[:, None].expand(3, 7))


SEGMENTS = {
    "sum": lambda x, ptr, *_: torch.ops.plimsoll.segment_reduce(x, ptr, "sum"),
    "mean": lambda x, ptr, *_: torch.ops.plimsoll.segment_reduce(x, ptr, "mean"),
    "max": lambda x, ptr, *_: torch.ops.plimsoll.segment_reduce(x, ptr, "max"),
    "softmax": lambda x, ptr, *_: torch.ops.plimsoll.segment_softmax(x, ptr),
    "graph_norm": lambda x, ptr, *weights: torch.ops.plimsoll.graph_norm(x, ptr, *weights, 1e-5)[0],
}


@pytest.mark.parametrize("name", SEGMENTS)
@pytest.mark.parametrize("columns", [1, 5, 32, 70])
def test_segments(name, columns, kernels):
    generator = torch.Generator().manual_seed(1)
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), torch.randint(0, 40, (300,), generator=generator).cumsum(0)])
    x = torch.randn(int(ptr[-1]), columns, dtype=torch.float64, generator=generator)
    weights = [torch.randn(columns, dtype=torch.float64, generator=generator) for _ in range(3)]

    def values(device):
        inputs = [tensor.to(device).requires_grad_() for tensor in (x, *weights)]
        out = SEGMENTS[name](inputs[0], ptr.to(device), *inputs[1:])
        used = inputs if name == "graph_norm" else inputs[:1]
        loss = (out * torch.arange(out.numel(), dtype=torch.float64).view(out.shape).sin().to(device)).sum()
        return [out.detach().cpu(), *(grad.cpu() for grad in torch.autograd.grad(loss, used))]

    for found, expected in zip(values(DEVICE), values("cpu")):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
