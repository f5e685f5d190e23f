"""The base of data sets of all kinds: a memory-mapped folder of columns and its manifest."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.errors import InputError, MissingPackage

if TYPE_CHECKING:
    import torch


class DataSet:
    """A data set opened for reading.

    Columns are read-only NumPy arrays over the mapped files: no bytes are copied, and they use only the page cache.
    Arrays stay valid while they are referenced, also after `close()`; requesting a column from a closed data set raises
    a `UsageError`. Any number of threads may read. A data set can be pickled, as its path, and passed wherever a path
    is expected.

    Errors: `InputError` if the folder is not a data set of this kind, or is damaged.
    """

    _kind: ClassVar[str]

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._mapping = _core.Mapping(Path(path), self._kind)
        self._columns: dict[str, NDArray[Any]] = {}

    def close(self) -> None:
        """Releases the mapping, which ends when the last array over it is freed. May be called twice."""
        self._columns.clear()
        self._mapping.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._mapping.closed()

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """The contents of manifest.json (docs/formats/data-set.md), including the provenance."""
        manifest: dict[str, Any] = json.loads(self._mapping.manifest())
        return manifest

    def has_column(self, name: str) -> bool:
        """Returns whether the data set has a column of this name."""
        return bool(self._mapping.has_column(name))

    def _column(self, name: str) -> NDArray[Any]:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = self._mapping.column(name)
        return column

    def tensor(self, column: str) -> torch.Tensor:
        """Returns a column as a torch tensor of the same shape and dtype over the mapped file, without a copy.

        You may write to it: a modified page is copied into the process's memory, and the file stays unchanged. Two
        tensors over one column do not see each other's writes. A tensor stays valid after `close()`.

        Errors: `UsageError` for a missing column or a closed data set; `InputError` if the file was replaced since
        the data set was opened; `MissingPackage` without torch.
        """
        try:
            import torch
        except ImportError as error:
            raise MissingPackage(f"tensor: {error}; install it: pip install torch") from error
        mapped = self._column(column)  # Raises if the data set is closed or has no such column.
        name, device, inode, offset = self._mapping.file(column)
        with open(name, "rb") as file:
            status = os.fstat(file.fileno())
            if (status.st_dev, status.st_ino) != (device, inode):
                raise InputError(f"{name}: the file was replaced after the data set was opened; open it again")
            is_bf16 = mapped.dtype == np.uint16  # NumPy has no bf16; the column is mapped as its bits.
            rows = torch.from_numpy(np.memmap(file, np.int16 if is_bf16 else mapped.dtype, "c", offset, mapped.shape))
            return rows.view(torch.bfloat16) if is_bf16 else rows

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __fspath__(self) -> str:
        return str(self.path)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (str(self.path),)

    def _text(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}, {'closed' if self.closed else self._text()})"
