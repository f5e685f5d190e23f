"""KD-GAT's GraphAutoencoderNeighborhood (DQN-Fusion, `graphids/core/models/vgae.py`) in PyTorch Geometric."""

import torch
from torch import nn
from torch.nn import functional as F
from torch_geometric.nn import GATConv

SMALL = {"embedding": 4, "hidden": [80, 40], "latent": 16, "heads": 1, "dropout": 0.1}
LARGE = {"embedding": 32, "hidden": [480, 240, 48], "latent": 48, "heads": 4, "dropout": 0.15}


class GraphAutoencoderNeighborhood(nn.Module):
    """x f32[N,F] (column 0: ID index), edge_index i64[2,E] -> rebuilt features, logits of the ID and of neighbours.

    `noise` [N, latent] is what codes are drawn with; without it a code is its mean. Dropout is left to the caller:
    it must be 0 in training, where ours has other random numbers.
    """

    def __init__(self, num_ids, embedding, hidden, latent, heads, dropout, in_features=11, decoder_heads=4,
                 output="sigmoid", edge_features=0):
        super().__init__()
        self.config = {"num_ids": num_ids, "in_features": in_features, "embedding": embedding, "hidden": hidden,
                       "latent": latent, "heads": heads, "decoder_heads": decoder_heads, "dropout": dropout,
                       "output": output, "edge_features": edge_features}
        self.drop, self.output, self.uses_edges = dropout, output, edge_features > 0
        edge_dim = edge_features or None
        widths = hidden[:-1] if hidden[-1] == latent else hidden
        features = in_features - 1
        self.embedding = nn.Embedding(num_ids, embedding)

        def conv(given, width, heads):
            heads = heads if width % heads == 0 else 1
            return GATConv(given, width // heads, heads=heads, edge_dim=edge_dim)

        given = [embedding + features, *widths[:-1]]
        self.encoder = nn.ModuleList(conv(a, b, heads if i == 0 else 1) for i, (a, b) in enumerate(zip(given, widths)))
        self.encoder_norms = nn.ModuleList(nn.BatchNorm1d(width) for width in widths)
        self.mu = nn.Linear(widths[-1], latent)
        self.logvar = nn.Linear(widths[-1], latent)
        back = [latent, *widths[:0:-1], features]
        count = len(back) - 1
        self.decoder = nn.ModuleList(conv(back[i], back[i + 1], decoder_heads if i == 0 and i < count - 1 else 1)
                                     for i in range(count))
        self.decoder_norms = nn.ModuleList(nn.BatchNorm1d(width) for width in back[1:-1])
        self.id_head = nn.Linear(latent, num_ids)
        self.neighbours = nn.ModuleList(nn.Linear(latent, width) for width in (latent, latent, num_ids))

    def encode(self, x, edge_index, edge_attr=None):
        h = torch.cat([self.embedding(x[:, 0].long()), x[:, 1:]], dim=1)
        for conv, norm in zip(self.encoder, self.encoder_norms):
            h = F.dropout(F.relu(norm(conv(h, edge_index, self.edges(edge_attr)))), self.drop, self.training)
        return self.mu(h), self.logvar(h).clamp(-20, 20)

    def decode(self, z, edge_index, edge_attr=None):
        h = z
        for conv, norm in zip(self.decoder[:-1], self.decoder_norms):
            h = F.dropout(F.relu(norm(conv(h, edge_index, self.edges(edge_attr)))), self.drop, self.training)
        h = self.decoder[-1](h, edge_index, self.edges(edge_attr))
        return {"sigmoid": torch.sigmoid, "tanh": torch.tanh}[self.output](h)

    def neighbour_logits(self, z):
        h = z
        for linear in self.neighbours[:-1]:
            h = F.dropout(F.relu(linear(h)), self.drop, self.training)
        return self.neighbours[-1](h)

    def edges(self, edge_attr):
        return edge_attr if self.uses_edges else None

    def forward(self, x, edge_index, edge_attr=None, noise=None):
        mu, logvar = self.encode(x, edge_index, edge_attr)
        z = mu if noise is None else mu + noise * (logvar / 2).exp()
        return self.decode(z, edge_index, edge_attr), self.id_head(z), self.neighbour_logits(z), mu, logvar


def neighbourhood(x, edge_index, num_ids):
    """Multi-hot [N, num_ids] of the IDs that a node points to."""
    wanted = torch.zeros(len(x), num_ids, dtype=x.dtype, device=x.device)
    wanted[edge_index[0], x[edge_index[1], 0].long()] = 1
    return wanted


def parts_of(model, x, edge_index, edge_attr=None, noise=None):
    """[N, 4]: of each node the error of features, of the ID, of the neighbourhood, and the divergence."""
    rebuilt, ids, neighbours, mu, logvar = model(x, edge_index, edge_attr, noise)
    wanted = neighbourhood(x, edge_index, ids.shape[1])
    parts = torch.stack([
        F.mse_loss(rebuilt, x[:, 1:], reduction="none").mean(1),
        F.cross_entropy(ids, x[:, 0].long(), reduction="none"),
        F.binary_cross_entropy_with_logits(neighbours, wanted, reduction="none").mean(1),
        -0.5 * (1 + logvar - mu**2 - logvar.exp()).mean(1),
    ], dim=1)
    return parts, rebuilt, mu
