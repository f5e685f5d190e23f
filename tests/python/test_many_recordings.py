"""What grows with the number of recordings is in the ledger: a budget holds, or is refused before it is passed."""

import json
import subprocess

import pytest

MIB = 1 << 20
RECORDINGS = 4000


@pytest.fixture(scope="module")
def captures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many") / "train_01_attack_free"
    folder.mkdir()
    for number in range(RECORDINGS):
        rows = [f"{number + i / 1000:.6f},{0x100 + i % 3:03X},00112233,0\n" for i in range(4)]
        (folder / f"attack-free-{number:05d}.csv").write_text("timestamp,arbitration_id,data_field,attack\n" + "".join(rows))
    return folder.parent


@pytest.fixture(scope="module")
def frames(run, captures, tmp_path_factory):
    folder = tmp_path_factory.mktemp("frames") / "frames"
    run("plimsoll", "ingest", "can", captures, "--out", folder)
    return folder


@pytest.fixture
def within(bin_dir):
    """within(budget, *arguments): runs plimsoll within a budget, which holds or is refused."""

    def call(mib, *arguments):
        done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments), "--budget", f"{mib}MiB", "--json"],
                              capture_output=True, text=True, timeout=600)
        assert done.returncode in (0, 4), done.stderr
        if done.returncode == 0:
            assert json.loads(done.stdout)["memory"]["anonymous_peak_bytes"] <= mib * MIB
        return done.returncode

    return call


def test_ingest_of_many_captures_keeps_its_budget(within, captures, tmp_path):
    assert within(4, "ingest", "can", captures, "--out", tmp_path / "small") == 4
    assert not (tmp_path / "small").exists()
    for mib in (8, 12, 16, 24):
        within(mib, "ingest", "can", captures, "--out", tmp_path / "out", "--threads", "1", "--force")
    assert within(32, "ingest", "can", captures, "--out", tmp_path / "out", "--force") == 0


@pytest.mark.parametrize("verb", [
    ["windows", "FRAMES", "--features", "compat"],
    ["windows", "FRAMES", "--features", "behaviour"],
    ["simulate", "can", "--inject", "FRAMES"],
], ids=["compat", "behaviour", "inject"])
def test_verbs_over_many_recordings_keep_their_budget(within, frames, tmp_path, verb):
    verb = [frames if word == "FRAMES" else word for word in verb]
    assert within(4, *verb, "--out", tmp_path / "small") == 4
    for mib in (8, 12, 16, 24, 32):
        within(mib, *verb, "--out", tmp_path / "out", "--force")
    assert within(128, *verb, "--out", tmp_path / "out", "--force") == 0
