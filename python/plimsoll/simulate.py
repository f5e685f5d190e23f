"""Made-up traffic (docs/simulator.md), and made-up graphs (docs/giant-graphs.md)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from plimsoll import _core
from plimsoll.data.ingest_graph import FEATURE_DTYPES
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, one_of, texts, thread_count, whole
from plimsoll.can.frames import Frames
from plimsoll.data.graph import Graph

__all__ = ["can", "graph"]

_ATTACKS = ("DoS", "fuzzing", "spoofing", "replay", "suppression", "masquerade")


def can(
    out: PathLike,
    *,
    frames: int,
    seed: int = 1,
    vehicles: int = 3,
    attacks: Iterable[str] = _ATTACKS,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> Frames:
    """A CAN bus of made-up vehicles, with labelled attacks, to `frames`, which is opened.

    `frames` is how many there are in all recordings together; the same of `frames`, `seed`, `vehicles` and
    `attacks` give the same bytes. The last vehicle never trains. It works on one thread; progress counts frames.
    The other arguments are those of `plimsoll.ingest`. Errors: `UsageError`, `BudgetExceeded`, `Failure`.
    """
    options = _core.SimulateOptions()
    options.out = Path(out)
    options.frames = whole("frames", frames, 1)
    options.seed = whole("seed", seed, 0, 2**64 - 1)
    options.vehicles = whole("vehicles", vehicles, 2, 64)
    options.set_attacks(",".join(texts("attacks", attacks)) or "none")
    options.force = force
    _core.make_traffic(options, budget_text(budget), progress)
    return Frames(out)


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
    """One graph of communities and hubs, of any size, to `graph`, which is opened.

    A network can learn the communities, which are the classes, from features and neighbours. `degree` is how many
    neighbours a node has, on average and about. The same of all arguments down to `seed` give the same bytes;
    progress counts nodes. The other arguments are those of `plimsoll.ingest`.
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
