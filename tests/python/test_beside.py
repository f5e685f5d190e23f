"""How bench/beside.py says that a program ended in a memory group, and how its page is drawn."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
from beside_page import section  # noqa: E402
from memory_group import run_in_group  # noqa: E402

MIB = 1 << 20
FILL = "import time; data = bytearray(b'1') * ({} << 20); time.sleep(0.5); print(len(data) >> 20)"


@pytest.mark.parametrize("program, seconds, outcome", [
    (FILL.format(64), 60, "finished"),
    (FILL.format(400), 60, "killed"),
    ("raise SystemExit(3)", 60, "failed"),
    ("import time; time.sleep(60)", 1, "stopped"),
])
def test_a_group_says_how_a_program_ended(tmp_path, program, seconds, outcome):
    try:
        result = run_in_group([sys.executable, "-c", program], 200 * MIB, seconds, tmp_path / "log")
    except OSError as error:
        pytest.skip(f"no memory cgroup of our own: {error}")
    assert result["outcome"] == outcome
    if outcome == "finished":
        assert result["output"] == "64\n"
        assert 64 * MIB <= result["peak_anonymous"] <= 120 * MIB
    assert result["peak_anonymous"] <= 200 * MIB


def row(rival, limit, **more):
    return {"task": "web", "rival": rival, "limit_mib": limit, "repeat": 0, "outcome": "finished", "wall_s": 2.4, "cpu_s": 1.6,
            "load": 3.0, "peak_anonymous": 90 * MIB, "weights": "0123456789", "test": 0.5, "planned": 91 * MIB} | more


def test_the_page_counts_different_weights():
    dead = {"outcome": "killed", "limit_mib": 512}
    peer = [row("Peer", 2048, weights="a"), row("Peer", 1024, weights="b"),
            {name: value for name, value in row("Peer", 512, **dead).items() if name not in ("weights", "test", "planned")}]
    text = section([*peer, row("Plimsoll", 1024), row("Plimsoll", 256)])
    assert "| Plimsoll | 256 MiB | finished | 2 | 2 | 3.0 | 91 MiB | 90 MiB | 01234567 | 0.5000 |" in text
    assert "| Peer | 512 MiB | killed | 2 | 2 | 3.0 |  | 90 MiB |  |  |" in text
    assert "- Plimsoll: 2 of 2 runs finished, all with the same weights." in text
    assert "- Peer: 2 of 3 runs finished, with 2 different weights." in text
    assert text.index("| Plimsoll |") < text.index("| Peer |")
