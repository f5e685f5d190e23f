"""Reads the journals of a run while they grow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Fields = dict[str, Any]


class Event(NamedTuple):
    """One line of a journal."""
    stage: str  #: Seed and stage, such as "seed-42/gat".
    fields: Fields
    end: int  #: Offset in bytes of the end of its line in the stage's journal.

    @property
    def name(self) -> str:
        """The kind of event, such as "epoch"."""
        return str(self.fields.get("event", ""))

    @property
    def milliseconds(self) -> int:
        """Milliseconds since 1970."""
        return int(float(self.fields.get("time", 0)) * 1000)

    def numbers(self) -> dict[str, float]:
        """Returns the event's numbers by name. Numbers in nested objects have names such as "reading/waited_s".

        An epoch on a device also has `gpu_mem_gb`, the device memory used in GiB; one on the CPU has no `device_...`.
        """
        numbers = dict(_numbers(self.fields, ""))
        if not numbers.get("device_planned_bytes"):
            return {name: value for name, value in numbers.items() if not name.startswith("device_")}
        return {**numbers, "gpu_mem_gb": numbers["device_used_bytes"] / 2**30}


def _numbers(fields: Fields, prefix: str) -> Iterator[tuple[str, float]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _numbers(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and name not in ("time", "epoch"):
            yield prefix + name, float(value)


def stages_of(run: Path) -> list[str]:
    """Returns the stages of a run that have a journal, such as "seed-42/gat"."""
    return sorted(str(path.parent.relative_to(run)) for path in run.glob("seed-*/*/events.jsonl"))


def events_of(run: Path, stage: str, start: int) -> Iterator[Event]:
    """Yields the events of the complete lines from byte `start` on; none if the journal is shorter than that."""
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
    """Returns the object in a JSON file; {} if the file is missing or is not a JSON object."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
