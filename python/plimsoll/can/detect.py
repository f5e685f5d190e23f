"""A trained detector on frames, as they come or of a data set (docs/detect.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import PathLike, texts
from plimsoll.can.frames import FrameColumns, Frames
from plimsoll.data.tables import Recording
from plimsoll.errors import UsageError


@dataclass(frozen=True)
class Verdict:
    """What a detector says of one window."""

    number: int  #: of the window in its recording
    first_frame: int  #: of the recording
    frames: int
    time_ns: int  #: of its last frame
    score: float  #: fused, with the line of alarms at 1; log-odds of a detector without such a score
    alarm: bool
    parts: dict[str, float]  #: what each part of a fused score would score alone; empty without one
    attack: bool | None  #: whether one of its frames is labelled so; None without labels


class Detector:
    """The detector that training left in its run, `detector.safetensors`. Needs no torch.

        detector = plimsoll.Detector("run/detector.safetensors")
        for recording in frames.recordings:
            alarms = [verdict for verdict in detector.judge(frames, recording) if verdict.alarm]

    `window` and `stride` are frames, or time as text, by default as it was trained; a verdict is an alarm when its
    score is above `threshold`, by default that of the rate `false_alarms` of benign windows, the least that the file has.
    `adopt` are IDs in hex of devices that joined after the calibration: known, and nothing more of them.
    It holds the frames of a window, however many it is given. Not thread-safe.
    Errors: `InputError` (the file), `UsageError` (options, columns).
    """

    def __init__(
        self,
        path: PathLike,
        *,
        window: int | str | None = None,
        stride: int | str | None = None,
        threshold: float | None = None,
        false_alarms: float | None = None,
        adopt: Sequence[str] = (),
    ) -> None:
        if threshold is not None and false_alarms is not None:
            raise UsageError("threshold and false_alarms: expected one of them")
        if false_alarms is not None and not 0 < false_alarms < 1:
            raise UsageError(f"false_alarms={false_alarms!r}: expected a rate above 0 and below 1")
        window, stride = ("" if length is None else str(length) for length in (window, stride))
        self._detector = _core.Detector(
            Path(path), window, stride, threshold, false_alarms, texts("adopt", adopt)
        )
        self._begun = False

    @property
    def threshold(self) -> float:
        return self._detector.threshold

    def begin(
        self, *, has_time: bool = True, has_payload: bool = True, width: int = 8, channels: Sequence[str] = ()
    ) -> None:
        """From here on comes another recording, whose frames have `width` bytes of payload; `channels`, where they are
        merged, are the names by `FrameColumns.channel`."""
        self._detector.begin(has_time, has_payload, width, texts("channels", channels))
        self._begun = True

    def add(self, frames: FrameColumns) -> list[Verdict]:
        """Takes the next frames of a stream; gives the verdicts on the windows that have all frames they wait for now."""
        if not self._begun:
            self.begin(width=frames.data.shape[-1])
        columns = frames.time_ns, frames.can_id, frames.length, frames.data, frames.label, frames.channel
        return [_verdict(found) for found in self._detector.add(*columns)]

    def end(self) -> list[Verdict]:
        """The recording has ended: the verdicts on windows that still wait, and on what is left of it."""
        self._begun = False
        return [_verdict(found) for found in self._detector.end()]

    def judge(self, frames: Frames, recording: Recording) -> list[Verdict]:
        """All windows of a recording of a data set."""
        self.begin(
            has_time=recording.has_time,
            has_payload=recording.has_payload,
            width=int(frames.data.shape[1]),
            channels=recording.channels,
        )
        return self.add(frames[recording.slice]) + self.end()


def _verdict(found: _core.Verdict) -> Verdict:
    return Verdict(
        found.number, found.first_frame, found.frames, found.time_ns, found.score, found.alarm, found.parts, found.attack
    )
