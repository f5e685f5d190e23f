"""What torch.compile of a model with Plimsoll's layers costs: seconds of the first blocks of a data set, each of another size, and
how often torch compiled; then the same in a fresh process, which finds on the disk what the first one compiled; then another model,
which finds there what torch needs for any (its checks of the processor, a precompiled header).

    package_compiled.py GRAPH_SET [--body SAGE] [--other GIN] [--layers plimsoll|pyg] [--blocks 8] [--threads 2]

A block is 64 graphs, a step forward and backward. GRAPH_SET: `plimsoll windows` makes it. Also prints the best and median of later
steps, compiled and not.
"""

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "python")]
LATER = 40  # steps


def measure(arguments):
    import plimsoll
    import torch
    from pyg_models import Classifier, make_body

    import plimsoll.nn
    from plimsoll.blocks import BlockLimits, BlockList
    from plimsoll.steps import by_names, loss_of

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    blocks = BlockList(plimsoll.open(arguments.graphs), 64 * LATER, BlockLimits(64, 10**6, 10**6), 0, True)
    loaded = [blocks.load(block.graphs) for block in next(iter(blocks.batches(0)))]
    plain = Classifier(make_body(arguments.body, loaded[0].num_node_features, None, width=64, layers=3, dropout=0.2), 2)
    if arguments.layers == "plimsoll":
        plimsoll.nn.replace(plain)
    model = torch.compile(copy.deepcopy(plain))

    def step(model, batch):
        begin = time.perf_counter()
        loss_of(model, batch, by_names, torch.nn.functional.cross_entropy).backward()
        return time.perf_counter() - begin

    first = [step(model, batch) for batch in loaded[: arguments.blocks]]
    counters = torch._dynamo.utils.counters
    found = {"first": first, "compiled": counters["stats"]["unique_graphs"], "from disk": counters["inductor"]["fxgraph_cache_hit"]}
    later = {name: [] for name in ("compiled steps", "plain steps")}
    for batch in loaded:
        for (name, times), kind in zip(later.items(), (model, plain)):
            times.append(1000 * step(kind, batch))
    print(json.dumps(found | later))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graphs")
    parser.add_argument("--body", default="SAGE")
    parser.add_argument("--other", default="GIN")
    parser.add_argument("--layers", default="plimsoll", choices=["plimsoll", "pyg"])
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments)
        return
    print("| body | layers | process | first block, s | first of all, s | compilations | from disk | step, ms | not compiled |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for process, body in (("first", arguments.body), ("second", arguments.body), ("another model", arguments.other)):
            command = [sys.executable, __file__, *sys.argv[1:], "--body", body, "--one"]
            environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": f"{cache}/code", "TMPDIR": cache}
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if done.returncode:
                sys.exit(done.stderr)
            found = json.loads(done.stdout.splitlines()[-1])
            steps = " | ".join(f"{min(found[name]):.1f}; {statistics.median(found[name]):.1f}" for name in ("compiled steps", "plain steps"))
            print(f"| {body} | {arguments.layers} | {process} | {found['first'][0]:.1f} | {sum(found['first']):.1f} | "
                  f"{found['compiled']} | {found['from disk']} | {steps} |", flush=True)


if __name__ == "__main__":
    main()
