"""`plimsoll detect`: the scores of evaluate, what they are made of, thresholds, and where attention points."""

import csv
import json
import os
import subprocess
from collections import defaultdict

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from gat_with_jk import GATWithJK
from made_up import random_frames, write_capture
from simulated_bus import RECIPES, captures_made, contents, detect, detector  # noqa: F401


def evaluated(run, run_folder, frames, file, detector):
    """{recording's path: scores by window} of all that evaluate judges by this detector."""
    run("plimsoll", "evaluate", run_folder, "--data", frames, "--scores", file)
    scores = defaultdict(dict)
    with open(file, newline="") as rows:
        for row in csv.DictReader(rows):
            if row["detector"] == detector:
                scores[f"{row['split']}/{row['recording']}"][int(row["window"])] = float(row["score"])
    return scores


def detector_of(recipe):
    """Whose scores are those of `detect`: log-odds, or what they make with profile statistics."""
    return "gat" if recipe.startswith("compat") else "fused"


def compare(detect, model, captures, scores):
    """Every recording that was judged, from its capture."""
    compared = 0
    for path, expected in scores.items():
        files = sorted(captures.glob(f"{path}.csv*"))
        if not files:
            continue
        lines, summary, _ = detect(model, files[0], "--all")
        assert [line["window"] for line in lines] == list(range(summary["windows"]))
        assert len(expected) == len(lines)
        found = np.array([line["score"] for line in lines])
        wanted = np.array([expected[window] for window in range(len(lines))])
        assert np.isfinite(wanted).all()
        # Of float32 sums: 1e-5 of what is small, and 1e-6 of the evidence of an unknown ID, 100.
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-5)
        # The last window is a rest, which raises no alarm unless there is no other.
        assert [line["alarm"] for line in lines[:-1]] == [line["score"] > line["threshold"] for line in lines[:-1]]
        compared += len(lines)
    return compared


@pytest.mark.parametrize("name", RECIPES)
def test_scores_are_those_of_the_trained_model(run, detector, detect, captures_made, tmp_path, name):
    scores = evaluated(run, detector(name), captures_made / "frames", tmp_path / "scores.csv", detector_of(name))
    scores = {path: of for path, of in scores.items() if not path.startswith("validation")}
    assert compare(detect, detector(name) / "detector.safetensors", captures_made / "captures", scores) > 100


@pytest.mark.parametrize("recipe", ["compat", "behaviour"])
def test_scores_of_all_test_recordings_are_those_of_the_trained_model(run, captures, detect, tmp_path, recipe):
    source = captures("hcrl_sa")
    (tmp_path / "recipe.yaml").write_text(RECIPES[recipe].replace("max_epochs: 2", "max_epochs: 1"))
    run("plimsoll", "ingest", "can", source, "--out", tmp_path / "frames")
    run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", tmp_path / "frames", "--run", tmp_path / "run")
    scores = evaluated(run, tmp_path / "run", tmp_path / "frames", tmp_path / "scores.csv", detector_of(recipe))
    assert compare(detect, tmp_path / "run" / "detector.safetensors", source,
                   {path: of for path, of in scores.items() if path.startswith("test")}) > 5_000


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_levels_of_the_processor_agree(detector, detect, captures_made, level):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    expected, _, _ = detect(model, capture, "--all")
    done = subprocess.run(["grep", "-c", level if level != "avx512" else "avx512bw", "/proc/cpuinfo"], capture_output=True)
    if level != "portable" and done.returncode != 0:
        pytest.skip(f"no {level} here")
    found, _, _ = detect(model, capture, "--all", env=dict(os.environ, PLIMSOLL_SIMD=level))
    np.testing.assert_allclose([line["score"] for line in found], [line["score"] for line in expected], atol=2e-5)


def test_a_sliding_window_shares_its_windows_with_the_strides_of_training(detector, detect, captures_made):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    apart, _, _ = detect(model, capture, "--all")
    sliding, summary, _ = detect(model, capture, "--all", "--stride", "10")
    assert summary["windows"] > 9 * len(apart)
    by_frame = {line["first_frame"]: line["score"] for line in sliding}
    for line in apart[:-1]:
        assert by_frame[line["first_frame"]] == line["score"]


@pytest.mark.parametrize("name", ["compat", "behaviour"])
def test_the_threshold_is_that_of_the_lowest_rate_unless_another_is_named(detector, detect, captures_made, tmp_path, name):
    model = detector(name) / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    levels = {0.01: -1.5, 0.001: 2.5, 0.1: -4.25}
    with safe_open(model, "np") as file:
        tensors, metadata = contents(file)
    assert ("fusion.lines" in tensors) == (name == "behaviour")
    if name == "behaviour":
        tensors["fusion.lines"] = np.array([[rate, rate, level] for rate, level in levels.items()])
    else:
        metadata["plimsoll.thresholds"] = json.dumps([{"target_rate": rate, "log_odds": level} for rate, level in levels.items()])
    model = tmp_path / "model.safetensors"
    save_file(tensors, model, metadata)
    for more, level in (([], levels[0.001]), (["--false-alarms", "0.01"], levels[0.01]), (["--threshold", "-3.5"], -3.5)):
        lines, _, _ = detect(model, capture, "--all", *more)
        assert all(line["threshold"] == pytest.approx(level) for line in lines)


