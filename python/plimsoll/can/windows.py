"""Cuts frames into windows, whose graphs become a `graph_set`: `plimsoll.windows`."""

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
    """Cuts frames into windows, writes one graph per window to a `graph_set` and opens it.

    - `frames`: a `frames` data set or its path.
    - `out`: path of the `graph_set`.
    - `features`: "compat" (docs/compat-features.md) or "behaviour" (docs/behaviour-features.md).
    - `window`: number of frames, or a time as text such as "50ms" ("behaviour" only).
    - `stride`: distance between the starts of two windows. By default 100 frames, or `window` if that is a time.
    - `vocabulary_from`: splits whose CAN IDs form the vocabulary. By default those whose names start with "train".
    - `calibrate`: number of first benign windows of each recording to calibrate on ("behaviour" only); 0 for none.
    - `shard`: "2/8" makes the second of eight parts of the graphs. `plimsoll.merge` joins the parts.
    - `budget`: as in `plimsoll.ingest`, but by default the detected limit minus 64 MiB.
    - `force`, `threads`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts graphs.

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
