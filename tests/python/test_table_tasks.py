"""Tasks of RelBench folders: labels become seeds with nodes, times and targets."""

import json
import subprocess
from functools import partial

import numpy as np
import pytest

from typed_graphs import NODES, PAIRS, folder_of, ingest_tables

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def ingest(bin_dir):
    return partial(ingest_tables, bin_dir)


# Fifteen lists, each of which has the one before four times.
DOUBLED = "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}' if n else '1'] * 4)}]\n" for n in range(15))


def seeds_of(columns, manifest, task, split):
    """(entry, nodes, times) of a split."""
    entry = next(task_entry for task_entry in manifest["tasks"] if task_entry["name"] == task)
    found = next(seeds for seeds in entry["splits"] if seeds["name"] == split)
    return found, columns[found["nodes"]], columns[found["times"]] if "times" in found else None


def lists_of(columns, target):
    ptr = columns[target["ptr"]]
    return [columns[target["column"]][begin:end].tolist() for begin, end in zip(ptr, ptr[1:])]


def test_labels_of_flights_equal_pyarrow(ingest, data_dir, tmp_path):
    folder = data_dir / "relational-nycflights13"
    if not folder.is_dir():
        pytest.skip(f"no tables at {folder} (set PLIMSOLL_DATA)")
    columns, manifest = ingest(tmp_path / "graph", folder, "--budget", "64MiB")
    assert [task["name"] for task in manifest["tasks"]] == ["plane-active", "plane-delay", "plane-destinations", "plane-flights"]
    assert manifest["source"] == {
        "name": "relational-nycflights13", "val_timestamp": "2013-09-01", "test_timestamp": "2013-11-01"}
    for task in manifest["tasks"]:
        assert "sql" not in task["manifest"] and task["manifest"]["timedelta"] == "7 days" and task["entity"] == "planes"
        for split in ("train", "val", "test"):
            table = pq.read_table(folder / "tasks" / task["name"] / f"{split}.parquet")
            seeds, nodes, times = seeds_of(columns, manifest, task["name"], split)
            assert (seeds["seeds"], seeds["dangling"]) == (table.num_rows, 0)
            assert np.array_equal(nodes, table["plane_id"])
            assert np.array_equal(times, table["timestamp"].cast(pa.int64()))
            target = seeds["target"]
            if task["name"] == "plane-destinations":
                assert target["meaning"] == "nodes" and task["destination"] == "airports" and task["manifest"]["eval_k"] == 10
                assert lists_of(columns, target) == table["dest_id"].to_pylist()
            else:
                assert np.array_equal(columns[target["column"]], table[task["manifest"]["target_col"]])


@pytest.mark.parametrize("seed", range(4))
def test_keys_in_any_order_and_dangling_seeds(ingest, tmp_path, seed):
    random = np.random.default_rng(seed)
    users, films = random.permutation(500) * 3 + 7, random.permutation(40) + (0 if seed % 2 else 100)
    if seed == 2:
        films = np.sort(films)
    rows = 9000
    entity = pa.array(random.choice(np.append(users, [-1, 10**9]), rows), pa.int64(), mask=random.random(rows) < 0.01)
    at = pa.array(random.integers(0, 10**9, rows), pa.timestamp("s"), mask=random.random(rows) < 0.02)
    lists = [random.choice(np.append(films, -5), random.integers(0, 3)).tolist() for _ in range(rows)]
    spent = pa.array(random.normal(size=rows), mask=random.random(rows) < 0.1)
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": users}), "films": pa.table({"id": films})}, {
        "spending": (NODES, {"train": pa.table({"at": at, "user": entity, "spent": spent}), "test": pa.table({"at": at, "user": entity})}),
        "watching": (PAIRS, {"val": pa.table({"user": entity, "film": lists, "at": at})})})
    columns, manifest = ingest(tmp_path / "graph", folder)
    row_of, film_of = ({int(key): row for row, key in enumerate(keys)} for keys in (users, films))
    times = at.cast(pa.int64()).to_pylist()
    entities = [row_of.get(key, -1) for key in entity.to_pylist()]
    kept = [row for row in range(rows) if entities[row] >= 0 and times[row] is not None]
    for split in ("train", "test"):
        found, nodes, stored = seeds_of(columns, manifest, "spending", split)
        assert found["dangling"] == entities.count(-1) and found["seeds"] == len(kept)
        assert found["rows_without_time"] == sum(entities[row] >= 0 and times[row] is None for row in range(rows))
        assert nodes.tolist() == [entities[row] for row in kept] and stored.tolist() == [times[row] * 10**9 for row in kept]
    target = seeds_of(columns, manifest, "spending", "train")[0]["target"]
    wanted = np.array([np.nan if spent[row].as_py() is None else spent[row].as_py() for row in kept])
    assert np.array_equal(columns[target["column"]], wanted, equal_nan=True)
    assert "target" not in seeds_of(columns, manifest, "spending", "test")[0]
    found, nodes, _ = seeds_of(columns, manifest, "watching", "val")
    watched = {row: [film_of[key] for key in lists[row] if key in film_of] for row in kept}
    assert found["dangling_targets"] == sum(key not in film_of for keys in lists for key in keys)
    assert found["rows_without_target"] == sum(not films for films in watched.values())
    assert nodes.tolist() == [entities[row] for row in kept if watched[row]]
    assert lists_of(columns, found["target"]) == [films for films in watched.values() if films]


