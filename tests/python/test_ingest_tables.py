"""`plimsoll ingest tables` against pyarrow: Parquet and Arrow files of made-up tables, and the flights of 2013."""

import datetime
import decimal
import hashlib
import json
import os
import re
import shutil
import subprocess
import uuid
from functools import partial

import numpy as np
import pytest

from cgroup import MemoryCgroup
from typed_graphs import edges_of, ingest_tables, require_column, types_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def ingest(bin_dir):
    return partial(ingest_tables, bin_dir)


@pytest.fixture(scope="module")
def flights(data_dir):
    folder = data_dir / "relational-nycflights13"
    if not folder.is_dir():
        pytest.skip(f"no tables at {folder} (set PLIMSOLL_DATA)")
    return folder


def expected_edges(foreign, key, time):
    """(sources, targets) in the order of target, time and source, as pandas-like code makes them."""
    place = {value: row for row, value in enumerate(key) if value is not None}
    pairs = [(place[value], row) for row, value in enumerate(foreign) if value in place]
    pairs.sort(key=lambda pair: (pair[0], 0 if time is None else time[pair[1]], pair[1]))
    return [row for _, row in pairs], [target for target, _ in pairs]


@pytest.mark.parametrize("budget", ["64MiB", "1GiB"])
def test_flights_equal_pyarrow(ingest, flights, tmp_path, budget):
    columns, manifest = ingest(tmp_path / "graph", flights, "--reverse", "--budget", budget)
    tables = {path.stem: pq.read_table(path) for path in (flights / "db").glob("*.parquet")}
    types = types_of(manifest)
    assert {name: entry["nodes"] for name, entry in types.items()} == {name: t.num_rows for name, t in tables.items()}
    for name, entry in types.items():
        for column in entry["columns"]:
            values = tables[name][column["name"]]
            if column["meaning"] == "time":
                values = values.cast(pa.int64())
            require_column(columns, column, values.to_pylist())
    left_out = {f"{name}.{column['name']}" for name, entry in types.items() for column in entry["left_out"]}
    assert left_out == {"planes.tailnum", "airports.faa", "airports.name"}
    time = tables["flights"]["time"].cast(pa.timestamp("ns")).cast(pa.int64()).to_pylist()
    assert np.array_equal(columns["flights.time"], time) and types["flights"]["time"]["rises"]
    entry, sources, targets = edges_of(columns, manifest, "f2p_plane_id")
    keys = tables["planes"]["plane_id"].to_pylist()
    expected = expected_edges(tables["flights"]["plane_id"].to_pylist(), keys, time)
    assert (entry["missing"], entry["dangling"]) == (2512, 0)
    assert np.array_equal(sources, expected[0]) and np.array_equal(targets, expected[1])
    _, back, rows = edges_of(columns, manifest, "rev_f2p_plane_id")
    assert sorted(zip(back.tolist(), rows.tolist())) == sorted(zip(expected[1], expected[0]))


def test_flights_fit_into_a_cgroup(bin_dir, flights, tmp_path):
    try:
        group = MemoryCgroup(64 << 20)
    except OSError as error:
        pytest.skip(f"no memory cgroup here: {error}")
    with group:
        command = [bin_dir / "plimsoll", "ingest", "tables", flights, "--out", tmp_path / "graph", "--budget", "48MiB", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=group.join, timeout=600)
        assert (done.returncode, group.kills()) == (0, 0), done.stderr
    memory = json.loads(done.stdout)["memory"]
    assert memory["anonymous_peak_bytes"] <= 48 << 20


