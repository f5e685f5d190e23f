"""The folder of a run belongs to one trainer at a time, and says to which."""

import os
import signal
import subprocess
import time

import pytest

RECIPE = """
task: detection
training: {max_epochs: 200, patience: 200, batch_size: 64, checkpoint_every_s: 0}
gat: {hidden: 8, heads: 2}
"""


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("lock") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "60000", "--seed", "3")
    return folder


@pytest.fixture
def command(bin_dir, frames, tmp_path):
    recipe = tmp_path / "small.yaml"
    recipe.write_text(RECIPE)

    def make(*arguments):
        return [str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(frames), "--run", str(tmp_path / "run"),
                "--threads", "1", *map(str, arguments)]

    return make


@pytest.fixture
def trainer(command, tmp_path):
    """A process that trains, after its first checkpoint."""
    process = subprocess.Popen(command(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not list((tmp_path / "run").glob("seed-42/gat/checkpoints/step-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    yield process
    process.kill()
    process.communicate()


def contents(run):
    """What a second trainer may not touch; checkpoints and journal go on."""
    return {name: (run / name).read_bytes() for name in ["recipe.yaml", "manifest.json", "run.lock"]}


@pytest.mark.parametrize("arguments", [
    (), ("--force",), ("--resume",), ("--force", "-O", "training.learning_rate=0.5"),
], ids=lambda arguments: " ".join(arguments) or "plain")
def test_a_second_trainer_is_refused_and_told_whose_the_run_is(command, trainer, tmp_path, arguments):
    before = contents(tmp_path / "run")
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert f"locked by process {trainer.pid} on {os.uname().nodename}" in done.stderr
    assert contents(tmp_path / "run") == before
    assert [path.name for path in tmp_path.iterdir() if ".run." in path.name] == []
    assert trainer.poll() is None
    trainer.send_signal(signal.SIGTERM)
    assert trainer.wait(timeout=60) == 75
    done = subprocess.run(command("--resume", "-O", "training.max_epochs=1"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_lock_of_a_killed_trainer_is_free(command, trainer, tmp_path):
    trainer.kill()
    trainer.wait()
    done = subprocess.run(command("--force", "-O", "training.max_epochs=1"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_two_at_once_on_a_new_folder_leave_one_run(command, tmp_path):
    commands = [command("-O", "training.max_epochs=3", *more) for more in [(), ("--resume",), ("--force",)]]
    processes = [subprocess.Popen(each, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                 for each in commands]
    errors = [process.communicate(timeout=300)[1] for process in processes]
    codes = [process.returncode for process in processes]
    assert 0 in codes and set(codes) <= {0, 1}, errors
    assert (tmp_path / "run" / "detector.safetensors").exists()
    assert all("locked by" in text or "holds a run already" in text
               for code, text in zip(codes, errors) if code == 1)


def test_evaluate_says_that_the_run_goes_on(bin_dir, frames, command, trainer, tmp_path):
    done = subprocess.run([str(bin_dir / "plimsoll"), "evaluate", str(tmp_path / "run"), "--data", str(frames)],
                          capture_output=True, text=True, timeout=120)
    assert f"process {trainer.pid} on" in done.stderr
    assert done.returncode == 3 and "no trained detector" in done.stderr
    assert trainer.poll() is None
