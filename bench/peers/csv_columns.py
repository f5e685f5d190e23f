"""Plain four-column captures to the columns of a `frames` set with polars and with pyarrow, two threads each.

    python bench/peers/csv_columns.py polars|pyarrow CSV [OUT]     OUT: the folder for time_ns.npy, can_id.npy, ...

Without OUT the CSV is only read: times as float64, the other columns as they are written. Prints wall and processor
seconds from the CSV to the closed files; the interpreter's start and the imports are not in them.

Both libraries parse times to float64. Around a time of today neighbouring float64 are 2e-7 s apart, so rounding to
whole microseconds gives the six decimals of these captures exactly.
"""

import importlib
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

THREADS = 2
NAMES = ["timestamp", "arbitration_id", "data_field", "attack"]
EXTENDED = np.uint32(1 << 31)
BYTES = 8


def polars_columns(path, convert):
    """One query of polars' expressions, which run on all its threads while it reads."""
    import polars as pl

    frame = pl.scan_csv(path, schema=dict(zip(NAMES, (pl.Float64, pl.String, pl.String, pl.UInt8))))
    if not convert:
        frame.collect(engine="streaming")
        return {}
    digits, payload = pl.col("arbitration_id"), pl.col("data_field")
    number = digits.str.to_integer(base=16, dtype=pl.UInt32)
    table = frame.select(
        time_ns=(pl.col("timestamp") * 1e6).round().cast(pl.Int64) * 1000,
        can_id=pl.when((number > 0x7FF) | (digits.str.len_bytes() == 8)).then(number | EXTENDED).otherwise(number),
        length=(payload.str.len_bytes() // 2).cast(pl.UInt8),
        # Eight bytes a frame, read as one number: its bytes in memory are the payload.
        data=payload.str.pad_end(2 * BYTES, "0").str.decode("hex").bin.reinterpret(dtype=pl.UInt64),
        label=pl.col("attack"),
    ).collect(engine="streaming")
    columns = {name: table[name].to_numpy() for name in table.columns}
    return columns | {"data": columns["data"].view(np.uint8).reshape(-1, BYTES)}


def pyarrow_columns(path, convert):
    """Arrow reads and pads the digits, NumPy looks up two of them at once; Arrow's chunks go over two threads."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    pa.set_cpu_count(THREADS)
    types = dict(zip(NAMES, (pa.float64(), pa.string(), pa.string(), pa.uint8())))
    table = csv.read_csv(path, csv.ReadOptions(block_size=4 << 20),
                         convert_options=csv.ConvertOptions(column_types=types, strings_can_be_null=False))
    if not convert:
        return {}

    digit = {c: int(chr(c), 16) for c in b"0123456789abcdefABCDEF"}
    byte_of = np.zeros(1 << 16, np.uint8)  # of two digits, as they stand in memory
    for high in digit:
        for low in digit:
            byte_of[high | low << 8] = digit[high] << 4 | digit[low]

    def bytes_of(texts, width):
        """u8[n, width / 2] of texts that all have `width` digits."""
        digits = np.frombuffer(texts.buffers()[2], np.uint8)[texts.offset * width:(texts.offset + len(texts)) * width]
        return byte_of.take(digits.view(np.uint16)).reshape(-1, width // 2)

    def columns_of(batch):
        times, ids, payloads, labels = (batch.column(name) for name in NAMES)
        number = bytes_of(pc.ascii_lpad(ids, 8, "0"), 8).view(">u4").ravel().astype(np.uint32)
        extended = (number > 0x7FF) | (pc.binary_length(ids).to_numpy() == 8)
        return {
            "time_ns": np.rint(times.to_numpy() * 1e6).astype(np.int64) * 1000,
            "can_id": number | extended.astype(np.uint32) * EXTENDED,
            "length": (pc.binary_length(payloads).to_numpy() // 2).astype(np.uint8),
            "data": bytes_of(pc.ascii_rpad(payloads, 2 * BYTES, "0"), 2 * BYTES),
            "label": labels.to_numpy(),
        }

    with ThreadPoolExecutor(THREADS) as pool:
        parts = list(pool.map(columns_of, table.to_batches()))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def main(library, path, out=None):
    os.environ["POLARS_MAX_THREADS"] = str(THREADS)
    make, modules = {"polars": (polars_columns, ["polars"]),
                     "pyarrow": (pyarrow_columns, ["pyarrow.compute", "pyarrow.csv"])}[library]
    for module in modules:
        importlib.import_module(module)
    wall, cpu = time.perf_counter(), time.process_time()
    for name, column in make(path, convert=out is not None).items():
        np.save(os.path.join(out, name + ".npy"), column)
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: csv_columns.py polars|pyarrow CSV [OUT]")
    main(*sys.argv[1:])
