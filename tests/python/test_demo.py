"""scripts/demo, as `make demo` starts it, on simulated traffic: frames made on the spot, and captures of a known name."""

import json
import os
import re
import subprocess

import pytest

FRAMES = "150000"
slow = pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="trains all stages; set PLIMSOLL_SLOW")


@pytest.fixture
def demo(bin_dir, pytestconfig, tmp_path):
    """demo(*arguments, **variables): runs it into tmp_path/demo and gives the finished process."""

    def call(*arguments, **variables):
        environment = {**os.environ, "PLIMSOLL_BIN": str(bin_dir), "RUN": str(tmp_path / "demo"), "FRAMES": FRAMES,
                       "DATA": "", **variables}
        return subprocess.run(["scripts/demo", *arguments], env=environment, cwd=pytestconfig.rootpath,
                              capture_output=True, text=True, timeout=1200)

    return call


def rows_of(output):
    """The rows of the compact table: (split, detector) to its figures."""
    rows, split = {}, None
    for line in output.splitlines():
        if " windows, " in line and " with attacks" in line:
            split = line.split(":")[0]
        elif split and line.startswith("  "):
            name, *figures = line.strip().split("  ")
            rows[split, name] = [figure.strip() for figure in figures if figure.strip()]
        elif line.startswith("=="):
            split = None
    return rows


def test_names_what_is_missing(demo, tmp_path):
    done = demo(DATA=str(tmp_path / "nowhere"))
    assert done.returncode == 3 and "nowhere" in done.stderr
    done = demo(PLIMSOLL_BIN=str(tmp_path))
    assert done.returncode == 1 and "make build" in done.stderr


@slow
def test_shows_the_plan_the_stages_and_the_verdicts_of_the_evaluation(demo, tmp_path):
    small = ("-O", "training.max_epochs=1", "-O", "teacher.gat.preset=small", "-O", "teacher.vgae.preset=small")
    for _ in range(2):  # again over what is there
        done = demo(*small)
        assert done.returncode == 0, done.stderr
    assert "simulating a bus instead" in done.stderr
    assert done.stdout.count("student_gat_alone") >= 2  # planned, and trained
    for part in ("smallest budget", "planned: ", "anonymous peak measured", "report.html", "the detector (fused) at 0.1 %"):
        assert part in done.stdout
    found, same = done.stdout.splitlines()[-2:]
    assert re.fullmatch(r"The detector found [\d,]+ of [\d,]+ attack windows .*, with [\d,]+ false alarms in [\d,]+ benign windows\.", found)
    assert re.fullmatch(r"One epoch of recipes/gat\.yaml gave the same weights in 256MiB and in \d+MiB: [0-9a-f]{32}\.", same)
    run = tmp_path / "demo" / "kdgat"
    assert (run / "detector.safetensors").stat().st_size > 0 and (run / "report.html").stat().st_size > 0
    rows = rows_of(done.stdout)
    evaluation = json.loads((run / "evaluation.json").read_text())
    for split in evaluation["splits"]:
        for entry in split["models"] + split["rules"]:
            wanted = entry["name"].startswith("gat_") or entry in split["rules"]
            if not wanted or entry.get("target_fpr") == 0.01:
                continue
            name = entry["name"] + (" at 0.1 %" if entry.get("target_fpr") else "")
            f1, fpr, auc = rows[split["name"], name if entry in split["models"] else "rule: " + name]
            for shown, value in ((f1, entry["f1"]), (fpr, entry["fpr"]), (auc, entry["auc"])):
                assert shown == ("-" if value is None else f"{value:.4f}")


@slow
def test_shows_published_figures_beside_captures_of_their_name(demo, run, tmp_path):
    captures = tmp_path / "hcrl_sa"
    run("plimsoll", "simulate", "can", "--out", captures, "--format", "csv", "--frames", FRAMES)
    done = demo("-O", "training.max_epochs=1", "-O", "teacher.gat.preset=small", "-O", "teacher.vgae.preset=small",
                DATA=str(captures))
    assert done.returncode == 0, done.stderr
    f1, auc = rows_of(done.stdout)["validation", "published: GAT teacher"]
    assert (f1, auc) == ("0.9980", "1.0000")


def test_the_demonstration_of_paths_names_what_is_missing(bin_dir, pytestconfig, tmp_path):
    def call(**variables):
        return subprocess.run(["scripts/demo-paths"], env={**os.environ, "PLIMSOLL_BIN": str(bin_dir), "RUN": str(tmp_path), **variables},
                              cwd=pytestconfig.rootpath, capture_output=True, text=True)

    done = call(DATA=str(tmp_path / "nowhere"))
    assert done.returncode == 3 and "nowhere/tree-neuron-ratcortex" in done.stderr
    done = call(PLIMSOLL_BIN=str(tmp_path))
    assert done.returncode == 1 and "make build" in done.stderr
