"""Features that are stored in fewer bits than f32 (docs/formats/graph.md#narrow-features): the same bits to whoever reads them."""

import json

import numpy as np
import pytest
from package_data import plimsoll

NODES, FEATURES = 1500, 48
VALUES = {
    "u8": lambda random: random.integers(0, 256, (NODES, FEATURES)),
    "i8": lambda random: random.integers(-128, 128, (NODES, FEATURES)),
    "f16": lambda random: random.normal(size=(NODES, FEATURES)).astype(np.float16),
    "bf16": lambda random: (random.normal(size=(NODES, FEATURES)).astype(np.float32).view(np.uint32) & 0xFFFF0000).view(np.float32)
    * np.float32(2**-20),  # too small for f16
    "f32": lambda random: random.normal(size=(NODES, FEATURES)),
}
BYTES = {"f32": 4, "f16": 2, "bf16": 2, "u8": 1, "i8": 1}


@pytest.fixture
def ingested(tmp_path):
    random = np.random.default_rng(1)
    edges = random.integers(0, NODES, (12 * NODES, 2))
    np.save(tmp_path / "edges.npy", edges)
    np.save(tmp_path / "labels.npy", random.integers(0, 3, NODES))
    nodes = random.permutation(NODES)
    np.save(tmp_path / "train.npy", np.sort(nodes[:600]))
    np.save(tmp_path / "valid.npy", np.sort(nodes[600:800]))

    def make(name, x, **layout):
        np.save(tmp_path / f"{name}-x.npy", x)
        return plimsoll.ingest.graph(tmp_path / "edges.npy", tmp_path / name, features=tmp_path / f"{name}-x.npy", dedup=True,
                                     labels=tmp_path / "labels.npy", layout=plimsoll.ingest.GraphLayout(**layout),
                                     splits={split: tmp_path / f"{split}.npy" for split in ("train", "valid")})

    return make


def as_numpy(folder):
    """As docs/formats/graph.md says."""
    x = np.load(folder / "x.npy")
    if x.dtype == np.uint16:
        return (x.astype(np.uint32) << 16).view(np.float32)
    scale = folder / "x_scale.npy"
    return x.astype(np.float32) * np.load(scale) if scale.exists() else x.astype(np.float32)


@pytest.mark.parametrize("kind", VALUES)
def test_values_come_back(ingested, kind):
    x = VALUES[kind](np.random.default_rng(2)).astype(np.float32)
    graph = ingested("graph", x)
    assert graph.features_dtype == kind
    assert (graph.path / "x.npy").stat().st_size == 4096 + x.size * BYTES[kind]
    assert np.array_equal(graph.x, x) and graph.x.dtype == np.float32 and not graph.x.flags.writeable
    assert np.array_equal(graph.x_rows(7, 11), x[7:11]) and np.array_equal(as_numpy(graph.path), x)
    assert plimsoll.verify(graph.path) == []
    with pytest.raises(plimsoll.UsageError, match="rows"):
        graph.x_rows(NODES - 1, NODES + 1)


def test_arrays_may_be_narrow_already(ingested):
    x = VALUES["f16"](np.random.default_rng(3))
    graph = ingested("graph", x)
    assert graph.features_dtype == "f16" and np.array_equal(graph.x, x.astype(np.float32))
    numbers = x.view(np.uint16)
    assert np.array_equal(ingested("whole", numbers).x, numbers.astype(np.float32))


@pytest.mark.parametrize("kind", ["u8", "f16", "bf16"])
def test_weights_are_those_of_f32(run, ingested, tmp_path, kind):
    x = VALUES[kind](np.random.default_rng(4)).astype(np.float32)
    narrow, wide = ingested("narrow", x), ingested("wide", x, features_dtype="f32")
    settings = ["-O", "training.max_epochs=1", "-O", "gnn.hidden=16", "-O", "gnn.layers=2", "-O", "sampling.fan_outs=[4,3]",
                "-O", "training.batch_size=128", "-O", "training.block.seeds=32"]
    recipe = tmp_path / "nodes.yaml"
    recipe.write_text("task: node_classification\n")
    said = {}
    for graph in (narrow, wide):
        plan = json.loads(run("plimsoll", "plan", recipe, "--data", graph.path, "--threads", 1, "--json", *settings))
        least = plan["min_budget_bytes"]
        for budget in (least, least + 600 * 1024, 2 * least):
            done = json.loads(run("plimsoll", "train", recipe, "--data", graph.path, "--run", tmp_path / "run", "--force", "--threads", 1,
                                  "--budget", budget, "--json", *settings))
            said.setdefault(graph.path.name, set()).add(done["weights"])
        said[f"{graph.path.name} cache"] = plan["breakdown"]["cache"]
    assert said["narrow"] == said["wide"] and len(said["wide"]) == 1
    assert said["narrow cache"] < said["wide cache"] - x.size * (4 - BYTES[kind]) * 0.9


