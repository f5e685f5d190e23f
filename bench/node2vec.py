#!/usr/bin/env python3
"""How well node2vec's embeddings classify nodes of real graphs: our walks beside those of PyTorch Geometric.

    bench/node2vec.py [DATA] [--graphs cora ...] [--p 1] [--q 0.5] [--epochs 20] [--seeds 3] [--results FILE]

DATA (default ../shared/data) has folders of public graphs. Both sides train PyTorch Geometric's `Node2Vec` with the same
options, initial vectors and optimizer; what differs is who gives batches: `plimsoll.RandomWalkLoader`, or the loader of
`Node2Vec` with the sampler of torch-cluster (`make bench-peers`, then PYTHONPATH=build/peers), which was its own until
PyTorch Geometric 2.8 asked for pyg-lib. A logistic regression of the vectors is fitted to half of the labelled nodes and
judged on the others, for the same 10 random halves on both sides. Prints a table in Markdown; with --results it becomes a
section of that file.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import report
import torch
from accuracy import musae, pairs_of, rows_of, tolokers
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from torch_geometric.index import index2ptr
from torch_geometric.nn import Node2Vec
from torch_geometric.utils import sort_edge_index, to_undirected

import plimsoll

DIMENSIONS, LENGTH, CONTEXT, WALKS, NEGATIVES, BATCH, RATE = 64, 20, 10, 5, 1, 128, 0.05


def cora(folder):
    labels = {row["node"]: row["label"] for row in rows_of(folder / "nodes.tsv.zst", "\t")}
    y = np.array([int(labels[str(node)]) for node in range(len(labels))])
    return pairs_of(folder / "edges.tsv.zst", "\t", False), None, y, None


GRAPHS = {  # what reads the folder graph-NAME, and its metric
    "cora": (cora, "accuracy"),
    "musae-facebook": (lambda folder: musae(folder, "facebook", "id", "page_type"), "accuracy"),
    "tolokers": (tolokers, "ROC AUC"),
}


class Embeddings(Node2Vec):
    """`Node2Vec` that starts without pyg-lib, and walks with torch-cluster."""

    def __init__(self, edge_index, nodes, p, q):
        torch.nn.Module.__init__(self)
        row, col = sort_edge_index(edge_index, num_nodes=nodes)
        self.rowptr, self.col = index2ptr(row, nodes), col
        self.EPS, self.num_nodes, self.embedding_dim = 1e-15, nodes, DIMENSIONS
        self.walk_length, self.context_size, self.walks_per_node = LENGTH - 1, CONTEXT, WALKS
        self.num_negative_samples, self.p, self.q = NEGATIVES, p, q
        self.embedding = torch.nn.Embedding(nodes, DIMENSIONS, sparse=True)

    def random_walk_fn(self, *arguments):
        return torch.ops.torch_cluster.random_walk(*arguments)


def train(model, loader, epochs):
    """The vectors, and the seconds that batches took of all."""
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=RATE)
    waited = 0.0
    for _ in range(epochs):
        batches = iter(loader)
        while True:
            begin = time.perf_counter()
            batch = next(batches, None)
            waited += time.perf_counter() - begin
            if batch is None:
                break
            optimizer.zero_grad()
            model.loss(*batch).backward()
            optimizer.step()
    return model().detach().numpy(), waited


def judge(vectors, y, metric):
    """Percent of each of the 10 halves."""
    known = np.flatnonzero(y >= 0)
    x, y = StandardScaler().fit_transform(vectors[known]), y[known]
    found = []
    for fit, test in StratifiedShuffleSplit(10, test_size=0.5, random_state=0).split(x, y):
        model = LogisticRegression(max_iter=1000).fit(x[fit], y[fit])
        score = (model.score(x[test], y[test]) if metric == "accuracy"
                 else roc_auc_score(y[test], model.predict_proba(x[test])[:, 1]))
        found.append(100 * score)
    return found


def compare(name, data, options, work):
    """A row of the table."""
    read, metric = GRAPHS[name]
    pairs, _, y, _ = read(data / f"graph-{name}")
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    np.save(work / "edges.npy", pairs)
    layout = plimsoll.ingest.GraphLayout(ids="dense", node_count=len(y))
    graph = plimsoll.ingest.graph(work / "edges.npy", work / name, undirected=True, dedup=True, layout=layout)
    edge_index = to_undirected(torch.from_numpy(pairs).t().contiguous(), num_nodes=len(y))
    assert edge_index.shape[1] == graph.num_edges
    sides = {"plimsoll": [], "peer": []}
    seconds = {"plimsoll": 0.0, "peer": 0.0}
    for seed in range(1, options.seeds + 1):
        for side, scores in sides.items():
            torch.manual_seed(seed)
            model = Embeddings(edge_index, len(y), options.p, options.q)
            loader = (plimsoll.RandomWalkLoader(graph, LENGTH, CONTEXT, WALKS, options.p, options.q, NEGATIVES,
                                                batch_size=BATCH, shuffle=True, seed=seed) if side == "plimsoll"
                      else model.loader(batch_size=BATCH, shuffle=True))
            vectors, waited = train(model, loader, options.epochs)
            scores.append(judge(vectors, y, metric))
            seconds[side] += waited
            said = {"graph": name, "side": side, "seed": seed, "mean": statistics.mean(scores[-1]), "batches_s": waited}
            print(json.dumps(said), file=sys.stderr, flush=True)
    graph.close()
    cells = []
    for scores in sides.values():
        means = [statistics.mean(of_seed) for of_seed in scores]
        deviation = statistics.mean(statistics.stdev(of_seed) for of_seed in scores)
        cells.append(f"{statistics.mean(means):.2f} ± {deviation:.2f} ({min(means):.2f} to {max(means):.2f})")
    spent = " / ".join(f"{one:.1f}" for one in seconds.values())
    return f"| {name} | {len(y):,} | {len(pairs):,} | {metric} | {cells[0]} | {cells[1]} | {spent} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=report.ROOT.parent / "shared" / "data")
    parser.add_argument("--graphs", choices=GRAPHS, nargs="+", default=list(GRAPHS))
    parser.add_argument("--p", type=float, default=1)
    parser.add_argument("--q", type=float, default=0.5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--title", default="Embeddings of node2vec")
    options = parser.parse_args()
    import torch_cluster

    with tempfile.TemporaryDirectory() as folder:
        rows = [compare(name, options.data, options, Path(folder)) for name in options.graphs]
    text = (f"`bench/node2vec.py`: p {options.p:g}, q {options.q:g}, {options.epochs} epochs, {options.seeds} seeds; "
            f"{DIMENSIONS} numbers a node, walks of {LENGTH} nodes, windows of {CONTEXT}, {WALKS} walks a node, batches of "
            f"{BATCH}, SparseAdam at {RATE}; torch-cluster {torch_cluster.__version__}, torch {torch.__version__}. Means over "
            "seeds and halves, the deviation of 10 halves, and the least and greatest mean of a seed, in %.\n\n"
            "| graph | nodes | edges | metric | Plimsoll | PyTorch Geometric | batches: s, all seeds |\n"
            "|---|---|---|---|---|---|---|\n" + "\n".join(rows))
    if options.results:
        report.write_section(options.title, text, options.results)
    else:
        print(text)


if __name__ == "__main__":
    main()
