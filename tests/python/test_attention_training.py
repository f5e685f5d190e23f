"""A model with attention and edge features trains as PyTorch Geometric's does."""

import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from attention_cases import both_kinds  # noqa: E402
from attention_twin import LAYERS, run_pyg  # noqa: E402
from made_up import random_frames, write_capture  # noqa: E402
from torch_geometric.nn import global_mean_pool  # noqa: E402

pytestmark = pytest.mark.usefixtures("ops", "threads")


class Model(torch.nn.Module):
    """Two layers of attention with edge features, the mean of each graph, a verdict."""

    def __init__(self, kind, run, num_ids, features, edge_features):
        super().__init__()
        torch.manual_seed(8)
        self.run = run
        self.embedding = torch.nn.Embedding(num_ids, 8)
        layer = functools.partial(LAYERS[kind].pyg, heads=4, edge_dim=edge_features)
        self.convs = torch.nn.ModuleList([layer(features + 7, 8), layer(32, 8)])
        self.head = torch.nn.Linear(32, 2)

    def forward(self, x, edge_index, edge_attr, batch):
        h = torch.cat([self.embedding(x[:, 0].long()), x[:, 1:]], dim=1)
        for conv in self.convs:
            h = self.run(conv, h, edge_index, edge_attr)[0].relu()
        return self.head(global_mean_pool(h, batch))


def read_windows(folder, graphs):
    """The first windows of a graph set as one block, columns scaled."""
    names = ("node_ptr", "edge_ptr", "x", "edges", "edge_attr", "y")
    node_ptr, edge_ptr, x, edges, edge_attr, y = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)
    offset = np.repeat(node_ptr[:graphs], np.diff(edge_ptr[:graphs + 1]))
    batch = np.repeat(np.arange(graphs), np.diff(node_ptr[:graphs + 1]))
    x, edge_attr = np.array(x[:node_ptr[graphs]]), np.array(edge_attr[:edge_ptr[graphs]])
    for columns in (x[:, 1:], edge_attr):
        columns -= columns.mean(0)
        columns /= columns.std(0) + 1e-6
    edge_index = (edges[:edge_ptr[graphs]] + offset[:, None]).T.astype(np.int64)
    return [torch.from_numpy(np.array(array)) for array in (x, edge_index, edge_attr, batch, y[:graphs].astype(int))]


@pytest.fixture(scope="module")
def made_up_windows(compat_windows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made_up")
    rows = random_frames(np.random.default_rng(1), 7100, np.arange(0x100, 0x128), 0.3)
    write_capture(folder / "captures" / "train_01" / "random.csv", rows)
    return compat_windows(folder / "captures", folder)


@pytest.fixture(scope="module")
def hcrl_sa_windows(captures, compat_windows, tmp_path_factory):
    return compat_windows(captures("hcrl_sa"), tmp_path_factory.mktemp("hcrl_sa"))


@both_kinds
@pytest.mark.parametrize("windows", ["made_up_windows", "hcrl_sa_windows"])
def test_training_gives_the_same_losses(kind, windows, request):
    x, edge_index, edge_attr, batch, y = read_windows(request.getfixturevalue(windows), 64)
    curves = {}
    for name, run in (("pyg", run_pyg), ("plimsoll", LAYERS[kind].run)):
        model = Model(kind, run, int(x[:, 0].max()) + 1, x.shape[1], edge_attr.shape[1])
        adam = torch.optim.Adam(model.parameters(), lr=3e-3)
        curves[name] = []
        for _ in range(20):
            adam.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x, edge_index, edge_attr, batch), y)
            loss.backward()
            adam.step()
            curves[name].append(float(loss))
    assert curves["pyg"][-1] < 0.95 * curves["pyg"][0]
    assert curves["plimsoll"] == pytest.approx(curves["pyg"], rel=1e-4)
