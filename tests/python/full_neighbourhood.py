"""A sampler for PyTorch Geometric's loaders that takes all neighbours, in Python: what there is to compare with."""

import torch
from torch_geometric.sampler import BaseSampler, SamplerOutput


class FullNeighbourhood(BaseSampler):
    """Of `hops` hops around seeds that share their nodes, or not if `disjoint`; `colptr` and `row` are of PyG's CSC."""

    edge_permutation = None

    def __init__(self, colptr, row, hops, disjoint=False, bidirectional=False):
        self.colptr, self.row, self.hops = colptr.tolist(), row.tolist(), hops
        self.disjoint, self.bidirectional = disjoint, bidirectional

    def sample_from_nodes(self, inputs):
        found = self.sample(inputs.node)
        found.metadata = (inputs.input_id, inputs.time)
        return found.to_bidirectional() if self.bidirectional else found

    def sample(self, seeds):
        number, node, tree = {}, [], []
        row, col, edge, nodes_per_hop, edges_per_hop = [], [], [], [], []

        def number_of(v, seed):
            key = (v, seed if self.disjoint else 0)
            if key not in number:
                number[key] = len(node)
                node.append(v)
                tree.append(seed)
            return number[key]

        for i, v in enumerate(seeds.tolist()):
            if not self.disjoint and (v, 0) in number:  # as pyg-lib: a node of its own, which no edge leads from
                node.append(v)
                tree.append(i)
            number_of(v, i)
        nodes_per_hop.append(len(node))
        first = 0
        for _ in range(self.hops):
            end, edges = len(node), len(edge)
            for target in range(first, end):
                for e in range(self.colptr[node[target]], self.colptr[node[target] + 1]):
                    row.append(number_of(self.row[e], tree[target]))
                    col.append(target)
                    edge.append(e)
            nodes_per_hop.append(len(node) - end)
            edges_per_hop.append(len(edge) - edges)
            first = end
        return SamplerOutput(torch.tensor(node), torch.tensor(row, dtype=torch.long), torch.tensor(col, dtype=torch.long),
                             torch.tensor(edge, dtype=torch.long), torch.tensor(tree) if self.disjoint else None,
                             nodes_per_hop, edges_per_hop)

    def sample_from_edges(self, inputs, neg_sampling=None):
        raise NotImplementedError
