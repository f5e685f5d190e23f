"""Random sets of linked tables in RelBench's folder format: keys with gaps, hubs, missing values and times, empty columns."""

import numpy as np
import yaml

DAY = 86_400_000_000  # Microseconds.
START = np.datetime64("2020-01-01", "us")
SPLITS = {"train": (10, 58), "val": (60, 60), "test": (79, 79)}  # Days of the seeds' times.
TYPES = {"binary_classification": lambda random, rows: random.integers(0, 2, rows),
         "multiclass_classification": lambda random, rows: random.integers(0, 3, rows),
         "regression": lambda random, rows: random.normal(size=rows)}


def days(values):
    return START + (values * DAY).astype("timedelta64[us]")


def column_of(random, rows):
    import pyarrow as pa

    missing = random.random(rows) < random.choice([0, 0.3])
    kinds = {
        "number": lambda: pa.array(random.normal(size=rows) * random.choice([1, 1e6]), mask=missing),
        "integer": lambda: pa.array(random.integers(-5, 5, rows), mask=missing),
        "text": lambda: pa.array([f"text {value}" for value in random.integers(0, random.choice([2, 40]), rows)], mask=missing),
        "boolean": lambda: pa.array(random.random(rows) < 0.5, mask=missing),
        "vector": lambda: pa.FixedSizeListArray.from_arrays(pa.array(random.normal(size=3 * rows), pa.float32()), 3),
        "time": lambda: pa.array(days(random.uniform(0, 100, rows)), mask=missing),
        "list": lambda: pa.array([None if gone else [f"item {value}" for value in random.integers(0, random.choice([3, 90]), random.integers(0, 5))]
                                  for gone in missing], pa.list_(pa.string())),
        "constant": lambda: pa.array(np.full(rows, 3.5)),
        "nan": lambda: pa.array(np.full(rows, np.nan)),
    }
    return kinds[random.choice(list(kinds))]()


def foreign_key(random, keys, rows):
    """Some rows have no key, or none has one; some targets are hubs."""
    import pyarrow as pa

    share = random.random(rows) if random.random() < 0.4 else 1
    chosen = keys[(random.integers(0, len(keys), rows) * share).astype(int)]
    return pa.array(chosen, mask=random.random(rows) < random.choice([0, 0.2, 1], p=[0.6, 0.3, 0.1]))


def write_tables(path, random):
    """Writes 1 to 4 tables and their manifest; returns the keys of the table `t0`, which has a foreign key to itself."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    names = [f"t{i}" for i in range(random.integers(1, 5))]
    rows = {name: int(random.choice([5, 50, 300] if name == "t0" else [1, 3, 50, 400, 2000])) for name in names}
    keys = {name: np.arange(rows[name]) * random.choice([1, 7]) + random.choice([0, 5])
            for name in names if name == "t0" or random.random() < 0.7}
    manifest = {"name": "random", "val_timestamp": "2020-03-01", "test_timestamp": "2020-03-20", "tables": {}}
    (path / "db").mkdir(parents=True)
    for name in names:
        columns, foreign = {}, {}
        if name in keys:
            columns["id"] = keys[name]
        if timed := random.random() < 0.6:
            columns["at"] = pa.array(days(random.uniform(0, 100, rows[name])), mask=random.random(rows[name]) < random.choice([0, 0.1]))
        for i in range(random.integers(1 if name == "t0" else 0, 4)):
            foreign[f"key{i}"] = "t0" if i == 0 else str(random.choice(list(keys)))
            columns[f"key{i}"] = foreign_key(random, keys[foreign[f"key{i}"]], rows[name])
        columns |= {f"column{i}": column_of(random, rows[name]) for i in range(random.integers(0, 5))}
        pq.write_table(pa.table(columns or {"column": np.zeros(rows[name])}), path / "db" / f"{name}.parquet")
        manifest["tables"][name] = {"pkey": "id" if name in keys else None, "time_col": "at" if timed else None, "fkeys": foreign}
    (path / "manifest.yaml").write_text(yaml.safe_dump(manifest))
    return keys["t0"]


def write_task(path, random, keys):
    """Writes the task `label` about rows of the table `t0`."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    kind = str(random.choice(list(TYPES)))
    folder = path / "tasks" / "label"
    folder.mkdir(parents=True)
    (folder / "manifest.yaml").write_text(yaml.safe_dump({
        "kind": "forecast", "task_type": kind, "entity_table": "t0", "entity_col": "id", "target_col": "label", "time_col": "timestamp",
        "timedelta": "7 days", "sql": "SELECT 1"}))
    for split, (first, last) in SPLITS.items():
        rows = random.choice([20, 300]) if split == "train" else 30
        pq.write_table(pa.table({"timestamp": days(random.integers(first, last + 1, rows)), "id": random.choice(keys, rows),
                                 "label": TYPES[kind](random, rows)}), folder / f"{split}.parquet")
