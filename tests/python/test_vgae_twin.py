"""The model `graph_autoencoder_neighborhood` against PyTorch Geometric: losses, gradients, statistics, predictions."""

import json

import numpy as np
import pytest
from made_up import random_frames, write_capture

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from safetensors.torch import load_file, save_file  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_geometric.nn import global_mean_pool  # noqa: E402
from vgae_twin import LARGE, SMALL, GraphAutoencoderNeighborhood, parts_of  # noqa: E402

# Few: a number within rounding of 0 goes one way through ReLU in float32 and the other in float64, and moves all
# gradients after it by 1e-4. Among the 1.7 million of 48 graphs in the large model there is one.
GRAPHS = 12
TOLERANCE = 1e-5  # of a tensor, by norm
LEAST_NORM = 0.01
WEIGHTS = torch.tensor([1.0, 0.1, 0.05, 0.01], dtype=torch.float64)
CONFIGS = {
    "small": SMALL,
    "large": LARGE,
    "tanh, edges": {**SMALL, "output": "tanh", "edge_features": 11, "heads": 4},
    "one layer": {"embedding": 3, "hidden": [10], "latent": 5, "heads": 4, "dropout": 0.5},
    "three layers": {"embedding": 5, "hidden": [24, 18, 12], "latent": 7, "heads": 2, "dropout": 0.0,
                     "decoder_heads": 5},
}


@pytest.mark.parametrize("config, ids, parameters", [(SMALL, 2049, 85_908), (LARGE, 2049, 448_320),
                                                     (SMALL, 30, 9_186), (LARGE, 30, 185_850)])
def test_parameters(config, ids, parameters):
    model = GraphAutoencoderNeighborhood(ids, **config)
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters


@pytest.fixture(scope="module")
def graphs(compat_windows, tmp_path_factory):
    """20 windows of random frames: the path of a graph set whose edge features are small numbers."""
    folder = tmp_path_factory.mktemp("made_up")
    write_capture(folder / "captures" / "train_01" / "random.csv",
                  random_frames(np.random.default_rng(1), 2100, np.arange(0x100, 0x128), 0.3))
    return compat_windows(folder / "captures", folder)


def first_graphs(folder):
    """x [N,11], edge_index [2,E], edge_attr [E,11], batch [N], in float64."""
    names = ("node_ptr", "edge_ptr", "x", "edges", "edge_attr")
    node_ptr, edge_ptr, x, edges, edge_attr = (np.load(folder / f"{name}.npy") for name in names)
    nodes, links = node_ptr[GRAPHS], edge_ptr[GRAPHS]
    offset = np.repeat(node_ptr[:GRAPHS], np.diff(edge_ptr[:GRAPHS + 1]))
    batch = torch.from_numpy(np.repeat(np.arange(GRAPHS), np.diff(node_ptr[:GRAPHS + 1])))
    return (torch.from_numpy(x[:nodes]).double(), torch.from_numpy((edges[:links] + offset[:, None]).T).long(),
            torch.from_numpy(edge_attr[:links]).double(), batch)


def random_model(name, folder, dropout):
    """All parameters and statistics are random: noise is added, so that no bias is zero."""
    torch.manual_seed(1)
    num_ids = int(np.load(folder / "x.npy")[:, 0].max()) + 3
    config = dict(CONFIGS[name], **({} if dropout else {"dropout": 0.0}))
    model = GraphAutoencoderNeighborhood(num_ids, **config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
        for norm in (*model.encoder_norms, *model.decoder_norms):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)
        if model.uses_edges:  # gaps and degrees are in the hundreds: attention would be all on one edge
            for conv in (*model.encoder, *model.decoder):
                conv.lin_edge.weight *= 0.002
    return model


def save(model, path):
    tensors = {name: value for name, value in model.state_dict().items() if not name.endswith("tracked")}
    save_file(tensors, path, metadata={"plimsoll.model": "graph_autoencoder_neighborhood",
                                       "plimsoll.config": json.dumps(model.config)})


def gradients(loss, model):
    names, parameters = zip(*model.named_parameters())
    return {f"grad.{name}": value for name, value in zip(names, torch.autograd.grad(loss, parameters))}


