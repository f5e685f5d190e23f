"""Captures for benchmarks: simulated, in a scratch folder that is removed at the end."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from report import PLIMSOLL, ROOT

FRAME_BYTES = 39  # of text, in what `plimsoll simulate can` makes


@contextmanager
def scratch(gigabytes):
    """A folder below BENCH_SCRATCH with so much room."""
    parent = Path(os.environ.get("BENCH_SCRATCH", ROOT / "build"))
    parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(parent).free
    if free < gigabytes * 1e9:
        raise SystemExit(f"bench: {parent} has {free / 1e9:.1f} GB free, {gigabytes:.1f} are needed; set BENCH_SCRATCH")
    with tempfile.TemporaryDirectory(prefix="bench-", dir=parent) as folder:
        yield Path(folder)


def simulate(folder, gigabytes):
    """About so much text as a folder of captures."""
    subprocess.run([PLIMSOLL, "simulate", "can", "--format", "csv", "--frames", str(int(gigabytes * 1e9 / FRAME_BYTES)),
                    "--out", folder], check=True, stdout=subprocess.DEVNULL)
    return folder


def one_capture(folder, gigabytes):
    """The same as one CSV below one header."""
    captures = sorted(simulate(folder / "captures", gigabytes).glob("*/*.csv"))
    path = folder / "captures.csv"
    with open(path, "wb") as out:
        for i, capture in enumerate(captures):
            with open(capture, "rb") as text:
                header = text.readline()
                if i == 0:
                    out.write(header)
                shutil.copyfileobj(text, out, 1 << 20)
    shutil.rmtree(folder / "captures")
    return path
