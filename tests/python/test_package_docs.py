"""Every snippet of docs/python runs, page by page, from top to bottom."""

import re
from pathlib import Path

import pytest

pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pytest.importorskip("torch_geometric")

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs" / "python").glob("*.md"))


@pytest.mark.usefixtures("ops")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    names = {"__name__": page.stem}
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S):
        line = text.count("\n", 0, match.start()) + 1
        exec(compile("\n" * line + match[1], str(page), "exec"), names)
