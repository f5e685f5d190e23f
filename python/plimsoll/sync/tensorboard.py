"""Writes event files for TensorBoard, one folder per stage."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

from plimsoll.sync.journal import Event
from plimsoll.sync.records import RecordWriter
from plimsoll.sync.tracker import Tracker, live

PIP = "pip install tensorboard"


class TensorBoard(Tracker):
    """Writes events to `folder`/STAGE.

    The size of each file is recorded together with the events that it holds. After a kill or an error, the file is
    truncated to this size before it is continued.
    """

    name = "tensorboard"

    def __init__(self, run: Path, target: str) -> None:
        import tensorboard.compat.proto.event_pb2  # noqa: F401  A missing package is reported before training starts.

        super().__init__(run)
        self.folder = Path(target) / run.name if target else run / "tensorboard"
        self._writers: dict[str, RecordWriter] = {}

    def send(self, stage: str, events: list[Event]) -> None:
        from tensorboard.compat.proto.event_pb2 import Event as Record
        from tensorboard.compat.proto.summary_pb2 import Summary

        writer = self._writer(stage)
        try:
            for event in events:
                if event.name == "epoch":
                    step, values = event.fields["epoch"], event.numbers()
                elif event.name == "progress":
                    step, values = event.fields["done"], live(event)
                else:
                    continue
                summary = Summary(value=[Summary.Value(tag=name, simple_value=value) for name, value in values.items()])
                writer.write(Record(wall_time=event.fields["time"], step=step, summary=summary).SerializeToString())
            writer.flush()
        except BaseException:  # The next try opens the file again, which drops what was written of these events.
            with suppress(OSError):
                self._writers.pop(stage).close()
            raise
        self.stage(stage)["bytes"] = os.path.getsize(self.folder / stage / self.stage(stage)["file"])

    def _writer(self, stage: str) -> RecordWriter:
        from tensorboard.compat.proto.event_pb2 import Event as Record

        if stage in self._writers:
            return self._writers[stage]
        noted = self.stage(stage)
        folder = self.folder / stage
        folder.mkdir(parents=True, exist_ok=True)
        if "file" not in noted or not (folder / noted["file"]).exists():
            start = next((e.fields["time"] for e in self._events(stage)), 0)
            noted["file"] = f"events.out.tfevents.{int(start)}.{socket.gethostname()}.plimsoll"
            noted["bytes"] = 0
        file = open(folder / noted["file"], "ab")
        file.truncate(noted["bytes"])
        writer = self._writers[stage] = RecordWriter(file)
        if noted["bytes"] == 0:
            writer.write(Record(wall_time=0, file_version="brain.Event:2").SerializeToString())
        return writer

    def _events(self, stage: str) -> list[Event]:
        from plimsoll.sync.journal import events_of

        return list(events_of(self.run, stage, 0))[:1]

    def finish(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()
