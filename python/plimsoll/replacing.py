"""Writes outputs that appear whole or not at all, even after a power failure, as in C++ (src/io/new_folder.h)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from plimsoll.errors import Error, Failure


def hidden_name(path: Path) -> str:
    """Returns the prefix of hidden names next to `path`: .NAME., shortened for a long NAME so that a suffix fits."""
    return f".{os.fsencode(path.name)[:200].decode(errors='ignore')}."


@contextmanager
def failures_of(path: Path) -> Iterator[None]:
    """Turns system errors inside the block into `Failure`."""
    try:
        yield
    except Error:
        raise
    except (OSError, RuntimeError) as error:
        reason = error if isinstance(error, OSError) else error.__context__  # torch.save hides the error of its stream.
        if not isinstance(reason, OSError):
            raise
        raise Failure(f"{path} cannot be written: {reason}; free some space, or name another output") from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path next to `path`, which replaces `path` when the block ends.

    If the block fails, `path` stays as it was. Errors: `Failure`, also for errors of the system in the block.
    """
    made = path.with_name(f"{hidden_name(path)}{os.getpid()}")
    try:
        with failures_of(path):
            yield made
            replace(made, path)
    finally:
        with suppress(OSError):
            made.unlink()


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yields an empty folder, which replaces `path` when the block ends.

    If the block fails, `path` stays as it was. Errors: `Failure`.
    """
    path = path.absolute()
    with failures_of(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        around = Path(tempfile.mkdtemp(prefix=hidden_name(path), dir=path.parent))
    new, old = around / "new", around / "old"
    try:
        with failures_of(path):
            new.mkdir()
        yield new
        with failures_of(path):
            for made in (*new.rglob("*"), new):
                sync(made)
            _take_place(new, path, old)
    except BaseException:
        if not os.path.lexists(old):
            shutil.rmtree(around, ignore_errors=True)
        raise
    shutil.rmtree(around, ignore_errors=True)


def replace(made: Path, path: Path) -> None:
    """Moves the file `made` to `path`, replacing it, and syncs both the file and its folder. Errors: `OSError`."""
    sync(made)
    os.replace(made, path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Flushes a file, or the list of names in a folder, to disk. Errors: `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _take_place(new: Path, path: Path, old: Path) -> None:
    try:
        if os.path.lexists(path):
            os.rename(path, old)
        os.rename(new, path)
        sync(path.parent)
    except BaseException:
        if not new.exists():
            os.rename(path, new)
        if os.path.lexists(old):
            os.rename(old, path)
        raise
