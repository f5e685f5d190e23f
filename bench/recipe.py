#!/usr/bin/env python3
"""The published recipe against PyTorch Geometric, as sections of bench/results/recipe.md: run by bench/recipe.sh.

    recipe.py PROGRAMS FOLDER [--quick]      FOLDER holds the data sets `frames` and `graphs`

A fresh process a case. Cases that are compared run in turn, so that what else the machine does meets all of them.
Memory is the highest RssAnon of the process, looked at every 20 ms, for both sides alike.
"""

import csv
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median

from engine import TUNED, rounds
from report import PYTHON, ROOT, machine, write_section

RESULTS = ROOT / "bench" / "results" / "recipe.md"
PEER = ROOT / "bench" / "peers" / "recipe.py"
MODELS = {"GAT large": ("gat-large", "large"), "GAT small": ("gat-small", "small"),
          "VGAE large": ("vgae-large", "vgae-large"), "VGAE small": ("vgae-small", "vgae-small"),
          "GAT small, taught": ("gat-small-live", "small")}
TEACHER_OUTPUTS = ["cached", "live", "offload"]
BUDGETS = ["256MiB", "4GiB"]
MIB = 2**20


def anonymous(process):
    """RssAnon in bytes; 0 when the process has gone."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0
    found = [line.split()[1] for line in status.splitlines() if line.startswith("RssAnon")]
    return int(found[0]) * 1024 if found else 0


def run(command, tuned=False):
    """Standard output, with the highest RssAnon of the process; None where the system kills it for want of
    memory."""
    environment = dict(os.environ, GLIBC_TUNABLES=TUNED) if tuned else dict(os.environ)
    most = [0]
    with subprocess.Popen(list(map(str, command)), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        def watch():
            while process.poll() is None:
                most[0] = max(most[0], anonymous(process))
                time.sleep(0.02)

        watcher = threading.Thread(target=watch)
        watcher.start()
        output, errors = process.communicate()
        watcher.join()
    if process.returncode == -9:
        return None
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {process.returncode}\n{errors}")
    return output, most[0]


def measured(command, tuned=False):
    found = run(command, tuned)
    return None if found is None else dict(json.loads(found[0]), peak=found[1])


def best(results, key="graphs_per_s"):
    return max(result[key] for result in results)


def pair(results):
    """Graphs a second, best / median, and the highest peak."""
    if None in results:
        return "killed"
    rates = [result["graphs_per_s"] for result in results]
    return f"{max(rates):,.0f} / {median(rates):,.0f} ({max(result['peak'] for result in results) / MIB:,.0f})"


def times(rate, results):
    return "" if None in results else f"{rate / best(results):.1f}"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def training(programs, graphs, quick):
    """Tables of the steps of every model and of products; of a small GAT graphs a CPU second, and the results of
    PyTorch Geometric with a live teacher."""
    seconds, count, batches = (1, 1, [512]) if quick else (3, 2, [512, 4096])

    def theirs(model, batch, tuned):
        return lambda: measured([PYTHON, PEER, graphs, model, "--batch", batch, "--seconds", seconds], tuned)

    def ours(model, batch, teacher):
        return lambda: measured([programs / "bench_engine", graphs, "--model", model, "--batch", batch, "--threads", 2,
                                 "--splits", "train", "--seconds", seconds, "--teacher", teacher])

    cases = {}
    for name, (peer, model) in MODELS.items():
        for batch in batches:
            cases[name, batch, "default"] = theirs(peer, batch, False)
            cases[name, batch, "tuned"] = theirs(peer, batch, True)
            cases[name, batch, "ours"] = ours(model, batch, "cached" if peer.endswith("live") else "none")
        if not peer.endswith("live"):
            cases[name, "products"] = lambda peer=peer: measured([PYTHON, PEER, graphs, "products", peer])
    found = rounds(cases, count)
    rows = []
    for name in MODELS:
        for batch in batches:
            default, tuned, mine = (found[name, batch, which] for which in ("default", "tuned", "ours"))
            rate = best(mine)
            bound = f"{100 * rate / best(found[name, 'products']):.0f} %" if (name, "products") in found else ""
            over = (max(result["peak"] for result in mine) - mine[0]["floor"]) / MIB
            rows.append([name, batch, pair(default), pair(tuned), pair(mine), f"{over:.0f}",
                         f"{best(mine, 'graphs_per_cpu_s'):,.0f}", times(rate, default), times(rate, tuned),
                         bound])
    bounds = [[name, f"{best(found[name, 'products']):,.0f}", f"{best(found[name, 'products'], 'batch'):,.0f}",
               f"{best(found[name, 'products'], 'blocks'):,.0f}", f"{found[name, 'products'][0]['mflop_a_graph']:.1f}"]
              for name in MODELS if (name, "products") in found]
    cached = 100 * best(found["GAT small, taught", 512, "ours"], "graphs_per_cpu_s") / best(
        found["GAT small", 512, "ours"], "graphs_per_cpu_s")
    said = f"With the teacher's logits from a column a small GAT trains at {cached:.1f} % of its speed without a teacher."
    return (table(["step", "batch", "PyG graphs/s best / median (peak MiB)", "PyG, tuned malloc", "Plimsoll",
                   "peak above floor MiB", "graphs/CPU s", "x default", "x tuned", "of the products"], rows) + f"\n\n{said}",
            table(["model", "products alone, graphs/s", "as 512 windows", "as blocks of 64", "MFLOP a graph"], bounds),
            best(found["GAT small", 512, "ours"], "graphs_per_cpu_s"), found["GAT small, taught", 512, "default"])


def blocks(programs, folder, step_rate):
    output, _ = run([programs / "bench_blocks", folder / "graphs", folder / "frames"])
    rows = []
    for line in output.splitlines():
        found = json.loads(line)
        rows.append([found["source"], *(f"{found[key]:,.0f}" for key in ("read", "classifier", "autoencoder")),
                     f"{100 * step_rate / found['classifier']:.1f} %"])
    return table(["from", "read alone, graphs/s/core", "read and collated", "for an autoencoder", "of a GAT small step"],
                 rows)


def pipeline(programs, folder, quick, budget, teacher_outputs):
    """A shortened run of the published recipe: its manifest, the seconds it took, and those of its epochs."""
    out = folder / "run"
    command = [programs / "plimsoll", "train", ROOT / "recipes" / "kdgat-compat.yaml", "--data", folder / "frames", "--run",
               out, "--force", "--json", "--threads", 2, "--budget", budget, "-O", f"training.max_epochs={2 if quick else 4}",
               "-O", "training.batch_size=512", "-O", f"distillation.teacher_outputs={teacher_outputs}"]
    begin = time.perf_counter()
    if run(command) is None:
        raise SystemExit(f"{' '.join(map(str, command))}: killed")
    seconds = time.perf_counter() - begin
    return dict(json.loads((out / "manifest.json").read_text()), wall=seconds, epochs=epoch_seconds(out))


def epoch_seconds(out):
    """{stage: seconds of its fastest epoch, validation included}"""
    return {path.parent.name: min(float(row["seconds"]) for row in csv.DictReader(path.open()))
            for path in out.glob("seed-*/*/metrics.csv")}


def stages_of(manifest):
    return {stage["stage"]: stage for stage in manifest["stages"]}


def whole_recipe(programs, folder, quick):
    cases = {(budget, "cached"): lambda budget=budget: pipeline(programs, folder, quick, budget, "cached")
             for budget in BUDGETS}
    for mode in TEACHER_OUTPUTS[1:]:
        cases["4GiB", mode] = lambda mode=mode: pipeline(programs, folder, quick, "4GiB", mode)
    return rounds(cases, 1 if quick else 2)


def budgets(found):
    small, large = (found[budget, "cached"] for budget in BUDGETS)
    least = [min(result["wall"] for result in results) for results in (small, large)]
    weights = [{name: stage.get("weights") for name, stage in stages_of(results[0]).items()} for results in (small, large)]
    rows = []
    for name, stage in stages_of(large[0]).items():
        tight = stages_of(small[0])[name]
        floor = large[0]["memory"]["floor_bytes"]
        seconds = [min(stages_of(result)[name]["seconds"] for result in results) for results in (small, large)]
        rows.append([name, f"{seconds[0]:.2f}", f"{seconds[1]:.2f}", f"{seconds[0] / seconds[1]:.3f}",
                     *(f"{(s['measured_peak_bytes'] - floor) / MIB:.0f}" for s in (tight, stage)),
                     f"{tight['min_budget_bytes'] / MIB:.0f}"])
    rows.append(["whole run", f"{least[0]:.2f}", f"{least[1]:.2f}", f"{least[0] / least[1]:.3f}", "", "", ""])
    same = "the same bits" if weights[0] == weights[1] else "OTHER BITS"
    return (f"Weights of all stages with {BUDGETS[0]} and {BUDGETS[1]}: {same}.\n\n"
            + table(["stage", f"s at {BUDGETS[0]}", f"s at {BUDGETS[1]}", "ratio", f"peak above floor MiB at {BUDGETS[0]}",
                     f"at {BUDGETS[1]}", "smallest budget MiB"], rows))


def teachers(found, theirs):
    """`theirs`: results of PyTorch Geometric with a live teacher."""
    rows = []
    for mode in TEACHER_OUTPUTS:
        results = found["4GiB", mode]
        taught, alone = (min(result["epochs"][name] for result in results) for name in ("student_gat", "student_gat_alone"))
        stage = stages_of(results[0])["student_gat"]
        rate = max(stages_of(result)["student_gat"]["graphs_per_s"] for result in results)
        rows.append([mode, f"{taught:.3f}", f"{alone:.3f}", f"{taught / alone:.3f}", f"{rate:,.0f}", times(rate, theirs),
                     f"{(stage['measured_peak_bytes'] - results[0]['memory']['floor_bytes']) / MIB:.0f}"])
    return table(["`distillation.teacher_outputs`", "epoch of `student_gat`, s", "of `student_gat_alone`", "ratio",
                  "graphs/s", "x PyG, teacher live", "peak above floor MiB"], rows)


def main():
    programs, folder = Path(sys.argv[1]), Path(sys.argv[2])
    quick = "--quick" in sys.argv
    state = f"Command: `{'QUICK=1 ' if quick else ''}bench/recipe.sh`; {machine()}"
    write = lambda title, text: write_section(title, f"{state}\n\n{text}", RESULTS)  # noqa: E731
    steps, bounds, step_rate, taught = training(programs, folder / "graphs", quick)
    write("Training steps", steps)
    write("Matrix products", bounds)
    write("Making blocks", blocks(programs, folder, step_rate))
    found = whole_recipe(programs, folder, quick)
    write("Budgets", budgets(found))
    write("Teachers", teachers(found, taught))


if __name__ == "__main__":
    main()
