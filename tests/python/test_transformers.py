"""GPSConv and TransformerConv: plans are exact, and weights those of every budget."""

import copy

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Batch, Data  # noqa: E402
from torch_geometric.nn import GINConv, GPSConv, TransformerConv, global_mean_pool  # noqa: E402

from plimsoll import _operators  # noqa: E402

_operators.load()
from plimsoll._fit.planner import Needs  # noqa: E402
from plimsoll._fit.steps import by_names  # noqa: E402
from plimsoll._fit.trial import Trial  # noqa: E402
from plimsoll.data.sizes import size_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


class GPS(torch.nn.Module):
    def __init__(self, width=16, dropout=0.0):
        super().__init__()
        self.inputs = torch.nn.Linear(5, width)
        self.layers = torch.nn.ModuleList(
            GPSConv(width, GINConv(torch.nn.Linear(width, width)), heads=2, norm="layer_norm", dropout=dropout,
                    attn_kwargs={"dropout": dropout}) for _ in range(2))
        self.head = torch.nn.Linear(width, 3)

    def forward(self, x, edge_index, batch):
        x = self.inputs(x)
        for layer in self.layers:
            x = layer(x, edge_index, batch)
        return self.head(global_mean_pool(x, batch))


class Transformer(torch.nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.first = TransformerConv(5, 8, heads=2, dropout=dropout)
        self.second = TransformerConv(16, 8, heads=2, dropout=dropout)
        self.head = torch.nn.Linear(16, 3)

    def forward(self, x, edge_index, batch):
        return self.head(global_mean_pool(self.second(self.first(x, edge_index).relu(), edge_index).relu(), batch))


def made_up(count, seed=1, most=60):
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for i in range(count):
        nodes = 4 + int(torch.randint(most, (), generator=generator))
        graphs.append(Data(x=torch.randn(nodes, 5, generator=generator), y=torch.tensor([i % 3]),
                           edge_index=torch.randint(nodes, (2, 3 * nodes), generator=generator)))
    return graphs


def batches_of(graphs, size=8):
    return [Batch.from_data_list(graphs[i : i + size]) for i in range(0, len(graphs), size)]


@pytest.mark.parametrize("make", [GPS, Transformer])
@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_plan_is_exact(make, dropout):
    plan = plimsoll.plan(make(dropout=dropout), batches_of(made_up(64)))
    assert plan.exact and not plan.difference


def test_padded_graphs_are_known_without_running_them():
    """What a batch needs is worked out to the byte from others, also where the largest graph decides."""
    model = GPS()
    needs = Needs(Trial(model, torch.optim.Adam, by_names, torch.nn.functional.cross_entropy))
    for batch in batches_of(made_up(48)):
        needs.run_parts(batch)
    assert not needs.difference
    for seed in (2, 3):
        batch = batches_of(made_up(8, seed, most=100))[0]
        told = needs.of(size_of(batch))
        assert not told.run
        needs.run(batch)
        assert needs.of(size_of(batch)).bytes == told.bytes


def test_few_nodes_in_padded_graphs_need_more_than_many_in_even_ones():
    """One graph of 200 nodes among small ones is the worst batch, though others have more nodes."""
    even = made_up(8, most=1) * 8  # 64 graphs of 4 nodes
    odd = made_up(7, most=1) + [Data(x=torch.randn(200, 5), y=torch.tensor([0]), edge_index=torch.randint(200, (2, 50)))]
    plan = plimsoll.plan(GPS(), [Batch.from_data_list(even), Batch.from_data_list(odd)])
    assert plan.worst.largest == 200 and plan.exact


@pytest.mark.parametrize("make", [GPS, Transformer])
def test_weights_are_those_of_every_budget(make):
    torch.manual_seed(1)
    model, graphs = make(dropout=0.1), made_up(60)
    found = {}
    for room in (None, 64, 16):
        fresh = copy.deepcopy(model)
        budget = None if room is None else found[None][1].smallest_budget + (room << 20)
        run = plimsoll.fit(fresh, graphs, optimizer=torch.optim.Adam(fresh.parameters(), 1e-2), epochs=2, batch_size=30,
                           block=plimsoll.BlockLimits(graphs=8), budget=budget)
        assert not run.couples
        found[room] = torch.cat([value.detach().flatten() for value in fresh.parameters()]), run
    assert torch.equal(found[64][0], found[None][0]) and torch.equal(found[16][0], found[None][0])
    assert found[16][1].losses == found[None][1].losses
