"""torch.ops.plimsoll.gat and gatv2 against PyTorch Geometric's GATConv and GATv2Conv."""

import copy
import functools
import os
import subprocess
import sys

import numpy as np
import pytest
from made_up import random_frames, write_capture

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_twin import LAYERS, edge_order, evaluate, make_conv, run_pyg  # noqa: E402
from torch_geometric.nn import global_mean_pool  # noqa: E402

# Largest error of a tensor, by norm. float32 is compared with PyTorch Geometric in float64 on the same inputs.
FLOAT64 = {"values": 1e-10, "gradients": 1e-10}
FLOAT32 = {"values": 2e-6, "gradients": 1e-5}
# Gradients of 70,000 scores of one target nearly cancel; PyTorch Geometric itself has errors of 4e-5 there.
HUB_FLOAT32 = {"values": 2e-6, "gradients": 1e-4}
KINDS = list(LAYERS)
both_kinds = pytest.mark.parametrize("kind", KINDS)


def library_path(bin_dir):
    return bin_dir.parent / "lib" / "libplimsoll_ops.so"


@pytest.fixture(scope="module", autouse=True)
def library(bin_dir):
    if not library_path(bin_dir).exists():
        pytest.fail(f"{library_path(bin_dir)} is missing: run `make build`, or set PLIMSOLL_BIN", pytrace=False)
    torch.ops.load_library(library_path(bin_dir))


