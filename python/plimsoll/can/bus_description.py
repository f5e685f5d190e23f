"""Descriptions of a CAN bus in other formats than DBC, by way of cantools (https://cantools.readthedocs.io)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from plimsoll.errors import Failure, InputError
from plimsoll.replacing import new_file

_FRAME_FORMATS = ("StandardCAN", "ExtendedCAN", *["reserved"] * 12, "StandardCAN_FD", "ExtendedCAN_FD")  # as Vector numbers them

ENDINGS = (".arxml", ".kcd", ".sym")


def to_dbc(
    source: str | os.PathLike[str], out: str | os.PathLike[str], *, bus: str | None = None, force: bool = False
) -> int:
    """Writes what `source` (ARXML, KCD or SYM) describes as a DBC, which `check`, `detect --dbc` and others read; gives the number of messages.

    `bus` takes the messages of one bus. Errors: InputError (`source` is damaged, describes no message of `bus`, or has one ID on two
    buses, which a DBC cannot tell), Failure (`out` is there and not `force`, or cannot be written; cantools is missing).
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
        database = _of_bus(database, bus, str(source))
        messages = len(database.messages)
        for message in database.messages:
            for signal in message.signals:
                _close_range(signal)
                _whole_choices(signal)
        if any(message.is_fd for message in database.messages):
            _tell_fd(database)
        text = database.as_dbc_string()
    except InputError:
        raise
    except Exception as error:  # parsers of XML and of others raise what they like
        raise InputError(f"{source}: {error or type(error).__name__}; expected ARXML, KCD or SYM with messages of CAN") from error
    if messages == 0:
        raise InputError(f"{source}: describes no message of CAN")
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
                    f"{message.bus_name}, and a DBC is of one bus; give --bus, one of {', '.join(names)}"
                )
        return database
    if bus not in names:
        raise InputError(f"{source}: has no messages of a bus '{bus}'; it has those of {', '.join(names) or 'no bus with a name'}")
    messages = [message for message in database.messages if message.bus_name == bus]
    return cantools.database.can.Database(messages=messages, nodes=database.nodes, version=database.version, strict=False)


def _close_range(signal: Any) -> None:
    """A DBC states both bounds or none: cantools writes 0 for one that is missing, where what the bits hold is meant."""
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
    """Raw values with names are whole in a DBC; an ARXML may have them as 1.0."""
    if signal.choices and any(isinstance(raw, float) for raw in signal.choices):
        signal.choices = {int(raw): name for raw, name in signal.choices.items() if raw == int(raw)}


def _tell_fd(database: Any) -> None:
    """cantools writes which messages are of CAN FD where the attribute for it is defined."""
    from cantools.database.can.formats.dbc import DbcAttributeDefinition, DbcSpecifics

    specifics = database.dbc or DbcSpecifics()
    specifics.attribute_definitions.setdefault(
        "VFrameFormat",
        DbcAttributeDefinition(
            name="VFrameFormat", default_value="StandardCAN", kind="BO_", type_name="ENUM", choices=list(_FRAME_FORMATS)
        ),
    )
    database.dbc = specifics
