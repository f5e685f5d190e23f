"""`evaluate --calibrate` and `windows --calibrate`: a recording judged after its own benign start."""

import csv
import json
import os
import re
from collections import defaultdict

import numpy as np
import pytest
import zstandard
from safetensors import safe_open

from new_vehicle import COMPAT, KNOWING, TRANSFER, calibrated, detected, drives, model, plimsoll, traffic, trained  # noqa: F401


def evaluate(run, folder, data, *more):
    return json.loads(run("plimsoll", "evaluate", folder, "--data", data, "--json", *more))


def score_rows(file):
    """{(split, recording, detector): {window: score}}"""
    scores = defaultdict(dict)
    with open(file, newline="") as rows:
        for row in csv.DictReader(rows):
            scores[row["split"], row["recording"], row["detector"]][int(row["window"])] = float(row["score"])
    return scores


def first_windows(frames, recording, most, window=100):
    """The windows of a recording that it is calibrated on: those without an attack, at most a third of all."""
    labels = np.load(frames / "label.npy")[recording["first_frame"]:recording["first_frame"] + recording["frames"]]
    windows = -(-len(labels) // window)
    benign = [k for k in range(windows) if not (labels[k * window:(k + 1) * window] == 1).any()]
    return benign[:min(most, windows // 3)]


@pytest.mark.parametrize("given,most", [([], 60), (["--calibrate", "25"], 25)])
def test_the_windows_of_the_begin_are_not_judged(run, trained, traffic, tmp_path, given, most):
    evaluation = evaluate(run, trained(TRANSFER), traffic / "frames", "--scores", tmp_path / "scores.csv", *given)
    scores = score_rows(tmp_path / "scores.csv")
    recordings = json.loads((traffic / "frames" / "manifest.json").read_text())["recordings"]
    judged = [r for r in recordings if not r["split"].startswith("train")]
    assert len(judged) > 5
    for recording in judged:
        windows = -(-recording["frames"] // 100)
        calibration = first_windows(traffic / "frames", recording, most)
        assert len(calibration) == min(most, windows // 3)
        for detector in ("fused", "statistics", "gat"):
            rows = scores[recording["split"], recording["name"], detector]
            assert sorted(rows) == sorted(set(range(windows)) - set(calibration))
    for split in evaluation["splits"]:
        names = [entry["name"] for entry in split["models"]]
        assert names == ["fused", "statistics", "gat"]
        for entry in split["models"]:
            assert entry["threshold"] == 1 and entry["target_fpr"] == 0.001
        assert [rule["name"] for rule in split["rules"]][0] == "unknown_id"
    fused = [entry for split in evaluation["splits"] if split["name"].startswith("test_02") for entry in split["models"]][0]
    assert fused["f1"] > 0.9


def test_without_calibration_the_levels_are_those_of_training(run, trained, traffic, model):
    evaluation = evaluate(run, trained(TRANSFER), traffic / "frames", "--calibrate", "0")
    with safe_open(model, "np") as file:
        lines = file.get_tensor("fusion.lines")
    recordings = json.loads((traffic / "frames" / "manifest.json").read_text())["recordings"]
    for split in evaluation["splits"]:
        models = [(entry["name"], entry.get("target_fpr")) for entry in split["models"]]
        assert models == [("fused", 0.01), ("fused", 0.001), ("gat", 0.01), ("gat", 0.001)]
        for entry, (rate, realised, level) in zip(split["models"], lines):
            assert (entry["target_fpr"], entry["validation_fpr"]) == (rate, realised)
            assert entry["threshold"] == pytest.approx(level)
        if split["name"] != "validation":
            windows = sum(-(-r["frames"] // 100) for r in recordings if r["split"] == split["name"])
            assert split["graphs"] == windows
    validation = evaluation["splits"][0]
    strict = validation["models"][1]
    assert strict["fpr"] == pytest.approx(strict["validation_fpr"])


def test_ablation_judges_the_score_without_each_part(run, trained, traffic, plimsoll):
    evaluation = evaluate(run, trained(TRANSFER), traffic / "frames", "--ablation")
    parts = ["unknown", "early", "early_share", "surplus", "silence", "load", "still", "transitions", "steps", "extra", "checksum",
             "apart", "held", "restless", "gat"]
    for split in evaluation["splits"]:
        assert [entry["name"] for entry in split["models"]] == [
            "fused", "statistics", "fused-models", *(f"fused-without-{part}" for part in parts), "gat"]
        by_name = {entry["name"]: entry for entry in split["models"]}
        same = ("f1", "auc", "confusion")
        # The only model is the classifier.
        assert [by_name["fused-models"][key] for key in same] == [by_name["gat"][key] for key in same]
        assert [by_name["fused-without-gat"][key] for key in same] == [by_name["statistics"][key] for key in same]
    page = re.sub(r"<script>.*?</script>", "", (trained(TRANSFER) / "report.html").read_text(), flags=re.S)
    assert "Labels chose these windows" in page and "no test label was used" not in page
    assert "fused-without-silence" in page and "nan" not in page.lower().replace("resonance", "")
    error = plimsoll("evaluate", trained(TRANSFER), "--data", traffic / "frames", "--ablation", "--calibrate", "0", code=2).stderr
    assert "--calibrate" in error


def test_models_that_know_ids_are_not_calibrated(plimsoll, trained, traffic):
    for recipe, words in ((KNOWING, "[id_index]"), (COMPAT, "compat")):
        error = plimsoll("evaluate", trained(recipe), "--data", traffic / "frames", "--calibrate", "20", code=2).stderr
        assert words in error
        plimsoll("evaluate", trained(recipe), "--data", traffic / "frames", "--calibrate", "0")
    plimsoll("evaluate", trained(TRANSFER), "--data", traffic / "frames", "--calibrate", "-1", code=2)


def test_recipes_that_cannot_be_calibrated_are_refused(plimsoll, traffic, tmp_path):
    for recipe, words in ((KNOWING, "[id_index]"), (COMPAT, "compat")):
        (tmp_path / "recipe.yaml").write_text(recipe)
        for verb, more in (("train", ["--run", tmp_path / "run"]), ("plan", [])):
            error = plimsoll(verb, tmp_path / "recipe.yaml", "--data", traffic / "frames", "-O", "data.calibration=50", *more,
                             code=2).stderr
            assert words in error
        assert not (tmp_path / "run").exists()
    plimsoll("plan", tmp_path / "recipe.yaml", "--data", traffic / "frames", "-O", "data.calibration=-1", code=2)


def test_a_recording_without_a_benign_begin_is_named(run, plimsoll, trained, drives, tmp_path):
    lines = drives[1].read_text().splitlines(keepends=True)
    attacked = lines[:1] + [line.rsplit(",", 1)[0] + ",1\n" for line in lines[1:3_001]]
    for name, content in (("fine", lines), ("attacked", attacked), ("short", lines[:301])):
        path = tmp_path / "captures" / "test_01" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(content))
    for name, windows in (("attacked", 0), ("short", 1)):
        run("plimsoll", "ingest", "can", tmp_path / "captures" / "test_01" / "fine.csv",
            tmp_path / "captures" / "test_01" / f"{name}.csv", "--out", tmp_path / name)
        error = plimsoll("evaluate", trained(TRANSFER), "--data", tmp_path / name, code=3).stderr
        assert f"/{name} " in error and f"with {windows} windows" in error and "--calibrate 0" in error


def test_frames_without_labels_are_judged_as_benign(run, trained, drives, tmp_path):
    lines = drives[0].read_text().splitlines()[1:]
    (tmp_path / "test_01").mkdir()
    (tmp_path / "test_01" / "drive.log").write_text(
        "".join(f"({time}) can0 {can_id}#{data}\n" for time, can_id, data, _ in (line.split(",") for line in lines)))
    run("plimsoll", "ingest", "can", tmp_path / "test_01", "--out", tmp_path / "frames")
    split, = evaluate(run, trained(TRANSFER), tmp_path / "frames")["splits"]
    fused = split["models"][0]
    assert split["attack_graphs"] == 0 and fused["f1"] is None and fused["fpr"] < 0.1


def test_a_training_split_of_other_data_is_judged_where_it_is_named(run, plimsoll, trained, drives, tmp_path):
    (tmp_path / "captures" / "train_01").mkdir(parents=True)
    (tmp_path / "captures" / "train_01" / "drive.csv").write_text(drives[1].read_text())
    run("plimsoll", "ingest", "can", tmp_path / "captures", "--out", tmp_path / "frames")
    assert "--split" in plimsoll("evaluate", trained(TRANSFER), "--data", tmp_path / "frames", code=3).stderr
    split, = evaluate(run, trained(TRANSFER), tmp_path / "frames", "--split", "train_01")["splits"]
    assert split["models"][0]["name"] == "fused" and split["models"][0]["f1"] > 0.9


def test_evaluate_names_the_budget_with_which_calibration_works(run, plimsoll, trained, traffic):
    command = ["evaluate", trained(TRANSFER), "--data", traffic / "frames", "--threads", "2"]
    named = plimsoll(*command, "--budget", "60MiB", code=4).stderr
    least = int(named.split("the smallest budget that works is ")[1].split(" bytes")[0])
    done = json.loads(plimsoll(*command, "--budget", least, "--json").stdout)
    assert done["splits"][0]["models"][0]["name"] == "fused"


DROPPING = KNOWING.replace("hidden: 8", "id_dropout: 0.2, hidden: 8")


@pytest.mark.parametrize("recipe,small", [
    (TRANSFER, False), (KNOWING, False), (DROPPING, False), (TRANSFER, True),
    pytest.param(DROPPING, True, marks=pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"),
                                                          reason="takes half a minute; set PLIMSOLL_SLOW"))])
def test_the_planned_budget_does_for_the_levels_too(run, plimsoll, traffic, tmp_path, recipe, small):
    """Also where many windows are held back by a model of next to no weights: what is learned of them has its room."""
    more = ["-O", "training.max_epochs=1"]
    if small:
        more += ["-O", "split.validation=0.5", "-O", "data.window=10", "-O", "data.stride=5", "-O", "gat.hidden=1",
                 "-O", "gat.heads=1", "-O", "gat.fc_layers=1", "-O", "training.block.graphs=8", "-O", "training.block.nodes=128",
                 "-O", "training.block.edges=128", "-O", "training.batch_size=256"]
    (tmp_path / "recipe.yaml").write_text(recipe)
    plan = json.loads(run("plimsoll", "plan", tmp_path / "recipe.yaml", "--data", traffic / "frames", "--budget", "1GiB",
                          "--threads", "2", "--json", *more))
    done = json.loads(run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", traffic / "frames", "--run", tmp_path / "run",
                          "--budget", plan["min_budget_bytes"], "--threads", "2", "--json", *more))
    assert done["memory"]["anonymous_peak_bytes"] <= plan["min_budget_bytes"]
    with safe_open(tmp_path / "run" / "detector.safetensors", "np") as file:
        assert "fusion.edge" in file.keys()


def test_students_of_all_seeds_are_fused_with_the_models_of_their_own(run, traffic, tmp_path):
    (tmp_path / "recipe.yaml").write_text(
        "task: distillation\ndata: {features: behaviour, calibration: 40, without: [id_index]}\n"
        "training: {max_epochs: 1, batch_size: 64}\ngat: {hidden: 4, heads: 2}\n"
        "teacher: {gat: {preset: small}, vgae: {preset: small}}\n")
    plan = json.loads(run("plimsoll", "plan", tmp_path / "recipe.yaml", "--data", traffic / "frames", "--budget", "1GiB",
                          "--threads", "2", "--json"))
    run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", traffic / "frames", "--run", tmp_path / "run", "--seeds", "2",
        "--budget", plan["min_budget_bytes"], "--threads", "2")
    for given, names in ((["--ablation"], {"fused", "statistics", "fused-with-vgae"}), (["--calibrate", "0"], {"fused"})):
        for split in evaluate(run, tmp_path / "run", traffic / "frames", *given)["splits"]:
            models = defaultdict(list)
            for entry in split["models"]:
                models[entry["name"]].append(entry)
            assert split["models"][0]["name"] == "fused" and names <= set(models)
            for name in (*names, "gat_student", "vgae_student", "gat_alone", "gat_teacher", "vgae_teacher"):
                assert {entry["seed"] for entry in models[name]} == {42, 43}
            # Statistics know no seed.
            figures = [entry["confusion"] for entry in models["statistics"]]
            assert figures[:1] == figures[1:]


def test_windows_are_compared_with_the_begin_of_their_recording(run, plimsoll, traffic, tmp_path):
    run("plimsoll", "windows", traffic / "frames", "--features", "behaviour", "--calibrate", "30", "--out", tmp_path / "own")
    run("plimsoll", "windows", traffic / "frames", "--features", "behaviour", "--out", tmp_path / "trained")
    manifests = {name: json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("own", "trained")}
    names = manifests["own"]["features"]["node"]
    known = {}
    for name, manifest in manifests.items():
        x, ptr = np.load(tmp_path / name / "x.npy"), np.load(tmp_path / name / "node_ptr.npy")
        recording = next(r for r in manifest["recordings"] if r["split"].startswith("test_02"))
        nodes = x[ptr[recording["first_graph"]]:ptr[recording["first_graph"] + 30]]
        known[name] = nodes[:, names.index("known")].mean()
        assert (nodes[:, names.index("id_index")] == 0).all() == (name == "own")
    assert known["own"] > 0.95 and known["trained"] < 0.5
    for name, more in (("own", ["--calibrate", "30"]), ("trained", [])):
        again = plimsoll("windows", traffic / "frames", "--features", "behaviour", *more, "--out", tmp_path / name, "--json")
        assert json.loads(again.stdout)["already_there"]
    plimsoll("windows", traffic / "frames", "--features", "behaviour", "--out", tmp_path / "own", code=1)
    error = plimsoll("windows", traffic / "frames", "--features", "compat", "--calibrate", "30", "--out", tmp_path / "c", code=2)
    assert "compat" in error.stderr


def test_detect_agrees_with_evaluate_on_a_calibrated_recording(run, plimsoll, trained, model, captures, tmp_path, pytestconfig):
    """Real traffic: recordings of hcrl_sa by their own begins, on the recipe for other vehicles."""
    source = captures("hcrl_sa")
    run("plimsoll", "ingest", "can", source, "--out", tmp_path / "frames")
    run("plimsoll", "train", pytestconfig.rootpath / "recipes" / "transfer.yaml", "--data", tmp_path / "frames",
        "--run", tmp_path / "run", "-O", "training.max_epochs=3")
    evaluation = evaluate(run, tmp_path / "run", tmp_path / "frames", "--calibrate", "200", "--scores", tmp_path / "scores.csv")
    split, = (split for split in evaluation["splits"] if split["name"].startswith("test_02"))
    assert split["models"][0]["name"] == "fused" and split["models"][0]["f1"] >= 0.98
    scores = score_rows(tmp_path / "scores.csv")
    recordings = json.loads((tmp_path / "frames" / "manifest.json").read_text())["recordings"]
    compared = 0
    for recording in (r for r in recordings if r["split"].startswith("test_02")):
        expected = scores[recording["split"], recording["name"], "fused"]
        windows = first_windows(tmp_path / "frames", recording, 200)
        assert windows == list(range(200)), "the begin is one run of frames"
        capture, = source.glob(f"{recording['split']}/{recording['name']}.csv*")
        frames = capture.read_bytes()
        if capture.suffix == ".zst":
            frames = zstandard.ZstdDecompressor().decompressobj().decompress(frames)
        frames = frames.splitlines(keepends=True)
        (tmp_path / "begin.csv").write_bytes(b"".join(frames[:20_001]))
        calibrated(plimsoll, tmp_path / "run" / "detector.safetensors", tmp_path / "begin.csv", tmp_path / "car.safetensors",
                   "--force")
        lines = detected(plimsoll, tmp_path / "car.safetensors", capture)[200:]
        assert [line["window"] for line in lines] == sorted(expected)
        np.testing.assert_allclose([line["score"] for line in lines], [expected[line["window"]] for line in lines],
                                   rtol=1e-6, atol=1e-5)
        compared += len(lines)
    assert compared > 1_000
