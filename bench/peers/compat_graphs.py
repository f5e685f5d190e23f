"""The published KD-GAT window graphs in NumPy: written from their rules, sharing nothing with the C++ code.

    python bench/peers/compat_graphs.py CAPTURES      graphs, attack graphs, nodes and edges of each split

CAPTURES is a folder `<split>/<recording>.csv[.zst|.gz]`. The rules are those of the repository DQN-Fusion,
`graphids/core/preprocessing/engine.py`, faults included: rows are paired inside chunks of 5000 and the last
row of each chunk is lost, time is never read, the vocabulary holds attack frames, unseen IDs are one node.

Features are computed in float64 and rounded to float32 once, the two of degrees in float32. Sums of payload
bytes run in row order. This makes every value reproducible to the bit.
"""

import gzip
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import zstandard

CHUNK = 5000
WINDOW = 100
STRIDE = 100
FEATURES = 11
COLUMNS = ("node_ptr", "edge_ptr", "x", "edges", "edge_attr", "y")

COMMA, LINE_FEED = ord(","), ord("\n")
BLANK = np.isin(np.arange(256), list(b" \t\r"))
HEX = np.full(256, -1)
HEX[list(b"0123456789abcdef")] = HEX[list(b"0123456789ABCDEF")] = np.arange(16)


class Capture(NamedTuple):
    """The n frames of one recording, in file order."""

    ids: np.ndarray  # i64[n]
    data: np.ndarray  # u8[n,8], an absent byte is 0
    label: np.ndarray  # bool[n]


def read_bytes(path):
    """The text of a plain, `.zst` or `.gz` file."""
    with open(path, "rb") as file:
        if path.suffix == ".zst":
            return zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
        return gzip.decompress(file.read()) if path.suffix == ".gz" else file.read()


def fields(text, path):
    """Where the four fields of each row begin and end, two i64[n,4]: no header, no blanks around a field."""
    ends = np.flatnonzero(text == LINE_FEED)
    begins = np.append(0, ends[:-1] + 1)
    full = ends - begins > 1  # an empty line may hold a carriage return
    begins, ends = begins[full][1:], ends[full][1:]
    commas = np.flatnonzero(text == COMMA)
    commas = commas[np.searchsorted(commas, begins[0] if begins.size else text.size):]
    row = np.searchsorted(ends, commas)
    if not np.array_equal(row, np.repeat(np.arange(begins.size), 3)):
        raise ValueError(f"{path}: not every row has four columns")
    commas = commas.reshape(-1, 3)
    first, last = np.column_stack([begins, commas + 1]), np.column_stack([commas, ends])
    while (blank := (first < last) & BLANK[text[first]]).any():
        first += blank
    while (blank := (first < last) & BLANK[text[last - 1]]).any():
        last -= blank
    return first, last


def read_capture(path):
    """The Capture in a CSV file whose columns are, in order, time, hex ID, hex payload and label (0, 1)."""
    text = np.frombuffer(read_bytes(path) + b"\n", np.uint8)
    first, last = fields(text, path)

    def digit(column, k):
        """Hex digit k of a field [n], and which rows have one."""
        at = first[:, column] + k
        inside = at < last[:, column]
        value = HEX[text[np.where(inside, at, 0)]]
        if (inside & (value < 0)).any():
            raise ValueError(f"{path}: a field that should be hexadecimal is not")
        return value, inside

    ids = np.zeros(len(first), np.int64)
    for k in range(8):
        value, inside = digit(1, k)
        ids = np.where(inside, ids * 16 + value, ids)
    data = np.zeros((len(first), 8), np.uint8)
    for k in range(8):
        high, _ = digit(2, 2 * k)
        low, whole = digit(2, 2 * k + 1)
        data[:, k] = np.where(whole, high * 16 + low, 0)  # half a byte is none
    return Capture(ids, data, text[first[:, 3]] == ord("1"))


def read_captures(root):
    """{split: {file name: Capture}}, both in order of name."""
    splits = {}
    for path in sorted(Path(root).glob("*/*"), key=lambda path: (path.parent.name, path.name)):
        if path.name.endswith((".csv", ".csv.zst", ".csv.gz")):
            splits.setdefault(path.parent.name, {})[path.name] = read_capture(path)
    return splits


def vocabulary(splits):
    """The distinct IDs of all splits whose name begins with `train`, ascending: i64[K]."""
    train = [files for split, files in splits.items() if split.startswith("train")]
    ids = [capture.ids for files in train for capture in files.values()]
    return np.unique(np.concatenate(ids)) if ids else np.zeros(0, np.int64)


def pair(capture, vocab):
    """Source and target index i64[m] of each row with a successor in its chunk, its payload and its label."""
    known = np.isin(capture.ids, vocab)
    index = np.where(known, np.searchsorted(vocab, capture.ids), vocab.size)
    frames = index.size
    row = np.arange(frames)
    row = row[(row % CHUNK != CHUNK - 1) & (row != frames - 1)]
    return index[row], index[row + 1], capture.data[row], capture.label[row]


