"""plimsoll.fit of models with batch norm: blocks train as whole batches do."""

import copy

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import made_up, weights  # noqa: E402
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402
from torch_geometric.nn import GINConv, global_add_pool, models  # noqa: E402

from plimsoll._fit.blocks import BlockLimits  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


class Head(torch.nn.Module):
    """Batch norm after pooling, where a block of one graph has one row."""

    def __init__(self, **norm):
        super().__init__()
        self.conv = GINConv(Sequential(Linear(5, 8), ReLU()))
        self.head = Sequential(Linear(8, 8), BatchNorm1d(8, **norm), ReLU(), Linear(8, 3))

    def forward(self, x, edge_index, batch):
        return self.head(global_add_pool(self.conv(x, edge_index), batch))


class Stack(torch.nn.Module):
    """Batch norm in every layer and after pooling, a residual connection, and one that is called twice."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.first, self.second = GINConv(Linear(5, 8)), GINConv(Linear(8, 8))
        self.norm, self.twice = BatchNorm1d(8, momentum=None), BatchNorm1d(8)
        self.head, self.dropout = Head(affine=False).head, dropout

    def forward(self, x, edge_index, batch):
        x = self.norm(self.first(x, edge_index)).relu()
        x = x + self.twice(self.second(x, edge_index)).tanh()
        x = F.dropout(self.twice(x), self.dropout, self.training)
        return self.head(global_add_pool(x, batch))


def pyg_body(name):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body = getattr(models, name)(5, 8, 3, norm="batch_norm")
            self.lin = Linear(8, 3)

        def forward(self, x, edge_index, batch):
            return self.lin(global_add_pool(self.body(x, edge_index), batch))

    return Model()


MODELS = {
    "head": Head,
    "stack": Stack,
    "untracked": lambda: Head(track_running_stats=False),
    "GIN": lambda: pyg_body("GIN"),
    "GraphSAGE": lambda: pyg_body("GraphSAGE"),
}


def graphs_in_double(count):
    graphs = made_up(count)
    for graph in graphs:
        graph.x = graph.x.double()
    return graphs


def by_whole_batches(model, graphs, batch_size, epochs=2):
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(epochs):
        for first in range(0, len(graphs), batch_size):
            batch = Batch.from_data_list(graphs[first : first + batch_size])
            optimizer.zero_grad()
            F.cross_entropy(by_names(model, batch), batch.y).backward()
            optimizer.step()
    return weights(model)


def fit(model, graphs, **options):
    options = {"epochs": 2, "batch_size": 32, "block": BlockLimits(8), "shuffle": False} | options
    return plimsoll.fit(model, graphs, optimizer=torch.optim.Adam(model.parameters(), 1e-2), **options)


@pytest.mark.parametrize("batch_size", [32, 33])
@pytest.mark.parametrize("name", MODELS)
def test_blocks_have_the_statistics_of_the_batch(name, batch_size):
    """Weights and running statistics; 33 graphs leave a block of one."""
    torch.manual_seed(5)
    model = MODELS[name]().double()
    graphs = graphs_in_double(60)
    expected = by_whole_batches(copy.deepcopy(model), graphs, batch_size)
    run = fit(model, graphs, batch_size=batch_size)
    assert torch.allclose(weights(model), expected, rtol=1e-7, atol=1e-9)
    assert run.batch_norm and not run.couples
    assert all("BatchNorm" in name for name in run.batch_norm)


def test_the_same_bits_for_every_budget_and_number_of_threads():
    found = []
    for threads, more in ((1, 4 << 20), (2, 4 << 20), (2, 400 << 20)):
        torch.set_num_threads(threads)
        torch.manual_seed(5)
        model = Stack(dropout=0.3)
        smallest = fit(copy.deepcopy(model), made_up()).smallest_budget
        fit(model, made_up(), budget=smallest + more)
        found.append(weights(model))
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])


def test_a_batch_in_one_block_is_torchs_own():
    torch.manual_seed(5)
    model = Stack()
    expected = by_whole_batches(copy.deepcopy(model), made_up(), 32)
    fit(model, made_up(), block=BlockLimits(64))
    assert torch.allclose(weights(model), expected, rtol=1e-4, atol=1e-6)


def test_a_batch_of_one_row_is_refused_before_it_trains():
    torch.manual_seed(5)
    model = Head()
    before = weights(model)
    with pytest.raises(plimsoll.UsageError, match="batch_size=20: 41 graphs leave a batch of one graph"):
        fit(model, made_up(41), batch_size=20, block=BlockLimits(64))
    assert torch.equal(weights(model), before)


def test_blocks_may_have_their_own_statistics():
    model = Stack()
    with pytest.warns(UserWarning, match=r"norm \(BatchNorm1d\).*at most 8 graphs"):
        run = fit(model, made_up(), couples="allow")
    assert run.batch_norm == [] and "norm (BatchNorm1d)" in run.couples


@pytest.mark.parametrize("options, reason", [({"lanes": 2}, "lanes=2")])
def test_where_batch_norm_cannot_run_in_passes(options, reason):
    with pytest.raises(plimsoll.UsageError, match=rf"norm \(BatchNorm1d\).*{reason}.*couples=\"allow\""):
        fit(Stack(), made_up(), **options)


def test_layers_that_a_block_leaves_out():
    class Skips(Head):
        def forward(self, x, edge_index, batch):
            x = self.conv(x, edge_index)
            return self.head[3](self.head[:3](global_add_pool(x, batch)) if torch.rand(()) < 0.5 else global_add_pool(x, batch))

    with pytest.raises(plimsoll.UsageError, match="expected the same calls in each block"):
        fit(Skips(), made_up(), epochs=8)
