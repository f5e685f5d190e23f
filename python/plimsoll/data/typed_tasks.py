"""The tasks of a graph with types: seeds with times and targets, as `plimsoll ingest tables` stores them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.data.data_set import DataSet
from plimsoll.errors import UsageError


class Seeds:
    """The S seeds of one split, in the order of its table of labels. Arrays map the files."""

    def __init__(self, graph: DataSet, entry: dict[str, Any]) -> None:
        self._graph = graph
        self._target: dict[str, Any] | None = entry.get("target")
        self._entry = entry
        self.dangling: int = entry["dangling"]

    def __len__(self) -> int:
        size: int = self._entry["seeds"]
        return size

    @property
    def nodes(self) -> NDArray[np.uint32]:
        """u32 [S]: the node of each seed."""
        return self._graph._column(self._entry["nodes"])

    @property
    def time(self) -> NDArray[np.int64] | None:
        """i64 [S]: the time of each seed in nanoseconds since 1970-01-01; None if seeds have none."""
        return self._graph._column(self._entry["times"]) if "times" in self._entry else None

    @property
    def target(self) -> NDArray[Any] | None:
        """The target of each seed [S], or the lists of recommended nodes, one after the other; None if targets are
        hidden.
        """
        return None if self._target is None else self._graph._column(self._target["column"])

    @property
    def target_ptr(self) -> NDArray[np.int64] | None:
        """i64 [S+1]: seed s has the targets ptr[s] .. ptr[s+1]-1; None if each has one."""
        return None if self._target is None or "ptr" not in self._target else self._graph._column(self._target["ptr"])

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        """[S]: whether each seed has a target; None if targets are hidden."""
        if self._target is None:
            return None
        if "valid" not in self._target:
            return np.ones(len(self), bool)
        return self._graph._column(self._target["valid"]).view(bool)

    @property
    def has_texts(self) -> bool:
        """Whether the targets are codes of texts, which `vocabulary` has."""
        return self._target is not None and "vocabulary" in self._target

    @property
    def vocabulary(self) -> list[str]:
        """The text of each code of text targets; each split has its own codes. Errors: `UsageError` for other
        targets.
        """
        if self._target is None or "vocabulary" not in self._target:
            meaning = "hidden" if self._target is None else f"a {self._target['meaning']}"
            raise UsageError(f"the target of the {self._entry['name']} split is {meaning}, expected a category")
        text = self._graph._column(self._target["vocabulary"]).tobytes()
        ptr = self._graph._column(self._target["vocabulary_ptr"]).tolist()
        return [text[begin:end].decode() for begin, end in zip(ptr, ptr[1:])]

    def __repr__(self) -> str:
        return f"Seeds({len(self)} seeds)"


class Task:
    """A prediction task about nodes of one type."""

    def __init__(self, graph: DataSet, entry: dict[str, Any]) -> None:
        self._splits = {split["name"]: Seeds(graph, split) for split in entry["splits"]}
        self.name: str = entry["name"]
        self.kind: str = entry["kind"]
        self.type: str = entry["type"]
        self.entity: str = entry["entity"]
        self.destination: str | None = entry.get("destination")
        self.manifest: dict[str, Any] = entry["manifest"]

    @property
    def splits(self) -> list[str]:
        """The names of the existing splits among train, val and test."""
        return list(self._splits)

    def __getitem__(self, split: str) -> Seeds:
        """Returns the seeds of a split. Errors: `UsageError`."""
        if split not in self._splits:
            raise UsageError(f"task {self.name!r} has no split {split!r}, expected one of {self.splits}")
        return self._splits[split]

    def __repr__(self) -> str:
        return f"Task({self.name!r}, {self.type} of {self.entity!r}, splits {self.splits})"
