"""plimsoll.DataLoader beside PyTorch Geometric's."""

import json
import os
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest
from package_data import FRAMES, plimsoll, python

torch = pytest.importorskip("torch")
pyg_data = pytest.importorskip("torch_geometric.data")
Batch, Data = pyg_data.Batch, pyg_data.Data
PygLoader = pytest.importorskip("torch_geometric.loader").DataLoader


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loader")
    frames = plimsoll.simulate.can(folder / "frames", frames=FRAMES, seed=3)
    plimsoll.windows(frames, folder / "graphs", features="compat", window=100, stride=100)
    return folder / "graphs"


@pytest.fixture
def graphs(folder):
    with plimsoll.open(folder) as graphs:
        yield graphs


def as_data(graphs):
    return [graphs.to_pyg(i) for i in range(len(graphs))]


def same_values(one, other):
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    return one == other


def assert_same_batch(ours, theirs):
    assert type(ours) is type(theirs)
    assert list(ours.keys()) == list(theirs.keys())
    for key in theirs.keys():
        assert same_values(ours[key], theirs[key]), key
    for table in ("_slice_dict", "_inc_dict"):
        assert list(getattr(ours, table)) == list(getattr(theirs, table))
        for key, value in getattr(theirs, table).items():
            assert same_values(getattr(ours, table)[key], value), (table, key)
    assert ours.num_graphs == theirs.num_graphs and ours.num_nodes == theirs.num_nodes
    assert (ours.num_edges, ours.num_features, len(ours)) == (theirs.num_edges, theirs.num_features, len(theirs))
    for mine, their in zip(ours.to_data_list(), theirs.to_data_list(), strict=True):
        assert list(mine.keys()) == list(their.keys()) and mine.num_nodes == their.num_nodes
        assert all(same_values(mine[key], their[key]) for key in their.keys())


def labels(loader):
    return [batch.y.tolist() for batch in loader]


def contents(loader):
    return [[t.numpy().tobytes() for t in (b.x, b.edge_index, b.edge_attr, b.ptr)] for b in loader]


@pytest.mark.parametrize("options", [{}, {"follow_batch": ["x", "edge_index"]}, {"exclude_keys": ["edge_attr", "y"]},
                                     {"follow_batch": ["y"], "exclude_keys": ["x", "edge_index"]}])
def test_batches_are_those_of_pyg(graphs, options):
    ours = plimsoll.DataLoader(graphs, 70, **options)
    theirs = PygLoader(as_data(graphs), 70, **options)
    assert len(ours) == len(theirs) > 3
    for one, other in zip(ours, theirs, strict=True):
        assert_same_batch(one, other)


@pytest.mark.parametrize("node_features", [0, 3])
@pytest.mark.parametrize("edge_features", [0, 2])
@pytest.mark.parametrize("node_classes", [False, True])
@pytest.mark.parametrize("left_out", [(), ("x",), ("num_nodes", "node_y")])
def test_graphs_of_all_kinds(tmp_path, node_features, edge_features, node_classes, left_out):
    generator = torch.Generator().manual_seed(1)
    dataset = []
    for nodes in (5, 1, 30, 2, 100):
        edges = 0 if nodes == 2 else 3 * nodes
        data = Data(edge_index=torch.randint(0, nodes, (2, edges), generator=generator), y=torch.tensor([nodes]))
        if node_features:
            data.x = torch.randn(nodes, node_features, generator=generator)
        else:
            data.num_nodes = nodes
        if edge_features:
            data.edge_attr = torch.randn(edges, edge_features, generator=generator)
        if node_classes:
            data.node_y = torch.arange(nodes) - 1
        dataset.append(data)
    graphs = plimsoll.from_pyg(dataset, tmp_path / "graphs")
    for size in (1, 2, 5):
        ours = plimsoll.DataLoader(graphs, size, exclude_keys=left_out)
        theirs = PygLoader(as_data(graphs), size, exclude_keys=list(left_out))
        for one, other in zip(ours, theirs, strict=True):
            if node_features and left_out == ("x",):
                one.num_nodes, other.num_nodes = one.ptr[-1], other.ptr[-1]  # PyG guesses from edge_index
            assert_same_batch(one, other)


