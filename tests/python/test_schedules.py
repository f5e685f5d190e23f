"""Learning-rate schedules against torch.optim.lr_scheduler, and their state in checkpoints."""

import csv
import json
import subprocess

import pytest
import torch

EPOCHS = 12
RATE = 0.02


@pytest.fixture(scope="module")
def windows(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "20000", "--seed", "7")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs", "--features", "compat")
    return folder / "graphs"


@pytest.fixture
def train(bin_dir, windows, tmp_path):
    """train(name, *overrides): the summary of a run, and its metrics by column."""

    def call(name, *overrides, more=(), expect=0):
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text("task: graph_classification\nsplit: {by: graph}\ngnn: {hidden: 8, layers: 2}\n")
        options = [f"training.max_epochs={EPOCHS}", f"training.learning_rate={RATE}", "training.patience=100", *overrides]
        done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(windows), "--run",
                               str(tmp_path / name), "--json", *(part for option in options for part in ("-O", option)), *more],
                              capture_output=True, text=True, timeout=600)
        assert done.returncode == expect, done.stderr
        if expect != 0:
            return done.stderr, None
        with open(tmp_path / name / "seed-42" / "gnn" / "metrics.csv") as file:
            rows = list(csv.DictReader(file))
        return json.loads(done.stdout), {key: [float(row[key]) for row in rows] for key in rows[0]}

    return call


def torch_rates(make, losses=None):
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([parameter], lr=RATE)
    scheduler = make(optimizer)
    rates = []
    for epoch in range(EPOCHS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step(*([losses[epoch]] if losses else []))
    return rates


def test_rates_are_those_of_torch(train):
    of = torch.optim.lr_scheduler
    _, constant = train("constant")
    assert constant["learning_rate"] == pytest.approx([RATE] * EPOCHS)
    _, step = train("step", "training.schedule=step", "training.schedule_epochs=3", "training.schedule_factor=0.5")
    assert step["learning_rate"] == pytest.approx(torch_rates(lambda o: of.StepLR(o, 3, 0.5)))
    _, cosine = train("cosine", "training.schedule=cosine")
    assert cosine["learning_rate"] == pytest.approx(torch_rates(lambda o: of.CosineAnnealingLR(o, EPOCHS)))
    # So high a rate that losses go up and down.
    _, plateau = train("plateau", "training.schedule=plateau", "training.schedule_epochs=1", "training.schedule_factor=0.2",
                       "training.learning_rate=0.5")
    expected = torch_rates(lambda o: of.ReduceLROnPlateau(o, factor=0.2, patience=1), plateau["validation_loss"])
    assert plateau["learning_rate"] == pytest.approx([rate / RATE * 0.5 for rate in expected])
    assert len(set(expected)) > 1, "the losses of this test have no plateau"


def test_warm_up_rises_from_step_to_step(train):
    _, metrics = train("warm", "training.warm_up_epochs=4", "training.schedule=cosine", "training.batch_size=16")
    # metrics.csv has the rate of an epoch's last step.
    assert metrics["learning_rate"][:4] == pytest.approx([RATE / 4, RATE / 2, RATE * 3 / 4, RATE])
    scheduled = torch_rates(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, EPOCHS - 4))
    assert metrics["learning_rate"][4:] == pytest.approx(scheduled[:EPOCHS - 4])


@pytest.mark.parametrize("schedule", ["step", "plateau"])
def test_a_longer_run_goes_on_with_its_schedule(train, schedule):
    options = [f"training.schedule={schedule}", "training.schedule_epochs=2", "training.schedule_factor=0.5",
               "training.warm_up_epochs=1"]
    whole, _ = train("whole", *options)
    train("parts", *options, "training.max_epochs=5")
    parts, _ = train("parts", *options, more=["--resume"])
    assert parts["weights"] == whole["weights"] and parts["resumed_at"] > 0


def test_a_cosine_cannot_be_made_longer(train):
    train("cosine", "training.schedule=cosine", "training.max_epochs=3")
    error, _ = train("cosine", "training.schedule=cosine", more=["--resume"], expect=2)
    assert "another recipe" in error
