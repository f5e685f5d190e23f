"""plimsoll.Detector against the lines of `plimsoll detect`."""

import json
import pickle
import subprocess

import numpy as np
import pytest
from package_data import plimsoll

RECIPES = {
    "compat": "task: detection\ntraining: {max_epochs: 1, batch_size: 64}\ndata: {features: compat}\n"
    "gat: {hidden: 4, heads: 2}\n",
    "behaviour": "task: detection\ntraining: {max_epochs: 1, batch_size: 64}\ndata: {features: behaviour}\n"
    "gat: {hidden: 4, heads: 2, edge_features: true}\n",
}


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    root = tmp_path_factory.mktemp("detector")
    run("plimsoll", "simulate", "can", "--format", "csv", "--out", root / "captures", "--frames", "30000", "--seed", "5")
    plimsoll.ingest.can([root / "captures"], root / "frames")
    for name, recipe in RECIPES.items():
        (root / f"{name}.yaml").write_text(recipe)
        run("plimsoll", "train", root / f"{name}.yaml", "--data", root / "frames", "--run", root / name)
    return root


@pytest.fixture(scope="module")
def frames(folder):
    return plimsoll.open(folder / "frames")


def of_command_line(bin_dir, model, capture, *options):
    command = [bin_dir / "plimsoll", "detect", model, capture, "--all", "--json", *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()][:-1]


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("stride", [None, 30])
def test_as_the_command_line(bin_dir, folder, frames, recipe, stride):
    model = folder / recipe / "detector.safetensors"
    recording = next(r for r in frames.recordings if r.split.startswith("test") and r.attack_frames)
    lines = of_command_line(bin_dir, model, folder / "captures" / recording.source,
                            *(["--stride", str(stride)] if stride else []))
    detector = plimsoll.Detector(model, stride=stride)
    verdicts = detector.judge(frames, recording)
    assert [(v.number, v.frames, v.alarm, v.score) for v in verdicts] == [
        (line["window"], line["frames"], line["alarm"], pytest.approx(line["score"], rel=1e-6)) for line in lines
    ]
    assert {v.attack for v in verdicts} == {True, False}
    assert all(line["threshold"] == pytest.approx(detector.threshold) for line in lines)
    assert (recipe == "behaviour") == all(v.parts for v in verdicts)
    assert detector.judge(frames, recording) == verdicts


def test_frames_as_they_come(folder, frames):
    detector = plimsoll.Detector(folder / "behaviour" / "detector.safetensors")
    recording = frames.recordings[0]
    whole = detector.judge(frames, recording)
    found, at = [], recording.first_frame
    detector.begin(has_time=recording.has_time, has_payload=recording.has_payload)
    for count in np.random.default_rng(0).integers(1, 700, 1000):
        found += detector.add(frames[at : min(at + int(count), recording.slice.stop)])
        at += int(count)
        if at >= recording.slice.stop:
            break
    assert found + detector.end() == whole


def test_thresholds(folder, frames):
    model = folder / "behaviour" / "detector.safetensors"
    low, high = plimsoll.Detector(model, threshold=-1e9), plimsoll.Detector(model, threshold=1e9)
    recording = frames.recordings[0]
    *whole, _ = low.judge(frames, recording)  # the last window is a rest, which raises no alarm
    assert all(v.alarm for v in whole)
    assert not any(v.alarm for v in high.judge(frames, recording))
    assert plimsoll.Detector(model, false_alarms=0.01).threshold <= plimsoll.Detector(model).threshold


def test_adopted_ids_as_the_command_line(bin_dir, run, folder, frames, tmp_path):
    recipe = RECIPES["behaviour"].replace("behaviour}", "behaviour, calibration: 60, without: [id_index, known_transition]}")
    (tmp_path / "recipe.yaml").write_text(recipe)
    run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", folder / "frames", "--run", tmp_path / "run")
    model = tmp_path / "run" / "detector.safetensors"
    recording = next(r for r in frames.recordings if r.attack_frames and "fuzzing" in r.name)
    capture = folder / "captures" / recording.source
    lines = of_command_line(bin_dir, model, capture)
    unknown = sorted({name for line in lines for name in line["unknown_ids"]})
    assert unknown
    adopt = [name.removeprefix("0x") for name in unknown[: len(unknown) // 2 + 1]]
    adopted = of_command_line(bin_dir, model, capture, "--adopt", ",".join(adopt))
    verdicts = plimsoll.Detector(model, adopt=adopt).judge(frames, recording)
    assert [(v.number, v.alarm, v.score) for v in verdicts] == [
        (line["window"], line["alarm"], pytest.approx(line["score"], rel=1e-6)) for line in adopted
    ]
    plain = plimsoll.Detector(model).judge(frames, recording)
    assert [v.score for v in plain] != [v.score for v in verdicts]
    with pytest.raises(plimsoll.UsageError, match="adopt '1DFG': expected a CAN ID in hex"):
        plimsoll.Detector(model, adopt=["1DFG"])
    with pytest.raises(plimsoll.UsageError, match="expected a list"):
        plimsoll.Detector(model, adopt="7F1")
    with pytest.raises(plimsoll.UsageError, match="id_index"):
        plimsoll.Detector(folder / "behaviour" / "detector.safetensors", adopt=["7F1"])


def test_bad_input(folder, frames, tmp_path):
    model = folder / "behaviour" / "detector.safetensors"
    with pytest.raises(plimsoll.InputError, match="nothing.safetensors"):
        plimsoll.Detector(tmp_path / "nothing.safetensors")
    (tmp_path / "damaged").write_bytes(model.read_bytes()[:-100])
    with pytest.raises(plimsoll.InputError, match="damaged"):
        plimsoll.Detector(tmp_path / "damaged")
    with pytest.raises(plimsoll.UsageError, match="one of them"):
        plimsoll.Detector(model, threshold=1.0, false_alarms=0.01)
    with pytest.raises(plimsoll.UsageError, match="0.5"):
        plimsoll.Detector(model, false_alarms=0.5)
    with pytest.raises(plimsoll.UsageError, match="above 0"):
        plimsoll.Detector(model, false_alarms=0)
    some = frames[:100]
    with pytest.raises(plimsoll.UsageError, match="differ in length"):
        plimsoll.Detector(model).add(plimsoll.FrameColumns(some.time_ns[:50], some.can_id, some.length, some.data, some.label))
    detector = plimsoll.Detector(model)
    detector.begin(width=64)
    with pytest.raises(plimsoll.UsageError, match="8 bytes per frame, but the recording started with 64"):
        detector.add(some)
    for width in (-8, 0, 2, 65, 10**12):
        with pytest.raises(plimsoll.UsageError, match=f"frames of {width} bytes of payload, expected 8, or 64"):
            detector.begin(width=width)
    for data in (np.zeros((100, 0), np.uint8), np.zeros(100, np.uint8)):
        with pytest.raises(plimsoll.UsageError, match="bytes of payload"):
            columns = plimsoll.FrameColumns(some.time_ns, some.can_id, some.length, data, some.label)
            plimsoll.Detector(folder / "compat" / "detector.safetensors").add(columns)
    with pytest.raises(TypeError):
        pickle.dumps(detector)
