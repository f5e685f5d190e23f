"""What a refusal leaves behind, and how a budget and the plan of fit go on after one."""

import gc
import time

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, fitted, made_up, weights  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch, Data  # noqa: E402

from plimsoll import _torch  # noqa: E402
from plimsoll._fit.apart import InOrder  # noqa: E402
from plimsoll._fit.block_plan import Room, _range, plan_blocks  # noqa: E402
from plimsoll._fit.block_steps import Steps  # noqa: E402
from plimsoll._fit.blocks import BlockLimits, BlockList  # noqa: E402
from plimsoll._fit.budget import settle  # noqa: E402
from plimsoll._fit.loss import try_split  # noqa: E402
from plimsoll._fit.planner import Needs  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402
from plimsoll._fit.trial import Trial  # noqa: E402
from plimsoll.data.sizes import size_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")
MIB = 1 << 20


class RefusedInBackward(torch.nn.Module):
    """Its backward pass wants 1 GiB for batches of several graphs, while 8 MiB wait for theirs."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, x, batch_size):
        waiting = (self.weight * torch.ones(MIB)).square().mean()
        return (waiting + self.weight.expand(256 * MIB if batch_size > 1 else 1)[0]).expand(batch_size, 3)


def refused_step():
    model = RefusedInBackward()
    model(torch.zeros(2, 5), 2).sum().backward()


def test_the_rest_of_a_backward_pass_is_given_back():
    gc.collect()
    with plimsoll.budget(_torch.anonymous() + 96 * MIB):
        before = _torch.held()
        try:
            refused_step()
        except plimsoll.BudgetExceeded as error:
            error.free_frames()
        assert _torch.held() - before < MIB
        with pytest.raises(plimsoll.BudgetExceeded) as refusal:
            refused_step()
        with torch.inference_mode():
            assert refusal.value.alone().__traceback__ is None and _torch.held() - before < MIB


def test_a_refused_trial_leaves_nothing():
    graphs = made_up()
    with plimsoll.budget(_torch.anonymous() + 96 * MIB):
        needs = Needs(Trial(RefusedInBackward(), torch.optim.SGD, by_names, F.cross_entropy))
        needs.run(Batch.from_data_list(graphs[:1]))
        before = _torch.held()
        needs.run(Batch.from_data_list(graphs[:2]))
        assert needs.refused is not None and len(needs.tapes) == 1 and _torch.held() - before < MIB


def test_a_refused_block_in_a_thread_leaves_nothing():
    with plimsoll.budget(_torch.anonymous() + 160 * MIB):
        before = _torch.held()
        blocks = InOrder(2)
        results = [result for _, result in blocks.run(range(6), lambda memory, item: refused_step())]
        assert all(isinstance(result, plimsoll.BudgetExceeded) for result in results) and _torch.held() - before < MIB
        blocks.close()


def test_memory_that_was_freed_does_not_count_after_settle():
    gc.collect()
    with plimsoll.budget(_torch.anonymous() + 200 * MIB):
        taken = np.ones(15 * MIB)  # 120 MiB
        time.sleep(0.2)
        del taken
        with pytest.raises(plimsoll.BudgetExceeded):
            torch.zeros(30 * MIB)
        settle()
        torch.zeros(30 * MIB)


def test_what_planning_tried_does_not_count_while_the_first_blocks_run(monkeypatch):
    """malloc keeps the small tensors of model and optimizer that were tried, 30 MiB here."""
    measured = []
    outside = _torch.outside

    def planned(*arguments):
        monkeypatch.setattr(_torch, "outside", lambda: measured.append(outside()) or measured[-1])
        room = plan_blocks(*arguments)
        _torch.outside()
        return room

    class Deep(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.classifier, self.more = classifier(), torch.nn.ModuleList(torch.nn.Linear(200, 200) for _ in range(60))

        def forward(self, x, edge_index, batch, batch_size):
            unused = sum(layer.weight[0, 0] for layer in self.more)
            return self.classifier(x, edge_index, batch, batch_size) + 0 * unused

    monkeypatch.setattr("plimsoll._fit.training.plan_blocks", planned)
    fitted(model=Deep(), epochs=1)
    in_plan, after = measured
    assert after - in_plan < MIB


def test_memory_for_a_block_that_was_not_run_is_estimated():
    """From how much more the memory of those that were is than what they take at once."""
    needs = Needs(Trial(classifier(), torch.optim.Adam, by_names, F.cross_entropy))
    needs.run_parts(Batch.from_data_list(made_up(40)))
    batch = Batch.from_data_list(made_up(400))
    worst = needs.of(size_of(batch))
    assert not worst.run
    estimated = _range(needs, worst)
    needs.run(batch)
    real = needs.tapes[size_of(batch)].recording.packed()
    assert 0.95 * real < estimated < 1.2 * real


class Greedy(torch.optim.SGD):
    """Takes 16 MiB while it steps."""

    def step(self, closure=None):
        torch.zeros(4 * MIB)
        return super().step(closure)


def large_blocks():
    return [Data(x=graph.x.repeat(40, 1), edge_index=graph.edge_index, y=graph.y) for graph in made_up(64)]


def test_memory_of_blocks_leaves_room_for_the_optimizer():
    """Where either would fit, but not both."""
    model = classifier("GATv2")
    options = {"batch_size": 64, "block": BlockLimits(64, 10**6, 10**6)}
    run = plimsoll.fit(model, large_blocks(), optimizer=Greedy(model.parameters(), 1e-2), **options)
    gc.collect()
    again = plimsoll.fit(model, large_blocks(), optimizer=Greedy(model.parameters(), 1e-2), budget=run.smallest_budget + 14 * MIB, **options)
    assert again.reruns == 0


def test_memory_of_blocks_gives_way(monkeypatch):
    """To the optimizer, whose step would leave some weights as they were if it ended in the middle, and to a batch."""
    model, _ = fitted()
    kept = []
    close = Steps.close
    monkeypatch.setattr(Steps, "close", lambda steps: kept.append(steps._memory) or close(steps))
    monkeypatch.setattr("plimsoll._fit.training.plan_blocks", lambda *_: Room(1, 1 << 50))
    assert torch.equal(weights(model), weights(fitted()[0]))

    load, refused = BlockList.load, []

    def once(blocks, graphs):
        if len(graphs) == 8 and not refused:
            refused.append(True)
            raise plimsoll.BudgetExceeded("refused")
        return load(blocks, graphs)

    def then_refuse(*arguments):
        shares = try_split(*arguments)
        monkeypatch.setattr(BlockList, "load", once)
        return shares

    monkeypatch.setattr("plimsoll._fit.training.plan_blocks", lambda *_: Room(1))
    monkeypatch.setattr("plimsoll._fit.training.try_split", then_refuse)
    assert torch.equal(weights(model), weights(fitted()[0]))
    assert refused and kept == [None, None]
