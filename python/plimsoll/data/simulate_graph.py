"""Simulates graphs (docs/giant-graphs.md): `plimsoll.simulate.graph`."""

from __future__ import annotations

from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, one_of, thread_count, whole
from plimsoll.data.graph import Graph
from plimsoll.data.ingest_options import FEATURE_DTYPES


def graph(
    out: PathLike,
    *,
    nodes: int,
    degree: float = 20,
    features: int = 0,
    features_dtype: str = "auto",
    classes: int = 2,
    seed: int = 1,
    force: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Graph:
    """Simulates one graph of communities and hubs, of any size, writes a `graph` and opens it.

    A network can learn the communities, which are the classes, from features and neighbours.

    - `out`: path of the data set.
    - `nodes`: number of nodes.
    - `degree`: approximate mean degree.
    - `features`: number of features per node. `features_dtype`: the type in which they are stored.
    - `classes`: number of classes.
    - `seed`: random seed, 0 or more. The same arguments up to here give the same bytes.
    - `force`, `budget`, `threads`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts nodes.

    Errors: `UsageError`, `BudgetExceeded`, `Failure`.
    """
    options = _core.GraphSimulation()
    options.out = Path(out)
    options.nodes = whole("nodes", nodes, 1)
    options.degree = float(degree)
    options.features = whole("features", features, 0)
    options.features_dtype = one_of("features_dtype", features_dtype, FEATURE_DTYPES)
    options.classes = whole("classes", classes, 1)
    options.seed = whole("seed", seed, 0, 2**64 - 1)
    options.force = force
    options.threads = thread_count(threads)
    _core.make_communities(options, budget_text(budget), progress)
    return Graph(out)
