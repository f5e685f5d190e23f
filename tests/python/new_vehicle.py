"""Fixtures: simulated vehicles, models trained on all but the last of them, and drives of the last."""

import json
import subprocess

import pytest

TRANSFER = """
task: detection
data: {features: behaviour, calibration: 60, without: [id_index, known_transition]}
training: {max_epochs: 2, batch_size: 64}
gat: {hidden: 8, heads: 2, learning_rate: 0.002}
"""
KNOWING = TRANSFER.replace("calibration: 60, without: [id_index, known_transition]", "window: 100")
COMPAT = KNOWING.replace("behaviour", "compat")


@pytest.fixture(scope="module")
def traffic(run, tmp_path_factory):
    """Captures of simulated vehicles, the last of which never trains, and their frames."""
    folder = tmp_path_factory.mktemp("calibrate")
    run("plimsoll", "simulate", "can", "--format", "csv", "--out", folder / "captures", "--frames", "120000", "--seed", "5",
        "--attacks", "DoS,fuzzing,suppression")
    run("plimsoll", "ingest", "can", folder / "captures", "--out", folder / "frames")
    # The last of three vehicles trains among four: here is its benign traffic.
    run("plimsoll", "simulate", "can", "--format", "csv", "--out", folder / "benign", "--frames", "60000", "--seed", "5",
        "--vehicles", "4", "--attacks", "none")
    return folder


@pytest.fixture(scope="module")
def trained(run, traffic, tmp_path_factory):
    """trained(recipe): the folder of a run."""
    made = {}

    def train(recipe):
        if recipe not in made:
            folder = made[recipe] = tmp_path_factory.mktemp("run")
            (folder / "recipe.yaml").write_text(recipe)
            run("plimsoll", "train", folder / "recipe.yaml", "--data", traffic / "frames", "--run", folder / "run")
        return made[recipe] / "run"

    return train


@pytest.fixture(scope="module")
def model(trained):
    return trained(TRANSFER) / "detector.safetensors"


@pytest.fixture(scope="module")
def drives(traffic):
    """Of one drive of the vehicle that never trained: (its benign begin, what comes later, with attacks)."""
    header, *lines = next((traffic / "benign").glob("*/*-3.csv")).read_text().splitlines(keepends=True)
    (traffic / "benign.csv").write_text(header + "".join(lines[:5_040]))
    later = []
    for line, following in zip(lines[5_040:], lines[5_041:]):
        later.append(line)
        between = (float(line.split(",")[0]) + float(following.split(",")[0])) / 2
        if 6_000 < len(later) <= 7_000:  # an ID that nobody sends
            later.append(f"{between:.6f},000,0000000000000000,1\n")
        if 9_000 < len(later) <= 10_000:  # and one that all know
            later.append(f"{between:.6f},{lines[0].split(',')[1]},{lines[0].split(',')[2]},1\n")
    (traffic / "later.csv").write_text(header + "".join(later))
    return traffic / "benign.csv", traffic / "later.csv"


@pytest.fixture(scope="module")
def plimsoll(bin_dir):
    """plimsoll(*arguments, code): the process that ended so."""

    def start(*arguments, code=0):
        done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return start


def calibrated(plimsoll, model, benign, out, *more):
    return json.loads(plimsoll("calibrate", model, "--benign", benign, "--out", out, "--json", *more).stdout)


def detected(plimsoll, model, capture, *more):
    return [json.loads(line) for line in plimsoll("detect", model, capture, "--all", "--json", *more).stdout.splitlines()][:-1]
