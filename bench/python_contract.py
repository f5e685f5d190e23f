"""Trains models of PyTorch Geometric under random budgets, each in a memory cgroup of just that size, and counts what
becomes of it. Needs the right to make cgroups.

    python_contract.py GRAPH_SET... --runs N [--first N] [--jobs N] [--seed S] [--peer]

A run draws a data set, a body, width, layers, batch size and a budget, at times below what is needed. It is good when it ends,
or is refused by BudgetExceeded that names what is missing; bad when the kernel kills it or it ends otherwise. --peer trains the same
models on batches of PyTorch Geometric's DynamicBatchSampler, without Plimsoll, in the same cgroups. --first goes on where another call
ended; --jobs makes runs at the same time.
Prints a line a run and a summary.
"""

import argparse
import json
import random
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "python"))
from cgroup import MemoryCgroup  # noqa: E402

MIB = 1 << 20
BODIES = ["GCN", "GIN", "SAGE", "GAT", "GATv2", "PNA"]


def draw(number, seed, sets):
    numbers = random.Random(f"{seed} {number}")
    return {
        "graphs": numbers.choice(sets),
        "body": numbers.choice(BODIES),
        "width": numbers.choice([16, 32, 64, 128, 256]),
        "layers": numbers.choice([1, 2, 3, 4]),
        "dropout": numbers.choice([0.0, 0.3]),
        "batch_size": numbers.choice([8, 64, 256, 1024, 4096]),
        "block": numbers.choice([16, 64, 256]),
        "way": numbers.choice(["fit", "budget"]),
        # The interpreter with torch and PyTorch Geometric holds some 240 MiB.
        "budget": numbers.randint(250, 700) * MIB,
        "threads": numbers.choice([1, 2]),
        "seed": number,
    }


def train(case, peer):
    """One run, in a process of its own. Prints how it ended."""
    import plimsoll
    import torch
    from pyg_models import Classifier, make_body

    torch.set_num_threads(case["threads"])
    torch.manual_seed(case["seed"])
    graphs = plimsoll.open(case["graphs"])
    graphs = graphs[: min(len(graphs), 1500)]
    data = [graphs.to_pyg(i) for i in range(len(graphs))]
    body = make_body(case["body"], data[0].num_node_features, data[:200], width=case["width"], layers=case["layers"],
                     dropout=case["dropout"])
    model = Classifier(body, int(graphs.graph_set.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters())
    if peer:
        train_by_hand(model, optimizer, peer_batches(data, case))
        print(json.dumps({"ended": "trained"}))
        return
    try:
        if case["way"] == "fit":
            run = plimsoll.fit(model, graphs, optimizer=optimizer, batch_size=case["batch_size"],
                               block=plimsoll.BlockLimits(case["block"], 10**6, 10**6), budget=case["budget"])
            found = {"process": run.peak_process, "planned": run.smallest_budget, "reruns": run.reruns}
        else:
            with plimsoll.budget(case["budget"]) as memory:
                train_by_hand(model, optimizer, by_hand(data, case))
            found = {"process": memory.peak_process}
        print(json.dumps({"ended": "trained", **found}))
    except plimsoll.BudgetExceeded as refusal:
        print(json.dumps({"ended": "refused", "text": str(refusal)[:200]}))


def by_hand(data, case):
    from torch_geometric.loader import DataLoader

    return DataLoader(data, batch_size=case["batch_size"], shuffle=True)


def peer_batches(data, case):
    from torch_geometric.loader import DataLoader, DynamicBatchSampler

    nodes = sum(graph.num_nodes for graph in data) / len(data)
    sampler = DynamicBatchSampler(data, int(nodes * case["batch_size"]) + 1000, mode="node", shuffle=True)
    return DataLoader(data, batch_sampler=sampler)


def train_by_hand(model, optimizer, loader):
    import torch
    from plimsoll._fit.steps import by_names

    for batch in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(by_names(model, batch), batch.y).backward()
        optimizer.step()


def run_one(case, peer):
    """What became of a run: trained, refused, killed or failed, and what it printed."""
    command = [sys.executable, __file__, "--one", json.dumps(case)] + (["--peer"] if peer else [])
    with MemoryCgroup(case["budget"]) as group:
        done = subprocess.run(command, capture_output=True, text=True, preexec_fn=group.join)
        killed = group.kills() > 0
    if killed or done.returncode == -9:
        return "killed", {}
    if done.returncode != 0:
        return "failed", {"text": done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else ""}
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return found.pop("ended"), found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        train(json.loads(arguments.one), arguments.peer)
        return
    counts, over = Counter(), 0
    cases = [draw(number, arguments.seed, arguments.sets) for number in range(arguments.first, arguments.first + arguments.runs)]
    with ProcessPoolExecutor(arguments.jobs) as jobs:
        results = jobs.map(run_one, cases, repeat(arguments.peer))
        for case, (ended, found) in zip(cases, results, strict=True):
            report(case, ended, found, counts)
            over += found.get("process", 0) > case["budget"]
    print(dict(counts), f"over the budget: {over}")


def report(case, ended, found, counts):
    counts[case["way"] + " " + ended] += 1
    told = {key: value for key, value in case.items() if key not in ("graphs", "seed")}
    print(case["seed"], ended, Path(case["graphs"]).name, json.dumps(told), json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
