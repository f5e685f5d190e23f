"""The base of trackers: the position of each tracker in the journal, kept on disk."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from pathlib import Path

from plimsoll.sync.journal import Event, Fields, events_of, read_json, stages_of

BATCH = 200  # maximum number of events sent together


class Refused(Exception):
    """The tracker rejects the data, and a retry cannot help."""


class Tracker(ABC):
    """Follows a run and sends its events.

    RUN/sync/NAME.json records which events were sent, after they have arrived. After a kill in between, the same events
    are sent again, which must have no effect.
    """

    name: str

    def __init__(self, run: Path) -> None:
        self.run = run
        self._path = run / "sync" / f"{self.name}.json"
        self.state: Fields = {"stages": {}, **read_json(self._path)}

    def stage(self, name: str) -> Fields:
        """Returns the record of a stage: its "offset" in the journal, the last "epoch" sent, and what the tracker adds."""
        stage: Fields = self.state["stages"].setdefault(name, {"offset": 0, "epoch": 0})
        return stage

    def save(self) -> None:
        """Writes the record of what was sent to disk."""
        temporary = self._path.with_suffix(".tmp")
        with open(temporary, "w") as file:
            json.dump(self.state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._path)

    def advance(self) -> bool:
        """Sends the new events and returns whether there were any. Errors: `Refused`, and others if a retry may help."""
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
        # An epoch is in the journal twice if the process was killed between the epoch's event and its checkpoint.
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
        """Sends events of a stage. Errors: as in `advance`; the same events are then sent again."""

    @abstractmethod
    def finish(self) -> None:
        """Finishes the run, after it has ended or stopped and all events were sent. Errors: as in `advance`."""


def live(event: Event) -> dict[str, float]:
    """Returns the numbers of a "progress" event that are shown as curves."""
    fields = event.fields
    names = ("graphs_per_s", "anonymous_bytes", "ledger_bytes", "working", "waited_reading", "waited_memory", "waited_order")
    shown = {name: fields.get(name) for name in names} | {f"device_{name}": value for name, value in device_of(fields).items()}
    return {f"live/{name}": float(value) for name, value in shown.items() if isinstance(value, (int, float))}


def device_of(fields: Fields) -> Fields:
    """Returns what the driver's monitor reported about the device in a "progress" event."""
    device = fields.get("device")
    return device if isinstance(device, dict) else {}