def test_a_batch_is_the_users_own(graphs):
    batch = next(iter(plimsoll.DataLoader(graphs, 8)))
    before = graphs[0].x.copy()
    batch.x += 1
    assert np.array_equal(graphs[0].x, before) and torch.equal(batch[0].x, torch.from_numpy(before) + 1)
    again = pickle.loads(pickle.dumps(batch))
    assert torch.equal(again.x, batch.x) and again.num_graphs == 8
    batch.x.requires_grad_().sum().backward()


def test_real_captures(captures, tmp_path):
    frames = plimsoll.ingest.can(captures("set_01"), tmp_path / "frames")
    graphs = plimsoll.windows(frames, tmp_path / "graphs", features="compat")
    some = graphs[:2000]
    for one, other in zip(plimsoll.DataLoader(some, 512), PygLoader(as_data(some), 512), strict=True):
        assert_same_batch(one, other)


def test_chosen_graphs_come_in_their_order(graphs):
    chosen = graphs[[5, 3, 3, 8]]
    assert_same_batch(next(iter(plimsoll.DataLoader(chosen, 4))), Batch.from_data_list(as_data(chosen)))
    assert len(plimsoll.DataLoader(graphs[:0], 4)) == 0 and list(plimsoll.DataLoader(graphs[:0], 4)) == []


def test_order_depends_on_seed_and_epoch_alone(graphs):
    def epochs(seed, prefetch_factor=2):
        loader = plimsoll.DataLoader(graphs, 64, shuffle=True, seed=seed, prefetch_factor=prefetch_factor)
        return [contents(loader) for _ in range(3)]

    torch.manual_seed(1)
    first = epochs(1)
    torch.manual_seed(2)
    assert epochs(1, prefetch_factor=0) == first
    assert first[0] != first[1] != first[2] and epochs(2) != first
    loader = plimsoll.DataLoader(graphs, 64, shuffle=True, seed=1)
    loader.set_epoch(2)
    assert contents(loader) == first[2]
    seen = torch.cat([batch.x.sum(1) for batch in loader]).double().sum()
    assert torch.isclose(seen, torch.from_numpy(graphs.x.sum(1)).double().sum())


def test_limits(graphs):
    nodes, edges = np.diff(graphs.node_ptr), np.diff(graphs.edge_ptr)
    for limits in ({"max_nodes": 200}, {"max_edges": 300}, {"max_bytes": 40_000}, {"max_bytes": "40KB", "batch_size": 3}):
        options = {"batch_size": None, **limits}
        loader = plimsoll.DataLoader(graphs, shuffle=True, **options)
        steps, counted = len(loader), 0
        batches = list(loader)
        assert len(batches) == steps
        for batch in batches:
            counted += batch.num_graphs
            assert batch.num_nodes <= limits.get("max_nodes", batch.num_nodes)
            assert batch.num_edges <= limits.get("max_edges", batch.num_edges)
            tensors = [value for _, value in batch] + [batch._slice_dict["edge_index"]]
            taken = sum(t.nbytes for t in tensors)
            assert "max_bytes" not in limits or taken <= 40_000
        assert counted == len(graphs)
    most = int(nodes.max())
    with pytest.raises(plimsoll.UsageError, match=rf"graph {nodes.argmax()}: has {most} nodes, max_nodes={most - 1}.*skip_too_big"):
        plimsoll.DataLoader(graphs, max_nodes=most - 1)
    loader = plimsoll.DataLoader(graphs, 16, max_nodes=most - 1, skip_too_big=True)
    assert sum(batch.num_graphs for batch in loader) == int((nodes < most).sum())
    assert edges.max() > 0


