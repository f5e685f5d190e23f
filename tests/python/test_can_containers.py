"""Captures that are no candump and no four-column CSV, beside the programs that write them: python-can, asammdf."""

import gzip
import json
import struct
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest

can = pytest.importorskip("can", reason="pip install python-can")

EXTENDED, REMOTE, ERROR = 1 << 31, 1 << 30, 1 << 29


def messages(count=3000, fd=False, seed=7, start=1_700_000_000.0, remote=True):
    """Traffic of one channel, standard and extended IDs."""
    dice = np.random.default_rng(seed)
    times = start + np.cumsum(dice.integers(100, 2_000, count)) * 1e-6
    made = []
    for i in range(count):
        extended = bool(dice.random() < 0.3)
        length = int(dice.choice([0, 1, 8, 8, 8])) if not fd or dice.random() < 0.5 else int(dice.choice([12, 20, 64]))
        made.append(can.Message(
            timestamp=float(times[i]), arbitration_id=int(dice.integers(0, 1 << (29 if extended else 11))), is_extended_id=extended,
            is_fd=length > 8, is_remote_frame=remote and length == 8 and bool(dice.random() < 0.02),
            data=dice.bytes(length), channel=0))
        if made[-1].is_remote_frame:
            made[-1].data, made[-1].dlc = bytearray(), 8
    return made


def write(path, writer, sent, **options):
    with writer(path, **options) as log:
        for message in sent:
            log.on_message_received(message)
    return path


def ingest(run, path, out, *options):
    run("plimsoll", "ingest", "can", path, "--out", out, *options)
    columns = {name: np.load(out / f"{name}.npy") for name in ("time_ns", "can_id", "length", "data", "label")}
    columns["manifest"] = json.loads((out / "manifest.json").read_text())
    return columns


def expect_same(columns, expected, tolerance_ns=1000, start_ns=0):
    assert len(columns["time_ns"]) == len(expected)
    ids = [m.arbitration_id | (EXTENDED if m.is_extended_id and not m.is_error_frame else 0) | (REMOTE if m.is_remote_frame else 0)
           | (ERROR if m.is_error_frame else 0) for m in expected]
    assert np.array_equal(columns["can_id"], np.array(ids, np.uint32))
    lengths = np.array([len(m.data) if not m.is_remote_frame else 0 for m in expected], np.uint8)
    assert np.array_equal(columns["length"], lengths)
    width = columns["data"].shape[1]
    data = np.zeros((len(expected), width), np.uint8)
    for row, m in zip(data, expected):
        if not m.is_remote_frame:
            row[: len(m.data)] = list(m.data)
    assert np.array_equal(columns["data"], data)
    times = np.array([round(m.timestamp * 1e9) for m in expected], np.int64)
    assert np.abs(columns["time_ns"] - times - start_ns).max() <= tolerance_ns


@pytest.mark.parametrize("fd", [False, True])
@pytest.mark.parametrize("level", [-1, 0])
def test_blf_of_python_can(run, tmp_path, fd, level):
    path = write(tmp_path / "drive.blf", can.BLFWriter, messages(6000, fd), compression_level=level)
    columns = ingest(run, path, tmp_path / "out", *(["--payload", 64] if fd else []))
    expect_same(columns, list(can.BLFReader(path)))
    assert columns["manifest"]["recordings"][0]["channel"] == "1"


def test_blf_error_frames_and_channels(run, bin_dir, tmp_path):
    sent = messages(500)
    for i, message in enumerate(sent):
        message.channel = i % 2
    sent[10].is_error_frame = True
    path = write(tmp_path / "two.blf", can.BLFWriter, sent)
    read = list(can.BLFReader(path))
    columns = ingest(run, path, tmp_path / "out", "--channel", 2)
    expect_same(columns, [m for m in read if m.channel == 1])
    assert columns["manifest"]["recordings"][0]["traps"]["other_channels"] == 250
    expect_same(ingest(run, path, tmp_path / "one", "--channel", 1), [m for m in read if m.channel == 0])
    both = ingest(run, path, tmp_path / "both")
    expect_same(both, [m for m in read if m.channel == 0] + [m for m in read if m.channel == 1])
    recordings = both["manifest"]["recordings"]
    assert [(r["name"], r["channel"], r["frames"]) for r in recordings] == [("two@1", "1", 250), ("two@2", "2", 250)]
    assert columns["manifest"]["recordings"][0]["content"] == recordings[1]["content"]


