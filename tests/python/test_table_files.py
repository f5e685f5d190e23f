"""Files of tables other than single Parquet and Arrow files: CSV, partitions, encrypted Parquet, and meanings in YAML."""

import base64
import csv
import gzip
import os
import shutil
import subprocess
from functools import partial

import numpy as np
import pytest

from typed_graphs import edges_of, ingest_tables, require_column, types_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pa_csv = pytest.importorskip("pyarrow.csv")


@pytest.fixture(scope="module")
def ingest(bin_dir):
    return partial(ingest_tables, bin_dir)


def columns_of(manifest, table):
    return {entry["name"]: entry for entry in types_of(manifest)[table]["columns"]}


def write(path, text, line="\n"):
    path.write_bytes(text.replace("\n", line).encode())
    return path


ROWS = '''id,whole,real,yes,day,at,zoned,fine,word,padded,huge,mixed
10,1,1.5,true,2024-02-29,2024-02-29 12:30:15,2024-02-29T12:30:15Z,2024-02-29 12:30:15.000001,"a, ""b""",007,18446744073709551615,1
11,,,,,,,,,,,
12,-3,1e3,False,1969-12-31,1969-12-31,1969-12-31T23:59:59+01:00,1969-12-31 00:00:00.5,"two
lines",12,5,x
'''


@pytest.mark.parametrize("name, line", [("t.csv", "\n"), ("t.csv", "\r\n"), ("t.csv.gz", "\n"), ("t.CSV", "\n")])
def test_csv_has_the_types_of_its_values(ingest, tmp_path, name, line):
    path = write(tmp_path / name, "\ufeff" + ROWS, line)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(path.read_bytes()))
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={path}:key=id", "--meaning", "t.word=category")
    entries = columns_of(manifest, "t")
    assert {name: entry["meaning"] for name, entry in entries.items()} == {
        "whole": "number", "real": "number", "yes": "boolean", "day": "time", "at": "time", "zoned": "time", "fine": "time",
        "word": "category", "padded": "category", "huge": "category", "mixed": "category"}
    assert {name: entry["unit"] for name, entry in entries.items() if "unit" in entry} == {
        "day": "D", "at": "s", "zoned": "s", "fine": "us"}
    require_column(columns, entries["whole"], [1, None, -3])
    require_column(columns, entries["real"], [1.5, None, 1000.0])
    require_column(columns, entries["yes"], [1, None, 0])
    require_column(columns, entries["word"], ['a, "b"', None, f"two{line}lines"])
    require_column(columns, entries["padded"], ["007", None, "12"])
    require_column(columns, entries["huge"], ["18446744073709551615", None, "5"])
    require_column(columns, entries["mixed"], ["1", None, "x"])
    for name, times in {"day": ["2024-02-29", None, "1969-12-31"], "zoned": ["2024-02-29T12:30:15", None, "1969-12-31T22:59:59"],
                        "fine": ["2024-02-29T12:30:15.000001", None, "1969-12-31T00:00:00.5"]}.items():
        stored = columns[entries[name]["column"]].view(f"datetime64[{entries[name]['unit']}]")
        assert np.isnat(stored[1]) and [stored[0], stored[2]] == [np.datetime64(times[0]), np.datetime64(times[2])]
    assert columns["t.key.id"].tolist() == [10, 11, 12]


