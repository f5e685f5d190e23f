"""Point sets as graphs of nearest neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, whole
from plimsoll.data.columns import class_of, features_of, positions, targets_of
from plimsoll.data.from_pyg import Columns, write_graphs
from plimsoll.data.graph_set import GraphSet
from plimsoll.errors import UsageError


def from_points(
    points: Iterable[ArrayLike],
    path: PathLike,
    *,
    knn: int = 8,
    features: Sequence[ArrayLike] | None = None,
    y: Sequence[Any] | None = None,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> GraphSet:
    """Writes point sets to a `graph_set` of k-nearest-neighbour graphs, which is opened.

    `points` gives one set after the other, [n, 2] or [n, 3]; where there are two coordinates z is 0. Edges lead into each
    point from its `knn` nearest others, nearest first, of equal distance those of lower index first. `features` has of
    each set [n, F]; without them nodes have one feature, a 1. `y` has the class of each set, a whole number, or
    floating-point targets of regression, [T] or one. What float32 cannot hold exactly is refused.

    `force`, `budget` and `progress` are as of `from_pyg`. `plimsoll.ingest.points` does the same with files.
    Errors: `UsageError` that names the set, `Failure`, `BudgetExceeded`; the output is then as it was.
    """
    knn = whole("knn", knn, 1, 65535)
    lengths = {name: len(given) for name, given in (("features", features), ("y", y)) if given is not None}
    numbers = count()

    def require_for(sets: int, more_may_come: bool = False) -> None:
        for name, entries in lengths.items():
            if entries < sets or (entries > sets and not more_may_come):
                found = f"{sets} point sets" + (" or more" if more_may_come else "")
                raise UsageError(f"{name} has {entries} entries for {found}; expected one for each")

    def counted() -> Iterator[ArrayLike]:
        sets = 0
        for sets, of_set in enumerate(points, 1):
            require_for(sets, more_may_come=True)
            yield of_set
        require_for(sets)

    if isinstance(points, Sized):
        require_for(len(points))

    def read(of_set: ArrayLike, where: str) -> Columns:
        number = next(numbers)
        pos = positions(of_set, where)
        nodes = len(pos)
        x = np.ones((nodes, 1), np.float32)
        if features is not None:
            x = features_of(features[number], nodes, f"{where}: features")
        answer = None if y is None else np.asarray(y[number])
        target = targets_of(None if answer is None else answer.reshape(1, -1), 1, f"{where}: y")
        return Columns(
            nodes,
            x,
            _core.nearest_neighbours(pos, knn),
            np.empty((nodes * min(knn, nodes - 1) if nodes else 0, 0), np.float32),
            -1 if target.shape[1] else class_of(answer, where),
            None,
            target[0],
            np.empty((nodes, 0), np.float32),
            pos,
        )

    tables = None
    if features is None:
        tables = {"features": {"node": ["constant"], "edge": []}, "recordings": [], "vocabulary": []}
    return write_graphs({"all": points if isinstance(points, Sized) else counted()}, read, path, "points", force, budget, progress, tables)
