"""Models drawn at random train by plimsoll.fit as on one whole batch."""

import os
import subprocess
import sys

import pytest
from conftest import REPOSITORY

pytest.importorskip("torch_geometric")


def run(models):
    command = [sys.executable, str(REPOSITORY / "bench" / "random_models.py"), "--seed", "60", "--models", str(models)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_few_models():
    assert " same" in run(6)


@pytest.mark.skipif("PLIMSOLL_SLOW" not in os.environ, reason="set PLIMSOLL_SLOW to train 200 models")
def test_many_models():
    print(run(200))