@pytest.fixture(autouse=True)
def threads():
    """One thread, on a busy machine the fastest; threads(n) sets another number. It is put back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch.set_num_threads
    torch.set_num_threads(before)


# Graphs: (nodes, edge_index).


def mixed(nodes=24, edges=60):
    """Random edges with duplicates and self-loops; the last two nodes have none."""
    generator = torch.Generator().manual_seed(2)
    edge_index = torch.randint(0, nodes - 2, (2, edges), generator=generator)
    edge_index[:, 1] = edge_index[:, 0]
    edge_index[1, 2:5] = edge_index[0, 2:5]
    return nodes, edge_index


def small_graph_list(graphs):
    """Small graphs, (nodes, edge_index) each; some have no edges."""
    rng = np.random.default_rng(3)
    for _ in range(graphs):
        nodes = int(rng.integers(1, 30))
        yield nodes, torch.from_numpy(rng.integers(0, nodes, (2, int(rng.integers(0, 3 * nodes)))))


def small_graphs(graphs=120):
    """The same one behind the other."""
    begin, parts = 0, []
    for nodes, edge_index in small_graph_list(graphs):
        parts.append(begin + edge_index)
        begin += nodes
    return begin, torch.cat(parts, dim=1)


def large_graph(nodes=9000, edges=20_000):
    """One graph that is too large for a closed piece."""
    return nodes, torch.randint(0, nodes, (2, edges), generator=torch.Generator().manual_seed(4))


def hub(sources, edges=70_000):
    """A target with more than 65,536 edges, and two with one."""
    source = torch.arange(edges) % sources
    return sources, torch.cat([torch.stack([source, torch.zeros_like(source)]),
                               torch.stack([torch.arange(2), torch.arange(1, 3)])], dim=1)


GRAPHS = {
    "no nodes": lambda: (0, torch.empty(2, 0, dtype=torch.long)),
    "one node": lambda: (1, torch.empty(2, 0, dtype=torch.long)),
    "no edges": lambda: (5, torch.empty(2, 0, dtype=torch.long)),
    "only self-loops": lambda: (3, torch.tensor([[0, 1, 1], [0, 1, 1]])),
    "mixed": mixed,
    "closed pieces": small_graphs,
    "many closed pieces": lambda: small_graphs(700),
    "one large graph": large_graph,
    "hub in a piece": lambda: hub(500),
    "hub in a large graph": lambda: hub(70_000),
}


def random_inputs(nodes, edges, features, edge_dim, dtype=torch.float64):
    """x, and edge_attr or None."""
    generator = torch.Generator().manual_seed(5)
    x = torch.randn(nodes, features, dtype=dtype, generator=generator)
    return x, torch.randn(edges, edge_dim, dtype=dtype, generator=generator) if edge_dim else None


def random_weights(conv, targets, rows, dtype=torch.float64):
    """What out and alpha are multiplied with to give a loss."""
    generator = torch.Generator().manual_seed(6)
    width = conv.out_channels * (conv.heads if conv.concat else 1)
    return (torch.randn(targets, width, dtype=dtype, generator=generator),
            torch.randn(rows, conv.heads, dtype=dtype, generator=generator))


def alpha_rows(conv, edge_index, loops):
    kept = int((edge_index[0] != edge_index[1]).sum())
    return kept + loops if conv.add_self_loops else edge_index.shape[1]


def errors(found, expected):
    """{name: error by norm}; a tensor that should be near 0 counts as having numbers of 0.01."""
    assert found.keys() == expected.keys()
    result = {}
    for name, value in expected.items():
        assert found[name].shape == value.shape, name
        if value.numel():
            least = 0.01 * value.numel()**0.5
            result[name] = float((found[name].double() - value).norm() / max(float(value.norm()), least))
    return result


def assert_close(found, expected, tolerance):
    limit = lambda name: tolerance["gradients" if name.startswith("grad.") else "values"]  # noqa: E731
    wrong = {name: error for name, error in errors(found, expected).items() if not error <= limit(name)}
    assert not wrong, f"errors above {tolerance}: {wrong}"


def compare(kind, graph, channels, edge_dim=None, bipartite=False, keep_projection=True, float32=FLOAT32, **how):
    """Values and all gradients of one layer on one graph, in float64 and in float32."""
    nodes, edge_index = graph
    features, targets = 6, nodes
    if bipartite:
        features, targets = (6, 4), nodes // 2
        edge_index = edge_index[:, edge_index[1] < targets]
    for dtype, tolerance in ((torch.float64, FLOAT64), (torch.float32, float32)):
        conv = make_conv(kind, features, channels, dtype, edge_dim=edge_dim, **how)
        x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, edge_dim, dtype)
        if bipartite:
            x = x, random_inputs(targets, 0, 4, None, dtype)[0]
        weights = random_weights(conv, targets, alpha_rows(conv, edge_index, targets), dtype)
        found = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, keep_projection=keep_projection)
        double = lambda value: value if value is None else value.double()  # noqa: E731
        expected = evaluate(run_pyg, copy.deepcopy(conv).double(), tuple(map(double, x)) if bipartite else x.double(),
                            edge_index, double(edge_attr), [weight.double() for weight in weights])
        assert all(value.dtype == dtype for value in found.values())
        assert_close(found, expected, tolerance)


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


OPTIONS = {
    "no self-loops": {"add_self_loops": False},
    "fill 0": {"fill_value": 0.0},
    "fill 2.5": {"fill_value": 2.5},
    "mean of heads": {"concat": False},
    "mean of heads without bias": {"concat": False, "bias": False},
    "no bias": {"bias": False},
    "slope": {"negative_slope": 0.05},
}


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


# What torch asks of an operator.


def small_arguments(kind, dropout=0.0, keep_projection=True, bipartite=False):
    """The arguments of an operator, tensors that require gradients where they can."""
    captured = []
    nodes, edge_index = 6, torch.tensor([[0, 1, 2, 2, 4, 4, 3], [1, 0, 1, 2, 0, 0, 1]])
    features = (3, 2) if bipartite else 3
    conv = make_conv(kind, features, 3, heads=2, edge_dim=2)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 3, 2)
    if bipartite:
        x = x, random_inputs(3, 0, 2, None)[0]
    operator = getattr(torch.ops.plimsoll, kind)

    class Capture(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            if function is operator.default:
                captured.extend(arguments)
            return function(*arguments, **(keywords or {}))

    with torch.no_grad(), Capture():
        LAYERS[kind].run(conv, x, edge_index, edge_attr, dropout=dropout, keep_projection=keep_projection,
                         seed=torch.tensor([3, 1, 2]) if dropout else None)
    return tuple(value.detach().clone().requires_grad_(value.is_floating_point())
                 if isinstance(value, torch.Tensor) else value for value in captured)


def differentiable(kind, arguments):
    """The operator as a function of its tensors alone, and these."""
    at = [i for i, value in enumerate(arguments) if isinstance(value, torch.Tensor) and value.requires_grad]

    def function(*tensors):
        given = list(arguments)
        for i, tensor in zip(at, tensors):
            given[i] = tensor
        return getattr(torch.ops.plimsoll, kind)(*given)[:2]

    return function, tuple(arguments[i] for i in at)


@both_kinds
@pytest.mark.parametrize("how", [{}, {"dropout": 0.4}, {"keep_projection": False}, {"bipartite": True}], ids=str)
def test_gradcheck(kind, how):
    assert torch.autograd.gradcheck(*differentiable(kind, small_arguments(kind, **how)))


@both_kinds
def test_second_derivatives_are_refused(kind):
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.gradgradcheck(*differentiable(kind, small_arguments(kind)))


@both_kinds
def test_second_derivatives_of_a_sum_are_refused(kind):
    """The gradient that comes in does not require one itself here."""
    function, tensors = differentiable(kind, small_arguments(kind))
    gradient = torch.autograd.grad(function(*tensors)[0].sum(), tensors[0], create_graph=True)[0]
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(gradient.square().sum() + tensors[0].sum(), tensors[0])


OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@both_kinds
@pytest.mark.parametrize("how", [{}, {"dropout": 0.4}, {"keep_projection": False}, {"bipartite": True}], ids=str)
def test_opcheck(kind, how):
    torch.library.opcheck(getattr(torch.ops.plimsoll, kind).default, small_arguments(kind, **how), test_utils=OPCHECKS)


def test_opcheck_of_edge_order():
    for same_nodes, drop_loops in ((True, True), (False, False)):
        torch.library.opcheck(torch.ops.plimsoll.edge_order.default, (mixed()[1], 24, 24, same_nodes, drop_loops),
                              test_utils=OPCHECKS)


@both_kinds
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_gives_the_numbers_of_eager(kind, backend):
    if backend == "inductor" and not os.environ.get("PLIMSOLL_SLOW"):
        pytest.skip("compiles C++ (set PLIMSOLL_SLOW=1)")

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = make_conv(kind, 6, 8, heads=2, edge_dim=3)

        def forward(self, x, edge_index, edge_attr):
            return LAYERS[kind].run(self.conv, x, edge_index, edge_attr)[0].relu().mean()

    module = Module()
    compiled = torch.compile(module, fullgraph=True, backend=backend, dynamic=True)
    for graph in (mixed, small_graphs):
        nodes, edge_index = graph()
        x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
        results = []
        for run in (module, compiled):
            leaf = x.clone().requires_grad_()
            loss = run(leaf, edge_index, edge_attr)
            results.append([loss, *torch.autograd.grad(loss, [leaf, *module.parameters()])])
        for eager, found in zip(*results):
            torch.testing.assert_close(found, eager, rtol=1e-12, atol=1e-14)


@both_kinds
def test_inference_mode(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 4, heads=2)
    x = random_inputs(nodes, 0, 6, None)[0]
    expected = LAYERS[kind].run(conv, x, edge_index)[0]
    with torch.inference_mode():
        assert torch.equal(LAYERS[kind].run(conv, x, edge_index)[0], expected)


@both_kinds
def test_inputs_that_change_before_backward_are_noticed(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 4, heads=2)
    x = random_inputs(nodes, 0, 6, None)[0]
    out = LAYERS[kind].run(conv, x, edge_index)[0]
    x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


# Dropout.


def dropout_of(p, seed=11, layer=1, epoch=2, keys=None):
    return {"dropout": p, "seed": torch.tensor([seed, layer, epoch]), "keys": keys}


@both_kinds
def test_dropout_of_nothing(kind):
    nodes, edge_index = small_graphs()
    conv = make_conv(kind, 6, 4, heads=3)
    x = random_inputs(nodes, 0, 6, None)[0]
    plain, none = (LAYERS[kind].run(conv, x, edge_index, **how) for how in ({}, dropout_of(0.0)))
    assert all(torch.equal(a, b) for a, b in zip(plain, none))


@both_kinds
@pytest.mark.parametrize("loops", [False, True])
def test_dropout_drops_the_share_asked_for_and_scales_the_rest(kind, loops):
    p = 0.3
    nodes, edge_index = small_graphs(10)
    conv = make_conv(kind, 6, 4, heads=3, add_self_loops=loops)
    x = random_inputs(nodes, 0, 6, None)[0]
    out, alpha = LAYERS[kind].run(conv, x, edge_index)
    draws, dropped, total = 100, torch.zeros_like(alpha), torch.zeros_like(out)
    for seed in range(draws):
        out_seed, alpha_seed = LAYERS[kind].run(conv, x, edge_index, **dropout_of(p, seed))
        kept = alpha_seed != 0
        torch.testing.assert_close(alpha_seed[kept], alpha[kept] / (1 - p))
        dropped += ~kept
        total += out_seed
    # Five standard deviations of the share of all; of one edge's six, since there are many.
    assert abs(float(dropped.mean()) / draws - p) < 5 * (p * (1 - p) / dropped.numel() / draws)**0.5
    assert (dropped / draws - p).abs().max() < 6 * (p * (1 - p) / draws)**0.5
    assert (total / draws - out).norm() < 1.2 * (p / (1 - p) / draws)**0.5 * out.norm()


@both_kinds
def test_every_key_of_dropout_matters(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 4, heads=3)
    x = random_inputs(nodes, 0, 6, None)[0]
    zeros = torch.zeros(3, nodes, dtype=torch.long)
    local = torch.stack([zeros[0], torch.arange(nodes), zeros[0]])
    dropped = {name: LAYERS[kind].run(conv, x, edge_index, **dropout_of(0.5, **how))[1] == 0 for name, how in {
        "": {}, "seed": {"seed": 12}, "layer": {"layer": 2}, "epoch": {"epoch": 3},
        "item": {"keys": local + torch.tensor([[1], [0], [0]])},
        "local": {"keys": local + torch.tensor([[0], [40], [0]])},
        "first edge": {"keys": local - torch.tensor([[0], [0], [100]])}}.items()}
    for a in dropped:
        for b in dropped:
            assert a == b or not torch.equal(dropped[a], dropped[b]), (a, b)
    # Without keys there is one graph, item 0.
    assert torch.equal(dropped[""], LAYERS[kind].run(conv, x, edge_index, **dropout_of(0.5, keys=local))[1] == 0)


@both_kinds
@pytest.mark.parametrize("edge_dim", [None, 3])
def test_dropout_does_not_depend_on_the_cut_of_a_batch(kind, edge_dim):
    """A batch whose edges stand graph by graph, and each of its graphs alone: the same weights drop out."""
    nodes, edge_index = small_graphs(60)
    conv = make_conv(kind, 6, 8, torch.float32, heads=5, edge_dim=edge_dim)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, edge_dim, torch.float32)
    n = e = 0
    batch_keys, outs, edges, loops = [], [], [], []
    for graph, (size, graph_edges) in enumerate(small_graph_list(60)):
        m, f = n + size, e + graph_edges.shape[1]
        keys = torch.stack([torch.full((size,), 100 + graph), torch.arange(size), torch.zeros(size, dtype=torch.long)])
        out, alpha = LAYERS[kind].run(conv, x[n:m], graph_edges, None if edge_attr is None else edge_attr[e:f],
                                      **dropout_of(0.4, keys=keys))
        batch_keys.append(keys + torch.tensor([[0], [0], [e]]))
        outs.append(out)
        edges.append(alpha[:-size])
        loops.append(alpha[-size:])
        n, e = m, f
    out, alpha = LAYERS[kind].run(conv, x, edge_index, edge_attr,
                                  **dropout_of(0.4, keys=torch.cat(batch_keys, dim=1)))
    alone = torch.cat(edges + loops)  # in PyTorch Geometric's order self-loops of all graphs stand last
    assert torch.equal(alpha == 0, alone == 0) and 0.3 < float((alpha == 0).float().mean()) < 0.5
    torch.testing.assert_close(alpha, alone)
    torch.testing.assert_close(out, torch.cat(outs))


@both_kinds
@pytest.mark.parametrize("graph", [mixed, small_graphs, large_graph])
def test_gradients_with_dropout(kind, graph, monkeypatch):
    """PyTorch Geometric's layer with the weights dropped that were dropped here."""
    p = 0.3
    nodes, edge_index = graph()
    conv = make_conv(kind, 6, 8, heads=4, edge_dim=5)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 5)
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes))
    found = evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, **dropout_of(p))
    factor = (found["alpha"] != 0).double() / (1 - p)
    monkeypatch.setattr(torch.nn.functional, "dropout", lambda alpha, p, training: factor * alpha)
    assert_close(found, evaluate(run_pyg, conv, x, edge_index, edge_attr, weights), FLOAT64)


