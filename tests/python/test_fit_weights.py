"""plimsoll.fit of losses that are a mean over other items than the rows of y."""

import copy

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, made_up, weights  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402
from torch_geometric.nn import GCNConv  # noqa: E402

from plimsoll._fit.blocks import BlockLimits  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


def masked_graphs():
    graphs = made_up()
    for i, graph in enumerate(graphs):
        graph.x = graph.x.double()
        graph.y = torch.arange(graph.num_nodes) % 3
        graph.train_mask = torch.arange(graph.num_nodes) < 1 + i % 5
    return graphs


class InForward(torch.nn.Module):
    """Computes its loss itself, over the nodes of a mask."""

    def __init__(self, reduction="mean"):
        super().__init__()
        self.conv, self.reduction = GCNConv(5, 3), reduction

    def forward(self, x, edge_index, y, train_mask):
        return F.cross_entropy(self.conv(x, edge_index)[train_mask], y[train_mask], reduction=self.reduction)


class ByNodes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = GCNConv(5, 3)

    def forward(self, x, edge_index, train_mask):
        return self.conv(x, edge_index), train_mask


def given(out, y):
    return out


def summed_and_counted(out, y):
    logits, mask = out
    return F.cross_entropy(logits[mask], y[mask], reduction="sum"), int(mask.sum())


def masked(out, y):
    logits, mask = out
    return F.cross_entropy(logits[mask], y[mask])


def count(batch):
    return batch.train_mask.sum()


def by_whole_batches(model, graphs, loss, epochs=2):
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(epochs):
        for first in range(0, len(graphs), 32):
            batch = Batch.from_data_list(graphs[first : first + 32])
            optimizer.zero_grad()
            loss(by_names(model, batch), batch.y).backward()
            optimizer.step()
    return weights(model)


def fit(model, graphs, loss, **options):
    options = {"epochs": 2, "batch_size": 32, "block": BlockLimits(8), "shuffle": False} | options
    return plimsoll.fit(model, graphs, loss, torch.optim.Adam(model.parameters(), 1e-2), **options)


@pytest.mark.parametrize(
    "make, loss, whole, options",
    [
        (InForward, given, given, {"weights": count}),
        (ByNodes, masked, masked, {"weights": count}),
        (ByNodes, summed_and_counted, masked, {}),
    ],
    ids=["forward", "mask", "sum and count"],
)
def test_a_mean_over_a_mask(make, loss, whole, options):
    model = make().double()
    expected = by_whole_batches(copy.deepcopy(model), masked_graphs(), whole)
    run = fit(model, masked_graphs(), loss, **options)
    assert torch.allclose(weights(model), expected, rtol=1e-8, atol=1e-10)
    assert run.losses[1] < run.losses[0]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_loss_in_forward_needs_its_weights(reduction):
    model = InForward(reduction).double()
    before = weights(model)
    with pytest.raises(plimsoll.UsageError, match=r"weights=lambda batch"):
        fit(model, masked_graphs(), given)
    assert torch.equal(weights(model), before)


def missing(graphs, every):
    for i, graph in enumerate(graphs):
        graph.y = torch.tensor([float("nan") if i % every == every - 1 else float(i % 3)])
    return graphs


def labelled(out, y):
    is_labeled = y == y
    return F.mse_loss(out[is_labeled, 0], y[is_labeled])


def test_rare_missing_targets_are_tried():
    with pytest.raises(plimsoll.UsageError, match="cannot be computed block by block"):
        fit(classifier(), missing(made_up(300), 50), labelled)


def test_missing_targets_with_weights():
    graphs = missing(made_up(), 7)
    for graph in graphs:
        graph.x = graph.x.double()
    model = classifier().double()
    expected = by_whole_batches(copy.deepcopy(model).train(), graphs, labelled)
    fit(model, graphs, labelled, weights=lambda batch: (~batch.y.isnan()).sum())
    assert torch.allclose(weights(model), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"weights": lambda batch: -1}, "the result of weights: is -1.0"),
        ({"weights": lambda batch: float("nan")}, "the result of weights: is nan"),
        ({"weights": lambda batch: batch.train_mask}, r"weights returned a tensor of shape"),
        ({"weights": lambda batch: "many"}, "weights returned 'many'"),
        ({"weights": lambda batch: 1}, "weight of .* graphs is 1 but those of two parts add up to 2"),
        ({"weights": 3}, "weights: found 3, expected a function of a batch .*; give weights=lambda batch"),
        ({"weights": torch.ones(7)}, r"weights: found a tensor of shape \(7,\), expected a function .*; give .*CrossEntropyLoss\(weight="),
        ({"weights": lambda batch: 0}, "is 0 for every batch of epoch 0; expected .* above 0 for at least one batch"),
    ],
)
def test_bad_weights(options, text):
    with pytest.raises(plimsoll.UsageError, match=text):
        fit(InForward().double(), masked_graphs(), given, **options)


@pytest.mark.parametrize("labels", [2, -1])
def test_class_weights_of_the_wrong_length(labels):
    graphs = made_up(20)
    graphs[7].y = torch.tensor([labels])
    loss = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 5.0]))
    for graph in graphs[:7]:
        graph.y = torch.tensor([0])
    with pytest.raises(plimsoll.UsageError, match="weights of 2 classes, and y has the classes .* expected one weight per class"):
        fit(classifier(), graphs, loss)


def test_class_labels_of_one_byte():
    graphs = made_up()
    model = classifier()
    loss = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 5.0, 0.5]))
    found = []
    for kind in (torch.int64, torch.uint8):
        for graph in graphs:
            graph.y = graph.y.to(kind)
        copied = copy.deepcopy(model)
        fit(copied, graphs, loss, epochs=1)
        found.append(weights(copied))
    assert torch.equal(*found)


def test_outputs_of_bfloat16():
    model = classifier("GCN").bfloat16()
    graphs = made_up()
    for graph in graphs:
        graph.x = graph.x.bfloat16()
    run = fit(model, graphs, F.cross_entropy)
    assert run.losses[-1] < run.losses[0]


def test_an_output_of_training_alone():
    class Auxiliary(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = classifier("GCN")

        def forward(self, x, edge_index, batch, batch_size=None):
            out = self.body(x, edge_index, batch, int(batch.max()) + 1)
            return (out, out * 0.5) if self.training else out

    def loss(out, y):
        return F.cross_entropy(out[0], y) + 0.3 * F.cross_entropy(out[1], y)

    assert len(fit(Auxiliary(), made_up(), loss).losses) == 2
