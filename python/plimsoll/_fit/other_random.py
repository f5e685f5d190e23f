"""The random generators other than torch's: Python's `random` and NumPy's. All threads share them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np


def state() -> Any:
    """Returns a value that differs after each draw."""
    name, keys, *rest = np.random.get_state(legacy=True)
    return random.getstate(), name, np.asarray(keys).tobytes(), rest


def seed(value: int) -> None:
    """Seeds both generators."""
    random.seed(value)
    np.random.seed(np.random.SeedSequence(value).generate_state(4))
