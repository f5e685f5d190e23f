"""torch.ops.plimsoll.neighbour_attention against plain torch in float64, and gradcheck."""

import pytest

torch = pytest.importorskip("torch")
softmax = pytest.importorskip("torch_geometric.utils").softmax

pytestmark = pytest.mark.usefixtures("ops", "threads")

OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 5e-6}


def random_edges(sources, targets, count, seed=1):
    random = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(0, nodes, (count,), generator=random) for nodes in (sources, targets)])


GRAPHS = {  # sources, targets, edge_index
    "no edges": (3, 4, torch.zeros(2, 0, dtype=torch.long)),
    "no targets": (3, 0, torch.zeros(2, 0, dtype=torch.long)),
    "one edge": (1, 1, torch.zeros(2, 1, dtype=torch.long)),
    "duplicate edges": (2, 3, torch.tensor([[0, 0, 1, 0], [2, 2, 2, 0]])),
    "one target": (300, 5, torch.stack([torch.arange(300), torch.full((300,), 3)])),
    "random": (700, 900, random_edges(700, 900, 5000)),
}


def inputs(graph, heads, channels, dtype, score, own_values):
    sources, targets, edge_index = graph
    random = torch.Generator().manual_seed(2)
    make = lambda *shape: torch.randn(shape, dtype=torch.float64, generator=random).to(dtype).requires_grad_()  # noqa: E731
    key, query = make(sources, heads * channels), make(targets, heads * channels)
    return key, make(sources, heads * channels) if own_values else None, query, make(heads, channels) if score == "gatv2" else None


def ours(graph, key, value, query, att, heads):
    sources, targets, edge_index = graph
    order = torch.ops.plimsoll.edge_order(edge_index, sources, targets, False, False)
    return torch.ops.plimsoll.neighbour_attention(key, value, query, order, att, heads, 0.2)


def plain(graph, key, value, query, att, heads):
    _, targets, (source, target) = graph
    by_head = lambda x: x.unflatten(1, (heads, -1))  # noqa: E731
    k, q, v = by_head(key)[source], by_head(query)[target], by_head(key if value is None else value)[source]
    score = (q * k).sum(2) if att is None else (torch.nn.functional.leaky_relu(q + k, 0.2) * att).sum(2)
    weights = softmax(score, target, num_nodes=targets)
    out = torch.zeros(targets, *v.shape[1:], dtype=v.dtype).index_add(0, target, weights[:, :, None] * v)
    sums = torch.zeros(targets, heads, dtype=v.dtype).index_add(0, target, score.exp())
    return out.flatten(1), sums.log()


def compare(graph, heads, channels, dtype, score, own_values):
    tensors = inputs(graph, heads, channels, dtype, score, own_values)
    doubles = [None if tensor is None else tensor.detach().double().requires_grad_() for tensor in tensors]
    found, expected = ours(graph, *tensors, heads), plain(graph, *doubles, heads)
    has_edges = torch.isin(torch.arange(graph[1]), graph[2][1])
    assert torch.all(found[1][~has_edges] < -9e29)
    for one, other in ((found[0], expected[0]), (found[1][has_edges], expected[1][has_edges])):
        torch.testing.assert_close(one.double(), other, rtol=20 * TOLERANCE[dtype], atol=20 * TOLERANCE[dtype])
    random = torch.Generator().manual_seed(3)
    weights = [torch.randn(tensor.shape, dtype=torch.float64, generator=random) for tensor in expected]

    def loss(out, sums):
        return (out * weights[0].to(out.dtype)).sum() + (sums * weights[1].to(sums.dtype))[has_edges].sum()

    wanted = [tensor for tensor in tensors if tensor is not None]
    for mine, theirs in zip(torch.autograd.grad(loss(*found), wanted),
                            torch.autograd.grad(loss(*expected), [double for double in doubles if double is not None]), strict=True):
        assert float((mine.double() - theirs).norm()) <= 40 * TOLERANCE[dtype] * max(float(theirs.norm()), 1e-2)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("score", ["gatv2", "dot"])
@pytest.mark.parametrize("heads, channels", [(1, 1), (4, 16), (3, 7), (2, 12), (1, 32)])
@pytest.mark.parametrize("name", GRAPHS)
def test_same_as_plain_torch(name, heads, channels, score, dtype):
    compare(GRAPHS[name], heads, channels, dtype, score, own_values=score == "dot")


@pytest.mark.parametrize("own_values", [False, True])
@pytest.mark.parametrize("score", ["gatv2", "dot"])
def test_values_are_the_keys_unless_given(score, own_values):
    compare(GRAPHS["random"], 2, 8, torch.float64, score, own_values)


@pytest.mark.parametrize("score", ["gatv2", "dot"])
@pytest.mark.parametrize("name", ["duplicate edges", "one edge"])
def test_gradcheck(name, score):
    key, value, query, att = inputs(GRAPHS[name], 2, 3, torch.float64, score, own_values=True)
    given = [tensor for tensor in (key, value, query, att) if tensor is not None]
    assert torch.autograd.gradcheck(lambda *args: ours(GRAPHS[name], *args, *([None] if att is None else []), 2), given)


def test_scores_whose_exponentials_overflow():
    graph = (3, 1, torch.tensor([[0, 1, 2], [0, 0, 0]]))
    key = torch.tensor([[1e4], [2e4], [-3e4]])
    out, log_sum = ours(graph, key, torch.tensor([[1.0], [2.0], [3.0]]), torch.ones(1, 1), None, 1)
    assert out.item() == 2 and log_sum.item() == 2e4


def test_nan_is_not_hidden():
    graph = (3, 2, torch.tensor([[0, 1, 2], [0, 0, 1]]))
    key = torch.tensor([[1.0], [torch.nan], [2.0]])
    out, _ = ours(graph, key, None, torch.ones(2, 1), None, 1)
    assert out[0].isnan() and out[1] == 2


def test_same_bits_on_any_number_of_threads(threads):
    results = []
    for count in (1, 3):
        threads(count)
        tensors = inputs(GRAPHS["random"], 4, 16, torch.float32, "gatv2", own_values=False)
        found = ours(GRAPHS["random"], *tensors, 4)
        results.append([*found, *torch.autograd.grad(found[0].sum() + found[1].clamp(min=-9).sum(), [t for t in tensors if t is not None])])
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


@pytest.mark.parametrize("score", ["gatv2", "dot"])
def test_opcheck(score):
    graph = GRAPHS["duplicate edges"]
    key, value, query, att = inputs(graph, 2, 3, torch.float64, score, own_values=True)
    order = torch.ops.plimsoll.edge_order(graph[2], graph[0], graph[1], False, False)
    torch.library.opcheck(torch.ops.plimsoll.neighbour_attention, (key, value, query, order, att, 2, 0.2), test_utils=OPCHECKS)


def test_wrong_shapes_are_refused():
    graph = GRAPHS["duplicate edges"]
    key, value, query, att = inputs(graph, 2, 3, torch.float32, "gatv2", own_values=True)
    for bad in ((key, value[:1], query, att, 2), (key, value, query[:, :2], att, 2), (key, value, query, att[:1], 2), (key, value, query, att, 4),
                (key, value.double(), query, att, 2)):
        with pytest.raises(RuntimeError, match="expected"):
            ours(graph, *bad)
