"""Every snippet of docs/python runs, page by page, from top to bottom, each page in a process of its own: what other
tests leave behind in this one is not for a budget to measure."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pytest.importorskip("torch_geometric")

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "python").glob("*.md"))


def code_of(page):
    """The snippets, each in the lines that it has on the page."""
    text = page.read_text()
    code = re.sub(r"[^\n]+", "", text).splitlines(keepends=True)
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
        line = text.count("\n", 0, match.start()) + 1
        lines = match[1].splitlines(keepends=True)
        code[line : line + len(lines)] = lines
    return "".join(code)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets_run(page, tmp_path):
    main = f"exec(compile({code_of(page)!r}, {str(page)!r}, 'exec'))"
    done = subprocess.run([sys.executable, "-c", main], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
