"""KD-GAT's training steps in PyTorch Geometric, as its users run them: batches from a DataLoader, forward, backward,
clipping and Adam, float32. Prints a JSON line; bench/recipe.py runs it, a fresh process a case.

    recipe.py GRAPH_SET MODEL --batch B [--seconds S] [--threads N] [--device cuda]

MODEL is gat-large, gat-small, vgae-large, vgae-small, or gat-small-live: the small GAT beside a frozen large one that
teaches it. `products MODEL` measures the bare matrix products of a step of MODEL instead: forward and both of backward
for each layer, as 512 windows on all threads and as blocks of 64 on one thread each.
"""

import argparse
import json
import sys
import threading
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))
import gat_with_jk  # noqa: E402
import vgae_twin  # noqa: E402

IDS = 2049
PARAMETERS = {"gat-large": 343_442, "gat-small": 65_354, "vgae-large": 448_320, "vgae-small": 85_908}
TEMPERATURE, ALPHA = 4.0, 0.7
PRODUCT_SECONDS = 1.0


def training_windows(folder):
    """The windows of the training splits as a list of Data, in the order of the data set."""
    tables = json.loads((folder / "manifest.json").read_text())
    names = ("node_ptr", "edge_ptr", "x", "edges", "edge_attr", "y")
    node_ptr, edge_ptr, x, edges, edge_attr, y = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)
    windows = []
    for split in tables["splits"]:
        if not split["name"].startswith("train"):
            continue
        for g in range(split["first_graph"], split["first_graph"] + split["graphs"]):
            nodes, arcs = slice(*node_ptr[g:g + 2]), slice(*edge_ptr[g:g + 2])
            windows.append(Data(x=torch.from_numpy(np.array(x[nodes])),
                                edge_index=torch.from_numpy(edges[arcs].T.astype(np.int64)).contiguous(),
                                edge_attr=torch.from_numpy(np.array(edge_attr[arcs])), y=torch.tensor([int(y[g])])))
    return windows


def make_model(name):
    kind, size = name.split("-")
    module = {"gat": gat_with_jk, "vgae": vgae_twin}[kind]
    made = {"gat": gat_with_jk.GATWithJK, "vgae": vgae_twin.GraphAutoencoderNeighborhood}[kind]
    model = made(IDS, **getattr(module, size.upper()))
    found = sum(parameter.numel() for parameter in model.parameters())
    assert found == PARAMETERS[name], f"{name}: {found} parameters, published are {PARAMETERS[name]}"
    return model


def classified(model, batch):
    return F.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)


def taught(model, teacher, batch):
    said = model(batch.x, batch.edge_index, batch.batch)
    with torch.no_grad():
        wanted = teacher(batch.x, batch.edge_index, batch.batch)
    divergence = F.kl_div(F.log_softmax(said / TEMPERATURE, 1), F.softmax(wanted / TEMPERATURE, 1),
                          reduction="batchmean")
    return ALPHA * TEMPERATURE**2 * divergence + (1 - ALPHA) * F.cross_entropy(said, batch.y)


def rebuilt(model, batch):
    x, edges = batch.x, batch.edge_index
    mu, logvar = model.encode(x, edges)
    z = mu + torch.randn_like(mu) * (logvar / 2).exp()
    ids, neighbours = model.id_head(z), model.neighbour_logits(z)
    return (F.mse_loss(model.decode(z, edges), x[:, 1:]) + 0.1 * F.cross_entropy(ids, x[:, 0].long())
            + 0.05 * F.binary_cross_entropy_with_logits(neighbours, vgae_twin.neighbourhood(x, edges, IDS))
            - 0.01 * 0.5 * (1 + logvar - mu**2 - logvar.exp()).mean())


def loss_of(name, device):
    """(what trains, its loss of a batch)"""
    model = make_model(name.removesuffix("-live")).to(device)
    if name.endswith("-live"):
        teacher = make_model("gat-large").to(device).eval().requires_grad_(False)
        return model, lambda batch: taught(model, teacher, batch)
    return model, lambda batch: {"gat": classified, "vgae": rebuilt}[name.split("-")[0]](model, batch)


def steps(arguments):
    windows = training_windows(arguments.graphs)
    model, loss = loss_of(arguments.model[0], arguments.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    loader = DataLoader(windows, batch_size=arguments.batch, shuffle=True, drop_last=True)

    def batches():
        while True:
            yield from loader

    source = batches()
    collating = 0.0

    def step():
        nonlocal collating
        begin = time.perf_counter()
        batch = next(source)
        collating += time.perf_counter() - begin
        optimizer.zero_grad()
        loss(batch.to(arguments.device)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return batch.num_graphs

    def finish():
        if arguments.device == "cuda":
            torch.cuda.synchronize()

    step()
    finish()
    collating, done = 0.0, 0
    wall, cpu = time.perf_counter(), time.process_time()
    while time.perf_counter() - wall < arguments.seconds:
        done += step()
    finish()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"graphs_per_s": done / wall, "graphs_per_cpu_s": done / cpu, "collate_share": collating / wall,
            "device_peak": torch.cuda.max_memory_allocated() if arguments.device == "cuda" else 0,
            "parameters": sum(parameter.numel() for parameter in model.parameters()), "windows": len(windows)}


def layer_widths(model):
    """(in, out) of each layer that multiplies every node, the head of a GAT aside: it sees windows."""
    if isinstance(model, gat_with_jk.GATWithJK):
        return [(conv.lin.in_channels, conv.lin.out_channels) for conv in model.convs]
    convs = [(conv.lin.in_channels, conv.lin.out_channels) for conv in (*model.encoder, *model.decoder)]
    linear = (model.mu, model.logvar, model.id_head, *model.neighbours)
    return convs + [(layer.in_features, layer.out_features) for layer in linear]


def products(widths, nodes):
    """A function that multiplies once for all layers."""
    made = [(torch.randn(nodes, given), torch.randn(wanted, given), torch.randn(nodes, wanted),
             torch.empty(nodes, given), torch.empty(wanted, given), torch.empty(nodes, wanted))
            for given, wanted in widths]

    def run():
        for x, weight, grad, dx, dweight, out in made:
            torch.mm(x, weight.t(), out=out)
            torch.mm(grad, weight, out=dx)
            torch.mm(grad.t(), x, out=dweight)

    run()
    return run


def rate(graphs, workers):
    """Graphs a second of `workers` threads that each run their own."""
    counts = [0] * len(workers)
    end = time.perf_counter() + PRODUCT_SECONDS

    def work(which):
        while time.perf_counter() < end:
            workers[which]()
            counts[which] += 1

    begin = time.perf_counter()
    threads = [threading.Thread(target=work, args=(which,)) for which in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return graphs * sum(counts) / (time.perf_counter() - begin)


def bound(arguments):
    windows = training_windows(arguments.graphs)
    nodes = sum(window.num_nodes for window in windows) / len(windows)
    widths = layer_widths(make_model(arguments.model[1]))
    together = rate(512, [products(widths, round(512 * nodes))])
    torch.set_num_threads(1)
    blocks = rate(64, [products(widths, round(64 * nodes)) for _ in range(arguments.threads)])
    flops = 6 * nodes * sum(given * wanted for given, wanted in widths)
    return {"graphs_per_s": max(together, blocks), "batch": together, "blocks": blocks, "mflop_a_graph": flops / 1e6}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", type=Path)
    parser.add_argument("model", nargs="+")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    print(json.dumps(bound(arguments) if arguments.model[0] == "products" else steps(arguments)))


if __name__ == "__main__":
    main()
