"""What the runs of contract.py are drawn from: sets of graphs, buses, giant graphs, and recipes for each.

A run is its number; draw_NAME(number) says the set, the overrides of an empty recipe, options, and the budget over the
least one. make_NAME(work, plimsoll) makes the sets, which are kept.
"""

import random
import subprocess

SETS = 12
BUSES = 4
GIANTS = 4


def drawn_graphs(number, target):
    """Graphs with log-normal numbers of nodes, sigma 1.5 and median 8; of target "node" the labels of nodes are their classes.

    Labels are one-hot features behind the attributes, and nodes without any feature have their degree. Repeated arcs are one,
    with the sum of their features, and self-loops are left out.
    """
    import torch
    from torch.nn.functional import one_hot
    from torch_geometric.data import Data
    from torch_geometric.utils import coalesce, remove_self_loops

    draw = random.Random(f"graphs {number}")
    attributes, edge_labels = draw.choice([0, 0, 3, 12]), draw.choice([0, 0, 2, 5])
    density, labels, classes = draw.choice([0.8, 1.5, 3]), draw.randint(2, 6), draw.randint(2, 5)
    graphs = []
    for _ in range(draw.choice([200, 300, 400])):
        count = min(max(round(draw.lognormvariate(2.08, 1.5)), 1), 3000)
        node_labels = torch.tensor([draw.randrange(labels) for _ in range(count)])
        rows = [[round(draw.gauss(0, 1), 4) for _ in range(attributes)] for _ in range(count)]
        arcs, arc_labels = [], []
        pairs = {(draw.randrange(count), draw.randrange(count)) for _ in range(round(density * count))}
        for a, b in sorted(pairs):
            for arc in ((a, b), (b, a)):
                arcs.append(arc)
                arc_labels.append(draw.randrange(max(edge_labels, 1)))
        edges = torch.tensor(arcs, dtype=torch.int64).reshape(-1, 2).t()
        features = one_hot(torch.tensor(arc_labels, dtype=torch.int64), max(edge_labels, 1)).float()
        edges, features = coalesce(*remove_self_loops(edges, features), num_nodes=count)
        x = torch.tensor(rows).reshape(count, attributes)
        if target == "graph":
            x = torch.cat([x, one_hot(node_labels, labels)], 1)
        graphs.append(Data(x=x, edge_index=edges, edge_attr=features if edge_labels else None, num_nodes=count,
                           node_y=node_labels if target == "node" else None))
    for graph in graphs:
        graph.y = torch.tensor([draw.randrange(classes)])
    if graphs[0].x.shape[1] == 0:
        degrees = [graph.edge_index[1].bincount(minlength=graph.num_nodes) for graph in graphs]
        most = int(torch.cat(degrees).max())
        for graph, degree in zip(graphs, degrees):
            graph.x = one_hot(degree, most + 1).float()
    return graphs


def make_sets(work, _plimsoll):
    from plimsoll import from_pyg

    for number in range(SETS):
        for target in ("graph", "node"):
            if not (out := work / f"{target}s-{number}").exists():
                from_pyg(drawn_graphs(number, target), out)


def make_buses(work, plimsoll):
    for number in range(BUSES):
        if not (out := work / f"bus-{number}").exists():
            subprocess.run([str(plimsoll), "simulate", "can", "--out", str(out), "--frames", str(30000 + 10000 * number),
                            "--seed", str(number)], check=True, stdout=subprocess.DEVNULL)


def draw_resources(draw):
    return {
        "threads": draw.randint(1, 4),
        "prefetch": draw.choice([0, 2, 2, 5]),
        # Few budgets above twice the least are short for anything.
        "factor": 1.0 if draw.random() < 0.25 else 1 + 2 * draw.random() ** 3,
    }


def draw_distillation(number):
    """As draw_run(), of a student and a teacher."""
    draw = random.Random(f"distillation {number}")
    overrides = {
        "seed": draw.randrange(1000),
        "task": "distillation",
        "data.features": draw.choice(["behaviour", "compat"]),
        "split.validation": draw.choice([0.2, 0.4]),
        "curriculum.schedule": draw.choice(["none", "hard_4to1", "kdgat"]),
        "training.max_epochs": draw.choice([1, 2]),
        "training.batch_size": draw.choice([8, 32, 128]),
        "training.gradient_checkpointing": draw.choice(["auto", "on", "off"]),
        "training.block.graphs": draw.choice([4, 16, 64]),
        "training.block.nodes": draw.choice([512, 4096]),
    }
    for who, widths in (("", [8, 16, 24]), ("teacher.", [16, 32, 48])):
        heads, width = draw.choice([1, 2, 4]), draw.choice(widths)
        overrides |= {f"{who}gat.{key}": value for key, value in {
            "layers": draw.randint(1, 3), "hidden": width, "heads": heads, "embedding": draw.choice([4, 16]),
            "dropout": draw.choice([0, 0.2]), "fc_layers": draw.randint(1, 2)}.items()}
        overrides |= {f"{who}vgae.{key}": value for key, value in {
            "hidden": f"[{4 * width}, {2 * width}]", "latent": draw.choice([8, 16]), "heads": heads,
            "embedding": draw.choice([4, 16])}.items()}
    return {"run": number, "set": f"bus-{draw.randrange(BUSES)}",
            "overrides": [f"{key}={value}" for key, value in overrides.items()], **draw_resources(draw)}


