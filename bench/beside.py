#!/usr/bin/env python3
"""The same tasks with PyTorch Geometric, kumo-engine, dgf and Plimsoll in memory groups of 8 GiB to 256 MiB.

    bench/beside.py run flights web --out bench/results/beside.json --kumo VENV --dgf VENV [--rival plimsoll ...]
    bench/beside.py draw bench/results/beside.json     # puts the tables into docs/beside-others.md

`run` needs memory groups of the kernel that it may make (root). Each program runs alone in a group of its own; the first limit
is run again at the end. A rival whose virtual environment is not given is left out, and the results file
says so. Rows that the file has already are kept; rows of what is run now replace them. Logs are in build/beside.
"""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

from beside_page import draw
from memory_group import ROOT, run_in_group
from report import PLIMSOLL, PYTHON, machine, timed

DATA = Path(os.environ.get("PLIMSOLL_DATA", ROOT.parent / "shared" / "data"))
FLIGHTS, PAGES = DATA / "relational-nycflights13", DATA / "graph-cnr2000"
PEERS, SCRATCH = ROOT / "bench" / "peers", ROOT / "build" / "beside"
LIMITS = [8192, 4096, 2048, 1024, 512, 256]  # MiB
REFUSED = 4  # the exit code of a budget that is too small
SHARE = "80%"  # of the group, as budget: the rest is for page cache
RELATIONAL = ["-O", "relational.task=plane-active", "-O", "relational.neighbours=latest", "-O", "training.max_epochs=1",
              "-O", "relational.channels=32", "-O", "sampling.fan_outs=[32,4]"]


def prepare_web(folder):
    """The web graph's lists, features, labels and splits, which all rivals read. Made once, and not counted."""
    if (folder / "test.npy").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    timed([PLIMSOLL, "ingest", "graph", "--edges", PAGES / "cnr-2000.arcs.tsv.zst", "--direction", "out", "--out", folder / "edges"])
    timed([PYTHON, ROOT / "scripts" / "structure-features", folder / "edges", folder])


def plimsoll_flights(out, _venv):
    return [[PLIMSOLL, "ingest", "tables", FLIGHTS, "--reverse", "--out", out / "graph", "--budget", SHARE],
            [PLIMSOLL, "train", "relational", "--data", out / "graph", "--run", out / "run", "--budget", SHARE, *RELATIONAL],
            [PLIMSOLL, "evaluate", out / "run", "--data", out / "graph", "--budget", SHARE]]


def plimsoll_web(out, _venv):
    web = SCRATCH / "web"
    columns = [word for name, file in (("features", "x"), ("labels", "y"), ("train", "train"), ("valid", "valid"), ("test", "test"))
               for word in (f"--{name}", web / f"{file}.npy")]
    return [[PLIMSOLL, "ingest", "graph", "--edges", PAGES / "cnr-2000.arcs.tsv.zst", "--direction", "out", *columns,
             "--out", out / "graph", "--budget", SHARE],
            [PLIMSOLL, "train", "node_classification", "--data", out / "graph", "--run", out / "run", "--budget", SHARE,
             "-O", "training.max_epochs=2"],
            [PLIMSOLL, "evaluate", out / "run", "--data", out / "graph", "--budget", SHARE]]


CASES = {
    "flights": {"PyTorch Geometric": lambda _out, venv: [[venv, PEERS / "flights_pyg.py", FLIGHTS, "plane-active"]],
                "kumo-engine": lambda out, venv: [[venv, PEERS / "flights_kumo.py", FLIGHTS, "plane-active", out / "work",
                                               "--steps", "5"]],
                "Plimsoll": plimsoll_flights},
    "web": {"PyTorch Geometric": lambda _out, venv: [[venv, PEERS / "web_pyg.py", SCRATCH / "web"]],
            "dgf": lambda _out, venv: [[venv, PEERS / "web_dgf.py", SCRATCH / "web"]],
            "Plimsoll": plimsoll_web},
}


