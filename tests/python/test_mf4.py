"""Bus logging in MDF 4, beside asammdf and python-can, which write it, and files laid out by hand as loggers do."""

import struct
import zlib

import numpy as np
import pytest

from test_can_containers import ERROR, EXTENDED, expect_same, flags_of, ingest, messages, refused, with_flags, write

can = pytest.importorskip("can", reason="pip install python-can")


@pytest.fixture(scope="module")
def asammdf():
    return pytest.importorskip("asammdf", reason="pip install asammdf")


@pytest.mark.parametrize("fd", [False, True])
def test_mf4_of_python_can(asammdf, run, tmp_path, fd):
    sent = messages(2000, fd)
    sent[3].is_error_frame, sent[3].is_remote_frame = True, False
    for message in sent:
        message.channel = 1
    path = write(tmp_path / "drive.mf4", can.MF4Writer, sent)
    columns = ingest(run, path, tmp_path / "out", "--payload", 64)
    read = sorted(can.MF4Reader(path), key=lambda m: m.timestamp)
    by_time = {round(m.timestamp * 1e6): m for m in read}
    assert len(columns["can_id"]) == len(read) == len(sent)
    for time, can_id, length, data in zip(columns["time_ns"], columns["can_id"], columns["length"], columns["data"]):
        message = by_time[round(time / 1000)]
        if message.is_error_frame:
            assert can_id & ERROR
            continue
        assert can_id & 0x1FFFFFFF == message.arbitration_id and bool(can_id & EXTENDED) == message.is_extended_id
        if not message.is_remote_frame:
            assert bytes(data[:length]) == bytes(message.data)


def test_flags_are_those_of_python_can(asammdf, run, tmp_path):
    sent = with_flags()
    for message in sent:
        message.channel = 1
    path = write(tmp_path / "drive.mf4", can.MF4Writer, sent)
    columns = ingest(run, path, tmp_path / "out", "--payload", 64)
    by_time = {round(m.timestamp * 1e6): flags_of(m) for m in can.MF4Reader(path)}
    expected = [by_time[round(time / 1000)] for time in columns["time_ns"]]
    assert np.load(tmp_path / "out" / "flags.npy").tolist() == expected and set(expected) >= {0, 4, 5, 6, 8, 12}


@pytest.mark.parametrize("compression", [1, 2])
def test_packed_and_transposed_blocks_hold_the_same(asammdf, run, tmp_path, compression):
    sent = messages(5000, remote=False)
    for message in sent:
        message.channel = 1
    path = write(tmp_path / "plain.mf4", can.MF4Writer, sent)
    with asammdf.MDF(path) as mdf:
        mdf.save(tmp_path / "packed.mf4", compression=compression, overwrite=True)
    plain = ingest(run, path, tmp_path / "plain", "--payload", 64)
    packed = ingest(run, tmp_path / "packed.mf4", tmp_path / "packed", "--payload", 64, "--budget", "48MiB")
    assert b"##DZ" in (tmp_path / "packed.mf4").read_bytes()
    assert all(np.array_equal(plain[key], packed[key]) for key in ("time_ns", "can_id", "length", "data"))


# ---- files laid out by hand (ASAM MDF 4.1): unsorted, not finalised, payloads of variable length

START_NS = 1_700_000_000_000_000_000


