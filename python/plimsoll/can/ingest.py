"""CAN captures, read into `frames`: `plimsoll.ingest.can`."""

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


def as_list(sources: PathLike | Iterable[PathLike]) -> list[PathLike]:
    return [sources] if isinstance(sources, str | os.PathLike) else list(sources)
