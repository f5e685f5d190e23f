"""The contract of a budget: what `plimsoll plan` states is enough, and the run stays within it, whatever is trained."""

import os
import sys

import pytest

from conftest import REPOSITORY

pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pytest.importorskip("torch_geometric")
sys.path.insert(0, str(REPOSITORY / "bench"))
import contract  # noqa: E402

RUNS = 200 if os.environ.get("PLIMSOLL_SLOW") else 50


def test_random_runs_keep_within_their_budgets(bin_dir, tmp_path_factory, monkeypatch):
    if refusal := contract.cgroup_refusal():
        pytest.skip(refusal)
    monkeypatch.setattr(contract, "PLIMSOLL", bin_dir / "plimsoll")
    jobs = len(os.sched_getaffinity(0))
    records = list(contract.run_all(range(RUNS), tmp_path_factory.mktemp("contract"), jobs))
    print(contract.summary_of(records))
    broken = {record["run"]: record["faults"] for record in records if record["faults"]}
    assert not broken, "bench/contract.py --show RUN prints the commands"
    assert len(records) == RUNS