def test_steps(graphs):
    for steps in (1, 7, 100, len(graphs)):
        for drop_last in (False, True):
            loader = plimsoll.DataLoader(graphs, 64, min_steps_per_epoch=steps, drop_last=drop_last)
            assert len(list(loader)) == len(loader) >= steps
    with pytest.raises(plimsoll.UsageError, match="min_steps_per_epoch"):
        len(plimsoll.DataLoader(graphs, min_steps_per_epoch=len(graphs) + 1))
    assert {b.num_graphs for b in plimsoll.DataLoader(graphs, 64, drop_last=True)} == {64}


@pytest.mark.parametrize("wrong", [
    {"batch_size": 0}, {"batch_size": 2.5}, {"batch_size": None}, {"max_nodes": 0}, {"seed": -1},
    {"prefetch_factor": -1}, {"rank": 1}, {"rank": 2, "num_replicas": 2}, {"rank": 0, "num_replicas": 0},
    {"follow_batch": "x"}, {"min_steps_per_epoch": -1}, {"rank": "0", "num_replicas": 2}, {"rank": 0.5, "num_replicas": 2},
    {"rank": 2**62, "num_replicas": 2**63 - 1},
])
def test_arguments_are_checked(graphs, wrong):
    with pytest.raises(plimsoll.UsageError, match="expected"):
        plimsoll.DataLoader(graphs, **wrong)


def test_other_data_sets_are_refused_with_the_remedy(graphs):
    with pytest.raises(plimsoll.UsageError, match="plimsoll.from_pyg"):
        plimsoll.DataLoader(iter(as_data(graphs[:3])), 2)
    with pytest.raises(TypeError):
        plimsoll.DataLoader(graphs, workers=2)
    for size in ("lots", 0, "80%"):
        with pytest.raises(plimsoll.UsageError):
            plimsoll.DataLoader(graphs, max_bytes=size)


@pytest.mark.parametrize("limits", [{}, {"max_nodes": 150}])
@pytest.mark.parametrize("drop_last", [False, True])
def test_ranks(graphs, limits, drop_last):
    options = {"batch_size": 10, "shuffle": True, "drop_last": drop_last, **limits}
    loaders = [plimsoll.DataLoader(graphs, rank=rank, num_replicas=3, **options) for rank in range(3)]
    assert len({len(loader) for loader in loaders}) == 1
    epochs = [[batch.num_graphs for batch in loader] for loader in loaders]
    assert len({len(epoch) for epoch in epochs}) == 1
    if not limits:
        sampler = [torch.utils.data.DistributedSampler(range(len(graphs)), 3, rank, False, drop_last=drop_last)
                   for rank in range(3)]
        for rank, loader in enumerate(loaders):
            expected = [len(b) for b in torch.utils.data.BatchSampler(sampler[rank], 10, drop_last)]
            assert epochs[rank] == expected


def test_state_goes_on_behind_the_last_batch(graphs):
    options = {"shuffle": True, "seed": 5, "max_nodes": 900, "batch_size": 50}
    whole = plimsoll.DataLoader(graphs, **options)
    expected = [contents(whole), contents(whole)]
    for stop in (0, 1, 4, len(expected[0])):
        loader = plimsoll.DataLoader(graphs, **options)
        running = iter(loader)
        for _ in range(stop):
            next(running)
        state = json.loads(json.dumps(loader.state_dict()))
        other = plimsoll.DataLoader(plimsoll.open(graphs.path), **options)
        other.load_state_dict(state)
        rest = [contents(other), contents(other)]
        # A whole epoch is over: the next one comes.
        assert rest[0] == (expected[0][stop:] if stop < len(expected[0]) else expected[1])
        assert stop == len(expected[0]) or rest[1] == expected[1]


