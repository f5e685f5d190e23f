"""Shards of captures and of windows, merged, are the bytes of one process; a foreign or missing shard is named."""

import filecmp
import subprocess

import pytest


def same(a, b):
    files = sorted(path.name for path in a.iterdir())
    assert files == sorted(path.name for path in b.iterdir())
    return filecmp.cmpfiles(a, b, files, shallow=False)[0] == files


@pytest.mark.parametrize("shards", [2, 5])
def test_shards_of_captures_make_the_bytes_of_one_process(run, tmp_path, captures, shards):
    source = captures("hcrl_sa")
    run("plimsoll", "ingest", "can", source, "--out", tmp_path / "whole")
    for number in range(1, shards + 1):
        run("plimsoll", "ingest", "can", source, "--out", tmp_path / f"part-{number}", "--shard", f"{number}/{shards}")
    parts = [tmp_path / f"part-{number}" for number in range(shards, 0, -1)]
    run("plimsoll", "merge", *parts, "--out", tmp_path / "merged")
    assert same(tmp_path / "whole", tmp_path / "merged")


@pytest.mark.parametrize("features", ["compat", "behaviour"])
def test_shards_of_windows_make_the_bytes_of_one_process(run, tmp_path, features):
    run("plimsoll", "simulate", "can", "--out", tmp_path / "frames", "--frames", "60000", "--seed", "3", "--vehicles", "2")
    make = ("plimsoll", "windows", tmp_path / "frames", "--features", features)
    run(*make, "--out", tmp_path / "whole")
    for number in range(1, 5):
        run(*make, "--out", tmp_path / f"part-{number}", "--shard", f"{number}/4")
        run("plimsoll", "verify", tmp_path / f"part-{number}")
    run("plimsoll", "merge", *(tmp_path / f"part-{number}" for number in range(1, 5)), "--out", tmp_path / "merged")
    assert same(tmp_path / "whole", tmp_path / "merged")


def test_a_foreign_or_missing_shard_is_named(bin_dir, run, tmp_path):
    run("plimsoll", "simulate", "can", "--out", tmp_path / "frames", "--frames", "30000", "--seed", "3")
    for number, window in ((1, 100), (2, 100), (2, 50)):
        run("plimsoll", "windows", tmp_path / "frames", "--out", tmp_path / f"{number}-{window}", "--shard", f"{number}/3",
            "--window", window)

    def error(*shards):
        done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", "merge", *shards, "--out", tmp_path / "m")],
                              capture_output=True, text=True)
        assert done.returncode == 3 and not (tmp_path / "m").exists()
        return done.stderr

    assert "shard 3/3 is missing" in error(tmp_path / "1-100", tmp_path / "2-100")
    assert f"{tmp_path}/2-50 is not a shard of the set of" in error(tmp_path / "1-100", tmp_path / "2-50")
