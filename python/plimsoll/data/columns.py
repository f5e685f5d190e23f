"""Converts attributes of PyTorch Geometric's `Data` to columns. All functions raise `UsageError` that names `where`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.errors import UsageError

_MAX_CLASSES = 1 << 20
_MAX_INT64 = 2**63 - 1


def positions(value: Any, where: str, nodes: int | None = None) -> NDArray[np.float32]:
    """Returns coordinates as f32 [n, 3]. Two coordinates per node get z = 0."""
    array = array_of(value, where)
    rows = array.shape[0] if nodes is None and array.ndim else nodes
    if array.ndim != 2 or len(array) != rows or array.shape[1] not in (2, 3) or array.dtype.kind not in "fiu":
        raise UsageError(f"{where}: is {array.dtype} of shape {array.shape}, expected coordinates of shape ({rows}, 3)")
    found = np.zeros((len(array), 3), np.float32)
    found[:, : array.shape[1]] = _float32(array, where)
    if not (finite := np.isfinite(found).all(axis=1)).all():
        raise UsageError(f"{where}: the position of node {int(finite.argmin())} is not finite; expected finite coordinates")
    return found


def targets_of(value: Any, rows: int, where: str) -> NDArray[np.float32]:
    """Returns regression targets as f32 [rows, T]. T is 0 if there are none, or classes instead."""
    array = None if value is None else array_of(value, where)
    if array is None or (array.dtype.kind != "f" and (array.ndim < 2 or array.shape[1] == 1)):
        return np.empty((rows, 0), np.float32)
    if array.ndim < 2:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or len(array) != rows or not array.shape[1]:
        raise UsageError(
            f"{where}: is {array.dtype} of shape {array.shape}, expected targets of shape ({rows},) or ({rows}, ...); "
            "put targets of a graph into data.y and targets of nodes into data.node_y"
        )
    targets = _float32(array, where)
    if np.isinf(targets).any():
        raise UsageError(f"{where}: holds infinite numbers; expected finite targets, or NaN for unknown ones")
    return targets


def node_classes(value: Any, nodes: int, where: str) -> NDArray[np.int64]:
    """Returns the classes of nodes as i64 [nodes], -1 for none."""
    array = array_of(value, where)
    classes = whole_numbers(array.astype(np.int64) if array.dtype == bool else array, (nodes,), where)
    if classes.size and not -1 <= classes.min() <= classes.max() < _MAX_CLASSES:
        raise UsageError(
            f"{where}: holds {classes.min()} to {classes.max()}, expected classes, 0 to {_MAX_CLASSES - 1}, or -1 for none"
        )
    return classes


def array_of(value: Any, where: str) -> NDArray[Any]:
    """Returns a value as a NumPy array; a tensor may be on any device."""
    try:
        return np.asarray(value.detach().cpu().numpy() if hasattr(value, "detach") else value)
    except (TypeError, RuntimeError, ValueError) as error:  # NumPy raises ValueError for rows of different lengths.
        raise UsageError(f"{where}: cannot become a NumPy array: {error}") from error


def whole_numbers(value: Any, shape: tuple[int, ...], where: str) -> NDArray[np.int64]:
    """Returns whole numbers of this shape as i64."""
    array = array_of(value, where)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise UsageError(f"{where}: is {array.dtype} of shape {array.shape}, expected whole numbers of shape {shape}")
    if array.dtype.kind == "u" and array.size and array.max() > _MAX_INT64:
        raise UsageError(f"{where}: holds {array.max()}, expected at most {_MAX_INT64}")
    return np.ascontiguousarray(array, dtype=np.int64)


def chosen_rows(index: Any, rows: int, where: str) -> NDArray[np.int64]:
    """Returns the rows that whole numbers of shape [n], or a mask over all rows, choose, as i64 [n]."""
    array = np.atleast_1d(array_of(index, where))
    if array.dtype == bool and array.shape == (rows,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise UsageError(
            f"{where}: is {array.dtype} of shape {array.shape}, expected whole numbers of shape [n] or a mask of shape ({rows},)"
        )
    chosen = whole_numbers(array if array.size else array.astype(np.int64), array.shape, where)
    if chosen.size and not 0 <= chosen.min() <= chosen.max() < rows:
        raise UsageError(f"{where}: found {chosen.min()} to {chosen.max()}, expected 0 to {rows - 1}")
    return chosen


def features_of(value: Any, rows: int, where: str) -> NDArray[np.float32]:
    """Returns features as f32 [rows, F]. F is 0 if there are none."""
    if value is None:
        return np.empty((rows, 0), np.float32)
    array = array_of(value, where)
    if array.ndim == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or len(array) != rows or array.dtype.kind not in "fiub":
        raise UsageError(f"{where}: is {array.dtype} of shape {array.shape}, expected numbers of shape ({rows}, ...)")
    features = _float32(array, where)
    if not np.isfinite(features).all():
        raise UsageError(f"{where}: holds values that are not finite")
    return features


def _float32(array: NDArray[Any], where: str) -> NDArray[np.float32]:
    """Returns the same numbers as f32; numbers that f32 cannot represent exactly are refused."""
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(array, dtype=np.float32)
    if array.dtype != np.float32 and not np.array_equal(numbers, array, equal_nan=array.dtype.kind == "f"):
        raise UsageError(f"{where}: holds numbers that float32 cannot represent; convert it: "
                         f"data.{where.rpartition(' ')[2]}.float()")
    return numbers


def class_of(value: Any, where: str) -> int:
    """Returns the class of a graph; -1 if there is none."""
    if value is None:
        return -1
    array = array_of(value, f"{where}: y")
    if array.size != 1 or array.dtype.kind not in "iub":
        raise UsageError(
            f"{where}: y is {array.dtype} of shape {array.shape}, expected one whole number, the class of the graph; "
            "put classes of nodes into data.node_y"
        )
    if not -1 <= int(array.item()) < _MAX_CLASSES:
        raise UsageError(f"{where}: y is {array.item()}, expected a class, 0 to {_MAX_CLASSES - 1}, or -1 for none")
    return int(array.item())
