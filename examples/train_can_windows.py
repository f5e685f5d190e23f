"""Trains PyTorch Geometric's GAT, with fused layers, on windows of CAN traffic, and draws its curves.

    python examples/train_can_windows.py [CAPTURES] --out curves.png [--epochs 5] [--budget 1GiB]

CAPTURES is a folder with train... and test... folders of captures. Without it a bus is simulated.
"""

import argparse
import tempfile
from pathlib import Path

import matplotlib
import numpy as np
import plimsoll
import plimsoll.nn
import torch
from sklearn.metrics import roc_auc_score, roc_curve
from torch_geometric.nn import GAT, global_mean_pool

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


class Classifier(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.scale = torch.nn.BatchNorm1d(features)
        self.gat = GAT(features, 64, num_layers=3, heads=4, dropout=0.1)
        self.lin = torch.nn.Linear(64, 2)

    def forward(self, x, edge_index, batch):
        return self.lin(global_mean_pool(self.gat(self.scale(x), edge_index), batch))


def windows(captures, frame_count, folder):
    if captures:
        frames = plimsoll.ingest.can([captures], folder / "frames")
    else:
        frames = plimsoll.simulate.can(folder / "frames", frames=frame_count, seed=1)
    return plimsoll.windows(frames, folder / "graphs", features="behaviour")


def of_splits(graphs, begin):
    """Returns the windows of all splits whose names begin with `begin`."""
    ranges = [range(s.first_graph, s.first_graph + s.graphs) for s in graphs.splits.values() if s.name.startswith(begin)]
    return graphs[np.concatenate([np.array(r) for r in ranges])]


@torch.no_grad()
def scores(model, graphs):
    model.eval()
    found = [model(b.x, b.edge_index, b.batch) for b in plimsoll.DataLoader(graphs, batch_size=512)]
    model.train()
    return (lambda out: out[:, 1] - out[:, 0])(torch.cat(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captures", nargs="?")
    parser.add_argument("--out", type=Path, default=Path("train_can_windows.png"))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--budget", default="1GiB")
    parser.add_argument("--frames", type=int, default=200_000, help="number of simulated frames, without CAPTURES")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder, plimsoll.budget(arguments.budget) as memory:
        graphs = windows(arguments.captures, arguments.frames, Path(folder))
        training, test = of_splits(graphs, "train"), of_splits(graphs, "test")
        model = Classifier(graphs.num_node_features)
        print(plimsoll.nn.replace(model))
        loader = plimsoll.DataLoader(training, batch_size=256, shuffle=True)
        optimizer = torch.optim.Adam(model.parameters(), 0.002)
        print(plimsoll.plan(model, loader, optimizer=optimizer, budget=arguments.budget))
        losses, areas = [], []
        labels = graphs.y[test.indices]
        for epoch in range(arguments.epochs):
            for batch in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            found = scores(model, test)
            areas.append(roc_auc_score(labels, found))
            print(f"epoch {epoch + 1}: loss {np.mean(losses[-len(loader):]):.4f}, area under the curve {areas[-1]:.4f}")
    print(memory)

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(losses)
    left.set(title="training loss of each batch", xlabel="step", ylabel="cross-entropy", yscale="log")
    right.plot(*roc_curve(labels, found)[:2])
    right.set(title=f"test windows, area {areas[-1]:.4f}", xlabel="false alarms", ylabel="attacks found")
    figure.savefig(arguments.out, dpi=120)
    print(f"curves in {arguments.out}")


if __name__ == "__main__":
    main()
