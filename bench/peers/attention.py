"""One attention layer, forward and backward with all gradients: Plimsoll's operator, PyTorch Geometric's layer, and the
layer's bare matrix products, interleaved in one process. Prints a JSON line a case; bench/attention.py runs it.

    attention.py LIBRARY GRAPH_SET --threads N [--device cuda] [--compile] [--rounds R] [--cases NAME...]

Cases with windows read them from GRAPH_SET; made-up windows and the random graph need none. On a CUDA device times are
those between events, and PyTorch Geometric is measured in bfloat16 too, which Plimsoll's layers do not take there.
"""

import argparse
import copy
import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import torch
from torch_geometric.nn import GATConv, GATv2Conv

WINDOWS = 2000
RECORDING = "train_01_attack_free/attack-free-kia"
CASES = {  # name: kind, graph, input channels, heads, channels
    "gat F=256": ("gat", "windows", 256, 8, 32),
    "gat F=16": ("gat", "windows", 16, 8, 32),
    "gatv2 F=256": ("gatv2", "windows", 256, 8, 32),
    "gatv2 F=16": ("gatv2", "windows", 16, 8, 32),
    "gat 4 x 24, F=96": ("gat", "windows", 96, 4, 24),
    "gat 8 x 48, F=384": ("gat", "windows", 384, 8, 48),
    "gat made-up windows F=256": ("gat", "made up", 256, 8, 32),
    "gat made-up windows F=16": ("gat", "made up", 16, 8, 32),
    "gatv2 made-up windows F=256": ("gatv2", "made up", 256, 8, 32),
    "gat random graph": ("gat", "random", 256, 8, 32),
    "gatv2 random graph": ("gatv2", "random", 256, 8, 32),
    "gat Tolokers": ("gat", "tolokers", 256, 8, 32),
}


def windows(folder):
    """The first windows of one recording as one batch: edge_index, edge_attr, nodes."""
    manifest = json.loads((folder / "manifest.json").read_text())
    named = [r for r in manifest["recordings"] if f"{r['split']}/{r['name']}" == RECORDING]
    first = (named or manifest["recordings"])[0]["first_graph"]
    names = ("node_ptr", "edge_ptr", "edges", "edge_attr")
    node_ptr, edge_ptr, edges, edge_attr = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)
    last = min(first + WINDOWS, node_ptr.size - 1)
    rows = slice(int(edge_ptr[first]), int(edge_ptr[last]))
    offset = np.repeat(node_ptr[first:last] - node_ptr[first], np.diff(edge_ptr[first:last + 1]))
    index = (edges[rows] + offset[:, None]).T.astype(np.int64)
    return (torch.from_numpy(np.ascontiguousarray(index)), torch.from_numpy(np.array(edge_attr[rows])),
            int(node_ptr[last] - node_ptr[first]))


def random_graph(nodes=50_000, edges=1_000_000):
    return torch.randint(0, nodes, (2, edges)), torch.randn(edges, 11), nodes


def tolokers():
    """graph-tolokers beside the checkout, or in PLIMSOLL_DATA: both directions of each edge, made-up edge features."""
    folder = Path(os.environ.get("PLIMSOLL_DATA", Path(__file__).parents[3] / "shared" / "data")) / "graph-tolokers"
    text = subprocess.run(["zstd", "-dc", folder / "edges.tsv.zst"], check=True, stdout=subprocess.PIPE).stdout
    edges = torch.from_numpy(np.fromstring(text.decode(), dtype=np.int64, sep=" ").reshape(-1, 2)).t()
    index = torch.cat([edges, edges.flip(0)], 1).contiguous()
    return index, torch.randn(index.size(1), 11), int(index.max()) + 1


def made_up_windows(graphs=WINDOWS, nodes=30, edges=60):
    """A batch of the size of real windows: 60,000 nodes, 120,000 edges."""
    first = (torch.arange(graphs) * nodes).repeat_interleave(edges)
    return torch.randint(0, nodes, (2, graphs * edges)) + first, torch.randn(graphs * edges, 11), graphs * nodes


def edge_order(x, edge_index):
    return torch.ops.plimsoll.edge_order(edge_index, x.size(0), x.size(0), True, True)


def gat(layer, x, edge_index, edge_attr, keep, order=None):
    heads, channels = layer.heads, layer.out_channels
    order = edge_order(x, edge_index) if order is None else order
    q = (layer.lin_edge.weight.view(heads, channels, -1) * layer.att_edge.view(heads, channels, 1)).sum(1).t()
    return torch.ops.plimsoll.gat(
        x, layer.lin.weight, layer.att_src.view(heads, channels), layer.att_dst.view(heads, channels), None, order,
        edge_attr, q, layer.bias, None, None, heads, 0.2, True, "mean", 0.0, 0.0, keep, False)[0]


