"""Reads CAN captures into `frames`: `plimsoll.ingest.can`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text, one_of, texts, thread_count, whole
from plimsoll.can.frames import Frames
from plimsoll.errors import UsageError

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
    """Reads CAN captures, plain, .zst or .gz, into a `frames` data set and opens it.

    - `sources`: files, or folders whose subfolders become splits.
    - `out`: path of the data set.
    - `format`, `channel`, `merge_channels`, `attack_labels`, `columns`, `separator`, `quote`, `id`, `bytes`, `time`,
      `length`: describe the captures, as the options of `plimsoll ingest can` (docs/can-formats.md).
    - `payload`: 8 or 64 payload bytes per frame. None uses 64 if a frame needs them.
    - `channel_names`: other names for channels, as `--name-channel`.
    - `benign`: label every frame 0.
    - `split`: split name for captures not in a subfolder.
    - `on_error`: "fail", or "skip" to skip bad lines; more than `skip_limit` bad lines in a file fail.
    - `truncated`: "read" reads the complete part of a truncated capture, with a warning; "fail" refuses the capture.
    - `shard`: "2/8" reads the second of eight parts of the captures. `plimsoll.merge` joins the parts.
    - `force`, `budget`, `threads`: as in `plimsoll.ingest`.
    - `progress`: as in `plimsoll.ingest`. Counts bytes of the sources.

    Errors: `InputError` naming file, line and column; `UsageError`; `BudgetExceeded`; `Failure`.
    """
    options = _core.IngestOptions()
    options.sources = [Path(source) for source in as_list(sources)]
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
        raise UsageError("channel and merge_channels: expected only one of them")
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


def as_list(sources: PathLike | Iterable[PathLike]) -> list[PathLike]:
    """Returns one path or several as a list."""
    return [sources] if isinstance(sources, str | os.PathLike) else list(sources)
