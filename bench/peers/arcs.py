"""Reads a graph of `source<TAB>target` lines, sorted by source, as neighbour lists."""

import subprocess

import numpy as np


def read_lists(path, nodes):
    """(indptr, indices): the targets of each source, int64. `path` is compressed by zstd."""
    text = subprocess.run(["zstd", "-dcq", str(path)], stdout=subprocess.PIPE, check=True).stdout
    arcs = np.array(text.split(), dtype=np.int64).reshape(-1, 2)
    degrees = np.bincount(arcs[:, 0], minlength=nodes)
    return np.concatenate(([0], np.cumsum(degrees))), arcs[:, 1].copy()
