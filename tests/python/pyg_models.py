"""Models of PyTorch Geometric as users write them, for the tests of budgets, plans and runs."""

import torch
from torch_geometric.nn import global_mean_pool, models

PNA = {"aggregators": ["mean", "min", "max", "std"], "scalers": ["identity", "amplification", "attenuation"]}


class Classifier(torch.nn.Module):
    """x f32 [N, F] -> logits [G, C]: a body of PyTorch Geometric, mean over each graph, and a linear layer."""

    def __init__(self, body, classes):
        super().__init__()
        self.body = body
        self.lin = torch.nn.Linear(body.out_channels, classes)

    def forward(self, x, edge_index, batch, batch_size):
        return self.lin(global_mean_pool(self.body(x, edge_index), batch, batch_size))


def degrees(graphs):
    """The histogram of in-degrees that PNA asks for."""
    counts = [torch.bincount(graph.edge_index[1], minlength=graph.num_nodes) for graph in graphs]
    return torch.bincount(torch.cat(counts))


def make_body(name, features, graphs, width=64, layers=3, **options):
    made = {
        "GCN": lambda: models.GCN(features, width, layers, **options),
        "GIN": lambda: models.GIN(features, width, layers, **options),
        "SAGE": lambda: models.GraphSAGE(features, width, layers, **options),
        "GAT": lambda: models.GAT(features, width, layers, heads=4, **options),
        "GATv2": lambda: models.GAT(features, width, layers, heads=4, v2=True, **options),
        "PNA": lambda: models.PNA(features, width, layers, deg=degrees(graphs), **PNA, **options),
    }
    return made[name]()


BODIES = ["GCN", "GIN", "SAGE", "GAT", "GATv2", "PNA"]
