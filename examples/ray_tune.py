"""Searches the size of a GIN with Ray Tune, each trial within a budget. Sizes that do not fit are dropped before a trial starts.

    python examples/ray_tune.py PROTEINS --budget 400 [--root tu] [--trials-at-once 2]

`plimsoll.plan` computes the memory of each size in a process like that of a trial, so that no trial fails for lack of memory.
"""

import argparse
import os
import tempfile
from pathlib import Path

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}  # Send no usage reports, and write no token to $HOME.

import plimsoll  # noqa: E402
import ray  # noqa: E402
import torch  # noqa: E402
from ray import tune  # noqa: E402
from torch_geometric.datasets import TUDataset  # noqa: E402
from torch_geometric.nn import GIN, global_add_pool  # noqa: E402

#: Bytes that a trial's process holds more than the planning one; 18 MiB were measured with Ray 2.60.
OF_RAY_TUNE = 32 << 20
SIZES = [(hidden, layers) for hidden in (16, 64, 256, 1024) for layers in (2, 4)]


class Classifier(torch.nn.Module):
    def __init__(self, features, classes, hidden, layers):
        super().__init__()
        self.gin = GIN(features, hidden, num_layers=layers)
        self.lin = torch.nn.Linear(hidden, classes)

    def forward(self, x, edge_index, batch):
        return self.lin(global_add_pool(self.gin(x, edge_index), batch))


def model_of(graphs, size):
    torch.manual_seed(0)
    return Classifier(graphs.num_node_features, int(graphs.y.max()) + 1, *size)


def loader_of(graphs):
    return plimsoll.DataLoader(graphs, 64, shuffle=True, seed=1)


def smallest_budget(folder, size):
    """Returns the smallest budget of a trial in bytes. Runs in its own process, as a trial does, and with its optimizer."""
    graphs = plimsoll.open(folder)
    model = model_of(graphs, size)
    plan = plimsoll.plan(model, loader_of(graphs), optimizer=torch.optim.Adam(model.parameters()))
    return plan.smallest_budget + OF_RAY_TUNE


def trial(config):
    graphs = plimsoll.open(config["folder"])
    model = model_of(graphs, config["size"])
    optimizer = torch.optim.Adam(model.parameters())
    loader = loader_of(graphs)
    with plimsoll.budget(config["budget"]):
        for _ in range(config["epochs"]):
            total = 0.0
            for batch in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)
                loss.backward()
                optimizer.step()
                total += float(loss.detach())
            tune.report({"loss": total / len(loader)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of a TU data set, which is downloaded unless it is in the root")
    parser.add_argument("--root", default="tu", help="the folder of TU data sets")
    parser.add_argument("--budget", type=int, default=400, metavar="MIB", help="budget of each trial")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--trials-at-once", type=int, default=2)
    options = parser.parse_args()
    ray.init(**({} if "RAY_ADDRESS" in os.environ else {"include_dashboard": False, "object_store_memory": 100 << 20}))
    with tempfile.TemporaryDirectory() as scratch:
        folder = str(Path(scratch, "graphs"))
        plimsoll.from_pyg(TUDataset(options.root, options.name, use_node_attr=True), folder)
        budget = options.budget << 20
        needs = dict(zip(SIZES, ray.get([ray.remote(smallest_budget).remote(folder, size) for size in SIZES])))
        fitting = [size for size in SIZES if needs[size] <= budget]
        for size in SIZES:
            print(f"hidden {size[0]}, {size[1]} layers: {needs[size] / 2**20:.0f} MiB at least"
                  f"{'' if size in fitting else ', dropped'}")
        tuner = tune.Tuner(
            tune.with_resources(trial, {"CPU": 1}),
            param_space={"size": tune.grid_search(fitting), "folder": folder, "budget": budget, "epochs": options.epochs},
            tune_config=tune.TuneConfig(metric="loss", mode="min", max_concurrent_trials=options.trials_at_once),
            run_config=tune.RunConfig(name="search", storage_path=scratch),
        )
        results = tuner.fit()
        best = results.get_best_result()
        print(f"{len(results)} trials, {results.num_errors} lost; best: hidden {best.config['size'][0]}, "
              f"{best.config['size'][1]} layers, loss {best.metrics['loss']:.4f}")
    ray.shutdown()


if __name__ == "__main__":
    main()
