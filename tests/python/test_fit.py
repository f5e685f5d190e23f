"""plimsoll.fit against training by hand, and the bits of its weights."""

import copy

import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

from fit_models import classifier, fitted, made_up, weights  # noqa: E402
from functorch.compile import make_boxed_func  # noqa: E402
from torch._dynamo.backends.common import aot_autograd  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.data import Batch  # noqa: E402

import plimsoll.nn  # noqa: E402
from plimsoll._fit.blocks import BlockLimits, BlockList  # noqa: E402
from plimsoll._fit.steps import by_names, loss_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")


@pytest.mark.parametrize("body", ["GCN", "GIN", "SAGE", "GAT", "GATv2", "PNA"])
def test_as_by_hand(body):
    """Whole batches through PyTorch Geometric give the same losses and weights, to rounding."""
    graphs = made_up()
    model, run = fitted(graphs, classifier(body, graphs).double(), forward=in_double)
    by_hand = classifier(body, graphs).double()
    optimizer = torch.optim.Adam(by_hand.parameters(), 1e-2)
    order, losses = BlockList(graphs, 32, BlockLimits(8), 0, True), []
    for epoch in range(2):
        total = 0.0
        for blocks in order.batches(epoch):
            batch = order.load(torch.cat([torch.from_numpy(block.graphs) for block in blocks]).numpy())
            optimizer.zero_grad()
            loss = F.cross_entropy(in_double(by_hand, batch), batch.y)
            loss.backward()
            optimizer.step()
            total += loss.item() * batch.num_graphs
        losses.append(total / len(graphs))
    assert run.losses == pytest.approx(losses, rel=1e-9)
    assert torch.allclose(weights(model), weights(by_hand), rtol=1e-6, atol=1e-8)
    assert run.losses[1] < run.losses[0]


def in_double(model, batch):
    return model(batch.x.double(), batch.edge_index, batch.batch, batch.num_graphs)


def test_same_bits_whatever_torchs_generator():
    model, _ = fitted()
    other = classifier(dropout=0.3)
    torch.manual_seed(99)
    before = torch.get_rng_state()
    fitted(model=other)
    assert torch.equal(weights(model), weights(other))
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(weights(model), weights(fitted(seed=1)[0]))


def test_blocks_follow_from_the_recipe_alone():
    graphs = made_up()
    limits = BlockLimits(8, 60, 10_000)
    blocks = [block for batch in BlockList(graphs, 32, limits, 4, True).batches(1) for block in batch]
    assert sorted(g for block in blocks for g in block.graphs) == list(range(60))
    assert [block.number for block in blocks] == list(range(len(blocks)))
    for block in blocks:
        batch = Batch.from_data_list([graphs[g] for g in block.graphs])
        assert block.size[:3] == (batch.num_graphs, batch.num_nodes, batch.num_edges)
        assert block.size.graphs <= 8 and block.size.nodes <= 60
    one_by_one = [block for batch in BlockList(graphs, 60, BlockLimits(8, 1, 1), 0, False).batches(0) for block in batch]
    assert [list(block.graphs) for block in one_by_one] == [[g] for g in range(60)]


def test_graph_sets_train_like_their_data(tmp_path):
    graphs = made_up()
    stored = plimsoll.from_pyg(graphs, tmp_path / "graphs")
    assert torch.equal(weights(fitted(stored)[0]), weights(fitted(graphs)[0]))
    half = fitted(stored[:30], epochs=1)[1]
    assert half.losses == fitted(graphs[:30], epochs=1)[1].losses


def test_a_gradient_from_before_is_not_used():
    model = classifier(dropout=0.3)
    by_hand = Batch.from_data_list(made_up())
    model(by_hand.x, by_hand.edge_index, by_hand.batch, by_hand.num_graphs).sum().backward()
    fitted(model=model)
    assert torch.equal(weights(model), weights(fitted()[0]))


def test_random_transforms_follow_the_seed():
    class Noisy(list):
        def __getitem__(self, i):
            graph = list.__getitem__(self, i).clone()
            graph.x = graph.x + 0.1 * torch.randn_like(graph.x)
            return graph

    torch.manual_seed(1)
    before = torch.get_rng_state()
    model, _ = fitted(Noisy(made_up()), batch_size=60)
    torch.manual_seed(1)
    assert torch.equal(torch.get_rng_state(), before)
    fitted_again = classifier(dropout=0.3)
    torch.manual_seed(2)
    fitted(Noisy(made_up()), fitted_again, batch_size=60)
    assert torch.equal(weights(model), weights(fitted_again))


@pytest.mark.parametrize("loss", [torch.nn.functional.cross_entropy, torch.nn.functional.mse_loss])
def test_random_graphs_follow_the_seed(loss):
    """What is counted of them, too: their targets weigh the blocks."""

    class Parts(list):
        def __getitem__(self, i):
            graph = list.__getitem__(self, i)
            keep = torch.rand(graph.num_nodes) < torch.rand(())
            keep[0] = True
            part = graph.subgraph(keep)
            part.y = (part.x[:, 0] > 0).long() if loss is torch.nn.functional.cross_entropy else part.x[:, :2]
            return part

    found = []
    for state in (1, 2):
        torch.manual_seed(0)
        model = torch.nn.Linear(5, 2)
        torch.manual_seed(state)
        run = plimsoll.fit(model, Parts(made_up()), loss, seed=7, batch_size=30, block=BlockLimits(7),
                           forward=lambda model, batch: model(batch.x))
        found.append((run.losses, weights(model).tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("body", ["GCN", "GIN", "SAGE", "GAT", "GATv2", "GIN of PyTorch Geometric", "SAGE of PyTorch Geometric"])
def test_a_compiled_model_is_compiled_once_for_blocks_of_all_sizes(body):
    """Forward and backward, to the numbers of the model as it is. PyTorch Geometric's other layers have graph breaks."""
    compiled = []

    def counted(module, inputs):
        compiled.append(module)
        return make_boxed_func(module)

    torch._dynamo.reset()
    body, _, theirs = body.partition(" ")
    plain = classifier(body)
    if not theirs:
        assert plimsoll.nn.replace(plain).replaced == 3
    model = torch.compile(copy.deepcopy(plain), backend=aot_autograd(fw_compiler=counted))
    blocks = BlockList(made_up(), 32, BlockLimits(8), 0, True)
    loaded = [blocks.load(block.graphs) for batch in blocks.batches(0) for block in batch if len(block.graphs) == 8]
    assert len({data.num_nodes for data in loaded}) > 2
    for data in loaded:
        results = []
        for one in (plain, model):
            one.zero_grad()
            loss_of(one, data, by_names, F.cross_entropy).backward()
            results.append([parameter.grad for parameter in one.parameters()])
        torch.testing.assert_close(*results)
    assert len(compiled) == 2


def test_gradients_are_clipped_by_a_hook():
    model = classifier()
    norms = []

    def clip(optimizer, args, kwargs):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        norms.append(float(torch.cat([p.grad.flatten() for p in model.parameters()]).norm()))

    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    optimizer.register_step_pre_hook(clip)
    plimsoll.fit(model, made_up(), optimizer=optimizer, batch_size=32)
    assert len(norms) == 2 and max(norms) <= 0.01 * 1.001


def test_a_subset_of_a_graph_set_is_trained(tmp_path):
    graphs = plimsoll.from_pyg(made_up(), tmp_path / "graphs")
    numbers = [3, 50, 7, 22] * 4
    one, _ = fitted(torch.utils.data.Subset(graphs, numbers))
    other, _ = fitted(graphs[numbers])
    assert torch.equal(weights(one), weights(other))
