"""Batch norm for a batch that runs in blocks: statistics, and gradients through them, are those of the whole batch.

A model that calls batch norm k times makes 2 k + 1 passes over the blocks of a batch: k passes forward, each to the
next call, to sum its mean and variance; one to the loss, with these statistics as constants; and k backward passes,
each from one call, the last one first, with the gradient with respect to its statistics. A pass ends at its call and
needs the memory of one block. The derivatives are those of Ioffe and Szegedy, "Batch Normalization", 2015, section 3,
split into the part through x and the part through mean and variance.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch_geometric.data import Data

from plimsoll._fit.steps import Forward
from plimsoll.errors import UsageError

_SIGNATURE = inspect.signature(F.batch_norm)
#: Identifies a call in every forward pass of a model: the first tensor of its module, and how many calls have used it.
Key: TypeAlias = tuple[int, int]


class Call(NamedTuple):
    """One call of batch norm that computes statistics."""

    x: Tensor
    running_mean: Tensor | None
    running_var: Tensor | None
    weight: Tensor | None
    bias: Tensor | None
    training: bool
    momentum: float
    eps: float

    def normalised(self, mean: Tensor, var: Tensor) -> Tensor:
        normalised: Tensor = _Normalise.apply(self.x, mean, var, self.weight, self.bias, self.eps)
        return normalised


class _Normalise(torch.autograd.Function):  # type: ignore[misc]
    """Batch norm with given mean and variance, f64 [C], which receive gradients too."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mean: Tensor, var: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> Tensor:
        dtype = x.dtype if weight is None else weight.dtype
        mean, var = mean.to(dtype), var.to(dtype)
        ctx.save_for_backward(x, mean, var, weight)
        ctx.eps, ctx.biased = eps, bias is not None
        normalised: Tensor = torch.native_batch_norm(x, weight, bias, mean, var, False, 0.0, eps)[0]
        return normalised

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, mean, var, weight = ctx.saved_tensors
        # The kernel computes the weight's gradient only if there is a weight, so use ones if the layer has none.
        scale = torch.ones_like(mean) if weight is None else weight
        by_x, by_weight, by_bias = torch.ops.aten.native_batch_norm_backward(
            grad.contiguous(), x, scale, mean, var, None, None, False, ctx.eps, [ctx.needs_input_grad[0], True, True]
        )
        inverse = (var.double() + ctx.eps).rsqrt()
        by_mean = -scale.double() * inverse * by_bias.double()
        by_var = -0.5 * scale.double() * inverse.square() * by_weight.double()
        return by_x, by_mean, by_var, None if weight is None else by_weight, by_bias if ctx.biased else None, None


class BatchNormCalls(TorchFunctionMode):  # type: ignore[misc]
    """Calls `on_call` in place of batch norm that computes statistics of its input, for the calling thread."""

    def __init__(self, on_call: Callable[[Key, Call], Tensor]) -> None:
        super().__init__()
        self._on_call = on_call
        self._times: dict[int, int] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not F.batch_norm:
            return func(*args, **(kwargs or {}))
        bound = _SIGNATURE.bind(*args, **(kwargs or {}))
        bound.apply_defaults()
        call = Call(*bound.arguments.values())
        if not call.training:
            return func(*args, **(kwargs or {}))
        own = next((id(tensor) for tensor in call[1:5] if tensor is not None), 0)
        self._times[own] = times = self._times.get(own, 0) + 1
        return self._on_call((own, times), call)


def with_given_statistics(forward: Forward) -> Forward:
    """Returns the same forward pass with mean 0 and variance 1 as the statistics of batch norm.

    A step has the same allocations as one of `BatchStatistics`, and works on one graph.
    """

    def given(model: torch.nn.Module, batch: Data) -> Any:
        with BatchNormCalls(lambda _, call: call.normalised(*_unit(call))):
            return forward(model, batch)

    return given


def _unit(call: Call) -> tuple[Tensor, Tensor]:
    zeros = torch.zeros(call.x.shape[1], dtype=torch.float64)
    return zeros.requires_grad_(), torch.ones_like(zeros).requires_grad_()


class _Reached(BaseException):
    """Ends a forward pass at a call. Not an `Exception`, because a model might catch that."""

    def __init__(self, call: Call) -> None:
        self.call = call


