"""What `fit` and `plan` read of a data set before they train, and the budget that their first refusal names."""

import re

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from fit_models import classifier, made_up
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from plimsoll._fit.block_steps import Steps

def large():
    torch.manual_seed(1)
    return [Data(x=torch.rand(800, 5) + i % 3, edge_index=torch.randint(800, (2, 4000)), y=torch.tensor([i % 3])) for i in range(12)]


def named(refusal):
    """The budget that a refusal says works."""
    return re.search(r"the smallest budget that works is (\d+ MiB)", str(refusal))[1].replace(" ", "")


@pytest.mark.parametrize("over", [None, 3])
def test_the_first_refusal_of_fit_names_a_budget_that_works(over):
    graphs = made_up(12) if over is None else large()

    def fit(budget):
        return plimsoll.fit(classifier(), graphs, batch_size=32, budget=budget, progress=lambda *_: None)

    budget = "1MiB"
    if over is not None:  # a budget with room for the process and for a part of what is tried
        with pytest.raises(plimsoll.BudgetExceeded, match="give more than") as refused, plimsoll.budget("1MiB"):
            pass
        least = re.search(r"give more than (\d+) MiB", str(refused.value))[1]
        budget = f"{int(least) + over}MiB"
    with pytest.raises(plimsoll.BudgetExceeded) as refused:
        fit(budget)
    run = fit(named(refused.value))
    assert len(run.losses) == 1 and run.peak_process <= plimsoll._core.parse_size(named(refused.value))


@pytest.mark.parametrize("batches", [lambda: DataLoader(made_up(20), 16, shuffle=True), lambda: plimsoll.DataLoader(large(), 8)])
def test_the_first_refusal_of_plan_names_a_budget_that_works(batches):
    with pytest.raises(plimsoll.BudgetExceeded, match="this process holds") as refused:
        plimsoll.plan(classifier(), batches(), budget="1MiB")
    plan = plimsoll.plan(classifier(), batches(), budget=named(refused.value))
    assert plan.fits


class Counting:
    """A data set that is no list, and counts."""

    def __init__(self, graphs):
        self.graphs, self.reads = graphs, 0

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, i):
        self.reads += 1
        return self.graphs[i]


@pytest.mark.parametrize("loss", [torch.nn.functional.cross_entropy, torch.nn.CrossEntropyLoss(torch.tensor([1.0, 2.0, 3.0]))],
                         ids=["plain", "weights"])
def test_a_data_set_is_read_at_most_twice_before_the_first_epoch(loss, monkeypatch):
    graphs, read = Counting(made_up(1000)), []
    epoch = Steps.epoch
    monkeypatch.setattr(Steps, "epoch", lambda steps, *given: read.append(graphs.reads) or epoch(steps, *given))
    run = plimsoll.fit(classifier(), graphs, loss, batch_size=100, progress=lambda *_: None)
    assert len(graphs) <= read[0] <= 2 * len(graphs) and graphs.reads == read[0] + len(graphs) and len(run.losses) == 1
