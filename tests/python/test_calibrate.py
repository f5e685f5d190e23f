"""`plimsoll calibrate`, `evaluate --calibrate` and `windows --calibrate`: detectors for vehicles they were not trained on."""

import csv
import json
import re
import os
import subprocess
from collections import defaultdict

import numpy as np
import pytest
import zstandard
from safetensors import safe_open
from scipy import stats

MIB = 1 << 20
TRANSFER = """
task: detection
data: {features: behaviour, calibration: 60, without: [id_index, known_transition]}
training: {max_epochs: 2, batch_size: 64}
gat: {hidden: 8, heads: 2, learning_rate: 0.002}
"""
KNOWING = TRANSFER.replace("calibration: 60, without: [id_index, known_transition]", "window: 100")
COMPAT = KNOWING.replace("behaviour", "compat")


@pytest.fixture(scope="module")
def traffic(run, tmp_path_factory):
    """Captures of simulated vehicles, the last of which never trains, and their frames."""
    folder = tmp_path_factory.mktemp("calibrate")
    run("plimsoll", "simulate", "can", "--format", "csv", "--out", folder / "captures", "--frames", "120000", "--seed", "5",
        "--attacks", "DoS,fuzzing,suppression")
    run("plimsoll", "ingest", "can", folder / "captures", "--out", folder / "frames")
    # The last of three vehicles trains among four: here is its benign traffic.
    run("plimsoll", "simulate", "can", "--format", "csv", "--out", folder / "benign", "--frames", "60000", "--seed", "5",
        "--vehicles", "4", "--attacks", "none")
    return folder


@pytest.fixture(scope="module")
def trained(run, traffic, tmp_path_factory):
    """trained(recipe): the folder of a run."""
    made = {}

    def train(recipe):
        if recipe not in made:
            folder = made[recipe] = tmp_path_factory.mktemp("run")
            (folder / "recipe.yaml").write_text(recipe)
            run("plimsoll", "train", folder / "recipe.yaml", "--data", traffic / "frames", "--run", folder / "run")
        return made[recipe] / "run"

    return train


@pytest.fixture(scope="module")
def model(trained):
    return trained(TRANSFER) / "detector.safetensors"


@pytest.fixture(scope="module")
def drives(traffic):
    """Of one drive of the vehicle that never trained: (its benign begin, what comes later, with attacks)."""
    header, *lines = next((traffic / "benign").glob("*/*-3.csv")).read_text().splitlines(keepends=True)
    (traffic / "benign.csv").write_text(header + "".join(lines[:5_040]))
    later = []
    for line, following in zip(lines[5_040:], lines[5_041:]):
        later.append(line)
        between = (float(line.split(",")[0]) + float(following.split(",")[0])) / 2
        if 6_000 < len(later) <= 7_000:  # an ID that nobody sends
            later.append(f"{between:.6f},000,0000000000000000,1\n")
        if 9_000 < len(later) <= 10_000:  # and one that all know
            later.append(f"{between:.6f},{lines[0].split(',')[1]},{lines[0].split(',')[2]},1\n")
    (traffic / "later.csv").write_text(header + "".join(later))
    return traffic / "benign.csv", traffic / "later.csv"


@pytest.fixture(scope="module")
def plimsoll(bin_dir):
    """plimsoll(*arguments, code): the process that ended so."""

    def start(*arguments, code=0):
        done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return start


def calibrated(plimsoll, model, benign, out, *more):
    return json.loads(plimsoll("calibrate", model, "--benign", benign, "--out", out, "--json", *more).stdout)


def detected(plimsoll, model, capture, *more):
    return [json.loads(line) for line in plimsoll("detect", model, capture, "--all", "--json", *more).stdout.splitlines()][:-1]


def rates(lines):
    """(share of attacked windows that are alarms, share of the others)."""
    alarms = {attack: [line["alarm"] for line in lines if line["attack"] == attack] for attack in (True, False)}
    return np.mean(alarms[True]), np.mean(alarms[False])


