#!/usr/bin/env python3
"""Draws the picture of README.md from the tables in bench/results: docs/pictures/budget-{light,dark}.svg.

    .venv/bin/python bench/picture.py [FOLDER]

Left: memory of a training step against the batch size (recipe.md). Right: speed on one giant graph against the memory
(giant.md). A table or column that has gone is an error. The same tables and matplotlib give the same bytes.
"""

import re
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
SEEDS = 500_000  # an epoch's, in the text of giant.md

# Colours that the colour-blind tell apart (Okabe and Ito 2008), on GitHub's two backgrounds.
THEMES = {
    "light": {"ink": "#1f2328", "grid": "#d1d9e0", "ours": "#0072b2", "peer": "#d55e00"},
    "dark": {"ink": "#f0f6fc", "grid": "#3d444d", "ours": "#56b4e9", "peer": "#e69f00"},
}


def table(page, heading):
    """The first table below a heading, as a list of {column: cell}."""
    text = (ROOT / "bench" / "results" / page).read_text()
    lines = text[text.index(f"\n{heading}\n") :].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [dict(zip(rows[0], row)) for row in rows[2:]]


def first_number(cell):
    return float(re.search(r"[\d,]+(?:\.\d+)?", cell)[0].replace(",", ""))


def in_brackets(cell):
    return first_number(re.search(r"\(([^)]*)\)", cell)[1])


def memory_by_batch(step):
    rows = [row for row in table("recipe.md", "## Training steps") if row["step"] == step]
    batches = [int(row["batch"]) for row in rows]
    return (
        batches,
        [in_brackets(row["PyG graphs/s best / median (peak MiB)"]) for row in rows],
        [in_brackets(row["Plimsoll"]) for row in rows],
    )


def speed_by_memory():
    ours = table("giant.md", "### Features in f32")
    memory = {row["share"]: first_number(row["budget"]) for row in ours}
    text = (ROOT / "bench" / "results" / "giant.md").read_text()
    peer = re.findall(r"^\| (\d+ %) \| [\d,]+ seeds/s; now [\d,]+ \| ([\d,]+) \|", text, re.M)
    return (
        [memory[row["share"]] for row in ours],
        [SEEDS / first_number(row["epochs"]) for row in ours],
        [memory[share] for share, _ in peer],
        [first_number(speed) for _, speed in peer],
    )


def size(mib):
    return f"{mib / 1024:.1f} GiB" if mib >= 1000 else f"{mib:.0f} MiB"


def note(axes, text, point, offset, **style):
    axes.annotate(text, point, offset, textcoords="offset points", **style)


def draw(theme, path):
    colour = THEMES[theme]
    plt.rcParams.update(
        {
            "svg.hashsalt": "plimsoll",
            "font.size": 10,
            "text.color": colour["ink"],
            "axes.labelcolor": colour["ink"],
            "axes.edgecolor": colour["grid"],
            "xtick.color": colour["ink"],
            "ytick.color": colour["ink"],
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    ours = {"color": colour["ours"], "marker": "o", "linewidth": 2}
    peer = {"color": colour["peer"], "marker": "s", "linewidth": 2}

    batches, peer_memory, our_memory = memory_by_batch("VGAE large")
    left.set_title("Memory of a training step", loc="left", fontweight="bold")
    for values, style, name, name_at in (
        (peer_memory, peer, "PyTorch Geometric", (-10, 9)),
        (our_memory, ours, "Plimsoll", (30, 9)),
    ):
        left.plot(range(len(batches)), values, **style, clip_on=False)
        for i, value in enumerate(values):
            note(left, size(value), (i, value), (-8, 9), ha="center")
        note(left, name, (0.5, sum(values) / len(values)), name_at, ha="right", color=style["color"], weight="bold")
    left.set_xticks(range(len(batches)), [f"{batch:,}" for batch in batches])
    left.set_xlim(-0.25, len(batches) - 0.75)
    left.set_xlabel("graphs in a batch (KD-GAT's teacher autoencoder)")
    left.set_yticks([0, 2048, 4096, 6144, 8192, 10240], ["0", "2 GiB", "4", "6", "8", "10"])
    left.set_ylim(0, 10800)

    memory, speed, peer_at, peer_speed = speed_by_memory()
    right.set_title("Speed on one graph of 2.8 GiB", loc="left", fontweight="bold")
    right.plot(memory, speed, **ours)
    right.plot(peer_at, peer_speed, **peer)
    for at, value in zip(memory, speed):
        note(right, f"{value:,.0f}", (at, value), (0, 9), ha="center", size=9)
    for at, value in zip(peer_at, peer_speed):
        note(right, f"{value:,.0f}", (at, value), (10, -4))
    same = "Plimsoll: the same weights at every point"
    note(right, same, (memory[-1], speed[-1]), (-8, -20), color=colour["ours"], weight="bold")
    at = (peer_at[-1], peer_speed[-1])
    note(right, "PyTorch Geometric", at, (-12, -4), ha="right", color=colour["peer"], weight="bold")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xticks(memory, [size(at) if at > 600 else f"{at:.0f}" for at in memory])
    right.set_yticks([10, 100, 1000, 10_000], ["10", "100", "1,000", "10,000"])
    right.minorticks_off()
    right.set_xlim(170, 7500)
    right.set_ylim(3, 60_000)
    right.set_xlabel("memory limit")
    right.set_ylabel("training nodes a second")
    for axes in (left, right):
        axes.grid(axis="y", color=colour["grid"], linewidth=0.6)
        axes.set_axisbelow(True)
    figure.tight_layout(w_pad=3)
    figure.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(figure)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        draw(theme, folder / f"budget-{theme}.svg")


if __name__ == "__main__":
    main()
