"""Weights in and out: checkpoints of KD-GAT to model files, model files to a state_dict and to ONNX."""

import importlib.util
import json

import numpy as np
import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from gat_with_jk import LARGE, SMALL, GATWithJK  # noqa: E402
from plimsoll.can.kdgat import kdgat_names  # noqa: E402
from plimsoll.can.model_file import ModelFile  # noqa: E402
from vgae_twin import LARGE as LARGE_VGAE  # noqa: E402
from vgae_twin import SMALL as SMALL_VGAE  # noqa: E402
from vgae_twin import GraphAutoencoderNeighborhood  # noqa: E402

TOLERANCE = 1e-5


def model_file(kind, model):
    weights = {name: value.numpy() for name, value in model.state_dict().items() if not name.endswith("num_batches_tracked")}
    return ModelFile(kind, model.config, weights)


def published_names(kind, model):
    """The weights by the names of graphids/core/models, written out by hand for both small presets."""
    names = kdgat_names(model_file(kind, model))
    return {name: torch.from_numpy(values) for name, values in names.items()}


GAT_NAMES = {"id_embedding.weight", *(f"convs.{i}.{part}" for i in (0, 1) for part in ("lin.weight", "att_src", "att_dst", "bias")),
             *(f"fc_layers.{j}.{part}" for j in (0, 3) for part in ("weight", "bias"))}
VGAE_NAMES = {
    "id_embedding.weight",
    *(f"{stack}_layers.{i}.{part}" for stack in ("encoder", "decoder") for i in (0, 1)
      for part in ("lin.weight", "att_src", "att_dst", "bias")),
    *(f"{norm}.{part}" for norm in ("encoder_bns.0", "encoder_bns.1", "decoder_bns.0")
      for part in ("weight", "bias", "running_mean", "running_var")),
    *(f"{head}.{part}" for head in ("z_mean", "z_logvar", "canid_classifier", "neighborhood_decoder.0", "neighborhood_decoder.3",
                                    "neighborhood_decoder.6") for part in ("weight", "bias")),
}


def test_names_are_those_of_the_published_models():
    assert published_names("gat_with_jk", GATWithJK(50, **SMALL)).keys() == GAT_NAMES
    vgae = GraphAutoencoderNeighborhood(50, **SMALL_VGAE)
    assert published_names("graph_autoencoder_neighborhood", vgae).keys() == VGAE_NAMES


@pytest.mark.parametrize("kind, make, preset", [
    ("gat_with_jk", GATWithJK, SMALL), ("gat_with_jk", GATWithJK, LARGE),
    ("gat_with_jk", GATWithJK, {**SMALL, "attention": "gatv2", "edge_features": 11}),
    ("graph_autoencoder_neighborhood", GraphAutoencoderNeighborhood, SMALL_VGAE),
    ("graph_autoencoder_neighborhood", GraphAutoencoderNeighborhood, LARGE_VGAE)])
def test_a_checkpoint_comes_in_to_the_bit(tmp_path, kind, make, preset):
    model = make(50, **preset)
    state = {f"model.{name}": value for name, value in published_names(kind, model).items()}
    state["teacher.convs.0.bias"] = torch.zeros(3)  # a Lightning module with a teacher has its weights too
    torch.save({"state_dict": state, "epoch": 3, "pytorch-lightning_version": "2.2"}, tmp_path / "a.ckpt")
    (tmp_path / "config.json").write_text(json.dumps({"gat": {"dropout": 0.25}, "vgae": {"dropout": 0.25}}))
    plimsoll.import_kdgat(tmp_path / "a.ckpt", tmp_path / "a.safetensors")
    file = ModelFile.load(tmp_path / "a.safetensors")
    expected = model_file(kind, model)
    assert file.kind == kind and file.config["dropout"] == 0.25
    assert file.weights.keys() == expected.weights.keys()
    assert all(np.array_equal(file.weights[name], values) for name, values in expected.weights.items())
    sizes = {key: value for key, value in model.config.items() if key not in ("dropout", "hidden")}
    if kind == "gat_with_jk":
        sizes["hidden"] = preset["hidden"]
    assert sizes.items() <= file.config.items()


