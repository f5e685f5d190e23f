"""The layers of nn/gat_conv.h against PyTorch Geometric's: they load its state_dict by name and give its numbers."""

import subprocess

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import (  # noqa: E402
    FLOAT32, assert_close, both_kinds, large_graph, mixed, random_inputs, random_weights, small_graphs,
)
from attention_twin import evaluate, make_conv, run_pyg  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

pytestmark = pytest.mark.usefixtures("threads")
FEATURES, CHANNELS = 6, 8
OPTIONS = {
    "defaults": {},
    "heads": {"heads": 4},
    "edge features": {"heads": 3, "edge_dim": 5},
    "edge features, fill 0": {"heads": 3, "edge_dim": 5, "fill_value": 0.0},
    "edge features, fill 2.5": {"heads": 3, "edge_dim": 5, "fill_value": 2.5},
    "mean of heads": {"heads": 4, "concat": False},
    "mean of heads without bias": {"heads": 4, "concat": False, "bias": False},
    "no self-loops": {"heads": 4, "edge_dim": 5, "add_self_loops": False},
    "no bias": {"heads": 4, "bias": False},
    "residual": {"heads": 4, "residual": True},
    "residual, mean of heads": {"heads": 4, "residual": True, "concat": False},
    "slope": {"heads": 4, "negative_slope": 0.05},
    "wide": {"heads": 8, "edge_dim": 11},  # z is computed again
    "shared weights": {"heads": 4, "edge_dim": 5, "share_weights": True},
    "other targets": {"heads": 3, "edge_dim": 5, "add_self_loops": False, "in_target": 4},
    "other targets, residual": {"heads": 3, "add_self_loops": False, "residual": True, "in_target": 4},
    "other targets, shared weights": {"heads": 3, "add_self_loops": False, "share_weights": True,
                                      "in_target": FEATURES},
}


def metadata(kind, conv, how):
    """The arguments of a layer as conv_twin reads them."""
    fill = conv.fill_value
    other = conv.in_channels[1] if isinstance(conv.in_channels, tuple) else 0
    values = {
        "kind": kind, "in_channels": conv.in_channels[0] if other else conv.in_channels,
        "out_channels": conv.out_channels, "heads": conv.heads, "in_channels_target": other,
        "concat": int(conv.concat), "negative_slope": conv.negative_slope,
        "add_self_loops": int(conv.add_self_loops), "edge_dim": conv.edge_dim or 0,
        "fill_value": fill if isinstance(fill, str) else "value",
        "fill_number": 0.0 if isinstance(fill, str) else fill, "bias": int(how.get("bias", True)),
        "residual": int(conv.residual), "share_weights": int(how.get("share_weights", False)),
    }
    return {key: str(value) for key, value in values.items()}


def write_case(kind, how, graph, path):
    """Writes what conv_twin is to compute; gives what PyTorch Geometric's layer makes of it in float64."""
    how = dict(how)
    nodes, edge_index = graph
    features, targets = FEATURES, nodes
    if in_target := how.pop("in_target", None):
        features, targets = (FEATURES, in_target), nodes // 2
        edge_index = edge_index[:, edge_index[1] < targets].contiguous()
    conv = make_conv(kind, features, CHANNELS, torch.float32, **how)
    x, edge_attr = random_inputs(nodes, edge_index.shape[1], FEATURES, how.get("edge_dim"), torch.float32)
    weight = random_weights(conv, targets, 0, torch.float32)[0]

    given = {f"conv.{name}": parameter.detach() for name, parameter in conv.state_dict().items()
             if not (how.get("share_weights") and name.startswith("lin_r"))}  # the same tensors twice
    given |= {"x": x, "edge_index": edge_index, "weight": weight}
    given |= {} if edge_attr is None else {"edge_attr": edge_attr}
    if in_target:
        given["x_target"] = random_inputs(targets, 0, in_target, None, torch.float32)[0]
        x = x, given["x_target"]
    save_file(given, path, metadata=metadata(kind, conv, how))

    double = lambda value: None if value is None else value.double()  # noqa: E731
    expected = evaluate(lambda *a: (run_pyg(*a)[0], torch.zeros(1)), conv.double(),
                        tuple(map(double, x)) if in_target else double(x), edge_index, double(edge_attr),
                        (double(weight), torch.zeros(1)))
    del expected["alpha"]
    names = dict(conv.named_parameters())
    return {name.replace("grad.", "grad.conv.") if name.removeprefix("grad.") in names else name: value
            for name, value in expected.items()}


@both_kinds
@pytest.mark.parametrize("graph", [mixed, small_graphs, large_graph])
def test_loads_the_state_of_pyg_and_gives_its_numbers(kind, graph, run, tmp_path):
    """All options in one process: it takes longer to start than to compute."""
    options = {name: how for name, how in OPTIONS.items() if kind == "gatv2" or "share_weights" not in how}
    path = lambda name, end: tmp_path / f"{name}.{end}"  # noqa: E731
    expected = {name: write_case(kind, how, graph(), path(name, "in")) for name, how in options.items()}
    run("conv_twin", *(path(name, end) for name in options for end in ("in", "out")))
    for name, value in expected.items():
        print(name)  # shown when it fails
        assert_close(load_file(path(name, "out")), value, FLOAT32)


@both_kinds
def test_a_state_of_another_layer_is_refused(kind, bin_dir, tmp_path):
    conv = make_conv(kind, FEATURES, CHANNELS, torch.float32, heads=2)
    nodes, edge_index = mixed()
    state = {f"conv.{name}": value for name, value in conv.state_dict().items()}
    given = {"x": torch.ones(nodes, FEATURES), "edge_index": edge_index, "weight": torch.ones(nodes, 2 * CHANNELS)}
    first = next(iter(state))
    for wrong, text in ((state | {"conv.other": torch.ones(1)}, "parameters that the layer lacks"),
                        ({name: value for name, value in state.items() if name != first}, first),
                        (state | {first: torch.ones(1, 1, 3)}, "another shape")):
        save_file({**given, **wrong}, tmp_path / "in.safetensors", metadata=metadata(kind, conv, {}))
        done = subprocess.run([bin_dir / "conv_twin", tmp_path / "in.safetensors", tmp_path / "out.safetensors"],
                              capture_output=True, text=True)
        assert done.returncode == 1 and text in done.stderr
