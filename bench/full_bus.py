#!/usr/bin/env python3
"""A day of two buses of 8,000 frames a second together, compressed in time, through a pipe to `plimsoll detect`: memory, losses.

    bench/full_bus.py MODEL FRAMES [--hours 24] [--reload SECONDS] [--seconds 300] [--cgroup MIB]    # FRAMES: a data set of frames with the traffic to repeat

Frames of two channels as `candump -L` prints them, 125 us apart, given as fast as they are taken. Anonymous memory is sampled every half
second, the ledger by a heartbeat a second. With --cgroup the detector is alone in a memory cgroup with that limit. With --reload it
gets HUP now and then. After --seconds no more frames are given. Ends with 1 where a frame is missing.
"""

import argparse
import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "release" / "bin" / "plimsoll"
sys.path.insert(0, str(ROOT / "tests" / "python"))
RATE, START = 8_000, 1_700_000_000
BLOCK = 1 << 16


def block_of(folder):
    """Lines of BLOCK frames, as rows of bytes: the digits of the time are 1 to 17."""
    ids = np.load(folder / "can_id.npy", mmap_mode="r")[:BLOCK]
    data = np.load(folder / "data.npy", mmap_mode="r")[:BLOCK]
    lines = [f"(0000000000.000000) can{k % 2} {int(i) & 0x7FF:03X}#{bytes(d[:8]).hex().upper()}\n".encode() for k, (i, d) in enumerate(zip(ids, data))]
    return np.frombuffer(b"".join(lines), np.uint8).reshape(len(lines), -1).copy()


def put_times(rows, first):
    us = (first + np.arange(len(rows), dtype=np.int64)) * (1_000_000 // RATE)
    seconds, rest = START + us // 1_000_000, us % 1_000_000
    for digit in range(10):
        rows[:, 10 - digit] = 48 + seconds // 10**digit % 10
    for digit in range(6):
        rows[:, 17 - digit] = 48 + rest // 10**digit % 10


def anonymous_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1])
    return 0


def text_of(name, values, unit):
    tenth = max(1, len(values) // 10)
    return f"{name}: {max(values[:tenth]):,} {unit} at most in the first tenth, {max(values[-tenth:]):,} in the last, {max(values):,} in all"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("frames", type=Path)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--reload", type=float, default=0)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--cgroup", type=int, default=0)
    options = parser.parse_args()
    rows = block_of(options.frames)
    wanted = int(options.hours * 3600 * RATE) // len(rows) * len(rows)
    group = None
    if options.cgroup:
        from cgroup import MemoryCgroup

        group = MemoryCgroup(options.cgroup << 20)
    process = subprocess.Popen([BIN, "detect", options.model, "-", "--events", "json", "--budget", "48MiB", "--heartbeat", "1"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=group and group.join)
    events, last, ledger = [0], [b""], []

    def take_events():  # a full pipe would stop the detector, and then this program
        for line in process.stdout:
            if b'"event":"heartbeat"' in line:
                ledger.append(json.loads(line)["ledger_bytes"])
            else:
                events[0], last[0] = events[0] + 1, line

    reader = threading.Thread(target=take_events)
    reader.start()
    memory, begin, sampled, told, reloads = [], time.monotonic(), 0.0, 0.0, 0
    for first in range(0, wanted, len(rows)):
        if time.monotonic() - begin > options.seconds:
            wanted = first
            break
        put_times(rows, first)
        process.stdin.write(rows.tobytes())
        now = time.monotonic() - begin
        if now - sampled > 0.5:
            memory.append(anonymous_kib(process.pid))
            sampled = now
        if options.reload and now - told > options.reload:
            process.send_signal(signal.SIGHUP)
            told, reloads = now, reloads + 1
    seconds = time.monotonic() - begin
    process.stdin.close()
    reader.join()
    process.wait()
    summary = json.loads(last[0])["summary"]
    print(f"{wanted:,} frames of {wanted / RATE / 3600:.2f} h in {seconds:.0f} s: {wanted / seconds:,.0f} frames/s, "
          f"{wanted / seconds / RATE:.0f} times a full bus; {reloads} reloads; {summary['processor_seconds']:.0f} s of a processor")
    print(text_of("anonymous memory", memory, "KiB"))
    print(text_of("ledger", ledger, "bytes") + f"; its peak {summary['memory']['ledger_peak_bytes']:,}")
    print(f"frames judged: {summary['frames']:,}, malformed: {summary['malformed_lines']}, events: {events[0] - 1}, windows: {summary['windows']:,}")
    if group:
        peak = group.folder / ("memory.max_usage_in_bytes" if group.v1 else "memory.peak")
        print(f"cgroup of {options.cgroup} MiB: peak {int(peak.read_text()):,} bytes, killed: {group.kills()}")
        group.folder.rmdir()
    return int(summary["frames"] != wanted)


if __name__ == "__main__":
    sys.exit(main())
