"""scripts/check-functions finds functions that are too long, and counts nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK_FUNCTIONS = Path(__file__).resolve().parents[2] / "scripts" / "check-functions"
LONG = "  ++n;\n" * 61


def check(tmp_path, text):
    """Returns the lines of a source on which check-functions finds something."""
    (tmp_path / "a.cc").write_text(text)
    done = subprocess.run([sys.executable, CHECK_FUNCTIONS, tmp_path], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return [int(line.split("a.cc:")[1].split(":")[0]) for line in done.stdout.splitlines()]


def test_this_checkout_passes():
    done = subprocess.run([sys.executable, CHECK_FUNCTIONS], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


@pytest.mark.parametrize(
    "head",
    [
        "void f(int n = 0) {",
        "A::A(int n) : a_{n}, b_(n) {",
        "A& A::operator=(const A& other) {",
        "template <typename T>\nauto f(T n) -> decltype(n) {",
    ],
)
def test_a_long_function_is_found(tmp_path, head):
    assert check(tmp_path, f"namespace a {{\n{head}\n{LONG}}}\n}}\n") == [2 + head.count("\n")]


def test_60_lines_pass_and_a_lambda_counts_for_the_function_around_it(tmp_path):
    assert check(tmp_path, "void f(int n) {\n" + "  ++n;\n" * 60 + "}\n") == []
    inner = "  const auto g = [&](int m) {\n" + "    ++m;\n" * 30 + "  };\n"
    assert check(tmp_path, "void f(int n) {\n" + inner + "  ++n;\n" * 29 + "}\n") == [1]


@pytest.mark.parametrize("head", ["struct A {", "template <typename T>\nclass A final : public B<void()> {", "namespace {", "constexpr auto kA = make({"])
def test_scopes_and_tables_may_be_long(tmp_path, head):
    assert check(tmp_path, head + "\n" + "  int a;\n" * 70 + "}\n") == []


def test_braces_in_literals_and_comments_do_not_count(tmp_path):
    assert check(tmp_path, 'void f(int n) {\n  g("}");  // }\n' + LONG + "}\n") == [1]
