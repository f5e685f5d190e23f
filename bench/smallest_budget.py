"""Whether the smallest budget that `fit` states holds: random runs, each planned by one fresh process and trained by another
with just that, in a memory cgroup of that size. Needs the right to make cgroups.

    smallest_budget.py GRAPH_SET... [--runs 200] [--first 0] [--seed 0]

What is drawn: a data set, a body, its layers replaced or not, width, layers, dropout, batch size, blocks and threads, as in
python_contract.py. Prints a line a run, and a summary: how many trained, and how many blocks were refused memory and ran again.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter

import python_contract


def stated(case):
    """The smallest budget that a process without one states."""
    command = [sys.executable, python_contract.__file__, "--one", json.dumps({**case, "budget": None})]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"run {case['seed']}: {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])["planned"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="+")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    counts, reruns = Counter(), 0
    for number in range(arguments.first, arguments.first + arguments.runs):
        case = {**python_contract.draw(number, arguments.seed, arguments.sets), "way": "fit"}
        case["budget"] = stated(case)
        ended, found = python_contract.run_one(case, peer=False)
        python_contract.report(case, ended, found, counts)
        reruns += found.get("reruns", 0)
    print(dict(counts), f"of {arguments.runs}; {reruns} blocks ran again")


if __name__ == "__main__":
    main()
