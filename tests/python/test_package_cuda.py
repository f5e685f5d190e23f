"""plimsoll.budget and plimsoll.fit on a GPU, and on its stand-in, whose tensors are those that the CPU makes."""

import functools
import re
import sys

import pytest
from package_data import plimsoll, python

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, made_up, weights  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402

import plimsoll.nn  # noqa: E402
from plimsoll import _torch  # noqa: E402
from plimsoll._fit import device as of_process  # noqa: E402
from plimsoll._fit.blocks import BlockLimits, BlockList  # noqa: E402

MIB, GIB = 1 << 20, 1 << 30
ROOMY = {"cuda": "2GiB", "stand_in": 256 * MIB}
no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device for torch")
opened = {}


@pytest.fixture(params=["stand_in", pytest.param("cuda", marks=no_gpu)])
def gpu(request, monkeypatch):
    """The device, with a roomy budget and no tensors; its `torch` is where tensors are made."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(of_process, "_open", opened.get(request.param))
    if request.param == "stand_in" and of_process._open is None:
        of_process._open = _torch.stand_in(512 * MIB, MIB)
    # What a test that failed holds there is not for the next one.
    sys.last_exc = sys.last_value = sys.last_traceback = None
    device = of_process.device_of("cuda", ROOMY[request.param])
    opened[request.param] = device
    yield device
    torch.set_num_threads(before)


# Adam makes steps as large of gradients that are nothing but rounding.
SGD = functools.partial(torch.optim.SGD, lr=0.1)


def fitted(model=None, loss=F.cross_entropy, optimizer=functools.partial(torch.optim.Adam, lr=1e-2), device="cuda", **options):
    model = model or classifier(dropout=0.3)
    options = {"epochs": 2, "batch_size": 32, "block": BlockLimits(8)} | options
    return model, plimsoll.fit(model, made_up(), loss, optimizer, device=device, **options)


def test_same_bits_for_every_budget_down_to_the_smallest(gpu):
    model, run = fitted()
    assert run.losses[1] < run.losses[0]
    assert run.device_peak <= run.device_planned <= run.device_smallest_budget
    for budget in (run.device_smallest_budget, run.device_smallest_budget + 3 * MIB):
        torch.manual_seed(budget % 1000)
        other, again = fitted(device_budget=budget)
        assert torch.equal(weights(model), weights(other)) and again.losses == run.losses
        assert again.device_peak <= budget == gpu.budget
        assert gpu.held is None or gpu.held <= budget + 2 * gpu.unit  # kernels that torch loads late
    assert next(model.parameters()).device.type == "cpu" and next(model.parameters()).grad is None


def test_below_the_smallest_is_refused(gpu):
    model = classifier()
    smallest = fitted(model)[1].device_smallest_budget
    before = weights(model)
    with pytest.raises(plimsoll.BudgetExceeded, match="smallest device budget that works is") as refused:
        fitted(model, device_budget=smallest - 3 * gpu.unit)  # two are for kernels that are loaded later
    named = int(re.search(r"works is (\d+) bytes", str(refused.value))[1])
    assert abs(named - smallest) <= (0 if gpu.torch == "cpu" else 4 * MIB)  # of kernels that were loaded since
    assert torch.equal(weights(model), before)


def test_far_below_the_smallest(gpu):
    """Where the largest block cannot be tried, nor a product of matrices."""
    tensors = fitted(epochs=1)[1].device_smallest_budget - gpu.context
    for part in (0.8, 0.6, 0.2, 0.02):  # on a GPU 0.9 is above the need, without kernels that are loaded later
        with pytest.raises(plimsoll.BudgetExceeded):
            fitted(epochs=1, device_budget=gpu.context + max(int(part * tensors), gpu.unit))


def test_as_on_the_cpu(gpu):
    on_gpu, run = fitted(classifier(), optimizer=SGD)
    on_cpu, expected = fitted(classifier(), optimizer=SGD, device="cpu")
    assert run.losses == pytest.approx(expected.losses, rel=1e-4)
    assert torch.allclose(weights(on_gpu), weights(on_cpu), atol=1e-4)
    if gpu.torch == "cpu":
        assert torch.equal(weights(on_gpu), weights(on_cpu))


def test_as_pytorch_geometric_there(gpu):
    """A loop of PyTorch Geometric, with its tensors on the device and whole batches."""
    model, run = fitted(classifier(), optimizer=SGD)
    with plimsoll.budget(device="cuda") as memory:
        by_hand = classifier().to(gpu.torch)
        optimizer = SGD(by_hand.parameters())
        order = BlockList(made_up(), 32, BlockLimits(8), 0, True)
        for epoch in range(2):
            for blocks in order.batches(epoch):
                graphs = [graph for block in blocks for graph in block.graphs]
                batch = order.load(graphs).to(gpu.torch)
                optimizer.zero_grad()
                F.cross_entropy(by_hand(batch.x, batch.edge_index, batch.batch, batch.num_graphs), batch.y).backward()
                optimizer.step()
        assert torch.allclose(weights(model), weights(by_hand), atol=1e-4)
        del by_hand, optimizer, batch
    assert 0 < memory.peak < memory.bytes == gpu.budget


@pytest.mark.parametrize("kind", ["GATConv", "GATv2Conv", "SAGEConv", "GCNConv", "GINConv"])
def test_replaced_layers(gpu, kind):
    body = {"GATConv": "GAT", "GATv2Conv": "GATv2", "SAGEConv": "SAGE", "GCNConv": "GCN", "GINConv": "GIN"}[kind]
    plain, _ = fitted(classifier(body), optimizer=SGD)
    model = classifier(body)
    assert kind in str(plimsoll.nn.replace(model))
    replaced, run = fitted(model, optimizer=SGD)
    assert torch.allclose(weights(plain), weights(replaced), atol=1e-4)
    again, _ = fitted(_replaced(body), optimizer=SGD, device_budget=run.device_smallest_budget)
    assert torch.equal(weights(again), weights(replaced))


def _replaced(body):
    model = classifier(body)
    plimsoll.nn.replace(model)
    return model


def test_buffers_come_back(gpu):
    with pytest.warns(UserWarning, match="BatchNorm"):
        on_gpu, _ = fitted(classifier(norm="BatchNorm"), optimizer=SGD, couples="allow")
        on_cpu, _ = fitted(classifier(norm="BatchNorm"), optimizer=SGD, device="cpu", couples="allow")
    buffers = dict(on_cpu.named_buffers())
    assert buffers and all(buffer.device.type == "cpu" for buffer in buffers.values())
    for name, buffer in on_gpu.named_buffers():
        assert torch.allclose(buffer.double(), buffers[name].double(), atol=1e-4), name


@pytest.mark.parametrize("make", [
    lambda weight: torch.nn.CrossEntropyLoss(weight=weight), lambda weight: functools.partial(F.cross_entropy, weight=weight)
])  # fmt: skip
def test_class_weights_go_with_the_blocks(gpu, make):
    weight = torch.tensor([1.0, 2.0, 3.0])
    on_gpu, _ = fitted(classifier(), make(weight), SGD)
    on_cpu, _ = fitted(classifier(), make(weight), SGD, device="cpu")
    assert torch.allclose(weights(on_gpu), weights(on_cpu), atol=1e-4)


@pytest.mark.parametrize("options", [
    {"weights": lambda batch: batch.num_graphs},
    {"loss": lambda out, y: (F.cross_entropy(out, y, reduction="sum"), len(y))},
])  # fmt: skip
def test_shares_that_are_known_late_are_refused_before_a_step(gpu, options):
    model = classifier()
    before = weights(model)
    with pytest.raises(plimsoll.UsageError, match='a sum and a count, work only on the CPU.*device="cuda"'):
        fitted(model, **options)
    assert torch.equal(weights(model), before)


class Greedy(torch.optim.SGD):
    """Takes 16 MiB of the host while it steps."""

    def step(self, closure=None):
        torch.zeros(4 * MIB)
        return super().step(closure)


def test_the_step_of_the_optimizer_is_planned(gpu):
    options = {"optimizer": functools.partial(Greedy, lr=0.1), "epochs": 1}
    run = fitted(**options)[1]
    assert fitted(budget=run.smallest_budget, **options)[1].losses == run.losses


def test_a_model_is_whole_after_an_interrupt(gpu):
    model = classifier(norm="BatchNorm")
    tensors = [*model.parameters(), *model.buffers()]
    places, calls = [tensor.data_ptr() for tensor in tensors], []

    def forward(of, batch):
        calls.append(of is model)
        if sum(calls) == 3:
            raise KeyboardInterrupt
        return of(batch.x, batch.edge_index, batch.batch, batch.num_graphs)

    with pytest.warns(UserWarning, match="BatchNorm"), pytest.raises(KeyboardInterrupt):
        fitted(model, forward=forward, couples="allow")
    assert [tensor.data_ptr() for tensor in tensors] == places
    assert all(tensor.grad is None and torch.isfinite(tensor).all() for tensor in tensors)


def test_hooks_of_parameters_run(gpu):
    model = classifier()
    seen = []
    model.lin.weight.register_hook(lambda gradient: seen.append(gradient.device.type))
    fitted(model, epochs=1)
    assert set(seen) == {torch.device(gpu.torch).type}


def test_a_tensor_beyond_the_budget_is_refused(gpu):
    with plimsoll.budget(device="cuda") as memory:
        kept = torch.ones(MIB, device=gpu.torch)
        with pytest.raises(plimsoll.BudgetExceeded, match="larger device budget") as refused:
            torch.empty(memory.bytes, dtype=torch.uint8, device=gpu.torch)
        assert refused.value.tag == "device" and refused.value.bytes_asked == memory.bytes
        assert 0 < refused.value.bytes_free < memory.bytes
        assert kept.sum() == MIB
        # In a backward pass, which wants a cosine and a product beside it.
        leaf = torch.ones((memory.bytes - gpu.context) // 10, device=gpu.torch, requires_grad=True)
        total = leaf.sin().sum()
        with pytest.raises(MemoryError):
            total.backward()
        del leaf, total
    assert memory.peak >= 4 * MIB


def test_another_budget_only_without_tensors(gpu):
    smaller = gpu.budget - 32 * MIB
    with plimsoll.budget(device="cuda"):
        kept = torch.ones(MIB, device=gpu.torch)
        with pytest.raises(plimsoll.UsageError, match="while tensors hold 4 MiB"):
            plimsoll.budget(smaller, device="cuda").__enter__()
        del kept
    with plimsoll.budget(smaller, device="cuda") as memory:
        assert memory.bytes == smaller == gpu.budget
    with pytest.raises(plimsoll.BudgetExceeded, match="raise the device budget"):
        plimsoll.budget(1000, device="cuda").__enter__()
    assert gpu.budget == smaller


@pytest.mark.parametrize("body", ["GAT", "SAGE"])
def test_a_loop_works_with_the_budget_that_was_planned(gpu, body):
    loader = DataLoader(made_up(), batch_size=20)
    plan = plimsoll.plan(classifier(body), loader, device="cuda")
    assert plan.fits and plan.budget == gpu.budget and "peak of the device" in str(plan)
    assert plan.outside >= gpu.context and plan.parameters > 0 and plan.optimizer > plan.parameters
    with plimsoll.budget(plan.smallest_budget, device="cuda") as memory:
        model = classifier(body).to(gpu.torch)
        optimizer = torch.optim.Adam(model.parameters())
        for batch in loader:
            batch = batch.to(gpu.torch)
            optimizer.zero_grad()
            F.cross_entropy(model(batch.x, batch.edge_index, batch.batch, batch.num_graphs), batch.y).backward()
            optimizer.step()
        del model, optimizer, batch
    assert 0.9 * plan.tensors <= memory.peak <= plan.tensors + plan.outside - gpu.context + plan.between


def test_arguments(gpu):
    with plimsoll.budget("8GiB", device=torch.device("cpu")):  # what CUDA holds of the host lies in it, too
        fitted(device=torch.device("cpu"), epochs=1)
    with pytest.raises(plimsoll.UsageError, match="expected 'cpu', 'cuda' or 'cuda:N'"):
        fitted(device="auto")
    with pytest.raises(plimsoll.UsageError, match="cuda"):
        fitted(device="cpu", device_budget="1GiB")
    with pytest.raises(plimsoll.UsageError, match="compiled"):
        model = classifier()
        model.compile()
        fitted(model)
    with pytest.raises(plimsoll.UsageError, match="the loss has parameters of the model"):
        model = classifier()
        model.loss = torch.nn.Sequential(torch.nn.Linear(3, 3))
        fitted(model, model.loss)


@no_gpu
def test_on_a_gpu_that_torch_has_already():
    said = python("""
import plimsoll, torch
torch.ones(1, device="cuda")
try:
    with plimsoll.budget("2GiB", device="cuda"): pass
except plimsoll.UsageError as error:
    print(error)
""")
    assert "before the first tensor" in said


@no_gpu
def test_nothing_is_taken_beyond_the_budget():
    """From the first tensor to the last, by what the driver says."""
    said = python("""
import plimsoll, torch
with plimsoll.budget("2GiB", device="cuda") as memory:
    from plimsoll._fit import device
    free = torch.cuda.mem_get_info()[0]
    a = torch.randn(4000, 4000, device="cuda", requires_grad=True)
    for _ in range(3):
        (a @ a).relu().sum().backward()
    print(memory.bytes, device._open.held, free - torch.cuda.mem_get_info()[0])
""")
    budget, held, more = said.split()
    assert budget == str(2 * GIB) and (held == "None" or int(held) <= 2 * GIB + 32 * MIB)
    assert int(more) <= 32 * MIB  # kernels that torch loaded
