"""Made-up traffic (docs/simulator.md), and made-up graphs (docs/giant-graphs.md)."""

from plimsoll.can.simulate import can
from plimsoll.data.simulate_graph import graph

__all__ = ["can", "graph"]
