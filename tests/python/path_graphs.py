"""Graphs with positions, and path_message beside the materialised layer of bench/peers/path_networks.py."""

import torch

from path_networks import Interaction, geometry, jittered_grid, knn_edges, third_order_paths

__all__ = ["GRAPHS", "Interaction", "both_ways", "evaluate", "expected", "found", "geometry", "jittered_grid",
           "knn_edges", "layer_of", "relative_errors", "third_order_paths", "tree"]


def random(seed=1):
    return torch.Generator().manual_seed(seed)


def points(nodes, seed=1):
    """Numbers of float32: of what lies on a line products are exact, and torsions of no meaning 0 in torch as well."""
    return torch.rand(nodes, 3, generator=random(seed)).double()


def pairs(*edges):
    return torch.tensor(edges, dtype=torch.long).reshape(-1, 2).t()


def both_ways(edge_index):
    return torch.cat([edge_index, edge_index.flip(0)], dim=1)


def tree(nodes, seed=1):
    """Parent to child; parents come first, and are mostly near."""
    child = torch.arange(1, nodes)
    back = 1 + (3 * torch.rand(nodes - 1, generator=random(seed)) ** 2).long()
    return torch.stack([(child - back).clamp_min(0), child])


def barabasi_albert(nodes, seed=1):
    """Each node with two edges to earlier ones, those with many preferred; both ways."""
    ends, made = [0, 1], [(0, 1)]
    for node in range(2, nodes):
        chosen = set()
        while len(chosen) < 2:
            seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
            chosen.add(ends[(seed >> 33) % len(ends)])
        made += [(node, other) for other in sorted(chosen)]
        ends += [node, node, *chosen]
    return both_ways(pairs(*made))


def union(*graphs):
    first, pos, edges = 0, [], []
    for of, edge_index in graphs:
        pos.append(of)
        edges.append(edge_index + first)
        first += len(of)
    return torch.cat(pos), torch.cat(edges, dim=1)


def knn(nodes, neighbours, seed=1):
    pos = points(nodes, seed)
    return pos, knn_edges(pos, neighbours)


def coincident():
    """Every fourth point lies on the one before; two edges have no length, some angles no meaning."""
    pos, edge_index = knn(24, 4)
    pos[3::4] = pos[2::4]
    return pos, both_ways(edge_index)


TRIANGLES = both_ways(pairs((0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2)))
GRAPHS = {
    "no nodes": (points(0), pairs()),
    "one node": (points(1), pairs()),
    "one node with a self-loop": (points(1), pairs((0, 0))),
    "no edges": (points(5), pairs()),
    "no path of three edges": (points(3), both_ways(pairs((0, 1), (1, 2)))),
    "one path": (points(4), pairs((3, 1), (1, 0), (0, 2))),
    "triangles": (points(5), TRIANGLES),
    "isolated nodes": union((points(2), pairs()), (points(5, 2), TRIANGLES), (points(3), pairs())),
    "parallel edges and self-loops": (points(5), torch.cat([TRIANGLES, TRIANGLES[:, :3], pairs((1, 1), (4, 4))], 1)),
    "tree": (points(150), both_ways(tree(150))),
    "directed tree": (points(400), tree(400)),
    "star of stars": (points(40), both_ways(torch.stack([(torch.arange(1, 40) - 1) // 6, torch.arange(1, 40)]))),
    "kNN-8": knn(40, 8),
    "Barabasi-Albert": (points(60), barabasi_albert(60)),
    "coincident points": coincident(),
    "all points in one": (torch.zeros(5, 3, dtype=torch.float64), TRIANGLES),
    "a line": (torch.arange(7.0, dtype=torch.float64)[:, None] * torch.tensor([1.0, 0, 0]), both_ways(tree(7, 5))),
    "several graphs": union(knn(30, 3), (points(5), TRIANGLES), knn(200, 2, 3), (points(1), pairs())),
}


def layer_of(hidden=16, distances_only=False, seed=1):
    """A layer in float64 whose biases are not 0."""
    torch.manual_seed(seed)
    layer = Interaction(hidden, distances_only=distances_only).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter += 0.05 * torch.randn_like(parameter)
    return layer


def evaluate(function, layer, nodes, dtype=torch.float64):
    """The result of function(x, weights) and the gradients of a weighted sum of it by x and each weight."""
    hidden = layer.combine[4].out_features
    x = torch.randn(nodes, hidden, dtype=torch.float64, generator=random(2)).to(dtype).requires_grad_()
    weights = [parameter.detach().to(dtype).requires_grad_() for parameter in layer.parameters()]
    out = function(x, weights)
    given = torch.randn(out.shape, dtype=torch.float64, generator=random(3)).to(dtype)
    return [out.detach(), *torch.autograd.grad((out * given).sum(), [x, *weights])]


def expected(layer, pos, edge_index, mode="corrected", cutoff=1.0, distances_only=False):
    """Of all paths at once in float64."""
    paths = third_order_paths(edge_index, len(pos), self_paths=mode == "reference")
    options = {"cutoff": cutoff, "corrected": mode == "corrected", "distances_only": distances_only}
    names = [name for name, _ in layer.named_parameters()]

    def function(x, weights):
        values = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(layer, values, (x, pos.double(), paths), options)

    return evaluate(function, layer, len(pos))


def found(layer, pos, edge_index, mode="corrected", cutoff=1.0, distances_only=False, dtype=torch.float64, tile=64,
          planar=False, direction="both"):
    edges = torch.ops.plimsoll.path_edges(edge_index, len(pos), direction)
    return evaluate(lambda x, weights: torch.ops.plimsoll.path_message(
        x, pos.to(dtype), *edges, weights, tile, cutoff, mode, distances_only, planar), layer, len(pos), dtype)


def relative_errors(ours, theirs):
    return [float((a.double() - b).norm() / b.norm()) if b.norm() > 0 else float(a.double().norm())
            for a, b in zip(ours, theirs, strict=True)]
