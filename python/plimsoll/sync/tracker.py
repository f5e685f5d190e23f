"""What all trackers have in common: how far each has the journal, on disk."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path

from plimsoll.sync.journal import Event, Fields, events_of, read_json, stages_of

BATCH = 200  # events that are sent together at most


class Refused(Exception):
    """The tracker does not take it, however often it is asked."""


class Tracker(ABC):
    """Follows a run. What was sent is noted in RUN/sync/NAME.json after it has arrived, and what a kill had left between
    the two is sent again in a way that adds nothing."""

    name: str

    def __init__(self, run: Path) -> None:
        self.run = run
        self._path = run / "sync" / f"{self.name}.json"
        self.state: Fields = {"stages": {}, **read_json(self._path)}

    def stage(self, name: str) -> Fields:
        """What is noted of a stage: "offset" in its journal, the last "epoch" sent, and what a tracker adds."""
        stage: Fields = self.state["stages"].setdefault(name, {"offset": 0, "epoch": 0})
        return stage

    def save(self) -> None:
        temporary = self._path.with_suffix(".tmp")
        with open(temporary, "w") as file:
            json.dump(self.state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._path)

    def advance(self) -> bool:
        """Sends what has come; whether there was anything. Errors: `Refused`, and others where asking again may help."""
        sent = False
        for name in stages_of(self.run):
            noted = self.stage(name)
            batch: list[Event] = []
            for event in events_of(self.run, name, noted["offset"]):
                batch.append(event)
                if len(batch) == BATCH:
                    break
            if not batch:
                continue
            self.send(name, self._new(batch, noted))
            noted["offset"] = batch[-1].end
            noted["epoch"] = max([noted["epoch"], *(e.fields["epoch"] for e in batch if e.name == "epoch")])
            self.save()
            sent = True
        return sent

    def _new(self, batch: list[Event], noted: Fields) -> list[Event]:
        # An epoch stands twice where a process was killed after it and before its checkpoint.
        last = noted["epoch"]
        events = []
        for event in batch:
            if event.name == "epoch":
                if event.fields["epoch"] <= last:
                    continue
                last = event.fields["epoch"]
            events.append(event)
        return events

    @abstractmethod
    def send(self, stage: str, events: list[Event]) -> None:
        """Errors: as `advance`; then the same events come again."""

    @abstractmethod
    def finish(self) -> None:
        """The run has ended, or stopped, and all events were sent. Errors: as `advance`."""


def live(event: Event) -> dict[str, float]:
    """What is worth a curve of an event "progress"."""
    fields = event.fields
    names = ("graphs_per_s", "anonymous_bytes", "ledger_bytes", "working", "waited_reading", "waited_memory", "waited_order")
    return {f"live/{name}": float(fields[name]) for name in names if isinstance(fields.get(name), (int, float))}
