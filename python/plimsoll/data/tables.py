"""The tables of a manifest (docs/formats/) as Python values."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Self


class _Row:
    @classmethod
    def _of(cls, row: dict[str, Any]) -> Self:
        """Makes an object of a row of the manifest. Keys that a later version added are ignored."""
        return cls(**{field.name: row[field.name] for field in fields(cls) if field.name in row})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Split(_Row):
    """A named range of graphs: `graphs[split.slice]` selects them."""

    name: str
    first_graph: int
    graphs: int

    @property
    def slice(self) -> slice:
        """The range of its graphs."""
        return slice(self.first_graph, self.first_graph + self.graphs)


@dataclass(frozen=True)
class GraphRecording(_Row):
    """The windows of one capture: `graphs[recording.slice]` selects them."""

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
class Recording(_Row):
    """One capture among frames: `frames[recording.slice]` selects its frames. docs/formats/frames.md explains the fields."""

    name: str
    split: str
    first_frame: int
    frames: int
    attack_frames: int
    source: str
    bytes: int
    hash: str
    channel: str | None  #: The channel of the capture; None if it has none or several.
    has_time: bool
    has_payload: bool
    labelled: bool
    attack: str | None
    content: str
    copy_of: str | None
    traps: dict[str, int]
    channels: list[str] = field(default_factory=list)  #: Names of merged channels, by the column `channel` of its frames.
    truncated_at: int | None = None  #: Byte of the uncompressed source at which it is truncated; None if it is complete.

    @property
    def slice(self) -> slice:
        """The range of its frames."""
        return slice(self.first_frame, self.first_frame + self.frames)


@dataclass(frozen=True)
class Features:
    """The names of the columns of `x` and `edge_attr`."""

    node: tuple[str, ...]
    edge: tuple[str, ...]
