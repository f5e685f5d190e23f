"""The tables in a manifest (docs/formats/) as Python values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self


class Row:
    """A row of a table of a manifest."""

    @classmethod
    def _of(cls, row: dict[str, Any]) -> Self:
        """Makes an object of a row of the manifest. Keys that a later version added are ignored."""
        return cls(**{field.name: row[field.name] for field in fields(cls) if field.name in row})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Split(Row):
    """A named range of graphs: `graphs[split.slice]` selects them."""

    name: str
    first_graph: int
    graphs: int

    @property
    def slice(self) -> slice:
        """The range of its graphs."""
        return slice(self.first_graph, self.first_graph + self.graphs)


@dataclass(frozen=True)
class GraphRecording(Row):
    """The graphs of one recording: `graphs[recording.slice]` selects them."""

    name: str
    split: str
    first_graph: int
    graphs: int
    attack: str | None = None
    copy_of: str | None = None
    content: str = ""

    @property
    def slice(self) -> slice:
        """The range of its graphs."""
        return slice(self.first_graph, self.first_graph + self.graphs)


@dataclass(frozen=True)
class Features:
    """The names of the columns of `x` and `edge_attr`."""

    node: tuple[str, ...]
    edge: tuple[str, ...]
