"""What torch asks of the operators of attention: gradients, shapes, compilation, inference."""

import os

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import assert_close, both_kinds, mixed, random_inputs, small_graphs  # noqa: E402
from attention_twin import LAYERS, make_conv  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


def small_arguments(kind, dropout=0.0, keep_projection=True, bipartite=False):
    """The arguments of an operator, tensors that require gradients where they can."""
    captured = []
    nodes, edge_index = 6, torch.tensor([[0, 1, 2, 2, 4, 4, 3], [1, 0, 1, 2, 0, 0, 1]])
    features = (3, 2) if bipartite else 3
    conv = make_conv(kind, features, 3, heads=2, edge_dim=2)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], 3, 2)
    if bipartite:
        x = x, random_inputs(3, 0, 2, None)[0]
    operator = getattr(torch.ops.plimsoll, kind)

    class Capture(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            if function is operator.default:
                captured.extend(arguments)
            return function(*arguments, **(keywords or {}))

    with torch.no_grad(), Capture():
        LAYERS[kind].run(conv, x, edge_index, edge_attr, dropout=dropout, keep_projection=keep_projection,
                         seed=torch.tensor([3, 1, 2]) if dropout else None)
    return tuple(value.detach().clone().requires_grad_(value.is_floating_point())
                 if isinstance(value, torch.Tensor) else value for value in captured)


def differentiable(kind, arguments):
    """The operator as a function of its tensors alone, and these."""
    at = [i for i, value in enumerate(arguments) if isinstance(value, torch.Tensor) and value.requires_grad]

    def function(*tensors):
        given = list(arguments)
        for i, tensor in zip(at, tensors):
            given[i] = tensor
        return getattr(torch.ops.plimsoll, kind)(*given)[:2]

    return function, tuple(arguments[i] for i in at)


@both_kinds
@pytest.mark.parametrize("how", [{}, {"dropout": 0.4}, {"keep_projection": False}, {"bipartite": True}], ids=str)
def test_gradcheck(kind, how):
    assert torch.autograd.gradcheck(*differentiable(kind, small_arguments(kind, **how)))


@both_kinds
def test_second_derivatives_are_refused(kind):
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.gradgradcheck(*differentiable(kind, small_arguments(kind)))


@both_kinds
def test_second_derivatives_of_a_sum_are_refused(kind):
    """The gradient that comes in does not require one itself here."""
    function, tensors = differentiable(kind, small_arguments(kind))
    gradient = torch.autograd.grad(function(*tensors)[0].sum(), tensors[0], create_graph=True)[0]
    with pytest.raises(RuntimeError, match="second derivatives"):
        torch.autograd.grad(gradient.square().sum() + tensors[0].sum(), tensors[0])


OPCHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@both_kinds
@pytest.mark.parametrize("how", [{}, {"dropout": 0.4}, {"keep_projection": False}, {"bipartite": True}], ids=str)
def test_opcheck(kind, how):
    torch.library.opcheck(getattr(torch.ops.plimsoll, kind).default, small_arguments(kind, **how), test_utils=OPCHECKS)


def test_opcheck_of_edge_order():
    for same_nodes, drop_loops in ((True, True), (False, False)):
        torch.library.opcheck(torch.ops.plimsoll.edge_order.default, (mixed()[1], 24, 24, same_nodes, drop_loops),
                              test_utils=OPCHECKS)


@both_kinds
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_gives_the_numbers_of_eager(kind, backend):
    if backend == "inductor" and not os.environ.get("PLIMSOLL_SLOW"):
        pytest.skip("compiles C++ (set PLIMSOLL_SLOW=1)")

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = make_conv(kind, 6, 8, heads=2, edge_dim=3)

        def forward(self, x, edge_index, edge_attr):
            return LAYERS[kind].run(self.conv, x, edge_index, edge_attr)[0].relu().mean()

    module = Module()
    compiled = torch.compile(module, fullgraph=True, backend=backend, dynamic=True)
    for graph in (mixed, small_graphs):
        nodes, edge_index = graph()
        x, edge_attr = random_inputs(nodes, edge_index.shape[1], 6, 3)
        results = []
        for run in (module, compiled):
            leaf = x.clone().requires_grad_()
            loss = run(leaf, edge_index, edge_attr)
            results.append([loss, *torch.autograd.grad(loss, [leaf, *module.parameters()])])
        for eager, found in zip(*results):
            torch.testing.assert_close(found, eager, rtol=1e-12, atol=1e-14)


@both_kinds
def test_inference_mode(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 4, heads=2)
    x = random_inputs(nodes, 0, 6, None)[0]
    expected = LAYERS[kind].run(conv, x, edge_index)[0]
    with torch.inference_mode():
        assert torch.equal(LAYERS[kind].run(conv, x, edge_index)[0], expected)


@both_kinds
def test_inputs_that_change_before_backward_are_noticed(kind):
    nodes, edge_index = mixed()
    conv = make_conv(kind, 6, 4, heads=2)
    x = random_inputs(nodes, 0, 6, None)[0]
    out = LAYERS[kind].run(conv, x, edge_index)[0]
    x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()
