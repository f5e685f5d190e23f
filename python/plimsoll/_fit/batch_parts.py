"""Splits a batch into parts with the same graphs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data


def parts_of(batch: Data, counts: Iterable[int]) -> list[Data]:
    """Returns batches of the first graphs of a batch, the next ones, and so on.

    `counts` has the number of graphs of each. They have the same `follow_batch`.
    """
    if not isinstance(batch, Batch):
        return [batch]
    graphs, follow = graphs_in(batch), followed(batch.keys())
    parts, first = [], 0
    for count in counts:
        parts.append(Batch.from_data_list(graphs[first : first + count], follow_batch=follow))
        first += count
    return parts


def followed(keys: Sequence[str]) -> list[str]:
    """Returns the fields in `follow_batch` with which a batch with these keys was made."""
    names = [key.removesuffix("_batch") for key in keys if key.endswith("_batch")]
    return [name for name in names if f"{name}_ptr" in keys]


def graphs_in(batch: Batch) -> list[Data]:
    """Returns the graphs of a batch, including torch's sparse adjacencies, which PyTorch Geometric does not split."""
    sparse = {name: value for name, value in batch.to_dict().items() if isinstance(value, Tensor) and is_sparse(value)}
    dense = copy(batch)
    for name in sparse:
        del dense[name]
    graphs: list[Data] = dense.to_data_list()
    for name, value in sparse.items():
        for graph, part in zip(graphs, _blocks_of(value, batch._slice_dict[name])):
            graph[name] = part
    return graphs


def is_sparse(value: Tensor) -> bool:
    return value.layout is not torch.strided


def _blocks_of(value: Tensor, cuts: Tensor) -> list[Tensor]:
    """Returns the blocks on the diagonal of a sparse matrix, in its layout. `cuts` i64 [G + 1, 2] has their first rows
    and columns.
    """
    rows = value.to_sparse_csr()
    pointers, columns, values = rows.crow_indices(), rows.col_indices(), rows.values()
    blocks = []
    for (row, column), (next_row, next_column) in zip(cuts.tolist(), cuts[1:].tolist()):
        first, last = int(pointers[row]), int(pointers[next_row])
        block = torch.sparse_csr_tensor(
            pointers[row : next_row + 1] - first, columns[first:last] - column, values[first:last],
            (next_row - row, next_column - column), check_invariants=False,
        )  # fmt: skip
        blocks.append(block if value.layout is torch.sparse_csr else block.to_sparse(layout=value.layout))
    return blocks
