"""Event tables as edge types (`--as-edge`), against NumPy."""

import json
import subprocess
from functools import partial

import numpy as np
import pytest

from typed_graphs import edges_of, ingest_tables

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def ingest(bin_dir):
    return partial(ingest_tables, bin_dir)


def made_up(random, rows, with_time):
    """Users and films with keys in no order, and ratings with missing and dangling keys."""
    users, films = random.permutation(300) * 5 - 20, [f"film {number}" for number in random.permutation(80)]
    ratings = {
        "user": pa.array(random.choice(np.append(users, 10**9), rows), pa.int64(), mask=random.random(rows) < 0.05),
        "film": pa.array(random.choice([*films, "none"], rows), mask=random.random(rows) < 0.05),
        "stars": pa.array(random.integers(1, 6, rows), pa.int8(), mask=random.random(rows) < 0.1),
        "weight": random.normal(size=rows), "mood": random.choice(["good", "bad", "so so"], rows),
        "tags": [random.choice(["a", "b", "c"], random.integers(0, 4)).tolist() for _ in range(rows)],
        "point": pa.FixedSizeListArray.from_arrays(random.normal(size=2 * rows), 2),
    }
    if with_time:
        ratings["at"] = pa.array(random.integers(0, 50, rows), pa.timestamp("s"), mask=random.random(rows) < 0.05)
    return {"users": pa.table({"id": users}), "films": pa.table({"title": films}), "ratings": pa.table(ratings)}


def words_of(folder, tables, with_time):
    folder.mkdir(exist_ok=True)
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=500)
    return ["--table", f"ratings={folder}/ratings.parquet:{'time=at,' if with_time else ''}user->users,film->films",
            "--table", f"users={folder}/users.parquet:key=id", "--table", f"films={folder}/films.parquet:key=title"]


@pytest.mark.parametrize("seed, with_time", [(0, True), (1, True), (2, False)])
def test_rows_become_edges_with_columns_and_times(ingest, tmp_path, seed, with_time):
    tables = made_up(np.random.default_rng(seed), 20_000, with_time)
    words = words_of(tmp_path / "db", tables, with_time)
    columns, manifest = ingest(tmp_path / "graph", *words, "--as-edge", "ratings", "--reverse", "--budget", "256MiB")
    assert [entry["name"] for entry in manifest["node_types"]] == ["users", "films"]
    assert [entry["name"] for entry in manifest["edge_types"]] == ["ratings", "rev_ratings"]
    rows = tables["ratings"].to_pylist()
    user_of, film_of = ({key: row for row, key in enumerate(tables[name][0].to_pylist())} for name in ("users", "films"))
    timed = [row for row in rows if not with_time or row["at"] is not None]
    missing = [row for row in timed if row["user"] is None or row["film"] is None]
    good = [row for row in timed if row["user"] in user_of and row["film"] in film_of]
    time = (lambda row: row["at"].timestamp()) if with_time else (lambda row: 0)
    good.sort(key=lambda row: (film_of[row["film"]], time(row), user_of[row["user"]]))
    entry, sources, targets = edges_of(columns, manifest, "ratings")
    assert (entry["edges"], entry["missing"]) == (len(good), len(missing))
    assert entry["dangling"] == len(timed) - len(missing) - len(good)
    assert sources.tolist() == [user_of[row["user"]] for row in good] and targets.tolist() == [film_of[row["film"]] for row in good]
    stored = {column["name"]: column for column in entry["columns"]}
    assert list(stored) == ["stars", "weight", "mood", "tags", "point"]
    stars = [row["stars"] for row in good]
    assert stored["stars"]["missing"] == stars.count(None)
    assert columns[stored["stars"]["column"]].tolist() == [0 if star is None else star for star in stars]
    assert columns[stored["stars"]["valid"]].tolist() == [star is not None for star in stars]
    assert columns[stored["weight"]["column"]].tolist() == [row["weight"] for row in good]
    assert columns[stored["mood"]["column"]].tolist() == [["bad", "good", "so so"].index(row["mood"]) for row in good]
    assert columns[stored["point"]["column"]].tolist() == [row["point"] for row in good]
    ptr, codes = columns[stored["tags"]["ptr"]], columns[stored["tags"]["column"]]
    assert [["abc"[code] for code in codes[begin:end]] for begin, end in zip(ptr, ptr[1:])] == [row["tags"] for row in good]
    back, films, users = edges_of(columns, manifest, "rev_ratings")
    good.sort(key=lambda row: (user_of[row["user"]], time(row), film_of[row["film"]]))
    assert films.tolist() == [film_of[row["film"]] for row in good] and users.tolist() == [user_of[row["user"]] for row in good]
    assert (entry["time"], back["time"]) == (("edge", "edge") if with_time else (None, None))
    if with_time:
        assert entry["rows_without_time"] == len(rows) - len(timed)
        assert columns[back["times"]].tolist() == [int(time(row)) * 10**9 for row in good]
        good.sort(key=lambda row: (film_of[row["film"]], time(row), user_of[row["user"]]))
        assert columns[entry["times"]].tolist() == [int(time(row)) * 10**9 for row in good]


def test_the_budget_does_not_change_edges(ingest, tmp_path):
    words = words_of(tmp_path / "db", made_up(np.random.default_rng(3), 50_000, True), True)
    ingest(tmp_path / "large", *words, "--as-edge", "ratings", "--reverse", "--budget", "1GiB")
    ingest(tmp_path / "small", *words, "--as-edge", "ratings", "--reverse", "--budget", "28MiB")
    for path in (tmp_path / "large").iterdir():
        assert path.read_bytes() == (tmp_path / "small" / path.name).read_bytes()


