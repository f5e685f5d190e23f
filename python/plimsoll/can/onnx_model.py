"""Writes the networks of detectors as ONNX (opset 18), node by node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.can.model_file import GAT, VGAE, ModelFile
from plimsoll.errors import MissingPackage, UsageError

_OPSET = 18  # the first opset whose ScatterND computes maxima
_SLOPE = 0.2  # negative slope of LeakyReLU in attention, as in PyTorch Geometric
_MIN_SUM = 1e-16  # added to the sum of a softmax, as in PyTorch Geometric
_NORM_EPSILON = 1e-5  # epsilon of batch normalisation, as in PyTorch
_LOWEST = float(np.finfo(np.float32).min)


def write_onnx(file: ModelFile, path: Path, name: str) -> None:
    """Writes a detector or an autoencoder as ONNX to `path`. `name` identifies the model file in errors.

    Errors: `UsageError` for a model that cannot be written as ONNX; `MissingPackage` without `onnx`.
    """
    if file.kind not in (GAT, VGAE):
        raise UsageError(f"{name}: holds a {file.kind}; ONNX supports only {GAT} and {VGAE}; export other models as a state_dict")
    if file.kind == GAT and file.config.get("jk", "cat") not in ("cat", "max"):
        raise UsageError(f"{name}: jk {file.config['jk']} cannot be exported to ONNX; expected cat or max")
    try:
        import onnx
    except ImportError as error:
        raise MissingPackage(f"export --to onnx: {error}; install it: pip install onnx") from error
    graph = _Graph(file.weights)
    helper, config = onnx.helper, file.config
    real, whole = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    inputs = [("x", real, ["N", config["in_features"]]), ("edge_index", whole, [2, "E"])]
    if file.kind == GAT:
        _detector(graph, config)
        inputs.append(("batch", whole, ["N"]))
        outputs = {"logits": ["G", 2]}
    else:
        _autoencoder(graph, config)
        outputs = {"mu": ["N", config["latent"]], "logvar": ["N", config["latent"]], "features": ["N", config["in_features"] - 1],
                   "id_logits": ["N", config["num_ids"]], "neighbour_logits": ["N", config["num_ids"]]}
    if edges := config.get("edge_features", 0):
        inputs.append(("edge_attr", real, ["E", edges]))
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node(op, given, [made], **options) for op, given, made, options in graph.nodes],
            file.kind,
            [helper.make_tensor_value_info(*each) for each in inputs],
            [helper.make_tensor_value_info(output, real, shape) for output, shape in outputs.items()],
            [onnx.numpy_helper.from_array(values, constant) for constant, values in graph.constants.items()],
        ),
        producer_name="plimsoll",
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=9,
    )
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())


class _Graph:
    """The nodes of an ONNX graph in the order of computation. Values are identified by name."""

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

    def normalised(self, x: str, name: str) -> str:
        """Applies batch normalisation with the statistics stored in training, as PyTorch does in evaluation."""
        stored = [f"{name}.{part}" for part in ("weight", "bias", "running_mean", "running_var")]
        return self("BatchNormalization", x, *stored, epsilon=_NORM_EPSILON)

    def size(self, x: str, axis: int) -> str:
        return self("Gather", self("Shape", x), self.whole(axis), axis=0)

    def scatter(self, rows: str, at: str, count: str, reduction: str, start: float = 0.0) -> str:
        """Sums the rows [E, ...], or takes their maxima, into the `count` rows at the [E] positions `at`."""
        shape = self("Concat", count, self("Slice", self("Shape", rows), self.whole(1), self.whole(1 << 30)), axis=0)
        places = self("Unsqueeze", at, self.whole(1))
        return self("ScatterND", self.fill(start, shape), places, rows, reduction=reduction)


def _detector(g: _Graph, config: dict[str, Any]) -> None:
    edges = _Edges(g, config)
    h = _embedded(g)
    outputs = []
    for i in range(config["layers"]):
        h = g("Relu", _attention(g, f"convs.{i}", h, edges, config.get("attention", "gat")))
        outputs.append(h)
    joined = g("Concat", *outputs, axis=1) if config.get("jk", "cat") == "cat" else g("Max", *outputs)
    h = _pool(g, joined, config.get("pooling", "mean"))
    for j in range(config["fc_layers"] - 1):
        h = g("Relu", g.linear(h, f"fc.{j}"))
    g("Identity", g.linear(h, "head"), made="logits")


def _autoencoder(g: _Graph, config: dict[str, Any]) -> None:
    """Adds the nodes of an autoencoder. The code of a node is its mean, as in evaluation."""
    edges = _Edges(g, config)
    h = _embedded(g)
    for i in range(sum(name.startswith("encoder_norms.") and name.endswith(".weight") for name in g.constants)):
        h = g("Relu", g.normalised(_attention(g, f"encoder.{i}", h, edges), f"encoder_norms.{i}"))
    z = g("Identity", g.linear(h, "mu"), made="mu")
    g("Min", g("Max", g.linear(h, "logvar"), g.real(-20.0)), g.real(20.0), made="logvar")
    norms = sum(name.startswith("decoder_norms.") and name.endswith(".weight") for name in g.constants)
    h = z
    for i in range(norms):
        h = g("Relu", g.normalised(_attention(g, f"decoder.{i}", h, edges), f"decoder_norms.{i}"))
    g({"sigmoid": "Sigmoid", "tanh": "Tanh"}[config.get("output", "sigmoid")], _attention(g, f"decoder.{norms}", h, edges),
      made="features")
    g("Identity", g.linear(z, "id_head"), made="id_logits")
    h = g("Relu", g.linear(g("Relu", g.linear(z, "neighbours.0")), "neighbours.1"))
    g("Identity", g.linear(h, "neighbours.2"), made="neighbour_logits")


def _embedded(g: _Graph) -> str:
    """Returns each node's features, with the ID replaced by its embedding."""
    ids = g("Cast", g("Squeeze", g("Slice", "x", g.whole(0), g.whole(1), g.whole(1)), g.whole(1)), to=7)
    rest = g("Slice", "x", g.whole(1), g.whole(1 << 30), g.whole(1))
    return g("Concat", g("Gather", "embedding.weight", ids, axis=0), rest, axis=1)


