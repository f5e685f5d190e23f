"""Sends runs to MLflow: one run per training, with one nested run per seed and stage."""

from __future__ import annotations

import os
import uuid
from itertools import islice
from pathlib import Path
from typing import Any

from plimsoll.sync.journal import Event, read_json
from plimsoll.sync.mlflow_store import KEY, Metric, Store, open_store
from plimsoll.sync.tracker import Tracker, live

MAX_METRICS = 1000  # per request; the server's limit
MAX_PARAMS = MAX_TAGS = 100  # per request
MAX_LETTERS = 6000  # in a param's value
ENDS = {"end": "FINISHED", "interrupted": "KILLED", "out_of_budget": "FAILED"}
ARTIFACTS = ("recipe.yaml", "manifest.json", "evaluation.json", "report.html", "detector.safetensors")


class MLflow(Tracker):
    """Sends events so that sending them twice has no effect: a metric has the same value, step and time, and a run is
    looked up by its key before it is made.
    """

    name = "mlflow"

    def __init__(self, run: Path, target: str) -> None:
        uri = target or os.environ.get("MLFLOW_TRACKING_URI", "")
        if not uri:
            raise ValueError("mlflow: expected mlflow:URI, such as mlflow:http://127.0.0.1:5000, or MLFLOW_TRACKING_URI")
        self._store: Store = open_store(uri)
        super().__init__(run)

    def send(self, stage: str, events: list[Event]) -> None:
        if not events:
            return
        child = self._child(stage, events[0])
        metrics: list[Metric] = []
        for event in events:
            if event.name == "epoch":
                metrics += [Metric(k, v, event.milliseconds, event.fields["epoch"]) for k, v in event.numbers().items()]
            elif event.name == "progress":
                metrics += [Metric(k, v, event.milliseconds, event.fields["done"]) for k, v in live(event).items()]
        for first in range(0, len(metrics), MAX_METRICS):
            self._store.log(child, metrics[first : first + MAX_METRICS], {}, {})
        turns = [event for event in events if event.name in ("start", "resume", *ENDS)]
        if turns:
            self._turn(stage, child, turns[-1])

    def _turn(self, stage: str, child: str, event: Event) -> None:
        """Records that a stage starts, resumes or ends."""
        status = ENDS.get(event.name, "RUNNING")
        if "weights" in event.fields:
            self._store.log(child, [], {}, {"plimsoll.weights": str(event.fields["weights"])})
        if status == "RUNNING":
            self.stage(stage).pop("ended", None)
            self._store.set_status(child, status, None)
            self._store.set_status(self._parent(event), status, None)
        else:
            self.stage(stage)["ended"] = [status, event.milliseconds]
            self._store.set_status(child, status, event.milliseconds)

    def _child(self, stage: str, first: Event) -> str:
        noted = self.stage(stage)
        if "run" not in noted:
            parent = self._parent(first)
            tags = {"mlflow.parentRunId": parent, "plimsoll.stage": stage}
            noted["run"] = self._made(noted, f"{self.run.name} {stage}", first, tags)
            self.save()
        return str(noted["run"])

    def _parent(self, first: Event) -> str:
        if "run" not in self.state:
            self.state["run"] = self._made(self.state, self.run.name, first, {})
            self.save()
        if "described" not in self.state:  # If the server did not answer in between, this is tried again.
            self._describe(str(self.state["run"]))
            self.state["described"] = True
            self.save()
        return str(self.state["run"])

    def _made(self, noted: dict[str, Any], name: str, first: Event, tags: dict[str, str]) -> str:
        if "key" not in noted:
            noted["key"] = uuid.uuid4().hex
            self.save()
        experiment = self._store.experiment(os.environ.get("MLFLOW_EXPERIMENT_NAME", "plimsoll"))
        if found := self._store.find_run(experiment, noted["key"]):
            return found
        return self._store.create_run(experiment, name, first.milliseconds, {**tags, KEY: noted["key"]})

    def _describe(self, parent: str) -> None:
        known = self._store.params(parent)  # A param cannot be changed once it is set.
        values = {k: v for k, v in recipe_values(self.run).items() if k not in known and not k.startswith("run.")}
        pairs = iter(values.items())
        while batch := dict(islice(pairs, MAX_PARAMS)):
            self._store.log(parent, [], batch, {})
        manifest = read_json(self.run / "manifest.json")
        tags = {f"plimsoll.{key}": str(manifest[key]) for key in ("tool", "build", "identity") if key in manifest}
        for column, checksum in (manifest.get("data") or {}).get("columns", {}).items():
            tags[f"plimsoll.data.{column}"] = str(checksum)
        named = iter(tags.items())
        while batch := dict(islice(named, MAX_TAGS)):
            self._store.log(parent, [], {}, batch)

    def finish(self) -> None:
        if "run" not in self.state:
            return
        parent = str(self.state["run"])
        stages = self.state["stages"].values()
        ended = [stage.get("ended") for stage in stages]
        manifest = read_json(self.run / "manifest.json")
        if "weights" in manifest:
            self._store.log(parent, [], {}, {"plimsoll.weights": str(manifest["weights"])})
        done = all(end and end[0] == "FINISHED" for end in ended)
        status = "FINISHED" if done else next((end[0] for end in ended if end and end[0] != "FINISHED"), "KILLED")
        last = max((end[1] for end in ended if end), default=None)
        for name in self._artifacts():
            self._store.upload(parent, self.run / name, name)
        for stage in stages:
            if not stage.get("ended") and "run" in stage:
                self._store.set_status(str(stage["run"]), "KILLED", None)
        self._store.set_status(parent, status, last)

    def _artifacts(self) -> list[str]:
        models = [str(path.relative_to(self.run)) for path in sorted(self.run.glob("seed-*/*/model.safetensors"))]
        return [name for name in ARTIFACTS if (self.run / name).exists()] + models


def recipe_values(run: Path) -> dict[str, str]:
    """Returns the settings of a run, or the values of RUN/recipe.yaml by keys such as "training.batch_size".

    The file has one key per line, and sections are indented by two spaces.
    """
    if not (run / "recipe.yaml").exists():  # The run was trained in Python.
        settings = read_json(run / "manifest.json").get("settings", {})
        return {key: str(value)[:MAX_LETTERS] for key, value in settings.items()}
    values: dict[str, str] = {}
    sections: list[str] = []
    for line in (run / "recipe.yaml").read_text().splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        key, _, value = line.strip().partition(":")
        sections = [*sections[:depth], key]
        if value.strip():
            values[".".join(sections)] = value.strip()
    return values