@pytest.mark.parametrize("name", ["behaviour", "gatv2, lstm"])
def test_the_score_is_that_of_its_worst_part(detector, detect, captures_made, bin_dir, name):
    model = detector(name) / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    lines, _, _ = detect(model, capture, "--all")
    with safe_open(model, "np") as file:
        edges = file.get_tensor("fusion.edge")
    parts = ["unknown", "early", "early_share", "surplus", "silence", "load", "still", "transitions", "steps", "extra", "checksum", "apart",
             "held", "restless", "gat", "vgae"]
    spoken = [part for part, edge in zip(parts, edges) if np.isfinite(edge)]
    assert spoken == parts[:-1]
    for line in lines:
        assert sorted(line["parts"]) == sorted(spoken)
        assert line["score"] == max(line["parts"].values())
    text = subprocess.run([str(bin_dir / "plimsoll"), "detect", str(model), str(capture), "--all"],
                          capture_output=True, text=True, timeout=60).stdout.splitlines()
    for line, words in zip(lines, text):
        assert line["alarm"] == ("reason" in line) == (" by " in words) and (not line["alarm"] or f" by {line['reason']}" in words)
    assert any(line["alarm"] for line in lines)


def test_alarms_are_told_per_hour_of_traffic(detector, detect, captures_made):
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    lines, summary, _ = detect(detector("behaviour") / "detector.safetensors", capture, "--all")
    hours = (lines[-1]["time_ns"] - lines[0]["time_ns"]) / 3600e9
    assert summary["traffic_hours"] == pytest.approx(hours, rel=1e-6) and hours > 0
    assert summary["alarms_per_hour"] == pytest.approx(summary["alarms"] / hours, rel=1e-6)
    false = summary["alarms"] - summary["labels"]["found"]
    assert summary["labels"]["false_alarms_per_hour"] == pytest.approx(false / hours, rel=1e-6)


def rollout(model, x, edge_index, edge_attr):
    """Attention rollout by PyTorch Geometric's layers: (shares of nodes, shares of edges without self-loops)."""
    h = torch.cat([model.embedding(x[:, 0].long()), x[:, 1:]], dim=1)
    attention = []
    for conv in model.convs:
        h, (index, alpha) = conv(h, edge_index, edge_attr if model.uses_edges else None, return_attention_weights=True)
        attention.append((index.numpy(), alpha.mean(1).numpy()))
        h = torch.relu(h)
    at, through = np.zeros(len(x)), {}
    for index, alpha in reversed(attention):
        at = at + 1 / (len(x) * len(attention))
        below = np.zeros(len(x))
        for (source, target), share in zip(index.T, alpha * at[index[1]]):
            below[source] += share
            if source != target:
                through[source, target] = through.get((source, target), 0) + share / len(attention)
        at = below
    return at, through


@pytest.mark.parametrize("name", ["behaviour", "gatv2, max"])
def test_attention_points_where_that_of_pytorch_geometric_does(run, detector, detect, captures_made, tmp_path, name):
    model = detector(name) / "detector.safetensors"
    run("plimsoll", "windows", captures_made / "frames", "--features", "behaviour", "--out", tmp_path / "graphs")
    manifest = json.loads((tmp_path / "graphs" / "manifest.json").read_text())
    recording = next(r for r in manifest["recordings"] if r["split"].startswith("test"))
    lines, _, _ = detect(model, captures_made / "captures" / recording["split"] / f"{recording['name']}.csv", "--all")
    with safe_open(model, "pt") as file:
        twin = GATWithJK(**json.loads(file.metadata()["plimsoll.config"]))
        twin.load_state_dict({key: file.get_tensor(key) for key in twin.state_dict()})
    node_ptr, edge_ptr, x, edges, edge_attr = (np.load(tmp_path / "graphs" / f"{column}.npy")
                                               for column in ("node_ptr", "edge_ptr", "x", "edges", "edge_attr"))
    with torch.no_grad():
        for line in lines[:20]:
            g = recording["first_graph"] + line["window"]
            nodes, rows = slice(*node_ptr[g:g + 2]), slice(*edge_ptr[g:g + 2])
            at, through = rollout(twin.eval(), torch.from_numpy(x[nodes]), torch.from_numpy(edges[rows].T.astype(np.int64)),
                                  torch.from_numpy(edge_attr[rows]))
            assert at.sum() == pytest.approx(1, abs=1e-5)
            np.testing.assert_allclose([node["share"] for node in line["nodes"]], sorted(at, reverse=True)[:5], atol=1e-5)
            np.testing.assert_allclose([edge["share"] for edge in line["edges"]],
                                       sorted(through.values(), reverse=True)[:5], atol=1e-5)


def test_alarms_point_at_the_unknown_id(detector, detect, tmp_path):
    rng = np.random.default_rng(4)
    write_capture(tmp_path / "strange.csv", random_frames(rng, 400, [0x7F1, 0x7F2, 0x7F3]))
    lines, _, _ = detect(detector("behaviour") / "detector.safetensors", tmp_path / "strange.csv", "--all",
                         "--threshold", "-1000")
    for line in lines:
        assert line["alarm"] and set(line["unknown_ids"]) == {"0x7F1", "0x7F2", "0x7F3"}
        assert 0 < sum(node["share"] for node in line["nodes"]) <= 1.0001
        assert all(not node["known"] for node in line["nodes"])
        ids = {node["id"] for node in line["nodes"]}
        assert all(edge["source"] in ids and edge["target"] in ids for edge in line["edges"])
