"""`--stage` and `--teacher`: a stage alone goes on with what earlier ones left, and a teacher may come from a file."""

import json
import shutil

import pytest

from conftest import REPOSITORY
from distillations import call, command_in, make_work, results

BEFORE = ["autoencoder", "difficulty", "teacher_encodings", "teacher", "teacher_logits"]
STUDENTS = ["student_vgae", "student_gat", "student_gat_alone"]


@pytest.fixture(scope="module")
def work(run, tmp_path_factory):
    return make_work(run, tmp_path_factory.mktemp("stages"))


@pytest.fixture(scope="module")
def command(bin_dir, work):
    return command_in(bin_dir, work)


@pytest.fixture(scope="module")
def whole(command, work):
    call(command("train", "--run", work / "whole"))
    return work / "whole"


def stages_of(run):
    return [stage["stage"] for stage in json.loads((run / "manifest.json").read_text())["stages"]]


def one_by_one(command, run, names, *more):
    for name in names:
        call(command("train", "--run", run, "--stage", name, *more))


def test_stages_one_by_one_give_the_whole_run(command, whole, tmp_path):
    run = tmp_path / "run"
    one_by_one(command, run, BEFORE + STUDENTS)
    assert results(run) == results(whole)
    assert stages_of(run) == stages_of(whole) == BEFORE + STUDENTS


def test_a_stage_that_lacks_another_says_which(command, tmp_path):
    told = call(command("train", "--run", tmp_path / "run", "--stage", "teacher_logits"), 3)
    assert "the stage teacher makes it" in told
    assert not (tmp_path / "run").exists()


def test_a_stage_that_the_task_lacks_is_refused_before_a_run_is_made(command, tmp_path):
    told = call(command("train", "--run", tmp_path / "run", "--stage", "students"), 2)
    assert "has no stage 'students'; it has autoencoder" in told
    assert not (tmp_path / "run").exists()


def test_a_stage_of_another_recipe_is_refused_and_harms_nothing(command, whole):
    before = results(whole)
    told = call(command("train", "--run", whole, "--stage", "student_gat", "-O", "seed=7"), 2)
    assert "holds a run with another recipe" in told
    assert results(whole) == before


def test_force_starts_a_new_run_with_the_stage(command, whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    call(command("train", "--run", tmp_path / "run", "--stage", "autoencoder", "--force"))
    assert stages_of(tmp_path / "run") == ["autoencoder"]
    assert not (tmp_path / "run" / "seed-42" / "teacher").exists()


def test_a_teacher_from_a_file_gives_the_same_students(command, whole, tmp_path):
    """It is the file that the stage would have made: what comes after it does not change."""
    teacher = whole / "seed-42" / "teacher" / "model.safetensors"
    run = tmp_path / "run"
    call(command("train", "--run", run, "--teacher", teacher))
    assert "teacher" not in stages_of(run)
    for stage in STUDENTS:
        file = f"seed-42/{stage}/model.safetensors"
        assert (run / file).read_bytes() == (whole / file).read_bytes(), stage


def test_a_teacher_that_is_no_detector_is_refused(command, tmp_path):
    (tmp_path / "teacher.safetensors").write_bytes(b"\x08\x00\x00\x00\x00\x00\x00\x00{}      ")
    told = call(command("train", "--run", tmp_path / "run", "--teacher", tmp_path / "teacher.safetensors"), 3)
    assert "teacher.safetensors" in told
    assert not (tmp_path / "run").exists()


def test_a_run_goes_on_with_its_own_teacher_alone(command, whole, tmp_path):
    first, second = tmp_path / "a.safetensors", tmp_path / "b.safetensors"
    shutil.copy(whole / "seed-42" / "teacher" / "model.safetensors", first)
    one_by_one(command, tmp_path / "other", ["autoencoder", "difficulty", "teacher"], "-O", "seed=7")
    shutil.copy(tmp_path / "other" / "seed-7" / "teacher" / "model.safetensors", second)
    one_by_one(command, tmp_path / "run", ["autoencoder", "teacher_encodings"], "--teacher", first)
    told = call(command("train", "--run", tmp_path / "run", "--resume", "--teacher", second), 2)
    assert "another recipe, other data or another teacher" in told
    call(command("train", "--run", tmp_path / "run", "--resume", "--teacher", first))


def test_a_teacher_is_for_a_distillation(bin_dir, work, whole, tmp_path):
    told = call([str(bin_dir / "plimsoll"), "train", str(REPOSITORY / "recipes" / "gat.yaml"), "--data", str(work / "frames"), "--run",
                 str(tmp_path / "run"), "--teacher", str(whole / "seed-42" / "teacher" / "model.safetensors")], 2)
    assert "tasks that accept it: distillation" in told
