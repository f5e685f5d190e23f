#!/usr/bin/env python3
"""The contract of a budget, tried: random models on random graphs with random budgets, in a memory cgroup.

    contract.py --runs 2000 [--first 0] [--jobs 2] [--out build/contract.jsonl] [--results bench/results/contract.md]

A run is its number: data, recipe, threads and budget are drawn from it. `plimsoll plan` says the least budget; the run
trains with that, or up to three times as much, in a cgroup whose limit is the budget and 64 MiB. Each run is a line of
the file; runs that are there already are not run again, so that an interrupted command goes on. Exits 1 if a run broke
the contract. `--show N` prints the commands of run N. With `--task distillation` a run is that of all stages of a
small KD-GAT on simulated frames, and every stage keeps its plan; with `--task giant` it is classes of nodes or links on
a graph from disk.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.pool import ThreadPool
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python"), str(ROOT / "bench")]

from cgroup import MemoryCgroup  # noqa: E402
from contract_draws import BUSES, GIANTS, SETS, draw_distillation, draw_giant, draw_run, make_buses, make_giants, make_sets  # noqa: E402,E501
from report import machine  # noqa: E402

MIB = 1 << 20
STAGES_DIFFER = MIB  # what earlier stages left, in two processes
BESIDE = 64 * MIB  # of the cgroup's limit, for page cache
UNLIMITED = 16 << 30
COMPARED = 5  # every fifth run is also done without a limit
PLIMSOLL = Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build" / "release" / "bin")) / "plimsoll"


class Broken(Exception):
    """What a run did that it must not."""


DRAW = {"classification": draw_run, "distillation": draw_distillation, "giant": draw_giant}
MAKE = {"classification": make_sets, "distillation": make_buses, "giant": make_giants}


def command_of(verb, drawn, work, *options):
    overrides = [part for override in drawn["overrides"] for part in ("-O", override)]
    return [str(PLIMSOLL), verb, str(work / "recipe.yaml"), "--data", str(work / drawn["set"]), *overrides, "--threads",
            str(drawn["threads"]), "--prefetch", str(drawn["prefetch"]), "--json", *map(str, options)]


def call(command, what):
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise Broken(f"{what} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def train(drawn, work, budget, group=None):
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=work))
    command = command_of("train", drawn, work, "--run", folder / "run", "--budget", budget)
    if group:
        command = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group.folder / "cgroup.procs"), *command]
    try:
        summary = call(command, "train")
        if "stages" in summary:
            stages = summary["stages"]
            summary |= {"weights": [stage.get("weights") for stage in stages], "blocks_in_flight": None,
                        "planned_peak_bytes": max(stage["planned_peak_bytes"] for stage in stages)}
        return summary
    finally:
        shutil.rmtree(folder)


def cgroup_refusal():
    """Why no memory cgroup is to be had; empty where one is."""
    try:
        with MemoryCgroup(UNLIMITED):
            return ""
    except OSError as error:
        return f"no memory cgroup of our own to be had: {error}"


def stage_figures(stages, plan):
    """Bytes of each stage (least budget by `plan`, and by its own plan, planned peak, measured one), and faults."""
    seen = {stage["stage"]: stage for stage in plan["stages"]}
    figures, faults = {}, []
    for stage in stages:
        name, own, measured = stage["stage"], stage["planned_peak_bytes"], stage["measured_peak_bytes"]
        above = stage["min_budget_bytes"] - seen[name]["min_budget_bytes"]
        figures[name] = [seen[name]["min_budget_bytes"], stage["min_budget_bytes"], own, measured]
        if measured > own:
            faults.append(f"{name} took {measured - own} bytes more than its plan")
        if above > STAGES_DIFFER:
            faults.append(f"{name} states a least budget {above} bytes above that of `plan`")
    return figures, faults


def one_run(number, work, task):
    """The record of a run; `faults` says what it broke."""
    begin = time.monotonic()
    record = {**DRAW[task](number), "faults": []}
    faults = record["faults"]
    try:
        plan = call(command_of("plan", record, work, "--budget", UNLIMITED), "plan")
        record["min_budget"] = plan["min_budget_bytes"]
        record["exact"] = plan["exact"]
        record["plan_floor"] = plan["floor_bytes"]
        record["all_threads_budget"] = max(at["budget_bytes"] for at in plan["speed"])
        budget = record["budget"] = int(plan["min_budget_bytes"] * record["factor"])
        with MemoryCgroup(budget + BESIDE) as group:
            try:
                summary = train(record, work, budget, group)
            finally:
                record["kills"] = group.kills()
                if record["kills"] != 0:
                    faults.append(f"the kernel killed {record['kills']}")
        memory = summary["memory"]
        for key in ("weights", "planned_peak_bytes", "reruns", "overflows", "unforeseen", "blocks_in_flight"):
            record[key] = summary[key]
        for key in ("floor_bytes", "slack_bytes", "ledger_peak_bytes", "anonymous_peak_bytes"):
            record[key] = memory[key]
        if "stages" in summary:
            record["stages"], broken = stage_figures(summary["stages"], plan)
            faults += broken
        if memory["anonymous_peak_bytes"] > budget:
            faults.append(f"{memory['anonymous_peak_bytes'] - budget} bytes over the budget")
        # A block of a single node goes another way through batch norm: it takes less than was planned.
        one_node = "gnn.norm=batch" in record["overrides"]
        for key in ("reruns", "overflows", "unforeseen"):
            if summary[key] != 0 and not (key == "unforeseen" and one_node):
                faults.append(f"{key} {summary[key]}")
        if number % COMPARED == 0:
            free = train(record, work, UNLIMITED)
            record["compared"] = True
            if free["weights"] != summary["weights"]:
                faults.append(f"weights {summary['weights']}, without a limit {free['weights']}")
    except Broken as error:
        faults.append(str(error))
    except subprocess.TimeoutExpired:
        faults.append("it took longer than 300 s")
    record["seconds"] = round(time.monotonic() - begin, 2)
    return record


def one_of(arguments):
    return one_run(*arguments)


def run_all(numbers, work, jobs=2, task="classification"):
    """The records of the runs, as they end."""
    work.mkdir(parents=True, exist_ok=True)
    (work / "recipe.yaml").write_text("")
    MAKE[task](work, PLIMSOLL)
    with ThreadPool(jobs) as pool:
        yield from pool.imap_unordered(one_of, [(number, work, task) for number in numbers])


def median_and_worst(values):
    return (f"{100 * statistics.median(values):+.1f} %", f"{100 * min(values):+.1f} %", f"{100 * max(values):+.1f} %")


def summary_of(records):
    """Markdown: what was kept, how near the prediction came, how much of the budget was used."""
    done = [record for record in records if "anonymous_peak_bytes" in record]
    least = [record for record in done if record["factor"] == 1]
    compared = [record for record in records if record.get("compared")]

    def count(word):
        return sum(any(word in fault for fault in record["faults"]) for record in records)

    lines = ["| promise | runs | broken |", "|---|---|---|"]
    lines += [f"| {name} | {of:,} | {broken:,} |" for name, of, broken in (
        ("exit code 0", len(records), count("ended with") + count("longer than")),
        ("of these at the stated minimum", sum(record["factor"] == 1 for record in records),
         sum(record["factor"] == 1 and "anonymous_peak_bytes" not in record for record in records)),
        ("no kill in a cgroup of budget + 64 MiB", len(records), count("the kernel killed")),
        ("anonymous memory within the budget", len(done), count("over the budget")),
        *((("every stage within its plan", len(done), count("than its plan")),
           ("no stage states a least budget above that of `plan`", len(done), count("above that of")))
          if any("stages" in record for record in done) else ()),
        ("no block ran twice", len(done), count("reruns")),
        ("no tensor outside its range", len(done), count("overflows")),
        ("blocks as planned, batch norm of single nodes aside", len(done), count("unforeseen")),
        ("the bits of the run without a limit", len(compared), count("without a limit")))]
    if not done:
        return "\n".join(lines)
    lines += ["", "| of the whole process | runs | median | least | most |", "|---|---|---|---|---|"]

    def row(name, values):
        if values:
            lines.append(f"| {name} | {len(values):,} | " + " | ".join(median_and_worst(values)) + " |")

    def over(record):
        return record["planned_peak_bytes"] / record["anonymous_peak_bytes"] - 1

    def unused(record):
        return 1 - record["anonymous_peak_bytes"] / record["budget"]

    for stage in dict.fromkeys(stage for record in done for stage in record.get("stages", {})):
        figures = [record["stages"][stage] for record in done if stage in record.get("stages", {})]
        row(f"{stage}: planned peak over the measured one", [own / measured - 1 for _, _, own, measured in figures])
        row(f"{stage}: least budget of `plan` over that of the run", [seen / own - 1 for seen, own, _, _ in figures])
    short = [record for record in done if record["budget"] < record["all_threads_budget"]]
    row("planned peak over the measured one", [over(record) for record in done])
    for threads in (1, 2, 3, 4):
        row(f"the same, {threads} block{'s'[:threads > 1]} in flight",
            [over(record) for record in done if record["blocks_in_flight"] == threads])
    row("unused of the least budget", [unused(record) for record in least])
    row("unused of a budget short of all threads", [unused(record) for record in short])
    under = sum(over(record) < 0 for record in done)
    megabytes = [(record["planned_peak_bytes"] - record["anonymous_peak_bytes"]) / MIB for record in done]
    lines += ["", f"The plan was under the measured peak in {under:,} of {len(done):,} runs, by "
              f"{max(-min(megabytes), 0):.2f} MiB at most; over it by {statistics.median(megabytes):.2f} MiB in the median, "
              f"{max(megabytes):.2f} MiB at most. {sum(record['exact'] for record in done):,} plans were exact. Peaks of "
              f"{min(record['anonymous_peak_bytes'] for record in done) / MIB:.0f} to "
              f"{max(record['anonymous_peak_bytes'] for record in done) / MIB:.0f} MiB, sampled every 20 ms."]
    return "\n".join(lines)


RUNS_IN_WORDS = {
    "classification": f"""Each run: one of {2 * SETS} sets of 200 to 400 random graphs (log-normal numbers of nodes, median 8, sigma 1.5), a