def refused(bin_dir, path, out, *options, code=3):
    done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", "ingest", "can", path, "--out", out, *options)],
                          capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert not out.exists()
    return done.stderr


def test_a_damaged_blf_is_refused_with_file_and_byte(run, bin_dir, tmp_path):
    whole = write(tmp_path / "drive.blf", can.BLFWriter, messages(9000)).read_bytes()
    cut = tmp_path / "cut.blf"
    for bytes_left in (100, 150, len(whole) // 2, len(whole) - 5):
        cut.write_bytes(whole[:bytes_left])
        assert "cut.blf: byte" in refused(bin_dir, cut, tmp_path / "out", "--truncated", "fail")
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    cut.write_bytes(damaged)
    assert "cut.blf: byte" in refused(bin_dir, cut, tmp_path / "out")


def absolute_asc(path):
    """The date in the header, which python-can takes for local time, and seconds after it."""
    return can.ASCReader(path, relative_timestamp=False)


@pytest.fixture(autouse=True)
def utc(monkeypatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def test_asc_of_python_can(run, tmp_path):
    path = write(tmp_path / "drive.asc", can.ASCWriter, messages(2000))
    expect_same(ingest(run, path, tmp_path / "out"), list(absolute_asc(path)))


def test_asc_with_fd_decimals_and_other_events(run, tmp_path):
    path = write(tmp_path / "drive.asc", can.ASCWriter, messages(500, fd=True, remote=False))
    expect_same(ingest(run, path, tmp_path / "out", "--payload", 64), list(absolute_asc(path)))
    (tmp_path / "dec.asc").write_text(
        "date Sat Sep 30 15:06:13.191 2017\nbase dec  timestamps absolute\ninternal events logged\n"
        "// version 9.0.0\nBegin Triggerblock Sat Sep 30 15:06:13.191 2017\n   0.000000 Start of measurement\n"
        "   0.015991 1  291             Rx   d 3 1 20 255  Length = 1704\n"
        "   0.020000 CAN 1 Status:chip status error active\n"
        "   1.015991 1  291x            Tx   d 1 16\n   2.000000 1  ErrorFrame\nEnd TriggerBlock\n")
    columns = ingest(run, tmp_path / "dec.asc", tmp_path / "dec")
    expect_same(columns, list(absolute_asc(tmp_path / "dec.asc")))
    assert columns["can_id"].tolist() == [291, 291 | EXTENDED, ERROR] and columns["data"][0, :3].tolist() == [1, 20, 255]


def test_asc_with_relative_times_is_refused(bin_dir, tmp_path):
    (tmp_path / "a.asc").write_text("date x\nbase hex  timestamps relative\n 0.1 1 123 Rx d 1 00\n")
    assert "a.asc:2:" in refused(bin_dir, tmp_path / "a.asc", tmp_path / "out")


@pytest.mark.parametrize("name, text, where", [
    ("a.asc", "date x\nbase hex  timestamps absolute\n 0.1 1 123 Rx d 1 00\n 0.2 CANXL 1 Rx 123 8 8 00 00 00 00 00 00 00 00\n", ":4:6: found 'CANXL "),
    ("a.log", "(1.0) can0 123#11\n(2.0) can0 45123#81:00:12345678#11223344.556677\n", ":2:12: found '45123#81:00:"),
])
def test_frames_of_can_xl_in_text_are_refused(bin_dir, tmp_path, name, text, where):
    (tmp_path / name).write_text(text)
    error = refused(bin_dir, tmp_path / name, tmp_path / "out")
    assert name + where in error and "CAN XL are not read" in error


TRC = {
    "1.0": "     1)      1841 0001 8 00 00 00 00 00 00 00 01\n     2)      1842 00000008 2 AA BB\n     3)      2000 FFFFFFFF 4 00 00 00 00\n",
    "1.1": "     1)      1059.9  Rx         0300  7  00 00 00 00 04 00 00\n     2)      1283.2  Rx     00001FFF  1  0A\n"
           "     3)      1300.5  Warng  FFFFFFFF  4  00 00 00 08  BUSLIGHT\n     4)      1301.1  Tx         0300  1  RTR\n",
    "1.3": "     1)      1059.900 1  Rx        0300 -  7    00 00 00 00 04 00 00\n     2)      1283.231 1  Rx    18EFC034 -  8    01 02 03 04 05 06 07 08\n",
}


@pytest.mark.parametrize("version", TRC)
def test_trc_as_python_can_reads_it(run, tmp_path, version):
    header = f";$FILEVERSION={version}\n;$STARTTIME=43008.920986006946\n;\n" if version != "1.0" else ";####\n;   Start time\n"
    path = tmp_path / "a.trc"
    path.write_text(header + TRC[version])
    expect_same(ingest(run, path, tmp_path / "out"), [m for m in can.TRCReader(path) if m])


def test_trc_2_of_python_can(run, tmp_path):
    path = write(tmp_path / "drive.trc", can.TRCWriter, messages(1500, remote=False))
    expect_same(ingest(run, path, tmp_path / "out"), list(can.TRCReader(path)))
    (tmp_path / "fd.trc").write_text(
        ";$FILEVERSION=2.1\n;$STARTTIME=43008.920986006946\n;$COLUMNS=N,O,T,B,I,d,R,L,D\n;\n"
        "      1      1059.900 DT 1      0300 Rx -  7    00 00 00 00 04 00 00\n"
        "      2      1283.231 FB 1      0400 Rx -  9    00 01 02 03 04 05 06 07 08 09 0A 0B\n"
        "      3      1299.323 ST 1         - Rx -  4    00 00 00 00\n"
        "      4      1323.323 RR 1      0500 Rx -  3\n")
    columns = ingest(run, tmp_path / "fd.trc", tmp_path / "fd", "--payload", 64)
    assert columns["can_id"].tolist() == [0x300, 0x400, 0x500 | REMOTE] and columns["length"].tolist() == [7, 12, 0]


def test_csv_of_python_can(run, tmp_path):
    path = write(tmp_path / "drive.csv", can.CSVWriter, messages(1500))
    expect_same(ingest(run, path, tmp_path / "out"), list(can.CSVReader(path)))


def test_csv_of_savvycan(run, bin_dir, tmp_path):
    path = tmp_path / "drive.csv"
    path.write_text("Time Stamp,ID,Extended,Dir,Bus,LEN,D1,D2,D3,D4,D5,D6,D7,D8\n"
                    "166064000,00000370,false,Rx,0,8,00,00,00,00,00,00,00,00,\n"
                    "166064100,18FEF100,true,Rx,0,3,01,A0,FF,\n"
                    "166065000,0000002A,false,Rx,1,1,07\n")
    columns = ingest(run, path, tmp_path / "out", "--channel", 0)
    assert columns["can_id"].tolist() == [0x370, 0x18FEF100 | EXTENDED] and columns["length"].tolist() == [8, 3]
    assert columns["time_ns"].tolist() == [166_064_000_000, 166_064_100_000] and columns["data"][1, :3].tolist() == [1, 0xA0, 0xFF]
    recordings = ingest(run, path, tmp_path / "all")["manifest"]["recordings"]
    assert [(r["channel"], r["frames"]) for r in recordings] == [("0", 2), ("1", 1)]


def packet(message):
    flags = (EXTENDED if message.is_extended_id else 0) | (REMOTE if message.is_remote_frame else 0)
    data = b"" if message.is_remote_frame else bytes(message.data)
    return struct.pack(">IBBBB", message.arbitration_id | flags, len(data), 4 if message.is_fd else 0, 0, 0) + data


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("magic, ticks", [(0xA1B2C3D4, 1_000_000), (0xA1B23C4D, 1_000_000_000)])
def test_pcap(run, tmp_path, order, magic, ticks):
    sent = messages(800, fd=True)
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, 227)]
    for message in sent:
        seconds, rest = divmod(round(message.timestamp * ticks), ticks)
        parts += [struct.pack(order + "IIII", seconds, rest, len(packet(message)), len(packet(message))), packet(message)]
    path = tmp_path / "drive.pcap"
    path.write_bytes(b"".join(parts))
    expect_same(ingest(run, path, tmp_path / "out", "--payload", 64), sent)


