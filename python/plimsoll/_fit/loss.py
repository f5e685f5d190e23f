"""Tests whether the loss of a batch can be split into losses of its blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from plimsoll._fit.batch_parts import parts_of
from plimsoll._fit.blocks import BlockList
from plimsoll._fit.loss_shares import LossShares, require_sum, require_split, value_and_share
from plimsoll._fit.plain_forward import batch_in_double, draws, in_double, plain
from plimsoll._fit.steps import Forward, Loss
from plimsoll._fit.trial import copied
from plimsoll.errors import BudgetExceeded, UsageError

_GRAPHS = 16  # maximum groups of graphs whose rows are compared
_UNUSUAL = 4  # maximum graphs with missing targets to try


def counts(shares: LossShares, blocks: BlockList) -> NDArray[np.float64]:
    """Returns the number of items the loss of each graph is a mean over, f64 [G]: rows of its targets, or their classes'
    weights.

    Errors: `UsageError` if all are 0.
    """
    if shares.weights is not None:
        return np.ones(len(blocks.sizes))  # The numbers are known only after a block has run.
    if not blocks.shares.any():
        ignored = "" if shares.counts_rows else f": all are ignore_index={shares.ignore_index}, or of classes with weight 0"
        raise UsageError(f"none of the targets in y counts in the loss{ignored}; expected at least one that does")
    return blocks.shares


def try_split(model: torch.nn.Module, blocks: BlockList, forward: Forward, loss: Loss, shares: LossShares) -> LossShares:
    """Returns how the loss is split: `shares`, changed if the loss returns a sum and a count.

    The loss is tried in the mode in which it will run, without dropout. A model that draws other random numbers is
    tried in evaluation mode. Errors: `UsageError` for a loss that is not the sum of the losses of blocks.
    """
    run = plain(forward)
    copy = copied(model).train()
    some = _graphs_to_try(blocks)
    first = blocks.load(some[: blocks.min_graphs])
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        if draws(copy, first, run):
            copy.eval()
        out = run(copy, first)
        if isinstance(loss(out, first.y), tuple):
            shares = shares._replace(weights=LossShares.counted)
        if shares.weights in (None, LossShares.counted) and _has_rows(out, first):
            del out, first
            _try_rows(copy, blocks, some, run, loss, shares)
        else:
            del out, first
            _try_whole(copy, blocks, some, run, loss, shares)
    return shares


def _graphs_to_try(blocks: BlockList) -> NDArray[np.int64]:
    """Returns up to 64 graphs and some with unusual targets, which come first."""
    count = len(blocks.sizes)
    unusual = np.flatnonzero(blocks.unusual)[:_UNUSUAL]
    spread = np.unique(np.linspace(0, count - 1, 64).astype(np.int64))
    return np.concatenate([unusual, spread[~np.isin(spread, unusual)]])


def _has_rows(out: object, batch: Data) -> bool:
    return isinstance(out, Tensor) and out.dim() > 0 and len(out) == len(torch.atleast_1d(batch.y))


def _try_rows(
    copy: torch.nn.Module, blocks: BlockList, some: NDArray[np.int64], run: Forward, loss: Loss, shares: LossShares
) -> None:
    """Compares losses of rows of the output. Graphs run in small groups, each of which is freed before the next."""
    seen: dict[tuple[float, ...], int] = {}  # Number of groups with these targets, at most 4, so that classes differ and each has pairs.
    rows: list[tuple[Tensor, Tensor]] = []
    for number in range(0, len(some), blocks.min_graphs):
        graphs = some[number : number + blocks.min_graphs]
        if len(graphs) < blocks.min_graphs:
            break
        batch = blocks.load(graphs)
        targets = tuple(torch.as_tensor(batch.y).flatten()[:8].tolist())
        seen[targets] = seen.get(targets, 0) + 1
        if seen[targets] <= 4:
            out = run(copy, batch)
            if not _has_rows(out, batch):
                return  # It is unknown which part of the output belongs to which target.
            few = torch.linspace(0, len(out) - 1, min(len(out), 64)).long()
            rows.append((out[few], batch.y[few]))
            del out
        del batch
        if len(rows) == _GRAPHS:
            break
    outs, ys = zip(*rows)
    require_split(loss, torch.cat(outs), torch.cat(ys), shares)


def _try_whole(
    copy: torch.nn.Module, blocks: BlockList, some: NDArray[np.int64], run: Forward, loss: Loss, shares: LossShares
) -> None:
    """Compares the loss of a few graphs with the losses of the same graphs in two parts."""
    model, convert = in_double(copy), batch_in_double
    for first, second in _pairs(some, blocks.min_graphs):
        whole = blocks.load(np.concatenate([first, second]))
        values = []
        for batch in (whole, *parts_of(whole, (len(first), len(second)))):
            if convert is batch_in_double:
                try:
                    out = run(model, convert(batch))
                except BudgetExceeded:
                    raise
                except RuntimeError:  # The model itself converts tensors to a fixed dtype.
                    model, convert = copy, Data.clone
            if convert is not batch_in_double:
                out = run(model, convert(batch))
            values.append(value_and_share(loss(out, batch.y), batch, batch.y, shares))
        tolerance, floor = (1e-6, 1e-10) if convert is batch_in_double else (1e-3, 1e-6)
        require_sum(values[0], values[1:], len(first) + len(second), shares, tolerance, floor)


def _pairs(some: NDArray[np.int64], min_graphs: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yields pairs of parts of different sizes, so that a mean over graphs differs from a mean over parts."""
    for start in range(0, min(len(some), 4 * 3 * min_graphs), 3 * min_graphs):
        few = some[start : start + 3 * min_graphs]
        if len(few) < 2 * min_graphs:
            return
        yield few[:min_graphs], few[min_graphs:]