@pytest.mark.parametrize("seed", range(4))
def test_csv_equals_pyarrow(ingest, tmp_path, seed):
    """Random columns, long enough for several blocks; pyarrow reads them with the same rule for missing values."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 30_000))
    kinds = {"whole": lambda: str(random.integers(-50, 50)), "real": lambda: repr(random.normal()),
             "word": lambda: "".join(random.choice(list("ab,\"\n é"), 3)) + "!", "yes": lambda: random.choice(["true", "false"]),
             "day": lambda: str(np.datetime64("2020-01-01") + int(random.integers(0, 999)))}
    with (tmp_path / "t.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(kinds)
        for _ in range(rows):
            writer.writerow([make() if random.random() < 0.9 else "" for make in kinds.values()])
    table = pa_csv.read_csv(tmp_path / "t.csv", parse_options=pa_csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=True),
                            convert_options=pa_csv.ConvertOptions(null_values=[""], strings_can_be_null=True))
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv", "--meaning", "t.word=category")
    for name, entry in columns_of(manifest, "t").items():
        values = table[name]
        if name == "day" and not pa.types.is_null(values.type):
            values = values.cast(pa.int32())
        require_column(columns, entry, values.to_pylist())


def test_types_hold_over_all_files_of_a_table(ingest, tmp_path):
    parts = tmp_path / "parts"
    parts.mkdir()
    write(parts / "1.csv", "id;n\n1;1\n2;2\n")
    write(parts / "2.csv", "id;n\n3;2.5\n")
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={parts}:key=id")
    require_column(columns, columns_of(manifest, "t")["n"], [1.0, 2.0, 2.5])
    write(parts / "3.csv", "id;m\n3;2.5\n")
    assert "3.csv: has other columns" in ingest(tmp_path / "no", "--table", f"t={parts}", code=3)
    (parts / "3.csv").unlink()
    pq.write_table(pa.table({"id": [1]}), parts / "4.parquet")
    assert "name files of one form" in ingest(tmp_path / "no", "--table", f"t={parts}", code=3)


def test_rows_longer_than_a_block(ingest, tmp_path):
    texts = ["x" * length for length in (10, 300_000, 5, 80_000)] * 3
    write(tmp_path / "t.csv", "n,text\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv", "--meaning", "t.text=category")
    require_column(columns, columns_of(manifest, "t")["text"], texts)


def test_csv_that_is_no_table_is_refused(ingest, tmp_path):
    for text, words in (("", "has no line"), ("a,b\n1,2\n3\n", "Row #3: Expected 2 columns, got 1"), ("a,a\n1,2\n", "two columns"),
                        ('a,b\n"1,2\n', "t.csv"), ("a,b\n1,\udcff\n", "UTF8"), ("a,\udcff\n1,2\n", "the name of column 1 is not UTF-8"),
                        ("a,b\n\udcff\n", "got 1: ?"), ('id,v\n1,"x\n2,2\n', "row 2 has a quote that is not closed"),
                        ('id,v\n\n0,""\r\n1,"x""\n', "row 3 has a quote"), ('id,"v\n1,2\n', "row 1 has a quote"),
                        ("id,v\n" + "1,2\n" * 50_000 + '3,"', "row 50002 has a quote")):
        (tmp_path / "t.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
        assert words in ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv", code=3)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 1000)[:-30])
    assert "t.csv.gz" in ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv.gz", code=3)
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={write(tmp_path / 't.csv', 'a,b')}")
    assert types_of(manifest)["t"]["nodes"] == 0


def test_csv_in_a_small_budget_gives_the_same_bytes(ingest, tmp_path):
    random = np.random.default_rng(5)
    rows = "".join(f"{n},{n % 7},{value!r}\n" for n, value in enumerate(random.normal(size=100_000)))
    write(tmp_path / "t.csv", "id,to,x\n" + rows)
    words = ["--table", f"t={tmp_path}/t.csv:key=id,to->t"]
    ingest(tmp_path / "large", *words, "--budget", "1GiB")
    ingest(tmp_path / "small", *words, "--budget", "24MiB")
    for path in (tmp_path / "large").iterdir():
        assert path.read_bytes() == (tmp_path / "small" / path.name).read_bytes()


@pytest.mark.parametrize("as_pattern", [False, True])
def test_partitions_become_columns(ingest, tmp_path, as_pattern):
    table = pa.table({"id": range(60), "year": np.repeat([2023, 2024], 30), "month": np.tile([1, 2, 12], 20),
                      "kind": [["a b", "c/d=e", None][n % 3] for n in range(60)]})
    pq.write_to_dataset(table, tmp_path / "t", partition_cols=["year", "month", "kind"])
    files = f"{tmp_path}/t" + ("/year=*/*/*/*.parquet" if as_pattern else "")
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={files}:key=id")
    entries = columns_of(manifest, "t")
    ids = columns["t.key.id"].tolist()
    for name, meaning in (("year", "number"), ("month", "number"), ("kind", "category")):
        assert entries[name]["meaning"] == meaning
        values = table[name].to_pylist()
        require_column(columns, entries[name], [values[number] for number in ids])


def test_folders_of_other_columns_are_refused(ingest, tmp_path):
    for folder in ("year=2024/month=1", "year=2024"):
        (tmp_path / "t" / folder).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"n": [1]}), tmp_path / "t" / folder / "a.parquet")
    assert "its folders name other columns" in ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t", code=3)


def test_a_partition_may_be_a_key_of_another_table(ingest, tmp_path):
    pq.write_table(pa.table({"city": ["Oslo", "Rome"]}), tmp_path / "cities.parquet")
    for city, rows in (("Rome", 2), ("Oslo", 3), ("Bonn", 1)):
        (tmp_path / "t" / f"city={city}").mkdir(parents=True)
        pq.write_table(pa.table({"n": range(rows)}), tmp_path / "t" / f"city={city}" / "a.parquet")
    columns, manifest = ingest(tmp_path / "graph", "--table", f"cities={tmp_path}/cities.parquet:key=city",
                               "--table", f"t={tmp_path}/t:city->cities")
    entry, sources, targets = edges_of(columns, manifest, "f2p_city")
    assert entry["dangling"] == 1 and sources.tolist() == [1, 2, 3, 4, 5] and targets.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("plain_footer", [False, True])
def test_encrypted_parquet_is_refused_by_name(ingest, tmp_path, plain_footer):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Kms(encryption.KmsClient):
        def __init__(self, config):
            super().__init__()

        def wrap_key(self, key, name):
            return base64.b64encode(key)

        def unwrap_key(self, key, name):
            return base64.b64decode(key)

    factory = encryption.CryptoFactory(Kms)
    keys = encryption.EncryptionConfiguration(footer_key="f", column_keys={"c": ["n"]}, plaintext_footer=plain_footer)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), keys)
    table = pa.table({"n": [1, 2]})
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    assert "is encrypted Parquet" in ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.parquet", code=3)


def test_meanings_beside_the_data_or_in_a_file(ingest, tmp_path):
    folder = tmp_path / "set"
    (folder / "db").mkdir(parents=True)
    pq.write_table(pa.table({"id": [0, 1], "zip": [10, 9], "seen": [5, 6]}), folder / "db" / "users.parquet")
    write(folder / "manifest.yaml", "tables:\n  users: {pkey: id}\n")
    write(folder / "meanings.yaml", "users:\n  zip: category\n  seen: time:s\n")
    _, manifest = ingest(tmp_path / "graph", folder)
    assert {name: entry["meaning"] for name, entry in columns_of(manifest, "users").items()} == {"zip": "category", "seen": "time"}
    _, manifest = ingest(tmp_path / "graph", folder, "--meaning", "users.zip=number")
    assert columns_of(manifest, "users")["zip"]["meaning"] == "number"
    other = write(tmp_path / "other.yaml", "users: {seen: skip}\n")
    _, manifest = ingest(tmp_path / "graph", folder, "--meanings", other)
    assert set(columns_of(manifest, "users")) == {"zip"}
    for text, words in (("users: 3\n", "other.yaml:1:8: 'users' is no map"), ("nobody: {a: skip}\n", "no table 'nobody'"),
                        ("users: {zip: [a]}\n", "is no word"), ("users: {zip", "other.yaml:")):
        write(other, text)
        assert words in ingest(tmp_path / "no", folder, "--meanings", other, code=3)
    write(other, "users: {zip: colour}\n")
    assert "cannot have the meaning colour" in ingest(tmp_path / "no", folder, "--meanings", other, code=2)


def test_ctrl_c_ends_the_search_for_types(bin_dir, tmp_path):
    with (tmp_path / "t.csv").open("w") as file:
        file.write("a,b\n" + "1,2024-01-01 00:00:00\n" * 3_000_000)
    command = [bin_dir / "plimsoll", "ingest", "tables", "--table", f"t={tmp_path}/t.csv", "--out", tmp_path / "graph"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        while not list(tmp_path.glob("*graph*")):
            assert process.poll() is None
        process.terminate()
        assert process.wait(4) == -15
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_csv_that_does_not_fit_is_refused(ingest, tmp_path):
    write(tmp_path / "wide.csv", ",".join(f"c{n}" for n in range(400)) + "\n" + (",".join(["1"] * 400) + "\n") * 200)
    write(tmp_path / "long.csv", "a,b\n" + "x" * 3_000_000 + ",1\n")
    for name in ("wide", "long"):
        for budget in ("12MiB", "14MiB", "20MiB"):
            error = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/{name}.csv", "--budget", budget, code=4)
            assert "out of budget" in error, error


def test_quotes_that_are_closed_are_no_error(ingest, tmp_path):
    write(tmp_path / "t.csv", 'id,v\n1,""""\n2,a"b\n3,"x""y"\n4,"a\nb"\n5,""""""')
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv:key=id")
    require_column(columns, columns_of(manifest, "t")["v"], ['"', 'a"b', 'x"y', "a\nb", '""'])


