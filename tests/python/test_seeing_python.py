"""Memory by module of any model, and the journal of trainings in Python."""

import csv
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from pyg_models import Classifier, make_body  # noqa: E402
from test_package_plan import classifier, made_up  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


def events(run, name, stage="seed-0/fit"):
    lines = (run / stage / "events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


@pytest.mark.parametrize("body", ["GCN", "GAT", "GIN", "SAGE"])
def test_modules_sum_to_the_peak_to_the_byte(body):
    graphs = made_up(40)
    model = classifier(body, graphs)
    plan = plimsoll.plan(model, DataLoader(graphs, batch_size=20))
    memory = plan.by_module()
    assert plan.exact and sum(count for _, count in memory.held) == memory.peak == plan.step
    names = {name for name, _ in model.named_modules()} | {"loss", "optimizer", ""}
    assert {module for module, _ in memory.held} <= names
    assert sum(count for module, count in memory.held if "body.convs.0" in module) > 0
    assert dict(memory.held).get("", 0) < memory.peak / 5
    assert max(map(sum, zip(*memory.timeline))) == memory.peak
    shown = str(memory)
    assert "body.convs.1" in shown and memory.operation in shown


def test_a_batch_that_was_not_run_has_modules_too():
    """Worked out from the tapes of smaller ones, to the byte."""
    graphs = made_up(96, loops=1)
    from plimsoll._fit.planner import Needs
    from plimsoll.data.sizes import size_of
    from plimsoll._fit.steps import by_names
    from plimsoll._fit.trial import Trial

    needs = Needs(Trial(classifier("GATv2", graphs), torch.optim.Adam, by_names, torch.nn.functional.cross_entropy))
    needs.run_parts(Batch.from_data_list(graphs[:32]))
    large = Batch.from_data_list(graphs)
    told = needs.by_module(size_of(large))
    needs.run(large)
    run = needs.by_module(size_of(large))
    assert told.held == run.held and told.peak == run.peak == needs.of(size_of(large)).step


def test_a_snapshot_comes_to_the_peak(tmp_path):
    graphs = made_up(20)
    memory = plimsoll.plan(classifier("GAT", graphs), Batch.from_data_list(graphs)).by_module()
    memory.save_snapshot(tmp_path / "step.pickle")
    held, most, taken = 0, 0, {}
    for event in pickle.loads((tmp_path / "step.pickle").read_bytes())["device_traces"][0]:
        if event["action"] == "alloc":
            taken[event["addr"]] = event["size"]
            held += event["size"]
        else:
            held -= taken.pop(event["addr"])
        most = max(most, held)
    assert most == memory.peak


def test_what_would_shrink_it():
    graphs = made_up(64)
    model = classifier("GAT", graphs)
    memory = plimsoll.plan(model, Batch.from_data_list(graphs)).by_module()
    (change, saved), = memory.savings
    assert change == "batches of 32 graphs"
    half = sum(graph.num_nodes for graph in graphs) // 2
    least = min(range(33), key=lambda i: abs(sum(g.num_nodes for g in graphs[i:i + 32]) - half))
    other = plimsoll.plan(model, Batch.from_data_list(graphs[least:least + 32])).step
    assert saved == pytest.approx(memory.peak - other, rel=0.05)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Two runs that differ in their batches."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    root = tmp_path_factory.mktemp("journals")
    graphs = made_up(60)
    found = {}
    for name, batch_size in [("a", 20), ("b", 30)]:
        torch.manual_seed(1)
        model = Classifier(make_body("GCN", 7, graphs), 2)
        found[name] = plimsoll.fit(model, graphs, epochs=3, batch_size=batch_size, run=root / name)
    torch.set_num_threads(threads)
    return root, found


def test_fit_writes_the_journal(fitted, run):
    root, found = fitted
    start, = events(root / "a", "start")
    assert start["planned_bytes"] == found["a"].planned and start["max_epochs"] == 3 and start["training"] == 60
    epochs = events(root / "a", "epoch")
    assert [event["training_loss"] for event in epochs] == found["a"].losses
    assert [event["epoch"] for event in epochs] == [1, 2, 3]
    with open(root / "a/seed-0/fit/metrics.csv") as file:
        rows = list(csv.DictReader(file))
    for row, event in zip(rows, epochs, strict=True):
        assert set(row) <= set(event) and all(float(row[name]) == event[name] for name in row)
        assert 0 < event["ledger_bytes"] <= found["a"].peak
        assert event["graphs_per_s"] == pytest.approx(60 / event["seconds"])
        assert event["ledger_bytes"] <= sum(event[name] for name in event if name.startswith("ledger_")) - event["ledger_bytes"]
    assert max(event["ledger_bytes"] for event in epochs) > 0
    assert events(root / "a", "progress") and events(root / "a", "end")
    status, = json.loads(run("plimsoll", "top", root / "a", "--json"))["runs"]
    assert status["state"] == "done" and status["stage"] == "seed-0/fit" and status["epoch"]["epoch"] == 3
    assert "seed-0/fit  done" in run("plimsoll", "top", root / "a", "--once")
    assert not (root / "a/run.lock").exists()


def test_compare_shows_runs_of_fit(fitted, run):
    root, found = fitted
    compared = json.loads(run("plimsoll", "compare", root / "a", root / "b", "--json"))
    assert compared["recipe"] == {"batch_size": ["20", "30"]}
    assert compared["training"]["seed 0 fit: training loss"] == [found["a"].losses[-1], found["b"].losses[-1]]


def test_a_later_call_counts_the_epochs_of_earlier_ones(tmp_path):
    graphs = made_up(20)
    plimsoll.fit(classifier("GCN", graphs), graphs, start_epoch=2, epochs=4, batch_size=10, run=tmp_path / "run")
    start, progress = events(tmp_path / "run", "start")[0], events(tmp_path / "run", "progress")
    assert (start["max_epochs"], progress[0]["total"]) == (4, 80)
    assert [event["epoch"] for event in events(tmp_path / "run", "epoch")] == [3, 4]
    assert all(40 < event["done"] <= event["total"] for event in progress)


@pytest.mark.parametrize("resume", [False, True])
def test_a_data_set_is_not_taken_for_a_run(tmp_path, resume):
    from plimsoll.journal import RunJournal

    (tmp_path / "manifest.json").write_text('{"kind": "graph_set"}')
    with pytest.raises(plimsoll.UsageError, match="holds something else than a run"):
        RunJournal(tmp_path, resume=resume)
    assert (tmp_path / "manifest.json").read_text() == '{"kind": "graph_set"}'


def test_a_journal_changes_no_weights(tmp_path):
    graphs = made_up(40)
    weights = []
    for folder in [None, tmp_path / "run"]:
        torch.manual_seed(1)
        model = Classifier(make_body("GAT", 7, graphs), 2)
        plimsoll.fit(model, graphs, epochs=2, run=folder)
        weights.append(torch.cat([parameter.flatten() for parameter in model.parameters()]))
    assert torch.equal(*weights)


def test_a_run_is_not_overwritten(fitted):
    graphs = made_up(8)
    with pytest.raises(plimsoll.UsageError, match="already holds a run"):
        plimsoll.fit(classifier("GCN", graphs), graphs, run=fitted[0] / "a")
    with pytest.raises(plimsoll.UsageError, match="give run"):
        plimsoll.fit(classifier("GCN", graphs), graphs, trackers=["tensorboard"])


def test_a_tracker_that_cannot_be_is_refused_before_anything_is_made(tmp_path):
    graphs = made_up(8)
    with pytest.raises(plimsoll.UsageError, match="expected tensorboard"):
        plimsoll.fit(classifier("GCN", graphs), graphs, run=tmp_path / "run", trackers=["wandb"])
    assert not (tmp_path / "run").exists()


def test_an_error_ends_the_run_as_interrupted(tmp_path, run):
    graphs = made_up(20)

    def stop(epoch, loss):
        if epoch == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plimsoll.fit(classifier("GCN", graphs), graphs, epochs=3, run=tmp_path / "run", on_epoch=stop)
    interrupted, = events(tmp_path / "run", "interrupted")
    assert interrupted["epoch"] == 3
    assert json.loads(run("plimsoll", "top", tmp_path / "run", "--json"))["runs"][0]["state"] == "interrupted"


def test_a_journal_that_cannot_be_opened_raises_its_own_error(tmp_path):
    from plimsoll.journal import RunJournal

    (tmp_path / "run" / "seed-0" / "fit" / "events.jsonl").mkdir(parents=True)
    with pytest.raises(plimsoll.Failure, match="events.jsonl"), RunJournal(tmp_path / "run") as journal:
        journal.start(total=1, max_epochs=1)
    assert journal.close() is None


def test_an_optimizer_without_a_learning_rate_has_a_journal(tmp_path):
    class Signs(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {})

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.sub_(parameter.grad.sign(), alpha=1e-3)

    graphs = made_up(20)
    plimsoll.fit(classifier("GCN", graphs), graphs, optimizer=Signs, run=tmp_path / "run")
    (epoch,) = events(tmp_path / "run", "epoch")
    assert "learning_rate" not in epoch and epoch["training_loss"] > 0


def test_a_loss_that_is_no_number_is_not_in_the_manifest(tmp_path, run):
    from plimsoll.journal import RunJournal

    with RunJournal(tmp_path / "run") as journal:
        journal.start(total=3, max_epochs=3)
        journal.epoch(1, training_loss=0.5, validation_loss=0.75)
        journal.epoch(2, training_loss=float("nan"))
    with RunJournal(tmp_path / "run", resume=True) as journal:  # Reads the rows, one of them without validation_loss.
        journal.start(total=3, max_epochs=3)

    def refuse(constant):
        raise ValueError(f"{constant} is not JSON")

    text = (tmp_path / "run" / "manifest.json").read_text()
    (stage,) = json.loads(text, parse_constant=refuse)["stages"]
    assert stage["epochs"] == 2 and not {"training_loss", "validation_loss"} & stage.keys()
    run("plimsoll", "compare", tmp_path / "run", tmp_path / "run", "--json")


def test_a_seed_of_numpy_is_in_the_manifest(tmp_path):
    from plimsoll.journal import RunJournal

    with RunJournal(tmp_path / "run", seed=np.int64(3)) as journal:
        journal.start(total=1, max_epochs=1)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["seed"], manifest["seeds"], manifest["stages"][0]["seed"]) == (3, [3], 3)
    assert events(tmp_path / "run", "start", "seed-3/fit")