def block(order, kind, body):
    body += b"\0" * (-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


@pytest.mark.parametrize("order", "<>")
def test_pcapng_with_two_interfaces(run, bin_dir, tmp_path, order):
    sent = messages(400)
    parts = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    for name in (b"can0", b"vcan12"):
        options = struct.pack(order + "HH", 2, len(name)) + name + b"\0" * (-len(name) % 4)
        options += struct.pack(order + "HHB3x", 9, 1, 9) + struct.pack(order + "HH", 0, 0)
        parts.append(block(order, 1, struct.pack(order + "HHI", 227, 0, 0) + options))
    for i, message in enumerate(sent):
        ticks = round(message.timestamp * 1e9)
        parts.append(block(order, 6, struct.pack(order + "IIIII", i % 2, ticks >> 32, ticks & 0xFFFFFFFF, len(packet(message)),
                                                 len(packet(message))) + packet(message)))
        parts.append(block(order, 5, b"statistics.."))
    path = tmp_path / "drive.pcapng"
    path.write_bytes(b"".join(parts))
    columns = ingest(run, path, tmp_path / "out", "--channel", "vcan12")
    expect_same(columns, sent[1::2])
    assert columns["manifest"]["recordings"][0]["channel"] == "vcan12"
    both = ingest(run, path, tmp_path / "both")
    expect_same(both, sent[::2] + sent[1::2])
    assert [r["name"] for r in both["manifest"]["recordings"]] == ["drive@can0", "drive@vcan12"]


def packet_block(order, kind, number, message, link=227, what=None):
    """Of type 6, 2 (whose interface has 16 bits), or 3 (without time and interface)."""
    whole = what if what is not None else packet(message) if link == 227 else cooked(order, message)
    ticks = round(message.timestamp * 1e6)
    times = struct.pack(order + "IIII", ticks >> 32, ticks & 0xFFFFFFFF, len(whole), len(whole))
    head = {6: struct.pack(order + "I", number), 2: struct.pack(order + "HH", number, 0xFFFF)}.get(kind, b"") + times
    return block(order, kind, (struct.pack(order + "I", len(whole)) if kind == 3 else head) + whole)


def cooked(order, message, protocol=None, outgoing=False):
    """LINKTYPE_LINUX_SLL: the ID is in the order of whoever captured."""
    frame = packet(message)
    swapped = struct.pack(order + "I", struct.unpack(">I", frame[:4])[0]) + frame[4:]
    kind = protocol or (0x0D if message.is_fd else 0x0C)
    return struct.pack(">HHH8sH", 4 if outgoing else 0, 280, 0, b"", kind) + swapped


def section(order, *links):
    parts = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))]
    return parts + [block(order, 1, struct.pack(order + "HHI", link, 0, 0)) for link in links]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("link", [227, 113])
