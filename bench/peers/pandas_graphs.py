"""Captures to the published KD-GAT window graphs the way the published pipeline works: pandas and a loop in Python.

    python bench/peers/pandas_graphs.py OUT.npz CAPTURE...      one `train` split of four-column captures

As there: pandas' Python engine reads chunks of 5000 rows, `apply` converts column by column, `np.unique` finds nodes
and edges window by window, and each node and edge is described by its own masks. Written from the rules alone, as
compat_graphs.py, which does the same vectorised. Prints wall and processor seconds without start, imports and writing
OUT.
"""

import json
import sys
import time

import numpy as np
import pandas as pd

CHUNK = 5000
WINDOW = 100
STRIDE = 100
BYTES = [f"byte_{k}" for k in range(8)]


def chunks_of(path):
    columns = ["timestamp", "arbitration_id", "data_field", "attack"]
    return pd.read_csv(path, engine="python", chunksize=CHUNK, header=0, names=columns,
                       dtype={"arbitration_id": str, "data_field": str})


def vocabulary_of(paths):
    """{ID: index} over all rows of all captures."""
    ids = set()
    for path in paths:
        for chunk in chunks_of(path):
            ids.update(int(text, 16) for text in chunk["arbitration_id"].unique())
    return {number: index for index, number in enumerate(sorted(ids))}


def byte_at(text, k):
    digits = text[2 * k:2 * k + 2]
    return int(digits, 16) if len(digits) == 2 else 0


def rows_of(path, vocabulary):
    """f64[n, 11] of the rows with a successor in their chunk: bytes as shares, source, target, label."""
    parts = []
    for chunk in chunks_of(path):
        payload = chunk["data_field"].fillna("").str.strip()
        for k, name in enumerate(BYTES):
            chunk[name] = payload.apply(lambda text: byte_at(text, k)) / 255.0
        chunk["source"] = chunk["arbitration_id"].apply(lambda text: vocabulary.get(int(text, 16), len(vocabulary)))
        chunk["target"] = chunk["source"].shift(-1)
        parts.append(chunk.iloc[:-1][[*BYTES, "source", "target", "attack"]])
    return pd.concat(parts, ignore_index=True).to_numpy(np.float64)


def node_features(rows, source, nodes):
    x = np.zeros((len(nodes), 11))
    for i, node in enumerate(nodes):
        positions = np.flatnonzero(source == node)
        x[i, 0] = node
        if positions.size:
            x[i, 1:9] = rows[positions, :8].mean(axis=0)
            x[i, 9] = positions.size
            x[i, 10] = positions[-1] / (len(rows) - 1)
    low, high = x[:, 9].min(), x[:, 9].max()
    if high > low:
        x[:, 9] = (x[:, 9] - low) / (high - low)
    return x


def edge_features(source, target, pairs):
    attr = np.zeros((len(pairs), 11))
    width = len(source)
    for i, (a, b) in enumerate(pairs):
        positions = np.flatnonzero((source == a) & (target == b))
        count, first, last = positions.size, positions[0], positions[-1]
        attr[i, :2] = count, count / width
        if count > 1:
            gaps = np.diff(positions)
            attr[i, 2:5] = gaps.mean(), gaps.std(), 1.0 / (1.0 + gaps.std())
        attr[i, 5:8] = first / width, last / width, (last - first) / width
        attr[i, 8] = np.any((source == b) & (target == a))
        degree = [np.sum(source == node) + np.sum(target == node) for node in (a, b)]
        attr[i, 9:] = degree[0] * degree[1], degree[0] / max(degree[1], 1e-8)
    return attr


def window_graph(rows):
    """x, edges, edge_attr, y of one window."""
    source, target = rows[:, 8], rows[:, 9]
    nodes = np.unique(np.concatenate([source, target]))
    pairs = np.unique(np.column_stack([source, target]), axis=0)
    place = {node: i for i, node in enumerate(nodes)}
    edges = np.array([[place[a], place[b]] for a, b in pairs], np.int32)
    return (node_features(rows, source, nodes).astype(np.float32), edges,
            edge_features(source, target, pairs).astype(np.float32), int(np.any(rows[:, 10] == 1)))


def graphs_of(path, vocabulary):
    rows = rows_of(path, vocabulary)
    count = max(1, (len(rows) - WINDOW) // STRIDE + 1)
    return [window_graph(rows[first:first + WINDOW]) for first in range(0, count * STRIDE, STRIDE)]


def main(out, paths):
    wall, cpu = time.perf_counter(), time.process_time()
    vocabulary = vocabulary_of(paths)
    graphs = [graph for path in paths for graph in graphs_of(path, vocabulary)]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    x, edges, edge_attr, y = zip(*graphs)
    np.savez(out, x=np.concatenate(x), edges=np.concatenate(edges), edge_attr=np.concatenate(edge_attr), y=np.array(y))
    print(json.dumps({"wall": wall, "cpu": cpu, "graphs": len(graphs)}))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: pandas_graphs.py OUT.npz CAPTURE...")
    main(sys.argv[1], sys.argv[2:])
