"""How the loss of a batch is split into those of its blocks."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from plimsoll import _other_random
from plimsoll._apart import drawing
from plimsoll.blocks import BlockList
from plimsoll.errors import UsageError
from plimsoll.graph_set import Graphs
from plimsoll.loss_shares import LossShares, require_split
from plimsoll.steps import Forward, Loss
from plimsoll.trial import copied


def counts(shares: LossShares, blocks: BlockList) -> NDArray[np.float64]:
    """What the loss of each graph is a mean over, f64 [G]: rows of its targets, or their classes' weights.

    Errors: `UsageError` where none of them counts.
    """
    found = _counts(shares, blocks)
    if not found.any():
        ignored = "" if shares.counts_rows else f": all are ignore_index={shares.ignore_index}, or of classes with the weight 0"
        raise UsageError(f"none of the targets in y counts in the loss{ignored}; expected one at least that does")
    return found


def _counts(shares: LossShares, blocks: BlockList) -> NDArray[np.float64]:
    dataset = blocks.dataset
    if shares.counts_rows or (isinstance(dataset, Graphs) and dataset.graph_set.target is not None):
        return blocks.targets.astype(np.float64)
    if isinstance(dataset, Graphs):
        y = torch.from_numpy(np.asarray(dataset.graph_set.y)[np.asarray(dataset.indices, np.int64)].astype(np.int64))
        return np.array([shares.share(target) for target in y.view(-1, 1)])
    _other_random.seed(blocks.seed)
    with drawing(blocks.seed):  # graphs may be random
        return np.array([shares.share(torch.as_tensor(dataset[i].y)) for i in range(len(dataset))])


def try_split(model: torch.nn.Module, blocks: BlockList, forward: Forward, loss: Loss, shares: LossShares) -> None:
    """Errors: `UsageError` for a loss that blocks cannot be summed up to. Each graph runs alone, as every block may, and is
    gone before the next."""
    some = np.unique(np.linspace(0, len(blocks.sizes) - 1, 64).astype(np.int64))
    seen: dict[tuple[float, ...], int] = {}  # how many graphs have these targets: classes differ, and each has pairs
    rows: list[tuple[Tensor, Tensor]] = []
    copy = copied(model).eval()
    for number in some:
        batch = blocks.load(np.array([number]))
        targets = tuple(torch.as_tensor(batch.y).flatten()[:8].tolist())
        seen[targets] = seen.get(targets, 0) + 1
        if seen[targets] <= 4:
            with torch.no_grad():
                out = forward(copy, batch)
            if not isinstance(out, Tensor) or not out.dim() or len(out) != len(batch.y):
                return  # nothing says which part of it is of which target
            few = torch.linspace(0, len(out) - 1, min(len(out), 64)).long()
            rows.append((out[few], batch.y[few]))
            del out
        del batch
        if len(rows) == 16:
            break
    outs, ys = zip(*rows)
    require_split(loss, torch.cat(outs), torch.cat(ys), shares)