def metric_of(evaluation):
    """The figure of the test split in an evaluation of Plimsoll."""
    split = next(split for split in evaluation["splits"] if split["name"] == "test")
    return split["models"][0]["auc" if evaluation.get("task") == "plane-active" else "accuracy"]


def result_of(out, outputs):
    """weights, test and planned bytes of a run that finished, from what its programs wrote, or a peer printed."""
    if not (out / "run").exists():
        return json.loads(outputs[-1].splitlines()[-1])
    manifest = json.loads((out / "run" / "manifest.json").read_text())
    stage = manifest["stages"][0]
    return {"weights": manifest["weights"], "planned": stage["planned_peak_bytes"], "used": stage["measured_peak_bytes"],
            "test": metric_of(json.loads((out / "run" / "evaluation.json").read_text()))}


def measure(task, rival, venv, limit, seconds):
    """One row: the programs of a rival one after the other, each in a group of `limit` MiB."""
    out = SCRATCH / "run"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    row = {"task": task, "rival": rival, "limit_mib": limit, "load": os.getloadavg()[0], "wall_s": 0.0, "cpu_s": 0.0,
           "peak_anonymous": 0, "peak_with_cache": 0}
    outputs = []
    for command in CASES[task][rival](out, venv):
        log = SCRATCH / f"{task}-{rival.replace(' ', '-')}-{limit}-{len(outputs)}.log"
        step = run_in_group(command, limit << 20, seconds, log, {"KUMO_RAISE_NOFILE": "0"})
        outputs.append(step["output"])
        row |= {"outcome": "refused" if step["code"] == REFUSED else step["outcome"]}
        row |= {name: row[name] + step[name] for name in ("wall_s", "cpu_s")}
        row |= {name: max(row[name], step[name] or 0) for name in ("peak_anonymous", "peak_with_cache")}
        if row["outcome"] != "finished":
            return row | {"last_line": (log.read_text().splitlines() or [""])[-1][-200:]}
    return row | result_of(out, outputs)


def key(row):
    return row["task"], row["rival"], row["limit_mib"], row["repeat"]


def run(options):
    venvs = {"PyTorch Geometric": PYTHON, "Plimsoll": PYTHON, "kumo-engine": options.kumo, "dgf": options.dgf}
    results = json.loads(options.out.read_text()) if options.out.exists() else {"rows": []}
    results["machine"] = machine()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    if "web" in options.task:
        prepare_web(SCRATCH / "web")
    for task in options.task:
        for rival in options.rival or CASES[task]:
            if rival not in CASES[task] or not venvs[rival]:
                print(f"beside: {rival} is not run on {task}", file=sys.stderr)
                continue
            again = [] if options.once else [(1, options.limits[0])]
            for repeat, limit in [*((0, limit) for limit in options.limits), *again]:
                row = measure(task, rival, venvs[rival], limit, options.seconds) | {"repeat": repeat}
                print(json.dumps(row), file=sys.stderr, flush=True)
                results["rows"] = [old for old in results["rows"] if key(old) != key(row)] + [row]
                options.out.write_text(json.dumps(results, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    runs = verbs.add_parser("run")
    runs.add_argument("task", nargs="+", choices=CASES)
    runs.add_argument("--out", type=Path, required=True)
    runs.add_argument("--rival", action="append")
    runs.add_argument("--limits", type=int, nargs="+", default=LIMITS, help="in MiB")
    runs.add_argument("--once", action="store_true", help="do not run the first limit twice")
    runs.add_argument("--seconds", type=float, default=600, help="after which a program is stopped")
    runs.add_argument("--kumo", type=Path, help="the Python of a virtual environment with kumo-engine")
    runs.add_argument("--dgf", type=Path, help="the Python of a virtual environment with dgf")
    verbs.add_parser("draw").add_argument("results", type=Path)
    options = parser.parse_args()
    if options.verb == "run":
        run(options)
    else:
        draw(json.loads(options.results.read_text()))


if __name__ == "__main__":
    main()