@dataclass
class _Site:
    """The statistics of one call over a batch. All sums are f64 [C]."""

    key: Key
    call: Call  #: The call, without its input.
    count: float = 0.0
    mean: Tensor = field(default_factory=lambda: torch.zeros(()))
    squares: Tensor = field(default_factory=lambda: torch.zeros(()))  #: Sum of squared distances from the mean.
    by_mean: Tensor | None = None  #: Gradient of the loss with respect to the mean.
    by_var: Tensor | None = None  #: Gradient of the loss with respect to the variance.

    def add(self, count: float, mean: Tensor, var: Tensor) -> None:
        """Adds the statistics of a block (Chan, Golub and LeVeque, 1979, equation 2.1)."""
        total = self.count + count
        if not total:
            return
        delta = mean.double() - self.mean
        self.squares = self.squares + var.double() * count + delta.square() * (self.count * count / total)
        self.mean = self.mean + delta * (count / total)
        self.count = total

    def add_gradient(self, by_mean: Tensor | None, by_var: Tensor | None) -> None:
        if by_mean is not None:
            self.by_mean = by_mean if self.by_mean is None else self.by_mean + by_mean
        if by_var is not None:
            self.by_var = by_var if self.by_var is None else self.by_var + by_var

    @property
    def var(self) -> Tensor:
        return self.squares / self.count

    def gradient_by(self, x: Tensor) -> Tensor | None:
        """Returns the gradient that reaches these rows of the input through the statistics, in the shape of `x`."""
        if self.by_mean is None or self.by_var is None:
            return None
        shape = (1, -1, *[1] * (x.dim() - 2))
        gradient = x.detach() - self.mean.to(x.dtype).view(shape)
        gradient.mul_((2.0 * self.by_var / self.count).to(x.dtype).view(shape))
        gradient.add_((self.by_mean / self.count).to(x.dtype).view(shape))
        return gradient

    def update_running(self, momentum: float) -> None:
        """Updates the running statistics as torch.nn.BatchNorm does in a step on the whole batch."""
        if self.call.running_mean is None or self.call.running_var is None:
            return
        self.call.running_mean.mul_(1 - momentum).add_((momentum * self.mean).to(self.call.running_mean.dtype))
        unbiased = self.squares / (self.count - 1)
        self.call.running_var.mul_(1 - momentum).add_((momentum * unbiased).to(self.call.running_var.dtype))


#: Tensors and a number: gradients and a loss, or statistics and their number of rows.
Result: TypeAlias = tuple[Sequence[Tensor | None], float]


