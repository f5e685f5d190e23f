"""Manifests of graphs with types in which something was changed: an error that names the file, never one of the JSON library."""

import copy
import json
import subprocess

import pytest

from typed_graphs import NODES, PAIRS, folder_of, ingest_tables

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

BAD = (None, 3, "x", [], {}, [1], {"a": 1}, 1.5, 2**63)


def places(value, path=()):
    """The paths of all values of a manifest but those of the checksums and the provenance."""
    if path:
        yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        if path or key in ("nodes", "edges", "node_types", "edge_types", "tasks"):
            yield from places(child, (*path, key))


def replaced(manifest, path, value):
    changed = copy.deepcopy(manifest)
    parent = changed
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return changed


def require_refusals(bin_dir, graph, manifest, verb, below=()):
    """Runs a verb on the graph with each value of its manifest below a key replaced."""
    for path in places(manifest):
        if path[: len(below)] != below:
            continue
        for value in BAD:
            (graph / "manifest.json").write_text(json.dumps(replaced(manifest, path, value)))
            done = subprocess.run([bin_dir / "plimsoll", verb, graph], capture_output=True, text=True)
            said = f"{path} = {value}: {done.stderr}"
            assert done.returncode in (0, 3) and "json.exception" not in done.stdout + done.stderr, said
            assert done.returncode == 0 or str(graph) in done.stdout + done.stderr, said


@pytest.mark.parametrize("verb", ["inspect", "verify"])
def test_a_changed_manifest_is_refused_with_its_place(bin_dir, tmp_path, verb):
    pq.write_table(pa.table({"id": [1, 2], "seen": pa.array([1, None], pa.timestamp("us")), "note": [b"a", b"b"],
                             "tags": [["a"], None]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"to": [1, None], "at": pa.array([1, 2], pa.timestamp("us"))}), tmp_path / "b.parquet")
    graph = tmp_path / "graph"
    _, manifest = ingest_tables(bin_dir, graph, "--table", f"a={tmp_path}/a.parquet:key=id",
                                "--table", f"b={tmp_path}/b.parquet:time=at,to->a")
    require_refusals(bin_dir, graph, manifest, verb)


@pytest.mark.parametrize("verb", ["inspect", "verify"])
def test_changed_tasks_are_refused_with_their_place(bin_dir, tmp_path, verb):
    at = pa.array([0, 5], pa.timestamp("s"))
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]}), "films": pa.table({"id": [0, 1]})}, {
        "spending": (NODES, {"train": pa.table({"at": at, "user": [9, 4], "spent": [1.5, 2]})}),
        "watching": (PAIRS, {"test": pa.table({"user": [4], "film": [[1, 0]], "at": at[:1]})})})
    _, manifest = ingest_tables(bin_dir, tmp_path / "graph", folder)
    require_refusals(bin_dir, tmp_path / "graph", manifest, verb, ("tasks",))
