"""Losses in plimsoll.fit: of blocks they are those of the whole batch."""

import copy
import functools

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, fitted, made_up, weights  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch, Data  # noqa: E402

from plimsoll._fit.blocks import BlockLimits  # noqa: E402
from plimsoll._fit.loss_shares import require_split, shares_of  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


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


def test_a_loss_that_is_no_number_ends_the_run():
    graphs = made_up()
    graphs[41].x[0] = float("nan")
    model = classifier()
    before = weights(model)
    with pytest.raises(plimsoll.Failure, match=r"loss of block \d of epoch 0, with the graphs .*41.* is nan"):
        fitted(graphs, model, batch_size=60, shuffle=False)
    assert torch.equal(weights(model), before) and all(p.grad is None for p in model.parameters())


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


@pytest.mark.parametrize("name", ["probabilities", "pos_weight"])
def test_targets_of_a_graph_set_are_those_of_a_list(name, tmp_path):
    """Its classes, which are in y, are not what the loss is given."""
    loss, kind = LOSSES[name]
    graphs = targets_of(kind, made_up())
    stored = [Data(**graph.to_dict(), graph_y=graph.y.argmax(1)) for graph in graphs]
    found = []
    for data in (graphs, plimsoll.from_pyg(stored, tmp_path / "graphs")):
        model = classifier()
        plimsoll.fit(model, data, loss, torch.optim.SGD(model.parameters(), 0.1), epochs=2, batch_size=32,
                     block=BlockLimits(7), shuffle=False)
        found.append(weights(model))
    assert torch.equal(*found)


def test_targets_of_which_none_counts_are_refused(tmp_path):
    graphs = made_up()
    for graph in graphs:
        graph.y = torch.tensor([-1])
    model = classifier()
    for data in (graphs, plimsoll.from_pyg(graphs, tmp_path / "graphs")):
        with pytest.raises(plimsoll.UsageError, match="none of the targets in y counts.* ignore_index=-1"):
            plimsoll.fit(model, data, torch.nn.CrossEntropyLoss(ignore_index=-1))


def over_pairs(out, y):
    near = torch.cdist(out, out)
    return (near * (y[:, None] == y[None, :])).mean()


def test_a_loss_over_pairs_is_found_though_all_graphs_give_nearly_the_same():
    """The loss is tiny then, and so is the error of taking it block by block."""
    graphs = made_up()
    model = classifier("GCN", graphs).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 0.1
    with pytest.raises(plimsoll.UsageError, match="cannot be computed block by block"):
        plimsoll.fit(model, graphs, lambda out, y: (out[:, :1] - out[:, 0]).square().mean(), block=plimsoll.BlockLimits(8),
                     forward=lambda model, batch: model(batch.x.double(), batch.edge_index, batch.batch, batch.num_graphs))


@pytest.mark.parametrize("loss", [over_pairs, lambda out, y: F.cross_entropy(out, y, weight=WEIGHT),
                                  lambda out, y: F.cross_entropy(out, y, reduction="sum")], ids=["pairs", "lambda", "sum"])
def test_a_loss_that_blocks_do_not_add_up_to_is_refused(loss):
    model = classifier()
    before = weights(model)
    with pytest.raises(plimsoll.UsageError, match="cannot be computed block by block"):
        plimsoll.fit(model, targets_of("classes", made_up()), loss, block=BlockLimits(8))
    assert torch.equal(weights(model), before)
    with pytest.raises(plimsoll.UsageError, match='reduction="none"'):
        plimsoll.fit(model, made_up(), torch.nn.CrossEntropyLoss(reduction="none"))


def test_a_loss_over_pairs_is_found_though_two_halves_add_up_by_chance():
    y = torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])
    out = torch.tensor([[1.0], [2.0], [3.0], [6.0], [0.0], [4.0], [3.0], [5.0]])  # Both halves have the mean 3.
    with pytest.raises(plimsoll.UsageError, match="cannot be computed block by block"):
        require_split(lambda out, y: (out - out.T).square().mean(), out, y, shares_of(torch.nn.functional.mse_loss))


def test_a_block_whose_weight_is_0_does_not_count_whatever_its_loss():
    """A mean over the labels of a block without any is 0 / 0."""
    graphs = made_up(24)
    for number, graph in enumerate(graphs):
        graph.y = torch.tensor([float("nan") if number % 4 == 1 else float(number % 5)], dtype=torch.float64)

    def forward(model, batch):
        return model(batch.x.double(), batch.edge_index, batch.batch, batch.num_graphs)[:, 0]

    def labelled(out, y):
        return (out - y)[y == y].square().mean()

    found = []
    for block in (1, 64):
        model = classifier("GCN", graphs).double()
        run = plimsoll.fit(model, graphs, labelled, weights=lambda batch: (batch.y == batch.y).sum(), forward=forward, batch_size=12,
                           block=BlockLimits(block), optimizer=lambda parameters: torch.optim.SGD(parameters, 0.01))
        found.append((run.losses, weights(model)))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-9)
    assert torch.allclose(found[0][1], found[1][1], rtol=1e-7, atol=1e-9)


def test_a_batch_without_a_target_makes_no_step():
    graphs = targets_of("classes", made_up(16))
    for graph in graphs[:8]:
        graph.y = torch.tensor([-100])
    found = []
    for data in (graphs, graphs[8:]):
        model = classifier()
        run = plimsoll.fit(model, data, batch_size=8, optimizer=torch.optim.SGD(model.parameters(), 1.0), shuffle=False)
        found.append((run.losses, weights(model).tolist()))
    assert found[0] == found[1]


def test_a_loss_with_parameters(threads):
    """Refused beside the model, where whether it trained would depend on the threads; a part of the model it trains."""

    class Tempered(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.temperature = torch.nn.Parameter(torch.ones(1))

        def forward(self, out, y, reduction="mean"):
            return F.cross_entropy(out * self.temperature, y, reduction=reduction)

    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model, self.loss = classifier(), Tempered()

        def forward(self, x, edge_index, batch, batch_size, y):
            return self.loss(self.model(x, edge_index, batch, batch_size), y, "none")

    model, loss = classifier(), Tempered()
    optimizer = torch.optim.SGD([*model.parameters(), *loss.parameters()], 0.1)
    with pytest.raises(plimsoll.UsageError, match="parameters that are not the model's.*take y"):
        plimsoll.fit(model, made_up(), loss, optimizer)
    trained = []
    for count in (1, 2):
        threads(count)
        model, _ = fitted(model=WithLoss(), loss=lambda out, y: out.mean())
        trained.append(model.loss.temperature.item())
    assert trained[0] == trained[1] != 1