def test_packet_blocks_of_all_types(run, tmp_path, order, link):
    sent = messages(300, fd=True)
    kinds = [(6, 2, 3)[i % 3] for i in range(len(sent))]
    path = tmp_path / "drive.pcapng"
    path.write_bytes(b"".join(section(order, link) + [packet_block(order, kind, 0, m, link) for kind, m in zip(kinds, sent)]))
    columns = ingest(run, path, tmp_path / "out", "--payload", 64)
    for i, kind in enumerate(kinds):
        if kind == 3:
            sent[i].timestamp = sent[i - 1].timestamp
    expect_same(columns, sent)
    assert columns["manifest"]["recordings"][0]["traps"]["no_time"] == 100


def test_packets_without_any_time_are_in_order(run, tmp_path):
    sent = messages(20)
    path = tmp_path / "drive.pcapng"
    path.write_bytes(b"".join(section("<", 227) + [packet_block("<", 3, 0, m) for m in sent]))
    columns = ingest(run, path, tmp_path / "out")
    assert columns["time_ns"].tolist() == list(range(20)) and not columns["manifest"]["recordings"][0]["has_time"]
    assert columns["can_id"].tolist() == [m.arbitration_id | (EXTENDED if m.is_extended_id else 0) | (REMOTE if m.is_remote_frame else 0)
                                          for m in sent]


