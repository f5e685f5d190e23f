"""Converts CAN bus descriptions in other formats to DBC with cantools (https://cantools.readthedocs.io)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from plimsoll.arguments import require_other_file
from plimsoll.errors import Failure, InputError
from plimsoll.replacing import new_file

_FRAME_FORMATS = ("StandardCAN", "ExtendedCAN", *["reserved"] * 12, "StandardCAN_FD", "ExtendedCAN_FD")  # numbered as by Vector

ENDINGS = (".arxml", ".kcd", ".sym")


def to_dbc(
    source: str | os.PathLike[str], out: str | os.PathLike[str], *, bus: str | None = None, force: bool = False
) -> int:
    """Writes a bus description as a DBC file, which `check` and `detect --dbc` read. Returns the number of messages.

    - `source`: an ARXML, KCD or SYM file.
    - `out`: path of the DBC file.
    - `bus`: convert only the messages of this bus.
    - `force`: replace an existing output.

    Errors: `InputError` if `source` is damaged, has no message of `bus`, or uses one ID on two buses, which a DBC
    cannot express; `Failure` if `out` exists without `force`, is `source` or cannot be written, or if cantools is missing.
    """
    try:
        import cantools
    except ImportError as error:
        raise Failure(f"{source}: reading it needs cantools, which is missing: pip install cantools") from error
    out = Path(out)
    require_other_file(out, source)
    if out.exists() and not force:
        raise Failure(f"{out} already exists; give --force to replace it")
    try:
        database = cantools.database.load_file(source, strict=False)
        database = _of_bus(database, bus, str(source))
        messages = len(database.messages)
        for message in database.messages:
            for signal in message.signals:
                _close_range(signal)
                _whole_choices(signal)
        if any(message.is_fd for message in database.messages):
            _define_frame_format(database)
        text = database.as_dbc_string()
    except InputError:
        raise
    except Exception as error:  # The parsers raise errors of many types.
        raise InputError(f"{source}: {error or type(error).__name__}; expected ARXML, KCD or SYM with CAN messages") from error
    if messages == 0:
        raise InputError(f"{source}: describes no CAN messages")
    with new_file(out) as made:
        made.write_text(text, encoding="utf-8")
    return messages


def _of_bus(database: Any, bus: str | None, source: str) -> Any:
    import cantools

    names = sorted({message.bus_name for message in database.messages if message.bus_name})
    if bus is None:
        first: dict[tuple[int, bool], Any] = {}
        for message in database.messages:
            other = first.setdefault((message.frame_id, message.is_extended_frame), message)
            if other.bus_name != message.bus_name:
                raise InputError(
                    f"{source}: ID {message.frame_id:X} is {other.name} on bus {other.bus_name} and {message.name} on bus "
                    f"{message.bus_name}, but a DBC describes one bus; give --bus with one of {', '.join(names)}"
                )
        return database
    if bus not in names:
        raise InputError(f"{source}: has no messages of a bus '{bus}'; it has messages of {', '.join(names) or 'no named bus'}")
    messages = [message for message in database.messages if message.bus_name == bus]
    return cantools.database.can.Database(messages=messages, nodes=database.nodes, version=database.version, strict=False)


def _close_range(signal: Any) -> None:
    """Sets a missing bound to the limit of the signal's bits.

    A DBC states both bounds or none, and cantools writes 0 for a missing one.
    """
    if (signal.minimum is None) == (signal.maximum is None):
        return
    bits = signal.length
    min_raw, max_raw = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signal.is_signed else (0, (1 << bits) - 1)
    if signal.is_float:
        max_raw = sys.float_info.max if bits == 64 else 3.4028234663852886e38
        min_raw = -max_raw
    held = sorted(signal.raw_to_scaled(raw, decode_choices=False) for raw in (min_raw, max_raw))
    if signal.minimum is None:
        signal.minimum = held[0]
    else:
        signal.maximum = held[1]


def _whole_choices(signal: Any) -> None:
    """Makes the raw values of named values whole, as a DBC needs. An ARXML may have them as 1.0."""
    if signal.choices and any(isinstance(raw, float) for raw in signal.choices):
        signal.choices = {int(raw): name for raw, name in signal.choices.items() if raw == int(raw)}


def _define_frame_format(database: Any) -> None:
    """Defines the attribute without which cantools does not write which messages use CAN FD."""
    from cantools.database.can.formats.dbc import DbcAttributeDefinition, DbcSpecifics

    specifics = database.dbc or DbcSpecifics()
    specifics.attribute_definitions.setdefault(
        "VFrameFormat",
        DbcAttributeDefinition(
            name="VFrameFormat", default_value="StandardCAN", kind="BO_", type_name="ENUM", choices=list(_FRAME_FORMATS)
        ),
    )
    database.dbc = specifics
