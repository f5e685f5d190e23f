"""The examples run, and draw."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pytest.importorskip("matplotlib")

from tu_sets import archive_of, unpack  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PNG = b"\x89PNG"


def example(name, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # on a busy machine the fastest
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_train_tu(data_dir, tmp_path):
    unpack(archive_of(data_dir, "MUTAG"), tmp_path / "tu")
    said = example("train_tu.py", "MUTAG", "--root", tmp_path / "tu", "--epochs", 3, "--out", tmp_path / "curves.png")
    assert "the same to the bit under both budgets" in said
    assert (tmp_path / "curves.png").read_bytes().startswith(PNG)


def test_train_can_windows(tmp_path):
    said = example("train_can_windows.py", "--epochs", 2, "--frames", 60_000, "--out", tmp_path / "curves.png")
    assert "smallest budget" in said and "epoch 2: loss" in said and "of a budget of 1 GiB" in said
    assert (tmp_path / "curves.png").read_bytes().startswith(PNG)
