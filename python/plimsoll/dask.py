"""Reads captures on the workers of a Dask cluster, on one machine or many (docs/cluster.md)."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from plimsoll import errors
from plimsoll import ingest as _ingest
from plimsoll._merge import merge
from plimsoll.arguments import PathLike, whole
from plimsoll.can.frames import Frames
from plimsoll.can.ingest import as_list
from plimsoll.errors import UsageError
from plimsoll.replacing import hidden_name

# The share of a worker's memory limit that its shards may use. Dask pauses a worker at 80 % of the limit.
_SHARE_OF_LIMIT = 0.75


def ingest(
    client: Any,
    sources: PathLike | Iterable[PathLike],
    out: PathLike,
    *,
    budget: int | None = None,
    shards: int | None = None,
    force: bool = False,
    **options: Any,
) -> Frames:
    """Reads CAN captures into a `frames` data set, shard by shard on the workers of `client`, and opens it.

    The result is byte for byte the data set that `plimsoll.ingest.can` makes.

    - `client`: a `distributed.Client`.
    - `sources`, `out`: as in `plimsoll.ingest.can`. Workers and caller must see them under the same paths.
    - `budget`: bytes of a worker's memory that one shard may use. It is capped at three quarters of the worker's
      memory limit, minus what the worker holds, divided by the worker's threads.
    - `shards`: number of shards. By default the number of threads of all workers.
    - `force`: replace an existing output.
    - `options`: further arguments of `plimsoll.ingest.can`.

    Shards are stored next to `out` until they are merged. After an error they are kept, and the next call with the
    same arguments makes only the missing ones.

    Errors: those of `plimsoll.ingest.can`, `plimsoll.merge` and the cluster.
    """
    for name in ("shard", "threads", "progress"):
        if name in options:
            raise UsageError(f"{name} is set by plimsoll.dask.ingest; leave it out")
    if Path(out).exists() and not force:
        return _ingest.can(sources, out, **options)  # This opens the same set, or raises an error that says what to do.
    threads = sum(client.nthreads().values())
    if shards is None and threads == 0:
        raise UsageError("the cluster has no workers yet; call client.wait_for_workers(1) to wait for one")
    count = whole("shards", threads if shards is None else shards, 1)
    folder = Path(out).absolute().parent / f"{hidden_name(Path(out))}shards"
    paths = [folder / f"{number}-of-{count}" for number in range(1, count + 1)] if count > 1 else [Path(out).absolute()]
    listed = [str(Path(source).absolute()) for source in as_list(sources)]
    futures = [
        client.submit(_make_shard, listed, str(path), f"{number}/{count}", budget, force and count == 1, options, pure=False)
        for number, path in enumerate(paths, start=1)
    ]
    try:
        for kind, text in filter(None, client.gather(futures)):
            raise getattr(errors, kind)(text)
    finally:
        client.cancel(futures)
    if count > 1:
        merge(paths, out, force=force)
        shutil.rmtree(folder)
    return Frames(out)


def _make_shard(
    sources: list[str], out: str, shard: str, budget: int | None, force: bool, options: dict[str, Any]
) -> tuple[str, str] | None:
    """Makes one shard on a worker.

    Returns an error as its class and text, because Dask cannot send a MemoryError with several base classes.
    """
    limits = [limit for limit in (budget, _free_bytes_of_worker()) if limit is not None]
    try:
        _ingest.can(sources, out, shard=shard, threads=1, budget=min(limits, default=None), force=force, **options)
    except errors.Error as error:
        return type(error).__name__, str(error)
    return None


def _free_bytes_of_worker() -> int | None:
    """Returns the bytes that a task may use in addition to what the worker holds; None if the worker has no limit."""
    worker = import_module("distributed").get_worker()
    limit = worker.memory_manager.memory_limit
    if not limit:
        return None
    free = int(limit * _SHARE_OF_LIMIT) - int(worker.monitor.get_process_memory())
    return max(free, 1) // int(worker.state.nthreads)
