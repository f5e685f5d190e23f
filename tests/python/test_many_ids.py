"""A bus on which an attacker sends ever new IDs: what is known of each stands in the plan and in the ledger."""

import json
import random
import subprocess

import pytest

MIB = 2**20
FRAMES = 200_000


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    """Frames of 20 IDs, and 130,000 of random 29-bit IDs, nearly all of them distinct."""
    folder = tmp_path_factory.mktemp("many_ids")
    draw = random.Random(5)
    (folder / "captures" / "train_1").mkdir(parents=True)
    for name, share in (("attack-free", 0), ("fuzzing", 0.8)):
        with open(folder / "captures" / "train_1" / f"{name}.csv", "w") as file:
            file.write("timestamp,arbitration_id,data_field,attack\n")
            for i in range(FRAMES if share else FRAMES // 10):
                attack = draw.random() < share
                message = draw.randrange(1 << 11, 1 << 29) if attack else 0x100 + i % 20
                file.write(f"{1e9 + i / 2000:.6f},{message:08X},{draw.getrandbits(64):016X},{int(attack)}\n")
    run("plimsoll", "ingest", "can", folder / "captures", "--out", folder / "frames")
    return folder / "frames"


def call(bin_dir, *words, code=0):
    done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, words), "--json"], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def within(summary):
    memory = summary["memory"]
    assert memory["anonymous_peak_bytes"] <= memory["budget_bytes"]
    return summary


@pytest.mark.parametrize("features", ["behaviour", "compat"])
def test_training_and_judging_keep_to_their_budgets(bin_dir, frames, tmp_path, features):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(f"task: detection\ndata: {{features: {features}}}\ntraining: {{max_epochs: 1}}\n"
                      "gat: {preset: small}\n")
    plan = call(bin_dir, "plan", recipe, "--data", frames)
    least = plan["min_budget_bytes"]
    done = within(call(bin_dir, "train", recipe, "--data", frames, "--run", tmp_path / "run", "--budget", least))
    assert done["reruns"] == 0
    assert done["memory"]["anonymous_peak_bytes"] > 0.9 * least
    call(bin_dir, "evaluate", tmp_path / "run", "--data", frames, "--budget", least, "--enforce")


def test_windows_are_written_within_a_budget(bin_dir, frames, tmp_path):
    refused = 0
    for budget in range(12, 60, 8):
        done = subprocess.run([bin_dir / "plimsoll", "windows", frames, "--out", tmp_path / str(budget), "--features", "compat",
                               "--budget", f"{budget}MiB", "--json"], capture_output=True, text=True, timeout=600)
        if done.returncode == 4:
            refused += 1
            continue
        assert done.returncode == 0, done.stderr
        within(json.loads(done.stdout))
    assert refused < 6
