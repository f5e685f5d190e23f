"""Data of others, read into data sets.

Common arguments: `budget` is the memory the call may take, beside what the process holds already, in bytes or as
text ("64MiB"; by default 256 MiB, or less where the system has less). `threads` is how many may work, by default
the processors at hand. `force` replaces an output that exists; one that was made from the same source is opened
and left alone. `progress` is called with what is done and what there is to do, a few times a second. The
interpreter goes on meanwhile, and Ctrl-C ends the call; the output is then as it was.
"""

from plimsoll.can.ingest import can
from plimsoll.data.ingest_graph import graph
from plimsoll.data.ingest_graph_set import points

__all__ = ["can", "graph", "points"]