# Bits.


def results_by_threads(threads, kind, graph, conv, keep_projection):
    """What evaluate() gives, for 1 to 4 threads."""
    nodes, edge_index = graph
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], conv.in_channels, conv.edge_dim, torch.float32)
    weights = random_weights(conv, nodes, alpha_rows(conv, edge_index, nodes), torch.float32)
    for number in (1, 2, 3, 4):
        threads(number)
        yield evaluate(LAYERS[kind].run, conv, x, edge_index, edge_attr, weights, **dropout_of(0.2),
                       keep_projection=keep_projection)


def assert_same_bits(results):
    first, *others = results
    differing = [(number, name) for number, other in enumerate(others, 2) for name, value in other.items()
                 if not torch.equal(value, first[name])]
    assert not differing, "(threads, tensor) that differ from one thread"


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("graphs", [20, 150, 800])
def test_closed_pieces_have_the_same_bits_for_any_number_of_threads(kind, graphs, keep_projection, threads):
    """Numbers of columns that vectors do not divide: a BLAS may cut them by its number of threads."""
    conv = make_conv(kind, 37, 33, torch.float32, heads=3, edge_dim=3)
    assert_same_bits(results_by_threads(threads, kind, small_graphs(graphs), conv, keep_projection))


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
def test_one_large_graph_has_the_same_bits_for_any_number_of_threads(kind, keep_projection, threads):
    conv = make_conv(kind, 37, 33, torch.float32, heads=3, edge_dim=3)
    assert_same_bits(results_by_threads(threads, kind, large_graph(), conv, keep_projection))


