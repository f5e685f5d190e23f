#!/usr/bin/env python3
"""SLURM jobs with the --mem that `plimsoll slurm` printed, under limits that the kernel enforces: how many are killed, and
how much of what they asked for they did not use.

    . DIR/env.sh                                    # of a SLURM, such as shared/tools/slurm-one-node starts
    bench/cluster.py DATA --jobs 200 [--seed 1] [--at-once 2] [--results FILE]

Recipes are drawn: task, sizes of the model, batch and blocks, windows, threads, and in half of the cases a budget between
the smallest that works and the planned peak. Unused is what of --mem, page cache aside, is above the anonymous memory
that the run's process held at its peak; the shell and SLURM's step, for which 1.6 MiB are asked, count as unused.
--page-cache 0 takes that of the program out of --mem: what is then left is killed if the plan is wrong.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLIMSOLL = Path(os.environ.get("PLIMSOLL_BIN", Path(__file__).resolve().parents[1] / "build" / "release" / "bin")) / "plimsoll"
ENDED = ("COMPLETED", "FAILED", "OUT_OF_MEMORY", "TIMEOUT", "CANCELLED", "NODE_FAIL")
MIB = 1 << 20
PROGRAM_PAGES = 64  # MiB of --mem that `plimsoll slurm` asks for them (src/job/slurm_script.h)


def call(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


def draw(dice, large):
    """Overrides of a recipe, and threads."""
    task = dice.choice(["detection", "detection", "autoencoder"])
    overrides = {
        "task": task,
        "seed": dice.randrange(1000),
        "training.max_epochs": 1,
        "training.batch_size": dice.choice([16, 64, 256]),
        "training.block.graphs": dice.choice([16, 64]),
        "data.features": dice.choice(["compat", "behaviour"]),
        "data.window": dice.choice([50, 100, 200]),
        "gat.hidden": dice.choice([8, 24, 48]),
        "gat.heads": dice.choice([2, 4]),
        "gat.layers": dice.choice([2, 3]),
    }
    if large:
        overrides |= {"training.block.graphs": dice.choice([64, 128]), "training.block.nodes": 16384,
                      "training.block.edges": 65536, "training.batch_size": 256, "gat.hidden": dice.choice([48, 64, 96]),
                      "gat.heads": 8, "vgae.preset": "large"}
    return [word for key, value in overrides.items() for word in ("-O", f"{key}={value}")], dice.choice([1, 2])


def make_job(dice, options, recipe, folder):
    """The script of a job, or why there is none."""
    overrides, threads = draw(dice, options.large)
    data = options.data
    command = [PLIMSOLL, "slurm", recipe, "--data", data, "--run", folder / "run", "--trial", 0, "--in-place", "--threads", threads,
               *overrides]
    if dice.random() < 0.5:
        plan = call(PLIMSOLL, "plan", recipe, "--data", data, "--threads", threads, "--json", *overrides)
        if plan.returncode != 0:
            return None, plan.stderr
        needs = json.loads(plan.stdout)
        command += ["--budget", dice.randint(needs["min_budget_bytes"], max(needs["min_budget_bytes"], needs["peak_bytes"]))]
    done = call(*command)
    if done.returncode != 0:
        return None, done.stderr
    asked = int(re.search(r"--mem=(\d+)M", done.stdout)[1])
    return done.stdout.replace(f"--mem={asked}M", f"--mem={asked - PROGRAM_PAGES + options.page_cache}M"), None


def state_of(job):
    facts = dict(re.findall(r"(\w+)=(\S*)", call("scontrol", "show", "job", job).stdout))
    return facts.get("JobState", "unknown")


def outcome(folder, script, state):
    """MiB asked for, and the peak of the process."""
    asked = int(re.search(r"--mem=(\d+)M", script)[1])
    entry = {"state": state, "mem_mib": asked, "peak_bytes": None, "planned_bytes": int(re.search(r"--budget (\d+)", script)[1])}
    manifest = folder / "run" / "manifest.json"
    if manifest.exists():
        starts = json.loads(manifest.read_text()).get("starts", [])
        peaks = [start["memory"]["anonymous_peak_bytes"] for start in starts]
        entry["peak_bytes"] = max(peaks, default=None)
    return entry


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--page-cache", type=int, default=PROGRAM_PAGES, metavar="MIB")
    parser.add_argument("--large", action="store_true", help="models and blocks of hundreds of MiB")
    parser.add_argument("--results")
    options = parser.parse_args()
    if "SLURM_CONF" not in os.environ:
        sys.exit("no SLURM_CONF: start a SLURM and source its env.sh")
    dice = random.Random(options.seed)
    outcomes, refused, running = [], 0, {}
    begin = time.time()
    with tempfile.TemporaryDirectory() as scratch:
        recipe = Path(scratch) / "recipe.yaml"
        recipe.write_text("task: detection\n")
        number = 0
        while number < options.jobs or running:
            if number < options.jobs and len(running) < options.at_once:
                folder = Path(scratch) / str(number)
                folder.mkdir()
                number += 1
                script, error = make_job(dice, options, recipe, folder)
                if script is None:
                    refused += 1
                    print(f"{number}: no job: {error.strip()}", file=sys.stderr)
                    continue
                (folder / "job").write_text(script)
                running[call("sbatch", "--parsable", folder / "job").stdout.strip()] = (folder, script)
            for job in list(running):
                if (state := state_of(job)) in ENDED:
                    folder, script = running.pop(job)
                    outcomes.append(outcome(folder, script, state))
                    if state != "COMPLETED":
                        print(*(file.read_text() for file in folder.glob("*.out")), file=sys.stderr)
                    print(f"{len(outcomes)}: {outcomes[-1]}", file=sys.stderr)
                else:
                    time.sleep(0.3)
    report(outcomes, refused, time.time() - begin, options)


def report(outcomes, refused, seconds, options):
    done = [entry for entry in outcomes if entry["state"] == "COMPLETED" and entry["peak_bytes"]]
    killed = sum(entry["state"] == "OUT_OF_MEMORY" for entry in outcomes)
    unused = sorted(1 - entry["peak_bytes"] / ((entry["mem_mib"] - options.page_cache) * MIB) for entry in done)
    below = sorted(1 - entry["peak_bytes"] / entry["planned_bytes"] for entry in done)
    lines = [
        f"`bench/cluster.py DATA --jobs {options.jobs} --seed {options.seed} --page-cache {options.page_cache}{' --large' if options.large else ''}`, {time.strftime('%Y-%m-%d')}, {seconds / 60:.0f} min",
        "",
        "| what | value |",
        "|---|---|",
        f"| jobs | {len(outcomes)} |",
        f"| refused before submission | {refused} |",
        f"| killed for memory | {killed} |",
        f"| ended otherwise than done | {len(outcomes) - len(done) - killed} |",
    ]
    if done:
        lines += [
            f"| --mem | {min(e['mem_mib'] for e in done)} to {max(e['mem_mib'] for e in done)} MiB |",
            f"| unused of that, page cache aside: median, largest | {100 * statistics.median(unused):.1f} %, {100 * unused[-1]:.1f} % |",
            f"| of that beside the run's budget: median | {100 * statistics.median(unused) - 100 * statistics.median(below):.1f} % |",
        ]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.results:
        with open(options.results, "a") as file:
            file.write("\n" + text)


if __name__ == "__main__":
    main()
