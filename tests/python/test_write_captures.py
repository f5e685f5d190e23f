"""Captures that `plimsoll convert` writes, as python-can reads them, and what python-can makes of them."""

import json
import os
import subprocess
import sys

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
def convert(run, tmp_path):
    def call(text, name, *options):
        (tmp_path / "drive.log").write_text(text)
        summary = json.loads(run("plimsoll", "convert", tmp_path / "drive.log", "--out", tmp_path / name, "--payload", 64, "--budget",
                                 "48MiB", "--json", *options))
        return tmp_path / name, summary

    return call


def told(message):
    """A message of python-can as traffic() tells its frames, but for the time."""
    can_id = message.arbitration_id
    if message.is_extended_id:
        can_id |= EXTENDED
    if message.is_remote_frame:
        can_id |= REMOTE
    data = b"" if message.is_remote_frame else bytes(message.data)
    return (int(message.channel[3:]), can_id, data, bool(message.is_fd), bool(message.bitrate_switch), bool(message.error_state_indicator),
            not message.is_rx)


def test_candump_round_trip_keeps_every_byte(convert):
    text, _ = traffic()
    path, summary = convert(text, "again.log")
    assert path.read_text() == text and summary["left_out"] == {} and summary["frames"] == 1500


def test_candump_as_python_can_reads_it(convert):
    text, frames = traffic(error=False)
    path, _ = convert(text, "again.log")
    messages = list(can.CanutilsLogReader(path))
    assert [told(m) for m in messages] == [frame[1:] for frame in frames]
    assert np.abs([m.timestamp - f[0] / 1e9 for m, f in zip(messages, frames)]).max() < 1e-6


def columns(run, path, out):
    """Of the frames, in the order of channels; times in us."""
    run("plimsoll", "ingest", "can", path, "--out", out, "--payload", 64)
    names = ("time_ns", "can_id", "length", "data", "flags")
    made = {name: np.load(out / f"{name}.npy") for name in names if (out / f"{name}.npy").exists()}
    made["time_ns"] = (made["time_ns"] + 500) // 1000
    return made


# What each keeps of the frames: python-can's TRC has no CAN FD and no remote frames, and its CSV no channels and no flags.
@pytest.mark.parametrize("ending, kinds, flags", [("blf", {}, True), ("asc", {}, True), ("trc", {"fd": False, "remote": False}, True),
                                                  ("csv", {"channels": 1}, False), ("mf4", {}, True)])
def test_what_python_can_makes_of_candump_has_the_same_frames(convert, run, tmp_path, monkeypatch, ending, kinds, flags):
    """The way that a refusal of another format names."""
    if ending == "mf4":
        pytest.importorskip("asammdf", reason="pip install asammdf")
    monkeypatch.setenv("TZ", "UTC")  # python-can writes the date of ASC in local time
    path, _ = convert(traffic(error=False, **kinds)[0], "plain.log")
    made = tmp_path / f"drive.{ending}"
    subprocess.run([sys.executable, "-m", "can.logconvert", path, made], check=True, timeout=120)
    expected, found = columns(run, path, tmp_path / "plain"), columns(run, made, tmp_path / ending)
    if not flags:
        expected.pop("flags")
    assert found.keys() == expected.keys()
    late = found.pop("time_ns") - expected.pop("time_ns")
    assert late.max() - late.min() <= 1
    assert np.abs(late).max() <= (1000 if ending == "asc" else 1)  # python-can's ASC counts from a whole ms
    for name, column in expected.items():
        assert np.array_equal(found[name], column), name


