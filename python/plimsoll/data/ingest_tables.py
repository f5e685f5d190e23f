"""Reads tables with keys and times into a graph with types: `plimsoll.ingest.tables`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Protocol

from plimsoll import _core
from plimsoll.arguments import Budget, PathLike, Progress, budget_text
from plimsoll.data.typed_graph import TypedGraph
from plimsoll.errors import UsageError

Columns = str | Iterable[str]
# The meaning of each stype of torch_frame; "" if the column's type already determines it.
STYPES = {"numerical": "number", "categorical": "category", "multicategorical": "category", "timestamp": "", "embedding": "",
          "sequence_numerical": "skip", "text_embedded": "skip", "text_tokenized": "skip", "image_embedded": "skip"}


class ArrowTable(Protocol):
    """A table with Arrow's PyCapsule interface, such as a pyarrow table, a polars or pandas frame or a DuckDB relation."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


def tables(
    tables: Mapping[str, ArrowTable],
    out: PathLike,
    *,
    keys: Mapping[str, Columns] | None = None,
    foreign_keys: Mapping[str, Mapping[str | tuple[str, ...], str]] | None = None,
    times: Mapping[str, str] | None = None,
    time_units: Mapping[str, str] | None = None,
    meanings: Mapping[str, Mapping[str, object]] | None = None,
    as_edge: Iterable[str] = (),
    reverse: bool = False,
    force: bool = False,
    budget: Budget = None,
    progress: Progress = None,
) -> TypedGraph:
    """Reads tables with keys and times into a `graph` with node types and edge types, and opens it.

    The rules are those of `plimsoll ingest tables`, explained in docs/tables.md.

    - `tables`: the tables by name; each becomes a node type, with its rows in order. Each is read once.
    - `out`: path of the data set.
    - `keys`: the column of each table's key, or several columns.
    - `foreign_keys`: for each table, the column that holds keys of another table, and that table. Several columns are a
      tuple.
    - `times`: the column of the time at which each row is known. `time_units`: the unit of such columns if they are
      integers: "s", "ms", "us" or "ns".
    - `meanings`: for each table, meanings of columns that replace the inferred ones: "number", "category", "time:UNIT" or
      "skip"; or stypes of torch_frame, such as a data set's `col_to_stype`.
    - `as_edge`: tables without a key and with two foreign keys whose rows become the edges of a type, with columns and
      times: from the row of the first foreign key to that of the second.
    - `reverse`: also make the reverse edge types, "rev_...".
    - `force`, `budget`: as in `plimsoll.ingest`. Without `force`, an existing output is always refused.
    - `progress`: as in `plimsoll.ingest`. Counts rows; the total is unknown and reported as 0.

    Errors: `InputError` naming table and column or row; `UsageError`; `BudgetExceeded`; `Failure`.
    """
    known = set(tables)
    for argument in (keys, foreign_keys, times, time_units, meanings, as_edge):
        if unknown := set(argument or ()) - known:
            raise UsageError(f"there is no table {sorted(unknown)[0]!r}, expected one of {sorted(known)}")
    specs = []
    for name, table in tables.items():
        if not hasattr(table, "__arrow_c_stream__"):
            raise UsageError(f"table {name!r} is a {type(table).__name__}, expected an object with __arrow_c_stream__")
        spec = _core.TableSpec(name)
        spec.key = _columns((keys or {}).get(name, ()))
        spec.time = (times or {}).get(name, "")
        spec.time_unit = (time_units or {}).get(name, "")
        spec.as_edge = name in set(as_edge)
        targets = (foreign_keys or {}).get(name, {})
        if not isinstance(targets, Mapping):
            raise UsageError(f"foreign_keys[{name!r}]={targets!r}: expected a mapping from columns to tables")
        named = {*spec.key, spec.time}
        for columns, target in targets.items():
            spec.add_foreign_key(_columns(columns), target)
            named.update(_columns(columns))
        spec.meanings = _meanings((meanings or {}).get(name, {}), named)
        spec.set_stream(table.__arrow_c_stream__())
        specs.append(spec)
    _core.make_tables(specs, reverse, Path(out), force, budget_text(budget), progress)
    return TypedGraph(out)


def _columns(columns: Columns) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _meanings(given: Mapping[str, object], named: set[str]) -> dict[str, str]:
    """Returns meanings as text; given ones may be stypes of torch_frame. Meanings of key and time columns are left
    out.
    """
    meanings = {}
    for column, meaning in given.items():
        if isinstance(meaning, str):
            meanings[column] = meaning
            continue
        stype = getattr(meaning, "value", meaning)
        if stype not in STYPES:
            raise UsageError(f"meanings: {column!r} has {meaning!r}, expected a text or one of the stypes {sorted(STYPES)}")
        if column not in named and STYPES[stype]:
            meanings[column] = STYPES[stype]
    return meanings