class BatchStatistics:
    """The batch norms of a model during one step on a batch, inside `with`.

    `advance` runs blocks forward to the next call, `forward` through all of them, and `back` from the last call whose
    statistics have not yet received their gradient. Between passes, `add_*` adds the results of the blocks, in order.
    Several threads may run blocks of one pass.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model
        self._sites: list[_Site] = []
        self._reached: dict[int, Call] = {}
        self._keys: dict[int, Key] = {}
        self._norms = {id(norm.running_mean): norm for norm in model.modules() if is_batch_norm(norm)}
        self._tracked: dict[torch.nn.Module, Tensor] = {}

    def __enter__(self) -> BatchStatistics:
        # A pass over a block is not a step, so modules must not count it.
        self._tracked = uncounted(self._norms.values())
        return self

    def __exit__(self, *_: object) -> None:
        for norm, tracked in self._tracked.items():
            norm.num_batches_tracked = tracked

    # Forward, to the next call.

    def advance(self, forward: Forward, batch: Data) -> Result:
        """Returns the mean and variance of the next call's input, f64 [C] or its dtype, and the number of rows."""
        with torch.no_grad():
            reached = self._run_to(len(self._sites), self._numbers(), forward, batch)
        if reached is None:
            raise _differs()
        self._reached.setdefault(len(self._sites), reached._replace(x=torch.empty(0)))
        x = reached.x
        if x.dtype in (torch.float16, torch.bfloat16):
            x = x.float()
        dims = [dim for dim in range(x.dim()) if dim != 1]
        rows = x.numel() // max(x.shape[1], 1)
        if not rows:
            return [torch.zeros(x.shape[1]), torch.zeros(x.shape[1])], 0.0
        var, mean = torch.var_mean(x, dims, correction=0)
        return [mean, var], float(rows)

    def add_statistics(self, results: Iterable[Result]) -> None:
        """Completes a call with the statistics of all blocks. Errors: `UsageError` for a batch of one row."""
        site: _Site | None = None
        for (mean, var), count in results:
            assert mean is not None and var is not None
            if site is None:
                number = len(self._sites)
                site = _Site(self._keys[number], self._reached[number])
            site.add(count, mean, var)
        assert site is not None
        if site.count <= 1:
            raise UsageError(
                "batch norm: found one row in the whole batch, expected at least two; choose a batch_size that leaves no "
                "last batch of one graph"
            )
        self._sites.append(site)

    # Forward to the loss, with given statistics.

    def forward(self, forward: Forward, batch: Data) -> tuple[Any, list[Tensor]]:
        """Returns the model's output, and the leaf tensors for mean and variance of each call, which receive gradients."""
        leaves = self._leaves(len(self._sites))
        with BatchNormCalls(self._normalised(leaves, -1)):
            out = forward(self._model, batch)
        return out, leaves

    def add_gradients(self, by_statistics: Sequence[Tensor | None]) -> None:
        """Adds the gradients of a block with respect to the leaves of `forward` or `back`."""
        for site, by_mean, by_var in zip(self._sites, by_statistics[::2], by_statistics[1::2]):
            site.add_gradient(by_mean, by_var)

    # Backward from a call, the last one first.

    def back(self, number: int, parameters: Sequence[Tensor], forward: Forward, batch: Data) -> list[Tensor | None]:
        """Returns gradients of the loss with respect to parameters, then to statistics of earlier calls, through the
        statistics of call `number`.
        """
        leaves = self._leaves(number)
        inputs = [*parameters, *leaves]
        reached = self._run_to(number, leaves, forward, batch)
        if reached is None:
            raise _differs()
        gradient = self._sites[number].gradient_by(reached.x)
        if gradient is None or not reached.x.requires_grad:
            return [None] * len(inputs)
        return list(torch.autograd.grad(reached.x, inputs, gradient, allow_unused=True))

    def end(self) -> None:
        """Updates running statistics, once for the batch."""
        for site in self._sites:
            momentum, norm = site.call.momentum, self._norms.get(id(site.call.running_mean))
            if norm is not None and (tracked := self._tracked.get(norm)) is not None:
                tracked.add_(1)
                if norm.momentum is None:
                    momentum = 1.0 / float(tracked)
            site.update_running(momentum)

    def _leaves(self, count: int) -> list[Tensor]:
        return [number.detach().requires_grad_() for site in self._sites[:count] for number in (site.mean, site.var)]

    def _numbers(self) -> list[Tensor]:
        return [number for site in self._sites for number in (site.mean, site.var)]

    def _run_to(self, number: int, known: list[Tensor], forward: Forward, batch: Data) -> Call | None:
        try:
            with BatchNormCalls(self._normalised(known, number)):
                forward(self._model, batch)
        except _Reached as reached:
            return reached.call
        return None

    def _normalised(self, known: list[Tensor], until: int) -> Callable[[Key, Call], Tensor]:
        calls = iter(range(1 << 30))

        def on_call(key: Key, call: Call) -> Tensor:
            number = next(calls)
            if self._keys.setdefault(number, key) != key:
                raise _differs()
            if number == until:
                raise _Reached(call)
            if 2 * number >= len(known):
                raise _differs()
            return call.normalised(known[2 * number], known[2 * number + 1])

        return on_call


def _differs() -> UsageError:
    return UsageError(
        "batch norm: the blocks of a batch call different layers, or in a different order; expected the same calls in each "
        "block. Give "
        'block=plimsoll.BlockLimits(...) that holds a whole batch, or couples="allow" to use the statistics of blocks'
    )


def uncounted(norms: Iterable[torch.nn.Module]) -> dict[torch.nn.Module, Tensor]:
    """Removes the step counters of batch norm modules and returns them."""
    tracked = {norm: norm.num_batches_tracked for norm in norms if norm.num_batches_tracked is not None}
    for norm in tracked:
        norm.num_batches_tracked = None
    return tracked


def is_batch_norm(module: torch.nn.Module) -> bool:
    """Returns whether a module is a batch norm of torch, which computes statistics of its input in training mode."""
    return isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
