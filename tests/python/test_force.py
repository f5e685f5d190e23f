"""`--force` replaces what plimsoll wrote, and never what is read or what others wrote (docs/formats/data-set.md)."""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from made_up import random_frames, write_capture


@pytest.fixture
def plimsoll(bin_dir, pytestconfig):
    def call(*arguments, code=0, words=(), **environment):
        done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True,
                              timeout=300, cwd=pytestconfig.rootpath, env={**os.environ, **environment})
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        for word in words:
            assert word in done.stderr, done.stderr
        return done

    return call


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """Captures, frames, windows, a giant graph of edges and a run."""
    folder = tmp_path_factory.mktemp("made")
    write_capture(folder / "caps/train_a/DoS-1.csv", random_frames(np.random.default_rng(1), 9000, range(40), 0.3))
    run("plimsoll", "ingest", "can", folder / "caps", "--out", folder / "frames")
    run("plimsoll", "train", "recipes/gat.yaml", "--data", folder / "frames", "--run", folder / "run", "-O",
        "training.max_epochs=1")
    return folder


@pytest.fixture
def place(made, tmp_path):
    """A copy of all of it, which must stay as it is."""
    shutil.copytree(made, tmp_path / "made")
    shutil.copytree(made / "frames", tmp_path / "made/run/frames")
    (tmp_path / "made/caps/notes.md").write_text("precious")
    (tmp_path / "made/home").mkdir()
    (tmp_path / "made/home/thesis.txt").write_text("precious")
    (tmp_path / "made/script.sh").write_text("precious")
    (tmp_path / "made/edges").mkdir()
    (tmp_path / "made/edges/edges.tsv").write_text("0\t1\n1\t2\n")
    return tmp_path / "made"


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("out, words, told", [
    ("caps", "ingest can {0}/caps", "is an input, and would be replaced"),
    ("caps/train_a", "ingest can {0}/caps", "holds DoS-1.csv, which is not part of such an output"),
    ("frames", "windows {0}/frames", "is an input, and would be replaced"),
    ("frames", "simulate can --inject {0}/frames --attacks DoS", "is an input, and would be replaced"),
    ("frames", "convert {0}/frames --to candump", "is an input, and would be replaced"),
    ("run", "predict {0}/run --data {0}/frames", "run is an input, and would be replaced"),
    ("run", "windows {0}/frames", "holds a run"),
    ("run", "train recipes/gat.yaml --data {0}/run/frames", "frames is an input, and would be replaced"),
    ("home", "simulate can --frames 3000", "holds thesis.txt"),
    ("home", "simulate can --frames 3000 --format csv", "holds thesis.txt"),
    ("script.sh", "ingest can {0}/caps", "is a file, but the output is a folder"),
    ("edges", "ingest graph --edges {0}/edges/edges.tsv", "edges.tsv is an input, and would be replaced"),
    ("caps/train_a/DoS-1.csv", "convert {0}/caps/train_a/DoS-1.csv --to csv", "is an input, and would be overwritten"),
    ("caps/train_a", "convert {0}/caps/train_a/DoS-1.csv --to csv", "is an input, and would be replaced"),
    ("caps/train_a/DoS-1.csv", "calibrate {0}/run/detector.safetensors --benign {0}/caps/train_a/DoS-1.csv",
     "is an input, and would be overwritten"),
])
def test_force_never_deletes_what_is_read_or_what_others_wrote(plimsoll, place, out, words, told):
    before = content(place)
    trains = words.startswith("train")
    command = [*words.format(place).split(), "--run" if trains else "--out", place / out]
    refused = plimsoll(*command, "--force", code=1, words=[told, "another"])
    assert content(place) == before
    if not trains and "DoS-1.csv" not in out:
        again = plimsoll(*command, code=1, words=[told])
        assert "--force" not in again.stderr and again.stderr == refused.stderr


