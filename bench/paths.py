#!/usr/bin/env python3
"""SGMP by Plimsoll, by torch with all paths at once and by torch a tile of paths at a time under checkpoint.

    paths.py steps [--graphs 16] [--rounds 2] [--only NAME...]   a training step of kNN-8 graphs, H = 64, L = 3, Adam
    paths.py layer [--graphs 4] [--rounds 5]                     one layer: tiles, points of a plane, directed trees
    paths.py trees [--nodes 80000 1000000]                       two layers of one large directed tree
    paths.py ledger [--graphs 4 16 64 256]                       the same step by plimsoll train: memory by its ledger
    paths.py products                                            the products of a layer alone, by torch

Prints markdown tables. Each measurement of `steps` and `trees` is a process of its own, in turn; seconds are CPU seconds of
the process, the best and the median of all rounds, of one thread: more threads of torch spend some of theirs on waiting.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "peers")]
import torch  # noqa: E402

import path_networks as peer  # noqa: E402
import report  # noqa: E402

HIDDEN, CUTOFF = 64, 1.0
TILED = 512


def of_process(field):
    """VmHWM, the most memory of the process, or VmRSS, MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1e3


def cpu_seconds(function):
    started = time.process_time()
    result = function()
    return time.process_time() - started, result


def grids(count, planar=False):
    """pos, edge_index and batch of `count` grids of 100 nodes, each with edges to the 8 nearest."""
    generator = torch.Generator().manual_seed(1)
    pos = [peer.jittered_grid(10, generator, planar) for _ in range(count)]
    edges = [peer.knn_edges(of) + 100 * n for n, of in enumerate(pos)]
    return torch.cat(pos), torch.cat(edges, 1), torch.arange(count).repeat_interleave(100)


def directed_tree(nodes, seed=1):
    """Parent to child, and points near their parents' as branches grow."""
    generator = torch.Generator().manual_seed(seed)
    child = torch.arange(1, nodes)
    back = 1 + (3 * torch.rand(nodes - 1, generator=generator) ** 8).long()
    parent = (child - back).clamp_min(0)
    pos = 0.05 * torch.randn(nodes, 3, generator=generator).cumsum(0)
    return pos, torch.stack([parent, child])


