"""SGMP in torch alone, as its code has it (rollingstonezz/SGMP_code, models/SGMP.py): every path is a row.

What Plimsoll is compared with: all paths at once, or a tile of them at a time under torch's checkpoint, which keeps no
row for backward. Written from the formulas; parameters have the names of that code.
"""

import math

import torch
from torch.nn import Linear, ReLU, Sequential
from torch.utils.checkpoint import checkpoint

GAUSSIANS = (50, 6, 12)  # of distances, angles and torsions


def third_order_paths(edge_index, nodes, self_paths=False):
    """[4, P]: i, j, k, p of all paths i -> j -> k -> p of different nodes, by i; with self_paths (i, i, i, i) too."""
    source, target = edge_index[:, edge_index[0] != edge_index[1]]
    order = (source * max(nodes, 1) + target).argsort(stable=True)
    source, target = source[order], target[order]
    degree = torch.bincount(source, minlength=nodes)
    first = degree.cumsum(0) - degree

    def next_node(path):
        """Each path once for every edge out of its last node."""
        counts = degree[path[-1]]
        row = torch.repeat_interleave(counts)
        place = torch.arange(len(row)) - (counts.cumsum(0) - counts)[row]
        return torch.cat([path[:, row], target[first[path[-1]][row] + place][None]])

    path = next_node(torch.stack([source, target]))
    path = next_node(path[:, path[0] != path[2]])
    path = path[:, (path[0] != path[3]) & (path[1] != path[3])]
    if self_paths:
        path = torch.cat([path, torch.arange(nodes).expand(4, -1)], dim=1)
        path = path[:, path[0].argsort(stable=True)]
    return path


def angle(a, b):
    """In [0, pi]; 0 where a or b is 0."""
    return torch.atan2(torch.linalg.cross(a, b).norm(dim=1), (a * b).sum(1) + 0.0)


def gaussians(value, last, count):
    width = last / (count - 1)
    centres = torch.arange(count, dtype=value.dtype) * width
    return torch.exp(-0.5 * ((value[:, None] - centres) / width) ** 2)


def geometry(pos, paths, cutoff=10.0, counts=GAUSSIANS, corrected=False, distances_only=False):
    """Inputs of the three MLPs, a row a path."""
    i, j, k, p = (pos[node] for node in paths)
    a, b, c = j - i, k - j, p - j
    distances = [gaussians(side.norm(dim=1), cutoff, counts[0]) for side in (a, b, c)]
    if distances_only:
        return distances
    v, w = torch.linalg.cross(a, b), torch.linalg.cross(a, c)
    n = torch.linalg.cross(v, w)
    side = (n * a).sum(1)
    if corrected:
        length = a.norm(dim=1)
        across = torch.where(length > 0, side / length.clamp_min(torch.finfo(pos.dtype).tiny), 0)
        torsion = torch.atan2(across, (v * w).sum(1) + 0.0)
        width = 2 * math.pi / counts[2]
        centres = torch.arange(counts[2], dtype=pos.dtype) * width
        torsions = torch.exp((torch.cos(torsion[:, None] - centres) - 1) / width**2)
    else:
        torsions = gaussians(angle(v, w) * torch.sign(side), 2 * math.pi, counts[2])
    angles = [gaussians(angle(a, other), math.pi, counts[1]) for other in (b, c)]
    return [distances[0], torch.cat([distances[1], angles[0]], 1), torch.cat([distances[2], angles[1], torsions], 1)]


class Interaction(torch.nn.Module):
    """One layer: of each node the sum of messages over the paths that begin at it."""

    def __init__(self, hidden, counts=GAUSSIANS, distances_only=False):
        super().__init__()
        d, a, t = (counts[0], 0, 0) if distances_only else counts
        self.mlps_dist = torch.nn.ModuleList(
            Sequential(Linear(inputs, hidden), ReLU(), Linear(hidden, hidden)) for inputs in (d, d + a, d + a + t))
        self.combine = Sequential(Linear(7 * hidden, 4 * hidden), ReLU(), Linear(4 * hidden, 2 * hidden), ReLU(),
                                  Linear(2 * hidden, hidden))
        for linear in [mlp[0] for mlp in self.mlps_dist] + [self.combine[n] for n in (0, 2, 4)]:
            torch.nn.init.xavier_uniform_(linear.weight)
            torch.nn.init.zeros_(linear.bias)

    def forward(self, x, pos, paths, **options):
        spread = [mlp(inputs) for mlp, inputs in zip(self.mlps_dist, geometry(pos, paths, **options), strict=True)]
        messages = self.combine(torch.cat([*(x[node] for node in paths), *spread], dim=1))
        return torch.zeros_like(x).index_add(0, paths[0], messages)

    def tiled(self, x, pos, paths, tile, **options):
        """The same, a tile of paths at a time, each computed again in backward."""
        out = torch.zeros_like(x)
        for part in paths.split(tile, dim=1):
            out = out + checkpoint(lambda x, part: self(x, pos, part, **options), x, part, use_reentrant=False)
        return out


class SGMP(torch.nn.Module):
    """The network: embedding, interactions, the sum of each graph's nodes, two layers."""

    def __init__(self, features, hidden=64, out=2, layers=3):
        super().__init__()
        self.embedding = Sequential(Linear(features, hidden), ReLU(), Linear(hidden, hidden))
        self.interactions = torch.nn.ModuleList(Interaction(hidden) for _ in range(layers))
        self.lin1, self.lin2 = Linear(hidden, hidden // 2), Linear(hidden // 2, out)

    def forward(self, x, pos, batch, graphs, paths, tile=None, **options):
        x = self.embedding(x)
        for layer in self.interactions:
            x = x + (layer(x, pos, paths, **options) if tile is None else layer.tiled(x, pos, paths, tile, **options))
        pooled = torch.zeros(graphs, x.shape[1], dtype=x.dtype).index_add(0, batch, x)
        return self.lin2(torch.relu(self.lin1(pooled)))


def knn_edges(pos, neighbours=8):
    """[2, N * neighbours]: from each node to its nearest others."""
    distances = torch.cdist(pos, pos)
    distances.fill_diagonal_(math.inf)
    nearest = distances.topk(neighbours, largest=False).indices
    return torch.stack([torch.repeat_interleave(torch.arange(len(pos)), neighbours), nearest.flatten()])


def jittered_grid(side, generator, planar=True):
    """[side^2, 3] in [0, 1]: a grid whose points are moved a little; z = 0 where it is planar."""
    at = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).reshape(-1, 2)
    xy = (at + 0.5 + 0.3 * (2 * torch.rand(at.shape, generator=generator) - 1)) / side
    z = torch.zeros(len(xy), 1) if planar else 0.3 * torch.rand(len(xy), 1, generator=generator)
    return torch.cat([xy, z], 1)
