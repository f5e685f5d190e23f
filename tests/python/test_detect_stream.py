"""`plimsoll detect` on a stream: pipes, signals, damaged lines, channels, clocks, bursts, and memory that does not grow."""

import gzip
import json
import os
import signal
import struct
import subprocess

import numpy as np
import pytest

from cgroup import MemoryCgroup
from made_up import random_frames, write_capture
from simulated_bus import captures_made, detect, detector  # noqa: F401

MIB = 1 << 20


def test_frames_that_come_one_by_one_give_the_same_lines(bin_dir, detector, detect, captures_made):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    head = b"".join(capture.read_bytes().splitlines(keepends=True)[:1001])
    expected, _, _ = detect(model, "-", "--all", input=head)
    assert len(expected) == 10
    process = subprocess.Popen([str(bin_dir / "plimsoll"), "detect", str(model), "-", "--all", "--json"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lines = head.splitlines(keepends=True)
    for line in lines[:101]:
        process.stdin.write(line[:7])
        process.stdin.flush()
        process.stdin.write(line[7:])
        process.stdin.flush()
    first = json.loads(process.stdout.readline())  # while the pipe stays open
    assert first == expected[0]
    process.stdin.write(b"".join(lines[101:]))
    rest = process.communicate()[0].splitlines()
    assert [first] + [json.loads(line) for line in rest[:-1]] == expected


def test_an_interrupt_ends_it_with_a_summary(bin_dir, detector, captures_made):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    process = subprocess.Popen([str(bin_dir / "plimsoll"), "detect", str(model), "-", "--all", "--json"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(b"".join(capture.read_bytes().splitlines(keepends=True)[:350]) + b"1513920")
    process.stdin.flush()
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    lines = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert process.wait(10) == 0
    # Neither the line nor the window that were cut off.
    assert len(lines) == 1 and 300 <= lines[0]["summary"]["frames"] <= 349 and lines[0]["summary"]["windows"] == 3
    assert lines[0]["summary"]["malformed_lines"] == 0


def test_a_pipe_with_a_name_is_read_as_it_fills_and_left_at_a_signal(bin_dir, detector, captures_made, tmp_path):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    os.mkfifo(tmp_path / "pipe")
    command = [str(bin_dir / "plimsoll"), "detect", str(model), str(tmp_path / "pipe"), "--all", "--json"]
    for frames in (0, 250):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        if frames:
            with open(tmp_path / "pipe", "wb", buffering=0) as pipe:
                pipe.write(b"".join(capture.read_bytes().splitlines(keepends=True)[:frames + 1]))
                assert json.loads(process.stdout.readline())["window"] == 0
                process.send_signal(signal.SIGTERM)
                assert process.wait(10) == 0
        else:  # nobody has opened the other end
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0


def test_alarms_that_do_not_get_through_are_an_error(bin_dir, detector, captures_made):
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    for more in (["--threshold", "-1e9"], ["--threshold", "1e9", "--json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(bin_dir / "plimsoll"), "detect", str(detector("behaviour") / "detector.safetensors"),
                                   str(capture), *more], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1 and "standard output" in done.stderr


def test_malformed_lines_are_counted_and_never_fatal(detector, detect, tmp_path):
    rng = np.random.default_rng(3)
    rows = random_frames(rng, 600, [0x100, 0x200, 0x7FF])
    write_capture(tmp_path / "good.csv", rows)
    lines = (tmp_path / "good.csv").read_bytes().splitlines(keepends=True)
    model = detector("behaviour") / "detector.safetensors"
    expected, _, _ = detect(model, tmp_path / "good.csv", "--all")
    bad = [b"nonsense\n", b"1.0,XYZ,00,0\n", bytes(rng.integers(0, 256, 300, dtype=np.uint8)).replace(b"\n", b"") + b"\n",
           b"9" * 200_000 + b"\n", b"\n"]
    damaged = lines[:1]
    for k, line in enumerate(lines[1:]):
        damaged += bad[k // 100:k // 100 + 1] * (k % 100 == 50) + [line]
    (tmp_path / "bad.csv").write_bytes(b"".join(damaged))
    found, summary, _ = detect(model, tmp_path / "bad.csv", "--all")
    assert found == expected
    assert summary["malformed_lines"] >= 4 and sum(summary["malformed"].values()) == summary["malformed_lines"]
    _, _, error = detect(model, tmp_path / "bad.csv", "--strict", code=3)
    assert "bad.csv:52:9: found" in error and "expected four fields" in error


def test_a_stream_that_is_joined_loses_what_came_before_its_first_line(detector, detect, tmp_path):
    rng = np.random.default_rng(8)
    write_capture(tmp_path / "good.csv", random_frames(rng, 300, [0x100, 0x200]))
    lines = (tmp_path / "good.csv").read_bytes().splitlines(keepends=True)[1:]
    model = detector("behaviour") / "detector.safetensors"
    expected, _, _ = detect(model, "-", "--all", input=b"".join(lines))
    found, summary, _ = detect(model, "-", "--all", input=b"00,0102,0\n" + b"".join(lines))
    assert found == expected and summary["malformed_lines"] == 1
    _, _, error = detect(model, "-", "--strict", input=b"00,0102,0\n" + b"".join(lines), code=3)
    assert "not in a known capture format" in error
    # The end of a line that is too long is not a frame.
    long = b"x" * 65_536 + lines[0]
    found, summary, _ = detect(model, "-", "--all", input=lines[0] + long + b"".join(lines[1:]))
    assert found == expected and summary["malformed_lines"] == 1
    _, _, error = detect(model, "-", "--strict", input=lines[0] + long + b"".join(lines[1:]), code=3)
    assert "standard input:2: " in error and "65536" in error


@pytest.mark.parametrize("text", [b"", b"timestamp,arbitration_id,data_field,attack\n", b"\0" * 5_000, b"\0" * 200_000,
                                  b"nan,123,00,0\n" * 10, b"nan,123,00,0\n" * 10_000,
                                  b"timestamp,arbitration_id,data_field,attack\n" + b"nan,123,00,0\n" * 500,
                                  b"(1.0) can0 123#00\n(nan) can0 123#00\n"])
def test_what_gives_no_window_to_judge_is_an_error(detector, detect, tmp_path, text):
    """What was not judged must not pass for benign; the summary says what became of it."""
    model = detector("compat") / "detector.safetensors"
    (tmp_path / "capture").write_bytes(text)
    for source, given in (("-", text), (tmp_path / "capture", b"")):
        lines, summary, error = detect(model, source, "--all", input=given, code=3)
        assert lines == [] and ("no window was evaluated" in error or "not in a known capture format" in error)
        assert summary is None or (summary["windows"] == 0 and summary["latency_ns"]["p99"] == 0)


def candump(frames, channel, start=1000.0):
    """Lines of `candump -L`."""
    return b"".join(b"(%.6f) %s %s#%s\n" % (start + k * 0.0005, channel, can_id.encode(), payload.encode())
                    for k, (can_id, payload, _) in enumerate(frames))


def of_channel(lines, channel):
    return [line for line in lines if line["channel"] == channel]


def as_pcap(capture):
    """The frames of a four-column CSV; 16 bytes before each frame of 16."""
    parts = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 227)]
    for line in capture.read_text().splitlines()[1:]:
        time, can_id, payload, _ = line.split(",")
        seconds, _, rest = time.partition(".")
        data = bytes.fromhex(payload)
        frame = struct.pack(">IB3x", int(can_id, 16), len(data)) + data.ljust(8, b"\0")
        parts.append(struct.pack("<IIII", int(seconds), int(rest.ljust(9, "0")), 16, 16) + frame)
    return parts


def test_a_capture_that_is_cut_off_is_judged_up_to_there(detector, detect, captures_made, tmp_path):
    """Incidents are closed and the summary is told, with the byte; where a damage is in the middle, exit code 3 follows."""
    model = detector("behaviour") / "detector.safetensors"
    parts = as_pcap(next(iter(sorted((captures_made / "captures").glob("test*/*.csv")))))[:1500]
    path = tmp_path / "drive.pcap"
    path.write_bytes(b"".join(parts[:1201]))
    alarms, whole, _ = detect(model, path, "--threshold", "-1000")
    assert whole["frames"] == 1200 and len(alarms) == 12 and "truncated_at" not in whole

    path.write_bytes(b"".join(parts[:1201]) + parts[1201][:20])
    found, summary, error = detect(model, path, "--threshold", "-1000")
    assert found == alarms and summary["frames"] == 1200 and summary["truncated_at"] == 24 + 32 * 1200
    assert f"drive.pcap: is cut off at byte {24 + 32 * 1200}: the 1,200 whole frames before it were read" in error
    events, summary, _ = detect(model, path, "--threshold", "-1000", "--events", "json")
    assert [event["state"] for event in events].count("closed") == 1 and summary["truncated_at"] == 24 + 32 * 1200
    _, _, error = detect(model, path, "--threshold", "-1000", "--truncated", "fail", code=3)
    assert f"drive.pcap: byte {24 + 32 * 1200}: found a capture that is cut off there" in error

    damaged = struct.pack("<IIII", 1, 0, 1 << 30, 16) + bytes(16)
    path.write_bytes(b"".join(parts[:1201]) + damaged + b"".join(parts[1201:]))
    found, summary, error = detect(model, path, "--threshold", "-1000", code=3)
    assert found == alarms and summary["frames"] == 1200
    assert f"drive.pcap: byte {24 + 32 * 1200}: found a packet of 1073741824 bytes" in error
    events, summary, _ = detect(model, path, "--threshold", "-1000", "--events", "json", code=3)
    assert [event["state"] for event in events].count("closed") == 1 and summary["frames"] == 1200


def test_a_packed_text_that_is_cut_off_is_judged_up_to_there(detector, detect, captures_made, tmp_path):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv")))).read_bytes()
    packed = gzip.compress(capture)
    path = tmp_path / "drive.csv.gz"
    path.write_bytes(packed[:len(packed) // 2])
    _, summary, error = detect(model, path, "--threshold", "-1000")
    text = capture[:summary["truncated_at"]]
    assert text.endswith(b"\n") and summary["frames"] == text.count(b"\n") - 1 and summary["malformed_lines"] == 0
    assert f"drive.csv.gz: is cut off at byte {len(text)}" in error


def test_each_channel_is_judged_alone(detector, detect):
    """Whatever comes between its frames."""
    rng = np.random.default_rng(5)
    model = detector("behaviour") / "detector.safetensors"
    mine, other = (candump(random_frames(rng, 2_050, [0x100, 0x200]), name).splitlines(keepends=True) for name in (b"can0", b"can1"))
    alone = detect(model, "-", "--all", input=b"".join(mine))[0] + detect(model, "-", "--all", input=b"".join(other))[0]
    mixed = b"".join(line for pair in zip(mine, other) for line in pair)
    found, summary, error = detect(model, "-", "--all", input=mixed)
    for channel in ("can0", "can1"):
        assert of_channel(found, channel) == of_channel(alone, channel) != []
    assert summary["other_channels"] == 0 and summary["frames"] == 4_100 and summary["recordings"] == 2 and error == ""
    chosen, summary, _ = detect(model, "-", "--all", "--channel", "can0", input=mixed)
    assert chosen == of_channel(alone, "can0") and summary["other_channels"] == 2_050
    compat = detector("compat") / "detector.safetensors"
    expected = detect(compat, "-", "--all", input=b"".join(other))[0]
    found, _, _ = detect(model, "-", "--all", "--detector", f"can1={compat}", input=mixed)
    assert of_channel(found, "can0") == of_channel(alone, "can0") and of_channel(found, "can1") == expected


def test_a_channel_that_comes_late_is_waited_for(detector, detect):
    rng = np.random.default_rng(6)
    model = detector("behaviour") / "detector.safetensors"
    other, mine = (candump(random_frames(rng, 500, [0x100, 0x200]), channel) for channel in (b"can0", b"can1"))
    expected, _, _ = detect(model, "-", "--all", input=mine)
    found, summary, _ = detect(model, "-", "--all", "--channel", "can1", input=other + mine)
    assert found == expected and summary["other_channels"] == 500
    _, summary, error = detect(model, "-", "--channel", "can7", input=other + mine, code=3)
    assert summary["other_channels"] == 1_000 and "1000 frames of other channels" in error


def test_a_channel_whose_name_is_no_text_keeps_the_summary(detector, detect):
    rng = np.random.default_rng(7)
    model = detector("behaviour") / "detector.safetensors"
    mine = candump(random_frames(rng, 250, [0x100, 0x200]), b"can\xff")
    expected, _, _ = detect(model, "-", "--all", input=mine.replace(b"\xff", b"0"))
    found, summary, _ = detect(model, "-", "--all", input=mine + candump(random_frames(rng, 3, [1]), b"\x1b[2J", 2000))
    assert [line | {"channel": "can0"} for line in found if line["channel"] == "can\\xff"] == expected
    assert summary["frames"] == 253 and summary["malformed_lines"] == 0


def test_a_clock_that_jumps_begins_another_recording(detector, detect, captures_made, tmp_path):
    model = detector("by time") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    lines = capture.read_text().splitlines(keepends=True)[:4001]
    expected, once, _ = detect(model, "-", "--all", input="".join(lines).encode())
    times = [float(line.split(",")[0]) for line in lines[1:]]
    for shift in (-1e6, 1e6, 1e9):
        moved = [f"{time + shift:.6f},{line.split(',', 1)[1]}" for time, line in zip(times, lines[1:])]
        found, summary, _ = detect(model, "-", "--all", input="".join(lines + moved).encode())
        assert summary["recordings"] == 2 and summary["windows"] == 2 * once["windows"]
        assert [line["score"] for line in found] == [line["score"] for line in expected] * 2
        assert found[-1]["window"] == summary["windows"] - 1


def test_a_burst_waits_for_itself(detector, detect, captures_made):
    """Latency counts from the arrival of a window's frames, so what waits after other windows of a read is slower."""
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    _, summary, _ = detect(detector("behaviour") / "detector.safetensors", capture, "--stride", "1")
    assert summary["latency_ns"]["max"] > 50e9 / summary["windows_per_s"]
    assert summary["latency_ns"]["p50"] > 5e9 / summary["windows_per_s"]


@pytest.mark.parametrize("name,more,step", [("behaviour", [], 0.005), ("by time", [], 0.005),
                                            ("by time", ["--stride", "60s"], 0.005), ("by time", [], 0)])
def test_hours_of_a_bus_take_the_memory_of_minutes(bin_dir, detector, captures_made, name, more, step):
    """A bus of hours on a pipe, inside a cgroup: also where windows lie far apart, and where the clock stands still."""
    model = detector(name) / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    fields = [line.split(",", 1)[1] for line in capture.read_text().splitlines(keepends=True)[1:2001]]
    try:
        group = MemoryCgroup(32 * MIB)
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")

    def peak(rounds):
        process = subprocess.Popen([str(bin_dir / "plimsoll"), "detect", str(model), "-", "--json", "--budget", "24MiB",
                                    "--payload", "8", "--threshold", "1e9", *more], preexec_fn=group.join, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for k in range(rounds):
            process.stdin.write("".join(f"{1000 + (k * len(fields) + j) * step:.6f},{rest}"
                                        for j, rest in enumerate(fields)).encode())
        summary = json.loads(process.communicate()[0].splitlines()[-1])["summary"]
        assert process.returncode == 0 and summary["frames"] == rounds * len(fields)
        return summary["memory"]["ledger_peak_bytes"]

    with group:
        few = peak(200)
        many = peak(1500)  # four hours
        assert group.kills() == 0
    assert many <= 1.5 * few  # buffers grow with the longest read
    assert few < (4 if step else 24) * MIB
