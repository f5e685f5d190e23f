"""Graphs with types that `plimsoll ingest tables` makes, as NumPy reads them."""

import json
import subprocess

import numpy as np


def ingest_tables(bin_dir, out, *arguments, code=0, **options):
    """Makes a graph, verifies it and returns its columns and manifest; or stderr of exit code `code`."""
    program = str(bin_dir / "plimsoll")
    command = [program, "ingest", "tables", "--out", out, "--force", *arguments]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == code, done.stderr
    if code:
        assert not out.exists()
        return done.stderr
    assert "whole" in subprocess.run([program, "verify", str(out)], capture_output=True, text=True).stdout
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
