"""Tables to lists of edges with pyarrow, pandas and NumPy, all in memory: what a user would write.

    pandas_tables.py FOLDER SPEC OUT

FOLDER has TABLE.parquet, SPEC is JSON {TABLE: {key, time, foreign_keys: [[columns, TABLE]]}}, and the sources of each foreign
key go to OUT/TABLE.COLUMN.npy, in the order of target, time and source. Columns of numbers, and texts with few values as
codes, go there too. Prints JSON.
"""

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq


def index_of(frame, columns):
    return pd.Index(frame[columns[0]]) if len(columns) == 1 else pd.MultiIndex.from_frame(frame[columns])


def write_columns(frame, name, out):
    for column in frame.columns:
        values = frame[column]
        if values.dtype.kind in "ifM":
            np.save(out / f"{name}.{column}.values.npy", values.to_numpy())
        elif pd.api.types.is_string_dtype(values) and values.iloc[:1000].nunique() < 500:
            np.save(out / f"{name}.{column}.values.npy", pd.factorize(values, sort=True)[0])


def main():
    folder, spec, out = Path(sys.argv[1]), json.loads(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    begin, cpu, rows, indices = time.perf_counter(), time.process_time(), 0, {}
    for name, about in spec.items():
        frame = pq.read_table(folder / f"{name}.parquet").to_pandas()
        rows += len(frame)
        if about["key"]:
            indices[name] = index_of(frame, about["key"])
        times = pd.to_datetime(frame[about["time"]]).to_numpy() if about["time"] else np.zeros(len(frame), np.int64)
        for columns, target in about["foreign_keys"]:
            targets = indices[target].get_indexer(index_of(frame, columns))
            order = np.lexsort((times, targets))
            np.save(out / f"{name}.{'+'.join(columns)}.npy", order[np.count_nonzero(targets < 0) :].astype(np.uint32))
        write_columns(frame, name, out)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"wall": time.perf_counter() - begin, "cpu": time.process_time() - cpu, "rows": rows, "peak": peak}))


if __name__ == "__main__":
    main()
