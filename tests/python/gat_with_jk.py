"""KD-GAT's GATWithJK (DQN-Fusion, `graphids/core/models/gat.py`) in PyTorch Geometric."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import (GATConv, GATv2Conv, JumpingKnowledge, global_add_pool, global_max_pool,
                                global_mean_pool)

SMALL = {"embedding": 8, "layers": 2, "hidden": 24, "heads": 4, "dropout": 0.1, "fc_layers": 2}
LARGE = {"embedding": 16, "layers": 3, "hidden": 48, "heads": 8, "dropout": 0.2, "fc_layers": 1}
POOLS = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


class GATWithJK(nn.Module):
    """x f32[N,11] (column 0: ID index), edge_index i64[2,E], batch i64[N] (a node's graph) -> logits [G,2].

    [embedding of the ID, other 10 values] -> `layers` x (GATConv, ReLU, dropout) -> JumpingKnowledge, width d
    -> pooling over each graph -> (`fc_layers` - 1) x (Linear(d, d), ReLU, dropout) -> Linear(d, 2). `hidden` is
    the width of a head. Edge features f32[E,K] are used where `edge_features` is K, not 0. `later` are options
    that files may lack.
    """

    def __init__(self, num_ids, embedding, layers, hidden, heads, dropout, fc_layers, in_features=11,
                 **later):
        super().__init__()
        self.config = {"num_ids": num_ids, "embedding": embedding, "layers": layers, "hidden": hidden,
                       "heads": heads, "dropout": dropout, "fc_layers": fc_layers, "in_features": in_features,
                       **later}
        attention, edges, jk, self.pooling = (later.get(name, default) for name, default in (
            ("attention", "gat"), ("edge_features", 0), ("jk", "cat"), ("pooling", "mean")))
        self.uses_edges = edges > 0
        conv = {"gat": GATConv, "gatv2": GATv2Conv}[attention]
        self.dropout = dropout
        self.embedding = nn.Embedding(num_ids, embedding)
        widths = [embedding + in_features - 1] + [hidden * heads] * (layers - 1)
        self.convs = nn.ModuleList(conv(width, hidden, heads=heads, edge_dim=edges or None) for width in widths)
        joined = hidden * heads * (layers if jk == "cat" else 1)
        self.jk = JumpingKnowledge(jk, channels=hidden * heads, num_layers=layers)
        self.fc = nn.ModuleList(nn.Linear(joined, joined) for _ in range(fc_layers - 1))
        self.head = nn.Linear(joined, 2)

    def forward(self, x, edge_index, batch, edge_attr=None):
        h = torch.cat([self.embedding(x[:, 0].long()), x[:, 1:]], dim=1)
        outputs = []
        for conv in self.convs:
            h = F.relu(conv(h, edge_index, edge_attr if self.uses_edges else None))
            h = F.dropout(h, self.dropout, self.training)
            outputs.append(h)
        h = POOLS[self.pooling](self.jk(outputs), batch)
        for linear in self.fc:
            h = F.dropout(F.relu(linear(h)), self.dropout, self.training)
        return self.head(h)
