"""A graph of nodes without features, and runs on it."""

import numpy as np
import pytest
from giant_runs import answer, edge_index_of, load_weights, pyg_model

torch = pytest.importorskip("torch")

NODES, HIDDEN, WIDTH, CLASSES = 800, 16, 12, 3
RECIPE = """
task: {task}
sampling: {{fan_outs: [{fan_out}, {fan_out}]}}
training: {{max_epochs: {epochs}, batch_size: {batch}, learning_rate: {rate}, weight_decay: {decay}, gradient_clip_val: 0,
           optimizer: {optimizer}, momentum: 0, block: {{seeds: 32}}}}
gnn: {{conv: sage, layers: 2, hidden: 16, embedding: 12}}
"""


class Bare:
    """A graph of communities without features, half of whose nodes no seed that trains or validates can reach."""

    def __init__(self, run, bin_dir, folder):
        self.bin_dir, self.folder, self._run = bin_dir, folder, run
        random = np.random.default_rng(11)
        half = NODES // 2
        self.y = random.integers(0, CLASSES, NODES)
        pairs = []
        for first in (0, half):
            for node in range(first, first + half):
                near = [other for other in random.integers(first, first + half, 40) if self.y[other] == self.y[node]]
                pairs += [(other, node) for other in near[:6]]
        order = random.permutation(half)
        self.splits = {"train": np.sort(order[:250]), "valid": np.sort(order[250:330]), "test": np.sort(order[330:])}
        for name, values in (("edges", np.array(pairs)), ("y", self.y), *self.splits.items()):
            np.save(folder / f"{name}.npy", values)
        self.graph = self.ingest("graph", NODES)

    def ingest(self, name, nodes):
        y = np.concatenate([self.y, np.zeros(nodes - NODES, int)])
        np.save(self.folder / f"{name}-y.npy", y)
        splits = [word for split in self.splits for word in (f"--{split}", self.folder / f"{split}.npy")]
        self._run("plimsoll", "ingest", "graph", "--edges", self.folder / "edges.npy", "--labels", self.folder / f"{name}-y.npy",
                  "--ids", "dense", "--dedup", *splits, "--out", self.folder / name)
        return self.folder / name

    def recipe(self, task="node_classification", fan_out=-1, epochs=4, rate=0.02, decay=0.01, optimizer="adam", batch=100):
        text = RECIPE.format(task=task, fan_out=fan_out, epochs=epochs, rate=rate, decay=decay, optimizer=optimizer, batch=batch)
        path = self.folder / f"{abs(hash(text))}.yaml"
        path.write_text(text)
        return path

    def train(self, name, recipe, *words, data=None):
        return answer(self.bin_dir, "train", recipe, "--data", data or self.graph, "--run", self.folder / name, *words)

    def logits(self, run):
        tensors = load_weights(run)
        rows = torch.from_numpy(tensors.pop("embedding.weight").copy())
        assert rows.shape == (NODES, WIDTH)
        model = pyg_model("sage", tensors, WIDTH, HIDDEN, CLASSES, 2)
        with torch.no_grad():
            return model(rows, edge_index_of(self.graph))

    def loss(self, run, split):
        nodes = torch.from_numpy(self.splits[split])
        return float(torch.nn.functional.cross_entropy(self.logits(run)[nodes], torch.from_numpy(self.y)[nodes]))
