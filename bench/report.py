"""Timed runs of programs, and their results as sections of a Markdown file."""

import json
import os
import platform
import re
import statistics
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLIMSOLL = Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build" / "release" / "bin")) / "plimsoll"
PYTHON = Path(os.environ.get("PLIMSOLL_VENV", ROOT / ".venv")) / "bin" / "python"
RESULTS = ROOT / "bench" / "results" / "ingest.md"


def timed(command, **options):
    """(wall seconds, user + system seconds, output) of a program and its children."""
    begin = time.perf_counter()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, **options) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, output


def timed_peer(command, **options):
    """The same of a peer, which prints its own seconds as JSON: without start and imports."""
    output = json.loads(timed([PYTHON, *command], **options)[2])
    return output["wall"], output["cpu"], output


def rounds(cases, count, before_each=os.sync):
    """Runs all cases one after the other, `count` times: {case: [(wall, cpu), ...]}. What one case has left to be
    written to the disk is written before the next begins."""
    times = {name: [] for name in cases}
    for _ in range(count):
        for name, run in cases.items():
            before_each()
            times[name].append(run()[:2])
    return times


def table(times, amount, unit):
    """Best and median of each case, and `amount` of `unit` over its best wall time. Ratios are of the best ones, to
    those of the first case."""
    lines = [f"| case | wall s, best / median | {unit}/s | processor s, best / median | wall ratio | processor ratio |",
             "|---|---|---|---|---|---|"]
    best = {name: [min(column) for column in zip(*runs)] for name, runs in times.items()}
    first = next(iter(best.values()))
    for name, runs in times.items():
        wall, cpu = (statistics.median(column) for column in zip(*runs))
        best_wall, best_cpu = best[name]
        lines.append(f"| {name} | {best_wall:.3f} / {wall:.3f} | {amount / best_wall:,.0f} "
                     f"| {best_cpu:.3f} / {cpu:.3f} | {best_wall / first[0]:.2f} | {best_cpu / first[1]:.2f} |")
    return "\n".join(lines)


def machine():
    """One line about where the figures come from."""
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    linux = platform.release().partition("-")[0]
    return (f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB, Linux {linux}; release build; load {load:.1f} before "
            "the run.")


def write_section(title, text, results=RESULTS):
    """Puts a section into a file of results, in place of the one of that title, and prints it."""
    section = f"## {title}\n\n{text.strip()}\n"
    print(section, flush=True)
    old = results.read_text() if results.exists() else f"# {results.stem.capitalize()}\n"
    parts = re.split(r"(?m)^(?=## )", old)
    at = next((i for i, part in enumerate(parts) if part.startswith(f"## {title}\n")), None)
    if at is None:
        parts.append(section)
    else:
        parts[at] = section
    results.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts))
