"""KD-GAT's GATWithJK (DQN-Fusion, `graphids/core/models/gat.py`) in PyTorch Geometric."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv, global_mean_pool

SMALL = {"embedding": 8, "layers": 2, "hidden": 24, "heads": 4, "dropout": 0.1, "fc_layers": 2}
LARGE = {"embedding": 16, "layers": 3, "hidden": 48, "heads": 8, "dropout": 0.2, "fc_layers": 1}


class GATWithJK(nn.Module):
    """x f32[N,11] (column 0: ID index), edge_index i64[2,E], batch i64[N] (a node's graph) -> logits [G,2].

    [embedding of the ID, other 10 values] -> `layers` x (GATConv, ReLU, dropout) -> the outputs of all layers
    side by side, width d -> mean over each graph -> (`fc_layers` - 1) x (Linear(d, d), ReLU, dropout)
    -> Linear(d, 2). `hidden` is the width of a head. Edge features are not used.
    """

    def __init__(self, num_ids, embedding, layers, hidden, heads, dropout, fc_layers, in_features=11):
        super().__init__()
        self.config = {"num_ids": num_ids, "embedding": embedding, "layers": layers, "hidden": hidden,
                       "heads": heads, "dropout": dropout, "fc_layers": fc_layers, "in_features": in_features}
        self.dropout = dropout
        self.embedding = nn.Embedding(num_ids, embedding)
        widths = [embedding + in_features - 1] + [hidden * heads] * (layers - 1)
        self.convs = nn.ModuleList(GATConv(width, hidden, heads=heads) for width in widths)
        joined = hidden * heads * layers
        self.fc = nn.ModuleList(nn.Linear(joined, joined) for _ in range(fc_layers - 1))
        self.head = nn.Linear(joined, 2)

    def forward(self, x, edge_index, batch):
        h = torch.cat([self.embedding(x[:, 0].long()), x[:, 1:]], dim=1)
        outputs = []
        for conv in self.convs:
            h = F.dropout(F.relu(conv(h, edge_index)), self.dropout, self.training)
            outputs.append(h)
        h = global_mean_pool(torch.cat(outputs, dim=1), batch)
        for linear in self.fc:
            h = F.dropout(F.relu(linear(h)), self.dropout, self.training)
        return self.head(h)
