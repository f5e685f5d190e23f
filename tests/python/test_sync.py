"""`run.trackers` and `plimsoll sync`: all that a run says arrives in the end, and nothing twice.

With real libraries where PLIMSOLL_TRACKERS_PYTHON names a Python that has plimsoll, tensorboard and mlflow; always with a
server that speaks the part of MLflow's REST API that is used, and that can be taken away.
"""

import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

import pytest
from package_data import plimsoll  # noqa: F401  skips where the package is not installed

RECIPE = """
task: detection
training: {max_epochs: 4, batch_size: 64}
gat: {hidden: 8, heads: 2}
"""
PYTHON = os.environ.get("PLIMSOLL_TRACKERS_PYTHON", sys.executable)


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sync") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "30000", "--seed", "9")
    return folder


@pytest.fixture
def train(bin_dir, frames, tmp_path):
    """train(*arguments): the finished process; the run is in `run` of the test's folder."""

    def call(*arguments, python=sys.executable, **environment):
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text(RECIPE)
        command = [str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(frames), "--run", str(tmp_path / "run"),
                   "--json", "--threads", "1", *arguments]
        # MLflow keeps the artifacts of a database in ./mlruns.
        settings = {"cwd": tmp_path, "env": {**os.environ, "PLIMSOLL_PYTHON": python, **environment}}
        return subprocess.run(command, capture_output=True, text=True, timeout=300, **settings)

    return call


