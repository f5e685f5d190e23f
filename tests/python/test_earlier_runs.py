"""Runs that the first version made are evaluated, and go on, as that version would have done it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import hashes  # noqa: E402

EARLIER = Path(__file__).parent / "earlier_runs"
KINDS = ("links", "graphs")
TORCH, MKL, _ = hashes.LEVELS["portable"]
PORTABLE = os.environ | {"PLIMSOLL_SIMD": "portable", "ATEN_CPU_CAPABILITY": TORCH, "MKL_CBWR": MKL}


@pytest.fixture(scope="module")
def plimsoll(bin_dir):
    """plimsoll(arguments): what it says as JSON, and its stderr."""

    def call(*arguments):
        done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True, env=PORTABLE,
                              timeout=600)
        assert done.returncode == 0, done.stderr
        return (json.loads(done.stdout) if "--json" in arguments else None), done.stderr

    return call


@pytest.fixture(scope="module")
def data(plimsoll, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    plimsoll("simulate", "graph", "--nodes", 120, "--degree", 4, "--features", 4, "--classes", 3, "--out", folder / "whole",
             "--seed", 2)
    plimsoll("split-edges", folder / "whole", "--out", folder / "links", "--valid", 0.1, "--test", 0.1)
    plimsoll("simulate", "can", "--out", folder / "frames", "--frames", 6000, "--seed", 1)
    plimsoll("windows", folder / "frames", "--out", folder / "graphs")
    return folder


def earlier_run(kind, folder):
    shutil.copytree(EARLIER / kind / "run", folder / "run")
    return folder / "run", json.loads((EARLIER / kind / "expected.json").read_text())


def same_figures(found, expected):
    """All of them, to the rounding of another processor."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            same_figures(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            same_figures(one, other)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=1e-4)
    else:
        assert found == expected


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_evaluated_to_the_same_figures(plimsoll, data, kind, tmp_path):
    run, expected = earlier_run(kind, tmp_path)
    same_figures(plimsoll("evaluate", run, "--data", data / kind, "--json")[0], expected["evaluated"])


@pytest.mark.parametrize("kind", KINDS)
def test_they_go_on_to_the_same_weights(plimsoll, data, kind, tmp_path):
    run, expected = earlier_run(kind, tmp_path)
    summary, said = plimsoll("train", EARLIER / kind / "recipe.yaml", "--data", data / kind, "--run", run, "--resume", "-O",
                             "training.max_epochs=3", "--json")
    assert "continues under its rules: split.rule 1" in said
    assert summary["resumed_at"] > 0
    if hashes.processor()[0] == expected["processor"]:
        assert summary["weights"] == expected["weights after 3 epochs"]
    same_figures(plimsoll("evaluate", run, "--data", data / kind, "--json")[0], expected["evaluated after 3 epochs"])
    recipe = (run / "recipe.yaml").read_text()
    assert "  rule: 1\n" in recipe and "  exclude_targets: false\n" in recipe
    # Once more, now that its recipe has the rule.
    summary, _ = plimsoll("train", EARLIER / kind / "recipe.yaml", "--data", data / kind, "--run", run, "--resume", "-O",
                          "training.max_epochs=3", "--json")
    assert summary["resumed_at"] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_run_has_the_new_rules_unless_told_otherwise(plimsoll, data, kind, tmp_path):
    _, expected = earlier_run(kind, tmp_path)
    options = ["-O", "training.max_epochs=3", "--json"]
    earlier = ["-O", "split.rule=1", "-O", "sampling.exclude_targets=false"]
    new, old = (plimsoll("train", EARLIER / kind / "recipe.yaml", "--data", data / kind, "--run", tmp_path / name, *options,
                         *rules)[0] for name, rules in (("new", []), ("old", earlier)))
    assert new["weights"] != old["weights"]
    if hashes.processor()[0] == expected["processor"]:
        assert old["weights"] == expected["weights after 3 epochs"]
    assert "  rule: 2\n" in (tmp_path / "new" / "recipe.yaml").read_text()