class _Edges:
    """The edges that attention uses: the stored ones, with self-loops masked out, and one added self-loop per node."""

    def __init__(self, g: _Graph, config: dict[str, Any]) -> None:
        self.count = g.size("x", 0)
        own = g("Range", g("Squeeze", g.whole(0)), g("Squeeze", self.count), g("Squeeze", g.whole(1)))
        stored = [g("Squeeze", g("Gather", "edge_index", g.whole(end), axis=0), g.whole(0)) for end in (0, 1)]
        self.source, self.target = (g("Concat", ends, own, axis=0) for ends in stored)
        loop = g("Cast", g("Equal", *stored), to=1)
        self.barred = g("Concat", g("Mul", loop, g.real(_LOWEST)), g("Expand", g.real(0.0), self.count), axis=0)
        self.attributes = _with_means(g, stored[1], loop, self.count) if config.get("edge_features", 0) else ""


def _with_means(g: _Graph, target: str, loop: str, count: str) -> str:
    """Returns the features of edges, followed by those of the added self-loops. These are the mean over the edges into
    the node, except stored self-loops.
    """
    kept = g("Unsqueeze", g("Sub", g.real(1.0), loop), g.whole(1))
    sums = g.scatter(g("Mul", "edge_attr", kept), target, count, "add")
    counts = g("Max", g.scatter(kept, target, count, "add"), g.real(1.0))
    return g("Concat", "edge_attr", g("Div", sums, counts), axis=0)


def _attention(g: _Graph, name: str, x: str, at: _Edges, kind: str = "gat") -> str:
    gat = kind == "gat"
    heads, hidden = g.constants[f"{name}.att_src" if gat else f"{name}.att"].shape[-2:]

    def by_heads(rows: str) -> str:
        return g("Reshape", rows, g.whole(-1, heads, hidden))

    def scored(rows: str, attention: str) -> str:
        return g("ReduceSum", g("Mul", rows, attention), g.whole(2), keepdims=0)

    edges = by_heads(g("MatMul", at.attributes, g("Transpose", f"{name}.lin_edge.weight", perm=[1, 0]))) if at.attributes else ""
    if gat:
        values = by_heads(g.linear(x, f"{name}.lin"))
        ends = [
            g("Gather", scored(values, f"{name}.att_{end}"), rows, axis=0) for end, rows in (("src", at.source), ("dst", at.target))
        ]
        score = g("Add", *ends)
        if edges:
            score = g("Add", score, scored(edges, f"{name}.att_edge"))
        score = g("LeakyRelu", score, alpha=_SLOPE)
    else:
        values = by_heads(g.linear(x, f"{name}.lin_l"))
        both = g(
            "Add", g("Gather", values, at.source, axis=0), g("Gather", by_heads(g.linear(x, f"{name}.lin_r")), at.target, axis=0)
        )
        score = scored(g("LeakyRelu", g("Add", both, edges) if edges else both, alpha=_SLOPE), f"{name}.att")
    score = g("Add", score, g("Unsqueeze", at.barred, g.whole(1)))
    highest = g.scatter(score, at.target, at.count, "max", _LOWEST)
    power = g("Exp", g("Sub", score, g("Gather", highest, at.target, axis=0)))
    sums = g("Add", g.scatter(power, at.target, at.count, "add"), g.real(_MIN_SUM))
    weight = g("Div", power, g("Gather", sums, at.target, axis=0))
    messages = g("Mul", g("Gather", values, at.source, axis=0), g("Unsqueeze", weight, g.whole(2)))
    rows = g("Reshape", g.scatter(messages, at.target, at.count, "add"), g.whole(-1, heads * hidden))
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
