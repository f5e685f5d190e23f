"""What a user may get wrong, and the exit code and the words that answer it (docs/command-line.md)."""

import gzip
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from made_up import random_frames, write_capture


@pytest.fixture
def plimsoll(bin_dir, pytestconfig):
    def call(*arguments, stdout=subprocess.PIPE):
        return subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE,
                              text=True, timeout=600, cwd=pytestconfig.rootpath)

    call.program = bin_dir / "plimsoll"
    return call


@pytest.fixture(scope="module")
def made_up_frames(run, tmp_path_factory):
    """A small set of frames with attacks in training and test."""
    folder = tmp_path_factory.mktemp("made_up")
    rng = np.random.default_rng(1)
    write_capture(folder / "in/train_a/DoS-1.csv", random_frames(rng, 9000, range(40), 0.3))
    write_capture(folder / "in/test_a/DoS-2.csv.zst", random_frames(rng, 3000, range(45), 0.3))
    run("plimsoll", "ingest", "can", folder / "in", "--out", folder / "frames")
    return folder / "frames"


def expect(done, code, *words):
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert not done.stdout
    for word in words:
        assert word in done.stderr


def test_help_shows_an_example_for_every_verb(plimsoll):
    for verb in (["ingest", "can"], ["windows"], ["inspect"], ["verify"], ["train"], ["evaluate"]):
        done = plimsoll(*verb, "--help")
        assert done.returncode == 0
        assert "Example: plimsoll " + " ".join(verb) in done.stdout


def test_plimsoll_is_free_of_torch(bin_dir):
    libraries = subprocess.run(["ldd", bin_dir / "plimsoll"], capture_output=True, text=True, check=True).stdout
    assert "libtorch" not in libraries and "libc10" not in libraries


def test_usage_errors(plimsoll, tmp_path):
    expect(plimsoll(), 2)
    expect(plimsoll("fly"), 2)
    expect(plimsoll("ingest", "can", tmp_path), 2, "--out")
    write_capture(tmp_path / "train/a-1.csv", [("110", "00", 0)])
    expect(plimsoll("ingest", "can", tmp_path, "--out", tmp_path / "x", "--budget", "lots"), 2, "lots")


@pytest.mark.parametrize("override, words", [
    ("training.max_epoch=3", ["training.max_epoch", "training.max_epochs"]),
    ("training.max_epochs=many", ["many", "whole number"]),
    ("gat.dropout=1.5", ["1.5"]),
    ("training.safety_factor=0.6", ["--budget"]),
    ("gat=large", ["-O gat=large: 'gat' is a section, found 'large', expected its keys, such as gat.preset=large"]),
    ("gat=5", ["-O gat=5: 'gat' is a section, found '5', expected its keys, such as gat.preset=..."]),
    ("training.precision=16-true", ["precision", "training.block"]),
])
def test_recipe_errors_come_before_anything_else(plimsoll, tmp_path, override, words):
    done = plimsoll("train", "recipes/gat.yaml", "--data", tmp_path / "absent", "--run", tmp_path / "run", "-O", override)
    expect(done, 2, *words)


def test_bad_captures_name_file_line_and_column_and_leave_nothing(plimsoll, tmp_path):
    source = tmp_path / "in" / "train_a" / "bad-1.csv"
    source.parent.mkdir(parents=True)
    source.write_text("timestamp,arbitration_id,data_field,attack\n1.0,110,00,0\n1.1,XYZ,00,0\n")
    expect(plimsoll("ingest", "can", tmp_path / "in", "--out", tmp_path / "out"), 3, "bad-1.csv:3:5", "XYZ")
    source.with_suffix(".csv.zst").write_bytes(b"this is not zstd")
    source.unlink()
    expect(plimsoll("ingest", "can", tmp_path / "in", "--out", tmp_path / "out"), 3, "bad-1.csv.zst", "zstd")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    expect(plimsoll("ingest", "can", tmp_path / "nowhere", "--out", tmp_path / "out"), 3, "nowhere")


