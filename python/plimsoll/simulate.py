"""Simulates CAN traffic (docs/simulator.md) and graphs (docs/giant-graphs.md)."""

from plimsoll.can.simulate import can
from plimsoll.data.simulate_graph import graph

__all__ = ["can", "graph"]
