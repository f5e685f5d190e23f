"""Reads files of other formats into data sets.

Arguments that all functions share:

- `budget`: memory that the call may use in addition to what the process already holds, in bytes or as text ("64MiB").
  By default 256 MiB, or less if the system has less.
- `threads`: maximum number of threads. By default the number of processors available to the process.
- `force`: replace an existing output. An output that was made from the same source is opened and left alone.
- `progress`: called with the work done and the total work, a few times per second.

The interpreter keeps running during a call. Ctrl-C ends the call and leaves the output as it was.
"""

from plimsoll.can.ingest import can
from plimsoll.data.ingest_graph import graph
from plimsoll.data.ingest_graph_set import points
from plimsoll.data.ingest_options import EdgeColumns, GraphLayout, NodeTable
from plimsoll.data.ingest_tables import tables

__all__ = ["EdgeColumns", "GraphLayout", "NodeTable", "can", "graph", "points", "tables"]