def test_an_existing_output_is_recognised_or_refused(plimsoll, tmp_path):
    write_capture(tmp_path / "in/train_a/a-1.csv", [("110", "00", 0)] * 500)
    arguments = ("ingest", "can", tmp_path / "in", "--out", tmp_path / "out")
    assert plimsoll(*arguments).returncode == 0
    again = plimsoll(*arguments)
    assert again.returncode == 0 and "nothing done" in again.stdout
    write_capture(tmp_path / "in/train_a/a-1.csv", [("111", "00", 0)] * 500)
    expect(plimsoll(*arguments), 1, "--force")
    assert plimsoll(*arguments, "--force").returncode == 0


@pytest.mark.parametrize("column", ["time_ns", "can_id", "length", "data", "label"])
def test_verify_finds_a_changed_byte_in_any_column(plimsoll, made_up_frames, tmp_path, column):
    shutil.copytree(made_up_frames, tmp_path / "frames")
    path = tmp_path / "frames" / f"{column}.npy"
    content = bytearray(path.read_bytes())
    content[len(content) - 3] ^= 1
    path.write_bytes(content)
    assert plimsoll("verify", made_up_frames).returncode == 0
    expect(plimsoll("verify", tmp_path / "frames"), 3, column, "checksum")


def test_damaged_data_sets_are_refused(plimsoll, made_up_frames, tmp_path):
    def damaged(name, change):
        folder = tmp_path / name
        shutil.copytree(made_up_frames, folder)
        change(folder)
        expect(plimsoll("inspect", folder), 3, name)

    damaged("no_manifest", lambda folder: (folder / "manifest.json").unlink())
    damaged("no_json", lambda folder: (folder / "manifest.json").write_text("{"))
    damaged("no_column", lambda folder: (folder / "label.npy").unlink())
    damaged("short_column", lambda folder: (folder / "data.npy").write_bytes((folder / "data.npy").read_bytes()[:-1]))
    damaged("no_npy", lambda folder: (folder / "label.npy").write_bytes(b"x" * 5000))
    damaged("empty_column", lambda folder: (folder / "label.npy").write_bytes(b""))
    expect(plimsoll("inspect", tmp_path), 3, "not a data set")


def test_a_run_that_cannot_be_judged_says_why(plimsoll, made_up_frames, tmp_path):
    run = tmp_path / "run"
    train = ("train", "recipes/gat.yaml", "--data", made_up_frames, "--run", run, "-O", "training.max_epochs", "1")
    assert plimsoll(*train).returncode == 0
    expect(plimsoll(*train), 1, "--force")
    assert plimsoll(*train, "--force").returncode == 0
    before = (run / "manifest.json").read_text()
    expect(plimsoll(*train, "--force", "--budget", "62MiB"), 4, "smallest budget")
    assert (run / "manifest.json").read_text() == before
    expect(plimsoll(*train[:4], "--run", made_up_frames, "--force"), 1, "does not hold a run")
    assert (made_up_frames / "manifest.json").exists()
    expect(plimsoll("evaluate", run, "--data", made_up_frames, "--split", "test_b"), 2, "test_b", "test_a")
    expect(plimsoll("evaluate", tmp_path / "absent", "--data", made_up_frames), 3, "absent")
    verdict = json.loads(plimsoll("evaluate", run, "--data", made_up_frames, "--split", "test_a", "--json").stdout)
    assert [split["name"] for split in verdict["splits"]] == ["test_a"]
    model = run / "seed-42" / "gat" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-100])
    expect(plimsoll("evaluate", run, "--data", made_up_frames), 3, "model.safetensors")


