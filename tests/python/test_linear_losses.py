"""Losses of linear layers with many classes against torch's dense ones."""

import pytest

torch = pytest.importorskip("torch")
from torch.nn import functional as F  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")

SHAPES = {  # rows, width, classes
    "usual": (150, 16, 70),
    "one class": (5, 3, 1),
    "one row": (1, 4, 9),
    "no rows": (0, 4, 9),
    "width 1": (70, 1, 33),
    "a tile": (64, 7, 16),
    "many classes": (65, 48, 2049),
}
OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6}


def dense_cross_entropy(x, weight, bias, target):
    return F.cross_entropy(F.linear(x, weight, bias), target, reduction="none")


def dense_multilabel_bce(x, weight, bias, ptr, classes):
    logits = F.linear(x, weight, bias)
    rows = torch.repeat_interleave(ptr.diff())
    wanted = torch.zeros_like(logits).index_put_((rows, classes[: len(rows)]), torch.ones((), dtype=x.dtype))
    return F.binary_cross_entropy_with_logits(logits, wanted, reduction="none").mean(1)


OPERATORS = {
    "linear_cross_entropy": dense_cross_entropy,
    "linear_multilabel_bce": dense_multilabel_bce,
}
every_operator = pytest.mark.parametrize("operator", OPERATORS)


def arguments(operator, shape="usual", dtype=torch.float64, scale=1.0):
    """x, weight and bias, which want gradients, and the classes of each row: some have none, one has all."""
    rows, width, classes = SHAPES[shape]
    generator = torch.Generator().manual_seed(1)
    x, weight, bias = ((scale * torch.randn(size, dtype=torch.float64, generator=generator)).to(dtype)
                       for size in ((rows, width), (classes, width), (classes,)))
    given = [tensor.requires_grad_() for tensor in (x, weight, bias)]
    if operator == "linear_cross_entropy":
        return (*given, torch.randint(classes, (rows,), generator=generator))
    chances = torch.tensor([0.0, 0.3, 1.0])[torch.arange(rows) % 3]
    listed = torch.rand(rows, classes, generator=generator) < chances[:, None]
    ptr = torch.cat([torch.zeros(1, dtype=torch.long), listed.sum(1).cumsum(0)])
    after = torch.full((3,), -7)  # is not read
    return (*given, ptr, torch.cat([listed.nonzero()[:, 1], after]))


def evaluate(function, given, dtype):
    """The losses and the gradients of a weighted sum of them."""
    leaves = [tensor.detach().to(dtype).requires_grad_() for tensor in given[:3]]
    losses = function(*leaves, *given[3:])
    weight = torch.randn(losses.shape, generator=torch.Generator().manual_seed(3)).to(dtype)
    return [losses.detach(), *torch.autograd.grad((weight * losses).sum(), leaves)]


def ours(operator):
    return getattr(torch.ops.plimsoll, operator)


@every_operator
@pytest.mark.parametrize("scale", [0.1, 1, 30])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_same_as_dense(operator, shape, dtype, scale):
    given = arguments(operator, shape, dtype, scale)
    found = evaluate(ours(operator), given, dtype)
    expected = evaluate(OPERATORS[operator], given, torch.float64)
    # A logit is as wrong as its product; what is taken from a large loss stays as wrong as that.
    for value, wanted in zip(found, expected, strict=True):
        assert value.dtype == dtype
        assert value.shape == wanted.shape
        least = 0.01 * max(wanted.numel(), 1)**0.5 * max(scale, 1)**2
        assert float((value.double() - wanted).norm()) <= TOLERANCE[dtype] * max(float(wanted.norm()), least)


@every_operator
@pytest.mark.parametrize("scale", [0.1, 1, 30])
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradients_of_a_mean(operator, shape, dtype, scale):
    """All losses have one gradient: forward has made what backward scales."""
    given = arguments(operator, shape, dtype, scale)

    def mean_of(function, dtype):
        leaves = [tensor.detach().to(dtype).requires_grad_() for tensor in given[:3]]
        losses = function(*leaves, *given[3:])
        return torch.autograd.grad(losses.sum() / max(len(losses), 1), leaves)

    found, expected = mean_of(ours(operator), dtype), mean_of(OPERATORS[operator], torch.float64)
    for value, wanted in zip(found, expected, strict=True):
        least = 0.01 * max(wanted.numel(), 1)**0.5 * max(scale, 1)**2
        assert value.dtype == dtype
        assert float((value.double() - wanted).norm()) <= TOLERANCE[dtype] * max(float(wanted.norm()), least)


@every_operator
def test_losses_are_the_same_bits_with_and_without_gradients(operator):
    given = arguments(operator, "many classes", torch.float32)
    with torch.no_grad():
        without = ours(operator)(*given)
    assert torch.equal(ours(operator)(*given).detach(), without)


