"""What tests of training on one giant graph share."""

import json
import random
import signal
import subprocess
import time

import numpy as np
import pytest


def answer(bin_dir, verb, *words, environment=None):
    """What `plimsoll VERB WORDS --json` says."""
    command = [str(word) for word in (bin_dir / "plimsoll", verb, *words, "--json")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def plan_of(bin_dir, recipe, graph, *words):
    return answer(bin_dir, "plan", recipe, "--data", graph, "--threads", 1, *words)


def evaluate(bin_dir, run, graph, *words):
    return answer(bin_dir, "evaluate", run, "--data", graph, *words)


def kill_often(command, times, longest):
    """Runs a command and ends it by kill -9 at a random moment, within so many seconds; again and again."""
    moments = random.Random(3)
    for _ in range(times):
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.3, longest))
        process.send_signal(signal.SIGKILL)
        process.wait()


def pyg_model(conv, tensors, features, hidden, outputs, layers):
    """The network of a run in PyTorch Geometric, with its weights: f32 [V, outputs] of nodes."""
    torch = pytest.importorskip("torch")
    geometric = pytest.importorskip("torch_geometric.nn")

    def layer(width):
        if conv == "gin":
            return geometric.GINConv(torch.nn.Sequential(torch.nn.Linear(width, hidden), torch.nn.ReLU(),
                                                         torch.nn.Linear(hidden, hidden)))
        kind = {"sage": geometric.SAGEConv, "gcn": geometric.GCNConv, "gat": geometric.GATConv,
                "gatv2": geometric.GATv2Conv}[conv]
        return kind(width, hidden)

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = torch.nn.ModuleList(layer(features if i == 0 else hidden) for i in range(layers))
            self.lin = torch.nn.Linear(hidden, outputs)

        def forward(self, x, edge_index):
            for one in self.convs:
                x = one(x, edge_index).relu()
            return self.lin(x)

    model = Model()
    state = {name: torch.from_numpy(value.copy()) for name, value in tensors.items() if not name.startswith("vocabulary")}
    absent = model.load_state_dict(state, strict=False)
    assert not absent.unexpected_keys and all(name.endswith("eps") for name in absent.missing_keys)  # of GIN, 0
    return model.eval()


def load_weights(run):
    return pytest.importorskip("safetensors.numpy").load_file(run / "seed-42" / "gnn" / "model.safetensors")


def edge_index_of(graph):
    torch = pytest.importorskip("torch")
    indptr, indices = (np.load(graph / f"{name}.npy") for name in ("indptr", "indices"))
    target = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return torch.from_numpy(np.stack([indices.astype(np.int64), target]))
