"""plimsoll.fit within a budget: the same bits, budgets that work, and what is held from block to block."""

import gc
import re
import tracemalloc
import warnings
import weakref
from pathlib import Path

import pytest
from package_data import plimsoll, python

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, fitted, made_up, weights  # noqa: E402
from pyg_models import Classifier, make_body  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch, Data  # noqa: E402
from torch_geometric.nn import global_mean_pool  # noqa: E402

from plimsoll import _torch  # noqa: E402
from plimsoll._fit import lanes  # noqa: E402
from plimsoll._fit.block_plan import Room  # noqa: E402
from plimsoll._fit.block_steps import Steps  # noqa: E402
from plimsoll._fit.blocks import BlockLimits, BlockList  # noqa: E402
from plimsoll._fit.lanes import LaneSums  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402
from plimsoll._fit.trial import Trial  # noqa: E402
from plimsoll._fit.tries import Tries  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")
MIB = 1 << 20


def test_same_bits_for_every_budget():
    model, run = fitted()
    for budget in (run.smallest_budget + 2 * MIB, run.smallest_budget + 64 * MIB, "80%"):
        other, again = fitted(budget=budget)
        assert torch.equal(weights(model), weights(other)) and again.losses == run.losses
        assert again.peak_process <= (budget if isinstance(budget, int) else 1 << 50)