@every_operator
def test_losses_of_hopeless_and_certain_rows(operator):
    """Logits of +-1000: nothing overflows."""
    x = torch.tensor([[1000.0], [-1000.0]], requires_grad=True)
    weight, bias = torch.tensor([[1.0], [-1.0]]), torch.zeros(2)
    classes = (torch.zeros(2, dtype=torch.long),) if operator == "linear_cross_entropy" else (
        torch.tensor([0, 1, 2]), torch.zeros(2, dtype=torch.long))
    losses = ours(operator)(x, weight, bias, *classes)
    expected = {"linear_cross_entropy": [0, 2000], "linear_multilabel_bce": [0, 1000]}[operator]
    torch.testing.assert_close(losses.detach(), torch.tensor(expected, dtype=torch.float32))
    assert torch.autograd.grad(losses.sum(), x)[0].isfinite().all()


@every_operator
def test_gradcheck(operator):
    x, weight, bias, *classes = arguments(operator, "one row")
    assert torch.autograd.gradcheck(lambda *leaves: ours(operator)(*leaves, *classes), (x, weight, bias))


@every_operator
def test_second_derivatives_are_refused(operator):
    x, weight, bias, *classes = arguments(operator, "one row")
    with pytest.raises(RuntimeError, match="no second derivatives"):
        torch.autograd.gradgradcheck(lambda *leaves: ours(operator)(*leaves, *classes), (x, weight, bias))


@every_operator
def test_opcheck(operator):
    torch.library.opcheck(ours(operator).default, arguments(operator), test_utils=OPCHECKS)


@every_operator
def test_inputs_may_lie_in_any_way(operator):
    x, *rest = arguments(operator)
    expected = torch.autograd.grad(ours(operator)(x, *rest).sum(), (x, *rest[:2]))
    for strided in (x.detach().t().contiguous().t(), torch.stack([x.detach(), -x.detach()], dim=2)[:, :, 0]):
        assert not strided.is_contiguous()
        strided.requires_grad_()
        found = torch.autograd.grad(ours(operator)(strided, *rest).sum(), (strided, *rest[:2]))
        assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@every_operator
def test_any_number_of_threads_gives_the_same_bits(operator, threads):
    given = arguments(operator, "many classes", torch.float32)
    results = []
    for number in (1, 2, 4):
        threads(number)
        results.append(evaluate(ours(operator), given, torch.float32))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@every_operator
def test_rows_do_not_depend_on_their_tile(operator):
    """Losses of the first rows alone are those among many: tiles of whole size have the same bits."""
    x, weight, bias, *classes = arguments(operator, "usual", torch.float32)
    whole = ours(operator)(x, weight, bias, *classes)
    part = (classes[0][:64],) if operator == "linear_cross_entropy" else (classes[0][:65], classes[1])
    assert torch.equal(ours(operator)(x[:64], weight, bias, *part), whole[:64])


@every_operator
def test_autocast_computes_in_float32(operator):
    given = arguments(operator, dtype=torch.float32)
    half = [tensor.detach().bfloat16() for tensor in given[:3]]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = ours(operator)(*half, *given[3:])
    assert torch.equal(found, ours(operator)(*(tensor.float() for tensor in half), *given[3:]))


@every_operator
def test_wrong_arguments_are_named(operator):
    x, weight, bias, *classes = arguments(operator)
    call = ours(operator)
    for given, text in (
        ((x[0], weight, bias, *classes), "x f32 or f64"),
        ((x.half(), weight.half(), bias.half(), *classes), "x f32 or f64"),
        ((x, weight[:, 1:], bias, *classes), "weight"),
        ((x, weight[:0], bias[:0], *classes), "at least one class"),
        ((x, weight.float(), bias, *classes), "weight"),
        ((x, weight, bias[1:], *classes), "bias"),
        ((x, weight, bias, classes[0][1:], *classes[1:]), r"\[N"),
        ((x, weight, bias, classes[0].int(), *classes[1:]), "i64"),
    ):
        with pytest.raises(RuntimeError, match=text):
            call(*given)
    for wrong in (-1, len(weight)):
        bad = classes[-1].clone()
        bad[2] = wrong
        with pytest.raises(RuntimeError, match=f"class {wrong} at index 2, expected a class from 0 to {len(weight) - 1}"):
            call(x, weight, bias, *classes[:-1], bad)


def test_a_ptr_that_falls_is_refused():
    x, weight, bias, ptr, classes = arguments("linear_multilabel_bce")
    bad = ptr.clone()
    bad[3] = bad[2] - 1
    for wrong in (bad, ptr + 1, ptr + len(classes)):
        with pytest.raises(RuntimeError, match="ptr goes from"):
            torch.ops.plimsoll.linear_multilabel_bce(x, weight, bias, wrong, classes)
