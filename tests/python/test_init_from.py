"""`init_from`: a run starts from the weights of a file, by name and shape."""

import json
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file


@pytest.fixture(scope="module")
def windows(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("windows")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "20000", "--seed", "9")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs")
    return folder / "graphs"


@pytest.fixture
def train(bin_dir, windows, tmp_path):
    def call(name, *overrides, more=(), expect=0, json_of=True):
        (tmp_path / "recipe.yaml").write_text("task: graph_classification\nsplit: {by: graph}\ngnn: {hidden: 8, layers: 2}\n"
                                              "training: {max_epochs: 2}\n")
        done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(tmp_path / "recipe.yaml"), "--data", str(windows), "--run",
                               str(tmp_path / name), *(part for option in overrides for part in ("-O", option)),
                               *(["--json"] if json_of else []), *more], capture_output=True, text=True, timeout=600)
        assert done.returncode == expect, done.stderr
        return (json.loads(done.stdout) if json_of else done.stdout) if expect == 0 else done.stderr

    return call


def model(tmp_path, name):
    return tmp_path / name / "seed-42" / "gnn" / "model.safetensors"


def test_weights_are_those_of_the_file(train, tmp_path):
    first = train("first")
    still = train("still", f"init_from={model(tmp_path, 'first')}", "training.learning_rate=0", "training.max_epochs=1")
    assert still["weights"] == first["weights"]
    further = train("further", f"init_from={model(tmp_path, 'first')}")
    assert further["weights"] != first["weights"]
    assert further["training_loss"] < first["training_loss"]


def test_differences_are_listed(train, tmp_path):
    train("first")
    tensors = load_file(model(tmp_path, "first"))
    tensors["extra.weight"] = tensors.pop("lin.bias")
    save_file(tensors, tmp_path / "other.safetensors")
    text = train("second", f"init_from={tmp_path / 'other.safetensors'}", "gnn.layers=3", json_of=False)
    assert "only in the file: extra.weight" in text and "convs.2.nn.0.weight" in text
    told = train("second_json", f"init_from={tmp_path / 'other.safetensors'}", "gnn.layers=3")["init_from"]
    assert told["unused"] == ["extra.weight"] and "lin.bias" in told["absent"] and told["other_shape"] == []
    assert train("third", f"init_from={tmp_path / 'nothing'}", expect=3).endswith(f"no such file: {tmp_path / 'nothing'}\n")
    save_file({"a": tensors["lin.weight"]}, tmp_path / "none.safetensors")
    assert "no tensor with a name and shape of the model" in train("fourth", f"init_from={tmp_path / 'none.safetensors'}", expect=3)


def test_a_resumed_run_keeps_its_own(train, tmp_path):
    train("first")
    options = f"init_from={model(tmp_path, 'first')}", "training.max_epochs=4"
    whole = train("whole", *options)
    train("parts", options[0])
    assert train("parts", *options, more=["--resume"])["weights"] == whole["weights"]
    # The file is part of what the run is.
    model(tmp_path, "first").write_bytes(model(tmp_path, "whole").read_bytes())
    assert "another recipe" in train("parts", *options, more=["--resume"], expect=2)


def write_regression(folder, scale, offset):
    """80 graphs of 2 to 6 nodes in a row, whose target follows from the mean of their nodes' attributes."""
    torch = pytest.importorskip("torch")
    data = pytest.importorskip("torch_geometric.data")
    plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    graphs = []
    for graph, value in enumerate(np.random.default_rng(1).random(80).round(3)):
        nodes = 2 + graph % 5
        ends = torch.arange(nodes - 1)
        arcs = torch.stack([ends, ends + 1])
        graphs.append(data.Data(x=torch.tensor([[value + (n - (nodes - 1) / 2) / 50] for n in range(nodes)], dtype=torch.float32),
                                edge_index=torch.cat([arcs, arcs.flip(0)], 1), y=torch.tensor([value * scale + offset]).float()))
    plimsoll.from_pyg(graphs, folder / "set")
    return folder / "set"


def test_a_regression_takes_the_scale_of_the_new_data(run, bin_dir, tmp_path):
    """With that of the file the first loss was of the square of what the targets differ by."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("task: graph_regression\nsplit: {by: graph}\ngnn: {hidden: 8, layers: 1}\ntraining: {max_epochs: 30, "
                      "batch_size: 16, learning_rate: 0.01}\n")

    def train(name, data, *overrides):
        out = run("plimsoll", "train", recipe, "--data", data, "--run", tmp_path / name, "--json",
                  *(part for option in overrides for part in ("-O", option)))
        tensors = load_file(tmp_path / name / "seed-42" / "gnn" / "model.safetensors")
        return json.loads(out), tensors["target.mean"], tensors["target.scale"]

    before, mean, scale = train("before", write_regression(tmp_path / "small", 1, 0))
    larger = write_regression(tmp_path / "large", 2000, 5e6)
    start = f"init_from={model(tmp_path, 'before')}"
    still = ("training.learning_rate=0", "training.max_epochs=1")
    after, new_mean, new_scale = train("after", larger, start, *still)
    assert new_mean == pytest.approx(mean * 2000 + 5e6) and new_scale == pytest.approx(scale * 2000, rel=1e-3)
    assert after["validation_loss"] == pytest.approx(before["validation_loss"], rel=0.01)
    assert sorted(after["init_from"]["of_data"]) == ["target.mean", "target.scale"]
    kept, kept_mean, kept_scale = train("kept", larger, start, *still, "init_target_scale=model")
    assert kept_mean == mean and kept_scale == scale and kept["validation_loss"] > 1e6
    assert kept["init_from"]["of_data"] == []
    told = run("plimsoll", "train", recipe, "--data", larger, "--run", tmp_path / "told", "-O", start)
    assert "from the data, not from the file (init_target_scale): target.mean, target.scale" in told
