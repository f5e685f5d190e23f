"""CAN frames as columns (docs/formats/frames.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property
from operator import index
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.data_set import DataSet
from plimsoll.data.tables import Recording


class FrameFlag(IntFlag):
    """What `flags` of a frame hold: SocketCAN's of `canfd_frame`, and the direction."""

    BRS = 1  #: bit rate switched
    ESI = 2  #: the sender was error passive
    FD = 4  #: CAN FD, whatever its length
    SENT = 8  #: sent by who recorded it


class Frame(NamedTuple):
    """One CAN message."""

    time_ns: int  #: nanoseconds, as in the capture
    can_id: int  #: SocketCAN's form: bit 31 extended, 30 remote, 29 error
    data: bytes  #: the payload, of its length
    label: int  #: 0 normal, 1 attack, 255 unlabelled
    flags: FrameFlag = FrameFlag(0)


@dataclass(frozen=True)
class FrameColumns:
    """Consecutive frames: n of them, as views of the columns of a data set."""

    time_ns: NDArray[np.int64]  #: [n] nanoseconds
    can_id: NDArray[np.uint32]  #: [n]
    length: NDArray[np.uint8]  #: [n] bytes of payload
    data: NDArray[np.uint8]  #: [n, 8], or [n, 64] for CAN FD; padded with zeros
    label: NDArray[np.uint8]  #: [n] 0, 1 or 255
    channel: NDArray[np.uint8] | None = None  #: [n] index into `Recording.channels`, where channels are merged
    flags: NDArray[np.uint8] | None = None  #: [n] each a `FrameFlag`

    def __len__(self) -> int:
        return len(self.time_ns)


class Frames(DataSet):
    """A `frames` data set.

    `len(frames)` counts them, `frames[i]` is one as a `Frame`, `frames[first:last]` and
    `frames[recording.slice]` are some as `FrameColumns`, without a copy.
    """

    _kind = "frames"

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """i64 [n], nanoseconds as in the source; the row's number where it has no time."""
        return self._column("time_ns")

    @property
    def can_id(self) -> NDArray[np.uint32]:
        """u32 [n], SocketCAN's form: bit 31 extended, 30 remote, 29 error."""
        return self._column("can_id")

    @property
    def length(self) -> NDArray[np.uint8]:
        """u8 [n], bytes of payload."""
        return self._column("length")

    @property
    def data(self) -> NDArray[np.uint8]:
        """u8 [n, 8], or [n, 64] for CAN FD: the payload, padded with zeros."""
        return self._column("data")

    @property
    def label(self) -> NDArray[np.uint8]:
        """u8 [n]: 0 normal, 1 attack, 255 unlabelled."""
        return self._column("label")

    @property
    def channel(self) -> NDArray[np.uint8] | None:
        """u8 [n]: index into `Recording.channels`; None where each recording is of one channel."""
        return self._column("channel") if "channel" in self.manifest["columns"] else None

    @property
    def flags(self) -> NDArray[np.uint8]:
        """u8 [n], each a `FrameFlag`; zeros, which take no memory, where no frame of the set has one."""
        if "flags" in self.manifest["columns"]:
            return self._column("flags")
        return np.broadcast_to(np.zeros(1, np.uint8), len(self))

    @cached_property
    def recordings(self) -> tuple[Recording, ...]:
        """One for each capture, in the order of their frames."""
        return tuple(Recording._of(row) for row in self.manifest["recordings"])

    def __len__(self) -> int:
        return len(self.time_ns)

    @overload
    def __getitem__(self, at: int) -> Frame: ...
    @overload
    def __getitem__(self, at: slice) -> FrameColumns: ...
    def __getitem__(self, at: int | slice) -> Frame | FrameColumns:
        if isinstance(at, slice):
            channel = None if self.channel is None else self.channel[at]
            return FrameColumns(
                self.time_ns[at],
                self.can_id[at],
                self.length[at],
                self.data[at],
                self.label[at],
                channel,
                self.flags[at],
            )
        i = index(at)
        payload = self.data[i, : self.length[i]].tobytes()
        flags = FrameFlag(int(self.flags[i]))
        return Frame(int(self.time_ns[i]), int(self.can_id[i]), payload, int(self.label[i]), flags)

    def _text(self) -> str:
        return f"frames={len(self)}, recordings={len(self.recordings)}"
