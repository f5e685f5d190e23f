"""`plimsoll.fit` in a process group: the weights of one process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pytest.importorskip("torch_geometric")

RANK = Path(__file__).with_name("rank_of_fit.py")


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fit")
    plimsoll.simulate.can(folder / "frames", frames=12000, seed=1)
    plimsoll.windows(folder / "frames", folder / "graphs")
    return folder / "graphs"


def found(graphs, ranks, **options):
    """What each rank prints."""
    start = [sys.executable]
    if ranks > 1:
        start += ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    done = subprocess.run([*start, RANK, graphs, json.dumps(options)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_weights_are_the_same_for_any_number_of_ranks(graphs):
    [one] = found(graphs, 1, lanes=4)
    for ranks in (2, 3, 4) if os.environ.get("PLIMSOLL_SLOW") else (3,):
        assert found(graphs, ranks, lanes=4) == [one] * ranks


def test_ranks_that_differ_refuse(graphs):
    for of_rank in found(graphs, 2, lanes=2, apart=1):
        assert "differ in the weights at the start: rank 0 has" in of_rank["refused"]


def test_lanes_that_are_too_few_or_no_power_of_two_are_refused(monkeypatch):
    from plimsoll._fit.lanes import checked_lanes

    for lanes in (0, 3, 65, 128):
        with pytest.raises(plimsoll.UsageError, match="lanes"):
            checked_lanes(lanes)
    monkeypatch.setattr("plimsoll._fit.process_group.group_name", lambda: "0")
    monkeypatch.setattr("plimsoll._fit.process_group.ranks", lambda: 5)
    with pytest.raises(plimsoll.UsageError, match="5 ranks, but lanes is 4"):
        checked_lanes(4)
