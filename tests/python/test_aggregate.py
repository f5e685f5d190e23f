"""torch.ops.plimsoll.aggregate against index_add in float64: values and gradients."""

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("ops", "threads")

OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6}


def edges(pairs):
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t()


def random_edges(nodes, count):
    return torch.randint(0, nodes, (2, count), generator=torch.Generator().manual_seed(1))


GRAPHS = {  # nodes, edge_index
    "no nodes": (0, edges([])),
    "no edges": (5, edges([])),
    "one node with a self-loop": (1, edges([(0, 0)])),
    "duplicate edges": (4, edges([(0, 1), (0, 1), (2, 1), (0, 1), (1, 0)])),
    "self-loops": (3, edges([(0, 0), (1, 1), (1, 1), (2, 0)])),
    "isolated nodes": (9, edges([(1, 3), (3, 1), (7, 3)])),
    "one target": (400, torch.stack([torch.arange(400), torch.full((400,), 7)])),
    "one source": (400, torch.stack([torch.full((400,), 7), torch.arange(400)])),
    "random": (1500, random_edges(1500, 6000)),
}
SCALES = {"no scales": (False, False), "sources": (True, False), "targets": (False, True), "both": (True, True)}


def edge_order(graph, drop_loops=False):
    nodes, edge_index = graph
    return torch.ops.plimsoll.edge_order(edge_index, nodes, nodes, True, drop_loops)


def edge_scale_of(edge_index, dtype=torch.float64):
    return torch.randn(edge_index.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(4)).to(dtype)


def inputs(nodes, features, dtype, with_source=True, with_target=True):
    """x, source_scale and target_scale."""
    generator = torch.Generator().manual_seed(2)
    x, *scales = (torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)
                  for shape in ((nodes, features), (nodes,), (nodes,)))
    return x, scales[0] if with_source else None, scales[1] if with_target else None


def by_index_add(x, edge_index, source_scale, target_scale, _targets=None, edge_scale=None):
    scaled = x if source_scale is None else x * source_scale[:, None]
    messages = scaled[edge_index[0]]
    out = torch.zeros_like(x).index_add(0, edge_index[1], messages if edge_scale is None else messages * edge_scale[:, None])
    return out if target_scale is None else out * target_scale[:, None]


