"""The network of a GAT detector as ONNX (opset 18), node by node: what onnxruntime computes is what is written here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.errors import MissingPackage, UsageError
from plimsoll.model_file import GAT, ModelFile

_OPSET = 18  # the first whose ScatterND takes maxima
_SLOPE = 0.2  # of LeakyReLU in attention, as PyTorch Geometric's
_LEAST_SUM = 1e-16  # added to the sum of a softmax, as PyTorch Geometric does
_LOWEST = float(np.finfo(np.float32).min)


def write_onnx(file: ModelFile, path: Path, name: str) -> None:
    """Errors: `UsageError` for a model that has no ONNX here; `MissingPackage` without `onnx`."""
    if file.kind != GAT:
        raise UsageError(f"{name}: holds a {file.kind}; ONNX is written of {GAT}, the others as a state_dict")
    if file.config.get("jk", "cat") not in ("cat", "max"):
        raise UsageError(f"{name}: jk {file.config['jk']} has no ONNX here; expected cat or max")
    try:
        import onnx
    except ImportError as error:
        raise MissingPackage(f"export --to onnx: {error}; install it: pip install onnx") from error
    graph = _Graph(file.weights)
    _network(graph, file.config)
    helper = onnx.helper
    real, whole = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    edges = file.config.get("edge_features", 0)
    inputs = [("x", real, ["N", file.config["in_features"]]), ("edge_index", whole, [2, "E"]), ("batch", whole, ["N"])]
    inputs += [("edge_attr", real, ["E", edges])] if edges else []
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node(op, given, [made], **options) for op, given, made, options in graph.nodes],
            "gat_with_jk",
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info("logits", real, ["G", 2])],
            [onnx.numpy_helper.from_array(values, constant) for constant, values in graph.constants.items()],
        ),
        producer_name="plimsoll",
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=9,
    )
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


class _Graph:
    """Nodes in the order in which they are computed. A value is known by its name."""

    def __init__(self, weights: dict[str, NDArray[np.float32]]) -> None:
        self.nodes: list[tuple[str, list[str], str, dict[str, Any]]] = []
        self.constants: dict[str, NDArray[Any]] = {name: np.asarray(values) for name, values in weights.items()}

    def __call__(self, op: str, *given: str, made: str = "", **options: Any) -> str:
        made = made or f"{op}_{len(self.nodes)}"
        self.nodes.append((op, list(given), made, options))
        return made

    def whole(self, *values: int) -> str:
        name = "i_" + "_".join(map(str, values))
        self.constants[name] = np.array(values, np.int64)
        return name

    def real(self, value: float) -> str:
        name = f"f_{value}"
        self.constants[name] = np.array(value, np.float32)
        return name

    def fill(self, value: float, shape: str) -> str:
        return self("Expand", self.real(value), shape)

    def linear(self, x: str, name: str) -> str:
        y = self("MatMul", x, self("Transpose", f"{name}.weight", perm=[1, 0]))
        return self("Add", y, f"{name}.bias") if f"{name}.bias" in self.constants else y

    def size(self, x: str, axis: int) -> str:
        return self("Gather", self("Shape", x), self.whole(axis), axis=0)

    def scatter(self, rows: str, at: str, count: str, reduction: str, start: float = 0.0) -> str:
        """[E, ...] rows summed, or their maxima, at the [E] places `at` of `count` rows."""
        shape = self("Concat", count, self("Slice", self("Shape", rows), self.whole(1), self.whole(1 << 30)), axis=0)
        places = self("Unsqueeze", at, self.whole(1))
        return self("ScatterND", self.fill(start, shape), places, rows, reduction=reduction)


def _network(g: _Graph, config: dict[str, Any]) -> None:
    count = g.size("x", 0)
    own = g("Range", g("Squeeze", g.whole(0)), g("Squeeze", count), g("Squeeze", g.whole(1)))
    stored = [g("Squeeze", g("Gather", "edge_index", g.whole(end), axis=0), g.whole(0)) for end in (0, 1)]
    source, target = (g("Concat", ends, own, axis=0) for ends in stored)
    # Each node has one loop; stored ones count for nothing.
    loop = g("Cast", g("Equal", *stored), to=1)
    barred = g("Concat", g("Mul", loop, g.real(_LOWEST)), g("Expand", g.real(0.0), count), axis=0)
    edge_attr = _with_means(g, stored[1], loop, count) if config.get("edge_features", 0) else ""
    ids = g("Cast", g("Squeeze", g("Slice", "x", g.whole(0), g.whole(1), g.whole(1)), g.whole(1)), to=7)
    rest = g("Slice", "x", g.whole(1), g.whole(1 << 30), g.whole(1))
    h = g("Concat", g("Gather", "embedding.weight", ids, axis=0), rest, axis=1)
    outputs = []
    for i in range(config["layers"]):
        h = g("Relu", _attention(g, f"convs.{i}", h, source, target, barred, edge_attr, count, config))
        outputs.append(h)
    joined = g("Concat", *outputs, axis=1) if config.get("jk", "cat") == "cat" else g("Max", *outputs)
    h = _pool(g, joined, config.get("pooling", "mean"))
    for j in range(config["fc_layers"] - 1):
        h = g("Relu", g.linear(h, f"fc.{j}"))
    y = g.linear(h, "head")
    g("Identity", y, made="logits")


def _with_means(g: _Graph, target: str, loop: str, count: str) -> str:
    """Features of edges, and behind them those of loops: the mean of what points to the node, but for stored loops."""
    kept = g("Unsqueeze", g("Sub", g.real(1.0), loop), g.whole(1))
    sums = g.scatter(g("Mul", "edge_attr", kept), target, count, "add")
    counts = g("Max", g.scatter(kept, target, count, "add"), g.real(1.0))
    return g("Concat", "edge_attr", g("Div", sums, counts), axis=0)


def _attention(
    g: _Graph, name: str, x: str, source: str, target: str, barred: str, edge_attr: str, count: str, config: dict[str, Any]
) -> str:
    heads, hidden = config["heads"], config["hidden"]

    def by_heads(rows: str) -> str:
        return g("Reshape", rows, g.whole(-1, heads, hidden))

    def scored(rows: str, attention: str) -> str:
        return g("ReduceSum", g("Mul", rows, attention), g.whole(2), keepdims=0)

    edges = by_heads(g("MatMul", edge_attr, g("Transpose", f"{name}.lin_edge.weight", perm=[1, 0]))) if edge_attr else ""
    if config.get("attention", "gat") == "gat":
        values = by_heads(g.linear(x, f"{name}.lin"))
        ends = [
            g("Gather", scored(values, f"{name}.att_{end}"), rows, axis=0) for end, rows in (("src", source), ("dst", target))
        ]
        score = g("Add", *ends)
        if edges:
            score = g("Add", score, scored(edges, f"{name}.att_edge"))
        score = g("LeakyRelu", score, alpha=_SLOPE)
    else:
        values = by_heads(g.linear(x, f"{name}.lin_l"))
        both = g("Add", g("Gather", values, source, axis=0), g("Gather", by_heads(g.linear(x, f"{name}.lin_r")), target, axis=0))
        score = scored(g("LeakyRelu", g("Add", both, edges) if edges else both, alpha=_SLOPE), f"{name}.att")
    score = g("Add", score, g("Unsqueeze", barred, g.whole(1)))
    highest = g.scatter(score, target, count, "max", _LOWEST)
    power = g("Exp", g("Sub", score, g("Gather", highest, target, axis=0)))
    sums = g("Add", g.scatter(power, target, count, "add"), g.real(_LEAST_SUM))
    weight = g("Div", power, g("Gather", sums, target, axis=0))
    messages = g("Mul", g("Gather", values, source, axis=0), g("Unsqueeze", weight, g.whole(2)))
    rows = g("Reshape", g.scatter(messages, target, count, "add"), g.whole(-1, heads * hidden))
    return g("Add", rows, f"{name}.bias")


def _pool(g: _Graph, rows: str, pooling: str) -> str:
    graphs = g("Add", g("ReduceMax", "batch", keepdims=1), g.whole(1))
    if pooling == "max":
        return g.scatter(rows, "batch", graphs, "max", _LOWEST)
    sums = g.scatter(rows, "batch", graphs, "add")
    if pooling == "sum":
        return sums
    ones = g.fill(1.0, g("Concat", g.size(rows, 0), g.whole(1), axis=0))
    return g("Div", sums, g.scatter(ones, "batch", graphs, "add"))
