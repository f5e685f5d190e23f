"""What bench/ingest_small_budget.sh says."""

import json
import os
import sys

from made_captures import scratch, simulate
from report import PLIMSOLL, ROOT, machine, timed, write_section

sys.path.insert(0, str(ROOT / "tests" / "python"))
from cgroup import MemoryCgroup

MIB = 1 << 20
LIMIT = 128 * MIB
BUDGET = "48MiB"


def watermarks(group):
    """(Peak of the cgroup, how often it was full), as texts."""
    if group.v1:
        peak = (group.folder / "memory.max_usage_in_bytes").read_text()
        return f"{int(peak) / MIB:.1f} MiB", (group.folder / "memory.failcnt").read_text().strip()
    peak = group.folder / "memory.peak"  # since Linux 5.19
    events = dict(line.split() for line in (group.folder / "memory.events").read_text().splitlines())
    return f"{int(peak.read_text()) / MIB:.1f} MiB" if peak.exists() else "not told by this kernel", events["max"]


def main():
    gigabytes = float(os.environ.get("BENCH_SMALL_GB", "4"))
    state = machine()
    with scratch(1.7 * gigabytes) as folder:
        captures = simulate(folder / "captures", gigabytes)
        try:
            group = MemoryCgroup(LIMIT)
        except OSError as error:
            sys.exit(f"bench/ingest_small_budget: no memory cgroup of our own here: {error}")
        with group:
            os.sync()
            command = [PLIMSOLL, "ingest", "can", captures, "--out", folder / "frames", "--budget", BUDGET, "--json"]
            wall, cpu, output = timed(command, preexec_fn=group.join)
            peak, full, kills = *watermarks(group), group.kills()
        result = json.loads(output)
    memory = {name: f"{value / MIB:.2f}" for name, value in result["memory"].items() if isinstance(value, int)}
    rows = [
        ("text", f"{result['text_bytes'] / 1e9:.2f} GB, {result['frames']:,} frames"),
        ("wall time, processor time", f"{wall:.1f} s ({result['text_bytes'] / 1e6 / wall:,.0f} MB/s), {cpu:.1f} s"),
        ("limit of the cgroup", f"{LIMIT / MIB:.0f} MiB"),
        ("peak of the cgroup, page cache and all", peak),
        ("times it was full and page cache had to go", full),
        ("processes killed for memory", kills),
        ("budget", BUDGET),
        ("floor + peak of the ledger", f"{memory['floor_bytes']} + {memory['ledger_peak_bytes']} MiB"),
        ("anonymous memory, measured peak", f"{memory['anonymous_peak_bytes']} MiB"),
    ]
    text = f"Command: `bench/ingest_small_budget.sh`; {state}\n\n| figure | |\n|---|---|\n"
    write_section("A small budget", text + "\n".join(f"| {name} | {value} |" for name, value in rows))


if __name__ == "__main__":
    main()