class Mdf:
    """Blocks, one after the other; a link is the place of a block."""

    def __init__(self, unfinished=0):
        self.bytes = bytearray(64 + 104)
        name = b"UnFinMF " if unfinished else b"MDF     "
        self.bytes[:64] = struct.pack("<8s8s8s4xH30xHH", name, b"4.10    ", b"byhand  ", 410, unfinished, 0)

    def add(self, kind, links=(), data=b"", length=None):
        at = len(self.bytes)
        body = struct.pack(f"<{len(links)}Q", *links) + data
        self.bytes += kind + struct.pack("<4xQQ", 24 + len(body) if length is None else length, len(links)) + body
        self.bytes += b"\0" * (-len(self.bytes) % 8)
        return at

    def text(self, text):
        return self.add(b"##TX", data=text.encode() + b"\0")

    def channel(self, name, kind, data_type, byte, bits, following=0, below=0, data=0, bit=0, sync=0, conversion=0):
        body = struct.pack("<BBBBIIIIBxHdddddd", kind, sync, data_type, bit, byte, bits, 0, 0, 0, 0, *[0.0] * 6)
        return self.add(b"##CN", [following, below, self.text(name), 0, conversion, data, 0, 0], body)

    def group(self, channel, record_id, data_bytes, following=0, variable=False, cycles=0):
        body = struct.pack("<QQHH4xII", record_id, cycles, 1 if variable else 2, 0x2E, data_bytes, 0)
        return self.add(b"##CG", [following, channel, 0, 0, 0, 0], body)

    def finish(self, group, data, id_bytes, following=0):
        first = self.add(b"##DG", [following, group, data, 0], struct.pack("<B7x", id_bytes))
        head = struct.pack("<4s4xQQ6Q", b"##HD", 104, 6, first, 0, 0, 0, 0, 0) + struct.pack("<QhhBBBxdd", START_NS, 0, 0, 0, 0, 0, 0.0, 0.0)
        self.bytes[64:64 + len(head)] = head
        return bytes(self.bytes)


def can_channel(mdf, data_kind, data_link, payload_byte=14, payload_bits=64):
    """CAN_DataFrame below time in us (u64): channel in 4 bits, ID in 29, IDE in a bit, length, payload or its place."""
    parts = [("BusChannel", 0, 8, 4, 0), ("ID", 0, 9, 29, 0), ("IDE", 0, 12, 1, 7), ("DataLength", 0, 13, 8, 0)]
    at = mdf.channel("CAN_DataFrame.DataBytes", data_kind, 10, payload_byte, payload_bits, data=data_link)
    for name, kind, byte, bits, bit in reversed(parts):
        at = mdf.channel(f"CAN_DataFrame.{name}", kind, 0, byte, bits, following=at, bit=bit)
    frame = mdf.channel("CAN_DataFrame", 0, 10, 8, 8 * 14, below=at)
    linear = mdf.add(b"##CC", [0, 0, 0, 0], struct.pack("<BBHHHdddd", 1, 0, 0, 0, 2, 0.0, 0.0, 0.0, 1e-6))
    return mdf.channel("Timestamp", 2, 0, 0, 64, following=frame, sync=1, conversion=linear)


def record(message, tail):
    ticks = round((message.timestamp - START_NS / 1e9) * 1e6)
    word = message.arbitration_id | (EXTENDED if message.is_extended_id else 0)
    return struct.pack("<QBIB", ticks, 1, word, len(message.data)) + tail


def traffic(count, fd):
    sent = messages(count, fd, start=START_NS / 1e9, remote=False)
    for message in sent:
        message.timestamp = START_NS / 1e9 + round((message.timestamp - START_NS / 1e9) * 1e6) / 1e6
    return sent


def unsorted(sent, unfinished=0, texts_first=False, zeros=False):
    """Frames and the texts of their payloads as two kinds of records of one group."""
    mdf = Mdf(unfinished)
    cycles = 0 if unfinished else len(sent)
    texts = mdf.group(0, 2, sum(4 + len(m.data) for m in sent) if cycles else 0, variable=True, cycles=cycles)
    frames = mdf.group(can_channel(mdf, 1, texts), 1, 22, following=texts, cycles=cycles)
    stream, place = b"", 0
    for message in sent:
        data = bytes(message.data)
        parts = [b"\1" + record(message, struct.pack("<Q", 0 if zeros else place)), b"\2" + struct.pack("<I", len(data)) + data]
        stream += b"".join(reversed(parts) if texts_first else parts)
        place += 4 + len(data)
    if unfinished:
        group, head = frames, mdf.add(b"##DG", [0, frames, 0, 0], struct.pack("<B7x", 1))
        del head
        whole = mdf.finish(group, 0, 1)
        data = len(whole)
        patched = bytearray(whole)
        first = struct.unpack_from("<Q", patched, 64 + 24)[0]
        struct.pack_into("<Q", patched, first + 24 + 16, data)
        return bytes(patched) + struct.pack("<4s4xQQ", b"##DT", 24, 0) + stream
    return mdf.finish(frames, mdf.add(b"##DT", data=stream), 1)


