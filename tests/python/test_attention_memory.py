"""What attention keeps for backward and allocates."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import both_kinds, large_graph, random_inputs, small_graphs  # noqa: E402
from attention_twin import LAYERS, edge_order, make_conv  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


def bytes_saved(function, inputs):
    """The bytes that the graph of function() keeps beyond its inputs, each storage once."""
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
