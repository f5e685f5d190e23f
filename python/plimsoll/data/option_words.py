"""Makes messages of `plimsoll.ingest.graph` name Python's arguments instead of command-line options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING

from plimsoll.errors import Error

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_GROUPS = {
    "EdgeColumns": ("source", "target", "weight", "header", "comments", "layout"),
    "NodeTable": ("id", "label", "unlabelled", "split", "missing"),
    "GraphLayout": ("ids", "node-count", "direction", "order", "features-dtype"),
}
_RENAMED = {"edge-features": ("EdgeColumns", "features"), "node-features": ("NodeTable", "features"),
            "nodes-header": ("NodeTable", "header"), "train": ("splits", "train"), "valid": ("splits", "valid"),
            "test": ("splits", "test")}
_TRUE = {"yes": "True", "no": "False"}
_OPTION = re.compile(r"--([a-z][a-z-]*)(?: (yes|no|NUMBER|text|sparse|dense|auto|none|all|leading|rows|columns|\d+))?(?![\w-])")


def in_python(text: str) -> str:
    """Replaces options of `plimsoll ingest graph` in a message: `--ids text` becomes `GraphLayout(ids="text")`."""
    return _OPTION.sub(_argument, text)


def _argument(found: re.Match[str]) -> str:
    name, value = found[1], found[2]
    group, argument = _RENAMED.get(name, ("", name.replace("-", "_")))
    group = group or next((group for group, names in _GROUPS.items() if name in names), "")
    if value is not None:
        shown = _TRUE.get(value) or (value if value.isdigit() or value == "NUMBER" else f'"{value}"')
        argument += f"={shown}"
    return f"{group}({argument})" if value is not None and group else f"{group}.{argument}" if group else argument


def options_given(group: DataclassInstance) -> list[str]:
    """Returns the command-line names of the fields of a group of options that do not have their default."""
    names = {argument: option for option, argument in _RENAMED.items()}
    return [
        "--" + names.get((type(group).__name__, field.name), field.name.replace("_", "-"))
        for field in fields(group)
        if field.default is not MISSING and getattr(group, field.name) != field.default
    ]


@contextmanager
def python_words() -> Iterator[None]:
    """Raises an error of its block again, with a message that names Python's arguments."""
    try:
        yield
    except Error as error:
        error.args = tuple(in_python(text) if isinstance(text, str) else text for text in error.args)
        raise
