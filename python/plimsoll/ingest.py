"""Data of others, read into data sets.

Common arguments: `budget` is the memory the call may take, beside what the process holds already, in bytes or as
text ("64MiB"; by default 256 MiB, or less where the system has less). `threads` is how many may work, by default
the processors at hand. `force` replaces an output that exists; one that was made from the same source is opened
and left alone. `progress` is called with what is done and what there is to do, a few times a second. The
interpreter goes on meanwhile, and Ctrl-C ends the call; the output is then as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, one_of, texts, thread_count, whole
from plimsoll.data.ingest_graph import graph
from plimsoll.errors import UsageError
from plimsoll.can.frames import Frames
from plimsoll.data.graph_set import GraphSet

__all__ = ["can", "graph", "points"]

_FORMATS = (
    *("auto", "ctat-csv", "hcrl-csv", "hcrl-text", "candump", "asc", "trc", "gvret", "cabana", "busmaster"),
    *("python-can", "blf", "mf4", "pcap", "table"),
)


def can(
    sources: PathLike | Iterable[PathLike],
    out: PathLike,
    *,
    format: str = "auto",
    payload: int | None = None,
    channel: str = "",
    channel_names: Mapping[str, str] | None = None,
    merge_channels: bool = False,
    attack_labels: Iterable[str] = (),
    benign: bool = False,
    split: str = "",
    columns: Iterable[str] = (),
    separator: str = ",",
    quote: str = "",
    id: str = "hex",
    bytes: str | None = None,
    time: str = "",
    length: str = "bytes",
    on_error: str = "fail",
    skip_limit: int = 1000,
    truncated: str = "read",
    shard: str = "1/1",
    force: bool = False,
    budget: Budget = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Frames:
    """CAN captures, plain, .zst or .gz, to `frames`, which is opened.

    `sources` are files, or folders whose folders become splits. `format` and what follows it describe them as the
    options of `plimsoll ingest can` do (docs/can-formats.md); `channel_names` gives channels other names, as
    `--name-channel`. `payload` is 8 or 64 bytes a frame; None takes 64 where a frame needs them. `benign` labels every
    frame 0; `split` is that of
    captures that lie in no folder of their own. A capture that is cut off is read up to there with a warning,
    or refused with `truncated` "fail". `shard` "2/8" takes the second of eight parts of the
    captures; `plimsoll.merge` joins them. Progress counts bytes of the sources.
    Errors: `InputError` (file, line and column), `UsageError`, `BudgetExceeded`, `Failure`.
    """
    options = _core.IngestOptions()
    options.sources = [Path(source) for source in _listed(sources)]
    options.out = Path(out)
    options.force = force
    options.skip_errors = one_of("on_error", on_error, ("fail", "skip")) == "skip"
    options.skip_limit = whole("skip_limit", skip_limit, 0)
    options.threads = thread_count(threads)
    options.set_shard(shard)
    described = options.format
    described.columns = texts("columns", columns)
    described.name = one_of("format", format, _FORMATS)
    if described.columns and format == "auto":
        described.name = "table"
    described.payload = 0 if payload is None else whole("payload", payload, 8, 64)
    described.channel = channel
    described.channel_names = dict(channel_names or {})
    described.merge_channels = merge_channels
    if channel and merge_channels:
        raise UsageError("channel and merge_channels: expected one of them")
    described.benign = benign
    described.refuse_truncated = one_of("truncated", truncated, ("read", "fail")) == "fail"
    options.split = split
    described.attack_labels = texts("attack_labels", attack_labels)
    described.separator = separator
    described.quote = quote
    described.decimal_id = one_of("id", id, ("hex", "dec")) == "dec"
    described.decimal_bytes = one_of("bytes", bytes or id, ("hex", "dec")) == "dec"
    described.time = one_of("time", time, ("", "s", "ms", "us", "timeofday", "none", "delta"))
    described.length_in_bits = one_of("length", length, ("bytes", "bits")) == "bits"
    _core.make_frames(options, budget_text(budget), progress)
    return Frames(out)


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
    counts graphs. Errors: as of `can`.
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


def _listed(sources: PathLike | Iterable[PathLike]) -> list[PathLike]:
    return [sources] if isinstance(sources, str | os.PathLike) else list(sources)
