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


def test_damaged_files_are_refused_with_file_and_byte(run, bin_dir, tmp_path):
    whole = unsorted(traffic(200, False))
    path = tmp_path / "bad.mf4"
    for bytes_left in (40, 100, len(whole) // 2, len(whole) - 3):
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
