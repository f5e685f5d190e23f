"""Small data sets for the tests of the Python package."""

import subprocess
import sys

import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")

FRAMES = 60_000


def python(code, **environment):
    """Runs code in an interpreter of its own, expects it to end well, and gives what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=environment or None)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr}"
    return done.stdout
