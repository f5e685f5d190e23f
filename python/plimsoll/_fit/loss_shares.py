"""Computes the loss of a batch from the losses of its blocks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Data

from plimsoll._fit.steps import Loss, one_number
from plimsoll.errors import UsageError

_CLASS_LOSSES = (torch.nn.CrossEntropyLoss, torch.nn.NLLLoss)
_CLASS_FUNCTIONS = (torch.nn.functional.cross_entropy, torch.nn.functional.nll_loss)


class LossShares(NamedTuple):
    """How losses of blocks are combined into the loss of a batch: by a sum, or by a mean weighted by `share(y)`."""

    mean: bool = True
    weight: Tensor | None = None  #: f32 [classes], the weight of each class in `y`.
    ignore_index: int | None = None  #: The class that a loss over classes ignores.
    weights: Callable[[Data], Any] | None = None  #: Returns the share of a block, if `y` does not determine it.

    @property
    def counts_rows(self) -> bool:
        """Whether the share of targets is their number of rows."""
        return not self.mean or self.ignore_index is None

    @property
    def known_late(self) -> bool:
        """Whether shares are known only after a block has run."""
        return self.weights is not None

    def share(self, y: Tensor) -> float:
        """Returns the share of the targets `y`."""
        if self.counts_rows or y.is_floating_point():
            return float(len(y) if y.dim() else 1)
        y = y.long()  # torch would treat uint8 as a mask.
        counted = y != self.ignore_index
        if self.weight is None:
            return float(counted.sum())
        classes = y[counted]
        if classes.numel() and not 0 <= int(classes.min()) <= int(classes.max()) < len(self.weight):
            raise UsageError(
                f"the loss has weights of {len(self.weight)} classes, and y has the classes {int(classes.min())} to {int(classes.max())}; "
                f"expected one weight per class, and y from 0 to {len(self.weight) - 1}"
            )
        return float(self.weight.double()[classes].sum())

    @staticmethod
    def counted(_: Data) -> float:
        """Takes the place of `weights` if the loss returns a sum and a count."""
        raise AssertionError("the loss returns its own count")


def shares_of(loss: Loss) -> LossShares:
    """Returns how a loss is split, from its type and settings.

    Recognises torch's class losses, as modules, functions or a `functools.partial` of these. All others are assumed
    to be a mean over rows, or a sum if they have a `reduction` of "sum". Errors: `UsageError` for `reduction="none"`,
    and for a value that is not a function.
    """
    _require_function(loss)
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


def _require_function(loss: Any) -> None:
    if isinstance(loss, type) and issubclass(loss, torch.nn.Module):
        raise UsageError(f"loss is the class {loss.__name__}; expected an instance: loss={loss.__name__}()")
    if not callable(loss):
        raise UsageError(
            f"loss={loss!r}: expected a function of the model's output and y, such as torch.nn.functional.cross_entropy or mse_loss"
        )


def value_and_share(result: Any, batch: Data | None, y: Tensor, shares: LossShares) -> tuple[float, float]:
    """Returns the loss of a block and its share in that of the batch, from the result of the loss. Errors: `UsageError`."""
    value, share = loss_and_share(result, batch, y, shares)
    return float(value.detach()), share


def loss_and_share(result: Any, batch: Data | None, y: Tensor, shares: LossShares) -> tuple[Tensor, float]:
    """Returns the same with the loss as a tensor: a mean, or a sum if `shares.mean` is False.

    Errors: `UsageError` for a result that is neither a number nor a sum and a count.
    """
    if shares.weights is LossShares.counted:
        if not isinstance(result, tuple) or len(result) != 2:
            raise UsageError(f"loss returned {type(result).__name__} for one block, and a sum and a count for another; "
                             "expected the latter for all")
        total, count = one_number(result[0]), float(result[1])
        _require_weight(count, "the count that loss returned")
        return total / count if count else total * 0.0, count
    value = one_number(result)
    if shares.weights is None:
        return value, shares.share(torch.as_tensor(y))
    assert batch is not None
    return value, _weight(shares.weights(batch))


def _weight(given: Any) -> float:
    if isinstance(given, Tensor) and given.numel() != 1:
        raise UsageError(f"weights returned a tensor of shape {tuple(given.shape)}; expected one number for the batch, such as "
                         "its .sum()")
    try:
        weight = float(given)
    except (TypeError, ValueError):
        raise UsageError(f"weights returned {given!r}; expected one number for the batch") from None
    return _require_weight(weight, "the result of weights")


def _require_weight(weight: float, what: str) -> float:
    if not math.isfinite(weight) or weight < 0:
        raise UsageError(f"{what}: is {weight}; expected the number of items that the loss of the batch is a mean over, 0 or "
                         "more")
    return weight


def require_split(loss: Loss, out: Tensor, y: Tensor, shares: LossShares) -> None:
    """Compares the loss of some rows with that of halves of them, sorted by class if `y` has classes.

    `out` has the model's rows for the targets `y`. Errors: `UsageError` for a loss that is not the mean or the sum of
    its rows, such as one over pairs of rows.
    """
    rows = len(y) if y.dim() else 1
    if not isinstance(out, Tensor) or not out.dim() or len(out) != rows or rows < 2:
        return  # It is unknown which part of `out` belongs to which target.
    order = torch.arange(rows)
    if y.dim() == 1:
        order = torch.argsort(y, stable=True)
    # Rows without a target are sorted to one end, so that they are all in one half. Two splits, because the halves of
    # one may add up by chance.
    splits = (order[: rows // 2], order[rows // 2 :]), (order[::2], order[1::2])

    def values(out: Tensor) -> list[tuple[Tensor, float]]:
        found = []
        for some in (order, *splits[0], *splits[1]):
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                torch.default_generator.manual_seed(0)
                found.append(loss_and_share(loss(out[some], y[some]), None, y[some], shares))
        return found

    try:
        found = values(out.double() if out.is_floating_point() else out)
    except (RuntimeError, ValueError):  # The loss needs another dtype, such as that of its class weights.
        found = values(out.float() if out.is_floating_point() else out)
    # An untrained model may return nearly the same output for all graphs; a loss over pairs of rows is then tiny.
    floor = 1e-13 if found[0][0].dtype is torch.float64 else 1e-7
    if out.is_floating_point():
        floor *= float(out.abs().max())
    whole, *parts = [(float(value.detach()), share) for value, share in found]
    for first in (0, 2):
        require_sum(whole, parts[first : first + 2], rows, shares, 1e-5, floor, "rows")


def require_sum(
    whole: tuple[float, float],
    parts: Sequence[tuple[float, float]],
    count: int,
    shares: LossShares,
    tolerance: float,
    floor: float,
    items: str = "graphs",
) -> None:
    """Checks that the losses of parts add up to that of the whole. Each is a value and a share.

    They may differ by `tolerance`, relative to the whole, and by the rounding of terms that cancel, `floor`. Errors:
    `UsageError`.
    """
    total = sum((share if shares.mean else 1.0) * value for value, share in parts if share)
    denominator = sum(share for _, share in parts) if shares.mean else 1.0
    if not denominator or not math.isfinite(whole[0]):
        return
    if shares.mean and abs(denominator - whole[1]) > tolerance * abs(whole[1]):
        raise UsageError(
            f"the weight of {count} {items} is {whole[1]:.6g} but those of two parts add up to {denominator:.6g}; expected the "
            "same: "
            "weights, or the count that loss returns, is the number of items that the loss is a mean over"
        )
    if abs(total / denominator - whole[0]) <= tolerance * abs(whole[0]) + floor:
        return
    raise UsageError(
        f"the loss of {count} {items} is {whole[0]:.6g} but two parts give {total / denominator:.6g}: it is neither "
        "a mean over the rows of y nor a sum, so it cannot be computed block by block. For class weights and ignore_index, "
        "give torch.nn.CrossEntropyLoss(weight=...) itself, or functools.partial(cross_entropy, weight=...). For a mean over "
        "other "
        "items, such as those of a mask, give weights=lambda batch: batch.train_mask.sum(), or a loss that returns the sum and "
        "the count. "
        'For a loss over pairs of rows, give a block of the whole batch, block=plimsoll.BlockLimits(batch_size, ...), or '
        'reduction="sum"'
    )
