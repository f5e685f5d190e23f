"""BLF as Vector's tools write it: objects that the test puts together by their published layout (Technica's vector_blf and
Wireshark's wiretap/blf.h), beside python-can where it knows them; and files of others below PLIMSOLL_BLF_FILES, if it is set."""

import os
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from test_can_containers import ERROR, EXTENDED, REMOTE, expect_same, flags_of, ingest, refused

can = pytest.importorskip("can", reason="pip install python-can")

START_NS = 1_698_934_933_020_000_000  # of header()
BRS, ESI, FD, SENT = 1, 2, 4, 8  # of Frames.flags


def header():
    """LOGG, 144 bytes: sizes and counts may be 0."""
    return struct.pack("<4sL32x8H", b"LOGG", 144, 2023, 11, 4, 2, 14, 22, 13, 20).ljust(144, b"\0")


def an_object(kind, body, ticks=0, version=1, flags=2, more=0):
    """LOBJ with a header of version 1, 2 or 3, `more` bytes longer than today's."""
    tail = struct.pack("<LBBHQQ", flags, 1, 0, 0, ticks, ticks) if version == 2 else struct.pack("<LHHQ", flags, 0, 0, ticks)
    tail += b"\xEE" * more
    if kind == 101 and body[35:36] > b"\0":  # where more data begin, from the start of the object
        body = body[:35] + bytes([body[35] + len(tail)]) + body[36:]
    data = struct.pack("<4sHHLL", b"LOBJ", 16 + len(tail), version, 16 + len(tail) + len(body), kind) + tail + body
    # Vector's way: as many as the rest, not up to a multiple; its converter writes more after markers.
    return data + b"\0" * (len(data) % 4 + (27 if kind == 96 else 0))


def container(data, packed=True):
    inner = zlib.compress(data) if packed else data
    head = struct.pack("<4sHHLLHHLLL", b"LOBJ", 16, 1, 32 + len(inner), 10, 2 if packed else 0, 0, 0, len(data), 0)
    return head + inner + b"\0" * (len(inner) % 4)


def message(kind, channel, flags, dlc, id, data):
    trailer = struct.pack("<LBBH", 230_000, 120, 0, 0) if kind == 86 else b""
    return kind, struct.pack("<HBBL8s", channel, flags, dlc, id, data) + trailer


def error_ext(channel, dlc, id, data):
    return 73, struct.pack("<HHLBBBxLLHH", channel, 0, 2, 0x44, 9, dlc, 1000, id, 0x1000, 0) + data


def fd_message(channel, flags, dlc, id, fd_flags, valid, data):
    return 100, struct.pack("<HBBLLBBBxL64sL", channel, flags, dlc, id, 1000, 29, fd_flags, valid, 0, data, 0)


def fd_message_64(channel, dlc, valid, id, flags, direction, data, ext=b""):
    offset = 16 + 40 + len(data) if ext else 0
    return 101, struct.pack("<BBBBLLLLLLLHBBL", channel, dlc, valid, 1, id, 1000, flags, 1, 2, 3, 4, 100, direction, offset, 7) + data + ext


def fd_error_64(channel):
    return 104, struct.pack("<BBBBHHHBBLLLLLLLHH", channel, 8, 8, 0, 1, 0, 0, 0, 0, 0x123, 1000, 1, 2, 3, 4, 5, 6, 0) + bytes(8)


def xl_channel(channel, direction, id, dlc, data, flags):
    return 139, struct.pack("<BBBxLHxxLBxHHHHBxLBxHLLLLL6Q", channel, 1, direction, 1000, 100, id, 0, dlc, len(data), 5, 6, 0, 0, 1, 0, 7, 8, 9,
                            flags, 0, *range(6)) + data


