"""scripts/check-callers finds what only tests call in a small tree, and nothing that a program calls."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK_CALLERS = Path(__file__).resolve().parents[2] / "scripts" / "check-callers"
CLEAN = {
    "src/io/file.h": "int open_file(int at);\nclass File {\n public:\n  const char* name() const { return name_; }\n"
                     "  virtual void close() = 0;\n  char* name_;\n};\nconstexpr int kFiles = 3;\n",
    "src/io/file.cc": '#include "io/file.h"\nint open_file(int at) {\n  return at + kFiles;\n}\n',
    "src/cli/all.h": '#include "io/file.h"\n',
    "src/cli/main.cc": '#include "cli/all.h"\nint main() { return open_file(1) * *file->name(); }\n',
    "python/src/local.h": '#include "io/file.h"\n',
    "python/src/module.cc": '#include "local.h"\nvoid end(File* of) {\n  of->close();\n}\n',
}


def check(tmp_path, files=None):
    """Writes CLEAN with `files` over it and returns what check-callers finds in it."""
    for name, text in {**CLEAN, **(files or {})}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, CHECK_CALLERS, tmp_path], capture_output=True, text=True)
    assert done.stderr == ""
    # The exceptions are those of this checkout, and not needed there.
    return [line.split(": no program")[0] for line in done.stdout.splitlines() if not line.startswith("scripts/")]


def test_this_checkout_passes():
    done = subprocess.run([sys.executable, CHECK_CALLERS], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_clean_tree_passes(tmp_path):
    assert check(tmp_path) == []


def test_exceptions_without_need_are_found(tmp_path):
    done = subprocess.run([sys.executable, CHECK_CALLERS, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "src/kernels/cuda.h: cuda_free: programs use it, or it no longer exists" in done.stdout


@pytest.mark.parametrize("text, name", [
    ("int* find(int at);\n", "find"),
    ("std::vector<int> find(int at);\n", "find"),
    ("class A {\n public:\n  static int& find(int at);\n};\n", "find"),
    ("template <typename T>\nvoid find(T at) {\n  at();\n}\n", "find"),
    ("inline constexpr int kMost = 3;\n", "kMost"),
    ("int find(int at);  // find(3) is called\n", "find"),
])
def test_what_nobody_uses_is_found(tmp_path, text, name):
    line = text[: text.index(name)].count("\n") + 1
    tests = {"tests/io/a_test.cc": '#include "io/a.h"\nint b = find(kMost);\n', "src/io/a.h": text}
    assert check(tmp_path, tests) == [f"src/io/a.h:{line}: {name}"]
    # A definition, a comment and a text are no uses, nor is a file without the header.
    source = f'#include "io/a.h"\n// {name}(1)\nint find(int at) {{\n  return say("{name}");\n}}\n'
    assert check(tmp_path, {"src/io/a.cc": source, "src/io/b.cc": f"int c = {name} + 1;\n"}) == [f"src/io/a.h:{line}: {name}"]
    assert check(tmp_path, {"bench/c.cc": f'#include "io/a.h"\nint c = 2 * {name}(4);\n'}) == []


def test_annotations_are_no_declarations_and_hide_none(tmp_path):
    text = "class A {\n  int find(int at) PLIMSOLL_REQUIRES(all_.mutex());\n  int at_ PLIMSOLL_GUARDED_BY(mutex_) = 0;\n};\n"
    assert check(tmp_path, {"src/io/more.h": text}) == ["src/io/more.h:2: find"]


def test_overrides_and_variables_are_no_declarations(tmp_path):
    text = "class B : public A {\n  int size() const override { return 1; }\n  void run() const {\n    const Scope scope(3);\n  }\n};\n"
    assert check(tmp_path, {"src/io/b.h": text}) == ["src/io/b.h:3: run"]
