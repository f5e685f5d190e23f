"""scripts/check-engine-words refuses words and headers of CAN in the engine, and entries of its list that are stale."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).resolve().parents[2] / "scripts" / "check-engine-words"


def check(root, sources, entries=()):
    """Returns what the script says of a checkout with these sources and entries of the list."""
    for name, text in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    listed = root / "scripts" / "check_engine_words" / "allowed.txt"
    listed.parent.mkdir(parents=True)
    listed.write_text("# A comment.\n\n" + "".join(f"{entry}\n" for entry in entries))
    done = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout


def test_this_checkout_passes():
    done = subprocess.run([sys.executable, CHECK], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize("line", [
    '#include "can/windows/windows.h"', "// One frame of a recording.", "WindowData data;", "int64_t window_length;",
    "constexpr auto kFramesKind = 1;", 'throw UsageError("no detector");', "// Reads a DBC.",
])
def test_a_word_of_can_is_refused(tmp_path, line):
    assert check(tmp_path / "package", {"python/plimsoll/data/a.py": f"a = 1\n{line}\n"}).startswith(
        "python/plimsoll/data/a.py: lines 2 have a word of CAN, 0 may")
    assert check(tmp_path, {"src/run/a.cc": f"int a;\n{line}\n"}).startswith("src/run/a.cc: lines 2 have a word of CAN, 0 may")


@pytest.mark.parametrize("line", ['#include "run/task.h"', "// A framework.", "int windowless;", "// A detection.", "x = can;"])
def test_other_lines_pass(tmp_path, line):
    assert check(tmp_path, {"src/run/a.cc": f"{line}\n"}) == ""


def test_what_belongs_to_can_has_them(tmp_path):
    assert check(tmp_path, {"src/can/a.cc": "Frame frame;\n", "src/cli/can/b.cc": "Detector detector;\n"}) == ""


def test_an_entry_allows_as_many_lines_as_it_says(tmp_path):
    two = "// A stack frame.\n// Frames.\n"
    assert check(tmp_path, {"src/io/a.cc": two}, ["src/io/a.cc (2): frames of a stack"]) == ""
    (tmp_path / "more").mkdir()
    assert "lines 1, 2, 3 have a word of CAN, 2 may" in check(
        tmp_path / "more", {"src/io/a.cc": two + "// A window.\n"}, ["src/io/a.cc (2): frames of a stack"])


@pytest.mark.parametrize("entry, expected", [
    ("src/io/gone.cc (1): why", "src/io/gone.cc has no word of CAN; remove the line"),
    ("src/io/a.cc (2): why", "says 2: lower it"),
    ("src/io/a.cc (1):", "expected `path (count): reason`"),
])
def test_a_stale_entry_and_one_without_a_reason_are_refused(tmp_path, entry, expected):
    assert expected in check(tmp_path, {"src/io/a.cc": "// A frame.\n"}, [entry])