SHORT, LONG = bytes(range(1, 9)), bytes(range(64))
# (object, whether python-can reads it, CAN ID, payload, flags, channel)
FRAMES = [
    (message(1, 1, 0, 8, 0x123, SHORT), True, 0x123, SHORT, 0, 1),
    (message(1, 2, 1, 3, 0x92345678, SHORT), True, 0x12345678 | EXTENDED, SHORT[:3], SENT, 2),
    (message(1, 1, 0x80, 8, 0x124, bytes(8)), True, 0x124 | REMOTE, b"", 0, 1),
    (message(86, 1, 0x21, 2, 0x125, SHORT), True, 0x125, SHORT[:2], SENT, 1),
    (message(86, 1, 0, 0, 0x126, SHORT), True, 0x126, b"", 0, 1),
    (message(1, 1, 0, 12, 0x127, SHORT), False, 0x127, SHORT, 0, 1),  # of a DLC over 8 there are 8 bytes
    ((2, struct.pack("<HH", 1, 0)), False, ERROR, b"", 0, 1),
    ((2, struct.pack("<HHL", 2, 0, 0)), False, ERROR, b"", 0, 2),
    (error_ext(1, 4, 0x128, SHORT), True, 0x128 | ERROR, SHORT[:4], 0, 1),
    (error_ext(1, 0, 0x129, b""), False, 0x129 | ERROR, b"", 0, 1),
    (fd_message(1, 0, 15, 0x12A, 3, 64, LONG), True, 0x12A, LONG, FD | BRS, 1),
    (fd_message(1, 1, 9, 0x8012ABCD, 5, 12, LONG), True, 0x12ABCD | EXTENDED, LONG[:12], FD | ESI | SENT, 1),
    (fd_message(2, 0, 8, 0x12B, 0, 8, LONG), True, 0x12B, LONG[:8], 0, 2),
    (fd_message(2, 0x80, 8, 0x12C, 0, 0, bytes(64)), False, 0x12C | REMOTE, b"", 0, 2),
    (fd_message_64(1, 15, 64, 0x12D, 0x3000, 0, LONG), True, 0x12D, LONG, FD | BRS, 1),
    (fd_message_64(1, 10, 16, 0x12E, 0x5000, 1, LONG[:16], bytes(8)), True, 0x12E, LONG[:16], FD | ESI | SENT, 1),
    (fd_message_64(1, 9, 12, 0x12F, 0x1000, 0, LONG[:8], b"\xAA" * 8), True, 0x12F, LONG[:8] + bytes(4), FD, 1),  # says more than it has
    (fd_message_64(1, 8, 8, 0x130, 0, 0, LONG[:8]), True, 0x130, LONG[:8], 0, 1),
    (fd_message_64(1, 0, 0, 0x131, 0x10, 0, b""), True, 0x131 | REMOTE, b"", 0, 1),
    (fd_error_64(1), False, ERROR, b"", 0, 1),
    (xl_channel(1, 1, 0x132, 8, SHORT, 0), False, 0x132, SHORT, SENT, 1),
    (xl_channel(1, 0, 0x133, 10, LONG[:16], 0x3000), False, 0x133, LONG[:16], FD | BRS, 1),
]
# What is no frame: text, Ethernet, statistics, an overload frame, a request to send, one that nobody knows yet.
OTHERS = [(65, bytes(40)), (96, bytes(539)), (71, bytes(51)), (4, bytes(32)), (3, struct.pack("<HH", 1, 0)), (115, bytes(33)), (4711, b"LOBJ" * 5),
          fd_message_64(1, 8, 8, 0x7AA, 0, 2, SHORT)]


def stream(versions):
    """All frames at 1 ms, 2 ms ..., each after something else; the bytes."""
    data = b""
    for n, (frame, *_) in enumerate(FRAMES, 1):
        version = versions[n % len(versions)]
        coarse = n % 2 == 0
        data += an_object(*OTHERS[n % len(OTHERS)])
        data += an_object(*frame, n * (100 if coarse else 1_000_000), version, 1 if coarse else 2, more=8 * (version == 3))
    return data


def in_pieces(data, size, packed):
    return b"".join(container(data[at:at + size], packed) for at in range(0, len(data), size))


@pytest.mark.parametrize("versions", [(1,), (1, 2, 3)])
@pytest.mark.parametrize("layout", ["bare", "stored", "packed", "packed in 37 bytes", "mixed"])
def test_every_object_of_can(run, tmp_path, layout, versions):
    data = stream(versions)
    path = tmp_path / "drive.blf"
    path.write_bytes(header() + {"bare": lambda: data, "stored": lambda: container(data, False), "packed": lambda: container(data),
                                 "packed in 37 bytes": lambda: in_pieces(data, 37, True),
                                 "mixed": lambda: in_pieces(data[:1000], 401, False) + in_pieces(data[1000:], 999, True)}[layout]())
    found = ingest(run, path, tmp_path / "out", "--payload", 64, "--merge-channels")
    assert found["can_id"].tolist() == [frame[2] for frame in FRAMES]
    assert [bytes(row[:n]) for row, n in zip(found["data"], found["length"])] == [frame[3] for frame in FRAMES]
    assert np.load(tmp_path / "out" / "flags.npy").tolist() == [frame[4] for frame in FRAMES]
    channels = found["manifest"]["recordings"][0]["channels"]
    assert [channels[c] for c in np.load(tmp_path / "out" / "channel.npy")] == [str(frame[5]) for frame in FRAMES]
    assert found["time_ns"].tolist() == [START_NS + n * 1_000_000 for n in range(1, len(FRAMES) + 1)]