@pytest.mark.parametrize("order", "<>")
def test_packets_of_other_interfaces_are_counted(run, bin_dir, tmp_path, order):
    sent = messages(60)
    parts = section(order, 227, 1)
    for i, message in enumerate(sent):
        parts.append(packet_block(order, (6, 2)[i % 2], 0, message))
        parts += [packet_block(order, 6, 1, message, what=b"\xEE" * 300)] if i % 3 == 0 else []
    path = tmp_path / "both.pcapng"
    path.write_bytes(b"".join(parts))
    columns = ingest(run, path, tmp_path / "out")
    expect_same(columns, sent)
    assert columns["manifest"]["recordings"][0]["traps"]["other_records"] == 20
    expect_same(ingest(run, path, tmp_path / "one", "--channel", "0"), sent)
    path.write_bytes(b"".join(section(order, 1) + [packet_block(order, 6, 0, sent[0], what=b"\xEE" * 300)]))
    assert "found packets of link type 1, expected 227" in refused(bin_dir, path, tmp_path / "none")


@pytest.mark.parametrize("order", "<>")
def test_cooked_packets_in_pcap(run, bin_dir, tmp_path, order):
    """What libpcap 1.8 and 1.9 capture of a CAN interface, and of all interfaces."""
    sent = messages(100, fd=True)
    parts = [struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 113)]
    for i, m in enumerate(sent):
        for whole in (cooked(order, m, outgoing=i == 7), *([struct.pack(">HHH8sH", 0, 1, 6, b"", 0x0800) + bytes(40)] if i % 10 == 0 else [])):
            seconds, rest = divmod(round(m.timestamp * 1e6), 1_000_000)
            parts.append(struct.pack(order + "IIII", seconds, rest, len(whole), len(whole)) + whole)
    path = tmp_path / "pi.pcap"
    path.write_bytes(b"".join(parts))
    columns = ingest(run, path, tmp_path / "out", "--payload", 64)
    expect_same(columns, sent)
    assert columns["manifest"]["recordings"][0]["traps"]["other_records"] == 10
    flags = np.load(tmp_path / "out" / "flags.npy")
    assert flags[7] & 8 and all(bool(flag & 4) == m.is_fd for flag, m in zip(flags, sent))
    whole = cooked(order, sent[0], protocol=0x0E)
    path.write_bytes(parts[0] + struct.pack(order + "IIII", 1, 1, len(whole), len(whole)) + whole)
    assert "CAN XL" in refused(bin_dir, path, tmp_path / "xl")


def interface(name):
    """A block of a CAN interface with this name; with None it has no option for one."""
    option = b"" if name is None else struct.pack("<HH", 2, len(name)) + name + b"\0" * (-len(name) % 4)
    return block("<", 1, struct.pack("<HHI", 227, 0, 0) + option + struct.pack("<HH", 0, 0))


