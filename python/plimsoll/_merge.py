"""Joins the shards of one data set: `plimsoll.merge`."""

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
    """Joins all shards of one `frames`, `graph_set` or `graph` data set and opens the result.

    The result is byte for byte the data set that `plimsoll ingest can`, `windows` or `ingest graph` makes without
    `--shard`.

    - `shards`: paths of all shards, in any order.
    - `out`: path of the new data set.
    - `force`, `budget`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts bytes of columns, each once when it is checked and once when it is
      copied.

    Errors: `InputError` naming a shard that is missing, damaged or part of another set; `BudgetExceeded`; `Failure`.
    """
    options = _core.MergeOptions()
    options.shards = [Path(shard) for shard in shards]
    options.out = Path(out)
    options.force = force
    _core.make_merged(options, budget_text(budget), progress)
    return open_set(out)
