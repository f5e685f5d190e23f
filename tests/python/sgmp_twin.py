"""SGMP and GTMP in torch with every path in memory, from the formulas of their paper and code: what `plimsoll train` is compared with."""

import json
from math import pi

import numpy as np
import torch
from safetensors import safe_open
from torch import nn


def walked(edge_index, nodes, direction):
    """The edges that paths walk, by source."""
    out = [set() for _ in range(nodes)]
    for i, j in edge_index.T.tolist():
        if i == j:
            continue
        if direction == "both":
            out[i].add(j)
        else:
            low, high = min(i, j), max(i, j)
            out[low if direction == "descendant" else high].add(high if direction == "descendant" else low)
    return out


def paths_of(edge_index, nodes, direction, self_paths):
    """i64 [4, P]: all i -> j -> k -> p of different nodes, and of `self_paths` one of each node alone."""
    out = walked(edge_index, nodes, direction)
    found = [(i, i, i, i) for i in range(nodes)] if self_paths else []
    found += [(i, j, k, p) for i in range(nodes) for j in out[i] for k in out[j] if k != i for p in out[k] if p not in (i, j)]
    return torch.tensor(found, dtype=torch.long).reshape(-1, 4).T


def cross(a, b):
    # Each product is rounded: of points on a line both are the same number, which a fused multiply-add would not give.
    after, next_after = [1, 2, 0], [2, 0, 1]
    return a[:, after] * b[:, next_after] - a[:, next_after] * b[:, after]


def dot(a, b):
    return (a * b).sum(1) + 0.0  # never -0, of which atan2 makes pi: angles to what has no length are 0


def angle(a, b):
    return torch.atan2(cross(a, b).norm(dim=1), dot(a, b))


def gaussians(values, stop, count):
    centres = torch.linspace(0, stop, count, dtype=values.dtype)
    return torch.exp(-0.5 * ((values[:, None] - centres) / (stop / (count - 1))) ** 2)


class SgmpTwin(nn.Module):
    def __init__(self, model):
        super().__init__()
        with safe_open(model, "pt") as file:
            self.metadata = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}
        self.config = json.loads(self.metadata["plimsoll.config"])
        self.gtmp = self.metadata["plimsoll.model"] == "gtmp"
        self.weights = nn.ParameterDict({
            name.replace(".", "/"): nn.Parameter(value.double()) for name, value in tensors.items()
            if not name.startswith(("vocabulary.", "trained.", "target."))})
        self.units = [tensors[name].double() for name in ("target.mean", "target.scale") if name in tensors]

    def linear(self, name, x):
        return x @ self.weights[f"{name}/weight"].T + self.weights[f"{name}/bias"]

    def mlp(self, name, x, layers):
        for at in layers[:-1]:
            x = self.linear(f"{name}/{at}", x).relu()
        return self.linear(f"{name}/{layers[-1]}", x)

    def geometry(self, pos, paths):
        i, j, k, p = (pos[row] for row in paths)
        a, b, c = j - i, k - j, p - j
        first, second = cross(a, b), cross(a, c)
        along = dot(cross(first, second), a)
        if self.config["mode"] == "corrected":
            length = a.norm(dim=1)
            torsion = torch.atan2(along / torch.where(length > 0, length, 1), dot(first, second))
        else:
            torsion = angle(first, second) * torch.sign(along)
        return [v.norm(dim=1) for v in (a, b, c)], angle(a, b), angle(a, c), torsion

    def features(self, pos, paths):
        (d1, d2, d3), t1, t2, phi = self.geometry(pos, paths)
        cutoff, corrected = self.config["cutoff"], self.config["mode"] == "corrected"
        d1, d2, d3 = (gaussians(d, cutoff, 50) for d in (d1, d2, d3))
        if self.config["distances_only"]:
            return d1, d2, d3
        if corrected:
            centres = 2 * pi * torch.arange(12, dtype=pos.dtype) / 12
            torsion = torch.exp((torch.cos(phi[:, None] - centres) - 1) / (2 * pi / 12) ** 2)
        else:
            torsion = gaussians(phi, 2 * pi, 12)
        return d1, torch.cat([d2, gaussians(t1, pi, 6)], 1), torch.cat([d3, gaussians(t2, pi, 6), torsion], 1)

    def forward(self, graphs):
        """f64 [graphs or nodes, classes], of a list of Data."""
        return torch.stack([self.said(graphs, tree) for tree in self.trees()]).mean(0)

    def trees(self):
        """Of evaluation, where the model is one of spanning trees; else one of all paths."""
        return range(1, self.config["spanning_trees"] + 1) if self.config["spanning_trees"] else [None]

    def edges_of(self, data, graph, tree):
        if tree is None:
            return data.edge_index
        import plimsoll.nn  # noqa: F401  torch.ops.plimsoll

        keys = torch.stack([torch.full((len(data.x),), graph), torch.arange(len(data.x))])
        row_begin, target = torch.ops.plimsoll.spanning_path_edges(data.edge_index, keys, 0, 0, tree)
        return torch.stack([torch.arange(len(data.x)).repeat_interleave(row_begin.diff()), target[:row_begin[-1]].long()])

    def states(self, data, graph, tree):
        """f64 [nodes, hidden] after all interactions."""
        pos, x = data.pos.double(), data.x.double()
        paths = paths_of(self.edges_of(data, graph, tree), len(x), self.config["direction"],
                         self.config["mode"] == "reference")
        h = self.mlp("embedding", x, (0, 2))
        of_paths = self.features(pos, paths)
        for layer in range(self.config["layers"]):
            name = f"interactions/{layer}"
            z = torch.cat([h[row] for row in paths] + [self.mlp(f"{name}/mlps_dist/{n}", g, (0, 2))
                                                       for n, g in enumerate(of_paths)], 1)
            messages = torch.zeros_like(h).index_add(0, paths[0], self.mlp(f"{name}/combine", z, (0, 2, 4)))
            if self.config["aggregate"] == "mean":
                messages = messages / paths[0].bincount(minlength=len(h)).clamp(min=1)[:, None]
            h = h + messages
            if self.config.get("norm") == "batch":
                h = self.normalised(f"norms/{layer}", h)
        return h

    def normalised(self, name, h):
        mean, variance = self.weights[f"{name}/running_mean"], self.weights[f"{name}/running_var"]
        return (h - mean) / (variance + 1e-5).sqrt() * self.weights[f"{name}/weight"] + self.weights[f"{name}/bias"]

    def said(self, graphs, tree):
        said = []
        pool = torch.mean if self.config.get("readout") == "mean" else torch.sum
        for graph, data in enumerate(graphs):
            h = self.states(data, graph, tree)
            if self.config["node_head"]:
                said.append(self.linear("lin2", self.linear("lin1", h).relu()))
            elif self.gtmp:
                said.append(self.linear("lin2", pool(self.linear("lin1", h).relu(), 0, keepdim=True)))
            else:
                said.append(self.linear("lin2", self.linear("lin1", pool(h, 0, keepdim=True)).relu()))
        rows = torch.cat(said)
        return self.units[0] + rows * self.units[1] if self.units else rows


def cutoff_of(graphs):
    """The 99th percentile by nearest rank of the distances along edges."""
    distances = [np.linalg.norm(data.pos[data.edge_index[0]].double() - data.pos[data.edge_index[1]].double(), axis=1)
                 for data in graphs]
    return float(np.quantile(np.concatenate(distances).astype(np.float32), 0.99, method="inverted_cdf"))
