"""Runs a trained detector on frames, from a stream or a data set (docs/detect.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import PathLike, texts
from plimsoll.can.frames import FrameColumns, Frames
from plimsoll.can.recording import Recording
from plimsoll.errors import UsageError


@dataclass(frozen=True)
class Verdict:
    """A detector's result for one window."""

    number: int  #: Number of the window in its recording.
    first_frame: int  #: Number of the window's first frame in its recording.
    frames: int  #: Number of frames in the window.
    time_ns: int  #: Time of its last frame in nanoseconds.
    score: float  #: The fused score, scaled so that a window is an alarm above 1; log-odds if the detector has no fused score.
    alarm: bool  #: Whether `score` is above the threshold or NaN; False for the last, shorter window unless it is the only one.
    parts: dict[str, float]  #: The finite scores of the parts of a fused score; empty without a fused score.
    attack: bool | None  #: Whether one of its frames is labelled as an attack; None without labels.


class Detector:
    """Evaluates windows of CAN frames with a trained detector, `detector.safetensors` of a run. Needs no torch.

        detector = plimsoll.Detector("run/detector.safetensors")
        for recording in frames.recordings:
            alarms = [verdict for verdict in detector.judge(frames, recording) if verdict.alarm]

    - `path`: the detector's file.
    - `window`, `stride`: numbers of frames, or times as text. By default as in training.
    - `threshold`: windows with a higher score are alarms. By default the threshold for the rate `false_alarms`.
    - `false_alarms`: rate of benign windows that raise an alarm, above 0 and below 1. By default the lowest rate in
      the file.
    - `adopt`: CAN IDs, in hex, of devices that joined after the calibration. They count as known; their timing and
      payloads are not checked.

    It holds only the frames of one window and of its look-back and look-ahead in memory. Not thread-safe. Errors:
    `InputError` for the file, and for frames without the times or channels that the detector needs; `UsageError` for
    options and columns.
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
            raise UsageError("threshold and false_alarms: expected only one of them")
        if false_alarms is not None and not 0 < false_alarms < 1:
            raise UsageError(f"false_alarms={false_alarms!r}: expected a rate above 0 and below 1")
        window, stride = ("" if length is None else str(length) for length in (window, stride))
        self._detector = _core.Detector(
            Path(path), window, stride, threshold, false_alarms, texts("adopt", adopt)
        )
        self._has_recording = False

    @property
    def threshold(self) -> float:
        """The score above which a window is an alarm."""
        return self._detector.threshold

    def begin(
        self, *, has_time: bool = True, has_payload: bool = True, width: int = 8, channels: Sequence[str] = ()
    ) -> None:
        """Starts another recording. Frames of an earlier one that are not yet in a returned window are dropped.

        - `has_time`, `has_payload`: whether frames have times and payloads.
        - `width`: payload columns per frame, in bytes.
        - `channels`: names of merged channels, in the order of `FrameColumns.channel`.
        """
        self._detector.begin(has_time, has_payload, width, texts("channels", channels))
        self._has_recording = True

    def add(self, frames: FrameColumns) -> list[Verdict]:
        """Adds the next frames of a stream and returns the results for the windows that are now complete.

        A calibrated detector waits for 100 frames after a window (docs/detect.md#windows). Before `begin`, the first
        call starts a recording whose frames have times, payloads and no merged channels. A jump in time, such as a
        clock that is set back, also starts another recording.
        """
        if not self._has_recording:
            self.begin(width=frames.data.shape[-1])
        columns = frames.time_ns, frames.can_id, frames.length, frames.data, frames.label, frames.channel
        return [_verdict(found) for found in self._detector.add(*columns)]

    def end(self) -> list[Verdict]:
        """Ends the recording and returns the results for the windows still open and for the frames left over."""
        self._has_recording = False
        return [_verdict(found) for found in self._detector.end()]

    def judge(self, frames: Frames, recording: Recording) -> list[Verdict]:
        """Returns the results for all windows of one recording of a data set. Starts with `begin` and ends with `end`."""
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