def window_graphs(capture, vocab):
    """The graphs of one recording, as the arrays of a graph set (COLUMNS)."""
    source, target, data, label = pair(capture, vocab)
    if not source.size:
        return empty()
    graphs = max(1, (source.size - WINDOW) // STRIDE + 1)
    width = min(WINDOW, source.size)
    row = (np.arange(graphs)[:, None] * STRIDE + np.arange(width)).ravel()
    graph, position = np.divmod(np.arange(row.size), width)
    y = label[row].reshape(graphs, width).any(axis=1).astype(np.int64)

    # A node is a pair (graph, ID index), an edge a pair of nodes; both are numbered in their sorted order.
    base = vocab.size + 1
    keys = np.concatenate([graph * base + source[row], graph * base + target[row]])
    nodes, node = np.unique(keys, return_inverse=True)
    source, target = node[:row.size], node[row.size:]
    pairs, edge = np.unique(source * nodes.size + target, return_inverse=True)
    node_graph, node_id = np.divmod(nodes, base)
    edge_source, edge_target = np.divmod(pairs, nodes.size)
    node_ptr = pointers(node_graph, graphs)
    edge_graph = node_graph[edge_source]

    local = np.column_stack([edge_source, edge_target]) - node_ptr[edge_graph, None]
    x = node_features(source, position, data[row], node_id, node_ptr, width)
    degree = np.bincount(source, minlength=nodes.size) + np.bincount(target, minlength=nodes.size)
    mutual = np.isin(edge_target * nodes.size + edge_source, pairs)
    edge_attr = edge_features(edge, position, mutual, degree[edge_source], degree[edge_target], width)
    return {"node_ptr": node_ptr, "edge_ptr": pointers(edge_graph, graphs), "x": x,
            "edges": local.astype(np.int32), "edge_attr": edge_attr, "y": y}


def node_features(source, position, data, node_id, node_ptr, width):
    """f32[N,11] over the rows a node sends: ID index, 8 byte means, min-max scaled count, last position."""
    nodes = node_id.size
    count = np.bincount(source, minlength=nodes)
    x = np.zeros((nodes, FEATURES))
    x[:, 0] = node_id
    for k in range(8):
        x[:, 1 + k] = np.bincount(source, data[:, k] / 255.0, nodes) / np.maximum(count, 1)
    low = np.repeat(np.minimum.reduceat(count, node_ptr[:-1]), np.diff(node_ptr))
    high = np.repeat(np.maximum.reduceat(count, node_ptr[:-1]), np.diff(node_ptr))
    x[:, 9] = np.where(high > low, (count - low) / np.maximum(high - low, 1), count)
    last = np.zeros(nodes, np.int64)
    np.maximum.at(last, source, position)
    x[:, 10] = last / max(width - 1, 1)
    return x.astype(np.float32)


def edge_features(edge, position, mutual, source_degree, target_degree, width):
    """f32[E,11]: count, share, gap mean and deviation, regularity, first, last, span, mutual; of the degrees
    product and ratio."""
    edges = mutual.size
    count = np.bincount(edge, minlength=edges)
    order = np.argsort(edge, kind="stable")
    begin = np.cumsum(count) - count
    first, last = position[order[begin]], position[order[begin + count - 1]]

    again = edge[order[1:]] == edge[order[:-1]]
    gap, gap_edge = np.diff(position[order])[again], edge[order[1:]][again]
    gaps = np.maximum(count - 1, 1)
    mean = np.bincount(gap_edge, gap, edges) / gaps
    variance = np.bincount(gap_edge, gap * gap, edges) / gaps - mean * mean
    deviation = np.sqrt(np.maximum(variance, 0.0))

    attr = np.empty((edges, FEATURES), np.float32)
    attr[:, 0] = count
    attr[:, 1] = count / width
    attr[:, 2] = mean
    attr[:, 3] = deviation
    attr[:, 4] = np.where(count > 1, 1.0 / (1.0 + deviation), 0.0)
    attr[:, 5] = first / width
    attr[:, 6] = last / width
    attr[:, 7] = (last - first) / width
    attr[:, 8] = mutual
    source_degree, target_degree = source_degree.astype(np.float32), target_degree.astype(np.float32)
    attr[:, 9] = source_degree * target_degree
    attr[:, 10] = source_degree / np.maximum(target_degree, np.float32(1e-8))
    return attr


def pointers(owner, owners):
    """i64[owners+1]: where the rows of each owner begin, the owners of rows being ascending."""
    return np.append(0, np.cumsum(np.bincount(owner, minlength=owners))).astype(np.int64)


def empty():
    """A graph set of no graphs."""
    return {"node_ptr": np.zeros(1, np.int64), "edge_ptr": np.zeros(1, np.int64),
            "x": np.zeros((0, FEATURES), np.float32), "edges": np.zeros((0, 2), np.int32),
            "edge_attr": np.zeros((0, FEATURES), np.float32), "y": np.zeros(0, np.int64)}


def concatenate(parts):
    """Graph sets one after the other."""
    parts = [empty(), *parts]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}
    for name in ("node_ptr", "edge_ptr"):
        sizes = np.concatenate([np.diff(part[name]) for part in parts])
        whole[name] = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return whole


def compat_graphs(splits):
    """{split: {file name: graph set}} of what `read_captures` gives, over the vocabulary of training."""
    vocab = vocabulary(splits)
    return {split: {name: window_graphs(capture, vocab) for name, capture in files.items()}
            for split, files in splits.items()}


def flatten(graphs):
    """One graph set of all recordings of all splits: what `plimsoll windows --features compat` writes."""
    return concatenate([part for files in graphs.values() for part in files.values()])


def main(root):
    begin = time.perf_counter()
    splits = read_captures(root)
    if not splits:
        sys.exit(f"{root}: no <split>/<recording>.csv[.zst|.gz] below it")
    for split, files in compat_graphs(splits).items():
        part = concatenate(files.values())
        print(f"{split:40} {part['y'].size:8,} graphs {part['y'].sum():8,} attack graphs "
              f"{len(part['x']):10,} nodes {len(part['edges']):10,} edges")
    print(f"{time.perf_counter() - begin:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: compat_graphs.py CAPTURES")
    main(sys.argv[1])