def made_up(rows, seed):
    """Tables with keys of several kinds in no order, missing and dangling foreign keys, and times in no order."""
    random = np.random.default_rng(seed)
    users = random.permutation(rows) * 7 - 300
    films = [f"film {number:x}" for number in random.permutation(rows // 2 + 1)]
    at = random.integers(0, 1000, rows) * 1_000_000
    return {
        "users": pa.table({
            "id": users, "age": pa.array(random.integers(0, 100, rows), pa.int16(), mask=random.random(rows) < 0.2),
            "city": pa.array(random.choice(["Rome", "Oslo", "Århus", ""], rows)),
            "score": pa.array(random.normal(size=rows)), "vip": pa.array(random.random(rows) < 0.5),
        }),
        "films": pa.table({"title": films, "code": pa.array(random.choice(["a", "b"], len(films))).dictionary_encode(),
                           "embedding": pa.FixedSizeListArray.from_arrays(random.normal(size=3 * len(films)), 3)}),
        "ratings": pa.table({
            "user": pa.array(random.choice(np.append(users, 10**12), rows), pa.int64(), mask=random.random(rows) < 0.1),
            "film": pa.array(random.choice([*films, "no such film"], rows)),
            "at": pa.array(at, pa.timestamp("us", "UTC"), mask=random.random(rows) < 0.05),
            "stars": pa.array(random.integers(1, 6, rows), pa.int8()),
        }),
    }


def as_words(folder, tables):
    folder.mkdir()
    for name, table in tables.items():
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=1000)
    return ["--table", f"users={folder}/users.parquet:key=id", "--table", f"films={folder}/films.parquet:key=title",
            "--table", f"ratings={folder}/ratings.parquet:time=at,user->users,film->films"]


def hashes(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 5)])
def test_lists_of_reals_of_one_length_are_vectors(ingest, tmp_path, kind):
    random = np.random.default_rng(3)
    rows = [None if number < 9000 or random.random() < 0.1 else random.normal(size=5).astype(np.float32).tolist() for number in range(20000)]
    rows[15000][2] = None
    table = pa.table({"id": np.arange(len(rows)), "embedding": pa.array(rows, kind)})
    pq.write_table(table, tmp_path / "items.parquet", row_group_size=3000)
    columns, manifest = ingest(tmp_path / "graph", "--table", f"items={tmp_path}/items.parquet:key=id")
    (column,) = types_of(manifest)["items"]["columns"]
    wanted = np.array([[np.nan] * 5 if row is None else [np.nan if value is None else value for value in row] for row in rows], np.float32)
    assert column["meaning"] == "vector" and column["missing"] == sum(row is None for row in rows)
    assert np.array_equal(columns[column["column"]], wanted, equal_nan=True)
    assert np.array_equal(columns[column["valid"]] == 0, [row is None for row in rows])


@pytest.mark.parametrize(("lists", "reason"), [
    ([[1.0, 2.0], None, [3.0]], "lists of 2 and of 1 numbers, expected one length"),
    ([None, [], [3.0]], "a list of 0 numbers, expected 1 to 1048576"), ([None, None], "a column without a value")])
