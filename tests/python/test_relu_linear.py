"""torch.ops.plimsoll.relu_linear against torch's relu and linear layer in float64."""

import pytest

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("ops", "threads")

OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6}


def inputs(rows, widths, bias, dtype=torch.float64):
    generator = torch.Generator().manual_seed(2)
    shapes = (rows, widths[0]), (widths[1], widths[0]), (widths[1],)
    given = [torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype) for shape in shapes]
    return given if bias else [*given[:2], None]


def by_torch(x, weight, bias):
    return torch.nn.functional.linear(x.relu(), weight, bias)


def evaluate(function, arguments):
    given = [None if a is None else a.detach().clone().requires_grad_() for a in arguments]
    out = function(*given)
    weight = torch.randn(out.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    return [out.detach(), *torch.autograd.grad((weight.to(out.dtype) * out).sum(), [a for a in given if a is not None])]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("widths", [(5, 9), (64, 64), (64, 2), (33, 40), (1, 1)], ids=str)
@pytest.mark.parametrize("rows", [0, 1, 95, 97, 3000])
def test_as_torch(rows, widths, bias, dtype):
    arguments = inputs(rows, widths, bias, dtype)
    double = [None if a is None else a.double() for a in arguments]
    found, expected = evaluate(torch.ops.plimsoll.relu_linear, arguments), evaluate(by_torch, double)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == dtype and ours.shape == theirs.shape
        assert float((ours.double() - theirs).norm()) <= TOLERANCE[dtype] * max(float(theirs.norm()), 1e-2)


@pytest.mark.parametrize("bias", [True, False])
def test_gradcheck_and_opcheck(bias):
    arguments = tuple(None if a is None else a.requires_grad_() for a in inputs(7, (5, 3), bias))
    assert torch.autograd.gradcheck(torch.ops.plimsoll.relu_linear, arguments)
    torch.library.opcheck(torch.ops.plimsoll.relu_linear.default, arguments, test_utils=OPCHECKS)
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.gradgradcheck(torch.ops.plimsoll.relu_linear, arguments)


def test_what_is_no_number_stays_so_and_zeros_have_no_gradient():
    x = torch.tensor([[float("nan")], [0.0], [-1.0], [2.0]], requires_grad=True)
    out = torch.ops.plimsoll.relu_linear(x, torch.ones(1, 1))
    assert out.isnan().flatten().tolist() == [True, False, False, False] and out[1:].flatten().tolist() == [0, 0, 2]
    assert torch.autograd.grad(out.sum(), x)[0][1:].flatten().tolist() == [0, 0, 1]


def test_any_number_of_threads_gives_the_same_bits(threads):
    results = []
    for number in (1, 2, 4):
        threads(number)
        results.append(evaluate(torch.ops.plimsoll.relu_linear, inputs(9000, (33, 40), True, torch.float32)))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("place, value, text", [
    (0, torch.ones(5), r"x f32 or f64 \[N, F\]"), (0, torch.ones(3, 5).half(), r"x f32 or f64 \[N, F\].*Half"),
    (1, torch.ones(9, 4), r"weight \[O, F\]"), (1, torch.ones(9, 5).double(), r"weight \[O, F\].*Double"),
    (2, torch.ones(8), r"bias \[O\]"),
])  # fmt: skip
def test_bad_input_is_an_error(place, value, text):
    arguments = inputs(3, (5, 9), True, torch.float32)
    arguments[place] = value
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.relu_linear(*arguments)
