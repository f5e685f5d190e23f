"""Every link within the pages resolves, and so does every file and function that a page names.

A link leads to a file of the checkout, and its `#anchor` to a heading of that page, by GitHub's rule for anchors. A code span
such as `can/windows/windows.cc:open_windows` names a file, whole or by the end of its path, and a word in it; one such as
`Fit::train_epoch` names words that some source has together.
"""

import functools
import os
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = {".git", ".venv", "build", "runs", "__pycache__", ".mypy_cache", ".pytest_cache", "shared"}

FENCE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.M | re.S)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
HTML_LINK = re.compile(r"\b(?:src|srcset|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.M)
FILE = re.compile(r"([\w./{},-]+\.(?:\{[\w,]+\}|h|cc|cu|c|py|pyi|sh|txt|cmake|yaml|md|json|toml))(?::([\w:~]+))?")
MEMBER = re.compile(r"[A-Z]\w*(?:::~?\w+)+")
SOURCE = {".h", ".cc", ".cu", ".c", ".py", ".pyi"}
# What a program writes, a data set holds, a user brings or another project has is no file of the checkout.
NOT_OURS = re.compile(r"NAME|^torch/|^graphids/|ROOM|RUN/|DIR/|(?:^|/)(?:manifest|evaluation)\.json|^[a-z-]+\.yaml$|^(?:nodes|edges|rec|gat)\.\w+$")


def walk():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        yield from (Path(folder, name) for name in names)


@functools.cache
def files():
    return {path.relative_to(ROOT).as_posix() for path in walk()}


@functools.cache
def words(name):
    return frozenset(re.findall(r"\w+", (ROOT / name).read_text(errors="replace")))


def blanked(match):
    return re.sub(r"[^\n]", " ", match[0])


def prose(text):
    """The page without its code blocks, every line where it was."""
    return FENCE.sub(blanked, text)


def anchors(text):
    """GitHub's anchors of a page's headings."""
    seen = {}
    found = set()
    for match in HEADING.finditer(prose(text)):
        heading = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "")
        anchor = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    return found


def at(text, offset):
    return text.count("\n", 0, offset) + 1


def broken_links(page, root=ROOT):
    """`page:line: target: why` of each link that leads nowhere."""
    text = page.read_text()
    without_code = SPAN.sub(blanked, prose(text))
    name = page.relative_to(root)
    for match in [*LINK.finditer(without_code), *HTML_LINK.finditer(without_code)]:
        target = match[1]
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / unquote(path)).resolve() if path else page
        if not there.exists():
            yield f"{name}:{at(text, match.start())}: {target}: no such file"
        elif not there.is_relative_to(root):
            yield f"{name}:{at(text, match.start())}: {target}: leads out of the checkout"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text()):
            yield f"{name}:{at(text, match.start())}: {target}: no such heading"


def spelled_out(name):
    """`a.{h,cc}` as `a.h` and `a.cc`."""
    braces = re.search(r"\{([^}]*)\}", name)
    if not braces:
        return [name]
    parts = braces[1].split(",")
    return [whole for part in parts for whole in spelled_out(name[: braces.start()] + part + name[braces.end() :])]


def candidates(page, name):
    """The files that a page may mean by a name."""
    beside = os.path.normpath(page.parent.relative_to(ROOT) / name)
    return [file for file in files() if file == name or file == beside or file.endswith("/" + name)]


@functools.cache
def has_members(span):
    parts = {part.strip("~") for part in span.split("::")}
    return any(parts <= words(file) for file in files() if Path(file).suffix in SOURCE and not file.startswith("tests/"))


def broken_references(page):
    """`page:line: span: why` of each code span that names a file or function that is not there."""
    text = page.read_text()
    name = page.relative_to(ROOT)
    for match in SPAN.finditer(prose(text)):
        span = " ".join(match[1].split())
        where = f"{name}:{at(text, match.start())}: {span}"
        if MEMBER.fullmatch(span) and not has_members(span):
            yield f"{where}: no source has these words"
        reference = FILE.fullmatch(span)
        if not reference or NOT_OURS.search(reference[1]):
            continue
        if "/" not in reference[1] and Path(spelled_out(reference[1])[0]).suffix not in SOURCE:
            continue  # `recipe.yaml` may be a user's
        for file in spelled_out(reference[1]):
            found = candidates(page, file)
            if not found:
                yield f"{where}: no such file"
            elif reference[2]:
                wanted = {part.strip("~") for part in reference[2].split("::") if part}
                if not any(wanted <= words(one) for one in found):
                    yield f"{where}: {file} has no {reference[2]}"


def pages():
    return sorted(path for path in walk() if path.suffix == ".md")


def pages_with_references():
    """Those that speak of today's sources: CHANGELOG and results speak of what was, from-kdgat.md of KD-GAT's files."""
    others = {"CHANGELOG.md", "from-kdgat.md"}
    return [path for path in pages() if path.name not in others and "results" not in path.parts]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_resolve(page):
    assert [*broken_links(page)] == []


@pytest.mark.parametrize("page", pages_with_references(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_references_resolve(page):
    assert [*broken_references(page)] == []


def modules():
    lines = (ROOT / "cmake" / "modules.txt").read_text().splitlines()
    return [line.split(":")[0] for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("module", modules())
def test_a_module_explains_itself(module):
    lines = (ROOT / "src" / module / "README.md").read_text().splitlines()
    assert lines[0] == f"# {module}" and 10 <= len(lines) <= 30
    drawing = (ROOT / "HACKING.md").read_text().split("```")[1]
    assert re.search(rf"\b{module}\b", drawing)


def test_the_front_pages_are_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120
    assert len((ROOT / "HACKING.md").read_text().splitlines()) <= 150


def test_breaks_are_found(tmp_path, monkeypatch):
    (tmp_path / "other.md").write_text("# A `heading`, twice\n\n# A heading, twice\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#a-heading-twice) [b](other.md#a-heading-twice-1) [c](https://example.org/x) `[d](code.md)`\n"
        "[e](other.md#none) [f](none.md)\n```\n[g](fence.md)\n```\n<img src=\"none.svg\">\n"
    )
    assert [line.split(": ", 1)[1] for line in broken_links(page, tmp_path)] == [
        "other.md#none: no such heading",
        "none.md: no such file",
        "none.svg: no such file",
    ]
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "a.cc").write_text("void Fit::begin() {}\n")
    files.cache_clear(), has_members.cache_clear()
    try:
        page.write_text("`a.cc` `a.cc:Fit::begin` `Fit::begin` `a.cc:end` `b.cc` `Fit::end` `a.{cc,h}`\n")
        assert [line.split(": ", 1)[1] for line in broken_references(page)] == [
            "a.cc:end: a.cc has no end",
            "b.cc: no such file",
            "Fit::end: no source has these words",
            "a.{cc,h}: no such file",
        ]
    finally:
        files.cache_clear(), has_members.cache_clear(), words.cache_clear()
