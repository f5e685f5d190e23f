"""How the loss of a batch comes from the losses of its blocks."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from plimsoll.errors import UsageError
from plimsoll.steps import Loss, one_number

_CLASS_LOSSES = (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss)
_CLASS_FUNCTIONS = (torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss)


class LossShares(NamedTuple):
    """The loss of a batch is the sum of its blocks' losses; for a mean, each times `share(y)` and divided by the sum of
    the shares."""

    mean: bool = True
    weight: Tensor | None = None  #: f32 [classes], of `y`'s classes
    ignore_index: int | None = None  #: of a loss over classes, the one that does not count

    @property
    def counts_rows(self) -> bool:
        """Whether the share of targets is how many rows they have."""
        return not self.mean or self.ignore_index is None

    def share(self, y: Tensor) -> float:
        if self.counts_rows or y.is_floating_point():
            return float(len(y) if y.dim() else 1)
        counted = y != self.ignore_index
        if self.weight is None:
            return float(counted.sum())
        return float(self.weight.double()[y[counted]].sum())


def shares_of(loss: Loss) -> LossShares:
    """What a loss says of itself: torch's class losses, as modules, functions or a `functools.partial` of these.
    Others are taken for a plain mean over rows, or a sum where they have a `reduction` of "sum".

    Errors: `UsageError` for `reduction="none"`.
    """
    keywords: dict[str, Any] = {}
    inner: Any = loss
    while isinstance(inner, functools.partial):
        keywords = {**inner.keywords, **keywords}
        inner = inner.func
    is_module = isinstance(inner, torch.nn.Module)

    def setting(name: str, default: Any) -> Any:
        return getattr(inner, name, default) if is_module else keywords.get(name, default)

    reduction = setting("reduction", "mean")
    if reduction == "none":
        raise UsageError('the loss has reduction="none"; expected "mean" or "sum", one number for a batch')
    if reduction == "sum":
        return LossShares(mean=False)
    if isinstance(inner, _CLASS_LOSSES) or inner in _CLASS_FUNCTIONS:
        return LossShares(weight=setting("weight", None), ignore_index=setting("ignore_index", -100))
    return LossShares()


def require_split(loss: Loss, out: Tensor, y: Tensor, shares: LossShares) -> None:
    """Compares the loss of some rows with that of their halves, by classes where `y` has them.

    `out` are the model's rows for the targets `y`. Errors: `UsageError` for a loss that is something else than the
    mean or the sum of its rows, such as one over pairs of rows.
    """
    rows = len(y) if y.dim() else 1
    if not isinstance(out, Tensor) or not out.dim() or len(out) != rows or rows < 2:
        return  # nothing says which part of `out` is of which target
    order = torch.arange(rows)
    if y.dim() == 1:
        order = torch.argsort(y, stable=True)
    halves = order[: rows // 2], order[rows // 2 :]

    def value(rows: Tensor) -> float:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.default_generator.manual_seed(0)
            return float(one_number(loss(out[rows], y[rows])))

    whole = value(order)
    parts = [(shares.share(y[half]), half) for half in halves]
    total = sum((share if shares.mean else 1.0) * value(half) for share, half in parts if share)
    denominator = sum(share for share, _ in parts) if shares.mean else 1.0
    if not denominator or not math.isfinite(whole):
        return
    if abs(total / denominator - whole) <= 1e-5 * abs(whole) + 1e-6:
        return
    raise UsageError(
        f"the loss of {rows} rows is {whole:.6g} and that of their halves comes to {total / denominator:.6g}: it is neither "
        "a mean over the rows of y nor a sum, so that it cannot be taken block by block. Class weights and ignore_index: "
        "give torch.nn.CrossEntropyLoss(weight=...) itself, or functools.partial(cross_entropy, weight=...). A loss over "
        'pairs of rows: a block of the whole batch, block=plimsoll.BlockLimits(batch_size, ...), or a loss with reduction="sum"'
    )
