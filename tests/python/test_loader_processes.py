"""plimsoll.DataLoader in a process: the memory of its batches, forks, absent packages, ranks of torch, Lightning."""

import json
import os
import subprocess
import sys

import pytest
from package_data import plimsoll, python
from window_graphs import folder, graphs, labels  # noqa: F401

torch = pytest.importorskip("torch")
Data = pytest.importorskip("torch_geometric.data").Data


def test_delivered_batches_are_charged_until_they_are_freed(folder):
    out = python(f"""
import gc, plimsoll, torch
from plimsoll import _operators
_operators.load()
from plimsoll import _torch
graphs = plimsoll.open({str(folder)!r})
loader = plimsoll.DataLoader(graphs[[i % len(graphs) for i in range(6000)]], 1500)
before = _torch.held()
kept = list(loader)
bytes = sum(t.nbytes for b in kept for _, t in b)
assert bytes <= loader.live_bytes <= bytes * 1.13 + 10_000, (bytes, loader.live_bytes)
assert loader.live_bytes <= _torch.held() - before
y = kept[0].y
kept.clear()
gc.collect()
assert y.nbytes <= loader.live_bytes < 20_000, loader.live_bytes
y = None
assert loader.live_bytes == 0
next(iter(loader))  # what was made ahead goes with its epoch
print(_torch.held() - before)
""")
    assert int(out) < 100_000


def test_next_never_waits_for_memory(folder):
    python(f"""
import plimsoll, re, resource, time, torch
from plimsoll import _operators
_operators.load()
import plimsoll.loaders.batch
from plimsoll import _torch
graphs = plimsoll.open({str(folder)!r})
loader = plimsoll.DataLoader(graphs[[i % len(graphs) for i in range(60000)]], 4000)
need = _torch.anonymous() + 70 * 2**20
budget = _torch.ProcessBudget(str(need + _torch.slack(need)))
kept, running = [], iter(loader)
try:
    while True:
        began = time.perf_counter()
        kept.append(next(running))
except plimsoll.BudgetExceeded as error:
    assert time.perf_counter() - began < 1
    text = str(error)
live = int(re.search(r"still in use hold [^(]*\\((\\d+) bytes\\)", text)[1])
assert live == loader.live_bytes > 0 and len(kept) >= 2, text
assert "max_bytes" in text
position = loader.state_dict()["position"]
assert position == len(kept)
kept.clear()
rest = sum(1 for _ in running)
assert rest + position == len(loader)
assert budget.peak_anonymous() <= need + _torch.slack(need)
""")


def test_the_process_may_end_and_fork_at_any_point(folder):
    python(f"""
import os, plimsoll, torch
graphs = plimsoll.open({str(folder)!r})
loader = plimsoll.DataLoader(graphs, 10, shuffle=True)
running = iter(loader)
first = next(running)
for _ in range(20):
    child = os.fork()
    if child == 0:
        rest = list(running)
        assert len(rest) == len(loader) - 1, len(rest)
        fresh = [b.y for b in loader]
        del first, running, rest
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert len(list(running)) == len(loader) - 1
held = iter(loader)
batch = next(held)
""")


def test_pin_memory(graphs, monkeypatch):
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="no CUDA"):
            assert not next(iter(plimsoll.DataLoader(graphs, 4, pin_memory=True))).x.is_pinned()
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(Data, "pin_memory", lambda self: ("pinned", self))
        assert next(iter(plimsoll.DataLoader(graphs, 4, pin_memory=True)))[0] == "pinned"
    else:
        assert next(iter(plimsoll.DataLoader(graphs, 4, pin_memory=True))).x.is_pinned()


def test_needs_torch_and_pyg_when_an_epoch_begins(folder):
    out = python(f"""
import sys; sys.modules.update({{'torch': None, 'torch_geometric': None}})
import plimsoll
loader = plimsoll.DataLoader(plimsoll.open({str(folder)!r}), 100)
assert len(loader) > 0
try:
    iter(loader)
except plimsoll.MissingPackage as error:
    print(error)
""")
    assert "pip install torch torch_geometric" in out


DDP = """
import gc, os, sys, torch, plimsoll, json
import torch.distributed as dist
# Its functions have the group as a default value, of the moment they are defined: imported later, they hold it to the end.
import torch.distributed.nn.functional
folder, rank, rendezvous = sys.argv[1], int(sys.argv[2]), sys.argv[3]
graphs = plimsoll.open(folder)
loader = plimsoll.DataLoader(graphs, 50, shuffle=True, max_nodes=1000)
dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
from torch.nn.parallel import DistributedDataParallel
model = DistributedDataParallel(torch.nn.Linear(graphs.num_node_features, 1))
seen = []
for batch in loader:
    model(torch.nan_to_num(batch.x)).mean().backward()
    seen += [float(x) for x in torch.zeros(batch.num_graphs).index_add_(0, batch.batch, batch.x[:, 0]).double()]
    assert torch.isfinite(model.module.weight.grad).all()
print(json.dumps({"steps": len(loader), "graphs": len(seen), "sum": sum(seen), "grad": float(model.module.weight.grad.sum())}))
# Gloo's threads end with the last reference to the group, and may not outlive the interpreter (pytorch/pytorch issue 190489).
del model
dist.destroy_process_group()
gc.collect()
names = [open(f"/proc/self/task/{thread}/comm").read() for thread in os.listdir("/proc/self/task")]
assert not [name for name in names if "gloo" in name], names
"""


def test_ranks_of_torch_distributed(folder, tmp_path, graphs):
    command = [sys.executable, "-c", DDP, str(folder)]
    processes = [subprocess.Popen([*command, str(rank), str(tmp_path / "rendezvous")], stdout=subprocess.PIPE, text=True,
                                  env={**os.environ, "OMP_NUM_THREADS": "1"}) for rank in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    first, second = (json.loads(out.splitlines()[-1]) for out in outputs)
    assert first["steps"] == second["steps"] and first["grad"] == second["grad"]
    assert first["graphs"] + second["graphs"] >= len(graphs) and first["sum"] != second["sum"]


def test_lightning(graphs, tmp_path):
    lightning = pytest.importorskip("lightning")

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(graphs.num_node_features, 2)
            self.seen = []

        def training_step(self, batch, _):
            self.seen.append(batch.y.tolist())
            sums = torch.zeros(batch.num_graphs, 2).index_add_(0, batch.batch, self.layer(batch.x))
            return torch.nn.functional.cross_entropy(sums, batch.y.clamp(0, 1))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-6)

    def trainer(**options):
        return lightning.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                                 default_root_dir=tmp_path, **options)

    def loader():
        return plimsoll.DataLoader(graphs, 64, shuffle=True, seed=4)

    whole = Model()
    trainer(max_epochs=2, enable_checkpointing=False).fit(whole, loader())
    epochs = loader()
    assert whole.seen == labels(epochs) + labels(epochs)

    part = Model()
    saving = lightning.pytorch.callbacks.ModelCheckpoint(tmp_path, "part", every_n_train_steps=3)
    trainer(max_steps=3, callbacks=[saving]).fit(part, loader())
    rest = Model()
    trainer(max_epochs=2, enable_checkpointing=False).fit(rest, loader(), ckpt_path=tmp_path / "part.ckpt")
    assert part.seen + rest.seen == whole.seen
