"""One capture in a data set of frames."""

from __future__ import annotations

from dataclasses import dataclass, field

from plimsoll.data.tables import Row


@dataclass(frozen=True)
class Recording(Row):
    """One capture in a data set of frames: `frames[recording.slice]` selects its frames. docs/formats/frames.md
    explains the fields."""

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
