"""`plimsoll plan --ranks N --network SPEED`: the bytes that ranks send, compared with those that they count, and the estimate."""

import json
import os
import subprocess
import sys

import pytest

package = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available() or not dist.is_gloo_available():
    pytest.skip("this torch has no gloo", allow_module_level=True)

LIMIT_S = 300
RECIPES = {
    "gat": "task: graph_classification\nsplit: {by: graph}\ngnn: {conv: gat, hidden: 16, layers: 2}\n"
           "training: {max_epochs: 2, batch_size: 64, lanes: 4, block: {graphs: 8}}\n",
    "norm": "task: graph_classification\nsplit: {by: graph}\ngnn: {conv: gin, hidden: 32, layers: 2, norm: batch}\n"
            "training: {max_epochs: 2, batch_size: 48, lanes: 8, block: {graphs: 4}}\n",
}


def plimsoll(*words, code=0):
    done = subprocess.run([sys.executable, "-m", "plimsoll", *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S,
                          env=os.environ | {"PLIMSOLL_RANKS_TIMEOUT_S": "60"})
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    """Small graphs with two classes."""
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    numbers = torch.Generator().manual_seed(0)
    made = [data.Data(x=torch.randn(12, 6, generator=numbers), edge_index=torch.randint(0, 12, (2, 30), generator=numbers),
                      y=torch.tensor([i % 2])) for i in range(600)]
    folder = tmp_path_factory.mktemp("network")
    package.from_pyg(made, folder / "graphs")
    for name, text in RECIPES.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def plan(graphs, recipe, ranks, *words):
    return json.loads(plimsoll("plan", graphs / f"{recipe}.yaml", "--data", graphs / "graphs", "--ranks", ranks, "--json", "--threads", 1,
                               *words))


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("ranks", [2, 4])
def test_the_bytes_of_an_epoch_are_those_that_ranks_count(graphs, tmp_path, recipe, ranks):
    planned = plan(graphs, recipe, ranks)["ranks"]["bytes_sent_an_epoch"]
    plimsoll("train", graphs / f"{recipe}.yaml", "--data", graphs / "graphs", "--run", tmp_path / "run", "--ranks", ranks, "--threads", 1)
    events = [json.loads(line) for line in next((tmp_path / "run").glob("seed-*/*/events.jsonl")).read_text().splitlines()]
    counted = [event["exchange"]["bytes_sent"] for event in events if event["event"] == "epoch"]
    assert len(counted) == 2
    for found in counted:
        assert abs(found - planned) <= 0.05 * planned, (found, planned)


def test_the_estimate_follows_from_speed_bytes_and_messages(graphs):
    found = plan(graphs, "gat", 4, "--network", "25Gb")
    step, network = found["ranks"]["bytes_sent_a_step"], found["network"]
    assert network["bytes_per_s"] == 25e9 / 8
    assert network["exchange_seconds_a_step"] == pytest.approx(step / (25e9 / 8) + (3 * 3 + 4) * 60e-6)
    graphs_of_step = found["network"]["graphs_per_s"] * (network["compute_seconds_a_step"] + network["exchange_seconds_a_step"])
    assert 48 < graphs_of_step <= 64  # The last batch of an epoch is smaller.
    assert 0 < network["share_of_perfect"] < 1
    slow = plan(graphs, "gat", 4, "--network", "1Mb")["network"]
    assert slow["exchange_seconds_a_step"] > step * 8 / 1e6 and slow["graphs_per_s"] < network["graphs_per_s"]


def test_the_estimate_says_what_it_assumes(graphs):
    out = plimsoll("plan", graphs / "gat.yaml", "--data", graphs / "graphs", "--ranks", 2, "--network", "100Mb/s", "--threads", 1)
    assert "each rank sends" in out and "per epoch of" in out
    assert "estimate for a network of 0.1 Gb/s, in which a message takes 60 us" in out and "it assumes that" in out
    assert "a step computes for " in out and " ms and exchanges for " in out


@pytest.mark.parametrize("speed", ["25GB", "25", "fast", "-1Gb", "0Gb", "Gb", "1e300Gb"])
def test_speeds_that_are_none_are_refused(graphs, speed):
    assert f"--network: found '{speed}', expected bits per second" in plimsoll(
        "plan", graphs / "gat.yaml", "--data", graphs / "graphs", "--ranks", 2, f"--network={speed}", code=2)


def test_a_network_needs_ranks(graphs):
    assert "--ranks" in plimsoll("plan", graphs / "gat.yaml", "--data", graphs / "graphs", "--network", "25Gb", code=2)