@pytest.mark.parametrize("fd, texts_first", [(False, False), (True, True)])
def test_unsorted_records_with_payloads_of_variable_length(asammdf, run, tmp_path, fd, texts_first):
    sent = traffic(1500, fd)
    path = tmp_path / "unsorted.mf4"
    path.write_bytes(unsorted(sent, texts_first=texts_first))
    expect_same(ingest(run, path, tmp_path / "out", "--payload", 64), sent)
    with asammdf.MDF(path) as mdf:
        ids = mdf.get("CAN_DataFrame.ID").samples
        assert np.array_equal(ids.astype(np.uint32) & 0x1FFFFFFF, [m.arbitration_id for m in sent])


def test_a_file_that_nobody_finalised_is_read_to_its_end(run, bin_dir, tmp_path):
    sent = traffic(800, False)
    path = tmp_path / "log.mf4"
    whole = unsorted(sent, unfinished=0b1100101, zeros=True)
    path.write_bytes(whole)
    expect_same(ingest(run, path, tmp_path / "out"), sent)
    path.write_bytes(whole[:-9])  # the power went
    expect_same(ingest(run, path, tmp_path / "cut"), sent[:-1])


@pytest.mark.parametrize("packed", ["plain", "lists", "packed", "transposed", "large"])
def test_sorted_records_in_blocks_of_all_kinds(run, tmp_path, packed):
    sent = traffic(3000, False) * (70 if packed == "large" else 1)
    mdf = Mdf()
    group = mdf.group(can_channel(mdf, 0, 0), 0, 22)
    rows = [record(m, bytes(m.data).ljust(8, b"\0")) for m in sent]

    def pack(part, transposed):
        data = b"".join(part)
        stored = bytes(np.frombuffer(data, np.uint8).reshape(len(part), 22).T.tobytes()) if transposed else data
        deflated = zlib.compress(stored, 1)
        return mdf.add(b"##DZ", data=struct.pack("<2sBxIQQ", b"DT", int(transposed), 22, len(data), len(deflated)) + deflated)

    def listed(blocks, following=0):
        return mdf.add(b"##DL", [following, *blocks], struct.pack("<B3xIQ", 1, len(blocks), 22 * 1000))

    if packed == "plain":
        link = mdf.add(b"##DT", data=b"".join(rows))
    elif packed == "large":
        link = pack(rows, True)  # 4.6 MB: through a scratch file
    else:
        parts = [rows[i:i + 1000] for i in range(0, len(rows), 1000)]
        blocks = [mdf.add(b"##DT", data=b"".join(p)) if packed == "lists" else pack(p, packed == "transposed") for p in parts]
        link = listed(blocks[:2], listed(blocks[2:]))
        if packed != "lists":
            link = mdf.add(b"##HL", [link], struct.pack("<HB5x", 1, int(packed == "transposed")))
    path = tmp_path / "sorted.mf4"
    path.write_bytes(mdf.finish(group, link, 0))
    expect_same(ingest(run, path, tmp_path / "out", "--budget", "48MiB"), sent)