def frame(number, message):
    ticks = round(message.timestamp * 1e6)
    whole = packet(message)
    return block("<", 6, struct.pack("<IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(whole), len(whole)) + whole)


def test_an_empty_name_is_no_name(run, tmp_path):
    sent = messages(4, remote=False)
    path = tmp_path / "drive.pcapng"
    path.write_bytes(b"".join(section("<")) + interface(b"can0") + interface(b"") + b"".join(frame(i % 2, sent[i]) for i in range(4)))
    run("plimsoll", "ingest", "can", path, "--out", tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [(r["name"], r["frames"]) for r in manifest["recordings"]] == [("drive@can0", 2), ("drive@1", 2)]


def test_names_of_interfaces_go_with_their_section(run, tmp_path):
    """A section may follow another without end, each with interfaces of its own; numbers of unnamed ones count on."""
    head = b"".join(section("<"))
    sent = messages(4, remote=False)
    many = head + interface(b"x" * 64) * 4096
    path = tmp_path / "drive.pcapng.gz"
    path.write_bytes(gzip.compress(
        head + interface(b"can0") + frame(0, sent[0]) + head + interface(b"can0") + interface(None) + frame(0, sent[1]) + frame(1, sent[2])
        + many * 200 + head + interface(None) + frame(0, sent[3]), 1))
    report = json.loads(run("plimsoll", "ingest", "can", path, "--out", tmp_path / "out", "--budget", "64MiB", "--json"))
    assert report["memory"]["anonymous_peak_bytes"] < 16 << 20  # with all names it is 130 MB
    columns = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert [(r["name"], r["frames"]) for r in columns["recordings"]] == [
        ("drive@can0", 2), ("drive@2", 1), (f"drive@{3 + 200 * 4096}", 1)]


def test_ethernet_is_refused(bin_dir, tmp_path):
    (tmp_path / "a.pcap").write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
    assert "link type 1" in refused(bin_dir, tmp_path / "a.pcap", tmp_path / "out")


@pytest.mark.parametrize("name, writer", [("drive.blf", can.BLFWriter), ("drive.asc", can.ASCWriter), ("drive.trc", can.TRCWriter)])
def test_a_format_may_be_named_and_compressed(run, bin_dir, tmp_path, name, writer):
    path = write(tmp_path / name, writer, messages(800, remote=False))
    plain = ingest(run, path, tmp_path / "plain", "--format", path.suffix[1:])
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    packed = ingest(run, tmp_path / f"{name}.gz", tmp_path / "packed")
    assert all(np.array_equal(plain[key], packed[key]) for key in ("time_ns", "can_id", "length", "data"))
    refused(bin_dir, path, tmp_path / "none", "--format", "hcrl-csv" if name != "drive.blf" else "pcap")


def flags_of(message):
    fd = bool(message.is_fd)
    return (1 if fd and message.bitrate_switch else 0) | (2 if fd and message.error_state_indicator else 0) | (4 if fd else 0) | (0 if message.is_rx else 8)


def with_flags():
    sent = messages(2000, fd=True, remote=False)
    dice = np.random.default_rng(3)
    for message in sent:
        message.is_rx = bool(dice.random() < 0.7)
        message.is_fd = message.is_fd or bool(dice.random() < 0.2)
        message.bitrate_switch = message.is_fd and bool(dice.random() < 0.5)
        message.error_state_indicator = message.is_fd and bool(dice.random() < 0.1)
    return sent


@pytest.mark.parametrize("writer, ending", [(can.BLFWriter, "blf"), (can.ASCWriter, "asc"), (can.TRCWriter, "trc")])
def test_flags_are_those_of_python_can(run, tmp_path, writer, ending):
    path = write(tmp_path / f"drive.{ending}", writer, [m for m in with_flags() if writer is not can.TRCWriter or not m.is_fd])
    ingest(run, path, tmp_path / "out", "--payload", 64)
    expected = [flags_of(m) for m in can.LogReader(path) if m]
    assert np.load(tmp_path / "out" / "flags.npy").tolist() == expected and 8 in expected
    assert "sent by the recorder" in run("plimsoll", "inspect", tmp_path / "out")
    run("plimsoll", "verify", tmp_path / "out")


def test_flags_survive_candump_and_are_of_their_channel(run, tmp_path):
    sent = with_flags()
    for i, message in enumerate(sent):
        message.channel = i // 3 % 2
    path = write(tmp_path / "two.blf", can.BLFWriter, sent)
    columns = ingest(run, path, tmp_path / "out", "--payload", 64)
    flags = np.load(tmp_path / "out" / "flags.npy")
    read = list(can.BLFReader(path))
    assert flags.tolist() == [flags_of(m) for channel in (0, 1) for m in read if m.channel == channel]
    run("plimsoll", "convert", tmp_path / "out", "--out", tmp_path / "text", "--to", "candump")
    again = ingest(run, tmp_path / "text", tmp_path / "again", "--payload", 64)
    assert np.array_equal(np.load(tmp_path / "again" / "flags.npy"), flags) and np.array_equal(again["data"], columns["data"])


def test_pieces_whose_channels_come_in_another_order_are_of_one_numbering(run, tmp_path):
    """A capture is read in pieces, each of which numbers its channels anew."""
    buses = [i % 2 for i in range(30_000)] + [1 - i % 2 for i in range(30_000)]
    (tmp_path / "drive.log").write_text("".join(f"({1.7e9 + i / 1e4:.6f}) can{bus} {0x100 + bus:03X}#{i % 256:02X}\n" for i, bus in enumerate(buses)))
    write(tmp_path / "drive.blf", can.BLFWriter, [
        can.Message(timestamp=1.7e9 + i / 1e4, arbitration_id=0x100 + bus, is_extended_id=False, data=[i % 256], channel=bus)
        for i, bus in enumerate(buses)])
    for capture in tmp_path / "drive.log", tmp_path / "drive.blf":
        run("plimsoll", "ingest", "can", capture, "--out", tmp_path / capture.suffix, "--merge-channels")
        assert np.load(tmp_path / capture.suffix / "channel.npy").tolist() == buses


def test_a_set_without_flags_has_no_column(run, tmp_path):
    ingest(run, write(tmp_path / "drive.blf", can.BLFWriter, messages(50)), tmp_path / "out")
    assert not (tmp_path / "out" / "flags.npy").exists()


@pytest.mark.parametrize("name", ["drive.db", "drive.SQLITE", "drive.sqlite3", "drive.log", "drive.db.gz"])
def test_a_database_is_refused_with_what_makes_a_log_of_it(run, bin_dir, tmp_path, name):
    sent = messages(300)
    path = write(tmp_path / "made.db", can.SqliteWriter, sent)
    content = path.read_bytes()
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    for source in folder / name, folder:
        error = refused(bin_dir, source, tmp_path / "out")
        assert str(folder / name) in error and "python -m can.logconvert drive.db drive.log" in error
    subprocess.run([sys.executable, "-m", "can.logconvert", path, tmp_path / "made.log"], check=True, timeout=120)
    expect_same(ingest(run, tmp_path / "made.log", tmp_path / "read"), list(can.SqliteReader(path)))


def test_a_wrong_unpacked_size_in_a_blf_changes_no_frame(run, tmp_path):
    path = write(tmp_path / "drive.blf", can.BLFWriter, messages(6000))
    expected = ingest(run, path, tmp_path / "out")
    damaged = bytearray(path.read_bytes())
    at = damaged.index(b"LOBJ", 144)
    damaged[at + 24:at + 28] = struct.pack("<L", 7)  # unpacked bytes
    path.write_bytes(damaged)
    assert np.array_equal(ingest(run, path, tmp_path / "wrong")["data"], expected["data"])


def test_a_trace_whose_header_names_columns_without_end_is_refused(bin_dir, tmp_path):
    """All of them were looked for in each line, though a line ends sooner."""
    columns = ",".join(["N"] * 25_000 + list("TOILD"))
    (tmp_path / "drive.trc").write_text(f";$FILEVERSION=2.0\n;$STARTTIME=43000.5\n;$COLUMNS={columns}\n" + "1\n" * 1000)
    assert "drive.trc:4:1: found '1', expected a time" in refused(bin_dir, tmp_path / "drive.trc", tmp_path / "out")


def test_a_time_below_zero_is_refused(bin_dir, tmp_path):
    (tmp_path / "drive.log").write_text("(0.5) can0 123#00\n(-0.5) can0 123#00\n")
    assert "drive.log:2:2: found '-0.5)" in refused(bin_dir, tmp_path / "drive.log", tmp_path / "out")