def test_inspect_and_python_show_tasks(bin_dir, ingest, tmp_path):
    at = pa.array([0, 86400, 5], pa.timestamp("s"))
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]}), "films": pa.table({"id": [0, 1]})}, {
        "spending": (NODES, {"train": pa.table({"at": at, "user": [9, 4, 5], "spent": [1.5, 2, 3]})}), "later": (NODES, {}),
        "watching": (PAIRS, {"test": pa.table({"user": [4], "film": [[1, 0]], "at": at[:1]})})})
    made = tmp_path / "graph"
    _, manifest = ingest(made, folder)
    shown = subprocess.run([bin_dir / "plimsoll", "inspect", made], capture_output=True, text=True).stdout
    rows = [line.split() for line in shown.splitlines()]
    assert ["spending", "forecast", "regression", "users", "train", "2", "1", "1970-01-01", "1970-01-02"] in rows
    assert ["later", "forecast", "regression", "users", "-", "-", "-", "-", "-"] in rows
    plimsoll = pytest.importorskip("plimsoll")
    graph = plimsoll.open(made)
    assert list(graph.tasks) == ["later", "spending", "watching"] and graph.tasks["later"].splits == []
    seeds = graph.tasks["spending"]["train"]
    assert (len(seeds), seeds.dangling, seeds.nodes.tolist(), seeds.target.tolist()) == (2, 1, [1, 0], [1.5, 2])
    assert seeds.time.tolist() == [0, 86400 * 10**9] and seeds.target_ptr is None
    task = graph.tasks["watching"]
    assert (task.entity, task.destination, task.manifest["eval_k"]) == ("users", "films", 3)
    assert task["test"].target.tolist() == [1, 0] and task["test"].target_ptr.tolist() == [0, 2]
    with pytest.raises(plimsoll.UsageError, match="no split 'val'"):
        task["val"]


def test_verify_finds_seeds_that_are_no_nodes(bin_dir, ingest, tmp_path):
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]})}, {
        "spending": (NODES.replace("time_col: at", "time_col: null"), {"train": pa.table({"user": [9, 4], "spent": [1, 2]})})})
    columns, manifest = ingest(tmp_path / "graph", folder)
    seeds, nodes, times = seeds_of(columns, manifest, "spending", "train")
    assert times is None
    np.save(tmp_path / "graph" / f"{seeds['nodes']}.npy", np.array([2, 0], np.uint32))
    done = subprocess.run([bin_dir / "plimsoll", "verify", tmp_path / "graph"], capture_output=True, text=True)
    assert done.returncode == 3 and "row 0 is 2, which is not one of 2 nodes" in done.stdout + done.stderr


def require_damage(bin_dir, graph, column, values, found):
    """Puts other values into a column and expects a finding."""
    np.save(graph / f"{column}.npy", values)
    done = subprocess.run([bin_dir / "plimsoll", "verify", graph], capture_output=True, text=True)
    assert done.returncode == 3 and found in done.stdout + done.stderr, done.stdout + done.stderr


