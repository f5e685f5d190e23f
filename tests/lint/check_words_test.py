"""scripts/check-words refuses comparisons with words that its list does not have, and entries that are stale."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK_WORDS = Path(__file__).resolve().parents[2] / "scripts" / "check-words"


def check(root, sources, entries=()):
    """Returns what check-words says of a checkout with these sources and entries of the list."""
    for name, text in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    listed = root / "scripts" / "check_words" / "allowed.txt"
    listed.parent.mkdir(parents=True)
    listed.write_text("# A comment.\n\n" + "".join(f"{entry}\n" for entry in entries))
    done = subprocess.run([sys.executable, CHECK_WORDS, root], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout


def test_this_checkout_passes():
    done = subprocess.run([sys.executable, CHECK_WORDS], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize("line", ['if (mode == "cat") return;', 'bool b = word != "bf16-mixed";', 'if ("max" == mode) return;'])
def test_a_new_comparison_is_refused(tmp_path, line):
    assert check(tmp_path, {"src/nn/a.cc": f"int a;\n{line}\n"}).startswith("src/nn/a.cc: lines 2 compare with a word, 0 may")


@pytest.mark.parametrize("line", ['if (mode == Mode::cat) return;', '// if mode == "cat"', 'x == "A title"', 'f("cat")'])
def test_other_lines_pass(tmp_path, line):
    assert check(tmp_path, {"src/nn/a.cc": f"{line}\n"}) == ""


def test_words_come_in_by_the_command_line_and_recipes(tmp_path):
    assert check(tmp_path, {"src/cli/a.cc": 'word == "a"\n', "src/config/b.cc": 'word == "b"\n'}) == ""


def test_an_entry_allows_as_many_lines_as_it_says(tmp_path):
    two = 'word == "a"\nword == "b" || word == "c"\n'
    assert check(tmp_path, {"src/io/a.cc": two}, ["src/io/a.cc (2): why"]) == ""
    (tmp_path / "more").mkdir()
    assert "lines 1, 2, 3 compare with a word, 2 may" in check(
        tmp_path / "more", {"src/io/a.cc": two + 'word == "d"\n'}, ["src/io/a.cc (2): why"])


@pytest.mark.parametrize("entry, expected", [
    ("src/io/gone.cc (1): why", "src/io/gone.cc does not compare with a word; remove the line"),
    ("src/io/a.cc (2): why", "says 2: lower it"),
    ("src/io/a.cc (1):", "expected `path (count): reason`"),
])
def test_a_stale_entry_and_one_without_a_reason_are_refused(tmp_path, entry, expected):
    assert expected in check(tmp_path, {"src/io/a.cc": 'word == "a"\n'}, [entry])
