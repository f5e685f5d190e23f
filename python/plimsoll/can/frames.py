"""CAN frames as columns (docs/formats/frames.md)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from functools import cached_property
from operator import index
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from plimsoll.can.recording import Recording
from plimsoll.data.data_set import DataSet


class FrameFlag(IntFlag):
    """The bits of a frame's `flags`: those of SocketCAN's `canfd_frame`, and the direction."""

    BRS = 1  #: The bit rate was switched.
    ESI = 2  #: The sender was error passive.
    FD = 4  #: The frame is CAN FD, whatever its length.
    SENT = 8  #: The recording device sent the frame.


class Frame(NamedTuple):
    """One CAN message."""

    time_ns: int  #: Time in nanoseconds, as in the capture.
    can_id: int  #: CAN ID in SocketCAN's form: bit 31 extended, 30 remote, 29 error.
    data: bytes  #: The payload, without padding.
    label: int  #: 0 normal, 1 attack, 255 unlabelled.
    flags: FrameFlag = FrameFlag(0)


@dataclass(frozen=True)
class FrameColumns:
    """n consecutive frames, as views of the columns of a data set."""

    time_ns: NDArray[np.int64]  #: [n], in nanoseconds.
    can_id: NDArray[np.uint32]  #: [n], as `Frame.can_id`.
    length: NDArray[np.uint8]  #: [n], bytes of payload.
    data: NDArray[np.uint8]  #: [n, 8], or [n, 64] for CAN FD: payloads padded with zeros.
    label: NDArray[np.uint8]  #: [n]: 0, 1 or 255, as `Frame.label`.
    channel: NDArray[np.uint8] | None = None  #: [n], index into `Recording.channels`; None unless channels are merged.
    flags: NDArray[np.uint8] | None = None  #: [n], bits of `FrameFlag`.

    def __len__(self) -> int:
        return len(self.time_ns)


class Frames(DataSet):
    """A `frames` data set of n frames.

    `len(frames)` is the number of frames, `frames[i]` is a `Frame`, and `frames[first:last]` or
    `frames[recording.slice]` are `FrameColumns`, without a copy.
    """

    _kind = "frames"

    @property
    def time_ns(self) -> NDArray[np.int64]:
        """i64 [n]: nanoseconds as in the source; the row number if the source has no times."""
        return self._column("time_ns")

    @property
    def can_id(self) -> NDArray[np.uint32]:
        """u32 [n]: CAN IDs in SocketCAN's form: bit 31 extended, 30 remote, 29 error."""
        return self._column("can_id")

    @property
    def length(self) -> NDArray[np.uint8]:
        """u8 [n]: bytes of payload."""
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
        """u8 [n]: index into `Recording.channels`; None if each recording has one channel."""
        return self._column("channel") if "channel" in self.manifest["columns"] else None

    @property
    def flags(self) -> NDArray[np.uint8]:
        """u8 [n]: bits of `FrameFlag`. All zeros, without using memory, if no frame of the data set has a flag."""
        if "flags" in self.manifest["columns"]:
            return self._column("flags")
        return np.broadcast_to(np.zeros(1, np.uint8), len(self))

    @cached_property
    def recordings(self) -> tuple[Recording, ...]:
        """One entry per capture, in the order of their frames."""
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