def test_wrong_tasks_are_refused(ingest, tmp_path):
    at = pa.array([0], pa.timestamp("s"))
    for number, (words, table, found) in enumerate((
            (NODES.replace("users", "nobody"), {"user": [1]}, "entity_table is 'nobody', which is no table"),
            (NODES.replace("kind: forecast\n", ""), {"user": [1]}, "has no kind"),
            (NODES.replace("users", "plain"), {"user": [1]}, "a table without a key"),
            (NODES, {"user": ["a"], "at": at, "spent": [1]}, "holds text, but the key of table 'users' holds integer"),
            (NODES, {"user": [1], "spent": [1]}, "has no column 'at'"),
            (NODES, {"user": [1], "at": at, "spent": [b"a"]}, "bytes that are not text, expected targets"),
            (PAIRS, {"user": [1], "at": at, "film": [1]}, "expected lists of whole numbers"),
            (NODES + "x: &a {b: *a}\n", {"user": [1]}, "manifest.yaml: is nested more than 16 deep"),
            (NODES + DOUBLED, {"user": [1]}, "manifest.yaml: has more than 100000 values"),
            ("- 3", {"user": [1]}, "is no map"), ("kind: [", {"user": [1]}, "manifest.yaml:"))):
        folder = folder_of(tmp_path / str(number), {"users": pa.table({"id": [1]}), "films": pa.table({"id": [1]}),
                                                    "plain": pa.table({"n": [1]})}, {"task": (words, {"train": pa.table(table)})})
        assert found in ingest(tmp_path / "graph", folder, code=3)


def small_set(path):
    at = pa.array([0, None, 5, 5], pa.timestamp("s"))
    return folder_of(path, {"users": pa.table({"id": [4, 9]}), "films": pa.table({"id": [0, 1]})}, {
        "watching": (PAIRS, {"train": pa.table({"user": [4, 4, 9, 5], "film": [[1, 7], [0], [8], [1]], "at": at})})})


@pytest.mark.parametrize("file, old, new", [("manifest.yaml", "2024-01-01", "2024-02-01"), ("meanings.yaml", "number", "number "),
                                            ("tasks/watching/manifest.yaml", "kind: forecast", "kind: completion")])
def test_a_changed_manifest_is_another_source(bin_dir, tmp_path, file, old, new):
    folder = small_set(tmp_path / "set")
    (folder / "meanings.yaml").write_text("# number\n")
    command = [str(bin_dir / "plimsoll"), "ingest", "tables", str(folder), "--out", str(tmp_path / "graph"), "--json"]
    made = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    again = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert not made["already_there"] and again["already_there"] and made["seeds"] == again["seeds"] == 1
    (folder / file).write_text((folder / file).read_text().replace(old, new))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "--force" in done.stderr, done.stdout


def test_rows_of_labels_that_are_left_out_are_counted(bin_dir, tmp_path):
    command = [str(bin_dir / "plimsoll"), "ingest", "tables", str(small_set(tmp_path / "set")), "--out", str(tmp_path / "graph"), "--force"]
    counts = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    found = {name: counts[name] for name in ("seeds", "dangling_seeds", "seeds_without_time", "seeds_without_target", "dangling_targets")}
    assert found == {"seeds": 1, "dangling_seeds": 1, "seeds_without_time": 1, "seeds_without_target": 1, "dangling_targets": 2}
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in ("1 seed without a time", "2 targets of a row that does not exist", "1 seed without a target, or none of whose targets exists"):
        assert f"left out: {line}\n" in text


def test_tasks_that_are_no_folder_are_an_error(ingest, tmp_path):
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]})}, {})
    ingest(tmp_path / "graph", folder)
    (folder / "tasks").write_text("")
    assert "tasks: Not a directory" in ingest(tmp_path / "no", folder, code=3)


def test_task_of_your_own_is_added_to_named_tables(bin_dir, ingest, tmp_path):
    (tmp_path / "users.csv").write_text("id,age\n4,30\n9,40\n")
    task = tmp_path / "churn"
    task.mkdir()
    words = ("--table", f"users={tmp_path / 'users.csv'}:key=id", "--task")
    assert "has no manifest.yaml" in ingest(tmp_path / "no", *words, f"{task}/", code=3)
    (task / "manifest.yaml").write_text("kind: external\ntask_type: binary_classification\nentity_table: users\n"
                                        "entity_col: user\ntime_col: at\ntarget_col: left\n")
    assert "has no table of labels" in ingest(tmp_path / "no", *words, task, code=3)
    (task / "train.csv").write_text("user,at,left\n9,1970-01-01 00:00:02,1\n4,1970-01-01 00:00:01,0\n5,1970-01-01 00:00:01,0\n")
    pq.write_table(pa.table({"user": [9], "at": pa.array([3], pa.timestamp("s"))}), task / "test.parquet")
    assert "a task churn is there already" in ingest(tmp_path / "no", *words, task, "--task", task, code=2)
    columns, manifest = ingest(tmp_path / "graph", *words, f"{task}/")
    train, nodes, times = seeds_of(columns, manifest, "churn", "train")
    assert (nodes.tolist(), times.tolist(), train["dangling"]) == ([1, 0], [2 * 10**9, 10**9], 1)
    assert columns[train["target"]["column"]].tolist() == [1, 0]
    test, nodes, _ = seeds_of(columns, manifest, "churn", "test")
    assert nodes.tolist() == [1] and "target" not in test
    pq.write_table(pa.table({"user": [9]}), task / "train.parquet")
    assert "found train.parquet and train.csv" in ingest(tmp_path / "no", *words, task, code=3)


