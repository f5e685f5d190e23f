"""Tables of docs/beside-others.md from the results of bench/beside.py, between its pairs of markers."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "beside-others.md"
HEAD = ("| program | group | outcome | seconds | of processors | load | planned | peak | weights | test |\n"
        "|---|---|---|---|---|---|---|---|---|---|")


def mib(size):
    return f"{size / 2**20:,.0f} MiB" if size else ""


def group_of(row):
    size = row["limit_mib"]
    name = f"{size // 1024} GiB" if size >= 1024 else f"{size} MiB"
    return name + (", again" if row["repeat"] else "")


def line(row):
    test = f"{row['test']:.4f}" if "test" in row else ""
    seconds = f"{row['wall_s']:.0f} | {row['cpu_s']:.0f} | {row['load']:.1f}"
    return (f"| {row['rival']} | {group_of(row)} | {row['outcome']} | {seconds} | {mib(row.get('planned'))} "
            f"| {mib(row['peak_anonymous'])} | {row.get('weights', '')[:8]} | {test} |")


def weights_line(rival, rows):
    """How many different weights the runs of a rival that finished have."""
    finished = [row for row in rows if row["outcome"] == "finished"]
    different = len({row["weights"] for row in finished})
    says = "all with the same weights" if different == 1 else f"with {different} different weights"
    if len(finished) < 2:
        says = "so weights cannot be compared"
    return f"- {rival}: {len(finished)} of {len(rows)} runs finished, {says}."


def section(rows):
    rivals = sorted({row["rival"] for row in rows}, key=lambda name: (name != "Plimsoll", name))
    lines, says = [HEAD], []
    for rival in rivals:
        own = sorted((row for row in rows if row["rival"] == rival), key=lambda row: (-row["limit_mib"], row["repeat"]))
        lines += map(line, own)
        says.append(weights_line(rival, own))
    return "\n".join([*lines, "", *says])


def draw(results):
    """Replaces what is between the markers of each task that has rows."""
    text = PAGE.read_text()
    for task in sorted({row["task"] for row in results["rows"]}):
        rows = [row for row in results["rows"] if row["task"] == task]
        between = f"(<!-- {task} -->\n).*?(<!-- end of {task} -->)"
        text, found = re.subn(between, lambda match: f"{match[1]}\n{section(rows)}\n\n{match[2]}", text, flags=re.DOTALL)
        if not found:
            raise SystemExit(f"beside: {PAGE} has no markers of {task}")
    PAGE.write_text(text)