@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_a_blank_line_in_one_column_is_a_missing_value(ingest, tmp_path, line):
    write(tmp_path / "t.csv", "n\n1\n\n3\n", line)
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv")
    require_column(columns, columns_of(manifest, "t")["n"], [1, None, 3])
    write(tmp_path / "t.csv", "n\n" + "1\n22\n" * 60_000, line)  # Line ends are cut at some ends of blocks.
    _, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv")
    assert types_of(manifest)["t"]["nodes"] == 120_000
    write(tmp_path / "t.csv", "n,m\n1,2\n\n3,4\n", line)
    _, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv")
    assert types_of(manifest)["t"]["nodes"] == 2


@pytest.mark.parametrize("values", [["-99999999999999999999", "1"], ["-007", "5"], ["0x10", "1"], ["-0x10", "1"], ["007.5", "1"],
                                    ["9007199254740993", "0.5"], ["-9007199254740993", "0.5"]])
def test_numbers_that_would_lose_digits_are_texts(ingest, tmp_path, values):
    write(tmp_path / "t.csv", "id,n\n" + "".join(f"{row},{value}\n" for row, value in enumerate(values)))
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv:key=id")
    require_column(columns, columns_of(manifest, "t")["n"], values)


def test_numbers_that_lose_no_digits_are_numbers(ingest, tmp_path):
    write(tmp_path / "t.csv", "id,n,m,z,p\n0,9007199254740992,-9007199254740993,-0.5,+5\n1,0.5,0,0,6\n")
    columns, manifest = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t.csv:key=id")
    for name, values in (("n", [2.0**53, 0.5]), ("m", [-(2**53) - 1, 0]), ("z", [-0.5, 0]), ("p", [5.0, 6.0])):
        require_column(columns, columns_of(manifest, "t")[name], values)


