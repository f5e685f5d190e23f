"""Flags of frames in the package: direction, CAN FD, BRS, ESI and error frames, as python-can and asammdf have them."""

import numpy as np
import pytest

from package_data import plimsoll
from test_can_containers import messages, with_flags, write

can = pytest.importorskip("can", reason="pip install python-can")
FrameFlag = plimsoll.FrameFlag


def ingested(path, out):
    return plimsoll.ingest.can(path, out, payload=64)


def expect_as_sent(frames, sent):
    """Message by message, of a capture in which all have times of their own."""
    columns = frames[:]
    by_time = {round(message.timestamp * 1e6): message for message in sent}
    assert len(columns) == len(by_time) == len(sent)
    for i in range(len(frames)):
        message, frame = by_time[round(int(columns.time_ns[i]) / 1000)], frames[i]
        assert frame.flags == columns.flags[i]
        assert (FrameFlag.SENT in frame.flags) == (not message.is_rx)
        assert bool(frame.can_id >> 29 & 1) == message.is_error_frame
        if message.is_error_frame:
            continue
        assert (FrameFlag.FD in frame.flags) == message.is_fd
        assert (FrameFlag.BRS in frame.flags) == bool(message.is_fd and message.bitrate_switch)
        assert (FrameFlag.ESI in frame.flags) == bool(message.is_fd and message.error_state_indicator)


def test_blf_of_python_can(tmp_path):
    sent = with_flags()
    sent[5].is_error_frame = sent[6].is_error_frame = True
    path = write(tmp_path / "drive.blf", can.BLFWriter, sent)
    read = [message for message in can.BLFReader(path)]
    frames = ingested(path, tmp_path / "out")
    expect_as_sent(frames, read)
    assert {int(flags) for flags in frames.flags} >= {0, 4, 5, 7, 8, 12}


def test_mf4_as_asammdf_reads_it(tmp_path):
    asammdf = pytest.importorskip("asammdf", reason="pip install asammdf")
    sent = with_flags()
    for message in sent:
        message.channel = 1
    path = write(tmp_path / "drive.mf4", can.MF4Writer, sent)
    frames = ingested(path, tmp_path / "out")
    with asammdf.MDF(path) as mdf:
        group, _ = mdf.whereis("CAN_DataFrame")[0]
        parts = {name: mdf.get(f"CAN_DataFrame.{name}", group=group, raw=True) for name in ("Dir", "EDL", "BRS", "ESI")}
    expected = sum(parts[name].samples.astype(np.uint8) * flag for name, flag in
                   (("Dir", FrameFlag.SENT), ("EDL", FrameFlag.FD), ("BRS", FrameFlag.BRS), ("ESI", FrameFlag.ESI)))
    assert frames.flags.tolist() == expected.tolist() and set(expected) >= {0, 4, 5, 8}
    expect_as_sent(frames, sent)


def test_a_set_without_flags_has_zeros_that_take_no_memory(tmp_path):
    frames = ingested(write(tmp_path / "drive.blf", can.BLFWriter, messages(50)), tmp_path / "out")
    assert frames.flags.tolist() == [0] * 50 == frames[:].flags.tolist() and frames.flags.strides == (0,)
    assert frames[3].flags == FrameFlag(0) and frames[3].flags == 0 and not frames.flags.flags.writeable
