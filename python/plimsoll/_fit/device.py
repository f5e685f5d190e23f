"""The GPU of this process, of which there is at most one, kept within a budget from the first call on."""

from __future__ import annotations

import functools
import gc
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from plimsoll import _torch
from plimsoll.arguments import Budget, budget_text
from plimsoll.errors import UsageError

_open: _torch.Device | None = None


def device_of(device: str, budget: Budget) -> _torch.Device | None:
    """Returns the GPU, kept within the budget; None for "cpu".

    Without a budget the current one stays in force; the first call without one may use all free memory. Errors:
    `UsageError` if there is no GPU, if torch has used it before, and for another budget while tensors are on it;
    `BudgetExceeded` if driver and libraries alone exceed the budget.
    """
    global _open
    if device == "cpu":
        if budget is not None:
            raise UsageError('a device budget needs a GPU: add device="cuda"')
        return None
    if not re.fullmatch(r"cuda(:\d+)?", device):
        raise UsageError(f"device={device!r}: expected 'cpu', 'cuda' or 'cuda:N'")
    if _open is None:
        if torch.cuda.is_initialized():
            raise UsageError(
                "torch already uses the GPU in this process, with its own allocator; enter the budget before the first tensor "
                'on it: plimsoll.budget("8GiB", device="cuda") at the start of the program'
            )
        opened = _torch.open_cuda(device, budget_text(budget))
        torch.cuda.init()
        _open = opened
    if device not in ("cuda", _open.torch) and _open.torch != "cpu":
        raise UsageError(f"device={device!r}: this process has its budget on {_open.torch} and can use only one GPU; start "
                         "another process")
    if budget is not None:
        gc.collect()  # Frees tensors in reference cycles.
        _open.resize(budget_text(budget))
    return _open


def card_of(model: str, device: str, budget: Budget) -> tuple[_torch.Device, int]:
    """Returns a stand-in for a GPU of this model, which need not be in this machine, and the bytes of the budget there.

    Its context is that of an H200, with a margin if nobody measured that of the model. Tensors on it are in host memory,
    at most half of the machine's. Errors: `UsageError` for another device than "cuda", an unknown model, which names the
    nearest, and a budget above the card.
    """
    if not re.fullmatch(r"cuda(:\d+)?", device):
        raise UsageError(f'device_model={model!r} is for a GPU: add device="cuda"')
    allowed, outside = _torch.model_of_gpu(model, budget_text(budget))
    # The stand-in has the memory of the whole card, so that a plan above the budget can name the smallest one.
    whole, _ = _torch.model_of_gpu(model, "")
    host = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    return _stand_in(min(whole, outside + host), outside), allowed


_stand_ins: dict[tuple[int, int], _torch.Device] = {}


def _stand_in(total: int, outside: int) -> _torch.Device:
    """Returns an empty stand-in, an earlier one if possible, because none is destroyed: a tensor on it may outlive all
    Python objects that refer to it.
    """
    found = _stand_ins.get((total, outside))
    if found is None or found.in_use > 0:
        found = _stand_ins[total, outside] = _torch.stand_in(total, outside)
    return found


@contextmanager
def on_device(device: _torch.Device) -> Iterator[None]:
    """Puts tensors of this thread on the device inside the block: those with `device.torch`, or all if it is
    emulated.
    """
    device.enter()
    try:
        yield
    finally:
        device.leave()


@contextmanager
def same_bits_each_time() -> Iterator[None]:
    """Makes GPU operators deterministic inside the block.

    torch refuses operators that are not deterministic and names them. Backward passes run in the calling thread.
    """
    before, warns = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    try:
        with torch.autograd.set_multithreading_enabled(False):
            yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warns)
        torch.utils.deterministic.fill_uninitialized_memory = filled


def generators(device: _torch.Device | None) -> list[int]:
    """Returns the GPUs whose generators torch uses in addition to the CPU's, for `torch.random.fork_rng`."""
    return [] if device is None or device.torch == "cpu" else [torch.device(device.torch).index]


def seed(device: _torch.Device, value: int) -> None:
    """Seeds torch's generators of the CPU and the device."""
    torch.default_generator.manual_seed(value)
    for index in generators(device):
        torch.cuda.default_generators[index].manual_seed(value)


def moved(value: Any, device: _torch.Device) -> Any:
    """Returns a copy of a tensor, or of a batch with all its tensors, on the device."""
    if isinstance(value, Tensor):
        return value.to(device.torch, copy=True)
    return copy(value).apply(lambda tensor: tensor.to(device.torch, copy=True)) if isinstance(value, Data) else value


def loss_on(loss: Any, device: _torch.Device) -> Any:
    """Returns the loss with its class weights on the device; `loss` may be a module of torch or a `functools.partial`."""
    if isinstance(loss, functools.partial):
        arguments = [moved(value, device) for value in loss.args]
        keywords = {name: moved(value, device) for name, value in loss.keywords.items()}
        return functools.partial(loss_on(loss.func, device), *arguments, **keywords)
    return deepcopy(loss).to(device.torch) if isinstance(loss, torch.nn.Module) else loss
