"""A run that is stopped, anywhere and anyhow, and gone on with ends with the weights of one that was not."""

import json
import random
import signal
import subprocess
import time

import pytest

RECIPE = """
task: detection
training: {max_epochs: 6, batch_size: 64, checkpoint_every_s: 0}
gat: {hidden: 8, heads: 2}
"""


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("resume") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "150000", "--seed", "3")
    return folder


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "small.yaml"
    path.write_text(RECIPE)
    return path


@pytest.fixture
def command(bin_dir, frames, recipe):
    """command(run, *arguments): the command line that trains into a run."""

    def make(run, *arguments):
        return [str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(frames), "--run", str(run), "--json",
                *map(str, arguments)]

    return make


def finish(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def whole(bin_dir, frames, recipe, tmp_path_factory):
    """A run that nothing stopped: its summary and its folder."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(frames), "--run", str(folder),
                           "--json", "--threads", "1", "--prefetch", "0"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder


def losses(run):
    lines = (run / "seed-42" / "gat" / "metrics.csv").read_text().splitlines()
    return [line.split(",")[:5] for line in lines]  # after them stands what the epoch cost


def assert_same_result(run, summary, whole):
    assert summary["weights"] == whole[0]["weights"]
    model = "seed-42/gat/model.safetensors"
    assert (run / model).read_bytes() == (whole[1] / model).read_bytes()
    assert losses(run) == losses(whole[1])


@pytest.mark.parametrize("arguments", [
    ("--threads", 2), ("--threads", 4), ("--prefetch", 5), ("--threads", 2, "--prefetch", 0),
    ("--budget", "100MiB"), ("--threads", 2, "--budget", "90MiB"),
    ("--threads", 2, "-O", "training.gradient_checkpointing=on"),
])
def test_bits_do_not_depend_on_threads_prefetch_or_budget(command, whole, tmp_path, arguments):
    assert_same_result(tmp_path / "run", finish(command(tmp_path / "run", *arguments)), whole)


def test_twenty_kills_anywhere_change_no_bit(command, whole, tmp_path):
    dice = random.Random(20)
    run = tmp_path / "run"
    kills = 0
    while kills < 20:
        threads = dice.choice([1, 2, 4])
        budget = dice.choice(["100MiB", "1GiB"])
        process = subprocess.Popen(command(run, "--resume", "--threads", threads, "--budget", budget, "--prefetch",
                                           dice.choice([0, 3])), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            # Start-up takes a second or so under load; most kills fall in the steps after it.
            process.communicate(timeout=dice.uniform(0.2, 2.2))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        assert process.returncode == 0
        # It got through before it was killed: begin again.
        assert_same_result(run, finish(command(run, "--resume")), whole)
        subprocess.run(["rm", "-r", str(run)], check=True)
    assert_same_result(run, finish(command(run, "--resume")), whole)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_ends_the_step_leaves_a_checkpoint_and_exits_75(command, whole, tmp_path, number):
    run = tmp_path / "run"
    process = subprocess.Popen(command(run), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(run.glob("seed-42/gat/checkpoints/step-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 75, errors
    assert "--resume" in errors
    events = [json.loads(line)["event"] for line in (run / "seed-42/gat/events.jsonl").read_text().splitlines()]
    assert events[-1] == "interrupted"
    summary = finish(command(run, "--resume"))
    assert summary["resumed_at"] > 0
    assert_same_result(run, summary, whole)


def test_a_damaged_checkpoint_is_passed_over_and_told(command, whole, tmp_path):
    run = tmp_path / "run"
    finish(command(run))
    newest = sorted(run.glob("seed-42/gat/checkpoints/step-*"))[-1]
    content = bytearray(newest.read_bytes())
    content[-10] ^= 1
    newest.write_bytes(content)
    assert_same_result(run, finish(command(run, "--resume")), whole)
    assert "damaged_checkpoint" in (run / "seed-42/gat/events.jsonl").read_text()


def test_resuming_another_recipe_is_refused_and_changes_nothing(command, tmp_path):
    run = tmp_path / "run"
    finish(command(run))
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    done = subprocess.run(command(run, "--resume", "-O", "training.learning_rate=0.5"), capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert "another recipe" in done.stderr
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    assert subprocess.run(command(run, "--resume", "-O", "seed=7"), capture_output=True).returncode == 2


def test_a_run_that_diverges_says_how_to_go_on(command, tmp_path):
    run = tmp_path / "run"
    steep = ("-O", "training.optimizer=sgd", "-O", "training.learning_rate=1000", "-O", "training.gradient_clip_val=0")
    done = subprocess.run(command(run, *steep), capture_output=True, text=True)
    assert done.returncode == 1 and "is not finite" in done.stderr, done.stderr
    assert "lower training.learning_rate" in done.stderr and "start again with --force in place of --resume" in done.stderr
    flat = ("-O", "training.learning_rate=0.001", "-O", "training.max_epochs=1")
    assert "--force in place of --resume" in subprocess.run(command(run, "--resume", *flat), capture_output=True, text=True).stderr
    finish(command(run, "--force", *flat))


@pytest.mark.parametrize("manifest", ["", "{\"kind\": \"run\", ", "\0" * 40, "[]", None],
                         ids=["empty", "cut", "zeros", "other", "gone"])
def test_a_damaged_manifest_does_not_lose_the_checkpoints(command, whole, tmp_path, manifest):
    run = tmp_path / "run"
    finish(command(run, "-O", "training.max_epochs=3"))
    (run / "manifest.json").unlink() if manifest is None else (run / "manifest.json").write_text(manifest)
    other = subprocess.run(command(run, "--resume", "-O", "training.learning_rate=0.5"), capture_output=True, text=True)
    assert other.returncode == 2 and "another recipe" in other.stderr
    assert "manifest.json is missing or damaged" in other.stderr
    summary = finish(command(run, "--resume"))
    assert summary["resumed_at"] > 0
    assert_same_result(run, summary, whole)
    assert json.loads((run / "manifest.json").read_text())["weights"] == whole[0]["weights"]


def test_a_finished_run_may_be_made_longer(command, whole, tmp_path):
    finish(command(tmp_path / "run", "-O", "training.max_epochs=3"))
    summary = finish(command(tmp_path / "run", "--resume"))
    assert summary["resumed_at"] > 0
    assert_same_result(tmp_path / "run", summary, whole)


def test_without_resume_a_run_is_not_touched(command, tmp_path):
    finish(command(tmp_path / "run", "-O", "training.max_epochs=1"))
    done = subprocess.run(command(tmp_path / "run"), capture_output=True, text=True)
    assert done.returncode == 1
    assert "--force" in done.stderr


@pytest.mark.parametrize("options", [
    ["gnn.conv=gatv2", "gnn.norm=batch", "training.optimizer=sgd", "training.momentum=0.9"],
    ["gnn.conv=gin", "gnn.norm=batch", "training.optimizer=adamw", "training.patience=2"],
], ids=["gatv2-sgd", "gin-adamw-patience"])
def test_kills_change_no_bit_of_a_classifier_with_running_statistics(bin_dir, data_dir, tmp_path, options):
    pytest.importorskip("torch_geometric")
    from tu_sets import make_tu_set

    make_tu_set(data_dir, "PROTEINS", tmp_path / "graphs")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("task: graph_classification\nsplit: {by: graph}\ngnn: {dropout: 0.2, hidden: 16}\n"
                      "training: {max_epochs: 12, batch_size: 100, checkpoint_every_s: 0, learning_rate: 0.01}\n")

    def command(name):
        overrides = [part for option in options for part in ("-O", option)]
        return [str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(tmp_path / "graphs"), "--run",
                str(tmp_path / name), "--json", *overrides]

    expected = finish(command("whole"))
    dice = random.Random(5)
    for _ in range(6):
        process = subprocess.Popen([*command("killed"), "--resume", "--threads", str(dice.choice([1, 2]))],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.uniform(0.3, 1.5))
        process.kill()
        process.wait()
    found = finish([*command("killed"), "--resume"])
    assert found["weights"] == expected["weights"]
    assert found["best_epoch"] == expected["best_epoch"]
    model = "seed-42/gnn/model.safetensors"
    assert (tmp_path / "killed" / model).read_bytes() == (tmp_path / "whole" / model).read_bytes()
