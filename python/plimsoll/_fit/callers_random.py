"""Preserves the caller's random generators while `plimsoll.fit` seeds them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


class CallersRandom:
    """Restores the generators of torch, of these GPUs, of Python's `random` and of NumPy when the `with` block ends."""

    def __init__(self, devices: Sequence[int]) -> None:
        self._devices = devices

    def __enter__(self) -> CallersRandom:
        self._state = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        self._set(self._state)

    @contextmanager
    def back(self) -> Iterator[None]:
        """Restores the caller's generators inside the block, for the caller's code."""
        own = self._now()
        self._set(self._state)
        try:
            yield
        finally:
            self._state = self._now()
            self._set(own)

    def _now(self) -> Any:
        devices = [torch.cuda.get_rng_state(device) for device in self._devices]
        return torch.get_rng_state(), devices, random.getstate(), np.random.get_state()

    def _set(self, state: Any) -> None:
        of_torch, devices, of_python, of_numpy = state
        torch.set_rng_state(of_torch)
        for device, of_device in zip(self._devices, devices):
            torch.cuda.set_rng_state(of_device, device)
        random.setstate(of_python)
        np.random.set_state(of_numpy)
