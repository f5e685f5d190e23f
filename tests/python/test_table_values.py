"""Values of tables that are stored in unusual ways, against pyarrow."""

import decimal
from functools import partial

import numpy as np
import pytest

from typed_graphs import ingest_tables, types_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def ingest(bin_dir):
    return partial(ingest_tables, bin_dir)


def write_arrow(path, table):
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table)
    return path


def decimals(random, digits, scale):
    """200 decimals of up to `digits` digits of either sign, the ends of the range and a missing one."""
    with decimal.localcontext(decimal.Context(prec=100)):
        wholes = [int("".join(map(str, random.integers(0, 10, random.integers(1, digits + 1))))) for _ in range(200)]
        wholes = [0, 10**digits - 1, 1 - 10**digits, *(whole * (-1) ** n for n, whole in enumerate(wholes))]
        return [None, *(decimal.Decimal(whole).scaleb(-scale) for whole in wholes)]


@pytest.mark.parametrize("kind, digits, scale", [("decimal32", 9, 2), ("decimal64", 18, 7), ("decimal128", 38, 10),
                                                 ("decimal128", 20, -3), ("decimal256", 76, 30), ("decimal256", 50, 0)])
def test_decimals_of_any_width_are_the_nearest_doubles(ingest, tmp_path, kind, digits, scale):
    values = decimals(np.random.default_rng(digits), digits, scale)
    table = pa.table({"price": pa.array(values, getattr(pa, kind)(digits, scale))})
    assert table["price"].to_pylist() == values
    files = [write_arrow(tmp_path / "t.arrow", table)]
    if scale >= 0:  # Parquet has no negative scales.
        files.append(tmp_path / "t.parquet")
        pq.write_table(table, files[-1])
    for path in files:
        columns, _ = ingest(tmp_path / "graph", "--table", f"t={path}")
        stored = columns["t.values.price"].tolist()
        assert np.isnan(stored[0]) and stored[1:] == [float(value) for value in values[1:]]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_nat_is_a_missing_time(ingest, tmp_path, unit):
    nat = np.iinfo(np.int64).min
    times = pa.array([nat, 5, None, 7]).cast(pa.timestamp(unit))
    path = write_arrow(tmp_path / "t.arrow", pa.table({"at": times, "seen": times, "n": [1, 2, 3, 4]}))
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={path}:time=at")
    entry = types_of(manifest)["t"]
    assert entry["rows_without_time"] == 2 and columns["t.values.n"].tolist() == [2, 4]
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={path}")
    entry = next(column for column in types_of(manifest)["t"]["columns"] if column["name"] == "seen")
    assert (entry["missing"], entry["min"]) == (2, 5)
    assert columns["t.values.seen"].tolist() == [nat, 5, nat, 7]
    assert columns["t.valid.seen"].tolist() == [0, 1, 0, 1]
