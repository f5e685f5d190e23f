"""Data and recipes that cannot be used: each is refused in a sentence that says what to do, and leaves nothing."""

import json
import subprocess

import numpy as np
import pytest
from made_up import random_frames, write_capture

IDS = range(0x100, 0x118)
RECIPES = ["recipes/gat.yaml", "recipes/kdgat-demo.yaml"]
SHORT = ["training.max_epochs=1", "data.features=compat"]
MADE = {  # attacked share of the frames of each recording
    "whole": {"train_01/attack-free-1": 0, "train_02/DoS-1": 0.3, "train_02/fuzzing-1": 0.3, "test_01/DoS-2": 0.3,
              "test_02/attack-free-2": 0},
    "benign": {"train_01/attack-free-1": 0, "test_01/DoS-2": 0.3},
    "attacks": {"train_02/DoS-1": 1, "test_01/DoS-2": 0.3},
    "attacks in all windows": {"train_02/DoS-1": 0.99, "test_01/DoS-2": 0.3},
}


@pytest.fixture(scope="module")
def call(bin_dir, pytestconfig):
    """call(*arguments, code=0, words=()): runs plimsoll; exit code and standard error must be so."""

    def run(*arguments, code=0, words=()):
        done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True,
                              timeout=600, cwd=pytestconfig.rootpath)
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        for word in words:
            assert word in done.stderr, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def frames(call, tmp_path_factory):
    """frames(name): a set of frames of MADE."""
    made = {}

    def make(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("made")
            rng = np.random.default_rng(5)
            for path, share in MADE[name].items():
                rows = random_frames(rng, 4000, IDS, share)
                write_capture(folder / "in" / f"{path}.csv", rows)
            call("ingest", "can", folder / "in", "--out", folder / "frames")
            made[name] = folder / "frames"
        return made[name]

    return make


def train(call, data, run, *overrides, recipe=RECIPES[0], **expected):
    options = [word for override in (*SHORT, *overrides) for word in ("-O", override)]
    out = call("train", recipe, "--data", data, "--run", run, *options, "--json", **expected)
    if expected:
        assert not run.exists()
        call("plan", recipe, "--data", data, *options, **expected)
    return out


def resume(call, data, run, *overrides, **expected):
    options = [word for override in (*SHORT, *overrides) for word in ("-O", override)]
    call("train", RECIPES[1], "--data", data, "--run", run, "--resume", *options, **expected)


@pytest.mark.parametrize("recipe", RECIPES)
def test_frames_without_labels_train_no_detector(call, tmp_path, recipe):
    for split, payload in (("train_01", "AABB"), ("test_01", "CCDD")):
        (tmp_path / "in" / split).mkdir(parents=True)
        lines = [f"({1000 + i * 0.001:.6f}) can0 {0x100 + i % 7:03X}#{payload}\n" for i in range(2000)]
        (tmp_path / "in" / split / "drive.log").write_text("".join(lines))
    call("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    for features in ("compat", "behaviour"):
        train(call, tmp_path / "frames", tmp_path / "run", f"data.features={features}", recipe=recipe, code=3,
              words=["none of its 1 training recordings has labels", "with a label column"])


def test_frames_without_times_have_no_windows_by_time(call, tmp_path):
    (tmp_path / "in" / "train_01").mkdir(parents=True)
    (tmp_path / "in/train_01/DoS-1.csv").write_text("".join(f"{i % 9 + 1:03X},{i % 50 == 0:d}\n" for i in range(3000)))
    call("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames", "--format", "table", "--columns", "id,label",
         "--time", "none")
    train(call, tmp_path / "frames", tmp_path / "run", "data.features=behaviour", "data.window=50ms", "data.stride=50ms",
          code=3, words=["train_01/DoS-1: has no times", "data.window"])


def test_windows_by_time_train_and_are_judged(call, frames, tmp_path):
    train(call, frames("whole"), tmp_path / "run", "data.features=behaviour", "data.window=50ms", "data.stride=25ms")
    judged = json.loads(call("evaluate", tmp_path / "run", "--data", frames("whole"), "--json"))
    assert {split["name"]: split["graphs"] for split in judged["splits"]}["test_01"] == 79
    assert "window: 50ms\n  stride: 25ms\n" in (tmp_path / "run/recipe.yaml").read_text()


def test_windows_by_time_need_features_that_use_it(call, frames, tmp_path):
    train(call, frames("whole"), tmp_path / "run", "data.window=50ms", "data.stride=50ms", code=2,
          words=["compat counts frames"])


@pytest.mark.parametrize("recipe", RECIPES)
def test_training_needs_attacks_and_benign_traffic(call, frames, tmp_path, recipe):
    run, free = tmp_path / "run", "add attack-free recordings"
    refused = {"recipe": recipe, "code": 3}
    train(call, frames("benign"), run, **refused,
          words=["0 of 31 training windows hold", "add recordings of attacks"])
    train(call, frames("attacks"), run, **refused, words=["no frame labelled 0", free])
    train(call, frames("attacks"), run, "data.features=behaviour", **refused,
          words=["no training frames labelled 0", free])
    train(call, frames("attacks in all windows"), run, **refused, words=["31 of 31 training windows hold", free])


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_split_without_frames_is_said_so(call, tmp_path, recipe):
    for name, count in (("train_01/attack-free-1", 1), ("train_01/DoS-1", 1), ("test_01/DoS-2", 900)):
        write_capture(tmp_path / "in" / f"{name}.csv", random_frames(np.random.default_rng(1), count, IDS))
    call("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    train(call, tmp_path / "frames", tmp_path / "run", recipe=recipe, code=3, words=["no graph to train on"])


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_graph_set_trains_no_detector(call, frames, tmp_path, recipe):
    call("windows", frames("whole"), "--out", tmp_path / "graphs", "--features", "compat")
    train(call, tmp_path / "graphs", tmp_path / "run", recipe=recipe, code=2,
          words=["needs a data set of frames", "graph_classification"])


@pytest.mark.parametrize("name, value, words", [
    ("teacher.gat.layer", "3", ["unknown key", "teacher.gat.layers"]),
    ("distilation.alpha", "0.5", ["unknown key", "distillation.alpha"]),
    ("distillation.alpha", "half", ["distillation.alpha", "'half'"]),
    ("distillation.alpha", "2", ["distillation.alpha", "0 to 1"]),
    ("teacher.vgae.hidden", "wide", ["teacher.vgae.hidden", "'wide'"]),
    ("curriculum.schedule", "hard", ["curriculum.schedule", "hard_4to1"]),
    ("teacher.gat.preset", "huge", ["teacher.gat.preset", "large"]),
    ("use_teacher_cache", "true", ["use_teacher_cache", "distillation.teacher_outputs"]),
])
def test_a_key_or_value_of_distillation_that_is_not_known(call, frames, tmp_path, name, value, words):
    train(call, frames("whole"), tmp_path / "run", f"{name}={value}", recipe=RECIPES[1], code=2, words=words)
    recipe = tmp_path / "recipe.yaml"
    section, key = name.rsplit(".", 1) if "." in name else ("training", name)
    *outer, inner = section.split(".")
    text = f"{inner}: {{{key}: {value}}}"
    recipe.write_text("task: distillation\n" + (f"{outer[0]}: {{{text}}}\n" if outer else text + "\n"))
    train(call, frames("whole"), tmp_path / "run", recipe=recipe, code=2, words=[f"{recipe}:2:"])


def test_times_that_are_no_numbers_are_no_frames(call, tmp_path):
    (tmp_path / "in/train_01").mkdir(parents=True)
    (tmp_path / "in/train_01/DoS-1.csv").write_text("timestamp,arbitration_id,data_field,attack\nnan,100,00,0\n")
    call("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames", code=3, words=["DoS-1.csv:2:1: found 'nan,"])


def test_a_distillation_is_not_resumed_to_another_length(call, frames, tmp_path):
    run = tmp_path / "run"
    train(call, frames("whole"), run, recipe=RECIPES[1])
    weights = json.loads((run / "manifest.json").read_text())["weights"]
    for length in ("training.max_epochs=2", "training.patience=7"):
        resume(call, frames("whole"), run, length, code=2, words=["another recipe"])
    resume(call, frames("whole"), run)
    assert json.loads((run / "manifest.json").read_text())["weights"] == weights


def test_a_column_that_is_stale_or_damaged_is_refused(call, frames, tmp_path):
    run = tmp_path / "run"
    train(call, frames("whole"), run, recipe=RECIPES[1])
    key = run / "seed-42/columns/teacher_logits.json"
    text = key.read_text()
    for found, words in ((text.replace(json.loads(text)["weights"], "0" * 32), ["stale", "weights"]),
                         (text.replace(json.loads(text)["xxh3"], "0" * 16), ["damaged"]), ("[]", ["stale"])):
        key.write_text(found)
        resume(call, frames("whole"), run, code=3, words=["teacher_logits.npy", "delete the file", *words])
    (run / "seed-42/columns/teacher_logits.npy").unlink()
    resume(call, frames("whole"), run)
    assert key.read_text() == text


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_split_to_judge_may_be_empty_or_of_one_class(call, frames, tmp_path, recipe):
    train(call, frames("whole"), tmp_path / "run", recipe=recipe)
    write_capture(tmp_path / "in/test_03/DoS-1.csv", [("100", "00", 1)])  # no window
    write_capture(tmp_path / "in/test_04/DoS-1.csv", random_frames(np.random.default_rng(7), 900, IDS, 1))
    write_capture(tmp_path / "in/test_05/free.csv", random_frames(np.random.default_rng(8), 900, IDS))
    call("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    judged = json.loads(call("evaluate", tmp_path / "run", "--data", tmp_path / "frames", "--json"))
    splits = {split["name"]: split for split in judged["splits"]}
    attacks, benign = splits["test_04"]["models"][0], splits["test_05"]["models"][0]
    assert attacks["auc"] is None and attacks["fpr"] is None and attacks["recall"] is not None
    assert benign["auc"] is None and benign["recall"] is None and benign["fpr"] is not None
    empty = splits["test_03"]
    assert empty["graphs"] == 0
    assert [empty["models"][0][name] for name in ("auc", "fpr", "recall", "f1", "precision")] == [None] * 5


def test_an_attack_left_out_is_judged_apart(call, frames, tmp_path):
    train(call, frames("whole"), tmp_path / "run", "split.leave_out=fuzzing")
    judged = json.loads(call("evaluate", tmp_path / "run", "--data", frames("whole"), "--json"))
    splits = {split["name"]: split for split in judged["splits"]}
    assert list(splits) == ["validation", "left out: fuzzing", "test_01", "test_02"]
    assert splits["left out: fuzzing"]["graphs"] == 39 and splits["left out: fuzzing"]["attack_graphs"] > 0
    assert splits["validation"]["graphs"] == 14
    train(call, frames("whole"), tmp_path / "other", "split.leave_out=[fuzzing, gear]", code=2,
          words=["'gear'", "known attacks: DoS, fuzzing"])


def test_whole_recordings_validate(call, frames, tmp_path):
    train(call, frames("whole"), tmp_path / "none", "split.by=recording", code=3,
          words=["no graph to validate on", "set split.by: time"])
    rng = np.random.default_rng(6)
    for name, share in (("train_01/attack-free-1", 0), ("train_01/attack-free-2", 0), ("train_02/DoS-1", 0.3)):
        write_capture(tmp_path / "in" / f"{name}.csv", random_frames(rng, 4000, IDS, share))
    call("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    train(call, tmp_path / "frames", tmp_path / "run", "split.by=recording")
    judged = json.loads(call("evaluate", tmp_path / "run", "--data", tmp_path / "frames", "--json"))
    assert [(split["name"], split["graphs"], split["attack_graphs"]) for split in judged["splits"]] == [
        ("validation", 39, 0)]


@pytest.mark.parametrize("recipe", RECIPES)
def test_thresholds_need_benign_validation_windows(call, tmp_path, recipe):
    rng = np.random.default_rng(4)
    benign, attacked = random_frames(rng, 8000, IDS), random_frames(rng, 2000, IDS, 1)
    write_capture(tmp_path / "in/train_01/DoS-1.csv", benign + attacked)
    call("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    train(call, tmp_path / "frames", tmp_path / "run", "split.validation=0.15", recipe=recipe,
          code=3, words=["none of the 14 validation windows is benign", "raise split.validation"])


def test_hidden_features_are_hidden_when_the_model_is_used(call, frames, tmp_path):
    train(call, frames("whole"), tmp_path / "unknown", "data.features=behaviour", "data.without=[id]", code=2,
          words=["'id'", "node features: id_index, known,", "edge features: "])
    result = json.loads(train(call, frames("whole"), tmp_path / "run", "data.features=behaviour",
                              "data.without=[id_index, known, length]"))
    all_there = json.loads(train(call, frames("whole"), tmp_path / "all", "data.features=behaviour"))
    assert result["parameters"] < all_there["parameters"]
    judged = json.loads(call("evaluate", tmp_path / "run", "--data", frames("whole"), "--json"))
    # The file says so, not the recipe.
    recipe = tmp_path / "run" / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("[id_index, known, length]", "[]"))
    assert json.loads(call("evaluate", tmp_path / "run", "--data", frames("whole"), "--json")) == judged


def test_data_that_do_not_train_are_judged_by_the_models_profile(call, frames, tmp_path):
    train(call, frames("whole"), tmp_path / "run", "data.features=behaviour")
    whole = json.loads(call("evaluate", tmp_path / "run", "--data", frames("whole"), "--json"))
    source = frames("whole").parent / "in"
    call("ingest", "can", source / "test_01", source / "test_02", "--out", tmp_path / "frames")
    alone = json.loads(call("evaluate", tmp_path / "run", "--data", tmp_path / "frames", "--json"))
    there = [split for split in whole["splits"] if split["name"].startswith("test")]
    assert [split["models"] for split in alone["splits"]] == [split["models"] for split in there]
    for found, expected in zip(alone["splits"], there, strict=True):
        ids, timing = found["rules"]
        assert ids == expected["rules"][0]
        assert timing["auc"] == expected["rules"][1]["auc"]  # its level wants benign validation windows
