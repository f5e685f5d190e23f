"""Operators on segments of consecutive rows against PyTorch Geometric's."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.nn import GraphNorm, global_add_pool, global_max_pool, global_mean_pool  # noqa: E402
from torch_geometric.utils import softmax  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")

SIZES = {  # rows of each segment
    "mixed": [3, 0, 1, 7, 0],
    "one row": [1],
    "one segment": [40],
    "no rows": [0, 0],
    "no segments": [],
    "many": [i * 7 % 13 for i in range(500)],
}
OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6}


def segments(name, features=5, dtype=torch.float64):
    """x [N, features], ptr, and the segment of each row."""
    sizes = torch.tensor(SIZES[name], dtype=torch.long)
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)])
    x = torch.randn(int(ptr[-1]), features, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return x.to(dtype), ptr, torch.repeat_interleave(sizes)


def norm_weights(features, dtype=torch.float64):
    generator = torch.Generator().manual_seed(2)
    return [(1 + 0.3 * torch.randn(features, dtype=torch.float64, generator=generator)).to(dtype) for _ in range(3)]


def pyg_norm(x, batch, segments, weight, bias, mean_scale):
    norm = GraphNorm(x.shape[1], eps=1e-5)
    del norm.weight, norm.bias, norm.mean_scale
    norm.weight, norm.bias, norm.mean_scale = weight, bias, mean_scale
    return norm(x, batch, segments)


POOLS = {"sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool}
# (ours(x, ptr, *weights), PyTorch Geometric's(x, batch, number of segments, *weights), number of weights)
OPERATORS = {
    **{f"segment_reduce {how}": (lambda x, ptr, how=how: torch.ops.plimsoll.segment_reduce(x, ptr, how),
                                 lambda x, batch, count, pool=pool: pool(x, batch, count), 0)
       for how, pool in POOLS.items()},
    "segment_softmax": (lambda x, ptr: torch.ops.plimsoll.segment_softmax(x, ptr),
                        lambda x, batch, count: softmax(x, batch, num_nodes=count), 0),
    "graph_norm": (lambda x, ptr, *weights: torch.ops.plimsoll.graph_norm(x, ptr, *weights, 1e-5)[0], pyg_norm, 3),
}
every_operator = pytest.mark.parametrize("operator", OPERATORS)


def evaluate(function, x, *rest):
    """The value and the gradients of all its floating-point tensors."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in (x, *rest[2:])]
    out = function(leaves[0], *rest[:2], *leaves[1:])
    weight = torch.randn(out.shape, generator=torch.Generator().manual_seed(3)).to(out.dtype)
    return [out.detach(), *torch.autograd.grad((weight * out).sum(), leaves)]


