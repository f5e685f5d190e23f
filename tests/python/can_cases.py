"""Cases from public bug reports about CAN captures and DBC files, in ../shared/cases/can, and how a test runs them.

Each folder there holds input files and a `case.json` that says in prose what is right. The modules test_can_cases_*.py turn
that into assertions: one table a family, from the name of a folder to what is expected of it.

To add a case, add a line to the `CASES` of the module of its family:

    "01_candump_date": Frames("drive.log", 3, "1544088690.572475000 can0 57E C735061800"),

`Frames` runs `plimsoll ingest can FILE OPTIONS` and compares the first frames, as `text_of_frame` writes them, the number of
frames, and those counts of `traps` that are named. `Refused` expects exit code 3 and words in the message. A function of (run,
folder, tmp_path) tests anything else. What does not work yet goes into the module's `PENDING` with the reason: the test then
demands that it fails, and says so when it works. test_can_cases.py demands that each folder belongs to one table.
"""

import json
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

FLAGS = {1: "brs", 2: "esi", 4: "fd", 8: "tx"}


@dataclass(frozen=True)
class Frames:
    """What `plimsoll ingest can FILE OPTIONS` gives: `count` frames, of which the first are `first`, a line each."""

    file: str
    count: int
    first: str = ""
    options: str = ""
    traps: dict = field(default_factory=dict)  # counts that are compared, those that must be absent as 0
    message: str = ""  # words of standard error

    def check(self, run, folder, tmp_path):
        done = run("ingest", "can", folder / self.file, "--out", tmp_path / "frames", *shlex.split(self.options))
        assert done.returncode == 0, done.stderr
        frames = frames_of(tmp_path / "frames")
        expected = [line.strip() for line in self.first.splitlines() if line.strip()]
        assert frames[:len(expected)] == expected
        assert len(frames) == self.count
        traps = traps_of(tmp_path / "frames")
        assert {name: traps.get(name, 0) for name in self.traps} == self.traps
        assert self.message in done.stderr


@dataclass(frozen=True)
class Refused:
    """`plimsoll ingest can FILE OPTIONS` ends with exit code 3 and a message with all of `words`."""

    file: str
    words: tuple
    options: str = ""

    def check(self, run, folder, tmp_path):
        done = run("ingest", "can", folder / self.file, "--out", tmp_path / "frames", *shlex.split(self.options))
        assert done.returncode == 3, done.stdout + done.stderr
        assert [word for word in self.words if word not in done.stderr] == [], done.stderr


@dataclass(frozen=True)
class Absent:
    """The files of this case are not among the cases."""

    why: str


def text_of_frame(time_ns, channel, can_id, payload, flags):
    """Such as `1615000000.000100000 can0 123 AABB fd brs`: extended IDs have 8 digits, and - is nothing."""
    number = can_id & 0x1FFFFFFF
    words = [f"{number:08X}" if can_id >> 31 else f"{number:03X}", payload.hex().upper() or "-"]
    words += [word for bit, word in ((30, "remote"), (29, "error")) if can_id >> bit & 1]
    words += [word for bit, word in FLAGS.items() if flags & bit]
    return " ".join([f"{time_ns // 10**9}.{time_ns % 10**9:09}", channel or "-", *words])


def frames_of(folder):
    """All frames of a data set as texts, in the order of their times."""
    columns = {name: np.load(folder / f"{name}.npy") for name in ("time_ns", "can_id", "length", "data")}
    flags = np.load(folder / "flags.npy") if (folder / "flags.npy").exists() else np.zeros(len(columns["time_ns"]), np.uint8)
    rows = []
    for recording in json.loads((folder / "manifest.json").read_text())["recordings"]:
        first = recording["first_frame"]
        for row in range(first, first + recording["frames"]):
            payload = columns["data"][row, :columns["length"][row]].tobytes()
            rows.append((int(columns["time_ns"][row]), recording["channel"], int(columns["can_id"][row]), payload, int(flags[row])))
    return [text_of_frame(*row) for row in sorted(rows, key=lambda row: row[0])]


def traps_of(folder):
    """The counts of all recordings, added."""
    traps = {}
    for recording in json.loads((folder / "manifest.json").read_text())["recordings"]:
        for name, count in recording["traps"].items():
            traps[name] = traps.get(name, 0) + count
    return traps


def check_case(case, bin_dir, folder, tmp_path):
    """Runs one entry of a table `CASES` on the folder of its case."""
    if isinstance(case, Absent):
        pytest.skip(case.why)

    def run(*arguments):
        return subprocess.run([bin_dir / "plimsoll", *arguments], capture_output=True, text=True, errors="replace", timeout=120)

    (case if callable(case) else case.check)(run, Path(folder), tmp_path)


def parameters(cases, pending):
    """The names of `cases` for pytest; those of `pending` have to fail."""
    assert set(pending) <= set(cases)
    marks = {name: [pytest.mark.xfail(strict=True, reason=why)] for name, why in pending.items()}
    return [pytest.param(name, marks=marks.get(name, [])) for name in cases]
