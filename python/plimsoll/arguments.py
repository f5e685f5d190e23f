"""Types and checks for arguments that several public functions share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from plimsoll.errors import Failure, UsageError

PathLike: TypeAlias = str | os.PathLike[str]
Budget: TypeAlias = int | str | None
Progress: TypeAlias = Callable[[int, int], object] | None
T = TypeVar("T")


def budget_text(budget: Budget) -> str:
    """Returns a budget as text in the form of `--budget`: a number of bytes or a size. None becomes "", the default."""
    return "" if budget is None else str(budget)


def thread_count(threads: int | None) -> int:
    """Returns `threads`, 1 to 1024, or the number of processors this process may use for None. Errors: `UsageError`."""
    if threads is None:
        return len(os.sched_getaffinity(0))
    return whole("threads", threads, 1, 1024)


def one_of(name: str, value: str, words: tuple[str, ...]) -> str:
    """Returns `value` if it is one of `words`. Errors: `UsageError`."""
    if value not in words:
        raise UsageError(f"{name}={value!r}: expected one of {', '.join(words)}")
    return value


def instance_of(name: str, value: object, kind: type[T]) -> T:
    """Returns `value` if it is a `kind` of `plimsoll.ingest`. Errors: `UsageError`."""
    if not isinstance(value, kind):
        raise UsageError(f"{name}={value!r}: expected plimsoll.ingest.{kind.__name__}")
    return value


def column(name: str, value: object) -> str:
    """Returns a column, as a name or a number counted from 0, in the builder's form. Errors: `UsageError`."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__") or int(value) < 0:
        raise UsageError(f"{name}={value!r}: expected the name of a column, or its number counted from 0")
    return str(int(value))


def texts(name: str, values: Iterable[str]) -> list[str]:
    """Returns `values` as a list. Errors: `UsageError` for a single string."""
    if isinstance(values, str):
        raise UsageError(f"{name}={values!r}: expected a list of texts")
    return list(values)


def whole(name: str, value: Any, minimum: int, maximum: int = 2**63 - 1) -> int:
    """Returns `value` as an int from `minimum` to `maximum`. Errors: `UsageError`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not minimum <= int(value) <= maximum:
        bound = f"of {minimum} or more" if maximum >= 2**62 else f"from {minimum} to {maximum}"
        raise UsageError(f"{name}={value!r}: expected a whole number {bound}")
    return int(value)


# Arguments of torch's and PyTorch Geometric's loaders that change how batches are made, but not their contents.
_HOW = {
    "filter_per_worker", "in_order", "is_sorted", "multiprocessing_context", "num_workers", "persistent_workers",
    "pin_memory_device", "temporal_strategy", "timeout", "worker_init_fn",
}  # fmt: skip
_REMEDIES = {
    "generator": "the order follows from seed=",
    "sampler": "choose the graphs and their order: graphs[list(sampler)]",
    "batch_sampler": "batches follow from batch_size, max_nodes, max_edges and max_bytes",
    "collate_fn": "batches are those of PyTorch Geometric; use transform= to change them, if the loader has it",
    "time_attr": "this data has no times; give a graph with types (plimsoll.ingest.tables), a HeteroData or a Data with times",
    "input_time": "it needs time_attr, the attribute with the times of nodes or edges",
    "edge_label_time": "it needs time_attr, the attribute with the times of nodes or edges",
    "neighbor_sampler": "graph.sampler(...) is one for PyTorch Geometric's NodeLoader",
    "transform_sampler_output": "use transform= to change batches",
    "custom_cls": "batches are torch_geometric.data.Data; use transform= to change them",
    "input_id": "input_nodes selects them",
}


def accept_loader_options(options: dict[str, Any]) -> dict[str, Any]:
    """Returns those options of other loaders that change how batches are made, but not their contents.

    Errors: `UsageError` for an option that would change batches, `TypeError` for one that no loader has.
    """
    for name, value in options.items():
        if name in _REMEDIES and value is not None:
            raise UsageError(f"{name}: is not supported; {_REMEDIES[name]}")
        if name not in _HOW and name not in _REMEDIES:
            raise TypeError(f"a loader has no argument {name!r}")
    return {name: value for name, value in options.items() if name in _HOW}


def require_other_file(out: Path, source: PathLike) -> None:
    """Checks that an output is not the file that is read. Errors: `Failure`."""
    if out.exists() and Path(source).exists() and out.samefile(source):
        raise Failure(f"{out} is an input, and would be overwritten; name another file")