def gatv2(layer, x, edge_index, edge_attr, keep, order=None):
    heads, channels = layer.heads, layer.out_channels
    order = edge_order(x, edge_index) if order is None else order
    return torch.ops.plimsoll.gatv2(
        x, layer.lin_l.weight, layer.lin_l.bias, None, layer.lin_r.weight, layer.lin_r.bias,
        layer.att.view(heads, channels), order, edge_attr, layer.lin_edge.weight.t(), layer.bias, None, None, heads,
        0.2, True, "mean", 0.0, 0.0, keep, False)[0]


def timed(work, device):
    if device == "cuda":
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        cpu = time.process_time()
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3, time.process_time() - cpu
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def peak_bytes(work, device):
    """Most bytes of torch's allocator during the work, above those before it."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        work()
        return torch.cuda.max_memory_allocated() - before
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        work()
    held = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def measure(name, graphs, arguments):
    kind, graph, features, heads, channels = CASES[name]
    device = arguments.device
    edge_index, edge_attr, nodes = graphs[graph]
    edge_index, edge_attr = edge_index.to(device), edge_attr.to(device)
    torch.manual_seed(0)
    layer = {"gat": GATConv, "gatv2": GATv2Conv}[kind](features, channels, heads=heads, edge_dim=edge_attr.size(1))
    layer = layer.to(device)
    x = torch.randn(nodes, features).to(device).requires_grad_()
    grad = torch.randn(nodes, heads * channels).to(device)
    inputs = [x, *layer.parameters()]
    weight, bare = torch.randn(heads * channels, features).to(device), x.detach()
    operator = {"gat": gat, "gatv2": gatv2}[kind]

    def products():
        for _ in range(2 if kind == "gatv2" else 1):
            bare @ weight.t(), grad @ weight, grad.t() @ bare

    def step(forward):
        return lambda: torch.autograd.grad(forward(), inputs, grad)

    works = {
        "products": products,
        "kept": step(lambda: operator(layer, x, edge_index, edge_attr, True)),
        "recomputed": step(lambda: operator(layer, x, edge_index, edge_attr, False)),
        "pyg": step(lambda: layer(x, edge_index, edge_attr)),
    }
    if arguments.compile:
        compiled = torch.compile(layer)
        works["pyg compiled"] = step(lambda: compiled(x, edge_index, edge_attr))
    if device == "cpu" and torch.backends.cpu.get_cpu_capability() != "DEFAULT":
        half = copy.deepcopy(layer).bfloat16()
        x16, attr16, grad16 = (tensor.detach().bfloat16() for tensor in (x, edge_attr, grad))
        inputs16 = [x16.requires_grad_(), *half.parameters()]
        works["bfloat16"] = lambda: torch.autograd.grad(operator(half, x16, edge_index, attr16, True), inputs16, grad16)
    if device == "cuda":
        order = edge_order(x, edge_index)
        works["order given"] = step(lambda: operator(layer, x, edge_index, edge_attr, True, order))
        half = copy.deepcopy(layer).bfloat16()
        x16, attr16, grad16 = (tensor.detach().bfloat16() for tensor in (x, edge_attr, grad))
        inputs16 = [x16.requires_grad_(), *half.parameters()]
        works["pyg bfloat16"] = lambda: torch.autograd.grad(half(x16, edge_index, attr16), inputs16, grad16)
        if arguments.compile:
            compiled16 = torch.compile(half)
            works["pyg compiled bfloat16"] = lambda: torch.autograd.grad(compiled16(x16, edge_index, attr16), inputs16,
                                                                         grad16)
    result = {"case": name, "nodes": nodes, "edges": edge_index.size(1), "peak": {}}
    times = {key: [] for key in works}
    for work in works.values():
        for _ in range(3 if device == "cuda" else 1):
            work()
    for _ in range(arguments.rounds):
        for key, work in works.items():
            times[key].append(timed(work, device))
    for key, pairs in times.items():
        walls = sorted(wall for wall, _ in pairs)
        result[key] = {"best": walls[0], "median": walls[len(walls) // 2], "cpu": min(cpu for _, cpu in pairs)}
    for key in ("kept", "recomputed", "pyg"):
        result["peak"][key] = peak_bytes(works[key], device)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("graphs", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", nargs="*", default=list(CASES))
    arguments = parser.parse_args()
    torch.ops.load_library(arguments.library)
    torch.set_num_threads(arguments.threads)
    graphs = {}
    for name, make in (("windows", lambda: windows(arguments.graphs)), ("random", random_graph),
                       ("made up", made_up_windows), ("tolokers", tolokers)):
        if any(CASES[case][1] == name for case in arguments.cases):
            torch.manual_seed(1)
            graphs[name] = make()
    for name in arguments.cases:
        print(json.dumps(measure(name, graphs, arguments)), flush=True)


if __name__ == "__main__":
    main()
