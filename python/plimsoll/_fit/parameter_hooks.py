"""Hooks of parameters' gradients, which see the gradient of a batch instead of those of its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

#: Attributes with the hooks of `Tensor.register_hook` and `Tensor.register_post_accumulate_grad_hook`.
_BEFORE, _AFTER = "_backward_hooks", "_post_accumulate_grad_hooks"


class ParameterHooks:
    """The hooks of some parameters, in the order in which they were registered."""

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self._parameters = parameters

    @contextmanager
    def off(self) -> Iterator[None]:
        """Keeps backward passes inside the block from calling the hooks."""
        kept = [(hooks, dict(hooks)) for parameter in self._parameters for hooks in _of(parameter)]
        for hooks, _ in kept:
            hooks.clear()
        try:
            yield
        finally:
            for hooks, before in kept:
                hooks.update(before)

    def run(self) -> None:
        """Calls the hooks with the parameters' gradients, as one backward pass would."""
        for parameter in self._parameters:
            if parameter.grad is None:
                continue
            for hook in list((getattr(parameter, _BEFORE, None) or {}).values()):
                if (changed := hook(parameter.grad)) is not None:
                    parameter.grad = changed
            for hook in list((getattr(parameter, _AFTER, None) or {}).values()):
                hook(parameter)


def _of(parameter: torch.Tensor) -> list[dict[int, Callable[..., Any]]]:
    return [hooks for name in (_BEFORE, _AFTER) if (hooks := getattr(parameter, name, None))]
