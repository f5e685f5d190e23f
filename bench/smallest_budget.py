"""Whether the smallest budget that `fit` states holds: it is given to N fresh processes, which train to the end or are refused.

    smallest_budget.py GRAPH_SET [--runs N] [--graphs N] [--epochs N] [--seeds N]

The budget is stated by a process of its own, for each seed; then each of N processes trains the same with just that, in turn
by seed. Prints a line for each that was refused, and a summary.
"""

import argparse
import subprocess
import sys

CODE = """
import sys, torch, plimsoll, plimsoll.nn
from torch_geometric.nn import GAT, global_mean_pool

path, graphs, epochs, seed, budget = sys.argv[1], *map(int, sys.argv[2:6])
torch.set_num_threads(2)
torch.manual_seed(seed)
graphs = plimsoll.open(path)[:graphs]

class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gat = GAT(graphs.graph_set.num_node_features, 64, num_layers=3, heads=4, dropout=0.1)
        self.lin = torch.nn.Linear(64, 2)

    def forward(self, x, edge_index, batch):
        return self.lin(global_mean_pool(self.gat(x, edge_index), batch))

model = Classifier()
run = plimsoll.fit(model, graphs, epochs=epochs, batch_size=512, seed=seed, budget=budget or None)
print(run.smallest_budget, run.smallest_budget_any_seed, run.reruns, run.peak_process)
"""
MIB = 1 << 20


def train(arguments, seed, budget):
    command = [sys.executable, "-c", CODE, arguments.graph_set, *map(str, (arguments.graphs, arguments.epochs, seed, budget))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-2:]
    return list(map(int, done.stdout.split())), ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph_set")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=4)
    arguments = parser.parse_args()
    stated = {}
    for seed in range(arguments.seeds):
        stated[seed], why = train(arguments, seed, 0)
        if why:
            sys.exit(f"seed {seed}: {why}")
        print(f"seed {seed}: {stated[seed][0] // MIB} MiB; of any seed {stated[seed][1] // MIB} MiB", flush=True)
    trained, reruns = 0, 0
    for number in range(arguments.runs):
        seed = number % arguments.seeds
        found, why = train(arguments, seed, stated[seed][0])
        if found is None:
            print(f"run {number}, seed {seed}, {stated[seed][0] // MIB} MiB: {why}", flush=True)
        else:
            trained, reruns = trained + 1, reruns + found[2]
    print(f"{trained} of {arguments.runs} trained with the smallest budget stated; {reruns} blocks ran again")


if __name__ == "__main__":
    main()