# Levels of the processor's instructions.


def python_with_level(level, *arguments):
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PLIMSOLL_SIMD": level, "OMP_NUM_THREADS": "1"})


CALL = """
import sys, torch
torch.ops.load_library(sys.argv[1])
order = torch.ops.plimsoll.edge_order(torch.tensor([[0], [1]]), 2, 2, True, True)
one = torch.ones(1, 1)
torch.ops.plimsoll.gat(torch.ones(2, 1), one, one, one, None, order, None, None, None, None, None, 1, 0.2, True,
                       "mean", 0.0, 0.0, True, False)
"""


@pytest.mark.parametrize("level", ["portable", "avx2"])
def test_same_as_pyg_at_level(level, bin_dir):
    done = python_with_level(level, "-c", CALL, library_path(bin_dir))
    if "this processor has no more than" in done.stderr:
        pytest.skip(f"this processor lacks {level}")
    assert done.returncode == 0, done.stderr
    done = python_with_level(level, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k",
                             "for_sizes and 11 or for_options and large or with_dropout")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout


def test_unknown_level(bin_dir):
    done = python_with_level("sse9", "-c", CALL, library_path(bin_dir))
    assert done.returncode != 0 and "RuntimeError: PLIMSOLL_SIMD='sse9' is not" in done.stderr


