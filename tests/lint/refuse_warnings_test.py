"""A warning fails the build where PLIMSOLL_WERROR is ON, also one that ccache has kept."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("launcher", [[], ["ccache"]])
def test_a_warning_fails_and_leaves_no_object(tmp_path, launcher):
    if launcher and not shutil.which("ccache"):
        pytest.skip("no ccache here")
    source, made = tmp_path / "source.cc", tmp_path / "source.o"

    def build(text):
        source.write_text(text)
        command = [ROOT / "scripts/refuse-warnings", *launcher, "g++", "-Wall", "-o", made, "-c", source]
        return subprocess.run(command, capture_output=True, text=True)

    for _ in range(2):  # the second comes out of the cache
        refused = build("int main() { int unused; }\n")
        assert refused.returncode == 1 and "unused" in refused.stderr
        assert not made.exists()
    assert build("int main() {}\n").returncode == 0
    assert made.exists()
    assert build("int main( {}\n").returncode == 1
