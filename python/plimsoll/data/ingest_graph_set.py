"""Reads point sets into a `graph_set`: `plimsoll.ingest.points`."""

from __future__ import annotations

from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, whole
from plimsoll.data.graph_set import GraphSet


def points(
    source: PathLike,
    out: PathLike,
    *,
    knn: int = 8,
    dims: int | None = None,
    labels: PathLike | None = None,
    targets: PathLike | None = None,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> GraphSet:
    """Reads point sets from a file into a `graph_set` of k-nearest-neighbour graphs and opens it (docs/point-sets.md).

    - `source`: a .npy array [sets, points, numbers], or a text file.
    - `out`: path of the data set.
    - `knn`: number of neighbours, 1 to 65535.
    - `dims`: number of coordinates among the numbers of a point, 2 or 3.
    - `labels`, `targets`: files with the class, or the regression targets, of each set.
    - `force`, `budget`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts graphs.

    Uses one thread. Errors: as in `plimsoll.ingest.graph`.
    """
    options = _core.PointsOptions()
    options.source = Path(source)
    options.out = Path(out)
    options.neighbours = whole("knn", knn, 1, 65535)
    options.dimensions = 0 if dims is None else whole("dims", dims, 2, 3)
    if labels is not None:
        options.labels = Path(labels)
    if targets is not None:
        options.targets = Path(targets)
    options.force = force
    _core.make_points(options, budget_text(budget), progress)
    return GraphSet(out)
