"""Plimsoll: graph neural networks inside a stated memory budget.

This package has the data sets (`open`, `ingest`, `simulate`, `windows`, `verify`) and the way from and to PyTorch
Geometric (`from_pyg`, `GraphSet.to_pyg`). It needs NumPy; torch and PyTorch Geometric are imported where they are
asked for. `python -m plimsoll` is the command line. docs/python/ has a page a task.
"""

from plimsoll import ingest, simulate
from plimsoll._core import version as __version__
from plimsoll._open import open, verify
from plimsoll._windows import windows
from plimsoll.data_set import DataSet
from plimsoll.errors import BudgetExceeded, Error, Failure, InputError, MissingPackage, UsageError
from plimsoll.frames import Frame, FrameColumns, Frames
from plimsoll.graph_set import Graphs, GraphSet, GraphView
from plimsoll.pyg import from_pyg
from plimsoll.tables import Features, GraphRecording, Recording, Split

__all__ = [
    "BudgetExceeded",
    "DataSet",
    "Error",
    "Failure",
    "Features",
    "Frame",
    "FrameColumns",
    "Frames",
    "GraphRecording",
    "GraphSet",
    "GraphView",
    "Graphs",
    "InputError",
    "MissingPackage",
    "Recording",
    "Split",
    "UsageError",
    "__version__",
    "from_pyg",
    "ingest",
    "open",
    "simulate",
    "verify",
    "windows",
]
