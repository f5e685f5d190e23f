"""scripts/check-symbols finds the names that two modules give to different things in archives built for it."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

CHECK_SYMBOLS = Path(__file__).resolve().parents[2] / "scripts" / "check-symbols"
HEADER = """
namespace plimsoll {
struct Shared { int here() { return 1; } int there(); };
template <typename T> struct Box { T get() { return T(); } };
inline int once() { return 1; }
}
"""


def check(tmp_path, modules):
    """Builds an archive of each module's source and returns the lines that check-symbols prints."""
    for module, source in modules.items():
        (tmp_path / f"{module}.cc").write_text(HEADER + "namespace plimsoll {" + source + "}")
        subprocess.run(["c++", "-O0", "-c", f"{module}.cc"], cwd=tmp_path, check=True)
        subprocess.run(["ar", "rcs", f"libplimsoll_{module}.a", f"{module}.o"], cwd=tmp_path, check=True)
    done = subprocess.run([sys.executable, CHECK_SYMBOLS, tmp_path], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


def test_what_modules_share_by_headers_passes(tmp_path):
    use = "int use_{0}() {{ Shared s; return s.here() + Box<int>().get() + once(); }} namespace {{ int own() {{ return 1; }}" \
          " struct Table {{ int rows(); }}; int Table::rows() {{ return own(); }} int keep = Table().rows(); }}"
    assert check(tmp_path, {"io": use.format("io") + "int Shared::there() { return 2; }", "store": use.format("store")}) == []


@pytest.mark.parametrize("other, found", [
    ("struct Table { void columns(); }; void Table::columns() {}", "class plimsoll::Table is"),
    ("int rows(int) { return 2; }", "plimsoll::rows(int) is"),
    ("inline int rows(int) { return 2; } int use() { return rows(1); }", "plimsoll::rows(int) is"),
])
def test_two_things_of_one_name_are_named(tmp_path, other, found):
    table = "struct Table { void rows(); }; void Table::rows() {} int rows(int) { return 1; }"
    breaches = check(tmp_path, {"io": table, "store": other})
    assert len(breaches) == 1
    assert breaches[0].startswith(found) and "modules io and store" in breaches[0]


def test_without_a_build_it_says_so(tmp_path):
    done = subprocess.run([sys.executable, CHECK_SYMBOLS, tmp_path], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no archives in" in done.stderr and "make build" in done.stderr


def test_this_build_passes_in_seconds(pytestconfig):
    begin = time.monotonic()
    done = subprocess.run([sys.executable, CHECK_SYMBOLS], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0)
    assert time.monotonic() - begin < 20
