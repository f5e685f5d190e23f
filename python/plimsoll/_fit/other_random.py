"""The generators of random numbers beside torch's: Python's `random` and NumPy's, one each for all threads."""

from __future__ import annotations

import random
from typing import Any

import numpy as np


def state() -> Any:
    """Another one after each draw."""
    name, keys, *rest = np.random.get_state(legacy=True)
    return random.getstate(), name, np.asarray(keys).tobytes(), rest


def seed(value: int) -> None:
    """What they draw from here follows from it."""
    random.seed(value)
    np.random.seed(np.random.SeedSequence(value).generate_state(4))
