"""Point sets, read into a `graph_set`: `plimsoll.ingest.points`."""

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
    """Point sets of a file to a `graph_set` of k-nearest-neighbour graphs, which is opened (docs/point-sets.md).

    `source` is an array [sets, points, numbers] (.npy) of which `dims` numbers are coordinates, or a text. `labels`
    and `targets` are files with the class, or numbers to be predicted, of each set. It works on one thread; progress
    counts graphs. Errors: as of `plimsoll.ingest.graph`.
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
