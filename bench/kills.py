#!/usr/bin/env python3
"""Ends runs by kill -9 at random moments and resumes them: the weights must be those of a run that nobody ended.

    kills.py --runs 100 [--first 0] [--out build/kills.jsonl] [--results bench/results/kills.md]

A run is its number: graph and node classification, links, and all stages of a distillation take turns, with data, recipe
and budget of contract.py. It trains once in peace. Then it trains again, is killed at a random moment up to --kills times, each
time resumed with another number of threads, and ends by itself. Runs that the file has are not run again. Exits 1 where weights
differ.
"""

import argparse
import hashlib
import json
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "bench")]

from contract import DRAW, MAKE, PLIMSOLL, UNLIMITED, Broken, call, command_of, read_records  # noqa: E402
from report import machine  # noqa: E402

TASKS = ["classification", "giant", "distillation"]


def weights_of(summary):
    """Of stages that train; columns that a resumed run finds are no stages of it."""
    stages = summary.get("stages", [summary])
    return [stage["weights"] for stage in stages if "weights" in stage]


def command(drawn, work, folder, threads, *options):
    drawn = {**drawn, "threads": threads, "overrides": [*drawn["overrides"], "training.checkpoint_every_s=0"]}
    return command_of("train", drawn, work, "--run", folder, "--budget", drawn["budget"], *options)


def killed(words, seconds):
    """Returns whether the process was still running after `seconds` and was killed."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, talk = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    if process.returncode != 0:
        raise Broken(f"resumed, it ended with {process.returncode}: {talk.strip()[-300:]}")
    return False


def one_run(number, work, most):
    """The record of a run; `faults` says what it broke."""
    task = TASKS[number % len(TASKS)]
    drawn = DRAW[task](number)
    moments = random.Random(f"kills {number}")
    record = {"run": number, "task": task, "set": drawn["set"], "kills": 0, "faults": []}
    whole, ended = work / "whole", work / "ended"
    try:
        least = call(command_of("plan", drawn, work, "--budget", UNLIMITED), "plan")["min_budget_bytes"]
        drawn["budget"] = int(least * drawn["factor"])
        begin = time.monotonic()
        expected = weights_of(call(command(drawn, work, whole, drawn["threads"]), "train"))
        seconds = time.monotonic() - begin
        resume = []
        for _ in range(most):
            if not killed(command(drawn, work, ended, moments.randint(1, 4), *resume), moments.uniform(0, seconds)):
                break
            record["kills"] += 1
            # Before the folder is made there is nothing to resume.
            resume = ["--resume"] if ended.exists() else []
        resume = ["--resume"] if ended.exists() else []
        found = weights_of(call(command(drawn, work, ended, moments.randint(1, 4), *resume), "train"))
        if found != expected:
            record["faults"].append(f"weights {found}, without a kill {expected}")
    except Broken as error:
        record["faults"].append(str(error))
    finally:
        shutil.rmtree(whole, ignore_errors=True)
        shutil.rmtree(ended, ignore_errors=True)
    return record


def summary_of(records):
    lines = ["| task | runs | kill -9 | other weights, or an error |", "|---|---|---|---|"]
    for task in TASKS:
        of = [record for record in records if record["task"] == task]
        lines.append(f"| {task} | {len(of)} | {sum(record['kills'] for record in of)} | "
                     f"{sum(bool(record['faults']) for record in of)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kills", type=int, default=3, help="the most of a run")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "kills.jsonl")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "contract", help="folder of the data sets")
    parser.add_argument("--results", type=Path, help="write the summary there as Markdown")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    (work / "recipe.yaml").write_text("")
    for task in TASKS:
        MAKE[task](work, PLIMSOLL)
    build = hashlib.sha256(PLIMSOLL.with_name("plimsoll-train").read_bytes()).hexdigest()[:12]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    records = read_records(options.out, build)
    numbers = range(options.first, options.first + options.runs)
    with options.out.open("a") as out:
        for number in numbers:
            if number in records:
                continue
            records[number] = {**one_run(number, work, options.kills), "build": build}
            out.write(json.dumps(records[number]) + "\n")
            out.flush()
            if records[number]["faults"]:
                print(f"run {number}: {'; '.join(records[number]['faults'])}", file=sys.stderr, flush=True)
    chosen = [records[number] for number in numbers]
    print(summary_of(chosen))
    if options.results:
        options.results.write_text(
            f"# Kills\n\nWritten by `bench/kills.py --runs {options.runs}`. {machine()}\n\nEach run trains once in peace, and once "
            f"killed by SIGKILL at up to {options.kills} random moments and resumed with another number of threads. Budgets are those "
            f"of bench/contract.py, from the stated minimum up.\n\n{summary_of(chosen)}\n")
    sys.exit(any(record["faults"] for record in chosen))


if __name__ == "__main__":
    main()