def draw_run(number):
    """What is run: the set, the overrides of an empty recipe, options, and the budget over the least one."""
    draw = random.Random(f"run {number}")
    conv = draw.choice(["gat", "gatv2", "gcn", "gin", "sage"])
    hidden = draw.choice([8, 16, 32, 64])
    target = draw.choice(["graph", "graph", "node"])
    overrides = {
        "seed": draw.randrange(1000),
        "task": f"{target}_classification",
        "split.by": "graph",
        "split.validation": draw.choice([0.1, 0.2, 0.4]),
        "training.max_epochs": draw.choice([1, 2]),
        "training.batch_size": draw.choice([8, 32, 100, 1000]),
        "training.optimizer": draw.choice(["adam", "adam", "adamw", "sgd"]),
        "training.gradient_checkpointing": draw.choice(["auto", "on", "off"]),
        "training.block.graphs": draw.choice([1, 8, 64, 64]),
        "training.block.nodes": draw.choice([256, 1024, 4096]),
        "training.block.edges": draw.choice([1024, 16384]),
        "gnn.conv": conv,
        "gnn.layers": draw.randint(1, 4),
        "gnn.hidden": hidden,
        "gnn.heads": draw.choice([1, 2, 4]) if conv in ("gat", "gatv2") else 1,
        "gnn.norm": draw.choice(["none", "batch", "graph"]),
        "gnn.jk": draw.choice(["last", "cat", "max"]),
        "gnn.pooling": draw.choice(["mean", "sum", "max"]),
        "gnn.dropout": draw.choice([0, 0, 0.3]),
    }
    return {
        "run": number,
        "set": f"{target}s-{draw.randrange(SETS)}",
        "overrides": [f"{key}={value}" for key, value in overrides.items()],
        **draw_resources(draw),
    }


def make_giants(work, plimsoll):
    def make(out, *command):
        if not out.exists():
            subprocess.run([str(plimsoll), *map(str, command), "--out", str(out)], check=True, stdout=subprocess.DEVNULL)

    for number in range(GIANTS):
        graph = work / f"giant-{number}"
        make(graph, "simulate", "graph", "--nodes", 2000 << number, "--degree", 6 + 4 * number, "--features", 8 << number,
             "--classes", 2 + number, "--seed", number)
        make(work / f"split-{number}", "split-edges", graph, "--valid", 0.02, "--test", 0.02)


def draw_giant(number):
    """As draw_run(), on one giant graph from disk: classes of nodes or links."""
    draw = random.Random(f"giant {number}")
    links = draw.random() < 0.4
    conv = draw.choice(["sage", "gcn", "gat", "gatv2"])
    layers = draw.randint(1, 3)
    graph = draw.randrange(GIANTS)
    overrides = {
        "seed": draw.randrange(1000),
        "task": "link_prediction" if links else "node_classification",
        "sampling.fan_outs": [draw.choice([3, 5, 10, 15]) for _ in range(layers)],
        "sampling.replace": draw.choice(["true", "false"]),
        "training.max_epochs": 1,
        # A link's set is its edges: steps few enough that a run takes seconds.
        "training.batch_size": draw.choice([1024, 4096] if links else [64, 256, 1024]),
        "training.optimizer": draw.choice(["adam", "adamw", "sgd"]),
        "training.gradient_checkpointing": draw.choice(["auto", "on", "off"]),
        "training.block.seeds": draw.choice([128, 256] if links else [16, 64, 128]),
        "gnn.conv": conv,
        "gnn.layers": layers,
        "gnn.hidden": draw.choice([8, 16, 32, 64]),
        "gnn.heads": draw.choice([1, 2, 4]) if conv in ("gat", "gatv2") else 1,
        "gnn.norm": draw.choice(["none", "batch"]),
        "gnn.jk": draw.choice(["last", "cat", "max"]),
        "gnn.dropout": draw.choice([0, 0.3]),
    }
    if links:
        overrides["sampling.negatives"] = draw.choice([1, 2])
    return {"run": number, "set": f"split-{graph % 2}" if links else f"giant-{graph}",
            "overrides": [f"{key}={value}" for key, value in overrides.items()], **draw_resources(draw)}