def statistics(model, before):
    """The statistics of the one block that moved running ones: with momentum 0.1."""
    moved = {name: value for name, value in model.state_dict().items() if "running" in name}
    return {name: (value - 0.9 * before[name]) / 0.1 for name, value in moved.items()}


def predictions(model, x, edge_index, edge_attr, batch):
    model.eval()
    with torch.no_grad():
        parts, rebuilt, mu = parts_of(model, x, edge_index, edge_attr)
    return {"encodings": torch.cat([mu, rebuilt], 1), "errors": global_mean_pool(parts[:, :3], batch, GRAPHS)}


def compare(found, expected):
    assert found.keys() == expected.keys()
    errors = {}
    for name, value in expected.items():
        assert found[name].shape == value.shape, name
        # A gradient whose terms nearly cancel is as wrong as its terms, as that of a bias before a batch
        # normalisation, which is 0: PyTorch Geometric's own have errors of 2e-5 of their norm here in float32.
        errors[name] = float((found[name].double() - value).norm() / value.norm().clamp_min(LEAST_NORM))
    wrong = {name: error for name, error in errors.items() if not error <= TOLERANCE}
    assert not wrong, f"relative errors above {TOLERANCE}: {wrong}"


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("name", CONFIGS)
def test_same_as_pytorch_geometric(name, training, graphs, run, tmp_path):
    """The twin computes in float64 from the same float32 weights and noise."""
    x, edge_index, edge_attr, batch = first_graphs(graphs)
    model = random_model(name, graphs, dropout=not training)
    save(model, tmp_path / "model.safetensors")
    run("vgae_twin", tmp_path / "model.safetensors", graphs, tmp_path / "out.safetensors", "--graphs", GRAPHS,
        *(["--training"] if training else []))
    found = load_file(tmp_path / "out.safetensors")

    model.double().train(training)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    noise = found.pop("noise").double() if training else None
    parts, _, _ = parts_of(model, x, edge_index, edge_attr, noise)
    loss = (parts * WEIGHTS).sum(1).mean()
    expected = {"parts": parts.detach(), "loss": loss.detach().reshape(1), **gradients(loss, model)}
    if training:
        expected |= statistics(model, before)
    model.load_state_dict(before)
    compare(found, expected | predictions(model, x, edge_index, edge_attr, batch))


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("latent", [16, 21], ids=["as wide", "projected"])
def test_distillation(latent, training, graphs, run, tmp_path):
    x, edge_index, edge_attr, batch = first_graphs(graphs)
    model = random_model("small", graphs, dropout=not training)
    save(model, tmp_path / "model.safetensors")
    teacher = torch.rand(len(x), latent + 10, generator=torch.Generator().manual_seed(4))
    save_file({"teacher": teacher}, tmp_path / "teacher.safetensors")
    run("vgae_twin", tmp_path / "model.safetensors", graphs, tmp_path / "out.safetensors", "--graphs", GRAPHS,
        *(["--training"] if training else []), "--teacher", tmp_path / "teacher.safetensors", latent)
    found = load_file(tmp_path / "out.safetensors")
    noise = found.pop("noise").double() if training else None

    model.double().train(training)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    parts, rebuilt, mu = parts_of(model, x, edge_index, edge_attr, noise)
    projection = torch.nn.Linear(16, latent, dtype=torch.float64)
    if latent != 16:
        projection.load_state_dict({key: found.pop(f"projection.{key}").double() for key in ("weight", "bias")})
        mu = projection(mu)
    of_mu = F.mse_loss(mu, teacher[:, :latent].double(), reduction="none").mean(1)
    of_features = F.mse_loss(rebuilt, teacher[:, latent:].double(), reduction="none").mean(1)
    loss = 0.7 * (0.5 * of_mu.mean() + 0.5 * of_features.mean()) + 0.3 * (parts * WEIGHTS).sum(1).mean()
    expected = {"parts": torch.cat([torch.stack([of_mu, of_features], 1), parts], 1).detach(),
                "loss": loss.detach().reshape(1)}
    if latent != 16:
        model.projection = projection
    expected |= gradients(loss, model)
    if training:
        expected |= statistics(model, before)
    if latent != 16:
        del model.projection
    model.load_state_dict(before)
    compare(found, expected | predictions(model, x, edge_index, edge_attr, batch))
