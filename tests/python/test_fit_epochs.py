"""plimsoll.fit in several calls, with hooks, and with parameters that are frozen and unfrozen."""

import copy

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, made_up, weights  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402
from torch_geometric.nn import global_add_pool  # noqa: E402

from plimsoll._fit.blocks import BlockLimits  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")

OPTIONS = {"batch_size": 32, "block": BlockLimits(8)}


def test_three_calls_of_one_epoch_are_one_call_of_three():
    graphs = made_up()
    one = classifier(dropout=0.3)
    several = copy.deepcopy(one)
    whole = plimsoll.fit(one, graphs, optimizer=torch.optim.Adam(one.parameters()), epochs=3, **OPTIONS)
    optimizer, losses = torch.optim.Adam(several.parameters()), []
    for epoch in range(3):
        run = plimsoll.fit(several, graphs, optimizer=optimizer, start_epoch=epoch, epochs=epoch + 1, **OPTIONS)
        losses += run.losses
    assert torch.equal(weights(one), weights(several)) and losses == whole.losses


@pytest.mark.parametrize("start, text", [(3, "start_epoch: is 3, expected less than epochs, which is 3"), (-1, "start_epoch=-1")])
def test_an_epoch_past_the_end(start, text):
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.fit(classifier(), made_up(), start_epoch=start, epochs=3)


def by_whole_batches(model, graphs):
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    model.train()
    for first in range(0, len(graphs), 32):
        batch = Batch.from_data_list(graphs[first : first + 32])
        optimizer.zero_grad()
        F.cross_entropy(model(batch.x, batch.edge_index, batch.batch, batch.num_graphs), batch.y).backward()
        optimizer.step()
    return weights(model)


def clamped(model, calls):
    def clamp(gradient):
        calls.append(1)
        return gradient.clamp(-0.001, 0.001)

    for parameter in model.parameters():
        parameter.register_hook(clamp)
    return model


def scaled_after(model, calls):
    def scale(parameter):
        calls.append(1)
        parameter.grad.mul_(0.5 / parameter.grad.norm().clamp_min(0.5))

    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(scale)
    return model


@pytest.mark.parametrize("with_hooks", [clamped, scaled_after])
def test_hooks_of_parameters_see_the_gradient_of_the_batch(with_hooks):
    graphs = made_up()
    for graph in graphs:
        graph.x = graph.x.double()
    start = classifier("GCN").double()
    expected = by_whole_batches(with_hooks(copy.deepcopy(start), []), graphs)
    calls = []
    model = with_hooks(start, calls)
    plimsoll.fit(model, graphs, optimizer=torch.optim.SGD(model.parameters(), 0.1), shuffle=False, **OPTIONS)
    assert torch.allclose(weights(model), expected, rtol=1e-9, atol=1e-12)
    assert len(calls) == 2 * len(list(model.parameters()))


def test_hooks_are_there_after_a_refusal():
    calls = []
    model = clamped(classifier(), calls)
    with pytest.raises(plimsoll.Failure, match="is nan"):
        plimsoll.fit(model, made_up(), lambda out, y: F.cross_entropy(out, y) * float("nan"), **OPTIONS)
    model(*[getattr(Batch.from_data_list(made_up(4)), name) for name in ("x", "edge_index", "batch", "num_graphs")]).sum().backward()
    assert calls


class Wide(torch.nn.Module):
    """Has 16 MiB of weights, so that sums of its gradients are larger than what the process holds by chance."""

    def __init__(self):
        super().__init__()
        self.into, self.wide, self.out = torch.nn.Linear(5, 2048), torch.nn.Linear(2048, 2048), torch.nn.Linear(2048, 3)

    def forward(self, x, batch, batch_size):
        return self.out(self.wide(global_add_pool(self.into(x), batch, batch_size)).relu())


def test_a_second_plan_has_the_memory_of_the_first():
    def budget(epochs):
        model = Wide()
        freeze = lambda *_: model.into.bias.requires_grad_(False)  # noqa: E731
        return plimsoll.fit(model, made_up(), optimizer=torch.optim.SGD(model.parameters(), 1e-3), epochs=epochs, on_epoch=freeze,
                            **OPTIONS).smallest_budget

    assert budget(2) <= budget(1) + (4 << 20)


def test_parameters_that_on_epoch_unfreezes_train_from_then_on():
    model = classifier("GCN")
    model.body.requires_grad_(False)
    start = copy.deepcopy(model.body.state_dict())
    seen = []

    def unfreeze(epoch, loss):
        seen.append(all(torch.equal(value, start[name]) for name, value in model.body.state_dict().items()))
        model.body.requires_grad_(epoch == 0)

    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    plimsoll.fit(model, made_up(), optimizer=optimizer, epochs=3, on_epoch=unfreeze, **OPTIONS)
    assert seen == [True, False, False]
    frozen = copy.deepcopy(model.body.state_dict())
    plimsoll.fit(model, made_up(), optimizer=optimizer, epochs=1, **OPTIONS)
    assert all(torch.equal(value, frozen[name]) for name, value in model.body.state_dict().items())


def test_a_model_without_anything_to_train():
    model = classifier()
    with pytest.raises(plimsoll.UsageError, match="every parameter of the model is frozen"):
        plimsoll.fit(model, made_up(), epochs=2, on_epoch=lambda *_: model.requires_grad_(False), **OPTIONS)


def test_progress_counts_graphs():
    seen = []
    plimsoll.fit(classifier(), made_up(), epochs=2, progress=lambda done, total: seen.append((done, total)), **OPTIONS)
    assert seen == [(32, 120), (60, 120), (92, 120), (120, 120)]


def test_a_run_prints_its_epochs():
    run = plimsoll.fit(classifier(), made_up(), epochs=2, **OPTIONS)
    lines = str(run).splitlines()
    assert lines[0].split() == ["epoch", "loss", "seconds"] and [line.split()[0] for line in lines[1:3]] == ["1", "2"]
    assert lines[3].startswith("memory of the process: planned")


@pytest.mark.parametrize("loader", [DataLoader, plimsoll.DataLoader])
def test_a_loader_is_answered(loader):
    with pytest.raises(plimsoll.UsageError, match=r"fit\(model, loader.dataset, batch_size="):
        plimsoll.fit(classifier(), loader(made_up(), batch_size=8))


@pytest.mark.parametrize(
    "loss, text",
    [
        (torch.nn.CrossEntropyLoss, r"loss is the class CrossEntropyLoss; expected an instance: loss=CrossEntropyLoss\(\)"),
        ("cross_entropy", "loss='cross_entropy': expected a function"),
    ],
)
def test_a_loss_that_is_no_function(loss, text):
    with pytest.raises(plimsoll.UsageError, match=text):
        plimsoll.fit(classifier(), made_up(), loss)


def test_fields_that_were_asked_for():
    class Follows(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = torch.nn.Linear(5, 3)

        def forward(self, x, x_batch, extra=None, size=None):
            assert extra is None and size is None
            return torch.zeros(int(x_batch.max()) + 1, 3).index_add(0, x_batch, self.lin(x))

    graphs = made_up()
    for graph in graphs:
        graph.extra = torch.ones(3)
    run = plimsoll.fit(Follows(), graphs, follow_batch=["x"], exclude_keys=["extra"], **OPTIONS)
    assert len(run.losses) == 1
