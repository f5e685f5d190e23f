"""The trackers of `plimsoll.sync`, without a run that trains: each event arrives once, also after errors."""

import json
import sys
import types

import pytest
from package_data import plimsoll  # noqa: F401  skips where the package is not installed


@pytest.fixture
def records_as_json(monkeypatch):
    """Stands in for TensorBoard's messages, so that its package is not needed."""

    class Message:
        def __init__(self, **fields):
            self.fields = fields

        def SerializeToString(self):
            return json.dumps(self.fields, default=lambda other: other.fields).encode()

    class Summary(Message):
        Value = Message

    names = ["tensorboard", "tensorboard.compat", "tensorboard.compat.proto"]
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    for name, messages in [("event_pb2", {"Event": Message}), ("summary_pb2", {"Summary": Summary})]:
        module = types.ModuleType(f"{names[-1]}.{name}")
        vars(module).update(messages)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        setattr(sys.modules[names[-1]], name, module)
    sys.modules[names[0]].compat, sys.modules[names[1]].proto = sys.modules[names[1]], sys.modules[names[2]]


def test_tensorboard_has_nothing_twice_after_a_full_disk(tmp_path, records_as_json, monkeypatch):
    from plimsoll.sync import records
    from plimsoll.sync.tensorboard import TensorBoard

    stage = tmp_path / "run" / "seed-1" / "gat"
    stage.mkdir(parents=True)
    (tmp_path / "run" / "sync").mkdir()
    lines = [{"event": "epoch", "epoch": epoch, "time": 5, "training_loss": 0.5} for epoch in (1, 2)]
    (stage / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    tracker, flush = TensorBoard(tmp_path / "run", ""), records.RecordWriter.flush

    def full(writer):
        flush(writer)
        raise OSError("no space left on device")

    monkeypatch.setattr(records.RecordWriter, "flush", full)
    for _ in range(2):
        with pytest.raises(OSError, match="no space"):
            tracker.advance()
    monkeypatch.setattr(records.RecordWriter, "flush", flush)
    assert tracker.advance()
    tracker.finish()
    (file,) = (tmp_path / "run" / "tensorboard" / "seed-1" / "gat").iterdir()
    written = file.read_bytes()
    assert [written.count(part) for part in (b"brain.Event:2", b'"step": 1', b'"step": 2')] == [1, 1, 1]


class Notes:
    """A store that keeps what it is told, and does not answer the requests whose numbers are in `silent`."""

    def __init__(self, silent=()):
        self.silent, self.requests, self.params_of, self.tags = silent, 0, {}, {}

    def log(self, run, metrics, params, tags):
        self.requests += 1
        if self.requests in self.silent:
            raise OSError("no answer")
        assert len(params) <= 100 and len(tags) <= 100
        self.params_of.update(params)
        self.tags.update(tags)

    def experiment(self, name):
        return "0"

    def find_run(self, experiment, key):
        return None

    def create_run(self, experiment, name, start, tags):
        return name

    def params(self, run):
        return dict(self.params_of)

    def set_status(self, run, status, end):
        pass


def noted(folder, silent=()):
    """What MLflow has after a run with 250 columns, and the number of tries."""
    from plimsoll.sync import mlflow

    stage = folder / "run" / "seed-1" / "gat"
    stage.mkdir(parents=True)
    (folder / "run" / "sync").mkdir()
    (folder / "run" / "recipe.yaml").write_text("task: relational\ntraining:\n  max_epochs: 4\n")
    columns = {f"column_{i}": f"hash {i}" for i in range(250)}
    (folder / "run" / "manifest.json").write_text(json.dumps({"tool": "plimsoll 1", "data": {"columns": columns}}))
    (stage / "events.jsonl").write_text(json.dumps({"event": "start", "time": 5}) + "\n")
    tracker = mlflow.MLflow(folder / "run", "http://127.0.0.1:1")
    tracker._store = store = Notes(silent)
    tries = 0
    while True:
        tries += 1
        try:
            tracker.advance()
            return store, tries
        except OSError:
            continue


@pytest.mark.parametrize("silent", [(), (1,), (2,), (3, 4)])
def test_mlflow_has_the_settings_and_all_columns_after_a_server_that_did_not_answer(tmp_path, silent):
    store, tries = noted(tmp_path, silent)
    assert tries == 1 + len(silent)
    assert store.params_of == {"task": "relational", "training.max_epochs": "4"}
    assert store.tags["plimsoll.tool"] == "plimsoll 1" and store.tags["plimsoll.data.column_249"] == "hash 249"


def test_an_epoch_on_a_device_has_its_memory_and_one_on_the_cpu_has_none():
    from plimsoll.sync.journal import Event
    from plimsoll.sync.tracker import live

    device = {"device_planned_bytes": 4 << 30, "device_used_bytes": 3 << 30, "device_process_bytes": 5 << 30, "device_busy": 0.5}
    numbers = Event("gat", {"event": "epoch", "epoch": 1, "training_loss": 0.5, **device}, 0).numbers()
    assert numbers == {"training_loss": 0.5, **device, "gpu_mem_gb": 3.0}
    without = Event("gat", {"event": "epoch", "epoch": 1, "training_loss": 0.5, **dict.fromkeys(device, 0)}, 0).numbers()
    assert without == {"training_loss": 0.5}
    progress = {"event": "progress", "graphs_per_s": 7, "device": {"process_bytes": 9, "busy": None}}
    assert live(Event("gat", progress, 0)) == {"live/graphs_per_s": 7.0, "live/device_process_bytes": 9.0}