def evaluate(function, x, *rest):
    """The value and the gradient of x."""
    x = x.detach().clone().requires_grad_()
    out = function(x, *rest)
    weight = torch.randn(out.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return out.detach(), torch.autograd.grad((weight.to(out.dtype) * out).sum(), x)[0]


def compare(graph, features, dtype, with_source=True, with_target=True, with_edges=False):
    nodes, edge_index = graph
    x, *scales = inputs(nodes, features, dtype, with_source, with_target)
    scales += [None, edge_scale_of(edge_index, dtype) if with_edges else None]
    found = evaluate(torch.ops.plimsoll.aggregate, x, edge_order(graph), *scales)
    expected = evaluate(by_index_add, x.double(), edge_index, *(None if s is None else s.double() for s in scales))
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == dtype and ours.shape == theirs.shape
        assert float((ours.double() - theirs).norm()) <= TOLERANCE[dtype] * max(float(theirs.norm()), 1e-2)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("features", [1, 7, 33, 64, 100])
@pytest.mark.parametrize("name", GRAPHS)
def test_same_as_index_add(name, features, dtype):
    compare(GRAPHS[name], features, dtype)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("scales", SCALES)
def test_scales(scales, dtype):
    compare(GRAPHS["random"], 33, dtype, *SCALES[scales])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", GRAPHS)
def test_scales_of_edges(name, dtype):
    compare(GRAPHS[name], 33, dtype, False, False, True)
    compare(GRAPHS[name], 33, dtype, True, True, True)


def test_scales_of_edges_go_with_the_edges_where_self_loops_are_dropped():
    nodes, edge_index = GRAPHS["self-loops"]
    x = torch.tensor([[1.0], [10.0], [100.0]], requires_grad=True)
    scale = torch.tensor([2.0, 3.0, 5.0, 7.0])
    out = torch.ops.plimsoll.aggregate(x, edge_order((nodes, edge_index), True), edge_scale=scale)
    assert out.flatten().tolist() == [700, 0, 0]
    assert torch.autograd.grad(out.sum(), x)[0].flatten().tolist() == [0, 0, 7]


def test_scales_are_optional_arguments():
    x, *_ = inputs(4, 7, torch.float64)
    order = edge_order(GRAPHS["duplicate edges"])
    assert torch.equal(torch.ops.plimsoll.aggregate(x, order), torch.ops.plimsoll.aggregate(x, order, None, None))


def test_edges_of_small_whole_numbers_are_counted_exactly():
    found = torch.ops.plimsoll.aggregate(torch.tensor([[1.0], [10.0], [100.0], [1000.0]]),
                                         edge_order(GRAPHS["duplicate edges"]))
    assert found.flatten().tolist() == [10, 103, 0, 0]


def test_the_order_says_whether_self_loops_count():
    nodes, edge_index = GRAPHS["self-loops"]
    x = torch.tensor([[1.0], [10.0], [100.0]])
    kept, dropped = (torch.ops.plimsoll.aggregate(x, edge_order((nodes, edge_index), drop)) for drop in (False, True))
    assert kept.flatten().tolist() == [101, 20, 0]
    assert dropped.flatten().tolist() == [100, 0, 0]


def test_no_features():
    found, gradient = evaluate(torch.ops.plimsoll.aggregate, torch.ones(9, 0), edge_order(GRAPHS["isolated nodes"]))
    assert found.shape == gradient.shape == (9, 0)


def test_isolated_nodes_stay_zero_whatever_the_others_have():
    """What is not summed is not multiplied by 0 either."""
    x = torch.full((9, 7), torch.nan)
    x[[1, 3, 7]] = 1
    found, gradient = evaluate(torch.ops.plimsoll.aggregate, x, edge_order(GRAPHS["isolated nodes"]))
    assert torch.equal(found[[0, 2, 4, 5, 6, 7, 8]], torch.zeros(7, 7)) and torch.equal(found[3], torch.full((7,), 2.0))
    assert torch.equal(gradient[[0, 2, 4, 5, 6, 8]], torch.zeros(6, 7))


def of_x(name, features=3):
    """The operator as a function of x, and x."""
    x, *scales = inputs(GRAPHS[name][0], features, torch.float64)
    order = edge_order(GRAPHS[name])
    return lambda x: torch.ops.plimsoll.aggregate(x, order, *scales), x.requires_grad_()


@pytest.mark.parametrize("name", ["duplicate edges", "self-loops", "isolated nodes"])
def test_gradcheck(name):
    assert torch.autograd.gradcheck(*of_x(name))
    order, x = edge_order(GRAPHS[name]), of_x(name)[1]
    scale = edge_scale_of(GRAPHS[name][1])
    assert torch.autograd.gradcheck(lambda x: torch.ops.plimsoll.aggregate(x, order, edge_scale=scale), x)


def test_second_derivatives_are_refused():
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.gradgradcheck(*of_x("duplicate edges"))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("scales", SCALES)
def test_opcheck(scales, dtype):
    x, *given = inputs(9, 7, dtype, *SCALES[scales])
    order = edge_order(GRAPHS["isolated nodes"])
    for edge_scale in (None, edge_scale_of(GRAPHS["isolated nodes"][1], dtype)):
        torch.library.opcheck(torch.ops.plimsoll.aggregate.default, (x.requires_grad_(), order, *given, None, edge_scale),
                              test_utils=OPCHECKS)


def test_opcheck_of_backward():
    grad, *scales = inputs(9, 7, torch.float64)
    for edge_scale in (None, edge_scale_of(GRAPHS["isolated nodes"][1])):
        torch.library.opcheck(torch.ops.plimsoll.aggregate_backward.default,
                              (grad, edge_order(GRAPHS["isolated nodes"]), *scales, None, edge_scale), test_utils=OPCHECKS)


def test_inputs_may_lie_in_any_way():
    """Transposed, every other column of a wider tensor, expanded; scales with a stride; gradients that are expanded."""
    call, x = of_x("isolated nodes")
    (expected,) = torch.autograd.grad(call(x).sum(), x)
    plain = x.detach()
    for strided in (plain.t().contiguous().t(), torch.stack([plain, -plain], dim=2)[:, :, 0]):
        assert not strided.is_contiguous()
        assert torch.equal(call(strided), call(plain))
        leaf = strided.requires_grad_()
        assert torch.equal(torch.autograd.grad(call(leaf).sum(), leaf)[0], expected)
    order = edge_order(GRAPHS["isolated nodes"])
    row = torch.ones(1, 3, dtype=torch.float64).expand(9, 3)
    assert torch.equal(torch.ops.plimsoll.aggregate(row, order), torch.ops.plimsoll.aggregate(row.clone(), order))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("features", [7, 100])
def test_any_number_of_threads_gives_the_same_bits(features, dtype, threads):
    nodes, _ = GRAPHS["random"]
    x, *scales = inputs(nodes, features, dtype)
    order = edge_order(GRAPHS["random"])
    results = []
    for number in (1, 2, 4):
        threads(number)
        results.append(evaluate(torch.ops.plimsoll.aggregate, x, order, *scales))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def four_nodes(edges=5):
    return edge_order((4, torch.zeros(2, edges, dtype=torch.long)))


ONES = torch.ones(4, 2)
NOT_THIS_ORDER = "the edge order is not one of 4 sources, 4 targets"
BAD = {
    "x is a vector": (lambda: (torch.ones(4), four_nodes()), r"x f32 or f64 \[S, F\].*found Float of shape \[4\]"),
    "x is three-dimensional": (lambda: (ONES[None], four_nodes()), r"x f32 or f64 \[S, F\]"),
    "x i64": (lambda: (ONES.long(), four_nodes()), r"x f32 or f64 \[S, F\].*Long"),
    "x f16": (lambda: (ONES.half(), four_nodes()), r"x f32 or f64 \[S, F\].*Half"),
    "x bf16": (lambda: (ONES.bfloat16(), four_nodes()), r"x f32 or f64 \[S, F\].*BFloat16"),
    "order i64": (lambda: (ONES, four_nodes().long()), r"order i32.*Long"),
    "order is a matrix": (lambda: (ONES, four_nodes()[None]), "order i32"),
    "order with a stride": (lambda: (ONES, four_nodes().repeat_interleave(2)[::2]), "order i32.*not contiguous"),
    "no order": (lambda: (ONES, torch.empty(0, dtype=torch.int32)), NOT_THIS_ORDER),
    "edge_index for an order": (lambda: (ONES, torch.zeros(2, 5, dtype=torch.int32)), "order i32"),
    "numbers that are no order": (lambda: (ONES, torch.zeros_like(four_nodes())), NOT_THIS_ORDER),
    "order of fewer nodes": (lambda: (ONES, edge_order((3, edges([(0, 1)])))), NOT_THIS_ORDER),
    "order of more nodes": (lambda: (ONES, edge_order((5, edges([(0, 1)])))), NOT_THIS_ORDER),
    "order of many more nodes": (lambda: (ONES, edge_order((500, edges([])))), NOT_THIS_ORDER),
    "order of more sources": (
        lambda: (ONES, torch.ops.plimsoll.edge_order(edges([(4, 1)]), 5, 4, False, False)), NOT_THIS_ORDER),
    "an order cut short": (lambda: (ONES, four_nodes()[:-2]), NOT_THIS_ORDER),
    "source_scale of other nodes": (lambda: (ONES, four_nodes(), torch.ones(3)), r"source_scale \[S\] of x's dtype"),
    "target_scale of other nodes": (lambda: (ONES, four_nodes(), None, torch.ones(5)), r"target_scale \[T\]"),
    "source_scale f64": (lambda: (ONES, four_nodes(), torch.ones(4).double()), r"source_scale \[S\].*Double"),
    "target_scale i64": (lambda: (ONES, four_nodes(), None, torch.ones(4).long()), r"target_scale \[T\].*Long"),
    "source_scale of features": (lambda: (ONES, four_nodes(), ONES), r"source_scale \[S\]"),
    "edge_scale of other edges": (
        lambda: (ONES, four_nodes(), None, None, None, torch.ones(4)), r"edge_scale \[E\] of x's dtype"),
    "edge_scale f64": (lambda: (ONES, four_nodes(), None, None, None, torch.ones(5).double()), r"edge_scale \[E\].*Double"),
    "target_scale is a column": (lambda: (ONES, four_nodes(), None, torch.ones(4, 1)), r"target_scale \[T\]"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_error(name):
    arguments, text = BAD[name]
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.aggregate(*arguments())


@pytest.mark.parametrize("name", [name for name in BAD if "f32" in BAD[name][1] or "scale" in BAD[name][1]])
def test_bad_input_of_backward_is_an_error(name):
    arguments, text = BAD[name]
    given = (*arguments(), None, None)[:4] if len(arguments()) < 5 else arguments()
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.aggregate_backward(*given)


def rectangular(dtype=torch.float64):
    """Edges from nine sources to four targets, one of which has none."""
    order = torch.ops.plimsoll.edge_order(edges([(8, 1), (4, 1), (4, 0), (3, 3)]), 9, 4, False, False)
    x, source_scale, target_scale = inputs(9, 3, dtype)
    return x, order, source_scale, target_scale[:4].contiguous(), 4


def test_fewer_targets_than_sources():
    x, order, *rest = rectangular()
    assert torch.autograd.gradcheck(lambda x: torch.ops.plimsoll.aggregate(x, order, *rest), x.requires_grad_())
    found = torch.ops.plimsoll.aggregate(torch.ones(9, 1), order, None, None, 4)
    assert found.flatten().tolist() == [1, 2, 0, 1]


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_opcheck_of_fewer_targets(dtype):
    x, *rest = rectangular(dtype)
    torch.library.opcheck(torch.ops.plimsoll.aggregate.default, (x.requires_grad_(), *rest), test_utils=OPCHECKS)


@pytest.mark.parametrize("which", [0, 1, 3])
@pytest.mark.parametrize("x_too", [False, True])
def test_scales_that_require_gradients_are_an_error(which, x_too):
    scales = [None, None, None, None]
    scales[which] = torch.ones(5 if which == 3 else 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="scales have no gradients"):
        torch.ops.plimsoll.aggregate(ONES.clone().requires_grad_(x_too), four_nodes(), *scales)
