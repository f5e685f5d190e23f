"""PyG's layers put together as src/nn/gnn.cc puts its own, with the same parameter names."""

import torch
from safetensors.torch import load_file
from torch_geometric.nn import (GATConv, GATv2Conv, GCNConv, GINConv, GraphNorm, SAGEConv, global_add_pool,
                                global_max_pool, global_mean_pool)

POOLING = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


def make_conv(kind, width_in, width, heads, edge_features):
    if kind == "gcn":
        return GCNConv(width_in, width)
    if kind == "sage":
        return SAGEConv(width_in, width)
    if kind == "gin":
        return GINConv(torch.nn.Sequential(torch.nn.Linear(width_in, width), torch.nn.ReLU(),
                                           torch.nn.Linear(width, width)))
    layer = {"gat": GATConv, "gatv2": GATv2Conv}[kind]
    return layer(width_in, width // heads, heads, edge_dim=edge_features or None)


class GnnTwin(torch.nn.Module):
    def __init__(self, model_file, conv, layers=3, hidden=64, heads=1, norm="none", jk="last", pooling="mean",
                 embedding=8, edge_features=0):
        super().__init__()
        weights = {name: value for name, value in load_file(model_file).items() if not name.startswith(("vocabulary.", "trained."))}
        self.jk = jk
        self.pool = POOLING[pooling]
        self.uses_edges = conv in ("gat", "gatv2")
        self.embedding = None
        if "embedding.weight" in weights:
            self.embedding = torch.nn.Embedding(*weights["embedding.weight"].shape)
        width = first_width(weights, conv)
        self.convs = torch.nn.ModuleList()
        self.norms = torch.nn.ModuleList()
        for _ in range(layers):
            self.convs.append(make_conv(conv, width, hidden, heads, edge_features))
            if norm == "batch":
                self.norms.append(torch.nn.BatchNorm1d(hidden))
            if norm == "graph":
                self.norms.append(GraphNorm(hidden))
            width = hidden
        self.lin = torch.nn.Linear(width * layers if jk == "cat" else width, weights["lin.weight"].shape[0])
        missing, unexpected = self.load_state_dict(weights, strict=False)
        assert not unexpected, unexpected
        assert all("num_batches_tracked" in name or name.endswith(".eps") for name in missing), missing

    def forward(self, batch, nodes=False):
        x = batch.x
        if self.embedding is not None:
            x = torch.cat([self.embedding(x[:, 0].long()), x[:, 1:]], 1)
        outputs = []
        for i, conv in enumerate(self.convs):
            x = conv(x, batch.edge_index, edge_attr=batch.edge_attr) if self.uses_edges else conv(x, batch.edge_index)
            if self.norms:
                x = self.norms[i](x, batch.batch) if isinstance(self.norms[i], GraphNorm) else self.norms[i](x)
            x = x.relu()
            outputs.append(x)
        if self.jk == "cat":
            x = torch.cat(outputs, 1)
        if self.jk == "max":
            x = torch.stack(outputs).max(0)[0]
        return self.lin(x if nodes else self.pool(x, batch.batch))


def first_width(weights, conv):
    name = {"gcn": "convs.0.lin.weight", "sage": "convs.0.lin_l.weight", "gin": "convs.0.nn.0.weight",
            "gat": "convs.0.lin.weight", "gatv2": "convs.0.lin_l.weight"}[conv]
    return weights[name].shape[1]