# Bad input.


def path_order():
    return torch.ops.plimsoll.edge_order(torch.tensor([[0, 1, 2], [1, 2, 3]]), 4, 4, True, True)


COMMON_ARGUMENTS = {"seed": None, "keys": None, "heads": 2, "slope": 0.2, "loops": True, "fill": "mean",
                    "fill_value": 0.0, "dropout": 0.0, "keep_projection": True, "return_attention": True}


def gat_arguments(**other):
    """Arguments of torch.ops.plimsoll.gat by name: 4 nodes, 3 edges, F = 5, H = 2, D = 3, K = 2."""
    return {"x": torch.ones(4, 5), "weight": torch.ones(6, 5), "att_source": torch.ones(2, 3),
            "att_target": torch.ones(2, 3), "target_score": None, "order": path_order(),
            "edge_attr": torch.ones(3, 2), "q": torch.ones(2, 2), "bias": torch.ones(6), **COMMON_ARGUMENTS, **other}


def gatv2_arguments(**other):
    """The same of torch.ops.plimsoll.gatv2."""
    return {"x": torch.ones(4, 5), "weight": torch.ones(6, 5), "weight_bias": torch.ones(6), "x_target": None,
            "target_weight": torch.ones(6, 5), "target_bias": torch.ones(6), "att": torch.ones(2, 3),
            "order": path_order(), "edge_attr": torch.ones(3, 2), "edge_weight": torch.ones(2, 6),
            "bias": torch.ones(6), **COMMON_ARGUMENTS, **other}


def test_arguments_of_the_bad_input_tests_are_good():
    for operator, arguments in ((torch.ops.plimsoll.gat, gat_arguments()),
                                (torch.ops.plimsoll.gatv2, gatv2_arguments())):
        out, alpha, *_ = operator(**arguments)
        assert out.shape == (4, 6) and alpha.shape == (7, 2)


def order_of(edges, nodes):
    return torch.ops.plimsoll.edge_order(torch.zeros(2, edges, dtype=torch.long), nodes, nodes, True, False)


