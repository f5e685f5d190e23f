"""`plimsoll ingest tables` from an object store: the same data as from disk, in a budget, with errors that name the object."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import numpy as np
import pytest

from cgroup import MemoryCgroup
from object_server import ObjectServer
from typed_graphs import folder_of, ingest_tables

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
csv = pytest.importorskip("pyarrow.csv")

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_EC2_METADATA_DISABLED": "true"}
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")} | KEYS


@pytest.fixture
def server():
    made = ObjectServer()
    yield made
    made.close()


@pytest.fixture
def ingest(bin_dir):
    def call(out, *arguments, code=0, **environment):
        return ingest_tables(bin_dir, out, *arguments, code=code, env=ENVIRONMENT | environment)

    return call


def tables_of(rows, seed=1):
    random = np.random.default_rng(seed)
    return {"users": pa.table({"id": random.permutation(rows), "age": random.normal(size=rows),
                               "city": random.choice(["Rome", "Oslo"], rows)}),
            "orders": pa.table({"user": random.integers(0, rows, 2 * rows), "at": pa.array(random.integers(0, 10**9, 2 * rows), pa.timestamp("us")),
                                "price": random.normal(size=2 * rows)})}


def write(folder, tables):
    """Writes users as Arrow IPC and orders as Parquet, in three files in partitions, and as CSV."""
    (folder / "csv").mkdir(parents=True)
    with pa.ipc.new_file(folder / "users.arrow", tables["users"].schema) as file:
        file.write_table(tables["users"])
    orders = tables["orders"]
    for part in range(3):
        rows = orders.slice(part * orders.num_rows // 3, orders.num_rows // 3)
        (folder / "orders" / f"year={2020 + part}").mkdir(parents=True)
        pq.write_table(rows, folder / "orders" / f"year={2020 + part}" / "part.parquet", row_group_size=1000)
        csv.write_csv(rows, folder / "csv" / f"{part}.csv")


def words_of(place, query=""):
    tail = f"?{query}" if query else ""
    return ["--table", f"users={place}/users.arrow{tail}:key=id", "--table", f"orders={place}/orders{tail}:time=at,user->users",
            "--table", f"lines={place}/csv/*.csv{tail}:time=at,user->users"]


def require_same(made, expected):
    """The graphs are the same but for their sources."""
    (columns, manifest), (expected_columns, expected_manifest) = made, expected
    assert columns.keys() == expected_columns.keys() and len(columns) > 10
    assert all(np.array_equal(columns[name], expected_columns[name], equal_nan=columns[name].dtype.kind == "f") for name in columns)
    sources = manifest["provenance"].pop("sources")
    on_disk = expected_manifest["provenance"].pop("sources")
    assert manifest == expected_manifest
    assert [(source["source"], source["bytes"]) for source in sources] == [(source["source"], source["bytes"]) for source in on_disk]
    assert all(re.fullmatch("[0-9a-f]{32}(-[0-9]+)?", source["etag"]) for source in sources)


def test_objects_make_the_graph_of_the_same_files(ingest, server, tmp_path):
    write(tmp_path / "shop", tables_of(5000))
    server.put_folder(tmp_path / "shop", "bucket", "a shop/")
    made = ingest(tmp_path / "graph", *words_of("s3://bucket/a shop", server.query))
    require_same(made, ingest(tmp_path / "disk", *words_of(tmp_path / "shop")))
    assert server.largest <= 1 << 20


def test_a_relbench_folder_in_a_bucket(ingest, server, tmp_path):
    tables = tables_of(300)
    task = pa.table({"user": tables["users"]["id"], "at": tables["orders"]["at"][:300], "spent": tables["users"]["age"]})
    words = "kind: forecast\ntask_type: regression\nentity_table: users\nentity_col: user\ntarget_col: spent\ntime_col: at\n"
    folder_of(tmp_path / "set", tables, {"spent": (words, {"train": task, "val": task})})
    (tmp_path / "set" / "meanings.yaml").write_text("users: {age: skip}\n")
    server.put_folder(tmp_path / "set", "bucket")
    made = ingest(tmp_path / "graph", f"s3://bucket?{server.query}")
    require_same(made, ingest(tmp_path / "disk", tmp_path / "set"))
    server.put_folder(tmp_path / "set", "other", "deep/er/")
    require_same(ingest(tmp_path / "graph", f"s3://other/deep/er/?{server.query}"), ingest(tmp_path / "disk", tmp_path / "set"))


def test_a_second_call_reads_nothing(bin_dir, ingest, server, tmp_path):
    write(tmp_path / "shop", tables_of(50))
    server.put_folder(tmp_path / "shop", "bucket")
    words = words_of("s3://bucket", server.query)
    ingest(tmp_path / "graph", *words)
    reads = server.reads
    command = [str(bin_dir / "plimsoll"), "ingest", "tables", "--out", str(tmp_path / "graph"), *words]
    again = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert again.returncode == 0 and "nothing done" in again.stdout and server.reads == reads
    server.objects["bucket/csv/1.csv"] += b"3,1970-01-01 00:00:00.000001,4\n"
    other = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    assert other.returncode != 0 and "--force" in other.stderr


def test_objects_fit_into_a_cgroup(bin_dir, server, tmp_path):
    rows = 300_000
    random = np.random.default_rng(1)
    table = pa.table({"id": np.arange(rows), **{f"c{i}": random.normal(size=rows) for i in range(9)}})
    (tmp_path / "shop").mkdir()
    pq.write_table(table, tmp_path / "shop" / "t.parquet", row_group_size=rows)
    server.put_folder(tmp_path / "shop", "bucket")
    try:
        group = MemoryCgroup(80 << 20)
    except OSError as error:
        pytest.skip(f"no memory cgroup here: {error}")
    with group:
        command = [str(bin_dir / "plimsoll"), "ingest", "tables", "--out", str(tmp_path / "graph"), "--budget", "64MiB", "--json",
                   "--table", f"t=s3://bucket/t.parquet?{server.query}:key=id"]
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=group.join, timeout=600, env=ENVIRONMENT)
        assert (done.returncode, group.kills()) == (0, 0), done.stderr
    memory = json.loads(done.stdout)["memory"]
    assert memory["anonymous_peak_bytes"] <= 64 << 20 and memory["slack_bytes"] == 16 << 20
    assert server.largest > 64 << 10 and len(server.requests) < 200


@pytest.mark.parametrize("pattern", ["t.parquet", "*.parquet", ""])
def test_names_what_is_missing_or_forbidden(ingest, server, tmp_path, pattern):
    table = f"t=s3://bucket/folder/{pattern}?{server.query}"
    assert "no such bucket" in ingest(tmp_path / "graph", "--table", table, code=3)
    server.buckets.add("bucket")
    missing = ingest(tmp_path / "graph", "--table", table, code=3)
    assert "s3://bucket/folder" in missing and "no such object" in missing
    server.forbidden.add("bucket")
    forbidden = ingest(tmp_path / "graph", "--table", table, code=3)
    assert "s3://bucket/folder" in forbidden and "no permission" in forbidden and "AWS_ACCESS_KEY_ID" in forbidden


def test_credentials_of_a_url_are_not_shown(ingest, server, tmp_path):
    server.buckets.add("bucket")
    shown = ingest(tmp_path / "graph", "--table", f"t=s3://me:hidden@bucket/x.parquet?{server.query}", code=3)
    assert "no such object" in shown and "hidden" not in shown
    assert "expected a path or an URL s3://BUCKET/KEY" in ingest(tmp_path / "graph", "gs://bucket/set", code=2)
    assert "has no bucket" in ingest(tmp_path / "graph", "s3://", code=2)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("what", ["changed", "vanished"])
def test_an_object_that_changes_or_vanishes_is_named(ingest, server, tmp_path, kind, what):
    table = tables_of(200_000)["orders"]
    (tmp_path / "shop").mkdir()
    (csv.write_csv if kind == "csv" else pq.write_table)(table, tmp_path / "shop" / f"t.{kind}")
    server.put_folder(tmp_path / "shop", "bucket")
    path = f"bucket/t.{kind}"

    def change(_, reads):
        if reads == 4 and what == "vanished":
            del server.objects[path]
        elif reads == 4:
            server.objects[path] = server.objects[path][:-40] + b"x" * 40

    server.on_read = change
    shown = ingest(tmp_path / "graph", "--table", f"t=s3://{path}?{server.query}", code=3)
    assert f"s3://{path}: {what} while it was read" in shown and "repeat" in shown


def test_a_network_that_fails_is_an_error_with_the_remedy(ingest, tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        query = f"scheme=http&endpoint_override=127.0.0.1:{closed.getsockname()[1]}"
        shown = ingest(tmp_path / "graph", "--table", f"t=s3://bucket/x.parquet?{query}", code=1, AWS_MAX_ATTEMPTS="2")
    assert "s3://bucket/x.parquet: cannot be read" in shown and "check the network" in shown


@pytest.mark.parametrize("at", ["listing", "reading"])
def test_an_interrupt_ends_the_wait_for_a_server(bin_dir, server, tmp_path, at):
    (tmp_path / "shop").mkdir()
    pq.write_table(tables_of(200_000)["orders"], tmp_path / "shop" / "t.parquet")
    server.put_folder(tmp_path / "shop", "bucket")
    waits = threading.Event()

    def wait(_, reads):
        if reads == 1 if at == "listing" else reads > 4:
            waits.set()
            time.sleep(60)

    server.on_read = wait
    command = [str(bin_dir / "plimsoll"), "ingest", "tables", "--out", str(tmp_path / "graph"), "--table", f"t=s3://bucket/t.parquet?{server.query}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert waits.wait(60)
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT, shown
    assert [path.name for path in tmp_path.iterdir()] == ["shop"]


@pytest.fixture
def moto():
    program = shutil.which("moto_server")
    if program is None:
        pytest.skip("no moto_server here: pip install 'moto[server]' in a venv that is on PATH")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    yield f"127.0.0.1:{port}"
    process.terminate()
    process.wait()


def test_objects_of_moto_make_the_same_graph(ingest, moto, tmp_path):
    filesystems = pytest.importorskip("pyarrow.fs")
    write(tmp_path / "shop", tables_of(20_000))
    store = filesystems.S3FileSystem(access_key="key", secret_key="hush", endpoint_override=moto, scheme="http", region="us-east-1",
                                     allow_bucket_creation=True)
    store.create_dir("bucket")
    filesystems.copy_files(str(tmp_path / "shop"), "bucket/shop", filesystems.LocalFileSystem(), store)
    query = f"scheme=http&endpoint_override={moto}&region=us-east-1"
    require_same(ingest(tmp_path / "graph", *words_of("s3://bucket/shop", query)), ingest(tmp_path / "disk", *words_of(tmp_path / "shop")))
    assert "no such bucket" in ingest(tmp_path / "none", "--table", f"t=s3://nothing/x.parquet?{query}", code=3)