def test_a_run_with_the_original_of_a_staged_copy_is_not_replaced(plimsoll, place, tmp_path):
    data = place / "run/frames"
    plimsoll("stage", data, "--to", tmp_path / "cache")
    plimsoll("train", "recipes/gat.yaml", "--data", data, "--run", place / "run", "--force", code=1,
             words=["frames is an input, and would be replaced"], PLIMSOLL_CACHE=str(tmp_path / "cache"))
    assert (data / "manifest.json").exists()
    plimsoll("train", "recipes/gat.yaml", "--data", place / "frames", "--run", place / "run", "--force", "-O",
             f"init_from={place}/run/detector.safetensors", code=1, words=["detector.safetensors is an input, and would be replaced"])


def test_a_detector_writes_over_no_source_and_no_recipe_of_others(plimsoll, place):
    capture = place / "caps/train_a/DoS-1.csv"
    before = capture.read_bytes()
    plimsoll("detector", capture, "--out", capture, "--work", place / "work", "--force", code=1, words=["is an input, and would be overwritten"])
    assert capture.read_bytes() == before
    (place / "work").mkdir()
    (place / "work/recipe.yaml").write_text("precious")
    plimsoll("detector", capture, "--out", place / "car.safetensors", "--work", place / "work", code=1,
             words=["recipe.yaml differs from the recipe"])
    assert (place / "work/recipe.yaml").read_text() == "precious"


@pytest.mark.parametrize("words", ["calibrate {0}/a --merge {0}/b --out {0}/b", "export {0}/a --to state_dict --out {0}/a",
                                   "import kdgat {0}/a --out {0}/a"])
def test_no_model_that_is_read_is_written_over(plimsoll, place, words):
    for name in "ab":
        shutil.copy(place / "run/detector.safetensors", place / name)
    before = (place / "a").read_bytes()
    if not words.startswith("calibrate"):
        pytest.importorskip("plimsoll")
    plimsoll(*words.format(place).split(), "--force", code=1, words=["is an input, and would be overwritten"],
             PLIMSOLL_PYTHON=sys.executable)
    assert (place / "a").read_bytes() == (place / "b").read_bytes() == before


def test_a_run_that_trains_is_not_replaced(plimsoll, bin_dir, place, pytestconfig):
    run = place / "two"
    trainer = subprocess.Popen([bin_dir / "plimsoll", "train", "recipes/gat.yaml", "--data", place / "frames", "--run",
                                run, "-O", "training.max_epochs=100000"], cwd=pytestconfig.rootpath,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not (run / "run.lock").exists():
            assert trainer.poll() is None
            time.sleep(0.01)
        plimsoll("predict", place / "run", "--data", place / "frames", "--out", run, "--force", code=1, words=["two holds "])
        assert trainer.poll() is None and (run / "run.lock").exists()
    finally:
        trainer.kill()
        trainer.wait()


def test_force_replaces_what_plimsoll_wrote(plimsoll, place):
    out = place / "out"
    for words in (f"windows {place}/frames", f"ingest can {place}/caps", f"predict {place}/run --data {place}/frames --csv",
                  f"convert {place}/frames --to candump", f"convert {place}/frames --to candump"):
        plimsoll(*words.split(), "--out", out, "--force")
    assert list(content(out)) == ["train_a/DoS-1.log"]


@pytest.mark.parametrize("words", [
    "evaluate {0}/run --data {0}/frames --scores {0}/run/recipe.yaml",
    "evaluate {0}/run --data {0}/frames --scores {0}/frames/label.npy",
    "compare {0}/run {0}/run --page {0}/run/manifest.json",
    "plan {0}/run/recipe.yaml --data {0}/frames --snapshot {0}/run/recipe.yaml",
])
def test_no_file_that_is_read_is_written_over(plimsoll, place, words):
    before = content(place)
    plimsoll(*words.format(place).split(), code=1, words=["is an input, and would be overwritten; name another file"])
    assert content(place) == before
