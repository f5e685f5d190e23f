"""Captures read by the workers of a Dask cluster, on one machine or many (docs/cluster.md)."""

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

# Of a worker's limit: Dask pauses a worker at 80 % of it.
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
    """CAN captures to `frames`, shard by shard on the workers of `client`, a `distributed.Client`.

    Workers and caller see `sources` and the folder of `out` under the same names. `budget` is what a shard may take of
    a worker's memory, in bytes; it is never more than three quarters of the worker's own limit, less what the worker
    holds, shared by its threads. `shards` is by default the number of all threads of all workers; `options` are those
    of `plimsoll.ingest.can`. The set is, byte for byte, the one that `plimsoll.ingest.can` makes. Shards lie beside
    `out` meanwhile; after an error they stay, and the next call with the same arguments makes those alone that are
    missing. Errors: those of `plimsoll.ingest.can` and `plimsoll.merge`; those of the cluster.
    """
    for name in ("shard", "threads", "progress"):
        if name in options:
            raise UsageError(f"{name} is settled by plimsoll.dask.ingest")
    if Path(out).exists() and not force:
        return _ingest.can(sources, out, **options)  # the same, or an error that says what to do
    threads = sum(client.nthreads().values())
    if shards is None and threads == 0:
        raise UsageError("the cluster has no workers yet; client.wait_for_workers(1) waits for one")
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
    """Runs on a worker. Gives an error as its class and text: Dask cannot send a MemoryError of several bases."""
    limits = [limit for limit in (budget, _free_bytes_of_worker()) if limit is not None]
    try:
        _ingest.can(sources, out, shard=shard, threads=1, budget=min(limits, default=None), force=force, **options)
    except errors.Error as error:
        return type(error).__name__, str(error)
    return None


def _free_bytes_of_worker() -> int | None:
    """Bytes that a task may take beside what the worker holds; None: the worker has no limit."""
    worker = import_module("distributed").get_worker()
    limit = worker.memory_manager.memory_limit
    if not limit:
        return None
    free = int(limit * _SHARE_OF_LIMIT) - int(worker.monitor.get_process_memory())
    return max(free, 1) // int(worker.state.nthreads)
