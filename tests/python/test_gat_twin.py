"""The model `gat_with_jk` against PyTorch Geometric: logits, loss and every gradient of a block of graphs."""

import json

import numpy as np
import pytest
from made_up import random_frames, write_capture

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from gat_with_jk import LARGE, SMALL, GATWithJK  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

GRAPHS = 64
TOLERANCE = 1e-5  # of a tensor, by norm; PyTorch Geometric itself in float32 stays below 1e-6 here
CONFIGS = {
    "small": SMALL,
    "large": LARGE,
    "odd": {"embedding": 3, "layers": 1, "hidden": 5, "heads": 1, "dropout": 0.5, "fc_layers": 3},
    "gatv2": {**SMALL, "attention": "gatv2"},
    "edges": {**SMALL, "edge_features": 11},
    "gatv2, edges, max": {**SMALL, "attention": "gatv2", "edge_features": 11, "jk": "max", "pooling": "max"},
    "lstm": {**SMALL, "layers": 3, "jk": "lstm", "pooling": "sum"},
    "lstm of one odd layer": {**SMALL, "layers": 1, "hidden": 5, "heads": 1, "jk": "lstm"},
}


@pytest.fixture(scope="module")
def made_up_set(compat_windows, tmp_path_factory):
    """70 windows of random frames, some of them attacked: the path of a graph set."""
    folder = tmp_path_factory.mktemp("made_up")
    rows = random_frames(np.random.default_rng(1), 7100, np.arange(0x100, 0x128), 0.3)
    write_capture(folder / "captures" / "train_01" / "random.csv", rows)
    graphs = compat_windows(folder / "captures", folder)
    assert 0 < np.load(graphs / "y.npy")[:GRAPHS].sum() < GRAPHS
    return graphs


@pytest.fixture(scope="module")
def hcrl_sa_set(captures, compat_windows, tmp_path_factory):
    """The path of the graph set of hcrl_sa."""
    return compat_windows(captures("hcrl_sa"), tmp_path_factory.mktemp("hcrl_sa"))


def first_graphs(folder, graphs):
    """The first graphs of a graph set as one block: x [N,11], edge_index [2,E], batch [N], y [G], edge_attr [E,11]."""
    names = ("node_ptr", "edge_ptr", "x", "edges", "y", "edge_attr")
    node_ptr, edge_ptr, x, edges, y, edge_attr = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)
    assert y.size >= graphs
    nodes, links = node_ptr[graphs], edge_ptr[graphs]
    offset = np.repeat(node_ptr[:graphs], np.diff(edge_ptr[:graphs + 1]))
    edge_index = (edges[:links] + offset[:, None]).T
    batch = np.repeat(np.arange(graphs), np.diff(node_ptr[:graphs + 1]))
    return tuple(torch.from_numpy(np.array(array)) for array in (x[:nodes], edge_index, batch, y[:graphs],
                                                              edge_attr[:links]))


def random_model(config, num_ids):
    """A GATWithJK whose parameters are all random: noise is added, so that no bias is zero."""
    torch.manual_seed(1)
    model = GATWithJK(num_ids, **config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        if model.uses_edges:  # gaps and degrees are in the hundreds: attention would be all on one edge
            for conv in model.convs:
                conv.lin_edge.weight *= 0.002
    return model.eval()


def save(model, path):
    """Writes the model as Plimsoll does: safetensors, its kind and configuration in the metadata."""
    metadata = {"plimsoll.model": "gat_with_jk", "plimsoll.config": json.dumps(model.config)}
    save_file(model.state_dict(), path, metadata=metadata)


def evaluate(model, block):
    """{name: tensor} of the logits, the mean cross entropy and its gradient by each parameter."""
    x, edge_index, batch, y, edge_attr = block
    logits = model(x, edge_index, batch, edge_attr)
    loss = torch.nn.functional.cross_entropy(logits, y)
    loss.backward()
    gradients = {f"grad.{name}": parameter.grad for name, parameter in model.named_parameters()}
    return {"logits": logits.detach(), "loss": loss.detach().reshape(1), **gradients}


@pytest.mark.parametrize("config, parameters", [(SMALL, 65_354), (LARGE, 343_442)], ids=["small", "large"])
def test_parameters(config, parameters):
    assert sum(parameter.numel() for parameter in GATWithJK(2049, **config).parameters()) == parameters


@pytest.mark.parametrize("data", ["made_up_set", "hcrl_sa_set"])
@pytest.mark.parametrize("name", CONFIGS)
def test_same_as_pytorch_geometric(name, data, run, request, tmp_path):
    """The twin computes in float64 from the same float32 weights: what differs is rounding in the program."""
    folder = request.getfixturevalue(data)
    x, edge_index, batch, y, edge_attr = first_graphs(folder, GRAPHS)
    model = random_model(CONFIGS[name], num_ids=int(np.load(folder / "x.npy", mmap_mode="r")[:, 0].max()) + 1)
    save(model, tmp_path / "model.safetensors")
    run("gat_twin", tmp_path / "model.safetensors", folder, tmp_path / "out.safetensors", "--graphs", GRAPHS)
    found = load_file(tmp_path / "out.safetensors")
    expected = evaluate(model.double(), (x.double(), edge_index, batch, y, edge_attr.double()))

    assert found.keys() == expected.keys()
    errors = {}
    for tensor, value in expected.items():
        assert found[tensor].shape == value.shape, tensor
        # What has no effect, as the bias of the LSTM's attention, has a gradient of rounding alone.
        size = value.norm() if value.norm() > 1e-12 else 0.01
        errors[tensor] = float((found[tensor].double() - value).norm() / size)
    wrong = {tensor: error for tensor, error in errors.items() if not error <= TOLERANCE}
    assert not wrong, f"relative errors above {TOLERANCE}: {wrong}"