random model `gnn`, random block limits, batch size, threads (1 to 4), blocks read ahead""",
    "giant": f"""Each run: one of {GIANTS} simulated graphs of 2,000 to 16,000 nodes, or 2 with edges held out, from disk; random fan-outs,
model `gnn`, seeds a block and a step, threads (1 to 4), blocks read ahead""",
    "distillation": f"""Each run: all stages of a random small KD-GAT on one of {BUSES} simulated buses, random curriculum, features, block
limits, batch size, threads (1 to 4), blocks read ahead""",
}


def results_page(records, command, where, task):
    broken = [record for record in records if record["faults"]]
    text = f"""# The contract of a budget

Written by `{command}`. {where}

{RUNS_IN_WORDS[task]}; `plimsoll plan` states the least
budget; `plimsoll train` gets just that in a quarter of the runs, up to three times as much in the others, in a memory
cgroup whose limit is the budget + 64 MiB. Every {COMPARED}th run is done again without a limit.

{summary_of(records)}
"""
    if broken:
        text += "\nRuns that broke something (`bench/contract.py --show N` prints the commands):\n\n"
        text += "".join(f"- {record['run']}: {'; '.join(record['faults'])}\n" for record in broken)
    return text


def read_records(path, build):
    """Lines of other builds are other runs; a line that a kill cut short is none."""
    records = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if build in (None, record["build"]):
                records[record["run"]] = record
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--task", choices=DRAW, default="classification")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="default: build/contract.jsonl, or TASK.jsonl beside it")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "contract", help="folder of the data sets")
    parser.add_argument("--any-build", action="store_true", help="runs of other builds count, too")
    parser.add_argument("--results", type=Path, help="write the summary there as Markdown")
    parser.add_argument("--show", type=int, metavar="N", help="print the commands of run N and end")
    options = parser.parse_args()
    options.work = options.work.resolve()
    name = "contract" if options.task == "classification" else options.task
    options.out = options.out or ROOT / "build" / f"{name}.jsonl"
    if options.show is not None:
        drawn = DRAW[options.task](options.show)
        print(shlex.join(command_of("plan", drawn, options.work, "--budget", UNLIMITED)))
        print(shlex.join(command_of("train", drawn, options.work, "--run", "RUN", "--budget", f"{drawn['factor']}*MIN")))
        return
    if refusal := cgroup_refusal():
        sys.exit(f"contract: {refusal}")
    build = hashlib.sha256(PLIMSOLL.with_name("plimsoll-train").read_bytes()).hexdigest()[:12]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    records = read_records(options.out, None if options.any_build else build)
    numbers = [number for number in range(options.first, options.first + options.runs) if number not in records]
    where = machine()
    with options.out.open("a") as out:
        for record in run_all(numbers, options.work, options.jobs, options.task):
            record["build"] = build
            records[record["run"]] = record
            out.write(json.dumps(record) + "\n")
            out.flush()
            if record["faults"]:
                print(f"run {record['run']}: {'; '.join(record['faults'])}", file=sys.stderr, flush=True)
    chosen = [records[number] for number in sorted(records) if options.first <= number < options.first + options.runs]
    print(summary_of(chosen))
    if options.results:
        task = f" --task {options.task}" if options.task != "classification" else ""
        command = f"bench/contract.py{task} --runs {options.runs} --jobs {options.jobs}"
        options.results.write_text(results_page(chosen, command, where, options.task))
    sys.exit(any(record["faults"] for record in chosen))


if __name__ == "__main__":
    main()