def test_groups_are_merged_by_time(run, tmp_path):
    """Three groups: long runs of one, runs of one frame, equal times, one time that runs back, several buses in a group."""
    dice = np.random.default_rng(11)
    groups = []
    for g, (count, most) in enumerate(((9000, 3), (3000, 9), (400, 2000))):
        ticks = np.cumsum(dice.integers(0, most, count))
        ticks[count // 2] -= 5
        rows = [(int(t), 1 + g if g else int(dice.integers(1, 3)), int(dice.integers(0, 0x800)), dice.bytes(int(dice.integers(0, 9)))) for t in ticks]
        groups.append(rows)
    mdf, following = Mdf(), 0
    for rows in reversed(groups):
        data = b"".join(struct.pack("<QBIB", ticks, bus, id, len(data)) + data.ljust(8, b"\0") for ticks, bus, id, data in rows)
        whole = mdf.finish(mdf.group(can_channel(mdf, 0, 0), 0, 22), mdf.add(b"##DT", data=data), 0, following)
        following = struct.unpack_from("<Q", whole, 64 + 24)[0]
    path = tmp_path / "groups.mf4"
    path.write_bytes(whole)
    expected, heads = [], [0, 0, 0]
    while any(head < len(rows) for head, rows in zip(heads, groups)):
        first = min((g for g in range(3) if heads[g] < len(groups[g])), key=lambda g: (groups[g][heads[g]][0], g))
        expected.append(groups[first][heads[first]])
        heads[first] += 1
    found = ingest(run, path, tmp_path / "out", "--merge-channels")
    assert found["time_ns"].tolist() == [START_NS + 1000 * frame[0] for frame in expected]
    assert found["can_id"].tolist() == [frame[2] for frame in expected]
    assert [bytes(row[:n]) for row, n in zip(found["data"], found["length"])] == [frame[3] for frame in expected]
    channels = found["manifest"]["recordings"][0]["channels"]
    assert [channels[c] for c in np.load(tmp_path / "out" / "channel.npy")] == [str(frame[1]) for frame in expected]
    one = ingest(run, path, tmp_path / "one", "--channel", 2)
    assert one["can_id"].tolist() == [frame[2] for frame in expected if frame[1] == 2]


@pytest.mark.parametrize("packed", [False, True])
def test_sorted_payloads_of_variable_length(run, tmp_path, packed):
    sent = traffic(2000, True)
    mdf = Mdf()
    texts = b"".join(struct.pack("<I", len(m.data)) + bytes(m.data) for m in sent)
    deflated = zlib.compress(texts)
    data = (mdf.add(b"##DZ", data=struct.pack("<2sBxIQQ", b"SD", 0, 0, len(texts), len(deflated)) + deflated) if packed
            else mdf.add(b"##SD", data=texts))
    places = np.cumsum([0] + [4 + len(m.data) for m in sent])
    group = mdf.group(can_channel(mdf, 1, data), 0, 22)
    rows = b"".join(record(m, struct.pack("<Q", place)) for m, place in zip(sent, places))
    path = tmp_path / "texts.mf4"
    path.write_bytes(mdf.finish(group, mdf.add(b"##DT", data=rows), 0))
    expect_same(ingest(run, path, tmp_path / "out", "--payload", 64), sent)


# Conversions (CC) of the code of a length, as CANedge writes them: by value (5), with values in between (4), by range (6).
CODES = {9: 12, 10: 16, 11: 20, 12: 24, 13: 32, 14: 48, 15: 64}
PAIRS = [number for code, length in {**{n: n for n in range(9)}, **CODES}.items() for number in (code, length)]
RANGES = [number for code, length in CODES.items() for number in (code, code, length)]


def conversion(mdf, kind, values):
    body = struct.pack("<BBHHHdd", kind, 0, 0, 0, len(values), 0.0, 0.0) + struct.pack(f"<{len(values)}d", *values)
    return mdf.add(b"##CC", [0, 0, 0, 0], body)


def virtual(mdf, name, following, *values):
    """A channel of 0 bits whose value is a function of the record's number."""
    return mdf.channel(f"CAN_DataFrame.{name}", 6, 0, 0, 0, following=following, conversion=conversion(mdf, 1, values) if values else 0)


def with_codes(mdf, rows, length=None, dlc=True, fd=True, bus=(3.0, 0.0), direction=(1.0, 0.0), extended=(1.0, 0.0), time=None, ids=None):
    """Records of a time in us, an ID, a code of the length in 4 bits, and 64 bytes."""
    at = mdf.channel("CAN_DataFrame.DataBytes", 0, 10, 13, 8 * 64)
    if length is not None:
        at = mdf.channel("CAN_DataFrame.DataLength", 0, 0, 12, 4, following=at, conversion=length(mdf))
    if dlc:
        at = mdf.channel("CAN_DataFrame.DLC", 0, 0, 12, 4, following=at)
    if fd:
        at = virtual(mdf, "EDL", at, 1.0, 0.0)
    for name, values in (("Dir", direction), ("IDE", extended), ("BusChannel", bus)):
        at = virtual(mdf, name, at, *values)
    at = mdf.channel("CAN_DataFrame.ID", 0, 0, 8, 29, following=at, conversion=ids(mdf) if ids else 0)
    frame = mdf.channel("CAN_DataFrame", 0, 10, 8, 8 * 69, below=at)
    clock = mdf.channel("Timestamp", 3 if time else 2, 0, 0, 0 if time else 64, following=frame, sync=1,
                        conversion=conversion(mdf, 1, time or (0.0, 1e-6)))
    data = b"".join(struct.pack("<QIB", 1000 * i, 0x100 + i, code) + bytes(range(64)) for i, code in enumerate(rows))
    return mdf.finish(mdf.group(clock, 0, 77, cycles=len(rows)), mdf.add(b"##DT", data=data), 0)


@pytest.mark.parametrize("name, length, dlc, fd", [
    ("by value", lambda mdf: conversion(mdf, 5, PAIRS), True, True),
    ("by value, with no code beside it", lambda mdf: conversion(mdf, 5, PAIRS), False, True),
    ("with values in between", lambda mdf: conversion(mdf, 4, PAIRS), True, True),
    ("by range", lambda mdf: conversion(mdf, 6, [0.0, 0.0, 0.0, *[x for n in range(1, 9) for x in (n, n, n)], *RANGES, 0.0]), True, True),
    ("the code in place of the length", lambda mdf: 0, True, True),
    ("the code alone", None, True, True),
    ("the code alone, without a flag for CAN FD", None, True, False),
])
def test_lengths_by_their_codes(run, tmp_path, name, length, dlc, fd):
    """Each read as Frame by frame, where buses are not those of the frame before, and in runs."""
    for rows, bus in ((list(range(16)) * 3, (3.0, 0.0)), ([9, 15, 0, 8, 12], (0.0, 1.0))):
        path = tmp_path / "codes.mf4"
        path.write_bytes(with_codes(Mdf(), rows, length, dlc, fd, bus))
        found = ingest(run, path, tmp_path / f"out{len(rows)}", "--payload", 64, "--merge-channels")
        lengths = [CODES.get(code, code) for code in rows]
        assert found["length"].tolist() == lengths
        assert [bytes(row[:n]) for row, n in zip(found["data"], lengths)] == [bytes(range(n)) for n in lengths]


def test_codes_of_classic_frames_stand_for_8_bytes(run, tmp_path):
    path = tmp_path / "classic.mf4"
    mdf = Mdf()
    at = mdf.channel("CAN_DataFrame.DataBytes", 0, 10, 13, 64)
    at = mdf.channel("CAN_DataFrame.DLC", 0, 0, 12, 4, following=at)
    at = mdf.channel("CAN_DataFrame.ID", 0, 0, 8, 29, following=at)
    frame = mdf.channel("CAN_DataFrame", 0, 10, 8, 8 * 13, below=at)
    clock = mdf.channel("Timestamp", 2, 0, 0, 64, following=frame, sync=1, conversion=conversion(mdf, 1, (0.0, 1e-6)))
    data = b"".join(struct.pack("<QIB", 1000 * i, 1, i) + bytes(range(8)) for i in range(16))
    path.write_bytes(mdf.finish(mdf.group(clock, 0, 21, cycles=16), mdf.add(b"##DT", data=data), 0))
    assert ingest(run, path, tmp_path / "out")["length"].tolist() == [*range(9), *[8] * 7]


def test_virtual_channels(asammdf, run, tmp_path):
    """Constants, and values that grow with the record; a virtual master is the time."""
    path = tmp_path / "virtual.mf4"
    path.write_bytes(with_codes(Mdf(), [1, 2, 3], time=(0.5, 0.25)))
    found = ingest(run, path, tmp_path / "out", "--payload", 64)
    assert found["time_ns"].tolist() == [START_NS + 500_000_000 + 250_000_000 * i for i in range(3)]
    assert found["can_id"].tolist() == [EXTENDED | 0x100 + i for i in range(3)]
    assert np.load(tmp_path / "out" / "flags.npy").tolist() == [12] * 3
    assert found["manifest"]["recordings"][0]["channel"] == "3"
    with asammdf.MDF(path) as mdf:
        assert mdf.get("CAN_DataFrame.BusChannel").samples.tolist() == [3] * 3
        assert mdf.get("CAN_DataFrame.IDE").samples.tolist() == [1] * 3
    path.write_bytes(with_codes(Mdf(), [1, 2, 3], bus=(4.0, 2.0), extended=(0.0, 0.0), direction=(0.0, 0.0)))
    found = ingest(run, path, tmp_path / "grows", "--payload", 64, "--merge-channels")
    assert found["manifest"]["recordings"][0]["channels"] == ["4", "6", "8"]
    assert found["can_id"].tolist() == [0x100, 0x101, 0x102] and np.load(tmp_path / "grows" / "flags.npy").tolist() == [4] * 3
    path.write_bytes(with_codes(Mdf(), [1, 2, 3], bus=()))  # the number of the record itself
    found = ingest(run, path, tmp_path / "number", "--payload", 64, "--merge-channels")
    assert found["manifest"]["recordings"][0]["channels"] == ["0", "1", "2"]


def test_a_linear_conversion_of_a_whole_number_is_followed(run, tmp_path):
    path = tmp_path / "ids.mf4"
    path.write_bytes(with_codes(Mdf(), [1, 2, 3], ids=lambda mdf: conversion(mdf, 1, (16.0, 2.0))))
    found = ingest(run, path, tmp_path / "out", "--payload", 64)
    assert [id & 0x1FFFFFFF for id in found["can_id"].tolist()] == [16 + 2 * (0x100 + i) for i in range(3)]


def test_a_formula_is_refused(bin_dir, tmp_path):
    path = tmp_path / "formula.mf4"
    path.write_bytes(with_codes(Mdf(), [1], ids=lambda mdf: conversion(mdf, 3, ())))
    assert "'CAN_DataFrame.ID' as a formula" in refused(bin_dir, path, tmp_path / "out", "--payload", 64)


def finalised(rows, bytes_of=lambda data: data):
    """Descriptions, and then the data: as loggers write a file, but with the length of the data."""
    mdf = Mdf()
    whole = bytearray(mdf.finish(mdf.group(can_channel(mdf, 0, 0), 0, 22, cycles=len(rows)), 0, 0))
    struct.pack_into("<Q", whole, struct.unpack_from("<Q", whole, 88)[0] + 40, len(whole))
    data = bytes_of(b"".join(rows))
    return bytes(whole), data


def test_a_finalised_file_that_is_cut_is_read_to_its_last_whole_record(run, bin_dir, tmp_path):
    sent = traffic(200, False)
    rows = [record(m, bytes(m.data).ljust(8, b"\0")) for m in sent]
    head, data = finalised(rows)
    path = tmp_path / "log.mf4"
    whole = head + struct.pack("<4s4xQQ", b"##DT", 24 + len(data), 0) + data
    for missing in (1, 21, 22, 23, 22 * 150 + 7):
        path.write_bytes(whole[:-missing])
        found = ingest(run, path, tmp_path / f"out{missing}")
        expect_same(found, sent[:200 - (missing + 21) // 22])
        left = (22 - missing % 22) % 22
        assert found["manifest"]["recordings"][0]["truncated_at"] == len(whole) - missing - left
        assert found["manifest"]["recordings"][0]["traps"].get("cut_off_bytes", 0) == left
        assert "log.mf4: byte" in refused(bin_dir, path, tmp_path / "no", "--truncated", "fail")
    packed = zlib.compress(data, 1)
    whole = head + struct.pack("<4s4xQQ", b"##DZ", 48 + len(packed), 0) + struct.pack("<2sBxIQQ", b"DT", 0, 0, len(data), len(packed)) + packed
    path.write_bytes(whole[:-len(packed) // 3])
    found = ingest(run, path, tmp_path / "packed")
    frames = len(found["time_ns"])
    assert 20 < frames < 200 and found["manifest"]["recordings"][0]["truncated_at"] > 0
    expect_same(found, sent[:frames])


def test_a_length_that_goes_beyond_the_file_is_a_damage_where_blocks_follow(bin_dir, tmp_path):
    mdf = Mdf()
    link = mdf.add(b"##DT", data=b"".join(record(m, bytes(m.data).ljust(8, b"\0")) for m in traffic(50, False)))
    whole = bytearray(mdf.finish(mdf.group(can_channel(mdf, 0, 0), 0, 22, cycles=50), link, 0))
    struct.pack_into("<Q", whole, link + 8, 1 << 20)
    path = tmp_path / "long.mf4"
    path.write_bytes(whole)
    assert "a block ##DT that goes on after the end of the file" in refused(bin_dir, path, tmp_path / "out")


def test_zeros_at_the_end_of_a_file_that_nobody_finalised_are_no_frames(run, tmp_path):
    sent = traffic(100, False)
    rows = [record(m, bytes(m.data).ljust(8, b"\0")) for m in sent]
    head, data = finalised(rows)
    head = b"UnFinMF " + head[8:60] + struct.pack("<H", 4) + head[62:]
    path = tmp_path / "log.mf4"
    path.write_bytes(head + struct.pack("<4s4xQQ", b"##DT", 24, 0) + data + bytes(4096))
    found = ingest(run, path, tmp_path / "out")
    expect_same(found, sent)
    assert found["manifest"]["recordings"][0]["traps"]["cut_off_bytes"] > 4000


def test_records_that_are_no_frames_are_counted(run, tmp_path):
    sent = traffic(100, False)
    mdf = Mdf()
    other = mdf.group(mdf.channel("LIN_Frame", 0, 10, 8, 8), 2, 9, cycles=3)
    frames = mdf.group(can_channel(mdf, 0, 0), 1, 22, following=other, cycles=100)
    data = b"".join(b"\1" + record(m, bytes(m.data).ljust(8, b"\0")) + (b"\2" + bytes(9) if i < 3 else b"") for i, m in enumerate(sent))
    path = tmp_path / "lin.mf4"
    path.write_bytes(mdf.finish(frames, mdf.add(b"##DT", data=data), 1))
    found = ingest(run, path, tmp_path / "out")
    expect_same(found, sent)
    assert found["manifest"]["recordings"][0]["traps"]["other_records"] == 3


def test_damaged_files_are_refused_with_file_and_byte(run, bin_dir, tmp_path):
    whole = unsorted(traffic(200, False))
    path = tmp_path / "bad.mf4"
    for bytes_left in (40, 100, len(whole) // 2, len(whole) - 3):  # descriptions are behind the data
        path.write_bytes(whole[:bytes_left])
        assert "bad.mf4: byte" in refused(bin_dir, path, tmp_path / "out")
    path.write_bytes(whole[:28] + struct.pack("<H", 330) + whole[30:])
    assert "MDF version 330" in refused(bin_dir, path, tmp_path / "out")


def shared_lists(data_groups, groups):
    """Data groups of one and the same list of groups, and these of one and the same list of channels."""
    mdf = Mdf()
    channels, group, data_group = can_channel(mdf, 0, 0), 0, 0
    for number in range(groups):
        group = mdf.group(channels, number, 22, following=group)
    for _ in range(data_groups):
        whole = mdf.finish(group, 0, 2, following=data_group)
        data_group = struct.unpack_from("<Q", whole, 64 + 24)[0]
    return whole


@pytest.mark.parametrize("data_groups, groups, kind", [(300, 1, "CN"), (1, 300, "CN"), (2000, 2000, "CN")])
def test_lists_that_share_blocks_are_refused(bin_dir, tmp_path, data_groups, groups, kind):
    """Each of them is no longer than the file; all that a walk through them meets is."""
    path = tmp_path / "shared.mf4"
    path.write_bytes(shared_lists(data_groups, groups))
    assert f"a block ##{kind} that was read before" in refused(bin_dir, path, tmp_path / "out")
