"""How the loss of a batch is split into those of its blocks."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Batch, Data

from plimsoll.blocks import BlockList
from plimsoll.graph_set import Graphs
from plimsoll.loss_shares import LossShares, require_split
from plimsoll.steps import Forward, Loss
from plimsoll.trial import copied


def counts(shares: LossShares, blocks: BlockList) -> NDArray[np.float64]:
    """What the loss of each graph is a mean over, f64 [G]: rows of its targets, or their classes' weights."""
    if shares.counts_rows:
        return blocks.targets.astype(np.float64)
    dataset = blocks.dataset
    if isinstance(dataset, Graphs):
        y = torch.from_numpy(np.asarray(dataset.graph_set.y)[np.asarray(dataset.indices, np.int64)].astype(np.int64))
        return np.array([shares.share(target) for target in y.view(-1, 1)])
    return np.array([shares.share(torch.as_tensor(dataset[i].y)) for i in range(len(dataset))])


def try_split(model: torch.nn.Module, blocks: BlockList, forward: Forward, loss: Loss, shares: LossShares) -> None:
    """Errors: `UsageError` for a loss that blocks cannot be summed up to. Each graph runs alone, as every block may."""
    dataset = blocks.dataset
    get = dataset.to_pyg if isinstance(dataset, Graphs) else dataset.__getitem__
    some = np.unique(np.linspace(0, len(blocks.sizes) - 1, 64).astype(np.int64))
    seen: dict[tuple[float, ...], int] = {}  # how many graphs have these targets: classes differ, and each has pairs
    graphs: list[Data] = []
    for number in some:
        data = get(int(number))
        targets = tuple(torch.as_tensor(data.y).flatten()[:8].tolist())
        seen[targets] = seen.get(targets, 0) + 1
        if seen[targets] <= 4:
            graphs.append(data)
        if len(graphs) == 16:
            break
    batches = [Batch.from_data_list([data]) for data in graphs]
    copy = copied(model).eval()
    with torch.no_grad():
        outs = [forward(copy, batch) for batch in batches]
    if all(isinstance(out, torch.Tensor) and out.dim() for out in outs):
        require_split(loss, torch.cat(outs), torch.cat([batch.y for batch in batches]), shares)