def test_an_edge_type_from_a_table_to_itself_and_no_rows(ingest, tmp_path):
    pq.write_table(pa.table({"id": [3, 1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"from": [1, 3, 3], "to": [2, 3, 1], "n": [10, 20, 30]}), tmp_path / "b.parquet")
    words = ["--table", f"a={tmp_path}/a.parquet:key=id", "--table", f"b={tmp_path}/b.parquet:from->a,to->a", "--as-edge", "b"]
    columns, manifest = ingest(tmp_path / "graph", *words)
    entry, sources, targets = edges_of(columns, manifest, "b")
    assert (sources.tolist(), targets.tolist()) == ([0, 0, 1], [0, 1, 2])
    assert columns[entry["columns"][0]["column"]].tolist() == [20, 30, 10]
    pq.write_table(pa.table({"from": pa.array([], pa.int64()), "to": pa.array([], pa.int64()), "n": pa.array([], pa.int64())}),
                   tmp_path / "b.parquet")
    _, manifest = ingest(tmp_path / "graph", *words)
    assert manifest["edge_types"][0]["edges"] == 0


def test_tables_that_are_no_edges_are_refused(bin_dir, ingest, tmp_path):
    words = words_of(tmp_path / "db", made_up(np.random.default_rng(4), 50, True), True)
    assert "has a key and 0 foreign keys" in ingest(tmp_path / "graph", *words, "--as-edge", "users", code=2)
    assert "no such table" in ingest(tmp_path / "graph", *words, "--as-edge", "nobody", code=2)
    words[1] = words[1].replace("user->users,", "")
    assert "it has no key and 1 foreign keys" in ingest(tmp_path / "graph", *words, "--as-edge", "ratings", code=2)


def test_inspect_python_and_pyg_show_edges(bin_dir, ingest, tmp_path):
    words = words_of(tmp_path / "db", made_up(np.random.default_rng(5), 500, True), True)
    ingest(tmp_path / "graph", *words, "--as-edge", "ratings")
    shown = subprocess.run([bin_dir / "plimsoll", "inspect", tmp_path / "graph"], capture_output=True, text=True).stdout
    rows = [line.split() for line in shown.splitlines()]
    assert any(row[:3] == ["users", "ratings", "films"] and row[4:] == ["of", "the", "edge"] for row in rows)
    assert ["ratings", "mood", "category"] in [row[:3] for row in rows]
    plimsoll = pytest.importorskip("plimsoll")
    edges = plimsoll.open(tmp_path / "graph")["users", "ratings", "films"]
    assert edges.edge_attr_names == ["stars", "weight"] and edges.edge_attr.shape == (edges.num_edges, 2)
    assert edges.vocabulary("mood") == ["bad", "good", "so so"] and len(edges.time) == edges.num_edges
    with pytest.raises(plimsoll.UsageError, match="edge type 'ratings' has no column 'x'"):
        edges["x"]
    pytest.importorskip("torch_geometric")
    store = plimsoll.open(tmp_path / "graph").to_pyg()["users", "ratings", "films"]
    assert store.edge_attr.shape == (edges.num_edges, 2) and store["mood"].tolist() == edges["mood"].tolist()
    assert store.time.tolist() == edges.time.tolist() and store["tags_ptr"].tolist() == edges.ptr("tags").tolist()


def test_rows_without_a_key_are_counted(bin_dir, tmp_path):
    pq.write_table(pa.table({"id": [3, 1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"from": [1, None, 3, None], "to": [2, 3, 9, None]}), tmp_path / "b.parquet")
    command = [bin_dir / "plimsoll", "ingest", "tables", "--table", f"a={tmp_path}/a.parquet:key=id", "--table",
               f"b={tmp_path}/b.parquet:from->a,to->a", "--as-edge", "b", "--out", tmp_path / "graph", "--force"]
    counts = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)
    assert (counts["edges"], counts["rows_without_ends"], counts["dangling"]) == (1, 2, 1)
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "left out: 2 rows of event tables in which the key of an end is missing\n" in text


def test_columns_of_edges_are_counted_over_edges(ingest, tmp_path):
    pq.write_table(pa.table({"id": [3, 1, 2]}), tmp_path / "a.parquet")
    far, day = -(10**6), 86400
    pq.write_table(pa.table({"from": [1, None, 3, 1, 9], "to": [2, 3, 2, 2, 1], "n": [5, far, 7, None, far], "x": [0.5, 1e9, -1.5, 0.5, 1e9],
                             "yes": [True, False, True, True, False], "v": pa.array([[1, 2], [far, far], [3, 4], [1, 2], [far, far]], pa.list_(pa.float32(), 2)),
                             "at": pa.array([day, 0, 2 * day, day, 0], pa.timestamp("s")), "none": [None, 1, None, None, 2]}), tmp_path / "b.parquet")
    _, manifest = ingest(tmp_path / "graph", "--table", f"a={tmp_path}/a.parquet:key=id",
                         "--table", f"b={tmp_path}/b.parquet:from->a,to->a", "--as-edge", "b")
    found = {column["name"]: tuple(column.get(key) for key in ("distinct", "min", "max")) for column in manifest["edge_types"][0]["columns"]}
    assert found == {"n": (2, 5, 7), "x": (2, -1.5, 0.5), "yes": (1, 1, 1), "v": (None, 1, 4), "at": (2, 1000 * day, 2000 * day), "none": (0, None, None)}
