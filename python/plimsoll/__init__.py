"""Plimsoll: graph neural networks inside a stated memory budget.

This package has the data sets (`open`, `ingest`, `simulate`, `windows`, `verify`) and the way from and to PyTorch
Geometric (`from_pyg`, `GraphSet.to_pyg`, `DataLoader`). It needs NumPy; torch and PyTorch Geometric are imported where
they are asked for. `python -m plimsoll` is the command line. docs/python/ has a page a task.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plimsoll import ingest, simulate
from plimsoll._core import version as __version__
from plimsoll._merge import merge
from plimsoll._open import open, verify
from plimsoll._split_edges import EdgeSplit, split_edges
from plimsoll._windows import windows
from plimsoll.attention_data import Attention
from plimsoll.clusters import ClusterData, ClusterLoader
from plimsoll.data_set import DataSet
from plimsoll.detect import Detector, Verdict
from plimsoll.errors import BudgetExceeded, Error, Failure, InputError, MissingPackage, UsageError
from plimsoll.exporting import export
from plimsoll.frames import Frame, FrameColumns, Frames
from plimsoll.graph import Graph
from plimsoll.graph_set import Graphs, GraphSet
from plimsoll.graph_view import GraphView
from plimsoll.kdgat import import_kdgat
from plimsoll.loader import DataLoader
from plimsoll.neighbours import NeighborLoader
from plimsoll.predictions import Predictions
from plimsoll._from_points import from_points
from plimsoll.pyg import from_pyg
from plimsoll.pyg_files import from_pyg_files, to_pyg_files
from plimsoll.tables import Features, GraphRecording, Recording, Split

if TYPE_CHECKING:
    from plimsoll._budget import budget
    from plimsoll._fit import Fit, fit
    from plimsoll._plan import Plan, plan
    from plimsoll._run import Evaluation, TrainReport, evaluate, predict, train
    from plimsoll.blocks import BlockLimits

# What needs torch, by the module that has it: loaded when it is asked for.
_WITH_TORCH = {
    "BlockLimits": "plimsoll.blocks",
    "Evaluation": "plimsoll._run",
    "Fit": "plimsoll._fit",
    "Plan": "plimsoll._plan",
    "TrainReport": "plimsoll._run",
    "budget": "plimsoll._budget",
    "evaluate": "plimsoll._run",
    "fit": "plimsoll._fit",
    "plan": "plimsoll._plan",
    "predict": "plimsoll._run",
    "train": "plimsoll._run",
}


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
    from plimsoll import _operators

    _operators.load()
    return getattr(import_module(_WITH_TORCH[name]), name)


__all__ = [
    "Attention",
    "BlockLimits",
    "BudgetExceeded",
    "ClusterData",
    "ClusterLoader",
    "DataLoader",
    "DataSet",
    "Detector",
    "EdgeSplit",
    "Error",
    "Evaluation",
    "Failure",
    "Features",
    "Fit",
    "Frame",
    "FrameColumns",
    "Frames",
    "Graph",
    "GraphRecording",
    "GraphSet",
    "GraphView",
    "Graphs",
    "InputError",
    "MissingPackage",
    "NeighborLoader",
    "Plan",
    "Predictions",
    "Recording",
    "Split",
    "TrainReport",
    "UsageError",
    "Verdict",
    "__version__",
    "budget",
    "evaluate",
    "export",
    "fit",
    "from_points",
    "from_pyg",
    "from_pyg_files",
    "import_kdgat",
    "ingest",
    "merge",
    "open",
    "plan",
    "predict",
    "simulate",
    "split_edges",
    "to_pyg_files",
    "train",
    "verify",
    "windows",
]
