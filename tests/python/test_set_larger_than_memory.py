"""A data set four times as large as the memory there is trains to the same bits as with all of it."""

import json
import subprocess

import pytest

from cgroup import MemoryCgroup

MIB = 1 << 20
LIMIT = 144 * MIB

RECIPE = """
task: graph_classification
training: {max_epochs: 1, batch_size: 1024}
gnn: {conv: sage, hidden: 8, layers: 1}
"""


@pytest.fixture(scope="module")
def graphs(run, tmp_path_factory):
    """Windows of 26 million simulated frames as a graph_set."""
    folder = tmp_path_factory.mktemp("large")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "26000000", "--seed", "9")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs", "--features", "compat")
    return folder / "graphs"


@pytest.mark.parametrize("prefetch", [0, 3])
def test_a_set_four_times_the_memory_there_is_trains_to_the_same_bits(bin_dir, graphs, tmp_path, prefetch):
    manifest = json.loads((graphs / "manifest.json").read_text())
    trains = sum(split["graphs"] for split in manifest["splits"] if split["name"].startswith("train"))
    size = sum(path.stat().st_size for path in graphs.glob("*.npy"))
    assert size * trains / manifest["graphs"] > 4 * LIMIT
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(RECIPE)

    def train(name, budget, **options):
        done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(graphs), "--run",
                               str(tmp_path / name), "--budget", budget, "--threads", "2", "--prefetch", str(prefetch),
                               "--json"], capture_output=True, text=True, timeout=600, **options)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    try:
        group = MemoryCgroup(LIMIT)
    except OSError as error:
        pytest.skip(f"no memory cgroup of our own to be had: {error}")
    with group:
        short = train("short", "96MiB", preexec_fn=group.join)
        assert group.kills() == 0
    assert short["memory"]["anonymous_peak_bytes"] <= 96 * MIB
    assert train("roomy", "1GiB")["weights"] == short["weights"]
