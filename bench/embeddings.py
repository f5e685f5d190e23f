#!/usr/bin/env python3
"""What a table of learned embeddings costs a run, by its number of rows, beside PyTorch's sparse and dense tables.

    bench/embeddings.py [--nodes 20000 100000 400000] [--epochs 2] [--rounds 3] [--before FILE] [--results FILE]

Trains GraphSAGE (10 and 5 neighbours, batches of 256 seeds) to classify 20,000 nodes without features that have 200,000
edges among them. Further nodes have no edges, so every size of the table has the same samples. The figures are user and
system time of whole processes, start, checkpoints and validation included, on one thread. The peers train the same network of
PyTorch Geometric from `plimsoll.NeighborLoader`: `nn.Embedding(sparse=True)` under SparseAdam, or a dense one under Adam; they write
no checkpoints. --before names another plimsoll to compare with. Rounds alternate between all cases. Prints a table in
Markdown; with --results it becomes a section of that file.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import report

REACHED, EDGES, CLASSES, WIDTH, HIDDEN, BATCH = 20_000, 200_000, 8, 64, 64, 256
RECIPE = """
task: node_classification
sampling: {fan_outs: [10, 5]}
training: {batch_size: 256, learning_rate: 0.01, weight_decay: 0, gradient_clip_val: 0, lanes: 1, block: {seeds: 64}}
gnn: {conv: sage, layers: 2, hidden: 64, embedding: 64}
"""


def make_graph(folder, nodes):
    random = np.random.default_rng(5)
    np.save(folder / "edges.npy", random.integers(0, REACHED, (EDGES, 2)))
    np.save(folder / "y.npy", random.integers(0, CLASSES, nodes))
    order = random.permutation(REACHED)
    for split, part in (("train", order[:16_000]), ("valid", order[16_000:18_000]), ("test", order[18_000:])):
        np.save(folder / f"{split}.npy", np.sort(part))
    splits = [word for split in ("train", "valid", "test") for word in (f"--{split}", folder / f"{split}.npy")]
    graph = folder / f"graph-{nodes}"
    words = [report.PLIMSOLL, "ingest", "graph", "--edges", folder / "edges.npy", "--labels", folder / "y.npy", "--ids",
             "dense", *splits, "--out", graph]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    return graph


def train(program, graph, recipe, epochs, run):
    return report.timed([program, "train", recipe, "--data", graph, "--run", run, "--force", "--threads", 1, "--json",
                         "-O", f"training.max_epochs={epochs}"], stderr=subprocess.DEVNULL)


def train_peer(graph, kind, epochs):
    """Runs in a process of its own."""
    import torch
    from torch_geometric.nn import GraphSAGE

    import plimsoll

    torch.set_num_threads(1)
    data = plimsoll.open(graph)
    labels = torch.from_numpy(np.load(Path(graph) / "y.npy").astype(np.int64))
    table = torch.nn.Embedding(len(labels), WIDTH, sparse=kind == "sparse")
    model = GraphSAGE(WIDTH, HIDDEN, 2, CLASSES)
    of_table = torch.optim.SparseAdam if kind == "sparse" else torch.optim.Adam
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.01), of_table(list(table.parameters()), lr=0.01)]
    loader = plimsoll.NeighborLoader(data, [10, 5], np.load(Path(graph) / "train_idx.npy"), batch_size=BATCH, shuffle=True)
    for _ in range(epochs):
        for batch in loader:
            out = model(table(batch.n_id), batch.edge_index)[:batch.batch_size]
            loss = torch.nn.functional.cross_entropy(out, labels[batch.n_id[:batch.batch_size]])
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()


def cases_of(graph, options, folder):
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE)
    cases = {"Plimsoll": lambda: train(report.PLIMSOLL, graph, recipe, options.epochs, folder / "run")}
    if options.before:
        cases["before"] = lambda: train(options.before, graph, recipe, options.epochs, folder / "run")
    for kind in ("sparse", "dense"):
        command = [report.PYTHON, __file__, "--peer", kind, "--graph", graph, "--epochs", options.epochs]
        cases[f"PyTorch, {kind}"] = lambda command=command: report.timed(command)
    return cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[20_000, 100_000, 400_000])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--peer", choices=["sparse", "dense"], help=argparse.SUPPRESS)
    parser.add_argument("--graph", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return train_peer(options.graph, options.peer, options.epochs)
    lines = [report.machine(), f"Processor seconds of whole runs of {options.epochs} epochs: best / median of {options.rounds}.", ""]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for nodes in options.nodes:
            times = report.rounds(cases_of(make_graph(folder, nodes), options, folder), options.rounds)
            if nodes == options.nodes[0]:
                lines += [f"| rows | {' | '.join(times)} |", "|---" * (len(times) + 1) + "|"]
            seconds = [[cpu for _, cpu in runs] for runs in times.values()]
            lines.append(f"| {nodes:,} | " + " | ".join(f"{min(s):.1f} / {statistics.median(s):.1f}" for s in seconds) + " |")
            print(lines[-1], file=sys.stderr, flush=True)
    text = "\n".join(lines)
    report.write_section("Tables of learned embeddings", text, options.results) if options.results else print(text)


if __name__ == "__main__":
    sys.exit(main())
