"""plimsoll.fit against training by hand, and the bits of its weights."""

import copy
import functools
import gc
import warnings
import weakref
from pathlib import Path

import pytest
from package_data import plimsoll, python

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from functorch.compile import make_boxed_func  # noqa: E402
from pyg_models import Classifier, make_body  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch, Data  # noqa: E402
from torch_geometric.nn import GraphNorm, global_mean_pool  # noqa: E402

from plimsoll import _operators  # noqa: E402

_operators.load()
import plimsoll.nn  # noqa: E402
from plimsoll import _torch  # noqa: E402
from plimsoll._fit_plan import Room  # noqa: E402
from plimsoll._fit_steps import Steps  # noqa: E402
from plimsoll.blocks import BlockLimits, BlockList  # noqa: E402
from plimsoll.steps import by_names, loss_of  # noqa: E402
from plimsoll.trial import Trial  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")
MIB = 1 << 20


def made_up(count=60, features=5):
    generator = torch.Generator().manual_seed(3)
    graphs = []
    for i in range(count):
        n, e = 6 + i % 7, 15 + i % 11
        graphs.append(
            Data(
                x=torch.randn(n, features, generator=generator) + i % 3,
                edge_index=torch.randint(n, (2, e), generator=generator),
                y=torch.tensor([i % 3]),
            )
        )
    return graphs


def classifier(body="GAT", graphs=None, **options):
    torch.manual_seed(5)
    return Classifier(make_body(body, 5, graphs or made_up(), width=16, layers=2, **options), 3)


def weights(model):
    return torch.cat([value.detach().double().flatten() for value in model.state_dict().values()])


def fitted(graphs=None, model=None, **options):
    model = model or classifier(dropout=0.3)
    options = {"epochs": 2, "batch_size": 32, "block": BlockLimits(8)} | options
    return model, plimsoll.fit(model, graphs or made_up(), optimizer=torch.optim.Adam(model.parameters(), 1e-2), **options)


@pytest.mark.parametrize("body", ["GCN", "GIN", "SAGE", "GAT", "GATv2", "PNA"])
def test_as_by_hand(body):
    """Whole batches through PyTorch Geometric give the same losses and weights, to rounding."""
    graphs = made_up()
    model, run = fitted(graphs, classifier(body, graphs).double(), forward=in_double)
    by_hand = classifier(body, graphs).double()
    optimizer = torch.optim.Adam(by_hand.parameters(), 1e-2)
    order, losses = BlockList(graphs, 32, BlockLimits(8), 0, True), []
    for epoch in range(2):
        total = 0.0
        for blocks in order.batches(epoch):
            batch = order.load(torch.cat([torch.from_numpy(block.graphs) for block in blocks]).numpy())
            optimizer.zero_grad()
            loss = F.cross_entropy(in_double(by_hand, batch), batch.y)
            loss.backward()
            optimizer.step()
            total += loss.item() * batch.num_graphs
        losses.append(total / len(graphs))
    assert run.losses == pytest.approx(losses, rel=1e-9)
    assert torch.allclose(weights(model), weights(by_hand), rtol=1e-6, atol=1e-8)
    assert run.losses[1] < run.losses[0]


def in_double(model, batch):
    return model(batch.x.double(), batch.edge_index, batch.batch, batch.num_graphs)


def test_same_bits_for_every_budget():
    model, run = fitted()
    for budget in (run.smallest_budget + 2 * MIB, run.smallest_budget + 64 * MIB, "80%"):
        other, again = fitted(budget=budget)
        assert torch.equal(weights(model), weights(other)) and again.losses == run.losses
        assert again.peak_process <= (budget if isinstance(budget, int) else 1 << 50)


def test_same_bits_without_memory_of_its_own(monkeypatch):
    model, _ = fitted()
    monkeypatch.setattr("plimsoll._fit.plan_blocks", lambda *_: Room(0))
    assert torch.equal(weights(model), weights(fitted()[0]))


