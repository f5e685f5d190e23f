"""plimsoll.fit with a sampler against training by hand on the batches of torch's DataLoader."""

import re

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, made_up, weights  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils.data import SubsetRandomSampler, WeightedRandomSampler  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402


def forward(model, batch):
    return model(batch.x.double(), batch.edge_index, batch.batch, batch.num_graphs)


def fit(model, graphs, sampler, **options):
    options = {"optimizer": lambda parameters: torch.optim.SGD(parameters, 0.1), "epochs": 2, "batch_size": 32} | options
    return plimsoll.fit(model, graphs, sampler=sampler, forward=forward, block=plimsoll.BlockLimits(8), **options)


def by_hand(graphs, orders):
    model = classifier("GCN", graphs).double()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for order in orders:
        for first in range(0, len(order), 32):
            batch = Batch.from_data_list([graphs[i] for i in order[first : first + 32]])
            optimizer.zero_grad()
            F.cross_entropy(forward(model, batch), batch.y).backward()
            optimizer.step()
    return weights(model)


def weighted(graphs):
    return WeightedRandomSampler([1.0 + i % 3 for i in range(len(graphs))], 70, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("start", [0, 1])
def test_a_sampler_with_its_own_generator_trains_its_batches(start):
    graphs = made_up()
    orders = [list(order) for sampler in [weighted(graphs)] for order in (sampler, sampler)]
    assert len(set(orders[0])) < 70  # Some graphs are repeated.
    model, sampler = classifier("GCN", graphs).double(), weighted(graphs)
    if start:  # Two calls of one epoch train as one call of two.
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        fit(model, graphs, sampler, optimizer=optimizer, epochs=1)
        fit(model, graphs, sampler, optimizer=optimizer, epochs=2, start_epoch=1)
    else:
        run = fit(model, graphs, sampler)
        assert len(run.losses) == 2
    assert torch.allclose(weights(model), by_hand(graphs, orders), rtol=1e-6, atol=1e-8)


def test_a_list_is_trained_in_its_order_every_epoch():
    graphs, order = made_up(), [5, 3, 3, 40, 7]
    model = classifier("GCN", graphs).double()
    fit(model, graphs, order)
    assert torch.allclose(weights(model), by_hand(graphs, [order, order]), rtol=1e-6, atol=1e-8)


def test_a_sampler_without_a_generator_follows_from_the_seed():
    graphs = made_up()

    def trained(**options):
        model = classifier("GCN", graphs).double()
        fit(model, graphs, SubsetRandomSampler(range(40)), **options)
        return weights(model)

    torch.manual_seed(1)
    first = trained()
    torch.manual_seed(2)
    assert torch.equal(first, trained(budget="1GiB"))
    assert not torch.equal(first, trained(seed=9))


@pytest.mark.parametrize("sampler, text", [([1, 10_000], "10000"), ([], "returned no graphs"), ([[1, 2]], "returned"), (3, "expected a sampler")])
def test_what_is_no_order_is_refused(sampler, text):
    graphs = made_up()
    with pytest.raises(plimsoll.UsageError, match=text):
        fit(classifier("GCN", graphs).double(), graphs, sampler)


def test_a_refused_call_leaves_the_sampler_as_it_was():
    graphs = made_up()
    found = []
    for refused in (False, True):
        model, sampler = classifier("GCN", graphs).double(), weighted(graphs)
        budget = "2GiB"
        if refused:
            with pytest.raises(plimsoll.BudgetExceeded) as refusal:
                fit(model, graphs, sampler, budget="1MiB")
            budget = re.findall(r"smallest budget that works is ([0-9]+) MiB", str(refusal.value))[-1] + "MiB"
        fit(model, graphs, sampler, budget=budget)
        found.append(weights(model))
    assert torch.equal(*found)
