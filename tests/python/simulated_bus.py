"""Fixtures: captures of a simulated bus, detectors trained on them, and `plimsoll detect`."""

import json
import subprocess

import pytest

BASE = "task: detection\ntraining: {max_epochs: 2, batch_size: 64}\n"
RECIPES = {
    "compat": BASE + "data: {features: compat}\ngat: {hidden: 8, heads: 2}\n",
    "compat, sliding": BASE + "data: {features: compat, window: 60, stride: 17}\ngat: {hidden: 8, heads: 2, layers: 3}\n",
    "behaviour": BASE + "data: {features: behaviour}\ngat: {hidden: 8, heads: 2, edge_features: true, id_dropout: 0.5}\n",
    "by time": BASE + "data: {features: behaviour, window: 40ms, stride: 25ms}\ngat: {hidden: 8, heads: 4, pooling: sum}\n",
    "gatv2, lstm": BASE + "data: {features: behaviour, stride: 50, without: [id_index, known, gap_mean]}\n"
                          "gat: {hidden: 8, heads: 2, attention: gatv2, jk: lstm, edge_features: true, fc_layers: 3}\n",
    "gatv2, max": BASE + "data: {features: behaviour}\n"
                         "gat: {hidden: 5, heads: 3, attention: gatv2, jk: max, pooling: max, fc_layers: 1}\n",
}


@pytest.fixture(scope="module")
def captures_made(run, tmp_path_factory):
    """Captures of a simulated bus, in train and test folders, and their frames."""
    folder = tmp_path_factory.mktemp("detect")
    run("plimsoll", "simulate", "can", "--format", "csv", "--out", folder / "captures", "--frames", "60000", "--seed", "5")
    run("plimsoll", "ingest", "can", folder / "captures", "--out", folder / "frames")
    return folder


@pytest.fixture(scope="module")
def detector(run, captures_made, tmp_path_factory):
    """detector(recipe's name): the folder of a run."""
    made = {}

    def train(name):
        if name not in made:
            folder = made[name] = tmp_path_factory.mktemp("run")
            (folder / "recipe.yaml").write_text(RECIPES[name])
            run("plimsoll", "train", folder / "recipe.yaml", "--data", captures_made / "frames", "--run", folder / "run")
        return made[name] / "run"

    return train


@pytest.fixture(scope="module")
def detect(bin_dir):
    """detect(*arguments, code, **options): (lines, summary, stderr)."""

    def start(*arguments, code=0, **options):
        command = [str(bin_dir / "plimsoll"), "detect", *map(str, arguments), "--json"]
        done = subprocess.run(command, capture_output=True, timeout=600, **options)
        assert done.returncode == code, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return lines[:-1], lines[-1]["summary"] if lines else None, done.stderr.decode()

    return start


def contents(file):
    """(tensors, metadata) to save again, changed: without a checksum that would then be wrong."""
    metadata = file.metadata()
    del metadata["plimsoll.checksum"]
    return {key: file.get_tensor(key) for key in file.keys()}, metadata