def test_a_vehicle_that_never_trained_becomes_known(plimsoll, model, drives, tmp_path):
    benign, capture = drives
    before = detected(plimsoll, model, capture)
    assert all(line["unknown_ids"] for line in before)
    summary = calibrated(plimsoll, model, benign, tmp_path / "car.safetensors")
    after = detected(plimsoll, tmp_path / "car.safetensors", capture)
    assert {name for line in after for name in line["unknown_ids"]} == {"0x000"}
    found, false = rates(after)
    assert found > 0.95 and false < 0.03
    found_before, false_before = rates(before)
    assert found_before < 0.5 or false_before > 0.5
    ids = {line.split(",")[1] for line in benign.read_text().splitlines()[1:]}
    assert summary["ids"] == len(ids) and 0 < summary["expected_ids"] <= len(ids)
    assert summary["out"] == str(tmp_path / "car.safetensors") and summary["left_out"] == 0
    frames = len(benign.read_text().splitlines()) - 1
    assert summary["windows"] == frames // 100, "what is left at the end is no window to learn levels from"
    assert summary["target_rate"] == 0.001 and summary["realised_rate"] <= 0.001 + 1 / summary["windows"]
    times = [float(line.split(",")[0]) for line in benign.read_text().splitlines()[1:]]
    assert summary["seconds"] == pytest.approx(times[-1] - times[0], abs=1e-5)
    alarms = round(summary["realised_rate"] * summary["windows"])
    assert summary["rate_bound"] == pytest.approx(stats.beta.ppf(0.95, alarms + 1, summary["windows"] - alarms))
    words = plimsoll("calibrate", model, "--benign", benign, "--out", tmp_path / "car.safetensors", "--force").stdout
    assert f"alarms: {alarms} of these windows" in words
    assert f"{summary['ids']} IDs" in words and "memory: " in words


@pytest.mark.parametrize("options", [[], ["--columns", "-,id,payload,label", "--time", "none"]], ids=["times", "no times"])
def test_a_flood_of_unknown_ids_does_not_make_it_another_vehicle(plimsoll, model, drives, tmp_path, options):
    calibrated(plimsoll, model, drives[0], tmp_path / "car.safetensors", *options)
    header, *lines = drives[0].read_text().splitlines(keepends=True)
    flood = lines[:2000]
    for line, following in zip(lines[2000:3000], lines[2001:]):
        begin, end = (float(one.split(",")[0]) for one in (line, following))
        flood.append(line)
        flood += [f"{begin + (end - begin) * k / 22:.6f},{0x700 + (len(flood) + k) * 7 % 255:03X},00,1\n" for k in range(1, 21)]
    (tmp_path / "flood.csv").write_text(header + "".join(flood))
    lines = detected(plimsoll, tmp_path / "car.safetensors", tmp_path / "flood.csv", *options)
    attacked = [line for line in lines if line["attack"]]
    assert len(attacked) > 200 and all(line["alarm"] and line["parts"]["unknown"] > 1 for line in attacked)


def test_an_adopted_id_raises_no_alarm_and_its_flood_does(plimsoll, trained, model, drives, tmp_path):
    car = tmp_path / "car.safetensors"
    calibrated(plimsoll, model, drives[0], car)
    header, *frames = drives[1].read_text().splitlines(keepends=True)
    quiet, flooded = [], []
    for k, line in enumerate(frames[:5_000]):
        quiet.append(line)
        if k % 8 == 4:  # a device that joined
            quiet.append(f"{line.split(',')[0]},1DFF0514,0102030405060708,0\n")
        flooded.append(line)
        if k % 40 == 20:
            flooded += [f"{line.split(',')[0]},1DFF0514,0102030405060708,1\n"] * 80
    (tmp_path / "quiet.csv").write_text(header + "".join(quiet))
    (tmp_path / "flooded.csv").write_text(header + "".join(flooded))

    def alarms(capture, *more):
        lines = [json.loads(line) for line in plimsoll("detect", car, capture, "--all", "--json", *more).stdout.splitlines()][:-1]
        return np.mean([line["alarm"] for line in lines]), {name for line in lines for name in line["unknown_ids"]}

    assert alarms(tmp_path / "quiet.csv") == (pytest.approx(1, abs=0.03), {"0x1DFF0514"})
    share, unknown = alarms(tmp_path / "quiet.csv", "--adopt", "0x1DFF0514,7F1")
    assert share < 0.05 and unknown == set()
    assert alarms(tmp_path / "flooded.csv", "--adopt", "1DFF0514")[0] > 0.9
    assert "expected a CAN ID in hex" in plimsoll("detect", car, drives[1], "--adopt", "1DFG", code=2).stderr
    assert "29 bits" in plimsoll("detect", car, drives[1], "--adopt", "7F1,FFFFFFFF", code=2).stderr
    assert "[id_index]" in plimsoll("detect", trained(KNOWING) / "detector.safetensors", drives[1], "--adopt", "7F1", code=2).stderr


