"""Data sets of every kind, opened and verified: `plimsoll.open` and `plimsoll.verify`."""

from __future__ import annotations

from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import PathLike
from plimsoll.can.frames import Frames
from plimsoll.data.attention import Attention
from plimsoll.data.graph import Graph
from plimsoll.data.graph_set import GraphSet
from plimsoll.data.predictions import Predictions
from plimsoll.errors import InputError


def open(path: PathLike) -> Frames | GraphSet | Graph | Predictions | Attention:
    """Opens a data set for reading, of whichever kind it is.

    Its columns are mapped: opening takes milliseconds and no memory for them. Errors: `InputError`.
    """
    kind = _core.kind_of(Path(path))
    for known in (Frames, GraphSet, Graph, Predictions, Attention):
        if known._kind == kind:
            return known(path)
    raise InputError(
        f"{path}: is a data set of the unknown kind {kind!r}, expected frames, graph_set, graph, predictions or attention"
    )


def verify(path: PathLike) -> list[str]:
    """Reads a data set through and through: every checksum, offset, index and flag.

    Gives what is wrong, a sentence each; an empty list where it is whole. Memory does not grow with it.
    Errors: `InputError` when it cannot even be opened.
    """
    return _core.verify(Path(path))
