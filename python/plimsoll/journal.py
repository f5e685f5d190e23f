"""Writes the journal of a training run in Python: the folder that `plimsoll top`, `compare`, `sync` and trackers read
(docs/formats/run.md).
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from plimsoll import _core, _operators
from plimsoll.arguments import PathLike, texts, whole
from plimsoll.errors import UsageError
from plimsoll.replacing import replace

Number: TypeAlias = int | float
Row: TypeAlias = dict[str, Any]


class RunJournal:
    """Writes the journal, `metrics.csv` and the manifest of one stage of a run, as `plimsoll train` does.

        with RunJournal("runs/mine", settings={"hidden": 64}, trackers=["tensorboard"]) as journal:
            journal.start(total=epochs * graphs, max_epochs=epochs)
            for epoch in range(1, epochs + 1):
                ...
                journal.progress(epoch, step, done)
                journal.epoch(epoch, training_loss=loss)
            journal.end()

    - `run`: the folder of the run.
    - `stage`, `seed`: name of the stage and seed of the run; the journal is in `run`/seed-SEED/STAGE.
    - `settings`: values that `compare` shows in place of a recipe.
    - `trackers`: as `run.trackers` in a recipe. A missing package is a `UsageError` before anything is written.
    - `resume`: continue the run in the folder; repeated epochs replace their earlier rows, and the manifest is
      replaced. Without it a folder that has a manifest.json is refused.

    Nothing is written before `start`. If the block ends without `end()`, the run is recorded as interrupted. Not
    thread-safe.

    Errors: `UsageError`; `Failure` if another process is writing this run.
    """

    def __init__(
        self,
        run: PathLike,
        *,
        stage: str = "fit",
        seed: int = 0,
        settings: Mapping[str, object] | None = None,
        trackers: Sequence[str] = (),
        resume: bool = False,
    ) -> None:
        _operators.load()
        from plimsoll import _torch

        self._torch = _torch
        self.run = Path(os.path.abspath(run))
        seed = whole("seed", seed, 0)  # An int, because JSON has no numbers of NumPy.
        self._folder = self.run / f"seed-{seed}" / stage
        exists = (self.run / "manifest.json").exists()
        if exists and not _is_run(self.run):
            raise UsageError(f"{run} holds something else than a run; give another folder")
        if exists and not resume:
            raise UsageError(f"{run} already holds a run; give another folder, or resume=True to continue the run")
        self._event = "resume" if exists else "start"
        followers = texts("trackers", trackers)
        os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)
        self._trackers = _torch.TrackerProcess(self.run, followers) if followers else None
        self._lock: _torch.RunLock | None = None
        self._manifest: Row = {
            "kind": "run",
            "tool": f"plimsoll {_core.version} (Python)",
            "seed": seed,
            "seeds": [seed],
            "settings": {key: str(value) for key, value in (settings or {}).items()},
        }
        self._rows: list[Row] = []
        self._outer_peak = -1
        self._started = self._last = self._epoch_start = 0.0
        self._last_done, self._total, self._planned = -1, 0, 0
        self._ended = False

    def start(self, *, total: int, max_epochs: int, planned_bytes: int = 0, **fields: object) -> None:
        """Makes the folder and records the start of training.

        - `total`: graphs of all epochs together.
        - `max_epochs`: number of epochs.
        - `planned_bytes`: planned peak memory of the process in bytes, 0 if there is no plan.
        - `fields`: further fields, written unchanged.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = self._torch.RunLock(self.run)
        self._manifest["budget_bytes"] = fields.get("budget_bytes")
        self._write("manifest.json", json.dumps(self._manifest, indent=1) + "\n")
        self._journal = self._torch.Journal(self._folder / "events.jsonl")
        if self._event == "resume":
            self._rows = _rows_of(self._folder / "metrics.csv")
        self._lock = lock  # From here on, `close` records the end of the run.
        if self._trackers is not None:
            self._trackers.follow()
        self._started = self._last = time.monotonic()
        self.begin_epoch()
        self._total, self._planned = total, planned_bytes
        self._tell(
            self._event,
            {"process": os.getpid(), "max_epochs": max_epochs, "planned_bytes": planned_bytes, "budget_bytes": None, **fields},
        )

    def progress(self, epoch: int, step: int, done: int) -> None:
        """Records that `done` graphs of all epochs are trained, at step `step` of epoch `epoch`.

        Writes at most once per second at first, and at most every 10 s later in the run.
        """
        now = time.monotonic()
        if self._last_done >= 0 and now - self._last < min(max((now - self._started) / 60, 1.0), 10.0):
            return
        memory = self._memory()
        rate = (done - self._last_done) / (now - self._last) if self._last_done >= 0 else None
        self._tell(
            "progress",
            {"epoch": epoch, "step": step, "done": done, "total": self._total, "graphs_per_s": rate,
             "ledger_bytes": memory["held"], "held": {tag: count for tag, count in memory["held_by_tag"].items() if count},
             "anonymous_bytes": memory["anonymous"]},
        )
        self._last, self._last_done = now, done

    def begin_epoch(self) -> None:
        """Starts measuring the peak and the seconds of an epoch. Without this call, they count from the end of the
        previous epoch.
        """
        self._outer_peak = max(self._outer_peak, self._torch.begin_peak())
        self._epoch_start = time.monotonic()

    def epoch(self, epoch: int, graphs: int = 0, **metrics: Number) -> None:
        """Records the end of an epoch, counted from 1, and adds a row to metrics.csv.

        - `graphs`: graphs trained in this epoch.
        - `metrics`: numbers of the epoch, such as `training_loss`. Seconds and memory are added.
        """
        seconds = time.monotonic() - self._epoch_start
        memory = self._memory()
        row: Row = {
            "epoch": epoch,
            # JSON would have other numbers, such as those of NumPy and torch, as texts, which no chart shows.
            **{name: value if value is None or isinstance(value, int | float) else float(value) for name, value in metrics.items()},
            "seconds": seconds,
            "graphs_per_s": graphs / seconds if seconds > 0 else 0.0,
            "planned_bytes": self._planned,
            "anonymous_bytes": memory["anonymous"],
            "cgroup_bytes": memory["cgroup"],
            "page_cache_bytes": memory["page_cache"],
            "ledger_bytes": memory["peak"],
            **{f"ledger_{tag}_bytes": count for tag, count in memory["peak_by_tag"].items()},
        }
        self._rows = [*(other for other in self._rows if int(other["epoch"]) < epoch), row]
        self._tell("epoch", row)
        self._write_metrics()
        self.begin_epoch()

    def end(self, **fields: object) -> None:
        """Records the end of training with these fields."""
        self._ended = True
        self._tell("end", fields)

    def close(self) -> None:
        """Writes the manifest and releases the run. Without an earlier `end` the run is recorded as interrupted.

        Does nothing before `start` and on the second call.
        """
        if self._lock is None:
            self._trackers = None
            return
        if not self._ended:
            self._tell("interrupted", {"epoch": int(self._rows[-1]["epoch"]) + 1 if self._rows else 1})
        self._manifest["stages"] = [self._summary()]
        self._write("manifest.json", json.dumps(self._manifest, indent=1) + "\n")
        self._torch.end_peak(self._outer_peak)
        self._trackers = self._lock = None

    def __enter__(self) -> RunJournal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _summary(self) -> Row:
        summary: Row = {
            "stage": self._folder.name,
            "seed": self._manifest["seed"],
            "epochs": len(self._rows),
            "seconds": sum(float(row["seconds"]) for row in self._rows),
        }
        if self._planned:
            summary["planned_peak_bytes"] = self._planned
        if self._rows:
            # JSON has no NaN, and a row that was read from metrics.csv has empty texts for columns of other rows.
            losses = {name: float(value) for name, value in self._rows[-1].items() if name.endswith("_loss") and value not in ("", None)}
            summary.update({name: loss for name, loss in losses.items() if math.isfinite(loss)})
            summary["graphs_per_s"] = float(self._rows[-1]["graphs_per_s"])
        return summary

    def _memory(self) -> Row:
        memory: Row = json.loads(self._torch.memory_now())
        return memory

    def _tell(self, event: str, fields: Mapping[str, object]) -> None:
        self._journal.write(event, json.dumps(_finite(fields), default=str))

    def _write_metrics(self) -> None:
        names = list(dict.fromkeys(name for row in self._rows for name in row))
        temporary = self._folder / "metrics.csv.tmp"
        with open(temporary, "w", newline="") as file:
            writer = csv.DictWriter(file, names, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(self._rows)
        replace(temporary, self._folder / "metrics.csv")

    def _write(self, name: str, text: str) -> None:
        temporary = self.run / f"{name}.tmp"
        temporary.write_text(text)
        replace(temporary, self.run / name)


def _is_run(folder: Path) -> bool:
    """Whether the manifest in the folder is that of a run, not of a data set or another program."""
    try:
        return bool(json.loads((folder / "manifest.json").read_text())["kind"] == "run")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _rows_of(metrics: Path) -> list[Row]:
    if not metrics.exists():
        return []
    with open(metrics, newline="") as file:
        return list(csv.DictReader(file))


def _finite(fields: Mapping[str, object]) -> Mapping[str, object]:
    # JSON has no NaN or infinity.
    return {key: None if isinstance(value, float) and value - value != 0 else value for key, value in fields.items()}
