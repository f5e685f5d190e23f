"""Descriptions of a CAN bus in other formats than DBC, by way of cantools (https://cantools.readthedocs.io)."""

from __future__ import annotations

import os
from pathlib import Path

from plimsoll.errors import Failure, InputError

ENDINGS = (".arxml", ".kcd", ".sym")


def to_dbc(source: str | os.PathLike[str], out: str | os.PathLike[str], *, force: bool = False) -> int:
    """Writes what `source` (ARXML, KCD or SYM) describes as a DBC, which `check`, `detect --dbc` and others read; gives the number of messages.

    Errors: InputError (`source` is damaged or describes no bus), Failure (`out` is there and not `force`; cantools is missing).
    """
    try:
        import cantools
    except ImportError as error:
        raise Failure(f"{source}: is read with cantools, which is missing: pip install cantools") from error
    out = Path(out)
    if out.exists() and not force:
        raise Failure(f"{out} exists already; give --force to replace it")
    try:
        database = cantools.database.load_file(source, strict=False)
        messages = len(database.messages)
        text = database.as_dbc_string()
    except Exception as error:  # parsers of XML and of others raise what they like
        raise InputError(f"{source}: {error or type(error).__name__}; expected ARXML, KCD or SYM with messages of CAN") from error
    if messages == 0:
        raise InputError(f"{source}: describes no message of CAN")
    partial = out.with_name(out.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(out)
    return messages