def held_bytes(function):
    """The most bytes of tensors that function() has at once, beyond those from before."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        function()
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def model_of(name, pos, edge_index, batch, planar=False):
    """A network and the function that runs it."""
    graphs = int(batch.max()) + 1
    torch.manual_seed(1)
    if name == "ours":
        from plimsoll import nn

        model = nn.SGMP(5, HIDDEN, 2, 3, cutoff=CUTOFF, planar=planar)
        return model, lambda x: model(x, pos, edge_index, batch)
    model = peer.SGMP(5, HIDDEN, 2, 3)
    tile = TILED if name == "tiled" else None
    paths = peer.third_order_paths(edge_index, len(pos))
    return model, lambda x: model(x, pos, batch, graphs, paths, tile=tile, cutoff=CUTOFF, corrected=True)


def one_step(name, graphs):
    """Of this process: CPU seconds of a step after one of few paths, and memory."""
    torch.set_num_threads(1)
    pos, edge_index, batch = grids(graphs)
    x = torch.randn(len(pos), 5, generator=torch.Generator().manual_seed(2))
    y = torch.arange(graphs) % 2
    model, run = model_of(name, pos, edge_index, batch)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(run(x), y)
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    before = of_process("VmRSS")
    seconds, loss = cpu_seconds(step)
    made = {"seconds": seconds, "loss": loss, "peak": of_process("VmHWM"), "beyond": of_process("VmHWM") - before}
    if name == "ours":
        optimizer.zero_grad()
        state = sum(tensor.nbytes for of in optimizer.state.values() for tensor in of.values())
        kept = state + sum(parameter.nbytes for parameter in model.parameters())
        made["tensors"] = (kept + held_bytes(step)) / 1e6
    print(json.dumps(made))


def one_tree(name, nodes):
    """Two layers of a tree and the sum over nodes, forward and backward, from x on."""
    torch.set_num_threads(1)
    pos, edge_index = directed_tree(nodes)
    x = torch.randn(nodes, HIDDEN, generator=torch.Generator().manual_seed(2))
    torch.manual_seed(1)
    if name == "ours":
        from plimsoll import nn

        layers = [nn.PathConv(HIDDEN, cutoff=CUTOFF) for _ in range(2)]
        edges = nn.path_edges(edge_index, nodes)
        run = [lambda x, layer=layer: layer(x, pos, edges) for layer in layers]
    else:
        layers = [peer.Interaction(HIDDEN) for _ in range(2)]
        paths = peer.third_order_paths(edge_index, nodes)
        run = [lambda x, layer=layer: layer(x, pos, paths, cutoff=CUTOFF, corrected=True) for layer in layers]
    before = of_process("VmRSS")

    def step():
        h = x
        for layer in run:
            h = h + layer(h)
        total = h.sum()
        del h
        total.backward()

    seconds, _ = cpu_seconds(step)
    made = {"seconds": seconds, "peak": of_process("VmHWM"), "beyond": of_process("VmHWM") - before}
    if name == "ours":
        made["tensors"] = (x.nbytes + pos.nbytes + held_bytes(step)) / 1e6
    print(json.dumps(made))


def in_processes(kind, names, size, rounds):
    """What each name measured, round by round in turn."""
    found = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            command = [sys.executable, __file__, kind, "--one", name, str(size)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[name].append(json.loads(done.stdout))
    return found


def print_table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def print_processes(kind, names, sizes, rounds, unit):
    rows = []
    for size in sizes:
        found = in_processes(kind, names, size, rounds)
        ours = min(of["seconds"] for of in found["ours"]) if "ours" in found else float("nan")
        for name, runs in found.items():
            seconds = [of["seconds"] for of in runs]
            rows.append([f"{size:,} {unit}", name, f"{min(seconds):.2f} / {statistics.median(seconds):.2f}",
                         f"{min(seconds) / ours:.2f}", f"{max(of['peak'] for of in runs):,.0f}",
                         f"{max(of['beyond'] for of in runs):,.0f}",
                         f"{runs[0]['tensors']:.1f}" if "tensors" in runs[0] else ""])
    print_table(["size", "by", "CPU s best / median", "x ours", "process peak MB", "beyond start MB", "tensors MB"], rows)


def layers(graphs, rounds):
    """One layer, forward and backward, in this process, in turn."""
    torch.set_num_threads(1)
    from plimsoll import nn

    def cases():
        pos, edge_index, _ = grids(graphs)
        flat = pos * torch.tensor([1.0, 1.0, 0.0])
        theirs = peer.Interaction(HIDDEN)
        for tile in (64, 128, 256, 512, 1024, 4096):
            yield f"kNN-8, tile {tile}", nn.PathConv(HIDDEN, cutoff=CUTOFF, tile=tile), pos, edge_index, None
        yield "kNN-8, torch tiled", None, pos, edge_index, (theirs, TILED)
        yield "kNN-8, torch at once", None, pos, edge_index, (theirs, None)
        for mode in ("corrected", "reference"):
            for planar in (False, True):
                conv = nn.PathConv(HIDDEN, cutoff=CUTOFF, mode=mode, planar=planar)
                yield f"kNN-8, z = 0, {mode}, planar={planar}", conv, flat, edge_index, None
        yield "kNN-8, distances only", nn.PathConv(HIDDEN, cutoff=CUTOFF, distances_only=True), pos, edge_index, None
        for nodes in (100, 20_000):
            pos, edge_index = directed_tree(nodes)
            yield f"directed tree of {nodes:,}", nn.PathConv(HIDDEN, cutoff=CUTOFF), pos, edge_index, None
            yield f"directed tree of {nodes:,}, torch at once", None, pos, edge_index, (theirs, None)

    measured = []
    for name, conv, pos, edge_index, torch_layer in cases():
        x = torch.randn(len(pos), HIDDEN, requires_grad=True)
        if conv is not None:
            edges = nn.path_edges(edge_index, len(pos))
            run = lambda conv=conv, x=x, pos=pos, edges=edges: conv(x, pos, edges)  # noqa: E731
        else:
            layer, tile = torch_layer
            paths = peer.third_order_paths(edge_index, len(pos))
            options = {"cutoff": CUTOFF, "corrected": True}
            if tile is None:
                run = lambda layer=layer, x=x, pos=pos, paths=paths: layer(x, pos, paths, **options)  # noqa: E731
            else:
                run = lambda layer=layer, x=x, pos=pos, paths=paths, tile=tile: layer.tiled(  # noqa: E731
                    x, pos, paths, tile, **options)
        count = int(nn.path_counts(nn.path_edges(edge_index, len(pos))).sum())
        measured.append((name, count, run, []))
    for _ in range(rounds):
        for _, count, run, seconds in measured:
            repeats = max(1, 20_000 // max(count, 1))
            seconds.append(cpu_seconds(lambda: [run().sum().backward() for _ in range(repeats)])[0] / repeats)  # noqa: B023
    print_table(["layer", "paths", "CPU ms best / median", "us a path"],
                [[name, f"{count:,}", f"{1e3 * min(seconds):.2f} / {1e3 * statistics.median(seconds):.2f}",
                  f"{1e6 * min(seconds) / max(count, 1):.2f}"] for name, count, _, seconds in measured])


def ledger(batches):
    """An epoch of one step of as many graphs, in blocks of 16, by recipes/sgmp.yaml on two threads; 1 MB = 1e6 bytes."""
    import plimsoll

    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for batch in batches:
            validate = max(2, batch // 64)  # a recipe has one in a hundred or more
            pos, _, _ = grids(batch + validate)
            data = Path(scratch) / f"{batch}"
            plimsoll.from_points(pos.view(-1, 100, 3).numpy(), data, knn=8, y=[n % 2 for n in range(batch + validate)])
            options = (f"training.batch_size={batch}", "training.max_epochs=1", "split.test=0",
                       f"split.validation={validate / (batch + validate):.6f}", "training.block.graphs=16")
            common = ["--data", data, "--threads", 2, "--json", *(part for option in options for part in ("-O", option))]
            recipe = report.ROOT / "recipes" / "sgmp.yaml"

            def call(*command):
                done = subprocess.run([str(report.PLIMSOLL), *map(str, command)], check=True, stdout=subprocess.PIPE, text=True)
                return json.loads(done.stdout)

            planned = call("plan", recipe, *common)
            trained = call("train", recipe, "--run", data.with_suffix(".run"), "--budget", "96MiB", *common)
            memory = trained["memory"]
            rows.append([batch, *(f"{of / 1e6:.1f}" for of in (
                planned["worst_block"]["peak_bytes"], planned["min_budget_bytes"], memory["floor_bytes"],
                memory["ledger_peak_bytes"], memory["anonymous_peak_bytes"])), f"{trained['seconds']:.1f}"])
    print_table(["graphs a step", "largest block MB", "smallest budget MB", "of it before the first block MB", "ledger's peak MB",
                 "process peak MB, budget 96 MiB", "seconds"], rows)


def products(rounds, tile=256, tiles=100):
    """What is computed per path, by torch.mm alone: forward, again in backward, and the gradients."""
    torch.set_num_threads(1)
    h, g = HIDDEN, sum(peer.GAUSSIANS)
    rows = {width: torch.randn(tile, width) for width in (g, h, 2 * h, 4 * h)}
    weights = {shape: torch.randn(shape) for shape in ((g, h), (h, 4 * h), (4 * h, 2 * h), (2 * h, 4 * h), (4 * h, h))}
    forward = [(rows[a], weights[a, b]) for a, b in ((g, h), (h, 4 * h), (4 * h, 2 * h))]
    back = [(rows[2 * h].t(), rows[4 * h]), (rows[2 * h], weights[2 * h, 4 * h]), (rows[4 * h].t(), rows[h]),
            (rows[4 * h], weights[4 * h, h]), (rows[g].t(), rows[h])]
    pairs = 2 * forward + back
    numbers = sum(a.shape[0] * a.shape[1] * b.shape[1] for a, b in pairs)
    seconds = min(cpu_seconds(lambda: [torch.mm(a, b) for _ in range(tiles) for a, b in pairs])[0]
                  for _ in range(rounds))
    print(f"products by torch.mm, tiles of {tile}: {1e6 * seconds / tiles / tile:.2f} us a path, "
          f"{2e-9 * numbers * tiles / seconds:.1f} GFLOP/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["steps", "layer", "trees", "ledger", "products"])
    parser.add_argument("--graphs", type=int, nargs="+", default=[16])
    parser.add_argument("--nodes", type=int, nargs="+", default=[80_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="+", default=["ours", "tiled", "at once"])
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        name, size = given.one
        return one_step(name, int(size)) if given.what == "steps" else one_tree(name, int(size))
    if given.what == "steps":
        print_processes("steps", given.only, given.graphs, given.rounds, "graphs")
    elif given.what == "trees":
        print_processes("trees", given.only, given.nodes, given.rounds, "nodes")
    elif given.what == "ledger":
        ledger(given.graphs)
    elif given.what == "layer":
        layers(given.graphs[0], given.rounds)
    else:
        products(given.rounds)


if __name__ == "__main__":
    main()
