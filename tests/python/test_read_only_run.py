"""`evaluate` and `predict` work on a run in a folder that cannot be written, and leave nothing in the temporary folder."""

import os
import subprocess

import pytest

RECIPE = "task: node_classification\ngnn: {hidden: 8, layers: 2}\nsampling: {fan_outs: [3, 3]}\ntraining: {max_epochs: 1}\n"


def test_a_run_that_cannot_be_written_evaluates_and_predicts(run, tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("mounting a folder read-only needs root")
    run("plimsoll", "simulate", "graph", "--out", tmp_path / "graph", "--nodes", 2000, "--features", 6, "--classes", 3)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", tmp_path / "graph", "--run", tmp_path / "runs/run")
    mount = ["mount", "--bind", "-o", "ro", tmp_path / "runs", tmp_path / "runs"]
    if (done := subprocess.run(mount, capture_output=True, text=True)).returncode != 0:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    try:
        asked = tmp_path / "runs/run", "--data", tmp_path / "graph"
        run("plimsoll", "evaluate", *asked, "--split", "test")
        run("plimsoll", "predict", *asked, "--out", tmp_path / "predictions")
    finally:
        subprocess.run(["umount", "--lazy", tmp_path / "runs"], check=True)
    assert list((tmp_path / "scratch").iterdir()) == []