def test_what_python_can_reads_is_read_alike(run, tmp_path):
    passed = [other for other in OTHERS if other[0] not in (96, 101)]  # after a marker it finds nothing; requests are frames to it
    data = b"".join(an_object(*frame[0], n * 1_000_000, version=1 + n % 2) + an_object(*passed[n % len(passed)])
                    for n, frame in enumerate(FRAMES, 1) if frame[1])
    path = tmp_path / "drive.blf"
    path.write_bytes(header() + in_pieces(data, 512, True))
    read = list(can.BLFReader(path))
    assert len(read) == sum(frame[1] for frame in FRAMES)
    expect_same(ingest(run, path, tmp_path / "out", "--payload", 64, "--merge-channels"), read)
    assert np.load(tmp_path / "out" / "flags.npy").tolist() == [flags_of(m) if not m.is_error_frame else 0 for m in read]


def test_frames_of_can_xl_are_refused(bin_dir, tmp_path):
    path = tmp_path / "drive.blf"
    path.write_bytes(header() + container(an_object(*xl_channel(1, 0, 0x7F, 99, bytes(100), 0x400000), 1000)))
    assert "drive.blf: byte 144: found a frame of CAN XL in the container there, expected CAN or CAN FD" in refused(bin_dir, path, tmp_path / "out")


def test_a_frame_that_is_shorter_than_its_kind_is_refused(bin_dir, tmp_path):
    path = tmp_path / "drive.blf"
    for kind, body in [frame[0] for frame in FRAMES]:
        path.write_bytes(header() + an_object(kind, body[:3], 1000))
        assert f"found an object of type {kind} of" in refused(bin_dir, path, tmp_path / "out")
    path.write_bytes(header() + an_object(*FRAMES[0][0], 1000, version=4))
    assert "found an object header of version 4" in refused(bin_dir, path, tmp_path / "out")


FILES = Path(os.environ.get("PLIMSOLL_BLF_FILES", "/nonexistent"))


def readable(path):
    """What python-can makes of a file; None where it gives up."""
    try:
        return list(can.BLFReader(path))
    except Exception:
        return None


def rows_of_python_can(read):
    # An ID that 11 bits do not hold is of 29, whatever the file says.
    for m in read:
        extended = not m.is_error_frame and (m.is_extended_id or m.arbitration_id > 0x7FF)
        id = m.arbitration_id | (EXTENDED if extended else 0) | (REMOTE if m.is_remote_frame else 0) | (ERROR if m.is_error_frame else 0)
        yield id, b"" if m.is_remote_frame else bytes(m.data), flags_of(m) if not m.is_error_frame else 0


# Of no ID, in objects 2 and 104, or outside of containers: python-can passes over them.
ONLY_MINE = {"test_CanErrorFrame.blf", "test_CanFdErrorFrame64.blf", "FileWithoutLogContainers.blf"}


@pytest.mark.skipif(not FILES.is_dir(), reason="no folder of BLF files (set PLIMSOLL_BLF_FILES, such as to that of vector_blf's tests)")
def test_files_of_others_are_read_as_python_can_does(bin_dir, tmp_path):
    compared = 0
    for number, path in enumerate(sorted(FILES.rglob("*.blf"))):
        out = tmp_path / str(number)
        done = subprocess.run([bin_dir / "plimsoll", "ingest", "can", path, "--out", out, "--payload", "64", "--merge-channels"],
                              capture_output=True, text=True)
        read = readable(path)
        if done.returncode:
            assert done.returncode == 3 and str(path) in done.stderr, (path, done.stderr)
            assert "holds no frames" in done.stderr and not read or "Truncated" in path.name, (path, done.stderr)
            continue
        ids, data, lengths = (np.load(out / f"{name}.npy") for name in ("can_id", "data", "length"))
        flags = np.load(out / "flags.npy") if (out / "flags.npy").exists() else np.zeros(len(ids), np.uint8)
        mine = [(int(id), bytes(row[:n]), int(flag)) for id, row, n, flag in zip(ids, data, lengths, flags)]
        if path.name in ONLY_MINE:
            assert mine and not read, path
            continue
        assert mine == list(rows_of_python_can(read)), path
        seconds = np.load(out / "time_ns.npy") * 1e-9
        assert np.abs(seconds - [m.timestamp for m in read]).max() < 1e-5, path
        compared += len(mine)
    assert compared
