"""Layers of PyTorch Geometric that run Plimsoll's fused operators, with the same parameters, options and results.

`replace(model)` turns the layers of a PyTorch Geometric model into fused ones. `SGMP` and `GTMP` are networks on
paths in space, built from `PathConv`. See docs/python/layers.md.
"""

from plimsoll.errors import MissingPackage

try:
    import torch  # noqa: F401
    import torch_geometric  # noqa: F401
except ImportError as error:
    raise MissingPackage(f"plimsoll.nn: {error}; install both: pip install torch torch_geometric") from error

from plimsoll import _operators

_operators.load()

from plimsoll.nn.attention import GATConv, GATv2Conv  # noqa: E402
from plimsoll.nn.paths import GTMP, SGMP, PathConv, PathEdges, path_counts, path_edges  # noqa: E402
from plimsoll.nn.replacing import Layer, Report, replace, why_not  # noqa: E402
from plimsoll.nn.sums import Dropout, GCNConv, GINConv, SAGEConv  # noqa: E402

__all__ = ["GTMP", "SGMP", "Dropout", "GATConv", "GATv2Conv", "GCNConv", "GINConv", "Layer", "PathConv", "PathEdges",
           "Report", "SAGEConv", "path_counts", "path_edges", "replace", "why_not"]
