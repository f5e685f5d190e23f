"""A run is not resumed where what remains would be rounded in another way, unless that is asked for."""

import json
import os
import shutil
import subprocess

import pytest

RECIPE = "task: detection\ntraining: {batch_size: 64}\ngat: {hidden: 8, heads: 2}\n"
LONGER = ("--resume", "-O", "training.max_epochs=3")


@pytest.fixture(scope="module")
def train(bin_dir, run, tmp_path_factory):
    """train(folder, *arguments, **environment): the ended process."""
    around = tmp_path_factory.mktemp("rounding")
    run("plimsoll", "simulate", "can", "--out", around / "frames", "--frames", "20000", "--seed", "3")
    (around / "recipe.yaml").write_text(RECIPE)

    def call(folder, *arguments, **environment):
        return subprocess.run([str(bin_dir / "plimsoll"), "train", str(around / "recipe.yaml"), "--data", str(around / "frames"),
                               "--run", str(folder), "--threads", "1", "--json", *arguments], capture_output=True, text=True,
                              timeout=600, env=os.environ | environment)

    return call


@pytest.fixture(scope="module")
def begun(train, tmp_path_factory):
    """A run of one epoch."""
    folder = tmp_path_factory.mktemp("begun") / "run"
    done = train(folder, "-O", "training.max_epochs=1")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(begun, tmp_path):
    return shutil.copytree(begun, tmp_path / "run")


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def change(folder, change_it):
    manifest = manifest_of(folder)
    change_it(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))


def checkpoint_roundings(folder):
    newest = sorted(folder.glob("seed-42/gat/checkpoints/step-*"))[-1].read_bytes()
    header = json.loads(newest[8:8 + int.from_bytes(newest[:8], "little")])
    return json.loads(header["__metadata__"]["plimsoll.roundings"])


def content(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def weights(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["weights"]


def assert_refused(done, *texts):
    assert done.returncode == 2, done.stderr
    for text in (*texts, "--allow-other-rounding", "--force"):
        assert text in done.stderr


def test_a_run_and_its_checkpoints_say_how_they_are_rounded(folder):
    [here] = manifest_of(folder)["roundings"]
    assert set(here) == {"numerics", "kernels", "torch", "torch_kernels", "processor", "mkl_cbwr"}
    assert here["torch"][:2] == "2." and here["kernels"] in ("portable", "avx2", "avx512")
    assert checkpoint_roundings(folder) == [here]


@pytest.mark.parametrize("part", ["numerics", "torch", "processor"])
def test_another_rounding_is_refused_and_changes_nothing(train, folder, part):
    change(folder, lambda manifest: manifest["roundings"][0].update({part: "before"}))
    before = content(folder)
    assert_refused(train(folder, *LONGER), " before (here ")
    assert content(folder) == before


def test_another_level_continues_where_that_is_asked_for(train, folder):
    if manifest_of(folder)["roundings"][0]["kernels"] == "portable":
        pytest.skip("the portable kernels are all that this processor has")
    other = {"PLIMSOLL_SIMD": "portable"}
    assert_refused(train(folder, *LONGER, **other), "level of kernels", "(here portable)")
    allowed = train(folder, *LONGER, "--allow-other-rounding", **other)
    assert weights(allowed) and "warning" in allowed.stderr and "level of kernels" in allowed.stderr
    assert [one["kernels"] for one in manifest_of(folder)["roundings"]][1:] == ["portable"]
    assert checkpoint_roundings(folder) == manifest_of(folder)["roundings"]
    again = train(folder, *LONGER, **other)  # as the last process
    assert weights(again) == weights(allowed) and "warning" not in again.stderr
    assert_refused(train(folder, *LONGER), "level of kernels portable")


def test_without_a_manifest_checkpoints_say_how_the_run_was_rounded(train, folder):
    (folder / "manifest.json").unlink()
    if checkpoint_roundings(folder)[0]["kernels"] != "portable":
        assert_refused(train(folder, *LONGER, PLIMSOLL_SIMD="portable"), "(here portable)")
    assert weights(train(folder, *LONGER))
    assert len(manifest_of(folder)["roundings"]) == 1


def test_a_run_of_an_older_version_resumes_to_the_same_weights(train, folder, tmp_path):
    whole = weights(train(tmp_path / "whole", "-O", "training.max_epochs=3"))
    change(folder, lambda manifest: manifest.pop("roundings"))
    done = train(folder, *LONGER)
    assert weights(done) == whole
    assert "did not record how it rounds" in done.stderr
    assert len(manifest_of(folder)["roundings"]) == 1


def test_a_run_without_results_may_start_anywhere(train, folder):
    shutil.rmtree(folder / "seed-42")
    change(folder, lambda manifest: manifest["roundings"][0].update({"torch": "before"}))
    assert weights(train(folder, *LONGER))
    assert "before" not in json.dumps(manifest_of(folder)["roundings"])
