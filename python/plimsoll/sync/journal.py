"""The journals of a run, read as they grow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Fields = dict[str, Any]


class Event(NamedTuple):
    stage: str  #: "seed-42/gat"
    fields: Fields
    end: int  #: bytes of the stage's journal up to the end of its line

    @property
    def name(self) -> str:
        return str(self.fields.get("event", ""))

    @property
    def milliseconds(self) -> int:
        """Since 1970."""
        return int(float(self.fields.get("time", 0)) * 1000)

    def numbers(self) -> dict[str, float]:
        """Its numbers, those of objects in it as "reading/waited_s"."""
        return dict(_numbers(self.fields, ""))


def _numbers(fields: Fields, prefix: str) -> Iterator[tuple[str, float]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and name not in ("time", "epoch"):
            yield prefix + name, float(value)


def stages_of(run: Path) -> list[str]:
    return sorted(str(path.parent.relative_to(run)) for path in run.glob("seed-*/*/events.jsonl"))


def events_of(run: Path, stage: str, start: int) -> Iterator[Event]:
    """Whole lines from byte `start` on; of a journal that got shorter none."""
    with open(run / stage / "events.jsonl", "rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            start += len(line)
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            if isinstance(fields, dict):
                yield Event(stage, fields, start)


def read_json(path: Path) -> Fields:
    """Empty where there is no such file, or none of JSON."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