def test_weights_stay_and_what_is_of_the_vehicle_does_not(plimsoll, model, drives, tmp_path):
    summary = calibrated(plimsoll, model, drives[0], tmp_path / "car.safetensors")
    with safe_open(model, "np") as before, safe_open(tmp_path / "car.safetensors", "np") as after:
        kept = [name for name in before.keys() if name.split(".")[0] not in ("profile", "fusion", "timing")]
        assert set(kept) == {name for name in after.keys() if name.split(".")[0] not in ("profile", "fusion")}
        for name in kept:
            np.testing.assert_array_equal(before.get_tensor(name), after.get_tensor(name))
        assert len(after.get_tensor("profile.ids")) == summary["ids"]
        metadata, trained = after.metadata(), before.metadata()
        said = json.loads(metadata.pop("plimsoll.calibrated"))
        assert metadata.pop("plimsoll.checksum") != trained.pop("plimsoll.checksum")
        assert metadata == trained
    assert said == {key: summary[key] for key in ("windows", "seconds", "ids")}


def test_captures_and_frames_give_the_same_file_time_and_again(run, plimsoll, model, drives, tmp_path):
    run("plimsoll", "ingest", "can", drives[0], "--out", tmp_path / "frames")
    first = calibrated(plimsoll, model, drives[0], tmp_path / "a.safetensors")
    second = calibrated(plimsoll, model, tmp_path / "frames", tmp_path / "b.safetensors")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()
    for key in ("windows", "left_out", "seconds", "ids", "expected_ids", "target_rate", "realised_rate"):
        assert first[key] == second[key]
    # A calibrated detector can be calibrated again, in place.
    calibrated(plimsoll, tmp_path / "a.safetensors", drives[0], tmp_path / "a.safetensors", "--force")
    assert (tmp_path / "a.safetensors").read_bytes() == (tmp_path / "b.safetensors").read_bytes()


def test_a_table_that_the_command_line_describes_calibrates_as_its_capture_does(plimsoll, model, drives, tmp_path):
    rows = [line.split(",") for line in drives[0].read_text().splitlines()[1:]]
    (tmp_path / "drive.tsv").write_text("".join(f"{data}\t{time}\t{int(id, 16)}\n" for time, id, data, _ in rows))
    described = ["--columns=payload,time,id", "--separator=tab", "--id=dec", "--bytes=hex"]
    made = [calibrated(plimsoll, model, source, tmp_path / name, *options)
            for source, name, options in ((drives[0], "csv", []), (tmp_path / "drive.tsv", "table", described))]
    assert made[0]["windows"] > 20
    assert all(made[0][key] == made[1][key] for key in ("windows", "seconds", "ids", "expected_ids", "target_rate", "realised_rate"))


def test_windows_with_attacks_are_left_out_and_counted(plimsoll, model, drives, tmp_path):
    lines = drives[0].read_text().splitlines()
    header, frames = lines[0], lines[1:3_001]
    for row in (250, 260, 1_799):
        frames[row] = frames[row].rsplit(",", 1)[0] + ",1"
    (tmp_path / "mixed.csv").write_text("\n".join([header, *frames]) + "\n")
    summary = calibrated(plimsoll, model, tmp_path / "mixed.csv", tmp_path / "car.safetensors")
    assert (summary["windows"], summary["left_out"]) == (28, 2)
    words = plimsoll("calibrate", model, "--benign", tmp_path / "mixed.csv", "--out", tmp_path / "car.safetensors", "--force")
    assert "left out 2 windows" in words.stdout
    # The profile does not know an ID that is theirs alone.
    frames[250] = frames[250].replace(frames[250].split(",")[1], "7F1", 1)
    (tmp_path / "mixed.csv").write_text("\n".join([header, *frames]) + "\n")
    calibrated(plimsoll, model, tmp_path / "mixed.csv", tmp_path / "other.safetensors")
    with safe_open(tmp_path / "other.safetensors", "np") as file:
        assert 0x7F1 not in file.get_tensor("profile.ids")


