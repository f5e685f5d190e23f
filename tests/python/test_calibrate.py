"""`plimsoll calibrate`: detectors for vehicles they were not trained on."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from scipy import stats

from new_vehicle import COMPAT, KNOWING, TRANSFER, calibrated, detected, drives, model, plimsoll, traffic, trained  # noqa: F401

MIB = 1 << 20


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
    error = refused(2, trained(KNOWING) / "detector.safetensors", drives[0])
    assert "[id_index]" in error and "make it again with this traffic included (`plimsoll detector`)" in error and "another vehicle" not in error
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
    assert "give --payload 64" in refused(3, model, tmp_path / "fd.log", "--payload", "8")
    assert "--payload" not in refused(3, model, tmp_path / "fd.log")  # it has too few windows
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
# bound (docs/detect.md#merging-calibrations).
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
    assert "name each drive only once" in merged(models[0], models[0], out="none.safetensors", code=2).stderr
    assert "earlier version, or not at all" in merged(models[0], model, out="none.safetensors", code=3).stderr
    assert not (tmp_path / "none.safetensors").exists()


def test_detectors_of_another_model_are_not_merged(plimsoll, trained, model, drives, tmp_path):
    calibrated(plimsoll, model, drives[0], tmp_path / "one.safetensors")
    calibrated(plimsoll, trained(TRANSFER.replace("max_epochs: 2", "max_epochs: 1")) / "detector.safetensors", drives[0],
               tmp_path / "other.safetensors")
    error = plimsoll("calibrate", tmp_path / "one.safetensors", "--merge", tmp_path / "other.safetensors", "--out",
                     tmp_path / "car.safetensors", code=3).stderr
    assert "made from another model" in error and "other.safetensors" in error
