"""Frames cut into windows, whose graphs become a `graph_set`: `plimsoll.windows`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, one_of, texts, thread_count, whole
from plimsoll.data.graph_set import GraphSet


def windows(
    frames: PathLike,
    out: PathLike,
    *,
    features: str = "compat",
    window: int | str = 100,
    stride: int | str | None = None,
    vocabulary_from: Iterable[str] = (),
    calibrate: int = 0,
    shard: str = "1/1",
    force: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> GraphSet:
    """Cuts frames into windows and writes their graphs to a `graph_set`, which is opened.

    `frames` is a data set or its path. `features` is "compat" (docs/compat-features.md) or "behaviour"
    (docs/behaviour-features.md). `window` is frames, or time as text ("50ms", behaviour alone); `stride` is how far
    the next one is: by default 100 frames, or the window where that is time. IDs are learned from the splits in
    `vocabulary_from`, by default those whose names start with train. `calibrate` compares each recording with its
    own first N benign windows (behaviour). `shard` "2/8" takes the second of eight parts of the graphs;
    `plimsoll.merge` joins them. `budget` is by default what the system has, less 64 MiB; the
    other arguments are those of `plimsoll.ingest`. Progress counts graphs.
    Errors: `UsageError`, `InputError`, `BudgetExceeded`, `Failure`.
    """
    options = _core.WindowsOptions()
    options.frames = Path(frames)
    options.out = Path(out)
    options.force = force
    options.threads = thread_count(threads)
    options.features = one_of("features", features, ("compat", "behaviour"))
    options.set_lengths(str(window), "" if stride is None else str(stride))
    options.vocabulary_from = texts("vocabulary_from", vocabulary_from)
    options.set_shard(shard)
    options.calibrate = whole("calibrate", calibrate, 0)
    _core.make_windows(options, budget_text(budget), progress)
    return GraphSet(out)
