"""What a run remembers of its epochs is planned: its peak stays within the plan, however many there are."""

import json
import subprocess
from pathlib import Path

RECIPE = Path(__file__).resolve().parents[2] / "recipes" / "gat.yaml"
SMALL = ["gat.hidden=8", "gat.layers=1", "training.patience=100000", "training.checkpoint_every_s=0"]


def test_the_peak_of_many_epochs_is_within_the_plan(bin_dir, tmp_path):
    subprocess.run([bin_dir / "plimsoll", "simulate", "can", "--out", tmp_path / "frames", "--format", "frames", "--frames", "12000",
                    "--seed", "1"], check=True, capture_output=True)
    options = [word for key in [*SMALL, "training.max_epochs=300"] for word in ("-O", key)]
    done = subprocess.run([bin_dir / "plimsoll", "train", RECIPE, "--data", tmp_path / "frames", "--run", tmp_path / "run", "--threads", "1",
                           "--json", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["memory"]["anonymous_peak_bytes"] <= said["planned_peak_bytes"]
    rows = next((tmp_path / "run").rglob("metrics.csv")).read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["epoch", *map(str, range(1, 301))]