def test_a_head_of_one_logit_keeps_its_log_odds(tmp_path):
    model = GATWithJK(50, **SMALL)
    state = published_names("gat_with_jk", model)
    state["fc_layers.3.weight"], state["fc_layers.3.bias"] = state["fc_layers.3.weight"][:1], state["fc_layers.3.bias"][:1]
    torch.save(state, tmp_path / "a.pt")
    head = plimsoll.import_kdgat(tmp_path / "a.pt", tmp_path / "a.safetensors").weights["head.weight"]
    assert not head[0].any() and np.array_equal(head[1], state["fc_layers.3.weight"][0].numpy())


@pytest.mark.parametrize("change, words", [
    (lambda s: s.pop("id_embedding.weight"), "no id_embedding"),
    (lambda s: s.update({"extra.weight": torch.ones(1)}), "extra.weight"),
    (lambda s: s.update({"convs.1.lin.weight": torch.ones(3, 3)}), "convs.1.lin.weight"),
    (lambda s: s.update({"fc_layers.3.weight": torch.ones(2, 7)}), "head.weight"),
    (lambda s: s.update({"fc_layers.3.weight": torch.ones(1, s["fc_layers.3.weight"].shape[1]), "fc_layers.3.bias": torch.ones(2)}),
     "head.bias"),
    (lambda s: s.update({"fc_layers.3.weight": s["fc_layers.3.weight"][:1]}) or s.pop("fc_layers.3.bias"), "head.bias"),
    (lambda s: [s.pop(f"convs.{i}.{part}") for i in (0, 1) for part in ("att_src", "att_dst")], "neither GATConv"),
    (lambda s: s.clear(), "no state_dict"),
    *((lambda s, name=name: s.update({name: torch.ones(1)}), name)
      for name in ("temperature", "convs.x.lin.weight", "fc_layers.x.weight", "fc_layers.0", "convs", "convs." + "9" * 9 + ".bias")),
    (lambda s: s.update({7: torch.ones(1)}), "no state_dict"),
    (lambda s: s.update({"convs.0.bias": s["convs.0.bias"].to_sparse()}), "no state_dict"),
])
def test_what_does_not_agree_is_named(tmp_path, change, words):
    state = published_names("gat_with_jk", GATWithJK(50, **SMALL))
    change(state)
    torch.save(state, tmp_path / "a.pt")
    with pytest.raises(plimsoll.InputError, match=words):
        plimsoll.import_kdgat(tmp_path / "a.pt", tmp_path / "a.safetensors")
    assert not (tmp_path / "a.safetensors").exists()


def test_files_that_are_no_checkpoints_are_refused(tmp_path):
    (tmp_path / "a.ckpt").write_bytes(b"\x80\x04.")
    torch.save({"state_dict": {"a": torch.ones(1)}, "model": GATWithJK}, tmp_path / "code.ckpt")
    for name, words in (("a", "a.ckpt"), ("code", "more than tensors"), ("none", "no such checkpoint")):
        with pytest.raises(plimsoll.InputError, match=words):
            plimsoll.import_kdgat(tmp_path / f"{name}.ckpt", tmp_path / "out")


@pytest.fixture(scope="module")
def trained(run, tmp_path_factory):
    """A student on made-up traffic, and the windows of its test split."""
    folder = tmp_path_factory.mktemp("trained")
    plimsoll.simulate.can(folder / "frames", frames=40_000, seed=2)
    run("plimsoll", "train", "recipes/gat.yaml", "--data", folder / "frames", "--run", folder / "run", "-O",
        "training.max_epochs=2", "-O", "data.features=compat")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs")
    return folder


def batch_of(graphs, count=40):
    from torch_geometric.data import Batch

    return Batch.from_data_list([graphs.to_pyg(i) for i in range(count)])


def twin(file):
    model = GATWithJK(**file.config).eval()
    model.load_state_dict({name: torch.from_numpy(values) for name, values in file.weights.items()})
    return model