def test_what_cannot_be_calibrated_is_refused_and_leaves_nothing(plimsoll, trained, model, drives, tmp_path):
    out = tmp_path / "out" / "car.safetensors"
    out.parent.mkdir()

    def refused(code, model, benign, *more):
        error = plimsoll("calibrate", model, "--benign", benign, "--out", out, *more, code=code).stderr
        assert not [path for path in out.parent.iterdir() if path != out]
        return error

    assert "features 'compat'" in refused(3, trained(COMPAT) / "detector.safetensors", drives[0])
    assert "[id_index]" in refused(2, trained(KNOWING) / "detector.safetensors", drives[0])
    short = drives[0].read_text().splitlines(keepends=True)
    (tmp_path / "short.csv").write_text("".join(short[:1_901]))
    assert "19 windows" in refused(3, model, tmp_path / "short.csv")
    (tmp_path / "header.csv").write_text(short[0])
    refused(3, model, tmp_path / "header.csv")
    (tmp_path / "bad.csv").write_text("".join(short[:3_000]) + "nonsense\n")
    assert "bad.csv" in refused(3, model, tmp_path / "bad.csv")
    assert "absent.csv" in refused(3, model, tmp_path / "absent.csv")
    (tmp_path / "table.txt").write_text("a;b;c\n" * 100)
    error = refused(3, model, tmp_path / "table.txt")
    assert "`plimsoll ingest can --format table --columns`" in error
    (tmp_path / "fd.log").write_text("(1.0) can0 123##1" + "00" * 12 + "\n")
    assert "give --payload 64" in refused(3, model, tmp_path / "fd.log")
    assert "--payload" not in refused(3, model, tmp_path / "fd.log", "--payload", "64")  # it has too few windows
    assert "absent.safetensors" in refused(3, tmp_path / "absent.safetensors", drives[0])
    assert "drive" not in refused(3, drives[0], drives[0]) and not out.exists()
    refused(4, model, drives[0], "--budget", "1MiB")
    out.write_text("mine")
    assert "--force" in refused(1, model, drives[0])
    refused(3, model, tmp_path / "short.csv", "--force")
    assert out.read_text() == "mine"
    plimsoll("calibrate", model, "--benign", drives[0], "--out", out, "--force")
    assert [path.name for path in out.parent.iterdir()] == ["car.safetensors"]


@pytest.mark.parametrize("kind", ["captures", "frames"])
def test_the_folder_of_the_output_is_made_and_goes_where_nothing_comes_of_it(run, plimsoll, model, drives, tmp_path, kind):
    benign = drives[0]
    if kind == "frames":
        benign = tmp_path / "frames"
        run("plimsoll", "ingest", "can", drives[0], "--out", benign)
    out = tmp_path / "new" / "folder" / "car.safetensors"
    plimsoll("calibrate", model, "--benign", tmp_path, "--out", out, code=3)
    assert not (tmp_path / "new").exists()
    plimsoll("calibrate", model, "--benign", benign, "--out", out)
    assert [path.name for path in out.parent.iterdir()] == ["car.safetensors"]


def test_it_takes_little_memory(plimsoll, model, traffic, tmp_path):
    """All the captures there are, attacks and all: memory is of the longest recording's windows, not of its frames."""
    summary = calibrated(plimsoll, model, traffic / "captures", tmp_path / "car.safetensors", "--budget", "32MiB")
    assert summary["windows"] > 900 and summary["memory"]["anonymous_peak_bytes"] < 32 * MIB