def test_metrics_of_numpy_and_torch_are_numbers(tmp_path):
    from plimsoll.journal import RunJournal

    with RunJournal(tmp_path / "run") as journal:
        journal.start(total=1, max_epochs=1)
        journal.epoch(1, training_loss=np.float32(0.5), validation_loss=torch.tensor(0.25), auc=np.float64(0.75), other_loss=None)
    (epoch,) = events(tmp_path / "run", "epoch")
    assert [epoch[name] for name in ("training_loss", "validation_loss", "auc", "other_loss")] == [0.5, 0.25, 0.75, None]
    (stage,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["stages"]
    assert stage["training_loss"] == 0.5 and "other_loss" not in stage


def test_a_kill_leaves_whole_lines(tmp_path, run):
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_package_plan import classifier, made_up
import plimsoll
graphs = made_up(20)
plimsoll.fit(classifier("GCN", graphs), graphs, epochs=9, run={str(tmp_path / "run")!r},
             on_epoch=lambda epoch, loss: epoch == 4 and os.kill(os.getpid(), 9))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120).returncode == -9
    assert [event["epoch"] for event in events(tmp_path / "run", "epoch")] == [1, 2, 3, 4, 5]
    assert json.loads(run("plimsoll", "top", tmp_path / "run", "--json"))["runs"][0]["state"] == "killed"


