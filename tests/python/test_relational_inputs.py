"""Odd and damaged input of the task relational: read right, or refused with the remedy."""

import json
import shutil
import subprocess

import numpy as np
import pytest

from relational_data import DAY, START, orders_table, write_folder, write_recipe

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "tables", orders_table(np.random.default_rng(1), 40, 5, 3000))


@pytest.fixture
def train(bin_dir, tmp_path):
    """train(*source): ingests and trains, and returns the summary; or stderr of exit code `code`. `edit` changes the manifest,
    `edit_files` the folder of the graph."""

    def call(*source, task="busy", code=0, edit=None, edit_files=None, ingest=(), arguments=()):
        graph = tmp_path / "graph"
        shutil.rmtree(graph, ignore_errors=True)
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        subprocess.run([bin_dir / "plimsoll", "ingest", "tables", *source, "--reverse", "--out", graph, *ingest], check=True, capture_output=True)
        if edit:
            manifest = json.loads((graph / "manifest.json").read_text())
            edit(manifest)
            (graph / "manifest.json").write_text(json.dumps(manifest))
        if edit_files:
            edit_files(graph)
        recipe = write_recipe(tmp_path / "recipe.yaml", task)
        done = subprocess.run([bin_dir / "plimsoll", "train", recipe, "--data", graph, "--run", tmp_path / "run", "--json",
                               *arguments], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        return done.stderr if code else {**json.loads(done.stdout), "stderr": done.stderr}

    return call


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def change(path, function):
    pq.write_table(function(pq.read_table(path)), path)


def test_tables_without_foreign_keys_are_refused(folder, train):
    replace(folder / "manifest.yaml", "fkeys: {user: users, shop: shops}", "fkeys: {}")
    assert "has no edge types" in train(folder, code=3)


def test_a_mask_of_vectors_is_one_of_rows(folder, train):
    """The mask says nothing that NaN does not say, so the weights are the same without it."""
    def with_vectors(orders):
        values = np.arange(4.0 * len(orders)) % 7
        missing = np.arange(len(orders)) >= 2500
        rows = [None if gone else row.tolist() for row, gone in zip(values.reshape(-1, 4), missing)]
        return orders.append_column("vector", pa.array(rows, pa.list_(pa.float32(), 4)))

    def without_mask(manifest):
        orders = next(entry for entry in manifest["node_types"] if entry["name"] == "orders")
        del next(column for column in orders["columns"] if column["name"] == "vector")["valid"]

    change(folder / "db" / "orders.parquet", with_vectors)
    assert train(folder)["weights"] == train(folder, edit=without_mask)["weights"]


def test_a_task_of_an_unknown_table_is_refused(folder, train):
    def edit(manifest):
        manifest["tasks"][0]["entity"] = "nosuch"

    assert "nosuch" in train(folder, edit=edit, code=3)


@pytest.mark.parametrize("column", ["user", "at"])
def test_a_foreign_key_or_time_cannot_be_hidden(folder, train, column):
    replace(folder / "tasks" / "busy" / "manifest.yaml", "sql:", f"remove_columns: [[orders, {column}]]\nsql:")
    assert f"hides orders.{column}, which is a" in train(folder, code=3)


@pytest.mark.parametrize(("column", "what"), [("user", "foreign key or time"), ("at", "foreign key or time"), ("price", None), ("item", None)])
def test_the_ends_and_times_of_an_event_table_cannot_be_hidden(folder, train, column, what):
    replace(folder / "manifest.yaml", "tables:", "tables:\n  visits: {pkey: null, time_col: at, fkeys: {user: users, shop: shops}}")
    visits = pq.read_table(folder / "db" / "orders.parquet").select(["at", "user", "shop", "price"])
    pq.write_table(visits.append_column("item", [[None] * len(visits)]), folder / "db" / "visits.parquet")
    replace(folder / "tasks" / "busy" / "manifest.yaml", "sql:", f"remove_columns: [[visits, {column}]]\nsql:")
    found = train(folder, code=3 if what else 0, ingest=("--as-edge", "visits"))
    assert not what or f"hides visits.{column}, which is a {what}" in found


def test_a_column_of_a_composite_foreign_key_cannot_be_hidden(folder, train):
    orders = pq.read_table(folder / "db" / "orders.parquet")
    wards = orders.group_by(["user", "shop"]).aggregate([]).drop_null()
    pq.write_table(wards, folder / "db" / "wards.parquet")
    tables = [f"--table={name}={folder}/db/{name}.parquet:{words}" for name, words in {
        "users": "key=user", "wards": "key=(user,shop)", "orders": "key=order,time=at,user->users,(user,shop)->wards"}.items()]
    replace(folder / "tasks" / "busy" / "manifest.yaml", "sql:", "remove_columns: [[orders, shop]]\nsql:")
    assert "hides orders.shop, which is a foreign key" in train(*tables, "--task", folder / "tasks" / "busy", code=3)


def test_a_seed_that_is_no_node_is_named(folder, train, seal):
    def edit(graph):
        nodes = np.load(graph / "tasks.busy.train.nodes.npy")
        nodes[3] = 40
        np.save(graph / "tasks.busy.train.nodes.npy", nodes)
        seal(graph)

    found = train(folder, edit_files=edit, code=3)
    assert "task busy, split train: row 3 is the node 40, expected one of 40 of the type users" in found


def test_a_time_of_an_edge_type_that_is_no_word_is_named(folder, train):
    def edit(manifest):
        manifest["edge_types"][0]["time"] = "never"

    assert "found the time 'never', expected source, target or edge" in train(folder, edit=edit, code=3)


def test_a_label_beyond_32_bits_is_refused(folder, train):
    def huge(table):
        return table.set_column(2, "label", pa.array([1e39, *table["label"].to_pylist()[1:]]))

    change(folder / "tasks" / "count" / "train.parquet", huge)
    assert "row 0 of the split train has the label 1e+39, expected a finite number of 32 bits" in train(folder, task="count", code=3)


def test_classes_are_the_same_in_splits_with_other_codes(folder, train, run, tmp_path):
    """Texts are numbered by those of train, in the order of their bytes; others are unknown."""
    texts = {"train": ["quiet", "loud"], "val": ["loud", "a new one", "quiet"], "test": ["zero", "loud"]}
    known = {}

    def relabel(table, split):
        labels = [texts[split][row % len(texts[split])] for row in range(len(table))]
        known[split] = sum(label in texts["train"] for label in labels)
        return table.set_column(2, "label", pa.array(labels))

    for split in texts:
        change(folder / "tasks" / "busy" / f"{split}.parquet", lambda table, split=split: relabel(table, split))
    train(folder)
    run("plimsoll", "predict", tmp_path / "run", "--data", tmp_path / "graph", "--out", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["class_names"] == ["loud", "quiet"]
    run("plimsoll", "evaluate", tmp_path / "run", "--data", tmp_path / "graph")
    splits = json.loads((tmp_path / "run" / "evaluation.json").read_text())["splits"]
    assert [split["items"] for split in splits] == [known["val"], known["test"]]


def test_damaged_keys_are_named(bin_dir, folder, train, seal, tmp_path):
    """`predict --csv` writes the keys of the seeds."""
    for path in (folder / "db" / "users.parquet", folder / "db" / "orders.parquet", *(folder / "tasks").glob("*/*.parquet")):
        change(path, lambda table: table.set_column(table.column_names.index("user"), "user", table["user"].cast(pa.string())))
    replace(folder / "manifest.yaml", "val_timestamp", "name: set\nval_timestamp")

    def edit(graph):
        ends = np.load(graph / "users.key_ptr.user.npy")
        ends[1] = 10**12
        np.save(graph / "users.key_ptr.user.npy", ends)
        seal(graph)

    train(folder, edit_files=edit)
    done = subprocess.run([bin_dir / "plimsoll", "predict", tmp_path / "run", "--data", tmp_path / "graph", "--out", tmp_path / "out",
                           "--csv"], capture_output=True, text=True)
    assert done.returncode == 3 and "users.key.user.npy: found the text 0 .. 1000000000000" in done.stderr, done.stderr
    verified = subprocess.run([bin_dir / "plimsoll", "verify", tmp_path / "graph"], capture_output=True, text=True)
    assert verified.returncode == 3 and "key 'user': a text ends before it begins" in verified.stdout + verified.stderr


@pytest.mark.parametrize("text", ["2024-02-31", "2024-03-01T00:00:00+05:00", "2024-03-01 00:00:00.5"])
def test_a_test_timestamp_of_another_form_is_refused(folder, train, text):
    lines = (folder / "manifest.yaml").read_text().splitlines()
    (folder / "manifest.yaml").write_text("\n".join([lines[0], f"test_timestamp: '{text}'", *lines[2:]]))
    assert f"found the test_timestamp '{text}'" in train(folder, code=3)


def test_a_test_timestamp_beyond_nanoseconds_cuts_nothing(folder, train, tmp_path):
    lines = (folder / "manifest.yaml").read_text().splitlines()
    full = ("-O", "relational.training_history=full")  # A test timestamp is the reason for lags.
    whole = train(folder, arguments=full)["weights"]
    (folder / "manifest.yaml").write_text("\n".join([lines[0], "test_timestamp: '9999-12-31'", *lines[2:]]))
    assert train(folder, arguments=full)["weights"] == whole


def test_seeds_without_a_label_are_left_out_and_counted(folder, train, run, tmp_path):
    def third(table):
        column = table["label"].to_pylist()
        return table.set_column(2, "label", pa.array([None if row % 3 == 0 else value for row, value in enumerate(column)]))

    for split in ("train", "val", "test"):
        change(folder / "tasks" / "count" / f"{split}.parquet", third)
    assert "of the split train without a label" in train(folder, task="count")["stderr"]
    run("plimsoll", "evaluate", tmp_path / "run", "--data", tmp_path / "graph")
    splits = json.loads((tmp_path / "run" / "evaluation.json").read_text())["splits"]
    assert [split["items"] for split in splits] == [53, 80]


def test_a_split_without_labelled_seeds_is_refused_with_the_remedy(folder, train):
    change(folder / "tasks" / "busy" / "val.parquet", lambda table: table.slice(0, 0))
    found = train(folder, code=3)
    assert "task busy has no labelled seeds in the split val; add rows with a label to the split's table, then ingest" in found


def test_hidden_test_labels_are_predicted_not_evaluated(folder, train, run, tmp_path):
    change(folder / "tasks" / "busy" / "test.parquet", lambda table: table.drop_columns(["label"]))
    replace(folder / "manifest.yaml", "val_timestamp", "name: set\nval_timestamp")
    train(folder)
    run("plimsoll", "evaluate", tmp_path / "run", "--data", tmp_path / "graph")
    splits = json.loads((tmp_path / "run" / "evaluation.json").read_text())["splits"]
    assert [split["name"] for split in splits] == ["val"]
    run("plimsoll", "predict", tmp_path / "run", "--data", tmp_path / "graph", "--out", tmp_path / "out", "--csv")
    assert len((tmp_path / "out" / "set__busy.csv").read_text().splitlines()) == 1 + 120


def test_the_name_of_the_data_stays_in_the_folder(bin_dir, folder, train, tmp_path):
    replace(folder / "manifest.yaml", "val_timestamp", "name: ../../evil\nval_timestamp")
    train(folder)
    done = subprocess.run([bin_dir / "plimsoll", "predict", tmp_path / "run", "--data", tmp_path / "graph", "--out", tmp_path / "out",
                           "--csv"], capture_output=True, text=True)
    assert done.returncode == 3 and "evil" in done.stderr and not (tmp_path / "out").exists()


@pytest.mark.parametrize("edit", [
    lambda manifest: manifest["tasks"][0].pop("manifest"),
    lambda manifest: manifest["node_types"][0]["columns"][0].pop("meaning"),
    lambda manifest: manifest["source"].update(test_timestamp=5),
])
def test_a_damaged_manifest_is_named(folder, train, edit):
    assert "manifest.json" in train(folder, edit=edit, code=3)
