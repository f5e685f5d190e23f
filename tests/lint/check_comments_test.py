"""scripts/check-comments finds comments that only complete the name beside them."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK_COMMENTS = Path(__file__).resolve().parents[2] / "scripts" / "check-comments"


def check(tmp_path, text):
    """Returns the lines of a source on which check-comments finds something."""
    (tmp_path / "a.h").write_text(text)
    done = subprocess.run([sys.executable, CHECK_COMMENTS, tmp_path], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return [int(line.split("a.h:")[1].split(":")[0]) for line in done.stdout.splitlines()]


def test_this_checkout_passes():
    done = subprocess.run([sys.executable, CHECK_COMMENTS], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize("comment", ["// of the slab", "/// Those that wait.", "int64_t bytes;  ///< which it takes", "  // likewise"])
def test_a_fragment_is_found(tmp_path, comment):
    assert check(tmp_path, f"int a;\n{comment}\n") == [2]


@pytest.mark.parametrize("text", ["// Bytes of the slab\n// of a block.\n", 'auto url = "// of";\n', "// Offsets in bytes.\n", "// off by one\n"])
def test_sentences_their_second_lines_and_literals_pass(tmp_path, text):
    assert check(tmp_path, text) == []
