"""torch.ops.plimsoll.aggregate_linear against index_add and matrix products in float64: values and gradients."""

import pytest
from test_aggregate import GRAPHS, OPCHECKS, edge_order

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("ops", "threads")

TOLERANCE = {torch.float64: 1e-12, torch.float32: 3e-6}
KINDS = {  # root, bias, means, self_scale
    "GraphSAGE": (True, True, True, None),
    "GraphSAGE without root and bias": (False, False, True, None),
    "GIN": (False, True, False, 1.5),
    "sums": (False, True, False, None),
    "root and sums": (True, False, False, None),
}
WIDTHS = [(5, 9), (9, 5), (64, 64), (64, 2), (11, 64), (33, 40), (40, 33), (1, 1)]


def inputs(name, kind, widths, dtype=torch.float64):
    nodes, edge_index = GRAPHS[name]
    root, bias, means, self_scale = KINDS[kind]
    generator = torch.Generator().manual_seed(2)
    features, out = widths

    def drawn(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)

    x, weight = drawn(nodes, features), drawn(out, features)
    scale = 1 / torch.bincount(edge_index[1], minlength=nodes).clamp(min=1).to(dtype) if means else None
    return [x, edge_order(GRAPHS[name]), weight, drawn(out, features) if root else None, drawn(out) if bias else None,
            scale, None if self_scale is None else torch.tensor([self_scale], dtype=dtype)]


def by_products(edge_index):
    def call(x, _order, weight, root, bias, scale, self_scale):
        summed = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        summed = summed if scale is None else summed * scale[:, None]
        out = (summed if self_scale is None else summed + self_scale * x) @ weight.t()
        out = out if root is None else out + x @ root.t()
        return out if bias is None else out + bias

    return call


def evaluate(function, arguments, of_x=True):
    """The value and all gradients."""
    leaves = [i for i in (0, 2, 3, 4) if arguments[i] is not None and (i or of_x)]
    given = [a.detach().clone().requires_grad_() if i in leaves else a for i, a in enumerate(arguments)]
    out = function(*given)
    weight = torch.randn(out.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return [out.detach(), *torch.autograd.grad((weight.to(out.dtype) * out).sum(), [given[i] for i in leaves])]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("name", ["isolated nodes", "random"])
def test_same_as_products(name, widths, kind, dtype):
    arguments = inputs(name, kind, widths, dtype)
    double = [a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments]
    for of_x in (True, False):
        found = evaluate(torch.ops.plimsoll.aggregate_linear, arguments, of_x)
        expected = evaluate(by_products(GRAPHS[name][1]), double, of_x)
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == dtype and ours.shape == theirs.shape
            assert float((ours.double() - theirs).norm()) <= TOLERANCE[dtype] * max(float(theirs.norm()), 1e-2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", GRAPHS)
def test_odd_graphs(name, kind):
    for widths in ((5, 9), (9, 5), (0, 3), (3, 0)):
        arguments = inputs(name, kind, widths)
        found, expected = (evaluate(f, arguments) for f in (torch.ops.plimsoll.aggregate_linear, by_products(GRAPHS[name][1])))
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("widths", [(5, 9), (9, 5)], ids=str)
def test_gradcheck_and_opcheck(widths, kind):
    arguments = inputs("isolated nodes", kind, widths)
    for i in (0, 2, 3, 4):
        if arguments[i] is not None:
            arguments[i].requires_grad_()
    assert torch.autograd.gradcheck(torch.ops.plimsoll.aggregate_linear, arguments)
    torch.library.opcheck(torch.ops.plimsoll.aggregate_linear.default, tuple(arguments), test_utils=OPCHECKS)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.gradgradcheck(torch.ops.plimsoll.aggregate_linear, arguments)


@pytest.mark.parametrize("widths", [(33, 40), (64, 2)], ids=str)
@pytest.mark.parametrize("kind", ["GraphSAGE", "GIN"])
def test_any_number_of_threads_gives_the_same_bits(kind, widths, threads):
    results = []
    for number in (1, 2, 4):
        threads(number)
        results.append(evaluate(torch.ops.plimsoll.aggregate_linear, inputs("random", kind, widths, torch.float32)))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


def test_inputs_may_lie_in_any_way():
    arguments = inputs("isolated nodes", "GraphSAGE", (5, 9))
    expected = evaluate(torch.ops.plimsoll.aggregate_linear, arguments)
    strided = [arguments[0].t().contiguous().t(), *arguments[1:]]
    out = torch.ops.plimsoll.aggregate_linear(*strided)
    assert torch.equal(out, expected[0])
    leaf = strided[0].requires_grad_()
    row = torch.ones(1, 9, dtype=torch.float64).expand(9, 9)
    (found,) = torch.autograd.grad(torch.ops.plimsoll.aggregate_linear(leaf, *arguments[1:]), leaf, row)
    assert torch.equal(found, torch.autograd.grad(torch.ops.plimsoll.aggregate_linear(leaf, *arguments[1:]), leaf, row.clone())[0])


BAD = {
    "x i64": (0, torch.ones(9, 5).long(), r"x f32 or f64 \[N, F\].*Long"),
    "order i64": (1, torch.zeros(28, dtype=torch.int64), "order i32.*Long"),
    "order of other nodes": (1, torch.zeros(28, dtype=torch.int32), "the edge order is not one of 9 sources"),
    "weight of other features": (2, torch.ones(9, 4).double(), r"weight \[O, F\] of x's dtype"),
    "weight f32": (2, torch.ones(9, 5), r"weight \[O, F\] of x's dtype.*Float"),
    "root of other outputs": (3, torch.ones(8, 5).double(), r"root \[O, F\]"),
    "bias of other outputs": (4, torch.ones(8).double(), r"bias \[O\]"),
    "scale of other nodes": (5, torch.ones(8).double(), r"target_scale \[N\]"),
    "root with itself": (6, torch.ones(1).double(), "found root and self_scale"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_error(name):
    place, value, text = BAD[name]
    arguments = inputs("isolated nodes", "GraphSAGE", (5, 9))
    arguments[place] = value
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.aggregate_linear(*arguments)
