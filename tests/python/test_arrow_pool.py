"""All buffers of Arrow come from the pool of the ledger. Arrow's own pool only has the descriptions that Arrow exports through its
C interface, which are below 1 KiB for each column and do not depend on the rows."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from object_server import ObjectServer
from test_table_objects import ENVIRONMENT

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
csv = pytest.importorskip("pyarrow.csv")
ROWS = 20_000


def table_of(kinds=None):
    random = np.random.default_rng(1)
    numbers = random.integers(0, 1000, ROWS)
    columns = {
        "integer": numbers, "real": random.normal(size=ROWS), "boolean": numbers < 500,
        "text": pa.array([f"text {number}" for number in numbers]), "time": pa.array(numbers, pa.timestamp("ns")),
        "date": pa.array(numbers.astype(np.int32), pa.date32()), "decimal": pa.array(numbers).cast(pa.decimal128(30, 2)),
        "wide": pa.array(numbers).cast(pa.decimal256(50, 2)), "large": pa.array([f"large {number}" for number in numbers], pa.large_string()),
        "list": pa.array([[number, None] if number % 3 else None for number in numbers.tolist()], pa.list_(pa.int64())),
        "texts": pa.array([[str(number)] * (number % 3) for number in numbers.tolist()], pa.list_(pa.string())),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(random.normal(size=3 * ROWS)), 3),
        "struct": pa.array([{"a": number, "b": "x"} for number in numbers.tolist()]),
        "code": pa.array([f"code {number % 7}" for number in numbers.tolist()]).dictionary_encode(),
        "bytes": pa.array([b"12"] * ROWS, pa.binary(2)), "half": pa.array(numbers.astype(np.float16)), "nothing": pa.nulls(ROWS)}
    return pa.table({name: column for name, column in columns.items() if kinds is None or name in kinds})


PLAIN = ("integer", "real", "boolean", "text", "time", "date")


@pytest.fixture
def read(bin_dir):
    """read(*paths): reads the files in another process, and requires that no buffer is past the ledger."""
    plugin = bin_dir.parent / "lib" / "libplimsoll_arrow.so"
    if not plugin.exists():
        pytest.skip(f"no Arrow plugin at {plugin}")

    def call(*paths, store=""):
        command = [sys.executable, Path(__file__).with_name("arrow_plugin_reader.py"), plugin, store, *paths]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["rows"] == ROWS and found["ledger"] > 0 and found["left"] == 0
        assert found["past_the_ledger"] <= 1024 * found["types"]

    return call


@pytest.mark.parametrize("options", [
    {"use_dictionary": True, "compression": "snappy"}, {"use_dictionary": False, "compression": "gzip"},
    {"use_dictionary": True, "compression": "zstd", "data_page_version": "2.0"}, {"use_dictionary": False, "compression": "lz4"},
    {"use_dictionary": True, "compression": "brotli"}, {"compression": "none", "row_group_size": 3000},
    {"use_dictionary": False, "compression": "none", "use_byte_stream_split": ["real"]},
    {"use_deprecated_int96_timestamps": True}, {"write_page_index": True, "write_page_checksum": True},
], ids=str)
def test_parquet(read, tmp_path, options):
    pq.write_table(table_of(), tmp_path / "t.parquet", **options)
    read(tmp_path / "t.parquet")


@pytest.mark.parametrize("form", ["new_file", "new_stream"])
@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
def test_ipc(read, tmp_path, form, compression):
    table = table_of()
    table = table.append_column("view", table["text"].cast(pa.string_view()))
    table = table.append_column("runs", pa.chunked_array([pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(["x"]))]))
    with getattr(pa.ipc, form)(tmp_path / "t.arrow", table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as file:
        file.write_table(table, max_chunksize=5000)
    read(tmp_path / "t.arrow")


@pytest.mark.parametrize("packed", [False, True])
def test_csv(read, tmp_path, packed):
    csv.write_csv(table_of(PLAIN), tmp_path / "t.csv")
    path = tmp_path / "t.csv"
    if packed:
        path = tmp_path / "t.csv.gz"
        path.write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    read(path)


def test_objects(read, tmp_path):
    server = ObjectServer()
    try:
        pq.write_table(table_of(), tmp_path / "t.parquet")
        csv.write_csv(table_of(PLAIN), tmp_path / "t.csv")
        for name in ("t.parquet", "t.csv"):
            server.buckets.add("bucket")
            server.objects[f"bucket/{name}"] = (tmp_path / name).read_bytes()
            read(f"bucket/{name}", store=f"s3://bucket?{server.query}")
    finally:
        server.close()