def test_states_of_others_are_refused(graphs):
    state = plimsoll.DataLoader(graphs, 50, shuffle=True).state_dict()
    for other, text in ((plimsoll.DataLoader(graphs, 51, shuffle=True), "batch_size=50"),
                        (plimsoll.DataLoader(graphs, 50), "shuffle=True"),
                        (plimsoll.DataLoader(graphs, 50, shuffle=True, seed=1), "seed=0"),
                        (plimsoll.DataLoader(graphs[1:], 50, shuffle=True), "other data")):
        with pytest.raises(plimsoll.UsageError, match=text):
            other.load_state_dict(state)
    same = plimsoll.DataLoader(graphs, 50, shuffle=True)
    for broken in ({}, None, {**state, "position": -1}, {**state, "epoch": "one"}, {**state, "options": None},
                   {**state, "options": [1]}):
        with pytest.raises(plimsoll.UsageError):
            same.load_state_dict(broken)
    same.load_state_dict({**state, "position": 10_000})
    with pytest.raises(plimsoll.UsageError, match="after batch 10000"):
        next(iter(same))
    ranked = plimsoll.DataLoader(graphs, 50, shuffle=True, rank=0, num_replicas=2)
    running = iter(ranked)
    next(running)
    same.load_state_dict(ranked.state_dict())
    with pytest.raises(plimsoll.UsageError, match="of 2 ranks"):
        next(iter(same))


def test_pickles_without_its_thread(graphs):
    for dataset in (graphs, graphs[3:90]):
        loader = plimsoll.DataLoader(dataset, 20, shuffle=True, seed=9)
        next(running := iter(loader))
        copy = pickle.loads(pickle.dumps(loader))
        assert contents(copy) == contents(loader)
        assert running is not None


def test_epochs_at_the_same_time_are_independent(graphs):
    loader = plimsoll.DataLoader(graphs, 30)
    first, second = iter(loader), iter(loader)
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.x, other.x)
    shuffled = plimsoll.DataLoader(graphs, 30, shuffle=True)
    iter(shuffled)  # begins none
    both = [(one.y.tolist(), other.y.tolist()) for one, other in zip(shuffled, shuffled)]
    again = plimsoll.DataLoader(graphs, 30, shuffle=True)
    assert both == list(zip(labels(again), labels(again)))
    results = []
    threads = [threading.Thread(target=lambda: results.append(labels(plimsoll.DataLoader(graphs, 30)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [labels(loader)] * 4


def test_planning_leaves_the_epochs_as_they_are(graphs):
    model = pytest.importorskip("torch_geometric.nn").GCN(graphs.num_node_features, 4, 1, 2)
    loader = plimsoll.DataLoader(graphs, 50, shuffle=True)
    plan = plimsoll.plan(model, loader, loss=lambda out, y: out[: len(y)].sum() + y.sum())
    assert plan.exact and loader.state_dict()["position"] == 0
    assert labels(loader) == labels(plimsoll.DataLoader(graphs, 50, shuffle=True))


def test_a_closed_data_set(folder):
    graphs = plimsoll.open(folder)
    loader = plimsoll.DataLoader(graphs, 50)
    running = iter(loader)
    next(running)
    graphs.close()
    assert len(list(running)) == len(range(50, int(len(loader.dataset.indices)), 50))
    for use in (lambda: next(iter(loader)), lambda: len(loader), lambda: plimsoll.DataLoader(graphs, 5), loader.state_dict):
        with pytest.raises(plimsoll.UsageError, match="closed"):
            use()


def test_a_damaged_data_set(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "graphs")
    edges = np.load(tmp_path / "graphs" / "edges.npy", mmap_mode="r+")
    graph = 120
    edges[plimsoll.open(folder).edge_ptr[graph]] = -5
    edges.flush()
    loader = plimsoll.DataLoader(plimsoll.open(tmp_path / "graphs"), 50)
    running = iter(loader)
    assert len([next(running), next(running)]) == 2
    for _ in range(2):
        with pytest.raises(plimsoll.InputError, match=f"graph {graph} points outside.*plimsoll verify"):
            next(running)
    pointers = np.load(tmp_path / "graphs" / "node_ptr.npy", mmap_mode="r+")
    pointers[10] = 2**60
    pointers.flush()
    damaged = plimsoll.open(tmp_path / "graphs")
    with pytest.raises(plimsoll.InputError, match="graph 9"):
        list(plimsoll.DataLoader(damaged, 5))
    with pytest.raises(plimsoll.InputError, match="graph 9"):
        plimsoll.DataLoader(damaged, 5, max_nodes=1000)


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
import plimsoll._batch
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