def test_loaders_and_stores_widen(ingested):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    for kind, options in (("f16", {}), ("bf16", {}), ("f32", {"features_dtype": "i8"})):
        x = VALUES[kind](np.random.default_rng(5)).astype(np.float32)
        graph = ingested(f"graph-{kind}", x, **options)
        expected = torch.from_numpy(as_numpy(graph.path))
        for cache in (None, "256KiB"):
            loader = plimsoll.NeighborLoader(graph, num_neighbors=[3, 2], batch_size=100, input_nodes="train", cache_bytes=cache)
            for batch in loader:
                assert torch.equal(batch.x, expected[batch.n_id])
        assert torch.equal(graph.to_pyg().x, expected)
        features, _ = graph.stores()
        nodes = torch.tensor([5, 2, 5])
        assert torch.equal(features.get_tensor(group_name=None, attr_name="x", index=nodes), expected[nodes])
        assert torch.equal(features.get_tensor(group_name=None, attr_name="x", index=None), expected)


def test_a_data_has_its_widened_features_in_the_ledger(ingested):
    """A budget then refuses them."""
    pytest.importorskip("torch_geometric")
    from plimsoll import _operators

    _operators.load()
    from plimsoll import _torch

    graph = ingested("wide", VALUES["f16"](np.random.default_rng(3)))
    before = _torch.held()
    data = graph.to_pyg()
    edges = graph.num_edges
    assert graph.features_dtype == "f16" and data.x.dtype.itemsize == 4
    assert _torch.held() - before >= 4 * NODES * FEATURES + 16 * edges


def test_split_edges_keeps_what_is_stored(ingested, tmp_path):
    for kind, dtype in (("f16", "auto"), ("f32", "i8"), ("u8", "f32")):
        x = VALUES[kind](np.random.default_rng(6)).astype(np.float32)
        graph = ingested(f"graph-{kind}", x, features_dtype=dtype)
        split = plimsoll.split_edges(graph, tmp_path / f"split-{kind}").graph
        assert split.features_dtype == graph.features_dtype
        assert np.array_equal(split.tensor("x").view(-1).numpy(), graph.tensor("x").view(-1).numpy())
        assert np.array_equal(split.x, graph.x)


def test_rounding_is_recorded_and_part_of_the_data(ingested, tmp_path):
    x = VALUES["f32"](np.random.default_rng(7)).astype(np.float32)
    for dtype in ("f16", "bf16", "i8"):
        graph = ingested(f"graph-{dtype}", x, features_dtype=dtype)
        said = graph.manifest["narrow"]["x"]
        assert said["type"] == dtype and not said["exact"] and graph.manifest["provenance"]["options"]["features_dtype"] == dtype
        assert said["largest_error"] == pytest.approx(np.abs(graph.x - x).max())
        assert plimsoll.verify(graph.path) == []
    with pytest.raises(plimsoll.UsageError, match="features_dtype"):
        ingested("wrong", x, features_dtype="f8")


def test_simulated_features_may_be_narrow(run, tmp_path):
    wide = plimsoll.simulate.graph(tmp_path / "wide", nodes=300, features=8)
    narrow = plimsoll.simulate.graph(tmp_path / "narrow", nodes=300, features=8, features_dtype="f16")
    assert (wide.features_dtype, narrow.features_dtype) == ("f32", "f16")
    assert np.array_equal(narrow.x, wide.x.astype(np.float16).astype(np.float32))
    assert "300 nodes" in run("plimsoll", "inspect", narrow.path)