# What `--merge` has in the bits of one calibration on all drives: what is counted. The rest is rounded in another order, or a
# bound (docs/detect.md#drives-that-were-calibrated-apart).
COUNTED = ["ids", "has_gaps", "has_payload", "length", "byte_mean", "byte_units", "least_two_gaps_ns", "longest_gap_ns",
           "has_expectations", "fixed_bits", "fixed_value", "longest_still", "most_change", "counter_mask", "counter_step",
           "transitions", "arrival_ns"]


def test_drives_that_were_calibrated_apart_become_one_detector(plimsoll, model, drives, tmp_path):
    header, *lines = drives[0].read_text().splitlines(keepends=True)
    models = []
    for day, part in zip(("monday", "tuesday"), (lines[:2_500], lines[2_500:])):
        (tmp_path / f"{day}.csv").write_text(header + "".join(part))
        models.append(tmp_path / f"{day}.safetensors")
        calibrated(plimsoll, model, tmp_path / f"{day}.csv", models[-1])
    at_once = json.loads(plimsoll("calibrate", model, "--benign", tmp_path / "monday.csv", tmp_path / "tuesday.csv", "--out",
                                  tmp_path / "both.safetensors", "--json").stdout)

    def merged(one, *others, out, code=0, more=()):
        return plimsoll("calibrate", one, "--merge", *others, "--out", tmp_path / out, "--json", *more, code=code)

    summary = json.loads(merged(*models, out="car.safetensors").stdout)
    for key in ("windows", "left_out", "ids", "expected_ids", "target_rate"):
        assert summary[key] == at_once[key]
    assert summary["seconds"] == pytest.approx(at_once["seconds"])
    with safe_open(tmp_path / "both.safetensors", "np") as one, safe_open(tmp_path / "car.safetensors", "np") as other:
        for name in COUNTED:
            np.testing.assert_array_equal(one.get_tensor(f"profile.{name}"), other.get_tensor(f"profile.{name}"), err_msg=name)
        np.testing.assert_allclose(other.get_tensor("profile.gap_mean"), one.get_tensor("profile.gap_mean"), rtol=1e-12)
        places = [{tuple(row) for row in file.get_tensor("profile.signal_place")} for file in (one, other)]
        assert places[1] and places[0] & places[1]
        assert len(other.get_tensor("fusion.rows")) == summary["windows"]
        for name in one.keys():
            if name.split(".")[0] not in ("profile", "fusion"):
                np.testing.assert_array_equal(one.get_tensor(name), other.get_tensor(name))
    # In any order, and a merged one can be merged again.
    merged(*reversed(models), out="other.safetensors")
    assert (tmp_path / "car.safetensors").read_bytes() == (tmp_path / "other.safetensors").read_bytes()
    again = json.loads(merged(tmp_path / "car.safetensors", models[0], out="again.safetensors").stdout)
    assert again["windows"] == summary["windows"] + 25
    found, false = rates(detected(plimsoll, tmp_path / "car.safetensors", drives[1]))
    assert found > 0.95 and false < 0.03
    assert not any(line["alarm"] for line in detected(plimsoll, tmp_path / "car.safetensors", tmp_path / "monday.csv"))

    out = ["--out", tmp_path / "none.safetensors"]
    assert "--benign" in plimsoll("calibrate", models[0], *out, code=2).stderr
    plimsoll("calibrate", models[0], "--merge", models[1], "--benign", drives[0], *out, code=2)
    assert "counts once" in merged(models[0], models[0], out="none.safetensors", code=2).stderr
    assert "earlier version, or not at all" in merged(models[0], model, out="none.safetensors", code=3).stderr
    assert not (tmp_path / "none.safetensors").exists()


def test_detectors_of_another_model_are_not_merged(plimsoll, trained, model, drives, tmp_path):
    calibrated(plimsoll, model, drives[0], tmp_path / "one.safetensors")
    calibrated(plimsoll, trained(TRANSFER.replace("max_epochs: 2", "max_epochs: 1")) / "detector.safetensors", drives[0],
               tmp_path / "other.safetensors")
    error = plimsoll("calibrate", tmp_path / "one.safetensors", "--merge", tmp_path / "other.safetensors", "--out",
                     tmp_path / "car.safetensors", code=3).stderr
    assert "of another model" in error and "other.safetensors" in error


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
