"""Dropout of attention weights."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import (  # noqa: E402
    FLOAT64, alpha_rows, assert_close, both_kinds, dropout_of, large_graph, mixed, random_inputs, random_weights,
    small_graph_list, small_graphs,
)
from attention_twin import LAYERS, evaluate, make_conv, run_pyg  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


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