def assert_near(found, expected, tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        least = 0.01 * max(theirs.numel(), 1)**0.5
        assert float((ours.double() - theirs).norm()) <= tolerance * max(float(theirs.norm()), least)


@every_operator
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("features", [1, 5, 16, 37])
@pytest.mark.parametrize("name", SIZES)
def test_same_as_pyg(operator, name, features, dtype):
    ours, theirs, weights = OPERATORS[operator]
    x, ptr, batch = segments(name, features, dtype)
    given = norm_weights(features, dtype)[:weights]
    found = evaluate(lambda x, ptr, _, *w: ours(x, ptr, *w), x, ptr, None, *given)
    expected = evaluate(theirs, x.double(), batch, len(ptr) - 1, *(weight.double() for weight in given))
    assert all(value.dtype == dtype for value in found)
    # Gradients of short segments nearly cancel: PyTorch Geometric's have errors of 1e-5 here in float32.
    assert_near(found, expected, 1e-4 if operator == "graph_norm" and dtype == torch.float32 else TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", SIZES)
def test_gather_csr(name, dtype):
    """The row of its segment for every row."""
    rows, ptr, batch = segments(name, dtype=dtype)
    x = torch.randn(len(ptr) - 1, 5, dtype=dtype)
    found = evaluate(lambda x, ptr, n: torch.ops.plimsoll.gather_csr(x, ptr, n), x, ptr, len(rows))
    expected = evaluate(lambda x, index, _: x[index], x.double(), batch, None)
    assert torch.equal(found[0], expected[0].to(dtype))
    assert_near(found, expected, TOLERANCE[dtype])


def test_max_of_equal_rows_shares_its_gradient():
    x = torch.tensor([[2.0, 1.0], [2.0, 3.0], [0.0, 3.0]], dtype=torch.float64, requires_grad=True)
    out = torch.ops.plimsoll.segment_reduce(x, torch.tensor([0, 3]), "max")
    assert out.tolist() == [[2, 3]]
    assert torch.autograd.grad(out.sum(), x)[0].tolist() == [[0.5, 0], [0.5, 0.5], [0, 0.5]]


def test_softmax_of_large_scores():
    x = torch.tensor([[1e4], [1e4 - 1], [-1e4]])
    found = torch.ops.plimsoll.segment_softmax(x, torch.tensor([0, 3]))
    torch.testing.assert_close(found, x.softmax(0))


def arguments(operator):
    """An operator of torch with arguments for it."""
    x, ptr, _ = segments("mixed", 3)
    x.requires_grad_()
    if operator.startswith("segment_reduce"):
        return torch.ops.plimsoll.segment_reduce, (x, ptr, operator.split()[1])
    if operator == "graph_norm":
        return torch.ops.plimsoll.graph_norm, (x, ptr, *(w.requires_grad_() for w in norm_weights(3)), 1e-5)
    if operator == "gather_csr":
        return torch.ops.plimsoll.gather_csr, (x.detach()[:5].clone().requires_grad_(), ptr, len(x))
    return torch.ops.plimsoll.segment_softmax, (x, ptr)


def of_tensors(operator):
    """A function of the tensors that have gradients, and these."""
    function, given = arguments(operator)
    at = [i for i, value in enumerate(given) if isinstance(value, torch.Tensor) and value.requires_grad]

    def call(*tensors):
        filled = list(given)
        for i, tensor in zip(at, tensors):
            filled[i] = tensor
        result = function(*filled)
        return result[0] if isinstance(result, tuple) else result

    return call, tuple(given[i] for i in at)


with_gather = pytest.mark.parametrize("operator", [*OPERATORS, "gather_csr"])


@with_gather
def test_gradcheck(operator):
    assert torch.autograd.gradcheck(*of_tensors(operator))


@every_operator
def test_second_derivatives_are_refused(operator):
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.gradgradcheck(*of_tensors(operator))


def test_gather_csr_has_second_derivatives():
    assert torch.autograd.gradgradcheck(*of_tensors("gather_csr"))


@with_gather
def test_opcheck(operator):
    function, given = arguments(operator)
    torch.library.opcheck(function.default, given, test_utils=OPCHECKS)


@with_gather
def test_inputs_may_lie_in_any_way(operator):
    """Transposed, every other column of a wider tensor; gradients that are expanded."""
    call, tensors = of_tensors(operator)
    expected = torch.autograd.grad(call(*tensors).sum(), tensors)
    x = tensors[0].detach()
    for strided in (x.t().contiguous().t(), torch.stack([x, -x], dim=2)[:, :, 0]):
        leaves = (strided.requires_grad_(), *tensors[1:])
        assert not strided.is_contiguous()
        for found, value in zip(torch.autograd.grad(call(*leaves).sum(), leaves), expected, strict=True):
            assert torch.equal(found, value)


@with_gather
def test_any_number_of_threads_gives_the_same_bits(operator, threads):
    x, ptr, _ = segments("many", 37, torch.float32)
    results = []
    for number in (1, 2, 3, 4):
        threads(number)
        if operator == "gather_csr":
            run = lambda x, ptr, n: torch.ops.plimsoll.gather_csr(x, ptr, n)  # noqa: E731
            results.append(evaluate(run, x[:500], ptr, len(x)))
        else:
            ours, _, weights = OPERATORS[operator]
            run = lambda x, ptr, _, *w: ours(x, ptr, *w)  # noqa: E731, B023
            results.append(evaluate(run, x, ptr, None, *norm_weights(37, torch.float32)[:weights]))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@with_gather
def test_autocast_computes_in_float32(operator):
    function, given = arguments(operator)
    half = [v.detach().bfloat16() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in given]
    full = [v.float() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in half]
    first = lambda result: result[0] if isinstance(result, tuple) else result  # noqa: E731
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = first(function(*half))
    assert found.dtype == torch.float32 and torch.equal(found, first(function(*full)))


BAD = {
    "x is a vector": (torch.ones(4), [0, 4], r"x f32 or f64 \[\w, F\].*found Float of shape \[4\]"),
    "x i64": (torch.ones(4, 2, dtype=torch.long), [0, 4], r"x f32 or f64 \[\w, F\].*Long"),
    "x f16": (torch.ones(4, 2).half(), [0, 4], r"x f32 or f64 \[\w, F\].*Half"),
    "x bf16": (torch.ones(4, 2).bfloat16(), [0, 4], r"x f32 or f64 \[\w, F\].*BFloat16"),
    "no ptr": (torch.ones(4, 2), [], r"ptr i64 \[G \+ 1\]|for the G segments"),
    "ptr is a matrix": (torch.ones(4, 2), [[0, 4]], r"ptr i64 \[G \+ 1\]|for the G segments"),
    "ptr of floats": (torch.ones(4, 2), [0.0, 4.0], r"ptr i64 \[G \+ 1\]"),
    "ptr begins late": (torch.ones(4, 2), [1, 4], r"ptr goes from 1 to 4, expected from 0 to 4 rows"),
    "ptr ends early": (torch.ones(4, 2), [0, 3], r"ptr goes from 0 to 3, expected from 0 to 4 rows"),
    "ptr ends late": (torch.ones(4, 2), [0, 5], r"ptr goes from 0 to 5, expected from 0 to 4 rows"),
    "ptr falls": (torch.ones(4, 2), [0, 3, 2, 4], r"ptr falls from 3 to 2 at segment 1"),
    "ptr leaves the rows": (torch.ones(4, 2), [0, 9, 4], r"ptr falls from 9 to 4 at segment 1"),
    "ptr below 0": (torch.ones(4, 2), [0, -1, 4], r"ptr falls from 0 to -1 at segment 0"),
}


@with_gather
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_error(operator, name):
    x, ptr, text = BAD[name]
    ptr = torch.tensor(ptr) if ptr else torch.empty(0, dtype=torch.long)
    with pytest.raises(RuntimeError, match=text):
        if operator == "gather_csr":
            rows = x if x.dim() < 2 or ptr.dim() != 1 else x[:1].expand(max(len(ptr) - 1, 0), -1)
            torch.ops.plimsoll.gather_csr(rows, ptr, 4)
        else:
            weights = [torch.ones(2)] * OPERATORS[operator][2]
            OPERATORS[operator][0](x, ptr, *weights)


def test_other_bad_input_is_an_error():
    x, ptr = torch.ones(4, 2), torch.tensor([0, 4])
    with pytest.raises(RuntimeError, match="found 'min', expected sum, mean or max"):
        torch.ops.plimsoll.segment_reduce(x, ptr, "min")
    for wrong in (torch.ones(3), torch.ones(2).double(), torch.ones(2, 1)):
        for at in range(3):
            weights = [torch.ones(2)] * 3
            weights[at] = wrong
            with pytest.raises(RuntimeError, match=r"weight, bias and mean_scale \[F\] of x's dtype"):
                torch.ops.plimsoll.graph_norm(x, ptr, *weights, 1e-5)
    with pytest.raises(RuntimeError, match="for the G segments"):
        torch.ops.plimsoll.gather_csr(x, ptr, 4)
    with pytest.raises(RuntimeError, match="ptr i64"):
        torch.ops.plimsoll.segment_softmax(x, torch.tensor([0, 9, 4])[::2])
    for backward, given in (("segment_reduce_backward", (x, x, x, ptr, "sum")),
                            ("segment_softmax_backward", (x[:3], x, ptr)),
                            ("graph_norm_backward", (x[:3], x, ptr, x[0], x[0], x[:1], x[:1])),
                            ("graph_norm_backward", (x, x, ptr, x[0, :1], x[0], x[:1], x[:1])),
                            ("graph_norm_backward", (x, x, ptr, x[0], x[0], x[:0], x[:1]))):
        with pytest.raises(RuntimeError, match="expected"):
            getattr(torch.ops.plimsoll, backward)(*given)


@pytest.mark.parametrize("row", [0, 3, 6])
def test_max_keeps_what_is_no_number(row):
    x = torch.arange(14.0).reshape(7, 2)
    x[row, 1] = torch.nan
    ptr = torch.tensor([0, 7])
    out = torch.ops.plimsoll.segment_reduce(x, ptr, "max")
    assert out[0, 0] == 12 and torch.isnan(out[0, 1])
    torch.testing.assert_close(out, global_max_pool(x, torch.zeros(7, dtype=torch.long), 1), equal_nan=True)
