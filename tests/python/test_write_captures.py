"""Captures that `plimsoll convert` writes, as python-can, asammdf, sqlite3 and a reader of pcapng by its draft read them."""

import json
import os
import sqlite3
import struct
import subprocess
import time

import numpy as np
import pytest

from test_can_containers import ERROR, EXTENDED, REMOTE

can = pytest.importorskip("can", reason="pip install python-can")

START_NS = 1_700_000_000_123_456_000


def traffic(count=1500, *, fd=True, remote=True, error=True, channels=2, seed=5):
    """Lines of candump of all kinds of frames, and what each tells: channel, ID and flags, payload, FD, BRS, ESI, sent."""
    dice = np.random.default_rng(seed)
    lines, frames, time_ns = [], [], START_NS
    for _ in range(count):
        time_ns += int(dice.integers(1, 2_000)) * 1000
        can_id = int(dice.integers(0, 1 << 29)) | EXTENDED if dice.random() < 0.3 else int(dice.integers(0, 1 << 11))
        data, flags, sent = dice.bytes(int(dice.integers(0, 9))), None, bool(dice.random() < 0.3)
        kind = dice.random()
        if kind < 0.04 and remote:
            can_id, data = can_id | REMOTE, b""
        elif kind < 0.08 and error:
            can_id, data, sent = ERROR | int(dice.integers(0, 1 << 12)), dice.bytes(8), False
        elif kind < 0.4 and fd:
            data, flags = dice.bytes(int(dice.choice([1, 8, 12, 16, 20, 24, 32, 48, 64]))), int(dice.integers(0, 4))
        channel = int(dice.integers(0, channels))
        shown = f"{can_id & ~EXTENDED & ~REMOTE:08X}" if can_id & (EXTENDED | ERROR) else f"{can_id & 0x7FF:03X}"
        body = "R" if can_id & REMOTE else (f"#{flags}" if flags is not None else "") + data.hex().upper()
        lines.append(f"({time_ns // 10**9}.{time_ns % 10**9 // 1000:06}) can{channel} {shown}#{body}{' T' if sent else ''}")
        frames.append((time_ns, channel, can_id, data, flags is not None, bool(flags and flags & 1), bool(flags and flags & 2), sent))
    return "\n".join(lines) + "\n", frames


