"""Blocks of plimsoll.fit in several threads: the same bits, and which models run so."""

import copy
import random
import tracemalloc

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from pyg_models import Classifier, make_body  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from torch_geometric.data import Data  # noqa: E402

from plimsoll import _operators  # noqa: E402

_operators.load()
from plimsoll._fit.apart import Apart, _state, drawing, runs_apart  # noqa: E402
from plimsoll._fit.blocks import BlockLimits, BlockList  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402

CROSS_ENTROPY = torch.nn.functional.cross_entropy


def made_up(count=48):
    generator = torch.Generator().manual_seed(3)
    return [
        Data(
            x=torch.randn(6 + i % 7, 5, generator=generator) + i % 3,
            edge_index=torch.randint(6, (2, 15 + i % 11), generator=generator),
            y=torch.tensor([i % 3]),
        )
        for i in range(count)
    ]


def classifier(body="GAT", **options):
    torch.manual_seed(5)
    return Classifier(make_body(body, 5, made_up(), width=16, layers=2, **options), 3)


def apart(model, forward=by_names):
    return runs_apart(model, BlockList(made_up(), 32, BlockLimits(8), 0, True).load([0, 1, 2]), forward, CROSS_ENTROPY)


def fitted(model, dataset=None, **options):
    model = copy.deepcopy(model)
    run = plimsoll.fit(model, dataset or made_up(), optimizer=torch.optim.Adam(model.parameters(), 1e-2), epochs=2, batch_size=32,
                       block=BlockLimits(8), **options)  # fmt: skip
    return run, torch.cat([value.detach().flatten() for value in model.state_dict().values()])


@pytest.mark.parametrize("lanes", [1, 2])
def test_the_same_bits_for_any_threads(threads, lanes):
    model = classifier(dropout=0.3)
    alone, weights = fitted(model, lanes=lanes)
    assert alone.workers == 1
    for count in (2, 3):
        threads(count)
        run, again = fitted(model, lanes=lanes)
        assert run.workers == count and torch.get_num_threads() == count
        assert torch.equal(weights, again) and run.losses == alone.losses
    small, again = fitted(model, lanes=lanes, budget=run.smallest_budget + (1 << 20))
    assert small.workers < 3 and torch.equal(weights, again)


def test_a_refused_block_runs_again_alone(threads):
    """Whichever thread had it, the same weights."""

    class Refuses(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, x, edge_index, batch, batch_size):
            out = self.model(x, edge_index, batch, batch_size)
            if next(refusals, False):
                raise plimsoll.BudgetExceeded("refused")
            return out

    model = classifier(dropout=0.3)
    _, weights = fitted(model)
    threads(2)
    refusals = iter(())
    wrapped = Refuses(copy.deepcopy(model))

    def start(epoch, loss):
        nonlocal refusals
        refusals = iter([False, True, False])

    run, again = fitted(wrapped, on_epoch=start)
    assert run.workers == 2 and run.reruns == 1 and torch.equal(weights, again)


def test_an_error_in_a_thread_ends_the_run(threads):
    threads(2)
    armed = False

    def forward(model, batch):
        if armed:
            raise ArithmeticError("in a block")
        return by_names(model, batch)

    def arm(epoch, loss):
        nonlocal armed
        armed = True

    with pytest.raises(ArithmeticError, match="in a block"):
        fitted(classifier(), forward=forward, on_epoch=arm)
    assert torch.get_num_threads() == 2


def test_which_models_run_at_once():
    assert apart(classifier(dropout=0.3)) == Apart(True, True)
    assert apart(classifier(norm="BatchNorm")) == Apart(True, False)

    class Keeps(Classifier):
        def forward(self, x, edge_index, batch, batch_size):
            self.last = super().forward(x, edge_index, batch, batch_size)
            return self.last

    assert apart(Keeps(make_body("GAT", 5, made_up(), width=16, layers=2), 3)) == Apart(True, False)
    class Changes(Classifier):
        def __init__(self, change):
            super().__init__(make_body("GAT", 5, made_up(), width=16, layers=2), 3)
            self.change, self.scale, self.counts = change, torch.zeros(1), {"calls": [0]}
            self.numbers, self.every_other = np.zeros(3), np.zeros((6, 4), order="F")[::2]
            self.generator, self.of_torch = np.random.default_rng(0), torch.Generator().manual_seed(0)

        def forward(self, x, edge_index, batch, batch_size):
            with torch.no_grad():
                self.change(self)
            return super().forward(x, edge_index, batch, batch_size)

    assert apart(Changes(lambda model: None)) == Apart(True, True)
    for change in (
        lambda model: model.scale.mul_(0.9),
        lambda model: model.scale.data.add_(1),
        lambda model: model.lin.weight.clamp_(-1, 1),
        lambda model: model.lin.weight.data.add_(1),
        lambda model: model.counts["calls"].__setitem__(0, model.counts["calls"][0] + 1),
        lambda model: model.numbers.__iadd__(1),
        lambda model: model.every_other[2].__iadd__(1),
        lambda model: model.generator.random(),
        lambda model: torch.rand(1, generator=model.of_torch),
        lambda model: random.random(),
        lambda model: np.random.rand(),
    ):
        assert apart(Changes(change)) == Apart(True, False)
    hooked = classifier()
    hooked.register_forward_hook(lambda *_: None)
    assert apart(hooked) == Apart(True, False)

    def checkpointed(model, batch):
        return checkpoint(by_names, model, batch, use_reentrant=False)

    assert apart(classifier(dropout=0.3), checkpointed) == Apart()
    assert apart(torch.compile(classifier(), backend="eager")) == Apart()

    def seeds(model, batch):
        torch.manual_seed(0)
        return by_names(model, batch)

    assert apart(classifier(), seeds) == Apart()
    with torch.autocast("cpu", torch.bfloat16):
        assert apart(classifier()) == Apart(True, False)


