"""A process of test_fit_ranks.py: fits a small model, alone or as a rank of torchrun, and prints a hash of its weights."""

import hashlib
import json
import os
import sys

import plimsoll
import torch
import torch.distributed as dist
from torch_geometric.nn import GraphConv, global_mean_pool


class Classifier(torch.nn.Module):
    def __init__(self, features):
        super().__init__()
        self.conv = GraphConv(features, 8)
        self.lin = torch.nn.Linear(8, 2)
        self.dropout = torch.nn.Dropout(0.2)

    def forward(self, x, edge_index, batch):
        return self.lin(self.dropout(global_mean_pool(self.conv(x, edge_index).relu(), batch)))


def main(folder, options):
    torch.set_num_threads(1)
    more = json.loads(options)
    if dist.is_torchelastic_launched():
        dist.init_process_group("gloo")
    graphs = plimsoll.open(folder)
    torch.manual_seed(more.pop("weights", 0) + (more.pop("apart", 0) and dist.get_rank()))
    model = Classifier(graphs.num_node_features)
    try:
        run = plimsoll.fit(model, graphs, epochs=2, batch_size=64, block=plimsoll.BlockLimits(graphs=5), **more)
    except plimsoll.UsageError as error:
        found = {"refused": str(error)}
    else:
        weights = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()
        found = {"weights": weights, "losses": run.losses}
    os.write(1, (json.dumps(found) + "\n").encode())  # at once, as ranks share the pipe
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
