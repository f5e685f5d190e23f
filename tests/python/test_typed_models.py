"""Fused layers in PyTorch Geometric's models of graphs with types: values and gradients in float64, also where a batch has no nodes
or edges of a type.
"""

import copy

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from torch_geometric.nn import GATConv, GATv2Conv, GINConv, GraphSAGE, HeteroConv, SAGEConv, to_hetero  # noqa: E402
from temporal_graphs import random_hetero  # noqa: E402

CONVS = {
    "sage": lambda: SAGEConv((4, 4), 6),
    "sage, sum": lambda: SAGEConv((4, 4), 6, aggr="sum"),
    "gat": lambda: GATConv((4, 4), 6, add_self_loops=False),
    "gatv2": lambda: GATv2Conv((4, 4), 6, add_self_loops=False),
    "gin": lambda: GINConv(torch.nn.Linear(4, 6)),
}


class OneLayer(torch.nn.Module):
    def __init__(self, make, edge_types):
        super().__init__()
        self.conv = HeteroConv({edge_type: make() for edge_type in edge_types}, aggr="sum")

    def forward(self, x, edge_index):
        return self.conv(x, edge_index)


def batches():
    """Batches of typed samples, the last of which has no edge and no users."""
    data = random_hetero(1)
    loader = plimsoll.NeighborLoader(data, [3, 2], "order", data["order"].time, time_attr="time", batch_size=40, seed=1)
    return [*loader, next(iter(plimsoll.NeighborLoader(data, [0], ("order", [3, 4]))))]


def same_with_fused_layers(model, batch):
    model = model.double()
    fused = copy.deepcopy(model)
    replaced = plimsoll.nn.replace(fused)
    count, _, layers, *_ = str(replaced).split()
    assert count == layers != "0"
    torch.manual_seed(2)
    x = {kind: torch.randn(batch[kind].num_nodes, 4, dtype=torch.float64) for kind in batch.node_types}
    results = []
    for one in (model, fused):
        inputs = {kind: rows.clone().requires_grad_() for kind, rows in x.items()}
        out = one(inputs, batch.edge_index_dict)
        sum((rows**2).sum() for rows in out.values()).backward()
        given = [rows.grad for rows in inputs.values()] + [parameter.grad for parameter in one.parameters()]
        results.append(({kind: rows.detach() for kind, rows in out.items()}, given))
    (out, gradients), (fused_out, fused_gradients) = results
    assert out.keys() == fused_out.keys()
    for kind in out:
        assert torch.allclose(out[kind], fused_out[kind], rtol=1e-12, atol=1e-12)
    for gradient, other in zip(gradients, fused_gradients, strict=True):
        assert (gradient is None) == (other is None)
        assert gradient is None or torch.allclose(gradient, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("conv", CONVS)
def test_hetero_conv(conv):
    for batch in batches():
        torch.manual_seed(1)
        same_with_fused_layers(OneLayer(CONVS[conv], batch.edge_types), batch)


def test_to_hetero():
    for batch in batches():
        torch.manual_seed(1)
        same_with_fused_layers(to_hetero(GraphSAGE(4, 8, 2, out_channels=3), batch.metadata()), batch)


@pytest.mark.parametrize(("sources", "targets", "edges"), [(5, 3, 7), (3, 6, 9), (4, 3, 0), (4, 0, 0), (0, 3, 0), (0, 0, 0)])
def test_sums_over_an_edge_type(sources, targets, edges):
    torch.manual_seed(1)
    ends = torch.stack([torch.randint(max(sources, 1), (edges,)), torch.randint(max(targets, 1), (edges,))])
    order = torch.ops.plimsoll.edge_order(ends, sources, targets, False, False)
    x = torch.randn(sources, 2, dtype=torch.float64, requires_grad=True)
    scale = torch.rand(targets, dtype=torch.float64)

    def fused(rows):
        return torch.ops.plimsoll.aggregate(rows, order, None, scale, targets)

    expected = torch.zeros(targets, 2, dtype=torch.float64).index_add(0, ends[1], x[ends[0]]) * scale[:, None]
    assert torch.allclose(fused(x), expected, rtol=1e-13, atol=1e-13)
    if sources:
        assert torch.autograd.gradcheck(fused, x)