def test_lightning_writes_the_journal(tmp_path, run):
    lightning = pytest.importorskip("lightning", reason="pip install lightning")
    from plimsoll.lightning import JournalCallback

    graphs = made_up(40)

    class Model(lightning.LightningModule):
        def __init__(self, hidden):
            super().__init__()
            self.save_hyperparameters()
            self.body = Classifier(make_body("GCN", 7, graphs), 2)
            self.losses = []

        def training_step(self, batch, _):
            loss = torch.nn.functional.cross_entropy(self.body(batch.x, batch.edge_index, batch.batch, batch.num_graphs), batch.y)
            self.losses.append(float(loss))
            return loss

        def validation_step(self, batch, _):
            loss = torch.nn.functional.cross_entropy(self.body(batch.x, batch.edge_index, batch.batch, batch.num_graphs), batch.y)
            self.log("val_loss", loss, batch_size=batch.num_graphs)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 1e-3)

    def train(epochs, resume=False, **options):
        model = Model(hidden=16)
        trainer = lightning.Trainer(
            max_epochs=epochs, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
            default_root_dir=tmp_path, callbacks=[JournalCallback(tmp_path / "run", resume=resume), *options.pop("more", [])])
        trainer.fit(model, DataLoader(graphs, batch_size=20), DataLoader(graphs[:10], batch_size=10), **options)
        return model

    saving = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, "last")
    model = train(2, more=[saving])
    epochs = events(tmp_path / "run", "epoch")
    assert [event["epoch"] for event in epochs] == [1, 2]
    assert epochs[0]["training_loss"] == pytest.approx(sum(model.losses[:2]) / 2)
    assert epochs[1]["learning_rate"] == 1e-3 and epochs[1]["validation_loss"] > 0
    assert epochs[1]["ledger_bytes"] > 0
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["settings"]["hidden"] == "16"
    train(3, resume=True, ckpt_path=tmp_path / "last.ckpt")
    assert [event["epoch"] for event in events(tmp_path / "run", "epoch")] == [1, 2, 3]
    assert events(tmp_path / "run", "resume")[0]["epoch"] == 3
    with open(tmp_path / "run/seed-0/fit/metrics.csv") as file:
        assert [row["epoch"] for row in csv.DictReader(file)] == ["1", "2", "3"]


@pytest.mark.parametrize("accumulated, automatic", [(1, True), (4, True), (1, False)])
def test_lightnings_loss_is_that_of_batches_though_gradients_are_added_up(tmp_path, accumulated, automatic):
    lightning = pytest.importorskip("lightning", reason="pip install lightning")
    from plimsoll.lightning import JournalCallback

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.automatic_optimization = automatic
            self.body = torch.nn.Linear(7, 2)

        def training_step(self, batch, _):
            return 0 * self.body(batch.x).sum() + 2

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=False, callbacks=[JournalCallback(tmp_path / "run")], accumulate_grad_batches=accumulated)
    trainer.fit(Model(), DataLoader(made_up(40), batch_size=5))
    assert events(tmp_path / "run", "epoch")[0]["training_loss"] == 2
