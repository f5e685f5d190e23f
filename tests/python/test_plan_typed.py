"""`plimsoll.plan` of models of graphs with types: exact by the counts of each type."""

import gc

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from plimsoll import _torch  # noqa: E402
from torch_geometric.nn import GATConv, GraphSAGE, HeteroConv, to_hetero  # noqa: E402
from temporal_graphs import random_hetero  # noqa: E402


class Attention(torch.nn.Module):
    def __init__(self, edge_types, loops=False):
        super().__init__()
        if loops:  # A layer replaces the edges from a node to itself by one for each node.
            edge_types = [kind for kind in edge_types if kind[0] == kind[2]]
        self.layers = torch.nn.ModuleList(
            HeteroConv({kind: GATConv(4 if loops else (4, 4), 4, add_self_loops=loops) for kind in edge_types})
            for _ in range(2)
        )

    def forward(self, x, edge_index):
        for layer in self.layers:
            x = layer(x, edge_index)
        return x


def batches_of_orders(loops=False, **options):
    data = random_hetero(1, users=400, orders=1500, edges=9000)
    if loops:
        for pairs in (data[kind].edge_index for kind in data.edge_types if kind[0] == kind[2]):
            pairs[1, ::2] = pairs[0, ::2]
    data["order"].x, data["user"].x = torch.randn(1500, 4), torch.randn(400, 4)
    data["order"].y = torch.randint(2, (1500,))
    return data, plimsoll.NeighborLoader(data, [3, 2], "order", data["order"].time, time_attr="time", batch_size=40, seed=1, **options)


def forward(model, batch):
    return model(batch.x_dict, batch.edge_index_dict)["order"][: batch["order"].batch_size]


def measured(model, batches, optimizer):
    """Bytes that the ledger held at once during two epochs, beside what it held before, the model apart."""
    parameters = sum(_torch.tensor_bytes(p.untyped_storage().nbytes()) for p in model.parameters())
    gc.collect()
    before = _torch.held()
    _torch.begin_peak()
    for batch in 2 * batches:
        optimizer.zero_grad()
        y = batch["order"].y[: batch["order"].batch_size]
        torch.nn.functional.cross_entropy(forward(model, batch), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    return _torch.peak() - before + parameters


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("kind", ["sage", "attention", "loops"])
def test_exact_on_typed_batches(kind, fused):
    data, loader = batches_of_orders(kind == "loops")
    torch.manual_seed(0)
    model = to_hetero(GraphSAGE(4, 8, 2, out_channels=2), data.metadata()) if kind == "sage" else Attention(data.edge_types, kind == "loops")
    if fused:
        plimsoll.nn.replace(model)
    batches = list(loader)
    optimizer = torch.optim.Adam(model.parameters())
    plan = plimsoll.plan(model, batches, optimizer=optimizer, forward=forward)
    assert plan.exact and plan.difference == "" and "40 seeds" in str(plan)
    assert plan.tensors - plan.batch == measured(model, batches, optimizer)


def test_a_loader_is_planned_and_stays_where_it_was():
    data, loader = batches_of_orders(shuffle=True)
    model = to_hetero(GraphSAGE(4, 8, 2, out_channels=2), data.metadata())
    state = loader.state_dict()
    plan = plimsoll.plan(model, loader, forward=forward)
    assert plan.exact and plan.largest_batch is None and loader.state_dict() == state
    with plimsoll.budget(plan.smallest_budget):
        for batch in loader:
            torch.nn.functional.cross_entropy(forward(model, batch), batch["order"].y[: batch["order"].batch_size]).backward()


def test_refuses_a_batch_without_seeds():
    data, _ = batches_of_orders()
    model = to_hetero(GraphSAGE(4, 8, 2, out_channels=2), data.metadata())
    with pytest.raises(plimsoll.UsageError, match="a HeteroData without seeds"):
        plimsoll.plan(model, data, forward=lambda model, batch: model(batch.x_dict, batch.edge_index_dict)["order"])