def wait_for_sync(run, seconds=60):
    """Until no process follows the run any more."""
    end = time.monotonic() + seconds
    while True:
        with open(run / "sync" / "lock", "a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return (run / "sync" / "log").read_text()
            except BlockingIOError:
                assert time.monotonic() < end, (run / "sync" / "log").read_text()
        time.sleep(0.1)


class Server:
    """MLflow's REST API, as far as it is used here; what it has stays while it is away."""

    def __init__(self):
        self.runs, self.metrics, self.artifacts, self.lose_answers = {}, [], {}, 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.http = None

    def start(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, method):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                url = urlparse(self.path)
                code, found = outer.take(method, url.path.removeprefix("/api/2.0/"), parse_qs(url.query), body)
                if outer.lose_answers > 0:  # done, and nobody learns of it
                    outer.lose_answers -= 1
                    self.connection.close()
                    return
                data = json.dumps(found).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.answer("GET")

            def do_POST(self):
                self.answer("POST")

            def do_PUT(self):
                self.answer("PUT")

        self.http = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()

    def take(self, method, path, query, body):
        if path.startswith("mlflow-artifacts/"):
            self.artifacts[path.removeprefix("mlflow-artifacts/artifacts/")] = body
            return 200, {}
        fields = json.loads(body) if body else {name: values[0] for name, values in query.items()}
        if path == "mlflow/experiments/get-by-name":
            return 404, {"error_code": "RESOURCE_DOES_NOT_EXIST"}
        if path == "mlflow/experiments/create":
            return 200, {"experiment_id": "7"}
        if path == "mlflow/runs/search":
            key = fields["filter"].split("'")[1]
            found = [run for run in self.runs.values() if run["tags"].get("plimsoll.key") == key]
            return 200, {"runs": [self.told(run) for run in found]}
        if path == "mlflow/runs/create":
            run = {"id": f"r{len(self.runs)}", "name": fields["run_name"], "status": "RUNNING", "params": {},
                   "tags": {tag["key"]: tag["value"] for tag in fields["tags"]}}
            self.runs[run["id"]] = run
            return 200, {"run": self.told(run)}
        run = self.runs[fields["run_id"]]
        if path == "mlflow/runs/get":
            return 200, {"run": self.told(run)}
        if path == "mlflow/runs/update":
            run["status"] = fields["status"]
        elif path == "mlflow/runs/log-batch":
            if len(fields["metrics"]) > 1000 or max(len(fields["params"]), len(fields["tags"])) > 100:
                return 400, {"error_code": "INVALID_PARAMETER_VALUE"}
            for param in fields["params"]:
                if run["params"].setdefault(param["key"], param["value"]) != param["value"]:
                    return 400, {"error_code": "INVALID_PARAMETER_VALUE"}
            run["tags"].update((tag["key"], tag["value"]) for tag in fields["tags"])
            # The same number of the same step and time adds nothing.
            rows = [(run["id"], m["key"], m["step"], m["timestamp"], m["value"]) for m in fields["metrics"]]
            self.metrics += [row for row in rows if row not in self.metrics]
        return 200, {}

    @staticmethod
    def told(run):
        return {"info": {"run_id": run["id"], "artifact_uri": f"mlflow-artifacts:/7/{run['id']}/artifacts"},
                "data": {"params": [{"key": key, "value": value} for key, value in run["params"].items()]}}

    def named(self, name):
        found = [run for run in self.runs.values() if run["name"] == name]
        assert len(found) == 1, self.runs
        return found[0]

    def steps(self, run, key):
        return [step for of, name, step, _, _ in self.metrics if of == run["id"] and name == key]


def test_a_server_that_goes_and_comes_gets_all_and_nothing_twice(train, tmp_path):
    server = Server()  # not there yet
    trackers = f"run.trackers=[mlflow:http://127.0.0.1:{server.port}]"
    done = train("-O", trackers)
    assert done.returncode == 0, done.stderr
    server.lose_answers = 3
    server.start()
    try:
        log = wait_for_sync(tmp_path / "run")
        assert "does not answer" in log
        parent, child = server.named("run"), server.named("run seed-42/gat")
        assert child["tags"]["mlflow.parentRunId"] == parent["id"]
        assert parent["status"] == child["status"] == "FINISHED"
        assert server.steps(child, "validation_loss") == [1, 2, 3, 4]
        assert parent["params"]["gat.hidden"] == "8" and "run.trackers" not in parent["params"]
        weights = json.loads(done.stdout)["weights"]
        assert parent["tags"]["plimsoll.weights"] == child["tags"]["plimsoll.weights"] == weights
        model = tmp_path / "run/seed-42/gat/model.safetensors"
        assert server.artifacts[f"7/{parent['id']}/artifacts/seed-42/gat/model.safetensors"] == model.read_bytes()
        # The same run goes on.
        before = len(server.metrics)
        done = train("-O", trackers, "-O", "training.max_epochs=6", "--resume")
        assert done.returncode == 0, done.stderr
        wait_for_sync(tmp_path / "run")
        assert len(server.runs) == 2 and len(server.metrics) > before
        assert server.steps(child, "validation_loss") == [1, 2, 3, 4, 5, 6]
        assert child["status"] == "FINISHED"
    finally:
        server.stop()


def test_a_tracker_that_never_answers_neither_slows_nor_ends_training(train, tmp_path):
    with socket.socket() as deaf:  # takes connections and says nothing
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        done = train("-O", f"run.trackers=[mlflow:http://127.0.0.1:{deaf.getsockname()[1]}]")
        assert done.returncode == 0, done.stderr
        pid = int((tmp_path / "run/sync/lock").read_text())
        os.kill(pid, 15)
    assert json.loads((tmp_path / "run/manifest.json").read_text())["weights"]


@pytest.mark.parametrize("tracker, told", [
    ("wandb", "expected tensorboard"),
    ("mlflow", "MLFLOW_TRACKING_URI"),
])
def test_a_tracker_that_cannot_be_is_refused_before_training(train, tmp_path, tracker, told):
    done = train("-O", f"run.trackers=[{tracker}]", MLFLOW_TRACKING_URI="")
    assert done.returncode == 2 and told in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("package, tracker", [("tensorboard", "tensorboard"), ("mlflow", "mlflow:sqlite:///x.db")])
def test_a_missing_package_is_told_with_the_pip_line(train, tmp_path, package, tracker):
    if subprocess.run([sys.executable, "-c", f"import {package}"], capture_output=True).returncode == 0:
        pytest.skip(f"{package} is installed")
    done = train("-O", f"run.trackers=[{tracker}]")
    assert done.returncode == 2 and f"pip install {package}" in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


def test_a_python_without_the_package_is_told(train, tmp_path):
    done = train("-O", "run.trackers=[tensorboard]", python="/bin/false")
    assert done.returncode == 2 and "PLIMSOLL_PYTHON" in done.stderr
    done = train("-O", "run.trackers=[tensorboard]", python=str(tmp_path / "none"))
    assert done.returncode == 2 and "PLIMSOLL_PYTHON" in done.stderr


def require(*packages):
    if subprocess.run([PYTHON, "-c", "import plimsoll, " + ", ".join(packages)], capture_output=True).returncode:
        pytest.skip(f"{PYTHON} has no {', '.join(packages)}: pip install {' '.join(packages)}, or set PLIMSOLL_TRACKERS_PYTHON")


def scalars(folder, tag):
    code = ("import sys, json; from tensorboard.backend.event_processing.event_accumulator import EventAccumulator as A; "
            "a = A(sys.argv[1]); a.Reload(); print(json.dumps([(s.step, s.value) for s in a.Scalars(sys.argv[2])]))")
    return json.loads(subprocess.run([PYTHON, "-c", code, folder, tag], capture_output=True, text=True, check=True).stdout)


def test_records_are_those_of_tensorboard(tmp_path):
    from plimsoll.sync.records import RecordWriter, masked_crc32c

    # RFC 3720, B.4: 32 bytes of zeros; and the check value of CRC-32C. TensorFlow rotates by 15 and adds a constant.
    for data, crc in [(bytes(32), 0x8A9136AA), (b"123456789", 0xE3069283)]:
        assert masked_crc32c(data) == ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32
    require("tensorboard")
    writer = RecordWriter(open(tmp_path / "ours", "wb"))
    for data in (b"", b"one", bytes(range(256)) * 5):
        writer.write(data)
    writer.close()
    code = ("import sys; from tensorboard.summary.writer.record_writer import RecordWriter as W; w = W(open(sys.argv[1], 'wb'))\n"
            "for data in (b'', b'one', bytes(range(256)) * 5): w.write(data)\nw.close()")
    subprocess.run([PYTHON, "-c", code, tmp_path / "theirs"], check=True)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_tensorboard_reads_what_was_written_and_nothing_twice(train, tmp_path):
    require("tensorboard")
    done = train("-O", "run.trackers=[tensorboard]", python=PYTHON)
    assert done.returncode == 0, done.stderr
    run = tmp_path / "run"
    wait_for_sync(run)
    folder = run / "tensorboard" / "seed-42" / "gat"
    losses = scalars(folder, "validation_loss")
    assert [step for step, _ in losses] == [1, 2, 3, 4]
    epochs = [json.loads(line) for line in (run / "seed-42/gat/events.jsonl").read_text().splitlines()]
    expected = [event["validation_loss"] for event in epochs if event["event"] == "epoch"]
    assert [value for _, value in losses] == pytest.approx(expected, rel=1e-6)
    # As if it had been killed between writing and noting it.
    state = run / "sync" / "tensorboard.json"
    noted = json.loads(state.read_text())
    stage = noted["stages"]["seed-42/gat"]
    stage.update(offset=0, epoch=0, bytes=0)
    state.write_text(json.dumps(noted))
    file = folder / stage["file"]
    file.write_bytes(file.read_bytes() + b"torn")
    subprocess.run([PYTHON, "-m", "plimsoll.sync", run], check=True)
    assert scalars(folder, "validation_loss") == losses


def test_mlflow_keeps_a_run_in_a_database(train, tmp_path):
    require("mlflow")
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    done = train("-O", f"run.trackers=[mlflow:{uri}]", python=PYTHON)
    assert done.returncode == 0, done.stderr
    wait_for_sync(tmp_path / "run", 120)
    code = ("import sys, json; from mlflow import MlflowClient; c = MlflowClient(tracking_uri=sys.argv[1]); "
            "e = c.get_experiment_by_name('plimsoll'); rs = c.search_runs([e.experiment_id]); "
            "print(json.dumps([{'name': r.info.run_name, 'status': r.info.status, 'params': r.data.params, "
            "'tags': r.data.tags, 'losses': [m.step for m in c.get_metric_history(r.info.run_id, 'validation_loss')]} for r in rs]))")
    runs = json.loads(subprocess.run([PYTHON, "-c", code, uri], capture_output=True, text=True, check=True).stdout)
    by_name = {run["name"]: run for run in runs}
    assert set(by_name) == {"run", "run seed-42/gat"}
    assert by_name["run seed-42/gat"]["losses"] == [1, 2, 3, 4]
    assert {run["status"] for run in runs} == {"FINISHED"}
    assert by_name["run"]["params"]["gat.hidden"] == "8"


def test_a_real_server_that_is_killed_and_started_again_has_all_once(train, tmp_path):
    require("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"

    def server():
        return subprocess.Popen(
            [PYTHON, "-m", "mlflow", "server", "--workers", "1", "--host", "127.0.0.1", "--port", str(port),
             "--backend-store-uri", f"sqlite:///{tmp_path}/server.db", "--artifacts-destination", str(tmp_path / "art")],
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def ready():
        end = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"{uri}/health", timeout=2):
                    return
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.2)

    def ask(path, **fields):
        request = urllib.request.Request(f"{uri}/api/2.0/mlflow/{path}", json.dumps(fields).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    process = server()
    try:
        ready()
        threading.Timer(2.0, lambda: os.killpg(process.pid, 9)).start()
        done = train("-O", f"run.trackers=[mlflow:{uri}]", "-O", "training.max_epochs=40", "-O", "training.patience=40")
        assert done.returncode == 0, done.stderr
        process.wait(timeout=30)
        process = server()
        ready()
        wait_for_sync(tmp_path / "run", 120)
        experiment = json.load(urllib.request.urlopen(f"{uri}/api/2.0/mlflow/experiments/get-by-name?experiment_name=plimsoll"))
        runs = ask("runs/search", experiment_ids=[experiment["experiment"]["experiment_id"]])["runs"]
        assert len(runs) == 2
        child = next(run for run in runs if run["info"]["run_name"] == "run seed-42/gat")
        history = json.load(urllib.request.urlopen(
            f"{uri}/api/2.0/mlflow/metrics/get-history?run_id={child['info']['run_id']}&metric_key=validation_loss"))
        assert [metric["step"] for metric in history["metrics"]] == list(range(1, 41))
        assert all(run["info"]["status"] == "FINISHED" for run in runs)
        assert list((tmp_path / "art").rglob("model.safetensors"))
    finally:
        os.killpg(process.pid, 9)


def test_a_model_is_sent_in_chunks(tmp_path, monkeypatch):
    """A model may be larger than the memory that a job has beside its training."""
    from plimsoll.sync import mlflow_store

    server, sent = Server(), []
    server.start()
    try:
        store = mlflow_store.Server(f"http://127.0.0.1:{server.port}")
        run = store.create_run("7", "run", 5, {})
        (tmp_path / "model").write_bytes(bytes(range(256)) * 1000)
        open_url = urllib.request.urlopen

        def watched(request, timeout):
            sent.append(request.data)
            return open_url(request, timeout=timeout)

        monkeypatch.setattr(mlflow_store.urllib.request, "urlopen", watched)
        store.upload(run, tmp_path / "model", "model")
        assert server.artifacts[f"7/{run}/artifacts/model"] == (tmp_path / "model").read_bytes()
        assert sent[0] is None and hasattr(sent[1], "read")
    finally:
        server.stop()


@pytest.mark.parametrize("tracker, text", [("tensorboard", "tensorboard is installed"), ("mlflow:sqlite:///x.db", "mlflow is installed")])
def test_a_package_that_is_there_and_does_not_load_says_why(tmp_path, tracker, text):
    package = tmp_path / "packages" / tracker.partition(":")[0]
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('needs protobuf 5, found 3')")
    (tmp_path / "run").mkdir()
    program = ("import sys; from pathlib import Path; from plimsoll.sync.__main__ import open_tracker\n"
               "try:\n  open_tracker(sys.argv[1], Path(sys.argv[2]))\nexcept Exception as error:\n  print(error)")
    path = os.pathsep.join(filter(None, [str(tmp_path / "packages"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run([sys.executable, "-c", program, tracker, tmp_path / "run"], capture_output=True, text=True,
                          env=os.environ | {"PYTHONPATH": path}, timeout=120)
    assert text in done.stdout and "needs protobuf 5, found 3" in done.stdout and "pip install" not in done.stdout, done