def test_same_bits_whatever_torchs_generator():
    model, _ = fitted()
    other = classifier(dropout=0.3)
    torch.manual_seed(99)
    before = torch.get_rng_state()
    fitted(model=other)
    assert torch.equal(weights(model), weights(other))
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(weights(model), weights(fitted(seed=1)[0]))


def test_blocks_follow_from_the_recipe_alone():
    graphs = made_up()
    limits = BlockLimits(8, 60, 10_000)
    blocks = [block for batch in BlockList(graphs, 32, limits, 4, True).batches(1) for block in batch]
    assert sorted(g for block in blocks for g in block.graphs) == list(range(60))
    assert [block.number for block in blocks] == list(range(len(blocks)))
    for block in blocks:
        batch = Batch.from_data_list([graphs[g] for g in block.graphs])
        assert block.size[:3] == (batch.num_graphs, batch.num_nodes, batch.num_edges)
        assert block.size.graphs <= 8 and block.size.nodes <= 60
    one_by_one = [block for batch in BlockList(graphs, 60, BlockLimits(8, 1, 1), 0, False).batches(0) for block in batch]
    assert [list(block.graphs) for block in one_by_one] == [[g] for g in range(60)]


def test_a_block_that_was_refused_runs_again(monkeypatch):
    """Same bits, running statistics too, and nothing of the first attempt is left."""

    class Refused(torch.nn.Module):
        def __init__(self, times):
            super().__init__()
            self.classifier, self.calls, self.times = classifier(dropout=0.3, norm="BatchNorm"), 0, times

        def forward(self, x, edge_index, batch, batch_size):
            out = self.classifier(x, edge_index, batch, batch_size)
            self.calls += out.requires_grad
            if out.requires_grad and self.calls in self.times:
                out.sum().backward(retain_graph=True)
                raise plimsoll.BudgetExceeded("refused")
            return out

    monkeypatch.setattr("plimsoll._fit.plan_blocks", lambda *_: Room(1))
    monkeypatch.setattr("plimsoll._fit_steps._SETTLING", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, run = fitted(model=Refused({}), shuffle=False)
        other, again = fitted(model=Refused({5}), shuffle=False)
        with pytest.raises(plimsoll.BudgetExceeded):
            fitted(model=Refused({5, 6, 7, 8}), shuffle=False)
        third, _ = fitted(model=Refused({5, 6, 7}), shuffle=False)
    assert (run.reruns, again.reruns) == (0, 1)
    assert torch.equal(weights(model), weights(other)) and torch.equal(weights(model), weights(third))


def test_a_model_that_keeps_its_tensors():
    class Keeps(Classifier):
        def forward(self, x, edge_index, batch, batch_size):
            self.kept = super().forward(x, edge_index, batch, batch_size)
            return self.kept

    torch.manual_seed(5)
    model = Keeps(make_body("GAT", 5, made_up(), width=16, layers=2, dropout=0.3), 3)
    with pytest.warns(UserWarning, match="keeps tensors from one block to the next"):
        fitted(model=model)
    assert torch.equal(weights(model), weights(fitted()[0]))


def test_modules_that_couple_graphs_are_named():
    with pytest.warns(UserWarning, match=r"body.norms.0.module \(BatchNorm1d\).*at most 8 graphs"):
        model, run = fitted(model=classifier(norm="BatchNorm"))
    assert run.couples == ["body.norms.0.module (BatchNorm1d)"]

    class Centred(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin, self.norm, self.head = torch.nn.Linear(5, 8), GraphNorm(8), torch.nn.Linear(8, 3)

        def forward(self, x, batch):
            x = self.norm(self.lin(x), batch)
            return self.head(global_mean_pool(x - x.mean(0), batch))

    with pytest.warns(UserWarning):
        assert fitted(model=Centred())[1].couples == ["the model (Centred)"]


def test_models_that_look_at_one_graph_at_a_time():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted()[1].couples == []


def refuse_too_small_a_budget():
    graphs = made_up(300)
    graphs = [Data(x=g.x.repeat(40, 1), edge_index=g.edge_index, y=g.y) for g in graphs]
    options = {"block": BlockLimits(64, 10**6, 10**6), "batch_size": 300, "epochs": 1, "graphs": graphs}

    def wide():
        torch.manual_seed(2)
        return Classifier(make_body("GATv2", 5, graphs, width=64, layers=2, dropout=0.3), 3)

    _, run = fitted(model=wide(), **options)
    fresh = wide()
    before = weights(fresh)
    with pytest.raises(plimsoll.BudgetExceeded, match="a block of 64 graphs.*the smallest budget that works is"):
        fitted(model=fresh, budget=run.smallest_budget - 24 * MIB, **options)
    assert torch.equal(weights(fresh), before)
    gc.collect()
    _, again = fitted(model=fresh, budget=run.smallest_budget + 4 * MIB, **options)
    assert again.losses == run.losses


def test_a_budget_too_small_names_one_that_works():
    """In a process that holds nothing of other tests, whose sizes move by more than 4 MiB."""
    python(f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import torch
from test_package_fit import refuse_too_small_a_budget
torch.set_num_threads(1)
refuse_too_small_a_budget()
""")


def test_targets_of_nodes():
    """Blocks are weighted by their nodes."""
    graphs = [Data(x=g.x, edge_index=g.edge_index, y=(g.x[:, 0] > 0).long()) for g in made_up()]

    class Nodes(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(5, 2)

        def forward(self, x):
            return self.lin(x)

    torch.manual_seed(0)
    model = Nodes()
    by_hand = F.cross_entropy(model(torch.cat([g.x for g in graphs])), torch.cat([g.y for g in graphs])).item()
    run = plimsoll.fit(model, graphs, batch_size=60, block=BlockLimits(7))
    assert run.losses[0] == pytest.approx(by_hand, rel=1e-6)


def test_graph_sets_train_like_their_data(tmp_path):
    graphs = made_up()
    stored = plimsoll.from_pyg(graphs, tmp_path / "graphs")
    assert torch.equal(weights(fitted(stored)[0]), weights(fitted(graphs)[0]))
    half = fitted(stored[:30], epochs=1)[1]
    assert half.losses == fitted(graphs[:30], epochs=1)[1].losses


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"graphs": made_up()[:0] or ()}, plimsoll.UsageError, "no graphs"),
        ({"batch_size": 0}, plimsoll.UsageError, "batch_size=0"),
        ({"block": BlockLimits(0)}, plimsoll.UsageError, "graphs=0"),
        ({"block": 4}, plimsoll.UsageError, "block=4: expected plimsoll.BlockLimits"),
        ({"block": (4, 100, 100, 100)}, plimsoll.UsageError, "expected plimsoll.BlockLimits"),
        ({"optimizer": 3}, plimsoll.UsageError, "optimizer=3"),
        ({"model": classifier().requires_grad_(False)}, plimsoll.UsageError, "requires no gradient"),
        ({"budget": "1MiB"}, plimsoll.BudgetExceeded, "this process holds"),
        ({"budget": "much"}, plimsoll.UsageError, "much"),
        ({"loss": lambda out, y: out}, plimsoll.UsageError, "expected one number"),
        ({"model": classifier().to("meta")}, plimsoll.UsageError, "the model is on meta"),
    ],
)
def test_bad_input(options, error, text):
    options = dict(options)
    model, graphs = options.pop("model", None) or classifier(), options.pop("graphs", made_up())
    with pytest.raises(error, match=text):
        plimsoll.fit(model, graphs, **options)
    assert torch.zeros(2).sum() == 0


def test_budgets():
    with plimsoll.budget("64GiB") as memory:
        held = torch.zeros(MIB)
        with pytest.raises(plimsoll.UsageError, match="in force already"), memory:
            pass
    assert memory.peak >= 4 * MIB and memory.peak_process > memory.peak and "64 GiB" in str(memory)
    del held
    outside = _torch.anonymous()
    with plimsoll.budget(outside + 64 * MIB):
        with pytest.raises(plimsoll.BudgetExceeded) as refusal:
            torch.zeros(64 * MIB)
        assert isinstance(refusal.value, MemoryError) and refusal.value.exit_code == 4
        weight = torch.zeros(1000, 1000, requires_grad=True)
        with pytest.raises(plimsoll.BudgetExceeded):  # in backward too
            (torch.stack([weight * i for i in range(7)]).square().sum() * 2).backward()
    torch.zeros(64 * MIB)


def test_a_budget_sees_what_others_take():
    """Memory that is not torch's lowers the cap."""
    import time

    import numpy as np

    gc.collect()
    with plimsoll.budget(_torch.anonymous() + 200 * MIB):
        torch.zeros(30 * MIB)  # 120 MiB
        taken = np.ones(15 * MIB)  # as much, of NumPy
        time.sleep(0.2)
        with pytest.raises(plimsoll.BudgetExceeded):
            torch.zeros(30 * MIB)
        assert taken.sum() == 15 * MIB


def test_the_profiler_sees_tensors():
    """torch.profiler counts what a model allocates under a budget as it does without."""
    activity = torch.profiler.ProfilerActivity.CPU
    with plimsoll.budget("64GiB"), torch.profiler.profile(activities=[activity], profile_memory=True) as profile:
        held = torch.empty(MIB)
        del held
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    assert [event.nbytes() for event in events] == [4 * MIB, -4 * MIB]


def test_the_smallest_budget_works_in_other_processes():
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import torch, plimsoll
from test_package_fit import fitted
torch.set_num_threads(1)
print(fitted(budget=BUDGET)[1].smallest_budget)
"""
    smallest = python(code.replace("BUDGET", "'8GiB'")).split()[-1]
    for _ in range(3):
        assert int(python(code.replace("BUDGET", smallest)).split()[-1]) <= int(smallest) + 2 * MIB


def test_a_gradient_from_before_is_not_used():
    model = classifier(dropout=0.3)
    by_hand = Batch.from_data_list(made_up())
    model(by_hand.x, by_hand.edge_index, by_hand.batch, by_hand.num_graphs).sum().backward()
    fitted(model=model)
    assert torch.equal(weights(model), weights(fitted()[0]))


def test_several_targets_a_graph():
    """Blocks are weighted by the rows of y."""
    graphs = [Data(x=g.x, edge_index=g.edge_index, y=torch.arange(1 + i % 3) % 2) for i, g in enumerate(made_up())]

    class Rows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.tensor([0.3, -0.2]))

        def forward(self, x, y):
            return self.bias.expand(len(y), 2)

    by_hand = F.cross_entropy(torch.tensor([[0.3, -0.2]]).expand(120, 2), torch.cat([g.y for g in graphs])).item()
    run = plimsoll.fit(Rows(), graphs, batch_size=60, block=BlockLimits(7))
    assert run.losses[0] == pytest.approx(by_hand, rel=1e-6)


def test_random_transforms_follow_the_seed():
    class Noisy(list):
        def __getitem__(self, i):
            graph = list.__getitem__(self, i).clone()
            graph.x = graph.x + 0.1 * torch.randn_like(graph.x)
            return graph

    torch.manual_seed(1)
    before = torch.get_rng_state()
    model, _ = fitted(Noisy(made_up()), batch_size=60)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), before)
    fitted_again = classifier(dropout=0.3)
    torch.manual_seed(2)
    fitted(Noisy(made_up()), fitted_again, batch_size=60)
    assert torch.equal(weights(model), weights(fitted_again))


@pytest.mark.parametrize(
    "options, text",
    [
        ({"epochs": 0}, "epochs=0"),
        ({"seed": -1}, "seed=-1"),
        ({"batch_size": "64"}, "batch_size='64'"),
        ({"optimizer": torch.optim.Adam([torch.zeros(1)])}, "no parameter of the model"),
        ({"optimizer": torch.optim.LBFGS}, "LBFGS"),
        ({"graphs": [Data(x=torch.zeros(2, 5), edge_index=torch.zeros(2, 1, dtype=torch.long))]}, "graph 0: has no y"),
        ({"graphs": iter(made_up())}, "expected graphs"),
        ({"model": print}, "expected torch.nn.Module"),
    ],
)
def test_more_bad_input(options, text):
    options = dict(options)
    model, graphs = options.pop("model", None) or classifier(), options.pop("graphs", made_up())
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.fit(model, graphs, **options)


def test_an_inner_budget_leaves_the_peak_of_the_outer():
    with plimsoll.budget("64GiB") as outer:
        torch.zeros(8 * MIB)
        with plimsoll.budget("64GiB"):
            pass
    assert outer.peak >= 32 * MIB


def test_what_was_freed_is_no_others():
    """Sampling in the middle of taking and giving back does not lower the cap."""
    with plimsoll.budget(_torch.anonymous() + 400 * MIB):
        for _ in range(30):
            held = torch.ones(40 * MIB // 4)
            del held
        torch.zeros(300 * MIB // 4)


def test_a_refusal_has_its_figures():
    with plimsoll.budget(_torch.anonymous() + 64 * MIB), pytest.raises(plimsoll.BudgetExceeded) as refusal:
        torch.zeros(64 * MIB)
    assert refusal.value.tag == "other" and refusal.value.bytes_asked >= 256 * MIB > refusal.value.bytes_free > 0


def test_a_refusal_gives_back_what_its_calls_held():
    def step():
        held = torch.zeros(8 * MIB)  # 32 MiB
        torch.zeros(64 * MIB)
        return held

    gc.collect()
    with plimsoll.budget(_torch.anonymous() + 96 * MIB):
        before = _torch.held()
        try:
            step()
        except plimsoll.BudgetExceeded as error:
            assert _torch.held() - before >= 32 * MIB
            error.free_frames()
            assert _torch.held() - before < MIB
    with pytest.raises(plimsoll.BudgetExceeded) as refusal, plimsoll.budget(_torch.anonymous() + 96 * MIB):
        before = _torch.held()
        step()
    assert _torch.held() - before < MIB and "budget of the process" in refusal.value.__notes__[0]


@pytest.mark.parametrize("number", [1, 2])
def test_a_block_is_gone_before_the_next_but_those_that_run(number, threads, monkeypatch):
    threads(number)
    made, most = [], []
    job = Steps._job

    def noted(self, *arguments):
        most.append(sum(of() is not None for of in made))
        done = job(self, *arguments)
        made.append(weakref.ref(done.data))
        return done

    monkeypatch.setattr(Steps, "_job", noted)
    _, run = fitted()
    assert run.workers == number and max(most) == (0 if number == 1 else number)


def test_gradients_of_a_block_are_gone_before_the_next(threads, monkeypatch):
    step, alive, most = Steps._block, [], []

    def noted(steps, job):
        most.append(sum(gradient() is not None for gradient in alive))
        done = step(steps, job)
        alive.extend(map(weakref.ref, done[0]))
        return done

    monkeypatch.setattr(Steps, "_block", noted)
    torch.set_num_threads(1)
    fitted()
    assert len(most) > 4 and max(most) == 0


def test_what_a_tried_step_freed_goes_back():
    """Steps on batches of other sizes do not take it up: the process would hold it to the end of the run."""
    with plimsoll.budget("8GiB"):
        trial = Trial(classifier(), torch.optim.Adam, by_names, F.cross_entropy)
        batch = Batch.from_data_list(made_up(2000))
        trial.record(batch)
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        assert int(status["RssAnon"].split()[0]) * 1024 - _torch.anonymous() < MIB


@pytest.mark.parametrize("body", ["GCN", "GIN", "SAGE", "GAT", "GATv2", "GIN of PyTorch Geometric", "SAGE of PyTorch Geometric"])
def test_a_compiled_model_is_compiled_once_for_blocks_of_all_sizes(body):
    """Forward and backward, to the numbers of the model as it is. PyTorch Geometric's other layers have graph breaks."""
    compiled = []

    def counted(module, inputs):
        compiled.append(module)
        return make_boxed_func(module)

    torch._dynamo.reset()
    body, _, theirs = body.partition(" ")
    plain = classifier(body)
    if not theirs:
        assert plimsoll.nn.replace(plain).replaced == 3
    model = torch.compile(copy.deepcopy(plain), backend=aot_autograd(fw_compiler=counted))
    blocks = BlockList(made_up(), 32, BlockLimits(8), 0, True)
    loaded = [blocks.load(block.graphs) for batch in blocks.batches(0) for block in batch if len(block.graphs) == 8]
    assert len({data.num_nodes for data in loaded}) > 2
    for data in loaded:
        results = []
        for one in (plain, model):
            one.zero_grad()
            loss_of(one, data, by_names, F.cross_entropy).backward()
            results.append([parameter.grad for parameter in one.parameters()])
        torch.testing.assert_close(*results)
    assert len(compiled) == 2


def test_a_budget_for_every_call():
    @plimsoll.budget(_torch.anonymous() + 256 * MIB)
    def nested(depth):
        if depth:
            return nested(depth - 1)
        with pytest.raises(plimsoll.BudgetExceeded):
            torch.zeros(256 * MIB)
        return "done"

    assert nested(2) == nested(0) == "done"


def test_a_loss_that_is_no_number_ends_the_run():
    graphs = made_up()
    graphs[41].x[0] = float("nan")
    model = classifier()
    before = weights(model)
    with pytest.raises(plimsoll.Failure, match=r"loss of block \d of epoch 0 is nan, of the graphs .*41"):
        fitted(graphs, model, batch_size=60, shuffle=False)
    assert torch.equal(weights(model), before) and all(p.grad is None for p in model.parameters())


def test_gradients_are_clipped_by_a_hook():
    model = classifier()
    norms = []

    def clip(optimizer, args, kwargs):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        norms.append(float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm()))

    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    optimizer.register_step_pre_hook(clip)
    plimsoll.fit(model, made_up(), optimizer=optimizer, batch_size=32)
    assert len(norms) == 2 and max(norms) <= 0.01 * 1.001


def test_a_budget_for_any_seed():
    runs = [fitted(seed=seed, epochs=1)[1] for seed in range(4)]
    of_any = [run.smallest_budget_any_seed for run in runs]
    assert max(of_any) - min(of_any) <= 4 * MIB  # what the process holds beside the run
    assert all(run.smallest_budget <= run.smallest_budget_any_seed < run.smallest_budget + 64 * MIB for run in runs)


def test_a_subset_of_a_graph_set_is_trained(tmp_path):
    graphs = plimsoll.from_pyg(made_up(), tmp_path / "graphs")
    numbers = [3, 50, 7, 22] * 4
    one, _ = fitted(torch.utils.data.Subset(graphs, numbers))
    other, _ = fitted(graphs[numbers])
    assert torch.equal(weights(one), weights(other))


def test_a_child_of_fork_leaves_the_budget(tmp_path):
    from package_data import python

    assert "left" in python(
        """
import os, plimsoll, torch
with plimsoll.budget("64GiB"):
    pid = os.fork()
    torch.zeros(1 << 10)
if pid == 0:
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
print("left")
"""
    )


def test_what_malloc_keeps_gives_way_to_a_tensor():
    """Freed pieces of under 256 KiB stay in malloc's heap, between others, and in no count of the ledger."""
    out = python("""
import ctypes, time
import torch, plimsoll
from plimsoll import _operators, _torch
_operators.load()
libc = ctypes.CDLL("libc.so.6")
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
MIB, SIZE = 1 << 20, 20_000
room = 64 * MIB
need = _torch.outside() + _torch.held() + room + 6 * MIB
with plimsoll.budget(need + _torch.slack(need + _torch.slack(need))):
    pieces = []
    while len(pieces) < 4000:  # slowly, so that it is not trimmed on the way
        pieces += [libc.malloc(SIZE) for _ in range(8)]
        for piece in pieces[-8:]:
            ctypes.memset(piece, 1, SIZE)
        time.sleep(0.005)
    for i, piece in enumerate(pieces):
        if i % 50:
            libc.free(piece)
    time.sleep(2)
    kept = _torch.outside()
    torch.ones(room // 4)
    print((kept - _torch.outside()) // MIB)
""")
    assert int(out) > 60


def by_whole_batches(model, graphs, loss, batch_size=32, epochs=2):
    """The same training without blocks, by torch alone."""
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(epochs):
        for first in range(0, len(graphs), batch_size):
            batch = Batch.from_data_list(graphs[first : first + batch_size])
            optimizer.zero_grad()
            loss(by_names(model, batch), batch.y).backward()
            optimizer.step()
    return weights(model)


def targets_of(kind, graphs):
    """Graphs sorted by class, with the targets that a loss wants."""
    graphs = sorted((graph.clone() for graph in graphs), key=lambda graph: int(graph.y))
    for i, graph in enumerate(graphs):
        if kind == "ignored":
            graph.y = torch.tensor([-100 if i % 3 == 0 or i < 10 else int(graph.y)])
        if kind == "rows":
            graph.y = torch.nn.functional.one_hot(graph.y, 3).float()
    return graphs


WEIGHT = torch.tensor([1.0, 5.0, 0.5])
LOSSES = {
    "class weights": (torch.nn.CrossEntropyLoss(weight=WEIGHT), "classes"),
    "class weights by partial": (functools.partial(F.cross_entropy, weight=WEIGHT), "classes"),
    "sum": (torch.nn.CrossEntropyLoss(reduction="sum"), "classes"),
    "weighted sum": (functools.partial(F.cross_entropy, weight=WEIGHT, reduction="sum"), "classes"),
    "ignored": (torch.nn.CrossEntropyLoss(), "ignored"),
    "ignored function": (F.cross_entropy, "ignored"),
    "ignored and weighted": (torch.nn.CrossEntropyLoss(weight=WEIGHT), "ignored"),
    "label smoothing": (torch.nn.CrossEntropyLoss(weight=WEIGHT, label_smoothing=0.2), "classes"),
    "pos_weight": (torch.nn.BCEWithLogitsLoss(pos_weight=WEIGHT), "rows"),
    "squared": (torch.nn.MSELoss(), "rows"),
    "absolute": (F.l1_loss, "rows"),
    "huber": (torch.nn.HuberLoss(reduction="sum"), "rows"),
    "probabilities": (torch.nn.CrossEntropyLoss(weight=WEIGHT), "rows"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_in_blocks_is_that_of_the_whole_batch(name):
    """Sorted by class, so that blocks differ in what they weigh."""
    loss, kind = LOSSES[name]
    graphs = targets_of(kind, made_up())
    model = classifier()
    expected = by_whole_batches(copy.deepcopy(model).train(), graphs, loss)
    plimsoll.fit(model, graphs, loss, torch.optim.Adam(model.parameters(), 1e-2), epochs=2, batch_size=32,
                 block=BlockLimits(8), shuffle=False)
    assert torch.allclose(weights(model), expected, rtol=2e-3, atol=2e-5)


def over_pairs(out, y):
    near = torch.cdist(out, out)
    return (near * (y[:, None] == y[None, :])).mean()


@pytest.mark.parametrize("loss", [over_pairs, lambda out, y: F.cross_entropy(out, y, weight=WEIGHT),
                                  lambda out, y: F.cross_entropy(out, y, reduction="sum")], ids=["pairs", "lambda", "sum"])
def test_a_loss_that_blocks_do_not_add_up_to_is_refused(loss):
    model = classifier()
    before = weights(model)
    with pytest.raises(plimsoll.UsageError, match="cannot be taken block by block"):
        plimsoll.fit(model, targets_of("classes", made_up()), loss, block=BlockLimits(8))
    assert torch.equal(weights(model), before)
    with pytest.raises(plimsoll.UsageError, match='reduction="none"'):
        plimsoll.fit(model, made_up(), torch.nn.CrossEntropyLoss(reduction="none"))


def test_a_batch_without_a_target_makes_no_step():
    graphs = targets_of("classes", made_up(16))
    for graph in graphs:
        graph.y = torch.tensor([-100])
    model = classifier()
    before = weights(model)
    run = plimsoll.fit(model, graphs, batch_size=8, optimizer=torch.optim.SGD(model.parameters(), 1.0))
    assert torch.equal(weights(model), before) and run.losses[0] != run.losses[0]
