"""The facts about a run of the task `relational` that a baseline needs: seeds, labels, and the rows that seeds may see."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.baseline.history import EdgeHistory, Ints, histories
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.data.typed_tasks import Task
from plimsoll.errors import InputError, UsageError

NO_DAYS = [1, 7, 28, 90]  # Spans of a run whose model has no counts.


class BaselineRun:
    """A run, its data set and its task. Errors: `InputError` for a damaged run or data; `UsageError` for another task."""

    def __init__(self, run: Path, data: Path) -> None:
        self._recipe = _read_recipe(run / "recipe.yaml")
        if self._recipe.get("task") != "relational":
            raise UsageError(f"{run}: the run has the task {self._recipe.get('task')!r}; a baseline is for the task 'relational'")
        self.graph = TypedGraph(data)
        name = self._recipe.get("relational.task", "")
        if name not in self.graph.tasks:
            raise InputError(f"{data}: has no task {name!r}, which the run {run} is about, but {list(self.graph.tasks)}; give the data "
                             "set of the run")
        self.task: Task = self.graph.tasks[name]
        self.folder = run / "baseline"
        self.seed = int(self._recipe["seed"])
        self._last = self._last_time()

    @property
    def is_lagged(self) -> bool:
        """Whether histories of training seeds end as early as those of other seeds."""
        return self._recipe.get("relational.training_history") == "lagged" and bool((self._lags > 0).any())

    @property
    def days(self) -> list[int]:
        """The spans of the run's counts, in days."""
        text = self._recipe.get("relational.history_days", "[]").strip("[]")
        return [int(word) for word in text.split(",")] if text else NO_DAYS

    @property
    def splits(self) -> list[str]:
        """The splits that were not used for training and have labels."""
        return [name for name in self.task.splits if name != "train" and self.task[name].target is not None]

    @property
    def hidden(self) -> set[tuple[str, str]]:
        """The columns that the task hides, each with its table."""
        manifest = self.task.manifest
        hidden = {(table, column) for table, column in manifest.get("remove_columns", [])}
        return hidden | ({(self.task.entity, manifest["target_col"])} if self._completes_column else set())

    @cached_property
    def histories(self) -> list[EdgeHistory]:
        return histories(self.graph, self.task.entity, self.hidden)

    def seeds(self, split: str) -> tuple[Ints, Ints]:
        """Returns the nodes and times of the labelled seeds of a split, i64 each."""
        seeds, labelled = self.task[split], self._labelled(split)
        return np.asarray(seeds.nodes, np.int64)[labelled], _times(seeds.time, split)[labelled]

    def labels(self, split: str) -> NDArray[np.float64]:
        """Returns the labels of the labelled seeds. Texts have their numbers in the split train, as in the network; texts that
        it does not have are NaN.
        """
        seeds = self.task[split]
        labels = np.asarray(seeds.target, np.float64)[self._labelled(split)]
        return self._classes_of_codes(split)[labels.astype(np.int64)] if seeds.has_texts else labels

    def ends(self, split: str, times: Ints, copy: int) -> Ints:
        """Returns the latest times of rows that seeds see. In a copy of the training seeds, each seed has the lag of a random
        seed of another split.
        """
        if split == "train" and self.is_lagged:
            times = times - np.random.default_rng([self.seed, copy]).choice(self._lags, len(times))
        return np.minimum(times, self._last)

    def objective(self) -> dict[str, Any]:
        """Returns LightGBM's names of the loss, and of the metric by which it stops."""
        if self.task.type == "regression":
            return {"objective": "regression_l1" if self._recipe.get("relational.loss") == "absolute" else "regression", "metric": "l1"}
        if self.task.type == "binary_classification":
            return {"objective": "binary", "metric": "auc"}
        return {"objective": "multiclass", "metric": "multi_logloss", "num_class": self._classes()}

    def _classes(self) -> int:
        """Returns the number of outputs of the network, which also covers the labels of validation seeds."""
        return max(2, 1 + max(int(self.labels(split).max()) for split in ("train", "val")))

    @property
    def _completes_column(self) -> bool:
        return self.task.kind == "autocomplete"

    @cached_property
    def _lags(self) -> Ints:
        times: Ints = np.concatenate([_times(self.task[split].time, split) for split in self.task.splits if split != "train"])
        lags: Ints = times - np.minimum(times, self._last)
        return lags

    def _labelled(self, split: str) -> NDArray[np.bool_]:
        seeds = self.task[split]
        if seeds.target is None or seeds.valid is None:
            raise UsageError(f"task {self.task.name}: the split {split} has no labels")
        labelled: NDArray[np.bool_] = seeds.valid & np.isfinite(np.asarray(seeds.target, np.float64))
        if seeds.has_texts:  # A text that no training seed has is a label of no class.
            labelled[labelled] = np.isfinite(self._classes_of_codes(split)[np.asarray(seeds.target, np.int64)[labelled]])
        return labelled

    def _classes_of_codes(self, split: str) -> NDArray[np.float64]:
        """The number in the split train of each text of a split; NaN for a text that is not there."""
        number = {text: code for code, text in enumerate(self.task["train"].vocabulary)}
        return np.array([number.get(text, np.nan) for text in self.task[split].vocabulary], np.float64)

    def _last_time(self) -> int:
        text = self.graph.manifest.get("source", {}).get("test_timestamp")
        if text is None or self._completes_column or self._recipe.get("relational.test_history") == "rolling":
            return int(np.iinfo(np.int64).max)
        return int(np.datetime64(text, "ns").astype(np.int64))


def _times(time: NDArray[np.int64] | None, split: str) -> Ints:
    if time is None:
        raise InputError(f"the seeds of the split {split} have no times; ingest the tables again")
    return np.asarray(time, np.int64)


def _read_recipe(path: Path) -> dict[str, str]:
    """Returns the values of a run's recipe by keys such as "relational.task", from the format that `train` writes."""
    try:
        lines = path.read_text().splitlines()
    except OSError as error:
        raise InputError(f"{path}: {error}; expected the folder of a run of `plimsoll train`") from error
    keys, section = {}, ""
    for line in lines:
        key, _, value = line.strip().partition(":")
        if not line.startswith(" "):
            section = key + "."
        keys[section + key if line.startswith(" ") else key] = value.strip().strip('"')
    return keys
