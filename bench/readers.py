#!/usr/bin/env python3
"""How fast `plimsoll ingest can` reads BLF and MF4, beside inflating their packed data alone and beside python-can and asammdf.

    bench/readers.py FRAMES [--times 3] [--peer-frames 200000] [--scratch DIR]     # FRAMES: a data set of frames; needs python-can, asammdf

The files are made of FRAMES: BLF in containers of 128 KiB, MF4 in packed blocks of 4 MiB, transposed and not. All in turn; the
page cache has the files, and no output is there before. Peers read a file of --peer-frames frames, and seconds are taken in
proportion; 0: no peers. Shares are those of the speed of zlib alone, by the best runs.
"""

import argparse
import os
import shutil
import statistics
import struct
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

import report

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "python"))
EXTENDED = 1 << 31


def columns_of(folder, count):
    return {name: np.load(folder / f"{name}.npy", mmap_mode="r")[:count] for name in ("time_ns", "can_id", "length", "data")}


def write_blf(path, columns):
    """Objects CAN_MESSAGE in containers, as Vector's tools write them; gives the packed parts."""
    count = len(columns["time_ns"])
    kind = np.dtype([("sign", "S4"), ("head", "<u2"), ("version", "<u2"), ("size", "<u4"), ("type", "<u4"), ("flags", "<u4"),
                     ("client", "<u2"), ("object", "<u2"), ("time", "<u8"), ("channel", "<u2"), ("direction", "u1"), ("dlc", "u1"),
                     ("id", "<u4"), ("data", "u1", 8)])
    rows = np.zeros(count, kind)
    rows["sign"], rows["head"], rows["version"], rows["size"], rows["type"], rows["flags"] = b"LOBJ", 32, 1, 48, 1, 2
    rows["time"], rows["channel"], rows["dlc"] = columns["time_ns"] - columns["time_ns"].min(), 1, columns["length"]
    rows["id"], rows["data"] = columns["can_id"], columns["data"][:, :8]
    objects = rows.tobytes()
    parts = []
    with open(path, "wb") as file:
        file.write(struct.pack("<4sL", b"LOGG", 144).ljust(40, b"\0") + struct.pack("<8H", 2023, 11, 2, 14, 22, 13, 20, 0).ljust(104, b"\0"))
        for at in range(0, len(objects), 128 * 1024):
            plain = objects[at:at + 128 * 1024]
            packed = zlib.compress(plain)
            parts.append(packed)
            file.write(struct.pack("<4sHHLLH6xL4x", b"LOBJ", 16, 1, 32 + len(packed), 10, 2, len(plain)) + packed + b"\0" * (len(packed) % 4))
    return parts


def write_mf4(path, columns, transposed):
    import test_mf4

    count = len(columns["time_ns"])
    kind = np.dtype([("time", "<u8"), ("channel", "u1"), ("id", "<u4"), ("length", "u1"), ("data", "u1", 8)])
    rows = np.zeros(count, kind)
    rows["time"], rows["channel"], rows["id"] = (columns["time_ns"] - columns["time_ns"].min()) // 1000, 1, columns["can_id"]
    rows["length"], rows["data"] = columns["length"], columns["data"][:, :8]
    mdf = test_mf4.Mdf()
    group = mdf.group(test_mf4.can_channel(mdf, 0, 0), 0, 22)
    step = (4 << 20) // 22
    parts, links = [], []
    for at in range(0, count, step):
        plain = rows[at:at + step].tobytes()
        if transposed:
            plain = np.frombuffer(plain, np.uint8).reshape(-1, 22).T.tobytes()
        packed = zlib.compress(plain)
        parts.append(packed)
        links.append(mdf.add(b"##DZ", data=struct.pack("<2sBxIQQ", b"DT", int(transposed), 22, len(plain), len(packed)) + packed))
    listed = mdf.add(b"##DL", [0, *links], struct.pack("<B3xIQ", 1, len(links), 22 * step))
    path.write_bytes(mdf.finish(group, mdf.add(b"##HL", [listed], struct.pack("<HB5x", 1, int(transposed))), 0))
    return parts


def seconds_of(work):
    """Wall and processor seconds."""
    spent, begin = time.process_time(), time.perf_counter()
    work()
    return time.perf_counter() - begin, time.process_time() - spent


def ingest(path, out, threads):
    return report.timed([report.PLIMSOLL, "ingest", "can", path, "--out", out, "--budget", "48MiB", "--threads", threads])[:2]


def inflate(parts):
    for part in parts:
        zlib.decompress(part)


def read_with_python_can(path):
    import can

    for _ in can.LogReader(path):
        pass


def read_with_asammdf(path):
    import asammdf

    with asammdf.MDF(path) as mdf:
        mdf.get("CAN_DataFrame")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frames", type=Path)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--peer-frames", type=int, default=200_000)
    parser.add_argument("--scratch")
    options = parser.parse_args()
    rows = ["| file | bytes | way | wall s, best / median | processor s, best / median | MB/s of unpacked data | share, wall | share, processor |",
            "|---|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        scratch = Path(folder)
        whole = columns_of(options.frames, None)
        some = columns_of(options.frames, options.peer_frames)
        count, share = len(whole["time_ns"]), len(whole["time_ns"]) / max(1, len(some["time_ns"]))
        for name, suffix, write in (("BLF", ".blf", write_blf), ("MF4", ".mf4", lambda p, c: write_mf4(p, c, False)),
                                    ("MF4, transposed", ".mf4", lambda p, c: write_mf4(p, c, True))):
            path, part, out = scratch / f"whole{suffix}", scratch / f"part{suffix}", scratch / "out"
            parts = write(path, whole)
            if options.peer_frames:
                write(part, some)
            plain = sum(len(zlib.decompress(each)) for each in parts)
            ways = {"zlib alone (Python)": lambda: seconds_of(lambda: inflate(parts)),
                    "plimsoll ingest can": lambda: ingest(path, out, 1),
                    "plimsoll ingest can, two threads": lambda: ingest(path, out, 2)}
            peers = {"python-can": read_with_python_can} if options.peer_frames else {}
            if peers and suffix == ".mf4":
                peers["asammdf, columns alone"] = read_with_asammdf
            for way, read in peers.items():
                ways[way] = lambda read=read: [each * share for each in seconds_of(lambda: read(part))]
            taken = {way: [] for way in ways}
            for _ in range(options.times):
                for way, work in ways.items():
                    shutil.rmtree(out, ignore_errors=True)
                    os.sync()
                    taken[way].append(work())
            best = {way: [min(column) for column in zip(*runs)] for way, runs in taken.items()}
            alone = best["zlib alone (Python)"]
            for way, runs in taken.items():
                cells = [f"{least:.3f} / {statistics.median(column):.3f}" for least, column in zip(best[way], zip(*runs))]
                shares = [f"{100 * ours / its:.0f} %" for ours, its in zip(alone, best[way])]
                rows.append(" | ".join([f"| {name}", f"{path.stat().st_size / 1e6:.0f} MB", way, *cells, f"{plain / best[way][0] / 1e6:.0f}", *shares]) + " |")
    text = f"`bench/readers.py FRAMES --times {options.times}`, {count:,} frames; budget 48 MiB; peers, if any, in proportion from {len(some['time_ns']):,} frames.\n\n"
    print(text + "\n".join(rows))


if __name__ == "__main__":
    main()
