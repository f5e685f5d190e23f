"""Bounds the memory of models that choose at random which operations run, such as those with stochastic depth."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch_geometric.data import Data

from plimsoll._fit import other_random
from plimsoll._fit.callers_random import CallersRandom
from plimsoll._fit.plain_forward import draws, plain
from plimsoll._fit.trial import Draws, Tape, Trial
from plimsoll.errors import BudgetExceeded

_UNIFORM = {torch.rand, torch.rand_like, torch.Tensor.uniform_}
_BERNOULLI = {torch.bernoulli, torch.Tensor.bernoulli, torch.Tensor.bernoulli_}
_WORDS = 624  # 32-bit words of state in the Mersenne Twister of Python and NumPy
# The number of draws at one end of the range is limited, because code that draws until it accepts a number would never stop.
_EXTREME_WORDS = 312  # words of state; a uniform number of Python or NumPy uses two
_EXTREME_CALLS = 4096  # calls of torch
_HIGH_WORD = 0x12DD9BB3  # a word of state from which 32 one bits are drawn
_SEEDS = 6  # number of seeds to try


class _Extremes(TorchFunctionMode):  # type: ignore[misc]
    def __init__(self, high: bool) -> None:
        super().__init__()
        self._high, self._calls = high, 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func not in _UNIFORM and func not in _BERNOULLI:
            return result
        self._calls += 1
        if self._calls > _EXTREME_CALLS:
            return result
        if func in _UNIFORM:
            result.detach().fill_(1.0 - torch.finfo(result.dtype).eps / 2 if self._high else 0.0)
        else:
            result.detach().fill_(self._high)
        return result


@contextmanager
def extreme_draws(high: bool) -> Iterator[None]:
    """Puts the first uniform numbers of torch, Python's `random` and NumPy at one end of their range."""
    others = np.random.SeedSequence(0).generate_state(_WORDS - _EXTREME_WORDS, np.uint32)
    words = [_HIGH_WORD if high else 0] * _EXTREME_WORDS + others.tolist()
    random.setstate((3, (*words, 0), None))
    np.random.set_state(("MT19937", np.array(words, np.uint32), 0, 0, 0.0))
    with _Extremes(high):
        yield


@contextmanager
def seeded_draws(seed: int) -> Iterator[None]:
    """Seeds torch, Python's `random` and NumPy."""
    torch.manual_seed(seed)
    other_random.seed(seed)
    yield


class RandomPaths:
    """Steps of a trial whose operations depend on random numbers.

    A step is recorded with all numbers high, with all low, and with a few seeds. If these differ, the trial then draws
    only from one end of the range, so that steps on all batches run the same operations. If other draws run modules
    that this end does not, `factor` is how much more memory all modules need together, each at its largest.
    """

    def __init__(self) -> None:
        self.found = False
        self.factor = 1.0
        self._others: list[Draws] = []

    def look(self, trial: Trial, batch: Data, tape: Tape) -> None:
        """Compares steps on a batch with the step in `tape`. Errors: as in `Trial.record`."""
        if trial.on_device or not _draws(trial, batch):
            return
        ends = _recorded(trial, batch, [partial(extreme_draws, high) for high in (True, False)])
        seeds = _recorded(trial, batch, [partial(seeded_draws, seed) for seed in range(_SEEDS)])
        others = ends | seeds
        self.found = any(_profile(other) != _profile(tape) for other in others.values())
        if not self.found:
            return
        trial.draws = max(ends or seeds, key=lambda draws: others[draws].step)
        chosen = others.pop(trial.draws)
        if any(other.step > chosen.step or not _held(other).keys() <= _held(chosen).keys() for other in others.values()):
            self._others = list(others)

    def record(self, trial: Trial, batch: Data) -> Tape:
        """Returns the tape of a step on a batch, and updates `factor`."""
        tape = trial.record(batch)
        if self._others:
            held = _held(tape)
            for other in map(_held, _recorded(trial, batch, self._others).values()):
                held = {name: max(held.get(name, 0), other.get(name, 0)) for name in held | other}
            self.factor = max(self.factor, sum(held.values()) / tape.step)
        return tape

    def at_most(self, step: int) -> int:
        """Returns the maximum bytes of a step for any draws, if a step with the trial's draws needs `step` bytes."""
        return math.ceil(step * self.factor)


def _recorded(trial: Trial, batch: Data, ways: Sequence[Draws]) -> dict[Draws, Tape]:
    """Returns the tapes of steps with these draws, without those on which the model does not run, such as with no nodes
    left.
    """
    tapes = {}
    for draws in ways:
        try:
            tapes[draws] = trial.record(batch, draws)
        except BudgetExceeded:
            raise
        except Exception:
            continue
    return tapes


def _draws(trial: Trial, batch: Data) -> bool:
    """Returns whether a forward pass draws random numbers other than for dropout."""
    trial.model.train(trial.training)
    with CallersRandom([]):
        return draws(trial.model, batch, plain(trial.forward))


def _held(tape: Tape) -> dict[str, int]:
    """Returns the bytes by module at the peak of a step."""
    return dict(tape.recording.by_module()[2])


def _profile(tape: Tape) -> tuple[Any, ...]:
    """Returns values that are equal for two steps on one batch that run the same operations."""
    return tape.recording.peak(), tape.recording.by_module()[3], sorted(tape.recording.held_at_peak())
