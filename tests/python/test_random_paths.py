"""Plans of models that choose at random which of their layers run, as with stochastic depth."""

import random

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import fitted, made_up  # noqa: E402
from plimsoll import _torch  # noqa: E402
from plimsoll._fit.random_paths import extreme_draws  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402
from torch_geometric.nn import SAGEConv, SuperGATConv, global_mean_pool  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")

DRAWS = {
    "torch.rand": lambda: float(torch.rand(1)),
    "Tensor.uniform_": lambda: float(torch.empty(1).uniform_()),
    "torch.bernoulli": lambda: float(torch.bernoulli(torch.tensor(0.5))),
    "random.random": random.random,
    "numpy.random.rand": lambda: np.random.rand(),
}


class Deep(torch.nn.Module):
    """Each of its layers is left out with a probability of one half."""

    def __init__(self, draw, layers=6, width=32, mixed=False):
        super().__init__()
        torch.manual_seed(3)
        self.draw, self.mixed = draw, mixed
        self.first, self.head = torch.nn.Linear(5, width), torch.nn.Linear(width, 3)
        self.convs = torch.nn.ModuleList(SAGEConv(width, width) for _ in range(layers))

    def forward(self, x, edge_index, batch):
        x = self.first(x)
        for i, conv in enumerate(self.convs):
            drawn = self.draw() if self.training else 1.0
            if (drawn < 0.5) == (self.mixed and i % 2 == 1):
                x = x + conv(torch.nn.functional.dropout(x, 0.1, self.training), edge_index).relu()
        return self.head(global_mean_pool(x, batch))


def peak_of(model, batch, seed):
    """The most bytes that a step held at once besides the weights and the optimizer."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    outer, before = _torch.begin_peak(), _torch.held()
    torch.nn.functional.cross_entropy(model(batch.x, batch.edge_index, batch.batch), batch.y).backward()
    peak = _torch.peak() - before
    _torch.end_peak(outer)
    model.zero_grad(set_to_none=True)
    return peak


CASES = [*((draw, False) for draw in DRAWS), ("torch.rand", True)]


@pytest.mark.parametrize("draw, mixed", CASES)
def test_the_plan_is_a_bound_that_holds(draw, mixed):
    batch = Batch.from_data_list(made_up()[:20])
    model = Deep(DRAWS[draw], mixed=mixed)
    plan = plimsoll.plan(model, batch)
    assert plan.bound and not plan.exact and "a bound" in str(plan)
    measured = [peak_of(model, batch, seed) for seed in range(20)]
    assert max(measured) <= plan.step <= 3 * max(measured)


def test_a_plan_leaves_all_generators_as_they_were():
    model, batch = Deep(random.random), Batch.from_data_list(made_up()[:2])
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    plimsoll.plan(model, batch)
    assert torch.equal(before[0], torch.get_rng_state())
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before[1:]


def test_noise_alone_leaves_a_plan_exact():
    class Noisy(Deep):
        def forward(self, x, edge_index, batch):
            return super().forward(x + torch.rand_like(x), edge_index, batch)

    plan = plimsoll.plan(Noisy(lambda: 1.0), Batch.from_data_list(made_up()[:4]))
    assert plan.exact and not plan.bound


def test_fit_asks_for_no_more_than_a_model_whose_layers_all_run():
    graphs = made_up()[:16]
    planned = [
        fitted(graphs, Deep(draw, layers=3, width=256), epochs=1, batch_size=16)[1].planned for draw in (DRAWS["torch.rand"], lambda: 1.0)
    ]
    assert abs(planned[0] - planned[1]) < 2 << 20


@pytest.mark.parametrize("high", [False, True])
def test_extreme_draws(high):
    with extreme_draws(high):
        drawn = [torch.rand(3), torch.rand_like(torch.zeros(3, dtype=torch.float64)), torch.empty(3, dtype=torch.bfloat16).uniform_()]
        numbers = [random.random(), random.uniform(0, 1), np.random.rand(), np.random.uniform()]
        assert torch.bernoulli(torch.full((3,), 0.5)).tolist() == [float(high)] * 3
    for value in [*(float(tensor[0]) for tensor in drawn), *numbers]:
        assert 0.99 < value < 1 if high else value == 0


@pytest.mark.parametrize("draw", [lambda: float(torch.rand(1)), random.random, np.random.rand], ids=["torch", "random", "numpy"])
def test_a_model_that_draws_until_it_likes_a_number_is_planned(draw):
    class Picky(Deep):
        def forward(self, x, edge_index, batch):
            while not 0.4 < draw() < 0.6:
                pass
            return super().forward(x, edge_index, batch)

    plimsoll.fit(Picky(draw), made_up(32), batch_size=16)


def test_attention_over_sampled_negative_edges_is_planned():
    """Python's random.sample draws again until it has as many different edges as were asked for."""
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = SuperGATConv(5, 8, heads=2, concat=False)
            self.head = torch.nn.Linear(8, 3)

        def forward(self, x, edge_index, batch):
            return self.head(global_mean_pool(self.conv(x, edge_index, batch=batch), batch))

    plimsoll.fit(Net(), made_up(32), batch_size=16)
