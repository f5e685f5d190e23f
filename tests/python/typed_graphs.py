"""Graphs with types that `plimsoll ingest tables` makes, as NumPy reads them."""

import json
import subprocess

import numpy as np

# Manifests of tasks: a value for each user, and films for each user.
NODES = "kind: forecast\ntask_type: regression\nentity_table: users\nentity_col: user\ntarget_col: spent\ntime_col: at\nsql: SELECT 1\n"
PAIRS = ("kind: forecast\ntask_type: recommendation\nsrc_entity_table: users\nsrc_entity_col: user\ndst_entity_table: films\n"
         "dst_entity_col: film\ntime_col: at\neval_k: 3\n")


def ingest_tables(bin_dir, out, *arguments, code=0, **options):
    """Makes a graph, verifies it and returns its columns and manifest; or stderr of exit code `code`."""
    program = str(bin_dir / "plimsoll")
    command = [program, "ingest", "tables", "--out", out, "--force", *arguments]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == code, done.stderr
    if code:
        assert not out.exists()
        return done.stderr
    assert "intact" in subprocess.run([program, "verify", str(out)], capture_output=True, text=True).stdout
    columns = {path.name[:-4]: np.load(path) for path in out.glob("*.npy")}
    return columns, json.loads((out / "manifest.json").read_text())


def types_of(manifest):
    return {entry["name"]: entry for entry in manifest["node_types"]}


def edges_of(columns, manifest, name):
    """(entry, sources, targets) of an edge type."""
    entry = next(entry for entry in manifest["edge_types"] if entry["name"] == name)
    indptr, indices = columns[entry["indptr"]], columns[entry["indices"]]
    return entry, indices, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))


def require_column(columns, entry, values):
    """Compares a column of the graph with the values of pyarrow."""
    stored = columns[entry["column"]]
    missing = np.array([value is None or value != value for value in values], bool)
    assert entry["missing"] == missing.sum()
    valid = columns.get(entry.get("valid"), np.ones(len(values), np.uint8))
    assert np.array_equal(valid == 0, missing)
    if entry["meaning"] == "category":
        ptr, text = columns[entry["vocabulary_ptr"]], columns[entry["vocabulary"]].tobytes()
        texts = [text[begin:end].decode() for begin, end in zip(ptr, ptr[1:])]
        assert texts == sorted(texts, key=str.encode) and np.all(stored[missing] == -1)
        assert [texts[code] for code in stored[~missing]] == [value for value in values if value is not None]
    else:
        known = [value for value, is_missing in zip(values, missing) if not is_missing]
        assert np.array_equal(stored[~missing], np.array(known, stored.dtype if known == [] else None))


def folder_of(path, tables, tasks):
    """Writes a RelBench folder: tables with a key, and tasks by name with their words and splits."""
    from pyarrow import parquet as pq

    (path / "db").mkdir(parents=True)
    lines = ["val_timestamp: '2024-01-01'", "tables:"]
    for name, table in tables.items():
        pq.write_table(table, path / "db" / f"{name}.parquet")
        lines.append(f"  {name}: {{pkey: {'id' if 'id' in table.column_names else 'null'}, time_col: null, fkeys: {{}}}}")
    (path / "manifest.yaml").write_text("\n".join(lines))
    for name, (words, splits) in tasks.items():
        (path / "tasks" / name).mkdir(parents=True)
        (path / "tasks" / name / "manifest.yaml").write_text(words)
        for split, table in splits.items():
            pq.write_table(table, path / "tasks" / name / f"{split}.parquet")
    return path
