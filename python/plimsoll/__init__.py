"""Plimsoll: graph neural networks inside a stated memory budget.

This package has the data sets (`open`, `ingest`, `simulate`, `windows`, `verify`) and the way from and to PyTorch
Geometric (`from_pyg`, `GraphSet.to_pyg`, `DataLoader`). It needs NumPy; torch and PyTorch Geometric are imported where
they are asked for, and all of this package on first use. `python -m plimsoll` is the command line. docs/python/ has a
page a task.
"""

TYPE_CHECKING = False  # typing itself would take most of the import's time
if TYPE_CHECKING:
    from typing import Any

    from plimsoll import ingest, simulate
    from plimsoll._fit.budget import budget
    from plimsoll._core import version as __version__
    from plimsoll._fit.fit import fit
    from plimsoll._fit.result import Fit
    from plimsoll.data.from_points import from_points
    from plimsoll._merge import merge
    from plimsoll._open import open as open
    from plimsoll._open import verify
    from plimsoll._fit.plan import Plan, plan
    from plimsoll.jobs.run import Evaluation, TrainReport, evaluate, predict, train
    from plimsoll.data.split_edges import EdgeSplit, split_edges
    from plimsoll.can.windows import windows
    from plimsoll.data.attention import Attention
    from plimsoll.loaders.bidirectional_sampler import BidirectionalNeighborSampler
    from plimsoll._fit.blocks import BlockLimits
    from plimsoll.loaders.clusters import ClusterData, ClusterLoader
    from plimsoll.data.data_set import DataSet
    from plimsoll.can.detect import Detector, Verdict
    from plimsoll.loaders.dynamic_batches import DynamicBatchSampler
    from plimsoll.errors import BudgetExceeded, Error, Failure, InputError, MissingPackage, UsageError
    from plimsoll.can.exporting import export
    from plimsoll.can.frames import Frame, FrameColumns, FrameFlag, Frames
    from plimsoll.data.graph import Graph
    from plimsoll.data.graph_set import Graphs, GraphSet
    from plimsoll.data.graph_view import GraphView
    from plimsoll.can.kdgat import import_kdgat
    from plimsoll.loaders.links import LinkNeighborLoader
    from plimsoll.loaders.data_loader import DataLoader
    from plimsoll.loaders.neighbours import NeighborLoader
    from plimsoll.data.predictions import Predictions
    from plimsoll.data.from_pyg import from_pyg
    from plimsoll.data.pyg_files import from_pyg_files, to_pyg_files
    from plimsoll.loaders.random_walks import RandomWalkLoader, walks
    from plimsoll.data.tables import Features, GraphRecording, Recording, Split

# The module of each name. A module that is named alone is the value itself.
_MODULES = {
    "plimsoll._core": ["__version__"],
    "plimsoll.data.from_points": ["from_points"],
    "plimsoll._merge": ["merge"],
    "plimsoll._open": ["open", "verify"],
    "plimsoll.data.split_edges": ["EdgeSplit", "split_edges"],
    "plimsoll.can.windows": ["windows"],
    "plimsoll.data.attention": ["Attention"],
    "plimsoll.loaders.clusters": ["ClusterData", "ClusterLoader"],
    "plimsoll.data.data_set": ["DataSet"],
    "plimsoll.can.detect": ["Detector", "Verdict"],
    "plimsoll.errors": ["BudgetExceeded", "Error", "Failure", "InputError", "MissingPackage", "UsageError"],
    "plimsoll.can.exporting": ["export"],
    "plimsoll.can.frames": ["Frame", "FrameColumns", "FrameFlag", "Frames"],
    "plimsoll.data.graph": ["Graph"],
    "plimsoll.data.graph_set": ["GraphSet", "Graphs"],
    "plimsoll.data.graph_view": ["GraphView"],
    "plimsoll.ingest": ["ingest"],
    "plimsoll.can.kdgat": ["import_kdgat"],
    "plimsoll.loaders.data_loader": ["DataLoader"],
    "plimsoll.loaders.neighbours": ["NeighborLoader"],
    "plimsoll.data.predictions": ["Predictions"],
    "plimsoll.data.from_pyg": ["from_pyg"],
    "plimsoll.data.pyg_files": ["from_pyg_files", "to_pyg_files"],
    "plimsoll.loaders.random_walks": ["RandomWalkLoader", "walks"],
    "plimsoll.simulate": ["simulate"],
    "plimsoll.data.tables": ["Features", "GraphRecording", "Recording", "Split"],
}
_WITH_TORCH = {
    "plimsoll._fit.budget": ["budget"],
    "plimsoll._fit.fit": ["fit"],
    "plimsoll._fit.result": ["Fit"],
    "plimsoll._fit.plan": ["Plan", "plan"],
    "plimsoll.jobs.run": ["Evaluation", "TrainReport", "evaluate", "predict", "train"],
    "plimsoll._torch": ["_torch"],
    "plimsoll.loaders.bidirectional_sampler": ["BidirectionalNeighborSampler"],
    "plimsoll._fit.blocks": ["BlockLimits"],
    "plimsoll.loaders.dynamic_batches": ["DynamicBatchSampler"],
    "plimsoll.loaders.links": ["LinkNeighborLoader"],
}
_MODULE_OF = {name: module for module, names in (_MODULES | _WITH_TORCH).items() for name in names}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    module_name = _MODULE_OF.get(name)
    if module_name is None:
        if name.startswith("__"):
            raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
        try:  # a module of the package, such as plimsoll.nn
            return import_module(f"plimsoll.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"plimsoll.{name}":
                raise
            raise AttributeError(f"module 'plimsoll' has no attribute {name!r}") from None
    if module_name in _WITH_TORCH or name == "_torch":
        from plimsoll import _operators

        _operators.load()
    module = import_module(module_name)
    if module_name == f"plimsoll.{name}":
        return module
    value = module.version if name == "__version__" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF} - {"_torch"})


# Not `open`: a program that imports * keeps its own.
__all__ = [
    "Attention",
    "BidirectionalNeighborSampler",
    "BlockLimits",
    "BudgetExceeded",
    "ClusterData",
    "ClusterLoader",
    "DataLoader",
    "DataSet",
    "Detector",
    "DynamicBatchSampler",
    "EdgeSplit",
    "Error",
    "Evaluation",
    "Failure",
    "Features",
    "Fit",
    "Frame",
    "FrameColumns",
    "FrameFlag",
    "Frames",
    "Graph",
    "GraphRecording",
    "GraphSet",
    "GraphView",
    "Graphs",
    "InputError",
    "LinkNeighborLoader",
    "MissingPackage",
    "NeighborLoader",
    "Plan",
    "Predictions",
    "RandomWalkLoader",
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
    "plan",
    "predict",
    "simulate",
    "split_edges",
    "to_pyg_files",
    "train",
    "verify",
    "walks",
    "windows",
]