def test_a_training_set_of_one_class_is_refused(plimsoll, run, tmp_path):
    rng = np.random.default_rng(2)
    write_capture(tmp_path / "in/train_a/benign-1.csv", random_frames(rng, 3000, range(40)))
    run("plimsoll", "ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    done = plimsoll("train", "recipes/gat.yaml", "--data", tmp_path / "frames", "--run", tmp_path / "run")
    expect(done, 3, "both kinds")


def test_what_simulate_injects_is_asked_for_and_told(plimsoll, run, tmp_path):
    clean, both = tmp_path / "clean", tmp_path / "both"
    expect(plimsoll("simulate", "can", "--out", clean, "--frames", 8000, "--keep"), 2, "--keep", "--inject")
    expect(plimsoll("simulate", "can", "--out", clean, "--frames", 8000, "--target", "periodic"), 2, "--target", "--inject")
    expect(plimsoll("simulate", "can", "--out", clean, "--frames", 8000, "--label-silence"), 2, "--label-silence", "--inject")
    run("plimsoll", "simulate", "can", "--out", clean, "--frames", 40000, "--attacks", "none")
    inject = ("simulate", "can", "--out", both, "--inject", clean)
    expect(plimsoll(*inject, "--attacks", "flood"), 2, "'flood'", "flooding")
    expect(plimsoll(*inject, "--target", "all"), 2, "periodic")
    attacks = ["injection", "flooding", "suppression"]
    summary = json.loads(run("plimsoll", *inject, "--attacks", ",".join(attacks), "--target", "periodic",
                             "--label-silence", "--keep", "--json"))
    assert (summary["recordings"], summary["left_out"], summary["not_periodic"]) == (8, 0, 0)
    manifest = json.loads((both / "manifest.json").read_text())
    assert manifest["provenance"]["options"] == {"inject": attacks, "seed": 1, "target": "periodic",
                                                 "label_silence": True, "keep": True}
    names = [recording["name"] for recording in manifest["recordings"]]
    assert names == sorted(f"{attack}attack-free-{vehicle}" for vehicle in (1, 2)
                           for attack in ["", *(f"{name}-" for name in attacks)])
    assert all((recording["attack_frames"] > 0) == (recording["attack"] in attacks) for recording in manifest["recordings"])
    run("plimsoll", "verify", both)


def test_the_table_of_common_options_names_the_verbs_that_have_them(plimsoll, pytestconfig):
    page = (pytestconfig.rootpath / "docs" / "command-line.md").read_text()
    verbs = [verb for verb in re.findall(r"^\| \[`([a-z -]+)`\]", page, re.M) if verb.split()[0] not in ("import", "export", "sync")]
    helps = {verb: plimsoll(*verb.split(), "--help").stdout for verb in verbs}
    assert len(verbs) > 25 and all(helps.values())
    table = page[page.index("## Common options"):page.index("**Sizes**")]
    for option, meaning in re.findall(r"^\| `(--[a-z]+).*?` \| (.*) \|$", table, re.M):
        named = set(re.findall("`([a-z][a-z -]*)`", meaning))
        told = {verb for verb in verbs if named & {verb, verb.split()[0]}}
        if "all verbs except" in meaning:
            told = set(verbs) - told
        assert told == {verb for verb in verbs if option in re.findall(r"--[a-z-]+", helps[verb])}, option


def test_inspect_shows_columns_of_every_kind(plimsoll, run, tmp_path):
    run("plimsoll", "simulate", "graph", "--nodes", 500, "--out", tmp_path / "graph")
    run("plimsoll", "walks", tmp_path / "graph", "--out", tmp_path / "walks", "--length", 3, "--walks", 2)
    text = run("plimsoll", "inspect", tmp_path / "walks")
    assert text.startswith(f"{tmp_path}/walks: walks\n") and re.search(r"^walks +<u4 +\[1000,4\]", text, re.M), text


def test_top_shows_runs_alone(plimsoll, made_up_frames):
    expect(plimsoll("top", made_up_frames, "--once"), 3, f"{made_up_frames}: is not a run")


@pytest.mark.parametrize("words, found, expected", [
    (["simulate", "can", "--out", "x", "--frames", "0"], "--frames: found '0'", "a whole number of 1 or more"),
    (["simulate", "graph", "--out", "x", "--nodes", "-3"], "--nodes: found '-3'", "a whole number of 1 or more"),
    (["windows", "x", "--out", "y", "--calibrate", "-1"], "--calibrate: found '-1'", "a whole number of 0 or more"),
    (["evaluate", "x", "--data", "y", "--calibrate", "1.5"], "--calibrate: found '1.5'", "a whole number of 0 or more"),
    (["ingest", "graph", "--edges", "x", "--out", "y", "--node-count", "0"], "--node-count: found '0'", "a whole number of 1 or more"),
    (["detect", "x", "y", "--event-gap", "nan"], "--event-gap: found 'nan'", "a number from 0 to 86400"),
    (["detect", "x", "y", "--event-window", "0"], "--event-window: found '0'", "a number from 0.001 to 86400"),
    (["detect", "x", "y", "--threshold", "nan"], "--threshold: found 'nan'", "a number"),
    (["detect", "x", "y", "--threshold", "inf"], "--threshold: found 'inf'", "a number"),
    (["top", "--interval", "nan"], "--interval: found 'nan'", "a number from 0.1 to 3600"),
    (["slurm", "x", "--data", "y", "--run", "z", "--time-margin", "nan"], "--time-margin: found 'nan'", "a number from 1 to 100"),
])
def test_a_number_out_of_range_is_named_with_the_range(plimsoll, words, found, expected):
    done = plimsoll(*words)
    expect(done, 2, f"{found}, expected {expected}\n")


@pytest.mark.parametrize("words, error", [
    (["trian"], "'trian' is not a verb; the nearest is 'train'; `plimsoll --help` lists all"),
    (["fly"], "'fly' is not a verb; `plimsoll --help` lists all"),
    (["ingest", "cna", "x"], "'cna' is not a verb of `plimsoll ingest`; the nearest is 'can'; `plimsoll ingest --help` lists all"),
    (["detect", "x", "y", "--event-grap", "1"],
     "'--event-grap' is not an option of `plimsoll detect`; the nearest is '--event-gap'; `plimsoll detect --help` lists all"),
    (["train", "--hlep"], "'--hlep' is not an option of `plimsoll train`; the nearest is '--help'; `plimsoll train --help` lists all"),
    (["ingest", "can", "x", "--otu=y"],
     "'--otu' is not an option of `plimsoll ingest can`; the nearest is '--out'; `plimsoll ingest can --help` lists all"),
    (["train", "recipe.yaml", "--xyzzy-me"], "'--xyzzy-me' is not an option of `plimsoll train`; `plimsoll train --help` lists all"),
    (["ingest", "graph", "--lables", "x"],
     "'--lables' is not an option of `plimsoll ingest graph`; the nearest is '--labels'; `plimsoll ingest graph --help` lists all"),
    (["verify", "x", "-z"], "'-z' is not an option of `plimsoll verify`; `plimsoll verify --help` lists all"),
])
def test_a_word_that_is_none_is_named(plimsoll, words, error):
    expect(plimsoll(*words), 2, f"plimsoll: {error}\n")


def test_what_is_missing_is_named_where_all_words_are_right(plimsoll):
    expect(plimsoll("train", "recipe.yaml", "--run", "x"), 2, "--data is required")
    expect(plimsoll("ingest"), 2, "subcommand is required")


def test_sources_that_are_none_are_named(plimsoll, tmp_path):
    def refused(name, content, *words):
        path = tmp_path / "in" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        for verb in ("ingest", "can"), ("convert",):
            done = subprocess.run([plimsoll.program, *verb, path, "--out", tmp_path / "out"], capture_output=True)
            error = done.stderr.decode(errors="surrogateescape")
            assert done.returncode == 3 and all(word in error for word in (str(path), *words)), error
        path.unlink()

    lines = b"".join(b"1.%d,110,00,0\n" % i for i in range(20000))
    refused("empty.csv", b"", "holds no frames")
    refused("blank.csv", b"\n \r\n", "holds no frames")
    refused("plain.csv.gz", lines, "no gzip data", "rename the file")
    refused("plain.csv.zst", lines, "near byte 0 ")
    refused("damaged.csv.gz", gzip.compress(lines, mtime=0)[:2000] + b"x" * 100_000, "damaged gzip data near byte 2")
    assert not (tmp_path / "out").exists()


def test_a_name_that_is_no_text_is_refused_at_once(plimsoll, tmp_path):
    path = os.fsencode(tmp_path) + b"/a\xff.csv"
    with open(path, "w") as file:
        file.write("this is not read\n")
    done = subprocess.run([plimsoll.program, "ingest", "can", path, "--out", tmp_path / "out"], capture_output=True)
    assert done.returncode == 3 and path + b": its name is not UTF-8; rename it\n" in done.stderr


def test_json_replaces_what_is_no_text_in_a_path(plimsoll, tmp_path):
    def summary(*words):
        done = subprocess.run([plimsoll.program, *words, "--json"], capture_output=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.decode())

    root = os.fsencode(tmp_path)
    shown = f"{tmp_path}/a\ufffd"
    assert summary("simulate", "can", "--out", root + b"/a\xff", "--frames", "2000")["out"] == shown
    assert summary("verify", root + b"/a\xff") == {"folder": shown, "whole": True, "findings": []}
    assert summary("stage", root + b"/a\xff", "--to", root + b"/c\xff")["folder"].startswith(f"{tmp_path}/c\ufffd/a\ufffd-")
    evicted = summary("stage", "--evict", "--to", root + b"/c\xff")
    assert evicted["root"] == f"{tmp_path}/c\ufffd" and evicted["evicted"][0]["name"].startswith("a\ufffd-")
    os.mkdir(root + b"/run\xff")
    with open(root + b"/run\xff/manifest.json", "w") as file:
        file.write('{"kind": "run"}')
    assert summary("job-report", root + b"/run\xff")["run"] == f"{tmp_path}/run\ufffd"


def test_a_folder_is_no_file(plimsoll, tmp_path):
    expect(plimsoll("ingest", "graph", "--edges", tmp_path, "--out", tmp_path / "out"), 3, f"{tmp_path}: is a folder, expected a file")


def test_the_folder_of_a_converted_capture_is_made(plimsoll, tmp_path):
    write_capture(tmp_path / "a.csv", [("110", "00", 0)] * 500)
    done = plimsoll("convert", tmp_path / "a.csv", "--out", tmp_path / "new" / "deep" / "a.log")
    assert done.returncode == 0 and (tmp_path / "new" / "deep" / "a.log").stat().st_size > 0, done.stderr
    (tmp_path / "a.csv").write_text("1.0,110,00,0\nx\n")
    assert plimsoll("convert", tmp_path / "a.csv", "--out", tmp_path / "other" / "a.log").returncode == 3
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("words, told", [
    (("train", "recipes/gat.yaml", "--data", "frames", "--run", "run", "--budget", ""), "after --budget"),
    (("train", "recipes/gat.yaml", "--data", "frames", "--run", ""), "after --run"),
    (("ingest", "can", "caps", "--out="), "after --out="),
    (("simulate", "can", "--out", ""), "after --out"),
    (("", "can"), "at the start"),
])
def test_an_empty_argument_is_refused(plimsoll, words, told):
    expect(plimsoll(*words), 2, f"found an empty argument {told}, expected a value")


def test_an_option_may_have_a_value_that_ends_like_one_without(plimsoll, tmp_path):
    write_capture(tmp_path / "caps/train_a/DoS-1.csv", random_frames(np.random.default_rng(1), 3000, range(40), 0.3))
    done = plimsoll("ingest", "can", tmp_path / "caps", "--out", tmp_path / "new", "--attack-label==")
    assert done.returncode == 0, done.stderr
    expect(plimsoll("ingest", "can", tmp_path / "caps", "--out="), 2, "found an empty argument")


def test_a_result_that_standard_output_loses_is_an_error(plimsoll, made_up_frames, tmp_path):
    with open("/dev/full", "w") as full:
        for command in (["ingest", "can", made_up_frames.parent / "in", "--out", tmp_path / "frames"],
                        ["inspect", made_up_frames], ["verify", made_up_frames], ["inspect", "--limits"], ["--help"],
                        ["windows", made_up_frames, "--out", tmp_path / "graphs", "--json"]):
            done = plimsoll(*command, stdout=full)
            assert done.returncode == 1, command
            assert "standard output: No space left on device" in done.stderr
    assert plimsoll("verify", tmp_path / "frames").returncode == 0  # the data are there
