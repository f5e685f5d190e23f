"""Graphs, inputs and tolerances that the tests of attention share, and how an operator is compared with its layer."""

import copy

import numpy as np
import pytest
import torch
from attention_twin import LAYERS, evaluate, make_conv, run_pyg

# Largest error of a tensor, by norm. float32 is compared with PyTorch Geometric in float64 on the same inputs.
FLOAT64 = {"values": 1e-10, "gradients": 1e-10}
FLOAT32 = {"values": 2e-6, "gradients": 1e-5}
# Gradients of 70,000 scores of one target nearly cancel; PyTorch Geometric itself has errors of 4e-5 there.
HUB_FLOAT32 = {"values": 2e-6, "gradients": 1e-4}
KINDS = list(LAYERS)
both_kinds = pytest.mark.parametrize("kind", KINDS)


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
    """The same one after the other."""
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


# Arguments of the layers.
OPTIONS = {
    "no self-loops": {"add_self_loops": False},
    "fill 0": {"fill_value": 0.0},
    "fill 2.5": {"fill_value": 2.5},
    "mean of heads": {"concat": False},
    "mean of heads without bias": {"concat": False, "bias": False},
    "no bias": {"bias": False},
    "slope": {"negative_slope": 0.05},
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


def assert_close(found, expected, tolerance, peer=None):
    """Errors within the tolerance or, of a number that is a small rest of what cancels, twice those of the peer's numbers.
    A gradient of one number may be such a rest while the peer's is near by luck: three times the tolerance."""
    alone = lambda name: 3 if name.startswith("grad.") and expected[name].numel() == 1 else 1  # noqa: E731
    limit = lambda name: tolerance["gradients" if name.startswith("grad.") else "values"] * alone(name)  # noqa: E731
    peers = errors(peer, expected) if peer else {}
    wrong = {name: error for name, error in errors(found, expected).items()
             if not error <= max(limit(name), 2 * peers.get(name, 0))}
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
        peer = evaluate(run_pyg, conv, x, edge_index, edge_attr, weights) if dtype == torch.float32 else None
        assert_close(found, expected, tolerance, peer)


def dropout_of(p, seed=11, layer=1, epoch=2, keys=None):
    return {"dropout": p, "seed": torch.tensor([seed, layer, epoch]), "keys": keys}
