"""Makes nearest-neighbour graphs of point sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, whole
from plimsoll.data.columns import array_of, class_of, features_of, positions, targets_of
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
    """Writes the k-nearest-neighbour graphs of point sets to a `graph_set` and opens it.

    - `points`: yields one point set at a time, [n, 2] or [n, 3]. Sets with two coordinates get z = 0.
    - `path`: path of the `graph_set`.
    - `knn`: number of neighbours, 1 to 65535, or all other points if a set has fewer. Edges lead into each point from
      its nearest other points, nearest first; at equal distance the lower index comes first.
    - `features`: node features of each set, [n, F]. Without them nodes have one feature, a 1.
    - `y`: the class of each set, a whole number, or its regression targets, floating-point numbers [T] or a single
      one.
    - `force`: replace an existing data set; without it, any existing output is refused.
    - `budget`, `progress`: as in `from_pyg`.

    Numbers that float32 cannot represent exactly are refused. `plimsoll.ingest.points` does the same with files. If
    the call fails, the output stays as it was. Errors: `UsageError` naming the set, `Failure`, `BudgetExceeded`.
    """
    knn = whole("knn", knn, 1, 65535)
    lengths = {name: len(given) for name, given in (("features", features), ("y", y)) if given is not None}
    numbers = count()

    def require_for(sets: int, more_may_come: bool = False) -> None:
        for name, entries in lengths.items():
            if entries < sets or (entries > sets and not more_may_come):
                found = f"{sets} point sets" + (" or more" if more_may_come else "")
                raise UsageError(f"{name} has {entries} entries for {found}; expected one per point set")

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
        answer = None if y is None else array_of(y[number], f"{where}: y")
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
