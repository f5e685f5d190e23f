"""Bad input of the operators of attention."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import both_kinds  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


def path_order():
    return torch.ops.plimsoll.edge_order(torch.tensor([[0, 1, 2], [1, 2, 3]]), 4, 4, True, True)


COMMON_ARGUMENTS = {"seed": None, "keys": None, "heads": 2, "slope": 0.2, "loops": True, "fill": "mean",
                    "fill_value": 0.0, "dropout": 0.0, "keep_projection": True, "return_attention": True}


def gat_arguments(**other):
    """Arguments of torch.ops.plimsoll.gat by name: 4 nodes, 3 edges, F = 5, H = 2, D = 3, K = 2."""
    return {"x": torch.ones(4, 5), "weight": torch.ones(6, 5), "att_source": torch.ones(2, 3),
            "att_target": torch.ones(2, 3), "target_score": None, "order": path_order(),
            "edge_attr": torch.ones(3, 2), "q": torch.ones(2, 2), "bias": torch.ones(6), **COMMON_ARGUMENTS, **other}


def gatv2_arguments(**other):
    """The same of torch.ops.plimsoll.gatv2."""
    return {"x": torch.ones(4, 5), "weight": torch.ones(6, 5), "weight_bias": torch.ones(6), "x_target": None,
            "target_weight": torch.ones(6, 5), "target_bias": torch.ones(6), "att": torch.ones(2, 3),
            "order": path_order(), "edge_attr": torch.ones(3, 2), "edge_weight": torch.ones(2, 6),
            "bias": torch.ones(6), **COMMON_ARGUMENTS, **other}


def test_arguments_of_the_bad_input_tests_are_good():
    for operator, arguments in ((torch.ops.plimsoll.gat, gat_arguments()),
                                (torch.ops.plimsoll.gatv2, gatv2_arguments())):
        out, alpha, *_ = operator(**arguments)
        assert out.shape == (4, 6) and alpha.shape == (7, 2)


def order_of(edges, nodes):
    return torch.ops.plimsoll.edge_order(torch.zeros(2, edges, dtype=torch.long), nodes, nodes, True, False)


BAD = {
    "x is a vector": (lambda: {"x": torch.ones(4)}, r"x f32, f64 or bf16 \[S, F\]"),
    "x i64": (lambda: {"x": torch.ones(4, 5, dtype=torch.long)}, r"x f32, f64 or bf16 \[S, F\].*Long"),
    "x f16": (lambda: {"x": torch.ones(4, 5).half()}, r"x f32, f64 or bf16 \[S, F\]"),
    "x has other features": (lambda: {"x": torch.ones(4, 6)}, r"weight \[H\*D, F\]"),
    "x has other nodes": (lambda: {"x": torch.ones(5, 5)}, r"order|edge_attr"),
    "weight f64": (lambda: {"weight": torch.ones(6, 5).double()}, r"weight \[H\*D, F\] of x's dtype"),
    "weight has other heads": (lambda: {"heads": 4}, r"weight \[H\*D, F\] with the number of heads"),
    "no heads": (lambda: {"heads": 0}, r"number of heads"),
    "heads below 0": (lambda: {"heads": -2}, r"number of heads"),
    "att_source of other heads": (lambda: {"att_source": torch.ones(3, 2)}, r"att_source \[H, D\]"),
    "att_target of other heads": (lambda: {"att_target": torch.ones(3, 2)}, r"att_target \[H, D\]"),
    "no att_target": (lambda: {"att_target": None}, r"att_target, or target_score \[T, H\].*none"),
    "target_score is a vector": (lambda: {"att_target": None, "target_score": torch.ones(4)}, r"target_score"),
    "target_score of other targets": (lambda: {"att_target": None, "target_score": torch.ones(3, 2)},
                                    r"order|edge_attr"),
    "target_score of other heads": (lambda: {"att_target": None, "target_score": torch.ones(4, 3)},
                                    r"target_score \[T, H\]"),
    "edge_attr of other edges": (lambda: {"edge_attr": torch.ones(4, 2)}, r"edge_attr \[E, K\]"),
    "edge_attr of other features": (lambda: {"edge_attr": torch.ones(3, 1)}, r"edge_attr \[E, K\]"),
    "edge_attr f64": (lambda: {"edge_attr": torch.ones(3, 2).double()}, r"edge_attr \[E, K\] of x's dtype"),
    "q without edge_attr": (lambda: {"edge_attr": None}, r"edge_attr \[E, K\].*none"),
    "edge_attr without q": (lambda: {"q": None}, r"edge_attr"),
    "q of other heads": (lambda: {"q": torch.ones(2, 3)}, r"q \[K, H\]"),
    "bias of other channels": (lambda: {"bias": torch.ones(5)}, r"bias \[H\*D\]"),
    "order i64": (lambda: {"order": path_order().long()}, r"order i32"),
    "order of more edges": (lambda: {"order": order_of(5, 4)}, r"edge_attr \[E, K\]"),
    "order of other nodes": (lambda: {"order": order_of(4, 3)}, r"order"),
    "order with its end cut off": (lambda: {"order": path_order()[:-2]}, r"edge_attr|order"),
    "order of nothing": (lambda: {"order": torch.empty(0, dtype=torch.int32)}, r"order i32"),
    "order of noughts": (lambda: {"order": torch.zeros_like(path_order())}, r"edge_order\(\)"),
    "order that is strided": (lambda: {"order": path_order().repeat_interleave(2)[::2]}, r"order"),
    "unknown fill": (lambda: {"fill": "max"}, "fill: found 'max', expected zero, mean or value"),
    "dropout of all": (lambda: {"dropout": 1.0, "seed": torch.zeros(3, dtype=torch.long)}, r"dropout must be in"),
    "dropout below 0": (lambda: {"dropout": -0.1, "seed": torch.zeros(3, dtype=torch.long)}, r"dropout must be in"),
    "dropout is no number": (lambda: {"dropout": float("nan")}, r"dropout must be in"),
    "dropout without seed": (lambda: {"dropout": 0.5}, r"seed i64 \[3\].*none"),
    "seed too short": (lambda: {"dropout": 0.5, "seed": torch.zeros(2, dtype=torch.long)}, r"seed i64 \[3\]"),
    "seed i32": (lambda: {"dropout": 0.5, "seed": torch.zeros(3, dtype=torch.int32)}, r"seed i64 \[3\]"),
    "keys of other targets": (lambda: {"keys": torch.zeros(3, 5, dtype=torch.long)}, r"keys i64 \[3, T\]"),
    "keys i32": (lambda: {"keys": torch.zeros(3, 4, dtype=torch.int32)}, r"keys i64 \[3, T\]"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_an_error(name):
    other, text = BAD[name]
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.gat(**gat_arguments(**other()))


BAD_GATV2 = {
    "att of other heads": ({"att": torch.ones(3, 2)}, r"att \[H, D\]"),
    "weight_bias of other channels": ({"weight_bias": torch.ones(5)}, r"weight_bias \[H\*D\]"),
    "target_weight of other features": ({"target_weight": torch.ones(6, 4)}, r"target_weight \[H\*D, F\]"),
    "target_weight of other channels": ({"target_weight": torch.ones(5, 5)}, r"target_weight \[H\*D, F\]"),
    "target_bias of other channels": ({"target_bias": torch.ones(5)}, r"target_bias \[H\*D\]"),
    "target_bias alone": ({"target_weight": None}, r"target_weight"),
    "x_target without target_weight": ({"x_target": torch.ones(4, 5), "target_weight": None, "target_bias": None},
                                       r"target_weight if targets"),
    "x_target is a vector": ({"x_target": torch.ones(4)}, r"x_target \[T, F2\]"),
    "x_target f64": ({"x_target": torch.ones(4, 5).double()}, r"dtype"),
    "x_target of other targets": ({"x_target": torch.ones(3, 5)}, r"order|edge_attr"),
    "edge_weight of other channels": ({"edge_weight": torch.ones(2, 5)}, r"edge_weight \[K, H\*D\]"),
    "edge_attr of other features": ({"edge_attr": torch.ones(3, 1)}, r"edge_attr \[E, K\]"),
    "edge_weight without edge_attr": ({"edge_attr": None}, r"edge_attr \[E, K\].*none"),
    "edge_attr without edge_weight": ({"edge_weight": None}, r"edge_attr"),
}


@pytest.mark.parametrize("name", BAD_GATV2)
def test_bad_input_of_gatv2_is_an_error(name):
    other, text = BAD_GATV2[name]
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.gatv2(**gatv2_arguments(**other))


def test_an_order_of_other_sources_is_an_error():
    order = torch.ops.plimsoll.edge_order(torch.tensor([[90, 1], [0, 1]]), 100, 4, False, False)
    with pytest.raises(RuntimeError, match="order"):
        torch.ops.plimsoll.gat(**gat_arguments(order=order, edge_attr=None, q=None, att_target=None,
                                               target_score=torch.ones(4, 2), loops=False))


@both_kinds
def test_bad_gradients_are_an_error(kind):
    """The operators of backward may be called by anyone."""
    given = gat_arguments() if kind == "gat" else gatv2_arguments()
    _, _, *saved = getattr(torch.ops.plimsoll, kind)(**given)
    grad = torch.ones(4, 6)

    def call(grad_out=grad, grad_alpha=None, saved=saved):
        backward = getattr(torch.ops.plimsoll, f"{kind}_backward")
        return backward(grad_out, grad_alpha, *given.values(), *saved, True, True)

    call()
    for wrong in (torch.ones(3, 6), torch.ones(4, 5), grad.double()):
        with pytest.raises(RuntimeError, match="expected"):
            call(grad_out=wrong)
    with pytest.raises(RuntimeError, match="expected"):
        call(grad_alpha=torch.ones(3, 2))
    for i in range(len(saved)):
        with pytest.raises(RuntimeError, match="expected"):
            call(saved=[*saved[:i], torch.ones(1, 1), *saved[i + 1:]])


@pytest.mark.parametrize("edges, sources, targets, same_nodes, text", [
    ([[0, 4], [1, 2]], 4, 4, True, "edge 1 goes from node 4 to node 2, expected below 4 and 4"),
    ([[0, 1], [1, -1]], 4, 4, True, "edge 1 goes from node 1 to node -1, expected below 4 and 4"),
    ([[0, 3], [1, 3]], 4, 3, False, "edge 1 goes from node 3 to node 3, expected below 4 and 3"),
    ([[0], [0]], 0, 0, True, "expected below 0 and 0"),
    ([[0], [0]], 4, 3, True, "found 4 sources and 3 targets, expected 0 or more of each"),
    ([[0], [0]], -1, -1, True, "-1 sources and -1 targets"),
    ([0, 1], 4, 4, True, r"edge_index i64 \[2, E\], found Long of shape \[2\]"),
    ([[0, 1], [1, 0], [0, 0]], 4, 4, True, r"edge_index i64 \[2, E\], found Long of shape \[3, 2\]"),
    ([[0.0], [1.0]], 4, 4, True, r"edge_index i64 \[2, E\], found Float of shape \[2, 1\]"),
    ([[0], [0]], 2**31, 2**31, True, "expected at most 2"),
    ([[0], [0]], 2**40, 2**40, True, "expected at most 2"),
    ([[0], [0]], 2**62, 2**62, True, "expected at most 2"),
])
def test_bad_edges_are_an_error(edges, sources, targets, same_nodes, text):
    with pytest.raises(RuntimeError, match=text):
        torch.ops.plimsoll.edge_order(torch.tensor(edges), sources, targets, same_nodes, False)