def test_same_bits_without_memory_of_its_own(monkeypatch):
    model, _ = fitted()
    monkeypatch.setattr("plimsoll._fit.training.plan_blocks", lambda *_: Room(0))
    assert torch.equal(weights(model), weights(fitted()[0]))


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

    monkeypatch.setattr("plimsoll._fit.training.plan_blocks", lambda *_: Room(1))
    monkeypatch.setattr("plimsoll._fit.block_steps.SETTLING", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, run = fitted(model=Refused({}), shuffle=False, couples="allow")
        other, again = fitted(model=Refused({5}), shuffle=False, couples="allow")
        with pytest.raises(plimsoll.BudgetExceeded):
            fitted(model=Refused({5, 6, 7, 8}), shuffle=False, couples="allow")
        third, _ = fitted(model=Refused({5, 6, 7}), shuffle=False, couples="allow")
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
    with pytest.raises(plimsoll.BudgetExceeded, match="the smallest budget that works is") as refusal:
        with plimsoll.budget(run.smallest_budget - 24 * MIB):  # one around it counts, too
            fitted(model=fresh, **options)
    assert len(refusal.value.__notes__) == 1  # of that which was too small
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
from test_fit_memory import refuse_too_small_a_budget
torch.set_num_threads(1)
refuse_too_small_a_budget()
""")


def test_the_smallest_budget_works_in_other_processes():
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import torch, plimsoll
from fit_models import fitted
torch.set_num_threads(1)
print(fitted(budget=BUDGET)[1].smallest_budget)
"""
    smallest = python(code.replace("BUDGET", "'8GiB'")).split()[-1]
    for _ in range(3):
        assert int(python(code.replace("BUDGET", smallest)).split()[-1]) <= int(smallest) + 2 * MIB


class Means(torch.nn.Module):
    """Its step takes less than its graphs; `buffer` MiB are copied with it."""

    def __init__(self, buffer):
        super().__init__()
        self.first, self.last = torch.nn.Linear(256, 8), torch.nn.Linear(8, 2)
        self.register_buffer("buffer", torch.zeros(buffer * MIB // 4))

    def forward(self, x, batch, batch_size):
        return self.last(global_mean_pool(self.first(x), batch, batch_size))


def fit_large_graphs(buffer, *budgets):
    """Each graph is a block. Gives the budgets that are said to do, for this seed and for any."""
    ring = torch.stack([torch.arange(4000), torch.arange(4000).roll(1)])
    graphs = [Data(x=torch.full((4000, 256), i % 5.0), edge_index=ring, y=torch.tensor(i % 2)) for i in range(12)]
    smallest = []
    for seed, budget in enumerate(budgets):
        torch.manual_seed(0)
        run = plimsoll.fit(Means(buffer), graphs, batch_size=4, budget=budget, seed=seed)
        smallest = smallest or [run.smallest_budget, run.smallest_budget_any_seed]
    for less in range(2, 14, 2):
        try:
            plimsoll.fit(Means(buffer), graphs, batch_size=4, budget=smallest[0] - less * MIB)
        except plimsoll.BudgetExceeded as refusal:
            assert re.search("at least|give more than|smallest budget that works is", str(refusal)), refusal
    return smallest


@pytest.mark.parametrize("buffer", [0, 48])
def test_the_smallest_budget_includes_the_steps_that_a_plan_tries(buffer):
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_fit_memory import fit_large_graphs
print(*fit_large_graphs({buffer}, BUDGETS))
"""
    smallest, of_any = map(int, python(code.replace("BUDGETS", "'8GiB'")).split()[-2:])
    again = python(code.replace("BUDGETS", f"{smallest}, {of_any}, {of_any + 8 * MIB}")).split()[-2:]
    assert int(again[0]) <= smallest + 2 * MIB and int(again[1]) <= of_any + 2 * MIB


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


def test_sums_of_parameters_of_several_dtypes_are_counted():
    parameters = [torch.zeros(1 << 20, dtype=dtype) for dtype in (torch.bfloat16, torch.float64, torch.float32)]
    before = _torch.held()
    sums = LaneSums(parameters, 4)
    assert LaneSums.bytes_for(parameters, 4) == 3 * 14 * MIB and 0 <= _torch.held() - before - 3 * 14 * MIB < 4096
    del sums


def test_a_budget_for_any_seed():
    runs = [fitted(seed=seed, epochs=1)[1] for seed in range(4)]
    of_any = [run.smallest_budget_any_seed for run in runs]
    assert max(of_any) - min(of_any) <= 4 * MIB  # what the process holds beside the run
    assert all(run.smallest_budget <= run.smallest_budget_any_seed < run.smallest_budget + 64 * MIB for run in runs)


@pytest.mark.parametrize("limits", [BlockLimits(1), BlockLimits(64, 10), BlockLimits(64, 4096, 10)])
def test_no_block_of_two_graphs_or_more_is_larger_than_the_largest_possible(limits):
    """Three graphs of which no two fit into a block, for a model that cannot run on one."""
    graph = Data(x=torch.randn(9, 5), edge_index=torch.randint(9, (2, 30)), y=torch.tensor([0]))
    blocks = BlockList([graph] * 3, 3, limits, 0, True)
    blocks.min_graphs = 2
    (block,) = next(iter(blocks.batches(0)))
    largest = blocks.largest_possible()
    assert (block.size.graphs, block.size.nodes, block.size.edges) == (3, 27, 90)
    assert largest.graphs >= 3 and largest.nodes >= 27 and largest.edges >= 90


def test_ranks_compare_their_weights_without_a_copy(monkeypatch):
    """A copy would be outside the ledger."""
    def gather(of_all, mine):
        of_all[:] = [mine] * len(of_all)

    monkeypatch.setattr(lanes.process_group, "ranks", lambda: 2)
    monkeypatch.setattr(lanes.dist, "all_gather_object", gather)
    graph = Data(x=torch.randn(9, 5), edge_index=torch.randint(9, (2, 30)), y=torch.tensor([0]))
    blocks, model = BlockList([graph], 1, BlockLimits(), 0, False), torch.nn.Linear(1024, 4096)
    tracemalloc.start()
    try:
        lanes.require_agreement(model, blocks, {})
        assert tracemalloc.get_traced_memory()[1] < MIB
    finally:
        tracemalloc.stop()


def test_refused_tries_wait_once_for_others(monkeypatch):
    waits, settled = [], []
    monkeypatch.setattr("plimsoll._fit.tries.time.sleep", waits.append)
    monkeypatch.setattr("plimsoll._fit.tries.settle", lambda: settled.append(True))
    tries = Tries()
    assert tries.run(lambda: "done", None) == "done" and not settled

    def refused():
        error = plimsoll.BudgetExceeded("refused")
        error.add_note("by whom")
        raise error

    assert tries.run(refused, 1) == tries.run(refused, 1) == 1
    assert len(waits) == 1 and len(settled) == 2
    with pytest.raises(plimsoll.BudgetExceeded, match="not enough memory for the steps that fit tries on a few graphs: refused") as refusal:
        tries.require()
    assert refusal.value.__notes__ == ["by whom"]


def test_what_on_epoch_is_refused_names_no_budget():
    """It is no need of the run."""
    with pytest.raises(plimsoll.BudgetExceeded) as refusal:
        fitted(budget=_torch.anonymous() + 1024 * MIB, on_epoch=lambda *_: torch.zeros(512 * MIB))
    assert "give a budget of" not in str(refusal.value)
