"""Tables that other programs write or hold: the graph has the values that pyarrow reads. Libraries that are not installed are skipped."""

import datetime
import decimal
from functools import partial

import numpy as np
import pytest

from typed_graphs import edges_of, ingest_tables, types_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")
ROWS = 3000


@pytest.fixture(scope="module")
def ingest(bin_dir):
    return partial(ingest_tables, bin_dir)


def columns_of(missing=True):
    """Python values by name; every seventh is missing."""
    random = np.random.default_rng(5)
    numbers = random.integers(0, 50, ROWS).tolist()
    moment = datetime.datetime(2021, 3, 4, 5, 6, 7, 891234)
    columns = {
        "small": [number - 20 for number in numbers], "unsigned": [number * 80_000_000 for number in numbers],
        "real": random.normal(size=ROWS).tolist(), "yes": [number % 2 == 0 for number in numbers],
        "text": [f"a text beyond twelve bytes, {number}" if number % 2 else f"ä{number}" for number in numbers],
        "price": [decimal.Decimal(number * 1001) / 100 for number in numbers],
        "at": [moment + datetime.timedelta(microseconds=number) for number in numbers],
        "day": [moment.date() - datetime.timedelta(days=20_000 + number) for number in numbers],
        "items": [[f"item {item}" for item in range(number % 4)] for number in numbers],
        "whole": [[item, item + 1] if number % 3 else [] for item, number in enumerate(numbers)]}
    columns["whole"] = [[item % 40 for item in items] for items in columns["whole"]]
    if missing:
        columns = {name: [None if row % 7 == place else value for row, value in enumerate(values)]
                   for place, (name, values) in enumerate(columns.items())}
    return columns


def arrow_table(missing=True):
    types = {"small": pa.int8(), "unsigned": pa.uint32(), "real": pa.float32(), "text": pa.string(), "price": pa.decimal128(12, 2),
             "at": pa.timestamp("us"), "day": pa.date32(), "items": pa.list_(pa.string()), "whole": pa.list_(pa.int64())}
    return pa.table({name: pa.array(values, types.get(name)) for name, values in columns_of(missing).items()})


def lists_of(columns, entry):
    ptr, codes = columns[entry["ptr"]], columns[entry["column"]]
    ends, text = columns[entry["vocabulary_ptr"]], columns[entry["vocabulary"]].tobytes()
    texts = [text[begin:end].decode() for begin, end in zip(ends, ends[1:])]
    return [[texts[code] for code in codes[begin:end]] for begin, end in zip(ptr, ptr[1:])]


def stored_values(columns, entry):
    """The values of a column of the graph as Python has them, None where missing."""
    stored = columns[entry["column"]]
    valid = columns[entry["valid"]].astype(bool) if "valid" in entry else np.ones(len(columns[entry.get("ptr", entry["column"])]) -
                                                                                 ("ptr" in entry), bool)
    if entry["meaning"] == "multi-category":
        values = lists_of(columns, entry)
    elif entry["meaning"] == "category":
        ends, text = columns[entry["vocabulary_ptr"]], columns[entry["vocabulary"]].tobytes()
        values = [text[ends[code]:ends[code + 1]].decode() if code >= 0 else None for code in stored]
    else:
        values = stored.tolist()
    return [value if known else None for value, known in zip(values, valid)]


