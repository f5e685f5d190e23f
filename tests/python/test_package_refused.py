"""What a refusal leaves behind, and how a budget and the plan of fit go on after one."""

import gc
import time

import numpy as np
import pytest
from package_data import plimsoll
from test_package_fit import classifier, fitted, made_up

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402

import plimsoll._fit  # noqa: E402
from plimsoll import _torch  # noqa: E402
from plimsoll._apart import InOrder  # noqa: E402
from plimsoll._budget import settle  # noqa: E402
from plimsoll._fit_plan import _range, plan_blocks  # noqa: E402
from plimsoll.planner import Needs  # noqa: E402
from plimsoll.sizes import size_of  # noqa: E402
from plimsoll.steps import by_names  # noqa: E402
from plimsoll.trial import Trial  # noqa: E402

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


def test_nor_does_one_in_a_thread():
    with plimsoll.budget(_torch.anonymous() + 160 * MIB):
        before = _torch.held()
        blocks = InOrder(2)
        results = [result for _, result in blocks.run(range(6), lambda memory, item: refused_step())]
        assert all(isinstance(result, plimsoll.BudgetExceeded) for result in results) and _torch.held() - before < MIB
        blocks.close()


def test_a_budget_that_settled_forgets_the_last_second():
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
        workers = plan_blocks(*arguments)
        _torch.outside()
        return workers

    class Deep(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.classifier, self.more = classifier(), torch.nn.ModuleList(torch.nn.Linear(200, 200) for _ in range(60))

        def forward(self, x, edge_index, batch, batch_size):
            unused = sum(layer.weight[0, 0] for layer in self.more)
            return self.classifier(x, edge_index, batch, batch_size) + 0 * unused

    monkeypatch.setattr(plimsoll._fit, "plan_blocks", planned)
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