def test_an_exported_state_dict_is_the_model(trained, tmp_path):
    plimsoll.export(trained / "run" / "detector.safetensors", tmp_path / "a.pt", to="state_dict")
    state = torch.load(tmp_path / "a.pt", weights_only=True)
    file = ModelFile.load(trained / "run" / "detector.safetensors")
    assert sum(value.numel() for value in state.values()) == sum(values.size for values in file.weights.values())
    torch.save({"state_dict": state}, tmp_path / "b.ckpt")
    again = plimsoll.import_kdgat(tmp_path / "b.ckpt", tmp_path / "b.safetensors", data=trained / "frames")
    assert all(np.array_equal(again.weights[name], values) for name, values in file.weights.items())
    assert np.array_equal(again.facts["vocabulary.ids"], file.facts["vocabulary.ids"])
    assert np.array_equal(again.facts["vocabulary.benign"], file.facts["vocabulary.benign"])
    with pytest.raises(plimsoll.Failure, match="--force"):
        plimsoll.export(trained / "run" / "detector.safetensors", tmp_path / "a.pt", to="state_dict")
    for to in ("state_dict", "onnx") if importlib.util.find_spec("onnx") else ("state_dict",):
        with pytest.raises(plimsoll.Failure, match="a.pt/below cannot be written: .*Not a directory"):
            plimsoll.export(trained / "run" / "detector.safetensors", tmp_path / "a.pt" / "below", to=to)


@pytest.mark.parametrize("change", [
    lambda file: setattr(file, "config", [1]),
    lambda file: setattr(file, "config", {}),
    lambda file: file.config.update(fc_layers="two"),
    lambda file: file.weights.update({"fc.x.weight": np.ones(2, np.float32)}),
    lambda file: file.weights.update({"fc.0": np.ones(2, np.float32)}),
    lambda file: setattr(file, "kind", "graph_autoencoder_neighborhood"),
])
def test_a_model_file_that_does_not_agree_is_not_exported(trained, tmp_path, change):
    file = ModelFile.load(trained / "run" / "detector.safetensors")
    change(file)
    file.save(tmp_path / "a.safetensors")
    with pytest.raises(plimsoll.InputError, match="a.safetensors"):
        plimsoll.export(tmp_path / "a.safetensors", tmp_path / "a.pt", to="state_dict")
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


def test_an_imported_teacher_teaches(run, trained, tmp_path):
    """`train --teacher` takes what `import kdgat` wrote."""
    file = ModelFile.load(trained / "run" / "detector.safetensors")
    teacher = GATWithJK(file.config["num_ids"], **LARGE)
    torch.save({"state_dict": {f"model.{n}": v for n, v in published_names("gat_with_jk", teacher).items()}}, tmp_path / "t.ckpt")
    plimsoll.import_kdgat(tmp_path / "t.ckpt", tmp_path / "t.safetensors", data=trained / "graphs")
    (tmp_path / "r.yaml").write_text("task: distillation\ntraining: {max_epochs: 1}\n")
    done = json.loads(run("plimsoll", "train", tmp_path / "r.yaml", "--data", trained / "frames", "--run", tmp_path / "run", "--teacher",
                          tmp_path / "t.safetensors", "--json"))
    assert "teacher" not in [stage["stage"] for stage in done["stages"]]
    with pytest.raises(plimsoll.InputError, match="was trained on 49 IDs"):
        torch.save(published_names("gat_with_jk", GATWithJK(50, **SMALL)), tmp_path / "s.pt")
        plimsoll.import_kdgat(tmp_path / "s.pt", tmp_path / "s.safetensors", data=trained / "frames")


@pytest.mark.parametrize("variant", [
    {}, {"attention": "gatv2"}, {"edge_features": 11}, {"attention": "gatv2", "edge_features": 11, "jk": "max", "pooling": "sum"},
    {"pooling": "max", "fc_layers": 1}])
