"""`evaluate --attention`: what a detector's attention points at, compared with PyTorch Geometric's."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from gat_with_jk import GATWithJK  # noqa: E402
from plimsoll.can.model_file import ModelFile  # noqa: E402

TOLERANCE = 1e-5


@pytest.fixture(scope="module", params=["compat", "behaviour"])
def judged(request, run, tmp_path_factory):
    """A run, its data, and its attention."""
    folder = tmp_path_factory.mktemp(request.param)
    plimsoll.simulate.can(folder / "frames", frames=30_000, seed=3)
    run("plimsoll", "train", "recipes/gat.yaml", "--data", folder / "frames", "--run", folder / "run", "-O",
        "training.max_epochs=1", "-O", f"data.features={request.param}")
    run("plimsoll", "evaluate", folder / "run", "--data", folder / "frames", "--attention", folder / "attention", "--scores",
        folder / "scores.csv")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs", "--features", request.param)
    return folder


def test_weights_are_those_of_pytorch_geometric(judged):
    attention = plimsoll.open(judged / "attention")
    graphs = plimsoll.open(judged / "graphs")
    file = ModelFile.load(judged / "run" / "detector.safetensors")
    model = GATWithJK(**file.config).eval()
    model.load_state_dict({name: torch.from_numpy(values) for name, values in file.weights.items()})
    for w in range(0, len(attention), max(len(attention) // 20, 1)):
        data = graphs.to_pyg(int(attention.window[w]))
        edges = slice(attention.edge_ptr[w], attention.edge_ptr[w + 1])
        nodes = slice(attention.node_ptr[w], attention.node_ptr[w + 1])
        assert np.array_equal(attention.edges[edges].T, data.edge_index.numpy())
        expected = {}
        h = torch.cat([model.embedding(data.x[:, 0].long()), data.x[:, 1:]], 1)
        for layer, conv in enumerate(model.convs):
            edge_attr = data.edge_attr if model.uses_edges else None
            h, (ends, weights) = conv(h, data.edge_index, edge_attr, return_attention_weights=True)
            h = h.relu()
            for (source, target), alpha in zip(ends.T.tolist(), weights.detach().numpy()):
                expected[layer, source, target] = alpha
        for layer in range(len(model.convs)):
            for e, (source, target) in enumerate(attention.edges[edges].tolist()):
                found = attention.attention[edges][e, layer]
                assert not found.any() if source == target else np.abs(found - expected[layer, source, target]).max() < TOLERANCE
            for n, found in enumerate(attention.own[nodes]):
                assert np.abs(found[layer] - expected[layer, n, n]).max() < TOLERANCE


def test_windows_ids_and_scores_are_those_of_the_evaluation(judged):
    attention = plimsoll.open(judged / "attention")
    assert plimsoll.verify(judged / "attention") == []
    frames = plimsoll.open(judged / "frames")
    rows = [line.split(",") for line in (judged / "scores.csv").read_text().splitlines()[1:]]
    first = {(r["split"], r["name"]): r["first_window"] for r in attention.manifest["recordings"]}
    recording_split = {r["name"]: r["split"] for r in attention.manifest["recordings"]}
    scores = {}
    for split, recording, window, label, detector, _, score in rows:
        if detector == "gat":
            where = split if (split, recording) in first else recording_split[recording]
            scores.setdefault(first[where, recording] + int(window), (float(score), int(label)))
    for w in range(len(attention)):
        score, label = scores[int(attention.window[w])]
        assert abs(score - attention.score[w]) < 1e-3 + 1e-4 * abs(score) and label == attention.y[w]
    ids = set(np.unique(frames.can_id).tolist())
    assert set(attention.can_id.tolist()) <= ids
    for w in (0, len(attention) - 1):
        nodes = slice(attention.node_ptr[w], attention.node_ptr[w + 1])
        assert len(set(attention.can_id[nodes].tolist())) == nodes.stop - nodes.start
        assert attention.node_share[nodes].sum() == pytest.approx(1, abs=1e-4)
    assert sum(split["windows"] for split in attention.manifest["splits"]) == len(attention)


def test_parquet_has_a_row_for_each_edge(judged, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pip install pyarrow")
    attention = plimsoll.open(judged / "attention")
    attention.to_parquet(tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert len(table["window"]) == len(attention.edges)
    layers, heads = attention.manifest["layers"], attention.manifest["heads"]
    for layer, head in np.ndindex(layers, heads):
        assert np.array_equal(np.float32(table[f"attention_{layer}_{head}"]), attention.attention[:, layer, head])
    e, w = len(attention.edges) - 1, len(attention) - 1
    source, target = attention.edges[e] + attention.node_ptr[w]
    assert (table["source"][e], table["target"][e]) == (attention.can_id[source], attention.can_id[target])
    with pytest.raises(plimsoll.Failure, match="below cannot be written"):
        attention.to_parquet(tmp_path / "a.parquet" / "below")
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_the_report_draws_suspicious_windows(judged):
    page = (judged / "run" / "report.html").read_text()
    assert page.count("graph of ") >= 4 and "The most suspicious windows" in page
    root = ET.fromstring(page)
    assert root.tag == "html"
    drawn = [svg for svg in root.iter("svg") if svg.get("aria-label", "").startswith("graph of")]
    for svg in drawn:
        nodes = int(svg.get("aria-label").split()[2])
        assert sum(1 for _ in svg.iter("circle")) == nodes


def test_an_output_of_something_else_stays(judged, bin_dir, tmp_path):
    import subprocess

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("x")
    command = [bin_dir / "plimsoll", "evaluate", judged / "run", "--data", judged / "frames", "--split", "validation"]
    done = subprocess.run([*command, "--attention", tmp_path / "mine"], capture_output=True, text=True)
    assert done.returncode == 1 and "is not an attention data set" in done.stderr and (tmp_path / "mine" / "x").exists()
    for _ in range(2):  # the second replaces the first
        done = subprocess.run([*command, "--attention", tmp_path / "new", "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert plimsoll.open(tmp_path / "new").manifest["splits"][0]["name"] == "validation"
    same = json.loads((tmp_path / "new" / "manifest.json").read_text())
    assert same["kind"] == "attention"


def test_python_evaluate_writes_the_same(judged, tmp_path):
    plimsoll.evaluate(judged / "run", judged / "frames", attention=tmp_path / "attention")
    for file in sorted((judged / "attention").iterdir()):
        assert file.read_bytes() == (tmp_path / "attention" / file.name).read_bytes(), file.name