@pytest.fixture
def convert(run, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", "UTC")  # python-can reads the date of ASC as local time
    time.tzset()

    def call(text, name, *options):
        (tmp_path / "drive.log").write_text(text)
        summary = json.loads(run("plimsoll", "convert", tmp_path / "drive.log", "--out", tmp_path / name, "--payload", 64, "--budget",
                                 "48MiB", "--json", *options))
        return tmp_path / name, summary

    return call


def told(message, keep=("channel", "fd", "brs", "sent")):
    """A message of python-can as traffic() tells its frames."""
    can_id = message.arbitration_id
    if message.is_error_frame:
        can_id |= ERROR
    elif message.is_extended_id:
        can_id |= EXTENDED
    if message.is_remote_frame:
        can_id |= REMOTE
    data = b"" if message.is_remote_frame else bytes(message.data)
    return (can_id, data) + tuple({"channel": message.channel, "fd": bool(message.is_fd), "brs": bool(message.bitrate_switch),
                                   "esi": bool(message.error_state_indicator), "sent": not message.is_rx}[key] for key in keep)


def expected(frames, keep=("channel", "fd", "brs", "sent"), first_channel=0):
    for _, channel, can_id, data, fd, brs, esi, sent in frames:
        values = {"channel": channel + first_channel, "fd": fd, "brs": brs, "esi": esi, "sent": sent}
        yield (can_id, data) + tuple(values[key] for key in keep)


def expect_same(messages, frames, keep, first_channel=0):
    assert [told(m, keep) for m in messages] == list(expected(frames, keep, first_channel))
    assert np.abs([m.timestamp - f[0] / 1e9 for m, f in zip(messages, frames)]).max() < 1e-6


ALL = ("channel", "fd", "brs", "esi", "sent")


def test_blf(convert):
    text, frames = traffic(6000)
    path, summary = convert(text, "drive.blf")
    expect_same(list(can.BLFReader(path)), frames, ALL)
    assert summary["left_out"] == {} and summary["channels"] == {"can0": "1", "can1": "2"} and summary["frames"] == 6000
    with can.BLFReader(path) as log:
        assert log.file_size == path.stat().st_size and log.object_count == 6000
        assert log.start_timestamp == frames[0][0] // 10**6 / 1000 and log.stop_timestamp == frames[-1][0] // 10**6 / 1000


def test_blf_is_added_to_by_python_can(convert):
    text, frames = traffic(100)
    path, _ = convert(text, "drive.blf")
    with can.BLFWriter(path, append=True) as log:
        log.on_message_received(can.Message(timestamp=frames[-1][0] / 1e9 + 1, arbitration_id=1, data=[1]))
    assert len(list(can.BLFReader(path))) == 101


def test_asc(convert):
    # python-can takes a frame of CAN FD without payload for a remote one, and an error frame for one without a kind.
    text, frames = traffic(error=False)
    path, summary = convert(text, "drive.asc")
    expect_same(list(can.ASCReader(path, relative_timestamp=False)), frames, ALL)
    assert summary["left_out"] == {}
    text, frames = traffic()
    path, summary = convert(text, "drive.asc", "--force")
    messages = list(can.ASCReader(path))
    assert [m.is_error_frame for m in messages] == [bool(f[2] & ERROR) for f in frames]
    assert summary["left_out"]["error_details"] == sum(bool(f[2] & ERROR) for f in frames)


def test_trc(convert):
    text, frames = traffic(error=False)
    path, summary = convert(text, "drive.trc")
    assert summary["left_out"] == {}
    # Of python-can, FE has BRS too; FD frames have the DLC in place of the length, which is as the data.
    expect_same(list(can.TRCReader(path)), frames, ("fd", "esi", "sent"))
    assert [m.channel for m in can.TRCReader(path)] == [f[1] + 1 for f in frames]


def test_csv_and_database_of_python_can(convert):
    text, frames = traffic(channels=1)
    path, summary = convert(text, "drive.csv", "--to", "python-can")
    expect_same(list(can.CSVReader(path)), frames, ())
    assert summary["left_out"] == {"flags": sum(f[5] or f[6] or f[7] or (f[4] and len(f[3]) <= 8) for f in frames)}
    path, summary = convert(text, "drive.db")
    expect_same(list(can.SqliteReader(path)), frames, ())
    with sqlite3.connect(path) as base:
        assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        times = [round(ts, 6) for (ts,) in base.execute("SELECT ts FROM messages")]
    assert times == [float(f"{f[0] // 10**9}.{f[0] % 10**9 // 1000:06}") for f in frames]


def test_mf4(convert):
    asammdf = pytest.importorskip("asammdf", reason="pip install asammdf")
    text, frames = traffic(6000)
    path, summary = convert(text, "drive.mf4")
    assert summary["left_out"] == {}
    messages = list(can.MF4Reader(path))
    by_time = sorted(frames)
    expect_same(messages, by_time, ALL, first_channel=1)
    with asammdf.MDF(path) as mdf:
        assert mdf.version == "4.10" and len(mdf.groups) == 6  # data, remote and error frames of two buses
        assert not mdf.identification["unfinalized_standard_flags"]
        for index, group in enumerate(mdf.groups):
            assert group.sorted and group.channel_group.acq_source.bus_type == 2
            bus = mdf.get(next(c.name for c in group.channels if c.name.endswith(".BusChannel")), index).samples
            assert (bus == bus[0]).all()
        data = mdf.get("CAN_DataFrame.DataBytes", 0)
        of_first_group = [f for f in frames if f[1] == mdf.get("CAN_DataFrame.BusChannel", 0).samples[0] - 1 and not f[2] & (REMOTE | ERROR)]
        assert [bytes(row)[:len(f[3])] for row, f in zip(data.samples, of_first_group, strict=True)] == [f[3] for f in of_first_group]


def blocks(path):
    """Type and body of each block, by draft-ietf-opsawg-pcapng."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0 and struct.unpack_from("<I", data, at + length - 4)[0] == length
        yield kind, data[at + 8:at + length - 4]
        at += length


def options(body, at):
    found = {}
    while at < len(body):
        code, length = struct.unpack_from("<HH", body, at)
        if code == 0:
            break
        found[code] = body[at + 4:at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def test_pcapng(convert):
    text, frames = traffic()
    path, summary = convert(text, "drive.pcapng")
    assert summary["left_out"] == {} and summary["channels"] == {}
    kinds = list(blocks(path))
    assert kinds[0][0] == 0x0A0D0D0A and struct.unpack_from("<IHHq", kinds[0][1]) == (0x1A2B3C4D, 1, 0, -1)
    names, found = [], []
    for kind, body in kinds[1:]:
        if kind == 1:
            assert struct.unpack_from("<HHI", body) == (227, 0, 0)
            told_of = options(body, 8)
            assert told_of[9] == b"\x09"
            names.append(told_of[2].decode())
            continue
        assert kind == 6
        number, high, low, captured, original = struct.unpack_from("<5I", body)
        packet = body[20:20 + captured]
        assert captured == original
        can_id, length, flags = struct.unpack_from(">IBB", packet)
        assert length == len(packet) - 8 and bool(flags & 4) == bool(flags)
        direction = options(body, 20 + (captured + 3) // 4 * 4).get(2, b"\1\0\0\0")[0] & 3
        found.append((high << 32 | low, int(names[number][3:]), can_id, packet[8:], bool(flags & 4), bool(flags & 1), bool(flags & 2),
                      direction == 2))
    assert found == frames


def test_gvret(convert):
    text, frames = traffic(fd=False, remote=False, error=False)
    path, summary = convert(text, "drive.csv", "--to", "gvret")
    assert summary["left_out"] == {}
    rows = path.read_text().splitlines()
    assert rows[0] == "Time Stamp,ID,Extended,Dir,Bus,LEN,D1,D2,D3,D4,D5,D6,D7,D8"
    for row, (time_ns, channel, can_id, data, *_, sent) in zip(rows[1:], frames, strict=True):
        time, number, extended, direction, bus, length, *payload = row.split(",")
        assert int(time) * 1000 == time_ns and int(number, 16) == can_id & ~EXTENDED and (extended == "true") == bool(can_id & EXTENDED)
        assert direction == ("Tx" if sent else "Rx") and int(bus) == channel and int(length) == len(data)
        assert bytes(int(byte, 16) for byte in payload[:len(data)]) == data and payload[len(data):] == [""]


def test_candump_again(convert, run, tmp_path):
    text, _ = traffic()
    path, _ = convert(text, "again.log")
    assert path.read_text() == text


def test_what_is_not_held_is_refused_by_name(bin_dir, tmp_path):
    (tmp_path / "drive.log").write_text(traffic()[0])

    def refused(*arguments):
        done = subprocess.run([bin_dir / "plimsoll", "convert", tmp_path / "drive.log", "--payload", "64", *map(str, arguments)],
                              capture_output=True, text=True)
        return done.returncode, done.stderr

    code, text = refused("--out", tmp_path / "x.trc")
    assert code == 3 and "--leave-out error" in text and "drive.log" in text
    assert refused("--out", tmp_path / "x.trc", "--leave-out", "error")[0] == 0
    code, text = refused("--out", tmp_path / "x.db")
    assert code == 3 and "--channel" in text
    assert refused("--out", tmp_path / "x.db", "--channel", "can1")[0] == 0
    code, text = refused("--out", tmp_path / "x.pcap")
    assert code == 2 and "--to" in text
    assert sorted(os.listdir(tmp_path)) == ["drive.log", "x.db", "x.trc"]


@pytest.mark.parametrize("to", ["blf", "asc", "trc", "pcapng", "gvret", "python-can", "sqlite", "candump"])
def test_the_latest_time_is_read_again(run, tmp_path, to):
    (tmp_path / "late.log").write_text("(4.000001) can0 123#\n(9000000000.000000) can0 0FF#0102\n")
    run("plimsoll", "convert", tmp_path / "late.log", "--out", tmp_path / to, "--to", to)
    run("plimsoll", "ingest", "can", tmp_path / to, "--out", tmp_path / "out")
    assert np.load(tmp_path / "out" / "time_ns.npy").tolist() == [4_000_001_000, 9 * 10**18]


@pytest.mark.parametrize("to", ["blf", "mf4", "asc", "trc", "pcapng", "gvret", "python-can", "sqlite", "candump", "csv"])
def test_real_traffic_has_the_same_hash_in_every_format(run, captures, tmp_path, to):
    source = captures("hcrl_sa") / "train_01_attack_free" / "attack-free-kia.csv.zst"
    report = json.loads(run("plimsoll", "convert", source, "--out", tmp_path / to, "--to", to, "--json", "--budget", "48MiB", "--benign"))
    assert report["memory"]["anonymous_peak_bytes"] < 48 << 20

    def content(path, name):
        run("plimsoll", "ingest", "can", path, "--out", tmp_path / name, "--benign")
        return json.loads((tmp_path / name / "manifest.json").read_text())["recordings"][0]["content"]

    assert content(tmp_path / to, "written") == content(source, "source")