def test_onnxruntime_says_the_same(trained, tmp_path, variant):
    pytest.importorskip("onnx", reason="pip install onnx onnxruntime")
    ort = pytest.importorskip("onnxruntime", reason="pip install onnx onnxruntime")
    graphs = plimsoll.open(trained / "graphs")
    file = ModelFile.load(trained / "run" / "detector.safetensors")
    if variant or file.config["edge_features"]:
        model = GATWithJK(file.config["num_ids"], **{**SMALL, **variant}).eval()
        file = model_file("gat_with_jk", model)
    file.save(tmp_path / "m.safetensors")
    plimsoll.export(tmp_path / "m.safetensors", tmp_path / "m.onnx", to="onnx")
    session = ort.InferenceSession(tmp_path / "m.onnx")
    for count in (1, 40):
        batch = batch_of(graphs, count)
        # Products of degrees reach thousands, and what an untrained attention makes of them is all rounding.
        edge_attr = batch.edge_attr / batch.edge_attr.abs().amax(0).clamp(min=1)
        given = {"x": batch.x, "edge_index": batch.edge_index, "batch": batch.batch, "edge_attr": edge_attr}
        logits = session.run(None, {each.name: given[each.name].numpy() for each in session.get_inputs()})[0]
        with torch.no_grad():
            expected = twin(file)(batch.x, batch.edge_index, batch.batch, given["edge_attr"]).numpy()
        assert np.abs(logits - expected).max() <= TOLERANCE * max(1, np.abs(expected).max())


def test_the_trained_student_in_onnxruntime_scores_as_evaluate_does(run, trained, tmp_path):
    pytest.importorskip("onnx", reason="pip install onnx onnxruntime")
    ort = pytest.importorskip("onnxruntime", reason="pip install onnx onnxruntime")
    plimsoll.export(trained / "run" / "detector.safetensors", tmp_path / "m.onnx", to="onnx")
    session = ort.InferenceSession(tmp_path / "m.onnx")
    graphs = plimsoll.open(trained / "graphs")
    said = plimsoll.predict(trained / "run", trained / "frames", tmp_path / "said")
    batch = batch_of(graphs, 60)
    given = {"x": batch.x, "edge_index": batch.edge_index, "batch": batch.batch, "edge_attr": batch.edge_attr}
    logits = session.run(None, {each.name: given[each.name].numpy() for each in session.get_inputs()})[0]
    odds = np.exp(logits - logits.max(1, keepdims=True))
    assert np.abs(odds / odds.sum(1, keepdims=True) - said.probability[:60]).max() <= TOLERANCE


@pytest.mark.parametrize("variant", [SMALL_VGAE, {**LARGE_VGAE, "output": "tanh"}, {**SMALL_VGAE, "hidden": [24], "edge_features": 11}])
def test_an_autoencoder_in_onnxruntime_says_the_same(trained, tmp_path, variant):
    pytest.importorskip("onnx", reason="pip install onnx onnxruntime")
    ort = pytest.importorskip("onnxruntime", reason="pip install onnx onnxruntime")
    batch = batch_of(plimsoll.open(trained / "graphs"), 10)
    model = GraphAutoencoderNeighborhood(ModelFile.load(trained / "run" / "detector.safetensors").config["num_ids"], **variant)
    edge_attr = batch.edge_attr / batch.edge_attr.abs().amax(0).clamp(min=1)
    with torch.no_grad():
        model.train()(batch.x, batch.edge_index, edge_attr)  # so that there are running statistics
        rebuilt, ids, neighbours, mu, logvar = model.eval()(batch.x, batch.edge_index, edge_attr)
    model_file("graph_autoencoder_neighborhood", model).save(tmp_path / "v.safetensors")
    plimsoll.export(tmp_path / "v.safetensors", tmp_path / "v.onnx", to="onnx")
    session = ort.InferenceSession(tmp_path / "v.onnx")
    given = {"x": batch.x, "edge_index": batch.edge_index, "edge_attr": edge_attr}
    said = session.run(None, {each.name: given[each.name].numpy() for each in session.get_inputs()})
    assert [each.name for each in session.get_outputs()] == ["mu", "logvar", "features", "id_logits", "neighbour_logits"]
    for ours, expected in zip(said, (mu, logvar, rebuilt, ids, neighbours)):
        assert np.abs(ours - expected.numpy()).max() <= TOLERANCE * max(1, expected.abs().max().item())


def test_models_without_onnx_say_so(tmp_path):
    pytest.importorskip("onnx", reason="pip install onnx onnxruntime")
    ModelFile("gnn", {}, {"head.weight": np.ones((1, 1), np.float32)}).save(tmp_path / "v.safetensors")
    with pytest.raises(plimsoll.UsageError, match="state_dict"):
        plimsoll.export(tmp_path / "v.safetensors", tmp_path / "v.onnx", to="onnx")
    assert [file.name for file in tmp_path.iterdir()] == ["v.safetensors"]
