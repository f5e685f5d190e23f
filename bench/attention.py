#!/usr/bin/env python3
"""One attention layer against PyTorch Geometric's, as a markdown table: run by bench/attention.sh.

    attention.py LIBRARY GRAPH_SET [--quick]
    attention.py LIBRARY --device cuda [--compile]

On the CPU every case runs with glibc's malloc as users get it and tuned, which removes page faults and halves PyTorch Geometric's time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

TUNED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456"
WINDOWS = ["gat F=256", "gat F=16", "gatv2 F=256", "gatv2 F=16", "gat 4 x 24, F=96", "gat 8 x 48, F=384"]
RANDOM = ["gat random graph", "gatv2 random graph"]
TOLOKERS = ["gat Tolokers"]
MADE_UP = ["gat made-up windows F=256", "gat made-up windows F=16", "gatv2 made-up windows F=256"]


def run(library, graphs, cases, threads, tuned, compiled=False, rounds=5, device="cpu"):
    environment = dict(os.environ, GLIBC_TUNABLES=TUNED) if tuned else dict(os.environ)
    script = Path(__file__).parent / "peers" / "attention.py"
    command = [sys.executable, script, library, graphs, "--threads", str(threads), "--rounds", str(rounds),
               "--device", device]
    command += ["--compile"] * compiled + ["--cases", *cases]
    lines = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def row(result, threads, tuned):
    ours = min(("kept", "recomputed"), key=lambda key: result[key]["best"])
    best = result[ours]["best"]
    compiled = result.get("pyg compiled")
    return [
        result["case"], threads, "tuned" if tuned else "default", f"{result['products']['best'] * 1e3:.0f}",
        f"{best * 1e3:.0f} / {result[ours]['median'] * 1e3:.0f}", f"{result[ours]['cpu'] * 1e3:.0f}", ours,
        f"{best / result['products']['best']:.2f}",
        f"{result['pyg']['best'] * 1e3:.0f} / {result['pyg']['median'] * 1e3:.0f}", f"{result['pyg']['cpu'] * 1e3:.0f}",
        f"{result['pyg']['best'] / best:.1f}",
        f"{compiled['best'] / best:.1f}" if compiled else "",
        f"{result[ours]['best'] / result['bfloat16']['best']:.2f}" if "bfloat16" in result else "",
        f"{result['peak'][ours] / 1e6:.0f}", f"{result['peak']['pyg'] / 1e6:.0f}",
    ]


def cuda(library, compiled):
    """Milliseconds, best of many. A step makes the order of edges, as one that sees a batch once; `order given` does not.
    PyTorch Geometric's bfloat16 is beside float32 of ours. Each compiled case is a process of its own."""
    works = {"products": "products", "kept": "ours kept", "recomputed": "ours recomputed", "order given": "order given",
             "pyg": "PyG", "pyg bfloat16": "PyG bf16"}
    if compiled:
        works |= {"pyg compiled": "PyG compiled", "pyg compiled bfloat16": "PyG compiled bf16"}
    peer = "pyg compiled" if compiled else "pyg"
    print("| case | " + " | ".join(works.values()) + f" | {works[peer]} / order given | ours peak MB | PyG peak MB |")
    print("|" + "---|" * (len(works) + 4))
    failed = 0
    for case in MADE_UP + RANDOM:
        try:
            result = run(library, ".", [case], 2, False, compiled, 30, "cuda")[0]
        except subprocess.CalledProcessError as error:
            failed += 1
            print(f"| {case} | ended with exit code {error.returncode} |" + " |" * (len(works) + 2), flush=True)
            continue
        cells = [result["case"], *(f"{result[key]['best'] * 1e3:.3f}" for key in works),
                 f"{result[peer]['best'] / result['order given']['best']:.1f}",
                 *(f"{result['peak'][key] / 1e6:.0f}" for key in ("kept", "pyg"))]
        print("| " + " | ".join(cells) + " |", flush=True)
    return int(failed > 0)


def main():
    if sys.argv[2:4] == ["--device", "cuda"]:
        return cuda(sys.argv[1], "--compile" in sys.argv)
    library, graphs = sys.argv[1:3]
    quick = "--quick" in sys.argv
    print("| case | threads | malloc | products ms | ours ms best / median | ours CPU ms | schedule | x products "
          "| PyG ms best / median | PyG CPU ms | PyG / ours | compiled PyG / ours | f32 / bf16 | ours peak MB | PyG peak MB |")
    print("|" + "---|" * 15)
    plans = [(WINDOWS[:1], 2, True, False, 3)] if quick else [
        (WINDOWS, 2, False, True, 5), (WINDOWS, 2, True, True, 5), (WINDOWS, 1, True, False, 5),
        (RANDOM, 2, False, False, 2), (RANDOM, 2, True, False, 2)]
    if not quick and (Path(__file__).parents[2] / "shared" / "data" / "graph-tolokers").is_dir():
        plans += [(TOLOKERS, 2, False, False, 2), (TOLOKERS, 2, True, False, 2)]
    for cases, threads, tuned, compiled, rounds in plans:
        for result in run(library, graphs, cases, threads, tuned, compiled, rounds):
            print("| " + " | ".join(str(cell) for cell in row(result, threads, tuned)) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
