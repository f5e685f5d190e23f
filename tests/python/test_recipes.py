"""Recipes by name, from any folder: the program holds those of recipes/."""

import json
import subprocess

import pytest
from conftest import REPOSITORY

FILES = sorted((REPOSITORY / "recipes").glob("*.yaml"))


@pytest.fixture
def plimsoll(bin_dir, tmp_path):
    """plimsoll(*arguments): runs it in a folder of its own."""

    def call(*arguments):
        return subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True, cwd=tmp_path)

    return call


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("recipes")
    run("plimsoll", "simulate", "can", "--frames", 9000, "--out", folder / "frames")
    return folder / "frames"


def test_the_program_holds_the_recipes_of_the_project(plimsoll):
    names = [recipe["name"] for recipe in json.loads(plimsoll("recipes", "--json").stdout)["recipes"]]
    assert names == sorted(path.stem for path in FILES)
    table = plimsoll("recipes").stdout
    for path in FILES:
        text = path.read_text()
        assert plimsoll("recipes", path.stem).stdout == text
        assert text.splitlines()[0].removeprefix("# ") in table


def test_a_recipe_is_found_by_name_from_any_folder(plimsoll, frames, tmp_path):
    for name in ("gat", REPOSITORY / "recipes/gat.yaml"):
        done = plimsoll("train", name, "--data", frames, "--run", tmp_path / "run", "--force", "-O", "training.max_epochs=1")
        assert done.returncode == 0, done.stderr
        identity = json.loads((tmp_path / "run/manifest.json").read_text())["identity"]
        (tmp_path / f"{type(name).__name__}.identity").write_text(identity)
    assert len({path.read_text() for path in tmp_path.glob("*.identity")}) == 1
    script = plimsoll("slurm", "gat", "--data", frames, "--run", tmp_path / "job", "--trial", 0)
    assert " train gat --data " in script.stdout, script.stderr


def test_a_file_comes_first_and_an_unknown_name_has_the_nearest(plimsoll, frames, tmp_path):
    (tmp_path / "gat").write_text("seed: many\n")
    assert "gat:1:" in plimsoll("plan", "gat", "--data", frames).stderr
    (tmp_path / "kdgat").mkdir()
    missing = plimsoll("plan", "kdgat", "--data", tmp_path / "missing")
    assert missing.returncode == 3 and "recipe" not in missing.stderr
    unknown = plimsoll("plan", "transfr", "--data", frames)
    assert unknown.returncode == 3 and "did you mean transfer?" in unknown.stderr


def test_python_finds_recipes_by_name(frames, tmp_path):
    package = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    report = package.train("gat", frames, tmp_path / "run", overrides={"training.max_epochs": 1}, threads=1)
    assert report.best_epoch == 1
    with pytest.raises(package.InputError, match="did you mean transfer"):
        package.train("transfr", frames, tmp_path / "run")