def test_draws_of_python_and_numpy_are_seeded(threads):
    """By block, in models and in data sets: the same weights for all budgets, whatever was drawn before."""

    class Scales(Classifier):
        def forward(self, x, edge_index, batch, batch_size):
            return super().forward(x * random.uniform(0.5, 1.5) * np.random.uniform(0.5, 1.5), edge_index, batch, batch_size)

    class Turned(list):
        def __getitem__(self, i):
            data = super().__getitem__(i)
            return Data(x=data.x * random.choice([-1, 1]) + np.random.rand(), edge_index=data.edge_index, y=data.y)

    threads(2)
    for model, dataset, workers in ((Scales(classifier().body, 3), made_up(), 1), (classifier(), Turned(made_up()), 2)):
        run, weights = fitted(model, dataset)
        assert run.workers == workers
        random.seed(1)
        np.random.seed(1)
        before = random.getstate(), np.random.get_state()[1].tolist()
        other, again = fitted(model, dataset, budget=run.smallest_budget + (1 << 20))
        assert torch.equal(weights, again) and other.losses == run.losses
        assert (random.getstate(), np.random.get_state()[1].tolist()) == before


def test_on_epoch_draws_on_from_the_callers_draws(threads):
    """What it draws changes no weight, and is not undone."""

    def draws():
        return [torch.rand(1).item(), random.random(), np.random.rand()]

    def seed():
        torch.manual_seed(1), random.seed(1), np.random.seed(1)

    seed()
    expected = [draws() for _ in range(3)]
    for model in (classifier(dropout=0.3), classifier(dropout=0.3, norm="BatchNorm")):
        _, weights = fitted(model)
        seed()
        drawn = []
        _, again = fitted(model, on_epoch=lambda *_: drawn.append(draws()))
        assert [*drawn, draws()] == expected and torch.equal(weights, again)


def test_looking_at_arrays_takes_no_memory():
    """NumPy's, which the ledger does not have, and lists however long."""
    array = np.zeros((2048, 1024))
    tracemalloc.start()
    for value in (array, array[:, ::2], array.T, list(range(10**6)), np.zeros(3, "M8[s]"), np.array([{}]), np.zeros(())):
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        assert _state(value) == _state(value)
        assert tracemalloc.get_traced_memory()[1] - before < 2 << 20
    tracemalloc.stop()


def test_draws_follow_from_the_seed_of_the_thread():
    def draws():
        x = torch.ones(40, 3)
        return [torch.rand(3), torch.randn(2), torch.randint(9, (4,)), torch.randperm(7), torch.bernoulli(x / 2),
                torch.multinomial(torch.ones(9), 3), x.clone().uniform_(), torch.nn.functional.dropout(x, 0.5),
                torch.nn.functional.dropout(x.double(), 0.5), torch.nn.functional.dropout(x, 0.5, training=False)]  # fmt: skip

    state = torch.get_rng_state()
    with drawing(7):
        one = draws()
    with drawing(8), drawing(7):
        two = draws()
    with drawing(8):
        other = draws()
    assert torch.equal(torch.get_rng_state(), state)
    assert all(map(torch.equal, one, two)) and not any(map(torch.equal, one[:-1], other[:-1]))
    torch.manual_seed(7)
    assert torch.equal(torch.rand(3), one[0])  # torch's own numbers, but for dropout


def test_dropout_in_a_block():
    x = torch.randn(300, 7, dtype=torch.float32, requires_grad=True)
    with drawing(3):
        out = torch.nn.functional.dropout(x, 0.25)
    out.sum().backward()
    kept = out != 0
    assert abs(float(kept.double().mean()) - 0.75) < 0.05
    torch.testing.assert_close(out[kept], x[kept] / 0.75)
    torch.testing.assert_close(x.grad, kept / 0.75)