def expected_values(column, entry):
    """The same of a column of pyarrow."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if entry["meaning"] == "time":
        column = column.cast(pa.int32()).cast(pa.int64()) if entry["unit"] == "D" else column.cast(pa.timestamp(entry["unit"], kind.tz)).cast(pa.int64())
    values = column.to_pylist()
    if entry["meaning"] == "multi-category":
        return [None if value is None else [str(item) for item in value] for value in values]
    return [float(value) if isinstance(value, decimal.Decimal) else value for value in values]


def require_same(made, table, left_out=()):
    columns, manifest = made
    node_type = types_of(manifest)["t"]
    assert {entry["name"] for entry in node_type["left_out"]} == set(left_out)
    entries = {entry["name"]: entry for entry in node_type["columns"]}
    assert set(entries) == set(table.column_names) - set(left_out)
    for name, entry in entries.items():
        assert stored_values(columns, entry) == expected_values(table[name], entry), name
    return entries


@pytest.mark.parametrize("options", [{}, {"compression": "lz4", "row_group_size": 700}, {"compression": "gzip", "statistics": False},
                                     {"compression": "uncompressed", "data_page_size": 2000}], ids=str)
def test_parquet_of_polars(ingest, tmp_path, options):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.from_arrow(arrow_table()).with_columns(
        polars.col("text").cast(polars.Categorical).alias("code"), polars.col("at").cast(polars.Datetime("ns", "Europe/Oslo")).alias("zone"),
        polars.col("at").cast(polars.Datetime("ms")).alias("milli"), polars.lit(None).alias("nothing"),
        polars.col("small").cast(polars.Int16).cast(polars.UInt64, strict=False).alias("large"))
    frame.write_parquet(tmp_path / "t.parquet", **options)
    entries = require_same(ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.parquet"), pq.read_table(tmp_path / "t.parquet"), ["nothing"])
    assert {entries["zone"]["unit"], entries["milli"]["unit"]} == {"ns", "ms"} and entries["code"]["meaning"] == "category"


@pytest.mark.parametrize("compression", ["zstd", "lz4", "uncompressed"])
@pytest.mark.parametrize("newest", [False, True])
def test_arrow_files_of_polars(ingest, tmp_path, compression, newest):
    """The newest form has texts as views."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    level = polars.CompatLevel.newest() if newest else polars.CompatLevel.oldest()
    polars.from_arrow(arrow_table()).write_ipc(tmp_path / "t.arrow", compression=compression, compat_level=level)
    require_same(ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.arrow"), feather.read_table(tmp_path / "t.arrow"))


def test_csv_of_polars(ingest, tmp_path):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table = arrow_table().select(["small", "unsigned", "yes", "text", "day"])
    polars.from_arrow(table).write_csv(tmp_path / "t.csv")
    require_same(ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv"), table)


@pytest.mark.parametrize("options", ["", "COMPRESSION zstd", "COMPRESSION lz4_raw, ROW_GROUP_SIZE 1000", "PARQUET_VERSION v2"])
def test_parquet_of_duckdb(ingest, tmp_path, options):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as database:
        database.register("source", arrow_table())
        database.execute("CREATE TABLE t AS SELECT *, small::HUGEINT AS huge, \"at\"::TIMESTAMP_NS AS nano, \"at\"::TIMESTAMP_MS AS milli, "
                         "\"at\"::TIMESTAMPTZ AS zone, yes::UTINYINT AS flag, encode(text) AS bytes FROM source")
        database.execute(f"COPY t TO '{tmp_path}/t.parquet' (FORMAT parquet{options and ', ' + options})")
    require_same(ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.parquet"), pq.read_table(tmp_path / "t.parquet"), ["bytes"])


def test_partitions_and_csv_of_duckdb(ingest, tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE t AS SELECT range AS id, range % 3 AS year, 'kind ' || (range % 2) AS kind FROM range(300)")
        database.execute(f"COPY t TO '{tmp_path}/t' (FORMAT parquet, PARTITION_BY (year, kind))")
        database.execute(f"COPY t TO '{tmp_path}/t.csv' (HEADER)")
    for files in ("t", "t.csv"):
        columns, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/{files}:key=id")
        entries = {entry["name"]: entry for entry in types_of(manifest)["t"]["columns"]}
        ids = columns.get("t.key.id", np.arange(300)).tolist()
        assert sorted(ids) == list(range(300))
        assert stored_values(columns, entries["year"]) == [number % 3 for number in ids]
        assert stored_values(columns, entries["kind"]) == [f"kind {number % 2}" for number in ids]


def test_a_folder_as_spark_writes_it(ingest, tmp_path):
    """Nested partitions, a marker and checksums beside the parts, INT96, decimals as integers, lists of three levels, columns of nothing."""
    table = arrow_table().append_column("none", pa.nulls(ROWS)).append_column("id", pa.array(range(ROWS)))
    expected = []
    for part in range(6):
        rows = table.slice(part * ROWS // 6, ROWS // 6)
        year, month = 2020 + part // 3, ["1", "12", "__HIVE_DEFAULT_PARTITION__"][part % 3]
        folder = tmp_path / "t" / f"year={year}" / f"month={month}"
        folder.mkdir(parents=True)
        name = f"part-{part:05}-5c2d7a3e-c000.snappy.parquet"
        pq.write_table(rows, folder / name, compression="snappy", use_deprecated_int96_timestamps=True, use_compliant_nested_type=False,
                       store_decimal_as_integer=part % 2 == 0, use_dictionary=part % 2 == 0)
        (folder / f".{name}.crc").write_bytes(b"crc")
        expected.append(rows.append_column("year", pa.array([year] * len(rows)))
                        .append_column("month", pa.array([None if month.startswith("_") else int(month)] * len(rows), pa.int64())))
    (tmp_path / "t" / "_SUCCESS").write_bytes(b"")
    made = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t:key=id")
    ids = made[0].get("t.key.id", np.arange(ROWS))
    expected = pa.concat_tables(expected).take(pa.array(ids)).drop_columns(["id"])
    entries = require_same(made, expected, ["none"])
    assert entries["at"]["unit"] == "ns" and entries["month"]["missing"] == ROWS // 3


def frames():
    """Functions from an Arrow table to an object with the same rows and a stream."""
    def of_polars(table):
        return pytest.importorskip("polars", reason="polars is not installed").from_arrow(table)

    def of_duckdb(table):
        return pytest.importorskip("duckdb", reason="duckdb is not installed").from_arrow(table)

    def of_pandas(table):
        pandas = pytest.importorskip("pandas", reason="pandas is not installed")
        return table.drop_columns(["items", "whole"]).to_pandas(types_mapper=pandas.ArrowDtype)

    def views(table):
        return table.set_column(table.column_names.index("text"), "text", table["text"].cast(pa.string_view()))

    def large(table):
        return table.set_column(table.column_names.index("text"), "text", table["text"].cast(pa.large_string()))

    def codes(table):
        return table.set_column(table.column_names.index("text"), "text", table["text"].dictionary_encode())

    def runs(table):
        return table.set_column(0, "small", pa.compute.run_end_encode(table["small"].combine_chunks()))

    def chunks(table):
        return pa.concat_tables([table.slice(3, 0), table.slice(0, 1), table.slice(1, 1000), table.slice(1001)])

    return [of_polars, of_duckdb, of_pandas, views, large, codes, runs, chunks]


@pytest.mark.parametrize("make", frames(), ids=lambda make: make.__name__)
def test_objects_with_a_stream(tmp_path, make):
    plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    table = arrow_table()
    frame = make(table)
    if make.__name__ == "of_pandas":
        table = table.drop_columns(["items", "whole"])
    graph = plimsoll.ingest.tables({"t": frame}, tmp_path / "graph")
    columns = {path.name[:-4]: np.load(path) for path in (tmp_path / "graph").glob("*.npy")}
    require_same((columns, graph.manifest), table)
    plain = plimsoll.ingest.tables({"t": table}, tmp_path / "plain")
    assert plain.manifest["node_types"] == graph.manifest["node_types"] and plain.manifest["columns"] == graph.manifest["columns"]


def test_frames_of_pandas_with_its_texts_and_times(tmp_path):
    """Without ArrowDtype: texts of pandas 3, reals in place of integers with gaps, NaT."""
    plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    table = arrow_table().select(["small", "text", "at"])
    frame = table.to_pandas()
    graph = plimsoll.ingest.tables({"t": pandas.DataFrame(frame)}, tmp_path / "graph")
    columns = {path.name[:-4]: np.load(path) for path in (tmp_path / "graph").glob("*.npy")}
    require_same((columns, graph.manifest), table)


def test_keys_of_other_libraries_meet(ingest, tmp_path):
    """A key that polars wrote as views or codes is the key that DuckDB wrote as texts."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    names = [f"user number {number}" for number in range(40)]
    polars.DataFrame({"name": names}).write_ipc(tmp_path / "users.arrow")
    with duckdb.connect() as database:
        database.execute("CREATE TABLE orders AS SELECT 'user number ' || (range * 7 % 50) AS name FROM range(200)")
        database.execute(f"COPY orders TO '{tmp_path}/orders.parquet' (FORMAT parquet)")
    columns, manifest = ingest(tmp_path / "graph", "--table", f"users={tmp_path}/users.arrow:key=name",
                               "--table", f"orders={tmp_path}/orders.parquet:name->users")
    entry, sources, targets = edges_of(columns, manifest, "f2p_name")
    expected = [number * 7 % 50 for number in range(200)]
    assert entry["dangling"] == sum(number >= 40 for number in expected)
    assert [expected[source] for source in sources] == targets.tolist()
