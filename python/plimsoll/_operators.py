"""The library of operators, torch.ops.plimsoll."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch


def load() -> None:
    """Loads the operators unless they are there: the file PLIMSOLL_OPS, else that of the checkout `.venv` lies in."""
    if not hasattr(torch.ops.plimsoll, "gat"):
        built = Path(sys.prefix).parent / "build" / "release" / "lib" / "libplimsoll_ops.so"
        torch.ops.load_library(os.environ.get("PLIMSOLL_OPS", built))