def test_lists_of_reals_of_other_lengths_are_left_out(ingest, tmp_path, lists, reason):
    table = pa.table({"id": np.arange(len(lists)), "embedding": pa.array(lists, pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "items.parquet", row_group_size=2)
    columns, manifest = ingest(tmp_path / "graph", "--table", f"items={tmp_path}/items.parquet:key=id")
    assert types_of(manifest)["items"]["left_out"] == [{"name": "embedding", "reason": reason}]
    assert not any("embedding" in name for name in columns)


@pytest.mark.parametrize("seed", range(6))
def test_made_up_tables_equal_pyarrow(ingest, tmp_path, seed):
    tables = made_up(4000 if seed % 2 else 37, seed)
    words = as_words(tmp_path / "db", tables)
    columns, manifest = ingest(tmp_path / "graph", *words, "--budget", "256MiB")
    types = types_of(manifest)
    ratings = tables["ratings"].filter(pa.compute.is_valid(tables["ratings"]["at"]))
    assert types["ratings"]["rows_without_time"] == tables["ratings"].num_rows - ratings.num_rows
    for name, table in {**tables, "ratings": ratings}.items():
        for column in types[name]["columns"]:
            if column["meaning"] != "vector":
                require_column(columns, column, table[column["name"]].to_pylist())
    assert np.array_equal(columns["films.values.embedding"].ravel(), tables["films"]["embedding"].combine_chunks().values)
    time = ratings["at"].cast(pa.int64()).to_pylist()
    for name, table, key in (("user", "users", "id"), ("film", "films", "title")):
        entry, sources, targets = edges_of(columns, manifest, f"f2p_{name}")
        foreign = ratings[name].to_pylist()
        expected = expected_edges(foreign, tables[table][key].to_pylist(), time)
        assert np.array_equal(sources, expected[0]) and np.array_equal(targets, expected[1])
        assert entry["missing"] == foreign.count(None)
        assert entry["dangling"] == len(foreign) - len(expected[0]) - foreign.count(None)


def ingest_in_group(bin_dir, words, out, budget):
    """Runs with a budget in MiB, in a memory cgroup a quarter larger where that is allowed; returns the process, which was not killed."""
    command = [str(part) for part in (bin_dir / "plimsoll", "ingest", "tables", *words, "--out", out, "--force", "--budget", f"{budget}MiB", "--json")]
    try:
        group = MemoryCgroup((budget << 20) * 5 // 4)
    except OSError:
        return subprocess.run(command, capture_output=True, text=True, timeout=600)
    with group:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, preexec_fn=group.join)
        assert group.kills() == 0
    return done


def with_wide_values(tables, random):
    """Adds columns of bytes that fill pages of a MiB, so that Arrow's buffers need more than all else: such columns are left out."""
    rows = tables["users"].num_rows
    for number in range(random.integers(2, 6)):
        texts = [bytes(row) for row in random.integers(0, 256, (rows, int(random.integers(40, 100))), np.uint8)]
        tables["users"] = tables["users"].append_column(f"wide{number}", pa.array(texts, pa.binary()))
    return tables


@pytest.mark.parametrize("seed", range(30 if "PLIMSOLL_SLOW" in os.environ else 3))
def test_the_budget_decides_whether_and_never_what(bin_dir, ingest, tmp_path, seed):
    random = np.random.default_rng(seed)
    words = [*as_words(tmp_path / "db", made_up(int(random.integers(10, 60_000)), seed)), "--reverse"]
    ingest(tmp_path / "graph", *words, "--budget", "1GiB")
    expected = hashes(tmp_path / "graph")
    done = 0
    for budget in (32, *random.integers(11, 24, 3)):
        made = ingest_in_group(bin_dir, words, tmp_path / "small", int(budget))
        assert made.returncode in (0, 4), made.stderr
        if made.returncode == 4:
            assert "budget" in made.stderr
            continue
        done += 1
        assert hashes(tmp_path / "small") == expected
        assert json.loads(made.stdout)["memory"]["anonymous_peak_bytes"] <= budget << 20
    assert done > 0


@pytest.mark.parametrize("seed", range(30 if "PLIMSOLL_SLOW" in os.environ else 3))
def test_a_refusal_names_the_smallest_budget(bin_dir, ingest, tmp_path, seed):
    random = np.random.default_rng(seed)
    tables = with_wide_values(made_up(int(random.integers(15_000, 30_000)), seed), random)
    words = [*as_words(tmp_path / "db", tables), "--reverse"]
    pq.write_table(tables["users"], tmp_path / "db" / "users.parquet")  # In one row group.
    ingest(tmp_path / "graph", *words, "--budget", "1GiB")
    for budget in range(int(random.integers(20, 24)), 10, -1):  # Some tables fit into the first of these budgets.
        refused = ingest_in_group(bin_dir, words, tmp_path / "small", budget)
        if refused.returncode != 0:
            break
        shutil.rmtree(tmp_path / "small")
    assert refused.returncode == 4 and not (tmp_path / "small").exists(), refused.stderr
    named = int(re.search(r"smallest budget that works for these tables is .*; pass --budget (\d+)MiB", refused.stderr).group(1))
    made = ingest_in_group(bin_dir, words, tmp_path / "small", named)
    assert made.returncode == 0, made.stderr
    assert hashes(tmp_path / "small") == hashes(tmp_path / "graph")
    assert json.loads(made.stdout)["memory"]["anonymous_peak_bytes"] <= named << 20
    assert ingest_in_group(bin_dir, words, tmp_path / "smaller", named - 3).returncode == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "graph", "small"]


def test_reads_what_writers_write(ingest, tmp_path):
    moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 123456)
    table = pa.table({
        "price": pa.array([decimal.Decimal("1.10"), decimal.Decimal("-12345678901234567.89"), None], pa.decimal128(25, 2)),
        "day": pa.array([moment.date(), None, datetime.date(1969, 12, 31)], pa.date32()),
        "milli": pa.array([moment, None, moment], pa.timestamp("ms")),
        "zone": pa.array([moment, moment, None], pa.timestamp("us", "Europe/Oslo")),
        "half": pa.array([0.5, None, -2.0], pa.float16()),
        "large": pa.array(["a", None, "b"], pa.large_string()),
        "view": pa.array(["a text of many bytes", None, "b"], pa.string_view()),
        "nothing": pa.nulls(3),
        "list": pa.array([[1], None, [2, 3]]),
        "runs": pa.compute.run_end_encode(pa.array([7, 7, 8], pa.int32())),
        "bytes": pa.array([b"a", b"\xff", None]),
    })
    arrow = tmp_path / "t.arrow"
    with pa.ipc.new_file(arrow, table.schema) as file:
        file.write_table(table)
    with pa.ipc.new_stream(tmp_path / "stream.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=2)
    for path in (arrow, tmp_path / "stream.arrow", tmp_path / "t.parquet"):
        # Parquet has no runs.
        if path.suffix == ".parquet":
            pq.write_table(table.drop_columns(["runs"]), path, use_deprecated_int96_timestamps=True)
        columns, manifest = ingest(tmp_path / "graph", "--table", f"t={path}")
        entries = {entry["name"]: entry for entry in types_of(manifest)["t"]["columns"]}
        assert {entry["name"] for entry in types_of(manifest)["t"]["left_out"]} == {"nothing", "bytes"}
        assert columns[entries["list"]["column"]].tolist() == [0, 1, 2] and columns["t.ptr.list"].tolist() == [0, 1, 1, 3]
        require_column(columns, entries["price"], [1.10, -12345678901234567.89, None])
        require_column(columns, entries["half"], [0.5, None, -2.0])
        require_column(columns, entries["large"], ["a", None, "b"])
        require_column(columns, entries["view"], ["a text of many bytes", None, "b"])
        unit = entries["zone"]["unit"]
        stored = columns[entries["zone"]["column"]].view(f"datetime64[{unit}]")
        assert stored[0] == np.datetime64(moment) and np.isnat(stored[2])
        assert columns[entries["day"]["column"]].view("datetime64[D]")[2] == np.datetime64("1969-12-31")


def test_joins_files_and_keys_of_any_type(ingest, tmp_path):
    (tmp_path / "parts").mkdir()
    ids = [uuid.UUID(int=number * 2**70 + 5) for number in range(50)]
    uuids = pa.array([number.bytes for number in ids], pa.binary(16))
    for part in range(3):
        rows = slice(part * 10, part * 10 + 10)
        pq.write_table(pa.table({"id": uuids[rows], "n": pa.array(range(10))}), tmp_path / "parts" / f"{part}.parquet")
    pq.write_table(pa.table({"to": uuids[::-1]}), tmp_path / "links.parquet")
    columns, manifest = ingest(tmp_path / "graph", "--table", f"parts={tmp_path}/parts/*.parquet:key=id",
                               "--table", f"links={tmp_path}/links.parquet:to->parts")
    entry, sources, targets = edges_of(columns, manifest, "f2p_to")
    assert entry["dangling"] == 20 and np.array_equal(sources, 49 - targets) and len(targets) == 30


def test_a_second_call_does_nothing(bin_dir, ingest, tmp_path):
    words = as_words(tmp_path / "db", made_up(20, 1))
    ingest(tmp_path / "graph", *words)
    again = subprocess.run([bin_dir / "plimsoll", "ingest", "tables", "--out", tmp_path / "graph", *words],
                           capture_output=True, text=True)
    assert again.returncode == 0 and "nothing done" in again.stdout


def test_inspect_shows_meanings(bin_dir, ingest, tmp_path):
    ingest(tmp_path / "graph", *as_words(tmp_path / "db", made_up(37, 0)), "--meaning", "users.age=category")
    shown = subprocess.run([bin_dir / "plimsoll", "inspect", tmp_path / "graph"], capture_output=True, text=True).stdout
    rows = [line.split() for line in shown.splitlines()]
    assert ["users", "age", "category"] in [row[:3] for row in rows]
    assert any(row[:2] == ["ratings", "f2p_user"] for row in rows)


def test_refuses_what_is_wrong(ingest, tmp_path):
    db = tmp_path / "db"
    words = as_words(db, made_up(20, 2))
    out = tmp_path / "graph"
    assert "no such file" in ingest(out, "--table", f"t={tmp_path}/none.parquet", code=3)
    assert "no column 'nope'" in ingest(out, "--table", f"t={db}/users.parquet:key=nope", code=2)
    assert "no table 'nobody'" in ingest(out, "--table", f"t={db}/users.parquet:id->nobody", code=2)
    whole = (db / "users.parquet").read_bytes()
    for name, data in {"cut": whole[:-20], "empty": b"", "text": b"id,age\n1,2\n", "body": whole[:200] + whole[400:]}.items():
        (tmp_path / name).write_bytes(data)
        assert str(tmp_path / name) in ingest(out, "--table", f"t={tmp_path / name}", code=3)
    twice = pa.table({"id": ["a", "b", "a"]})
    pq.write_table(twice, db / "twice.parquet")
    assert "rows 0 and 2" in ingest(out, "--table", f"t={db}/twice.parquet:key=id", code=3)
    assert "out of budget" in ingest(out, *words, "--budget", "12MiB", code=4)


def test_refuses_wrong_manifests(ingest, tmp_path):
    folder = tmp_path / "set"
    (folder / "db").mkdir(parents=True)
    pq.write_table(pa.table({"id": [0, 1]}), folder / "db" / "users.parquet")
    good = "tables:\n  users: {pkey: id, time_col: null, fkeys: {}}\n"
    for text, words in {
        good + "  films: {pkey: id}\n": "films.parquet",
        good.replace("id,", "[id"): "manifest.yaml:",
        "tables: 3\n": "no tables",
        "": "no tables",
        good.replace("{pkey", "[pkey").replace("}}", "}]"): "is not a map",
    }.items():
        (folder / "manifest.yaml").write_text(text)
        assert words in ingest(tmp_path / "graph", folder, code=3), text
    (folder / "manifest.yaml").write_text(good)
    columns, _ = ingest(tmp_path / "graph", folder)
    assert columns == {}


@pytest.mark.parametrize("verb, remedy", [(["walks"], "plimsoll.from_pyg"), (["split-edges", "--valid", "0.1"], "plimsoll.from_pyg"),
                                          (["merge"], "give all tables to one `plimsoll ingest tables`")])
def test_verbs_for_graphs_of_one_type_refuse_by_name(bin_dir, ingest, tmp_path, verb, remedy):
    ingest(tmp_path / "graph", *as_words(tmp_path / "db", made_up(20, 3)))
    done = subprocess.run([bin_dir / "plimsoll", verb[0], tmp_path / "graph", *verb[1:], "--out", tmp_path / "out"],
                          capture_output=True, text=True)
    assert done.returncode == 3 and "is a graph with node types" in done.stderr and remedy in done.stderr


def test_stage_copies_types(bin_dir, ingest, tmp_path):
    ingest(tmp_path / "graph", *as_words(tmp_path / "db", made_up(20, 3)))
    subprocess.run([bin_dir / "plimsoll", "stage", tmp_path / "graph", "--to", tmp_path / "fast"], check=True, capture_output=True)
    (copy,) = (path for path in (tmp_path / "fast").iterdir() if (path / "manifest.json").exists())
    assert hashes(copy) == hashes(tmp_path / "graph")


def test_inspect_shows_numbers_with_the_digits_of_their_type(bin_dir, ingest, tmp_path):
    pq.write_table(pa.table({"low": pa.array([0.1, 0.7], pa.float32()), "fine": [0.1, 1 / 3]}), tmp_path / "t.parquet")
    ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.parquet")
    shown = subprocess.run([bin_dir / "plimsoll", "inspect", tmp_path / "graph"], capture_output=True, text=True).stdout
    rows = {line.split()[1]: line.split()[-2:] for line in shown.splitlines() if line.startswith("t ") and "number" in line}
    assert rows == {"low": ["0.1", "0.7"], "fine": ["0.1", "0.3333333333333333"]}
    assert "1 node type and 0 edge types" in shown
