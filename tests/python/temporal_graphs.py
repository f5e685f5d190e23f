"""Random temporal multigraphs with types as HeteroData, and what a sampler may reach in them, slowly, in NumPy."""

import numpy as np
import torch
from torch_geometric.data import HeteroData

TIMES = 50
EDGE_TYPES = (
    ("order", "by", "user"),  # known when the order is
    ("user", "made", "order"),  # users have no times: known from the start
    ("order", "follows", "order"),  # with times of its own
    ("user", "knows", "user"),
)


def random_hetero(seed, users=40, orders=120, edges=600, edge_time=False):
    """Users without times, orders with times, and with `edge_time` a second edge type with times of its own."""
    random = np.random.default_rng(seed)
    data = HeteroData()
    data["user"].x = torch.arange(users, dtype=torch.float32).view(-1, 1)
    data["order"].x = torch.arange(orders, dtype=torch.float32).view(-1, 1)
    data["order"].time = torch.from_numpy(random.integers(TIMES, size=orders))
    for edge_type in EDGE_TYPES:
        # Squares of uniform numbers: some nodes have many edges and some have none.
        ends = [(random.random(edges) ** 2 * data[end].num_nodes).astype(np.int64) for end in (edge_type[0], edge_type[2])]
        data[edge_type].edge_index = torch.from_numpy(np.stack(ends))
        data[edge_type].edge_attr = torch.arange(edges)
        if edge_time and edge_type[1] == "follows":
            data[edge_type].time = torch.from_numpy(random.integers(TIMES, size=edges))
    return data


def times_of(data, edge_type):
    """The time of each edge, and that of its source; -2^63 where there is none."""
    early = np.iinfo(np.int64).min
    edges = data[edge_type]
    source = np.full(edges.edge_index.shape[1], early)
    if "time" in data[edge_type[0]]:
        source = data[edge_type[0]].time.numpy()[edges.edge_index[0].numpy()]
    return edges.time.numpy() if "time" in edges else source, source


def known_edges(data, edge_type, node, seed_time, before=False, window=None):
    """The edges into a node that a seed of this time knows, by their number, in the order of (time, source)."""
    sources, targets = data[edge_type].edge_index.numpy()
    time, source_time = times_of(data, edge_type)
    last = seed_time - 1 if before else seed_time
    known = (targets == node) & (time <= last) & (source_time <= last)
    if window is not None:
        known &= (time >= seed_time - window) | (time == np.iinfo(np.int64).min)
    edges = np.flatnonzero(known)
    return edges[np.lexsort((sources[edges], time[edges]))]


def tree_of(data, fan_outs, node_type, node, seed_time, last=False, before=False, window=None):
    """All edges that a sampler which takes the latest ones, or without `last` all, reaches from one seed: sets by edge type."""
    found = {edge_type: [] for edge_type in data.edge_types}
    seen, now = {(node_type, node)}, [(node_type, node)]
    for fan_out in fan_outs:
        coming = []
        for edge_type in data.edge_types:
            for kind, target in now:
                if kind != edge_type[2]:
                    continue
                edges = known_edges(data, edge_type, target, seed_time, before, window)
                if last and fan_out >= 0:
                    edges = edges[max(0, len(edges) - fan_out) :]
                found[edge_type] += edges.tolist()
                for source in data[edge_type].edge_index[0].numpy()[edges].tolist():
                    if (edge_type[0], source) not in seen:
                        seen.add((edge_type[0], source))
                        coming.append((edge_type[0], source))
        now = coming
    return {edge_type: sorted(edges) for edge_type, edges in found.items()}


def trees_in(batch):
    """The edges of each seed of a disjoint batch, by edge type, with the ends checked."""
    found = [{edge_type: [] for edge_type in batch.edge_types} for _ in range(sum(store.get("batch_size", 0) for store in batch.node_stores))]
    for edge_type in batch.edge_types:
        store = batch[edge_type]
        source_tree = batch[edge_type[0]].batch[store.edge_index[0]]
        tree = batch[edge_type[2]].batch[store.edge_index[1]]
        assert torch.equal(source_tree, tree)
        for number, edge in zip(tree.tolist(), store.e_id.tolist()):
            found[number][edge_type].append(edge)
    return [{edge_type: sorted(edges) for edge_type, edges in tree.items()} for tree in found]
