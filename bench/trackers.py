#!/usr/bin/env python3
"""What it costs a run to be watched: recipes/gat.yaml with trackers and with a trace, beside without.

    trackers.py FRAMES [--rounds 5] [--epochs 10]

FRAMES is a data set of `plimsoll ingest can` or `plimsoll simulate can`. PLIMSOLL_TRACKERS_PYTHON names a Python that has the packages plimsoll,
tensorboard and mlflow; a real MLflow server runs meanwhile. Cases run in turn, so that what else the machine does meets
all of them. Writes its section of bench/results/seeing.md.
"""

import argparse
import csv
import fcntl
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from report import PLIMSOLL, ROOT, machine, timed, write_section

RESULTS = ROOT / "bench" / "results" / "seeing.md"
TRACE = ["run.profile.wait=0", "run.profile.warmup=0", "run.profile.active=1000000000"]
PYTHON = os.environ.get("PLIMSOLL_TRACKERS_PYTHON", sys.executable)


def start_server(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [PYTHON, "-m", "mlflow", "server", "--workers", "1", "--host", "127.0.0.1", "--port", str(port),
         "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "art")],
        env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    for _ in range(900):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return process, f"http://127.0.0.1:{port}"
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the MLflow server does not start")


def wait_for_sync(run):
    """What the process that followed the run says of itself: processor seconds and MiB; none without trackers."""
    if not (run / "sync").exists():
        return None
    with open(run / "sync" / "lock", "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
    found = re.search(r"([\d.]+) s of processor, (\d+) MiB", (run / "sync" / "log").read_text())
    if found is None:
        raise SystemExit(f"not all was sent: {(run / 'sync' / 'log').read_text()}")
    return float(found[1]), int(found[2])


def epoch_seconds(run):
    with open(run / "seed-42" / "gat" / "metrics.csv") as file:
        return sum(float(row["seconds"]) for row in csv.DictReader(file))


def case(frames, folder, epochs, name, overrides):
    def run():
        out = folder / "run"
        command = [PLIMSOLL, "train", ROOT / "recipes" / "gat.yaml", "--data", frames, "--run", out, "--force", "--json",
                   "--threads", 2, "--budget", "256MiB", "-O", f"training.max_epochs={epochs}", "-O",
                   f"training.patience={epochs}", *(word for override in overrides for word in ("-O", override))]
        wall, cpu, output = timed(command, env={**os.environ, "PLIMSOLL_PYTHON": PYTHON}, stderr=subprocess.DEVNULL)
        memory = json.loads(output)["memory"]
        beside = memory["anonymous_peak_bytes"] - memory["floor_bytes"] - memory["ledger_peak_bytes"]
        return {"wall": wall, "cpu": cpu, "epochs": epoch_seconds(out), "beside": beside, "sync": wait_for_sync(out)}

    return run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("frames", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10)
    given = parser.parse_args()
    where = machine()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server, uri = start_server(folder)
        try:
            cases = {
                "nothing": [],
                "TensorBoard": ["run.trackers=[tensorboard]"],
                "MLflow server": [f"run.trackers=[mlflow:{uri}]"],
                "both": [f"run.trackers=[tensorboard, mlflow:{uri}]"],
                "trace of every step": TRACE,
                "and its operators": [*TRACE, "run.profile.operators=true"],
            }
            found = {case_name: [] for case_name in cases}
            for _ in range(given.rounds):
                for case_name, overrides in cases.items():
                    found[case_name].append(case(given.frames, folder, given.epochs, case_name, overrides)())
        finally:
            os.killpg(server.pid, 9)
            server.wait()
    lines = ["| run with | epochs s, best / median | ratio | processor s, best / median | ratio | beside floor and ledger, MiB "
             "| sync: processor s, MiB |", "|---|---|---|---|---|---|---|"]
    first = None
    for case_name, runs in found.items():
        seconds, cpu = ([run[key] for run in runs] for key in ("epochs", "cpu"))
        first = first or (min(seconds), min(cpu))
        syncs = [run["sync"] for run in runs if run["sync"]]
        sync = f"{statistics.median(s for s, _ in syncs):.2f}, {max(m for _, m in syncs)}" if syncs else ""
        lines.append(f"| {case_name} | {min(seconds):.2f} / {statistics.median(seconds):.2f} | {min(seconds) / first[0]:.3f} "
                     f"| {min(cpu):.2f} / {statistics.median(cpu):.2f} | {min(cpu) / first[1]:.3f} "
                     f"| {max(run['beside'] for run in runs) / 2**20:.1f} | {sync} |")
    text = (f"`bench/trackers.py FRAMES --rounds {given.rounds} --epochs {given.epochs}`, {time.strftime('%Y-%m-%d')}. {where} "
            "recipes/gat.yaml, 2 threads, budget 256 MiB. Seconds are those of all epochs; processor seconds of "
            "the training process alone, and of `plimsoll sync` in the last column, its start before training included; ratios of "
            "the best ones to those without.\n\n"
            + "\n".join(lines))
    write_section("The cost of being watched", text, RESULTS)


if __name__ == "__main__":
    main()