def test_csv_in_partitions_is_refused(ingest, tmp_path):
    (tmp_path / "t" / "year=2024").mkdir(parents=True)
    write(tmp_path / "t" / "year=2024" / "a.csv", "n\n1\n")
    error = ingest(tmp_path / "graph", "--table", f"t={tmp_path}/t", code=3)
    assert "a.csv" in error and "CSV has no partitions; make the files Parquet" in error


def test_a_folder_that_cannot_be_read_is_an_error(bin_dir, tmp_path):
    (tmp_path / "t" / "year=2024").mkdir(parents=True)
    pq.write_table(pa.table({"n": [1]}), tmp_path / "t" / "a.parquet")
    (tmp_path / "t" / "year=2024").chmod(0)
    as_nobody = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []  # Root may read all folders.
    if as_nobody and shutil.which("setpriv") is None:
        pytest.skip("root may read all folders, and there is no setpriv")
    command = [*as_nobody, bin_dir / "plimsoll", "ingest", "tables", "--table", f"t={tmp_path}/t", "--out", tmp_path / "graph"]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    (tmp_path / "t" / "year=2024").chmod(0o755)
    assert done.returncode == 3 and "year=2024: Permission denied" in done.stderr, done.stderr


def test_another_value_of_a_partition_is_another_source(bin_dir, tmp_path):
    (tmp_path / "t" / "year=2023").mkdir(parents=True)
    pq.write_table(pa.table({"n": [1]}), tmp_path / "t" / "year=2023" / "a.parquet")
    command = [bin_dir / "plimsoll", "ingest", "tables", "--table", f"t={tmp_path / 't'}", "--out", tmp_path / "graph"]
    first, second = (subprocess.run(command, capture_output=True, text=True) for _ in range(2))
    assert first.returncode == second.returncode == 0 and "already" in second.stdout + second.stderr
    for name in ("year=2022", "month=2023", "year=__HIVE_DEFAULT_PARTITION__"):
        next((tmp_path / "t").iterdir()).rename(tmp_path / "t" / name)
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1 and "--force" in done.stderr
