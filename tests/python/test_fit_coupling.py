"""What plimsoll.fit finds of modules that look at several graphs."""

import warnings

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, fitted, made_up  # noqa: E402
from torch.nn import Embedding, Linear  # noqa: E402
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.nn import GINConv, GraphNorm, GraphSizeNorm, LCMAggregation, LSTMAggregation, global_mean_pool  # noqa: E402
from torch_geometric.utils import degree  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


class Net(torch.nn.Module):
    """A convolution, `middle` on its nodes, and a mean over each graph."""

    def __init__(self, middle=None, features=5):
        super().__init__()
        self.conv, self.middle, self.head = GINConv(Linear(features, 8)), middle, Linear(8, 3)

    def forward(self, x, edge_index, batch):
        x = self.conv(x, edge_index)
        if self.middle is not None:
            x = self.middle(x)
        return self.head(global_mean_pool(x, batch))


class Centred(torch.nn.Module):
    def forward(self, x):
        return x - x.mean(0)


class Numbers(Net):
    """Integer features, as of molecules."""

    def __init__(self, middle):
        super().__init__(middle, 8)
        self.embedding = Embedding(4, 8)

    def forward(self, x, edge_index, batch):
        return super().forward(self.embedding(x[:, 0]), edge_index, batch)


class Degrees(Net):
    """Graphs without features."""

    def forward(self, edge_index, batch):
        return super().forward(degree(edge_index[1], len(batch)).view(-1, 1).expand(-1, 5), edge_index, batch)


class Gathered(Net):
    """Aggregates nodes by a recurrent layer, whose result depends on how far others are padded."""

    def __init__(self):
        super().__init__()
        self.gather = LSTMAggregation(8, 8)

    def forward(self, x, edge_index, batch):
        return self.head(self.gather(self.conv(x, edge_index), batch))


class Points(torch.nn.Module):
    """Points in space, which have no edges."""

    def __init__(self, middle):
        super().__init__()
        self.lin, self.middle, self.head = Linear(3, 8), middle, Linear(8, 3)

    def forward(self, pos, batch):
        return self.head(global_mean_pool(self.middle(self.lin(pos)), batch))


def points():
    return [Data(pos=torch.randn(6 + i % 7, 3, generator=torch.Generator().manual_seed(i)), y=torch.tensor([i % 3])) for i in range(60)]


class Tree(Gathered):
    """Aggregates nodes by a tree, whose depth follows from the largest graph of a batch."""

    def __init__(self):
        super().__init__()
        self.gather = LCMAggregation(8, 8, project=False)


def numbered():
    graphs = made_up()
    for graph in graphs:
        graph.x = (graph.x[:, :1] > 0).long() + 1
    return graphs


def without_features():
    graphs = made_up()
    for graph in graphs:
        graph.num_nodes, graph.x = graph.num_nodes, None
        del graph.x
    return graphs


COUPLED = {
    "mean of all nodes": (lambda: Net(Centred()), made_up, r"middle \(Centred\)"),
    "integer features": (lambda: Numbers(Centred()), numbered, r"middle \(Centred\)"),
    "no features": (lambda: Degrees(Centred()), without_features, r"middle \(Centred\)"),
    "size norm without batch": (lambda: Net(GraphSizeNorm()), made_up, r"middle \(GraphSizeNorm\)"),
    "graph norm without batch": (lambda: Net(GraphNorm(8)), made_up, r"middle \(GraphNorm\)"),
    "points without edges": (lambda: Points(Centred()), points, r"middle \(Centred\)"),
    "tree of calls": (Tree, made_up, r"gather \(LCMAggregation\)"),
    "recurrent aggregation": (Gathered, made_up, r"gather \(LSTMAggregation\)"),
}


@pytest.mark.parametrize("name", COUPLED)
def test_modules_that_mix_graphs_are_refused_by_name(name):
    model, graphs, text = COUPLED[name]
    with pytest.raises(plimsoll.UsageError, match=rf"{text}.*couples=\"allow\""):
        fitted(graphs(), model())
    with pytest.warns(UserWarning, match=text):
        _, run = fitted(graphs(), model(), couples="allow", epochs=1)
    assert len(run.couples) == 1


def test_batch_norm_of_points_without_edges_is_exact():
    model, run = fitted(points(), Points(torch.nn.BatchNorm1d(8)), epochs=1)
    assert run.batch_norm == ["middle (BatchNorm1d)"]


def test_a_block_of_the_whole_batch_may_mix_graphs():
    model, run = fitted(made_up(), Net(Centred()), batch_size=32, block=plimsoll.BlockLimits(32))
    assert run.couples == []


@pytest.mark.parametrize("body", ["GCN", "GIN", "SAGE", "GAT", "GATv2", "PNA"])
def test_models_that_look_at_one_graph_at_a_time(body):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted(model=classifier(body, dropout=0.3))[1].couples == []


def test_coupling_in_a_model_that_draws():
    class Noisy(Net):
        def forward(self, x, edge_index, batch):
            return super().forward(x + torch.randn_like(x) * 0.1, edge_index, batch)

    with pytest.raises(plimsoll.UsageError, match=r"middle \(Centred\)"):
        fitted(made_up(), Noisy(Centred()))
    assert fitted(made_up(), Noisy(torch.nn.Tanh()))[1].couples == []


def test_a_word_that_is_none_of_the_two():
    with pytest.raises(plimsoll.UsageError, match="couples='maybe'"):
        fitted(couples="maybe")
