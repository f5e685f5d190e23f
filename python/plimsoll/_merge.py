"""Shards of one data set, joined: `plimsoll.merge`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from plimsoll import _core
from plimsoll._open import open as open_set
from plimsoll.arguments import Budget, PathLike, Progress, budget_text
from plimsoll.data.data_set import DataSet


def merge(
    shards: Iterable[PathLike],
    out: PathLike,
    *,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> DataSet:
    """Joins all shards of one `frames` or `graph_set`, in any order, and opens the set.

    It is the set that `plimsoll.ingest.can` or `plimsoll.windows` makes without `shard`, byte for byte. Progress
    counts bytes of columns, each once when it is checked and once when it is copied; the other arguments are those of
    `plimsoll.ingest`. Errors: `InputError` that names the shard which is missing, damaged, or of another set;
    `BudgetExceeded`, `Failure`.
    """
    options = _core.MergeOptions()
    options.shards = [Path(shard) for shard in shards]
    options.out = Path(out)
    options.force = force
    _core.make_merged(options, budget_text(budget), progress)
    return open_set(out)
