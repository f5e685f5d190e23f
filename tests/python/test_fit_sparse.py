"""plimsoll.fit and plan with a sparse adjacency of torch in the place of edge_index."""

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import fitted, made_up, weights  # noqa: E402
from plimsoll._fit.batch_parts import graphs_in, parts_of  # noqa: E402
from plimsoll.data.sizes import size_of  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402
from torch_geometric.nn import GCNConv, SAGEConv, global_mean_pool  # noqa: E402
from torch_geometric.transforms import ToSparseTensor  # noqa: E402
from torch_geometric.utils import coalesce  # noqa: E402

pytestmark = [pytest.mark.usefixtures("threads"), pytest.mark.filterwarnings("ignore:.*[Ss]parse.*")]

LAYOUTS = {"CSR": torch.sparse_csr, "COO": torch.sparse_coo}


class Net(torch.nn.Module):
    """Called with adj_t where graphs have it, else with edge_index."""

    def __init__(self, conv):
        super().__init__()
        torch.manual_seed(5)
        self.conv, self.norm, self.head = conv(5, 8, bias=False), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3)

    def forward(self, x, batch, edge_index=None, adj_t=None):
        x = self.norm(self.conv(x, edge_index if adj_t is None else adj_t)).relu()
        return self.head(global_mean_pool(x, batch))


def plain():
    graphs = made_up()
    for graph in graphs:
        graph.edge_index = coalesce(graph.edge_index)
    return graphs


def sparse(layout):
    return [ToSparseTensor(layout=layout)(graph) for graph in plain()]


@pytest.mark.parametrize("conv", [GCNConv, SAGEConv])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_train_as_one_batch(conv, layout):
    wanted, _ = fitted(sparse(LAYOUTS[layout]), Net(conv), batch_size=64, block=plimsoll.BlockLimits(64))
    model, run = fitted(sparse(LAYOUTS[layout]), Net(conv), batch_size=64)
    assert run.batch_norm == ["norm (BatchNorm1d)"]
    torch.testing.assert_close(weights(model), weights(wanted), rtol=1e-4, atol=1e-5)


def test_it_trains_as_with_edge_index():
    wanted, _ = fitted(plain(), Net(SAGEConv))
    model, _ = fitted(sparse(torch.sparse_csr), Net(SAGEConv))
    torch.testing.assert_close(weights(model), weights(wanted), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_it_is_planned(layout):
    batch = Batch.from_data_list(sparse(LAYOUTS[layout])[:20])
    plan = plimsoll.plan(Net(SAGEConv), batch)
    assert plan.exact and plan.worst.edges == batch.adj_t._nnz()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_batch_is_taken_apart(layout):
    graphs = sparse(LAYOUTS[layout])[:5]
    batch = Batch.from_data_list(graphs)
    for graph, part in zip(graphs, graphs_in(batch)):
        assert part.adj_t.layout == LAYOUTS[layout]
        assert torch.equal(part.adj_t.to_dense(), graph.adj_t.to_dense()) and torch.equal(part.x, graph.x)
    assert [part.num_graphs for part in parts_of(batch, [2, 3])] == [2, 3]


def test_self_loops_of_an_adjacency_are_counted():
    sizes = [*map(size_of, sparse(torch.sparse_csr))]
    assert sizes == [*map(size_of, plain())] and any(size.self_loops for size in sizes)
