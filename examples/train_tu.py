"""Trains a GIN on a TU data set under two budgets, and draws both runs.

    python examples/train_tu.py PROTEINS --out curves.png [--root tu] [--epochs 20]

PyTorch Geometric's `TUDataset` reads the data set, which it downloads from TU Dortmund unless it is in the root.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib
import plimsoll
import torch
from torch_geometric.datasets import TUDataset
from torch_geometric.nn import GIN, global_add_pool

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


class Classifier(torch.nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.gin = GIN(features, 64, num_layers=4, dropout=0.2)
        self.lin = torch.nn.Linear(64, classes)

    def forward(self, x, edge_index, batch):
        return self.lin(global_add_pool(self.gin(x, edge_index), batch))


@torch.no_grad()
def accuracy(model, graphs):
    model.eval()
    right = sum(int((model(b.x, b.edge_index, b.batch).argmax(1) == b.y).sum()) for b in plimsoll.DataLoader(graphs, 256))
    model.train()
    return right / len(graphs)


def train(graphs, epochs, budget):
    """Returns the report of a run, and the accuracy after each epoch."""
    order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0))
    test, training = graphs[order[: len(graphs) // 10]], graphs[order[len(graphs) // 10 :]]
    torch.manual_seed(0)
    model = Classifier(graphs.num_node_features, int(graphs.y.max()) + 1)
    accuracies = []
    run = plimsoll.fit(
        model, training, optimizer=torch.optim.Adam(model.parameters(), 0.001), epochs=epochs, batch_size=128,
        budget=budget, on_epoch=lambda *_: accuracies.append(accuracy(model, test)),
    )  # fmt: skip
    return run, accuracies


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="name of a TU data set")
    parser.add_argument("--root", default="tu", help="the folder of TU data sets")
    parser.add_argument("--out", type=Path, default=Path("train_tu.png"))
    parser.add_argument("--epochs", type=int, default=20)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        dataset = TUDataset(arguments.root, arguments.name, use_node_attr=True)
        graphs = plimsoll.from_pyg(dataset, Path(folder, "graphs"))
        large, accuracies = train(graphs, arguments.epochs, None)
        # The smallest budget is for this process, which now also holds what remains of the first run.
        small, again = train(graphs, arguments.epochs, large.smallest_budget + (48 << 20))

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    epochs = range(1, arguments.epochs + 1)
    for run, values, style, name in ((large, accuracies, "-", "no budget"), (small, again, "--", "a small budget")):
        label = f"{name}: {run.peak_process / 2**20:.0f} MiB"
        left.plot(epochs, run.losses, style, label=label)
        right.plot(epochs, values, style, label=label)
    left.set(title=f"{arguments.name}: training loss", xlabel="epoch", ylabel="cross-entropy")
    right.set(title="accuracy on a tenth that is left out", xlabel="epoch", ylim=(0, 1))
    left.legend()
    figure.savefig(arguments.out, dpi=120)
    same = small.losses == large.losses and again == accuracies
    print(f"final loss {large.losses[-1]:.4f}, accuracy {accuracies[-1]:.3f}; "
          f"{'the same to the bit' if same else 'DIFFERENT'} under both budgets; curves in {arguments.out}")


if __name__ == "__main__":
    main()