def test_labels_are_taken_off_for_python_can(run, tmp_path):
    (tmp_path / "drive.csv").write_text("timestamp,arbitration_id,data_field,attack\n1.5,110,0102,0\n2.5,00000111,,1\n")
    run("plimsoll", "convert", tmp_path / "drive.csv", "--out", tmp_path / "drive.log")
    plain = subprocess.run(["cut", "-d", " ", "-f", "1-3", tmp_path / "drive.log"], check=True, capture_output=True).stdout
    (tmp_path / "plain.log").write_bytes(plain)
    subprocess.run([sys.executable, "-m", "can.logconvert", tmp_path / "plain.log", tmp_path / "drive.blf"], check=True, timeout=120)
    assert columns(run, tmp_path / "drive.blf", tmp_path / "out")["can_id"].tolist() == [0x110, 0x111 | EXTENDED]


def test_what_is_not_held_is_refused_by_name(bin_dir, tmp_path):
    (tmp_path / "drive.log").write_text(traffic()[0])

    def refused(*arguments):
        done = subprocess.run([bin_dir / "plimsoll", "convert", tmp_path / "drive.log", "--payload", "64", *map(str, arguments)],
                              capture_output=True, text=True)
        return done.returncode, done.stderr

    csv = ("--out", tmp_path / "x.csv", "--benign")
    code, text = refused(*csv, "--leave-out", "remote", "error")
    assert code == 3 and "--channel" in text
    code, text = refused(*csv, "--channel", "can1")
    assert code == 3 and "--leave-out" in text and "--to candump" in text and "drive.log" in text
    assert refused(*csv, "--channel", "can1", "--leave-out", "remote", "error")[0] == 0
    code, text = refused("--out", tmp_path / "x.log", "--leave-out", "fd")
    assert code == 2 and "remote or error" in text
    code, text = refused("--out", tmp_path / "x.txt")
    assert code == 2 and "--to" in text
    assert sorted(os.listdir(tmp_path)) == ["drive.log", "x.csv"]


@pytest.mark.parametrize("name", ["blf", "mf4", "asc", "trc", "db", "pcapng", "pcap", "sqlite", "gvret", "python-can"])
def test_another_format_is_refused_with_what_makes_it(bin_dir, tmp_path, name):
    (tmp_path / "drive.log").write_text(traffic(10)[0])
    made = name if name in ("blf", "mf4", "asc", "trc", "db") else "blf"
    ways = [("--out", tmp_path / "x", "--to", name)]
    if name not in ("gvret", "python-can"):
        ways.append(("--out", tmp_path / f"x.{name}"))
    for way in ways:
        done = subprocess.run([bin_dir / "plimsoll", "convert", tmp_path / "drive.log", *way], capture_output=True, text=True)
        assert done.returncode == 2 and f"python -m can.logconvert drive.log drive.{made}" in done.stderr, done.stderr
    assert os.listdir(tmp_path) == ["drive.log"]


@pytest.mark.parametrize("to", ["candump", "csv"])
def test_the_latest_time_is_read_again(run, tmp_path, to):
    (tmp_path / "late.log").write_text("(4.000001) can0 123#\n(9000000000.000000) can0 0FF#0102\n")
    run("plimsoll", "convert", tmp_path / "late.log", "--out", tmp_path / to, "--to", to, "--benign")
    run("plimsoll", "ingest", "can", tmp_path / to, "--out", tmp_path / "out", "--benign")
    assert np.load(tmp_path / "out" / "time_ns.npy").tolist() == [4_000_001_000, 9 * 10**18]


@pytest.mark.parametrize("to", ["candump", "csv"])
def test_real_traffic_has_the_same_hash_in_both_formats(run, captures, tmp_path, to):
    source = captures("hcrl_sa") / "train_01_attack_free" / "attack-free-kia.csv.zst"
    report = json.loads(run("plimsoll", "convert", source, "--out", tmp_path / to, "--to", to, "--json", "--budget", "48MiB", "--benign"))
    assert report["memory"]["anonymous_peak_bytes"] < 48 << 20

    def content(path, name):
        run("plimsoll", "ingest", "can", path, "--out", tmp_path / name, "--benign")
        return json.loads((tmp_path / name / "manifest.json").read_text())["recordings"][0]["content"]

    assert content(tmp_path / to, "written") == content(source, "source")