def test_seeds_have_texts_and_missing_targets(ingest, tmp_path):
    at = pa.array([0, 1, 2], pa.timestamp("s"))
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]})}, {"spending": (NODES, {
        "train": pa.table({"at": at, "user": [9, 4, 4], "spent": ["b", None, "a"]}), "val": pa.table({"at": at, "user": [9, 4, 4], "spent": [1, 2, 3]}),
        "test": pa.table({"at": at, "user": [9, 4, 4]})})})
    ingest(tmp_path / "graph", folder)
    plimsoll = pytest.importorskip("plimsoll")
    task = plimsoll.open(tmp_path / "graph").tasks["spending"]
    assert (task["train"].valid.tolist(), task["train"].vocabulary) == ([True, False, True], ["a", "b"])
    assert task["val"].valid.tolist() == [True] * 3 and task["test"].valid is None
    for split, found in (("val", "is a number"), ("test", "is hidden")):
        with pytest.raises(plimsoll.UsageError, match=f"the {split} split {found}, expected a category"):
            task[split].vocabulary


def test_csv_of_seeds_without_rows_is_refused_in_words(bin_dir, ingest, tmp_path):
    (tmp_path / "users.csv").write_text("id,age\n4,30\n")
    task = tmp_path / "churn"
    task.mkdir()
    (task / "manifest.yaml").write_text(NODES.replace("spent", "left"))
    (task / "train.csv").write_text("user,at,left\n")
    refused = ingest(tmp_path / "graph", "--table", f"users={tmp_path / 'users.csv'}:key=id", "--task", task, code=3)
    assert "column 'at': has no values, expected times; add rows to the table, or remove its file" in refused
    assert "Arrow" not in refused


@pytest.mark.parametrize("role, values, found", [("target_ptr", np.array([0, 3, 2], np.int64), "a list ends before it begins"),
                                                 ("target_ptr", np.array([1, 1, 2], np.int64), "whose first list is cut")])
def test_verify_finds_damaged_lists_of_targets(bin_dir, ingest, tmp_path, role, values, found):
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]}), "films": pa.table({"id": [0, 1]})}, {
        "watching": (PAIRS, {"train": pa.table({"user": [4, 9], "film": [[1], [0]], "at": pa.array([0, 5], pa.timestamp("s"))})})})
    ingest(tmp_path / "graph", folder)
    require_damage(bin_dir, tmp_path / "graph", f"tasks.watching.train.{role}", values, found)


def test_verify_finds_targets_that_are_no_codes(bin_dir, ingest, tmp_path):
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]})}, {"spending": (NODES.replace("time_col: at\n", ""), {
        "train": pa.table({"user": [9, 4], "spent": ["b", "a"]})})})
    ingest(tmp_path / "graph", folder)
    column = "tasks.spending.train.values.spent"
    require_damage(bin_dir, tmp_path / "graph", column, np.array([2, 0], np.int8), "row 0 has the code 2, expected -1 to 1")


def test_target_nodes_of_another_type_of_numbers_are_refused(bin_dir, ingest, tmp_path):
    folder = folder_of(tmp_path / "set", {"users": pa.table({"id": [4, 9]}), "films": pa.table({"id": [0, 1]})}, {
        "watching": (PAIRS, {"train": pa.table({"user": [4, 9], "film": [[1], [0]], "at": pa.array([0, 5], pa.timestamp("s"))})})})
    _, manifest = ingest(tmp_path / "graph", folder)
    column = "tasks.watching.train.targets"
    manifest["columns"][column]["dtype"] = "<i4"
    (tmp_path / "graph" / "manifest.json").write_text(json.dumps(manifest))
    np.save(tmp_path / "graph" / f"{column}.npy", np.array([0, 1], np.int32))
    done = subprocess.run([bin_dir / "plimsoll", "inspect", tmp_path / "graph"], capture_output=True, text=True)
    assert done.returncode == 3 and column in done.stderr, done.stderr
