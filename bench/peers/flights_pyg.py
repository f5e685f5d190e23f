"""One task of the flights of 2013 with PyTorch Geometric: the peer of bench/beside.py for tables.

    flights_pyg.py FOLDER TASK [--epochs 1] [--batch 512] [--channels 32] [--fan-outs 32 4] [--seed 42]

FOLDER is a data set of RelBench. The model has an encoder for each table and HeteroConv of SAGEConv, as in RelBench's
baseline. NeighborLoader takes times only with pyg-lib, which no package index has, so bench/peers/history.py samples the
latest neighbours instead. Prints AUROC by RelBench's rule, the checksum of the weights and the number of steps, as JSON.
"""

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import torch
from history import History
from sklearn.metrics import roc_auc_score
from torch_geometric import seed_everything
from torch_geometric.nn import HeteroConv, SAGEConv

DAY = 86_400 * 10**9


class Encoder(torch.nn.Module):
    """Rows of one table [rows, columns] and the days since they were written -> [rows, channels]."""

    def __init__(self, table, channels):
        super().__init__()
        self.numbers = torch.nn.Linear(table.numbers.shape[1] + 2, channels)
        self.words = torch.nn.ModuleList(torch.nn.Embedding(int(column.max()) + 1, channels) for column in table.words)
        self.norm = torch.nn.LayerNorm(channels)
        self.table = table

    def forward(self, rows, age):
        days = torch.from_numpy(age / DAY).float()[:, None]
        numbers = torch.cat([torch.from_numpy(self.table.numbers[rows]), days.log1p(), days / 30], 1)
        out = self.numbers(numbers)
        for column, embedding in zip(self.table.words, self.words):
            out = out + embedding(torch.from_numpy(column[rows]))
        return self.norm(out).relu()


class Model(torch.nn.Module):
    def __init__(self, history, entity, channels, layers):
        super().__init__()
        self.entity = entity
        self.encoders = torch.nn.ModuleDict({name: Encoder(table, channels) for name, table in history.tables.items()})
        self.convs = torch.nn.ModuleList(
            HeteroConv({kind: SAGEConv((channels, channels), channels, aggr="sum") for kind in history.lists})
            for _ in range(layers))
        self.norms = torch.nn.ModuleList(
            torch.nn.ModuleDict({name: torch.nn.LayerNorm(channels) for name in history.tables}) for _ in range(layers))
        self.head = torch.nn.Linear(channels, 1)

    def forward(self, tree):
        x = {name: self.encoders[name](rows, tree.ages[name]) for name, rows in tree.rows.items()}
        edges = {kind: torch.from_numpy(pairs) for kind, pairs in tree.edges.items()}
        for conv, norms in zip(self.convs, self.norms):
            out = conv(x, edges)
            x = {name: norms[name](out[name]).relu() if name in out else x[name] for name in x}
        return self.head(x[self.entity][:tree.seeds])[:, 0]


def split_of(folder, task, name):
    table = pq.read_table(folder / "tasks" / task / f"{name}.parquet")
    times, entities, labels = (table.column(i).to_numpy() for i in range(3))
    return times.astype(np.int64), entities.astype(np.int64), labels.astype(np.float32)


def score(model, history, split, options):
    times, entities, labels = split
    model.eval()
    with torch.no_grad():
        outputs = [model(history.sample(model.entity, entities[i:i + options.batch], times[i:i + options.batch],
                                        options.fan_outs)) for i in range(0, len(labels), options.batch)]
    return roc_auc_score(labels, torch.cat(outputs).numpy())


def train(model, history, split, options):
    """Returns the number of steps."""
    times, entities, labels = split
    optimizer, steps = torch.optim.Adam(model.parameters(), 0.005), 0
    for _ in range(options.epochs):
        model.train()
        for chosen in torch.randperm(len(labels)).split(options.batch):
            chosen = chosen.numpy()
            optimizer.zero_grad()
            output = model(history.sample(model.entity, entities[chosen], times[chosen], options.fan_outs))
            torch.nn.functional.binary_cross_entropy_with_logits(output, torch.from_numpy(labels[chosen])).backward()
            optimizer.step()
            steps += 1
    return steps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("task")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--channels", type=int, default=32)
    parser.add_argument("--fan-outs", type=int, nargs="+", default=[32, 4])
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()
    seed_everything(options.seed)
    splits = {name: split_of(options.folder, options.task, name) for name in ("train", "val", "test")}
    # RelBench's rule: no seed sees a row later than the first cut time of the test.
    history = History(options.folder / "db", known=splits["train"][0].max(), end=splits["test"][0].min())
    model = Model(history, "planes", options.channels, len(options.fan_outs))
    steps = train(model, history, splits["train"], options)
    digest = hashlib.sha256(b"".join(value.numpy().tobytes() for value in model.state_dict().values())).hexdigest()
    print(json.dumps({"steps": steps, "weights": digest[:32],
                      **{name: score(model, history, splits[name], options) for name in ("val", "test")}}))


if __name__ == "__main__":
    main()
