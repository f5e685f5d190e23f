"""Pooling, segment softmax and GraphNorm, forward and backward, on real windows: Plimsoll's operators and PyTorch Geometric's,
interleaved in one process. Prints a markdown table.

    segments.py LIBRARY GRAPH_SET --threads N [--rounds R]
"""

import argparse
from pathlib import Path

import torch
from torch_geometric.nn import GraphNorm, global_add_pool, global_max_pool, global_mean_pool
from torch_geometric.utils import softmax

from attention import timed, windows

FEATURES = 256
HEADS = 8


def sorted_targets(edge_index, nodes):
    """Edges by target, as segments: the target of each, and where those of a target begin."""
    target = edge_index[1].sort().values
    ptr = torch.zeros(nodes + 1, dtype=torch.long)
    ptr[1:] = torch.bincount(target, minlength=nodes).cumsum(0)
    return target, ptr


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("graphs", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    torch.ops.load_library(arguments.library)
    torch.set_num_threads(arguments.threads)
    ops = torch.ops.plimsoll

    edge_index, _, nodes = windows(arguments.graphs)
    target, edge_ptr = sorted_targets(edge_index, nodes)
    per_graph = 29  # about what real windows have
    batch = torch.arange(nodes) // per_graph
    graph_ptr = torch.cat([torch.arange(0, nodes, per_graph), torch.tensor([nodes])])
    x = torch.randn(nodes, FEATURES, requires_grad=True)
    scores = torch.randn(target.numel(), HEADS, requires_grad=True)
    norm = GraphNorm(FEATURES)
    weights = (norm.weight, norm.bias, norm.mean_scale)
    cases = {
        "mean pooling": (lambda: ops.segment_reduce(x, graph_ptr, "mean"), lambda: global_mean_pool(x, batch), [x]),
        "sum pooling": (lambda: ops.segment_reduce(x, graph_ptr, "sum"), lambda: global_add_pool(x, batch), [x]),
        "max pooling": (lambda: ops.segment_reduce(x, graph_ptr, "max"), lambda: global_max_pool(x, batch), [x]),
        "segment softmax": (lambda: ops.segment_softmax(scores, edge_ptr),
                            lambda: softmax(scores, target, num_nodes=nodes), [scores]),
        "GraphNorm": (lambda: ops.graph_norm(x, graph_ptr, *weights, norm.eps)[0], lambda: norm(x, batch), [x, *weights]),
    }
    print(f"{nodes:,} nodes x {FEATURES}, {target.numel():,} edges x {HEADS}, {arguments.threads} threads\n")
    print("| operator | ours ms best / median | PyG ms best / median | PyG / ours |\n|---|---|---|---|")
    for name, (ours, peer, inputs) in cases.items():
        grad = torch.randn_like(ours())
        torch.testing.assert_close(ours(), peer(), rtol=1e-4, atol=1e-5)
        times = {key: [] for key in (ours, peer)}
        for _ in range(arguments.rounds):
            for forward, found in times.items():
                found.append(timed(lambda: torch.autograd.grad(forward(), inputs, grad), "cpu")[0])  # noqa: B023
        (mine, theirs) = (sorted(found) for found in times.values())
        middle = arguments.rounds // 2
        print(f"| {name} | {mine[0] * 1e3:.2f} / {mine[middle] * 1e3:.2f} | {theirs[0] * 1e3:.2f} / {theirs[middle] * 1e3:.2f} "
              f"| {theirs[0] / mine[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
