"""Opens and verifies data sets of every kind: `plimsoll.open` and `plimsoll.verify`."""

from __future__ import annotations

from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import PathLike
from plimsoll.can.attention import Attention
from plimsoll.can.frames import Frames
from plimsoll.data.graph import Graph
from plimsoll.data.graph_set import GraphSet
from plimsoll.data.predictions import Predictions
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.errors import InputError


def open(path: PathLike) -> Frames | GraphSet | Graph | TypedGraph | Predictions | Attention:
    """Opens a data set for reading and returns an object of the class for its kind.

    Columns are memory-mapped, so opening takes milliseconds and allocates no memory for them. Errors: `InputError`.
    """
    kind = _core.kind_of(Path(path))
    for known in (Frames, GraphSet, Graph, TypedGraph, Predictions, Attention):
        if known._kind == kind:
            return known(path)
    raise InputError(
        f"{path}: is a data set of unknown kind {kind!r}, expected frames, graph_set, graph, predictions or attention"
    )


def verify(path: PathLike) -> list[str]:
    """Reads a whole data set and checks every checksum, offset, index and flag.

    Returns one sentence per problem; an empty list if the data set is intact. Memory does not grow with the size of
    the data set. Errors: `InputError` if the data set cannot be opened.
    """
    return _core.verify(Path(path))