BAD = {
    "x is a vector": (lambda: {"x": torch.ones(4)}, r"x f32 or f64 \[S, F\]"),
    "x i64": (lambda: {"x": torch.ones(4, 5, dtype=torch.long)}, r"x f32 or f64 \[S, F\].*Long"),
    "x f16": (lambda: {"x": torch.ones(4, 5).half()}, r"x f32 or f64 \[S, F\]"),
    "x has other features": (lambda: {"x": torch.ones(4, 6)}, r"weight \[H\*D, F\]"),
    "x has other nodes": (lambda: {"x": torch.ones(5, 5)}, r"order|edge_attr"),
    "weight f64": (lambda: {"weight": torch.ones(6, 5).double()}, r"weight \[H\*D, F\] of x's dtype"),
    "weight has other heads": (lambda: {"heads": 4}, r"weight \[H\*D, F\] with the number of heads"),
    "no heads": (lambda: {"heads": 0}, r"number of heads"),
    "heads below 0": (lambda: {"heads": -2}, r"number of heads"),
    "att_source of other heads": (lambda: {"att_source": torch.ones(3, 2)}, r"att_source \[H, D\]"),
    "att_target of other heads": (lambda: {"att_target": torch.ones(3, 2)}, r"att_target \[H, D\]"),
    "no att_target": (lambda: {"att_target": None}, r"att_target, or target_score \[T, H\].*none"),
    "target_score is a vector": (lambda: {"att_target": None, "target_score": torch.ones(4)}, r"target_score"),
    "target_score of other targets": (lambda: {"att_target": None, "target_score": torch.ones(3, 2)},
                                    r"order|edge_attr"),
    "target_score of other heads": (lambda: {"att_target": None, "target_score": torch.ones(4, 3)},
                                    r"target_score \[T, H\]"),
    "edge_attr of other edges": (lambda: {"edge_attr": torch.ones(4, 2)}, r"edge_attr \[E, K\]"),
    "edge_attr of other features": (lambda: {"edge_attr": torch.ones(3, 1)}, r"edge_attr \[E, K\]"),
    "edge_attr f64": (lambda: {"edge_attr": torch.ones(3, 2).double()}, r"edge_attr \[E, K\] of x's dtype"),
    "q without edge_attr": (lambda: {"edge_attr": None}, r"edge_attr \[E, K\].*none"),
    "edge_attr without q": (lambda: {"q": None}, r"edge_attr"),
    "q of other heads": (lambda: {"q": torch.ones(2, 3)}, r"q \[K, H\]"),
    "bias of other channels": (lambda: {"bias": torch.ones(5)}, r"bias \[H\*D\]"),
    "order i64": (lambda: {"order": path_order().long()}, r"order i32"),
    "order of more edges": (lambda: {"order": order_of(5, 4)}, r"edge_attr \[E, K\]"),
    "order of other nodes": (lambda: {"order": order_of(4, 3)}, r"order"),
    "order with its end cut off": (lambda: {"order": path_order()[:-2]}, r"edge_attr|order"),
    "order of nothing": (lambda: {"order": torch.empty(0, dtype=torch.int32)}, r"order i32"),
    "order of noughts": (lambda: {"order": torch.zeros_like(path_order())}, r"edge_order\(\)"),
    "order that is strided": (lambda: {"order": path_order().repeat_interleave(2)[::2]}, r"order"),
    "unknown fill": (lambda: {"fill": "max"}, r"fill 'max' is not"),
    "dropout of all": (lambda: {"dropout": 1.0, "seed": torch.zeros(3, dtype=torch.long)}, r"dropout must lie in"),
    "dropout below 0": (lambda: {"dropout": -0.1, "seed": torch.zeros(3, dtype=torch.long)}, r"dropout must lie in"),
    "dropout is no number": (lambda: {"dropout": float("nan")}, r"dropout must lie in"),
    "dropout without seed": (lambda: {"dropout": 0.5}, r"seed i64 \[3\].*none"),
    "seed too short": (lambda: {"dropout": 0.5, "seed": torch.zeros(2, dtype=torch.long)}, r"seed i64 \[3\]"),
    "seed i32": (lambda: {"dropout": 0.5, "seed": torch.zeros(3, dtype=torch.int32)}, r"seed i64 \[3\]"),
    "keys of other targets": (lambda: {"keys": torch.zeros(3, 5, dtype=torch.long)}, r"keys i64 \[3, T\]"),
    "keys i32": (lambda: {"keys": torch.zeros(3, 4, dtype=torch.int32)}, r"keys i64 \[3, T\]"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_error(name):
    other, text = BAD[name]
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.gat(**gat_arguments(**other()))


BAD_GATV2 = {
    "att of other heads": ({"att": torch.ones(3, 2)}, r"att \[H, D\]"),
    "weight_bias of other channels": ({"weight_bias": torch.ones(5)}, r"weight_bias \[H\*D\]"),
    "target_weight of other features": ({"target_weight": torch.ones(6, 4)}, r"target_weight \[H\*D, F\]"),
    "target_weight of other channels": ({"target_weight": torch.ones(5, 5)}, r"target_weight \[H\*D, F\]"),
    "target_bias of other channels": ({"target_bias": torch.ones(5)}, r"target_bias \[H\*D\]"),
    "target_bias alone": ({"target_weight": None}, r"target_weight"),
    "x_target without target_weight": ({"x_target": torch.ones(4, 5), "target_weight": None, "target_bias": None},
                                       r"target_weight where targets"),
    "x_target is a vector": ({"x_target": torch.ones(4)}, r"x_target \[T, F2\]"),
    "x_target f64": ({"x_target": torch.ones(4, 5).double()}, r"dtype"),
    "x_target of other targets": ({"x_target": torch.ones(3, 5)}, r"order|edge_attr"),
    "edge_weight of other channels": ({"edge_weight": torch.ones(2, 5)}, r"edge_weight \[K, H\*D\]"),
    "edge_attr of other features": ({"edge_attr": torch.ones(3, 1)}, r"edge_attr \[E, K\]"),
    "edge_weight without edge_attr": ({"edge_attr": None}, r"edge_attr \[E, K\].*none"),
    "edge_attr without edge_weight": ({"edge_weight": None}, r"edge_attr"),
}


@pytest.mark.parametrize("name", BAD_GATV2)
def test_bad_input_of_gatv2_is_an_error(name):
    other, text = BAD_GATV2[name]
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.gatv2(**gatv2_arguments(**other))


def test_an_order_of_other_sources_is_an_error():
    order = torch.ops.plimsoll.edge_order(torch.tensor([[90, 1], [0, 1]]), 100, 4, False, False)
    with pytest.raises(RuntimeError, match="order"):
        torch.ops.plimsoll.gat(**gat_arguments(order=order, edge_attr=None, q=None, att_target=None,
                                               target_score=torch.ones(4, 2), loops=False))


@both_kinds
def test_bad_gradients_are_an_error(kind):
    """The operators of backward may be called by anyone."""
    given = gat_arguments() if kind == "gat" else gatv2_arguments()
    _, _, *saved = getattr(torch.ops.plimsoll, kind)(**given)
    grad = torch.ones(4, 6)

    def call(grad_out=grad, grad_alpha=None, saved=saved):
        backward = getattr(torch.ops.plimsoll, f"{kind}_backward")
        return backward(grad_out, grad_alpha, *given.values(), *saved, True, True)

    call()
    for wrong in (torch.ones(3, 6), torch.ones(4, 5), grad.double()):
        with pytest.raises(RuntimeError, match="expected"):
            call(grad_out=wrong)
    with pytest.raises(RuntimeError, match="expected"):
        call(grad_alpha=torch.ones(3, 2))
    for i in range(len(saved)):
        with pytest.raises(RuntimeError, match="expected"):
            call(saved=[*saved[:i], torch.ones(1, 1), *saved[i + 1:]])


@pytest.mark.parametrize("edges, sources, targets, same_nodes, text", [
    ([[0, 4], [1, 2]], 4, 4, True, "edge 1 goes from node 4 to node 2, expected below 4 and 4"),
    ([[0, 1], [1, -1]], 4, 4, True, "edge 1 goes from node 1 to node -1, expected below 4 and 4"),
    ([[0, 3], [1, 3]], 4, 3, False, "edge 1 goes from node 3 to node 3, expected below 4 and 3"),
    ([[0], [0]], 0, 0, True, "expected below 0 and 0"),
    ([[0], [0]], 4, 3, True, "4 sources and 3 targets cannot be the same nodes"),
    ([[0], [0]], -1, -1, True, "-1 sources and -1 targets"),
    ([0, 1], 4, 4, True, r"edge_index i64 \[2, E\], found Long of shape \[2\]"),
    ([[0, 1], [1, 0], [0, 0]], 4, 4, True, r"edge_index i64 \[2, E\], found Long of shape \[3, 2\]"),
    ([[0.0], [1.0]], 4, 4, True, r"edge_index i64 \[2, E\], found Float of shape \[2, 1\]"),
    ([[0], [0]], 2**31, 2**31, True, "attention counts up to"),
])
def test_bad_edges_are_an_error(edges, sources, targets, same_nodes, text):
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.edge_order(torch.tensor(edges), sources, targets, same_nodes, False)


# Memory.


def bytes_saved(function, inputs):
    """The bytes that the graph behind function() keeps beyond its inputs, each storage once."""
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = function()
    known = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    return sum(size for address, size in kept.items() if address not in known), result


def allocations(function):
    """What function() allocates (above 0) and gives back, in bytes, in order. Threads of its own are not seen."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        result = function()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    return [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())], result


MEMORY_GRAPHS = {"closed pieces": lambda: small_graphs(150), "one large graph": large_graph}


@both_kinds
@pytest.mark.parametrize("keep_projection", [True, False])
@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("name", MEMORY_GRAPHS)
def test_memory(kind, name, attention, keep_projection):
    """float32; N nodes, E edges (with self-loops more), H heads of D channels."""
    nodes, edge_index = MEMORY_GRAPHS[name]()
    heads, channels, features, edge_features = 8, 32, 24, 11
    conv = make_conv(kind, features, channels, torch.float32, heads=heads, edge_dim=edge_features)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], features, edge_features, torch.float32)
    inputs = [x.requires_grad_(), edge_attr.requires_grad_(), edge_order(conv, edge_index, x), *conv.parameters()]

    def forward():
        return LAYERS[kind].run(conv, x, edge_index, edge_attr, order=inputs[2], keep_projection=keep_projection,
                                attention=attention)

    rows = edge_index.shape[1] + nodes
    n_h, n_hd, e_h, e_hd = (4 * count * width for count in (nodes, rows) for width in (heads, heads * channels))
    weights = sum(4 * parameter.numel() for parameter in conv.parameters())
    projections = 1 if kind == "gat" else 2

    saved, _ = bytes_saved(forward, inputs)
    scores = (4 if kind == "gat" else 2) * n_h
    assert scores <= saved <= (projections * n_hd if keep_projection else 0) + scores + 2 * weights

    sizes, (out, alpha) = allocations(forward)
    assert max(sizes) <= max(n_hd, e_h)
    given = torch.ones_like(out)
    # Gradients of x, edge_attr and of weights: each group of pieces adds up its own.
    results = 4 * x.numel() + 4 * edge_attr.numel() + 3 * weights
    if name == "closed pieces":  # z and its gradient, of one piece at a time
        scratch = 2 * projections * 4 * 600 * heads * channels + 2 * n_h
    else:  # the gradient of z, and z again; two numbers handed from targets to sources; the edges by source
        scratch = projections * n_hd * (1 if keep_projection else 2) + 2 * e_h + 2 * n_h + 12 * rows
    sizes, _ = allocations(lambda: out.backward(given))
    assert max(sizes) < e_hd / 2
    assert max(np.cumsum(sizes)) <= results + scratch


@both_kinds
@pytest.mark.parametrize("graph", [small_graphs, large_graph])
def test_backward_makes_no_gradient_that_nobody_asks_for(kind, graph):
    nodes, edge_index = graph()
    conv = make_conv(kind, 24, 8, torch.float32, heads=4, edge_dim=11)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 24, 11, torch.float32)
    for wanted in (False, True):
        out, _ = LAYERS[kind].run(conv, x.requires_grad_(wanted), edge_index, edge_attr.requires_grad_(wanted))
        given = torch.ones_like(out)
        sizes, _ = allocations(lambda: out.backward(given))  # noqa: B023
        assert (4 * x.numel() in sizes, 4 * edge_attr.numel() in sizes) == (wanted, wanted)


# Training.


class Model(torch.nn.Module):
    """Two layers of attention with edge features, the mean of each graph, a verdict."""

    def __init__(self, kind, run, num_ids, features, edge_features):
        super().__init__()
        torch.manual_seed(8)
        self.run = run
        self.embedding = torch.nn.Embedding(num_ids, 8)
        layer = functools.partial(LAYERS[kind].pyg, heads=4, edge_dim=edge_features)
        self.convs = torch.nn.ModuleList([layer(features + 7, 8), layer(32, 8)])
        self.head = torch.nn.Linear(32, 2)

    def forward(self, x, edge_index, edge_attr, batch):
        h = torch.cat([self.embedding(x[:, 0].long()), x[:, 1:]], dim=1)
        for conv in self.convs:
            h = self.run(conv, h, edge_index, edge_attr)[0].relu()
        return self.head(global_mean_pool(h, batch))


def read_windows(folder, graphs):
    """The first windows of a graph set as one block, columns scaled."""
    names = ("node_ptr", "edge_ptr", "x", "edges", "edge_attr", "y")
    node_ptr, edge_ptr, x, edges, edge_attr, y = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)
    offset = np.repeat(node_ptr[:graphs], np.diff(edge_ptr[:graphs + 1]))
    batch = np.repeat(np.arange(graphs), np.diff(node_ptr[:graphs + 1]))
    x, edge_attr = np.array(x[:node_ptr[graphs]]), np.array(edge_attr[:edge_ptr[graphs]])
    for columns in (x[:, 1:], edge_attr):
        columns -= columns.mean(0)
        columns /= columns.std(0) + 1e-6
    edge_index = (edges[:edge_ptr[graphs]] + offset[:, None]).T.astype(np.int64)
    return [torch.from_numpy(np.array(array)) for array in (x, edge_index, edge_attr, batch, y[:graphs].astype(int))]


@pytest.fixture(scope="module")
def made_up_windows(compat_windows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_up")
    rows = random_frames(np.random.default_rng(1), 7100, np.arange(0x100, 0x128), 0.3)
    write_capture(folder / "captures" / "train_01" / "random.csv", rows)
    return compat_windows(folder / "captures", folder)


@pytest.fixture(scope="module")
def hcrl_sa_windows(captures, compat_windows, tmp_path_factory):
    return compat_windows(captures("hcrl_sa"), tmp_path_factory.mktemp("hcrl_sa"))


@both_kinds
@pytest.mark.parametrize("windows", ["made_up_windows", "hcrl_sa_windows"])
def test_training_gives_the_same_losses(kind, windows, request):
    x, edge_index, edge_attr, batch, y = read_windows(request.getfixturevalue(windows), 64)
    curves = {}
    for name, run in (("pyg", run_pyg), ("plimsoll", LAYERS[kind].run)):
        model = Model(kind, run, int(x[:, 0].max()) + 1, x.shape[1], edge_attr.shape[1])
        adam = torch.optim.Adam(model.parameters(), lr=3e-3)
        curves[name] = []
        for _ in range(20):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x, edge_index, edge_attr, batch), y)
            loss.backward()
            adam.step()
            curves[name].append(float(loss))
    assert curves["pyg"][-1] < 0.95 * curves["pyg"][0]
    assert curves["plimsoll"] == pytest.approx(curves["pyg"], rel=1e-4)
