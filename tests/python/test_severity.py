"""How bad an incident is, and why: a severity that tells one odd window from a flood (docs/events.md)."""

import json
import os
import re

import pytest

from test_detector import call, made  # noqa: F401

LEVELS = ["low", "medium", "high", "critical"]


def closed_incidents(bin_dir, model, capture, *options):
    done = call(bin_dir, "detect", model, capture, "--events", "json", *options)
    assert done.returncode == 0, done.stderr
    return [line for line in map(json.loads, done.stdout.splitlines()[:-1]) if line["state"] == "closed"]


@pytest.fixture
def one_unknown_id(made, tmp_path):  # noqa: F811
    """The benign capture with one frame of an ID that the detector does not know."""
    lines = made["benign"].read_text().splitlines(keepends=True)[:4000]
    lines[2050] = re.sub(r" [0-9A-F]{3}#", " 6F1#", lines[2050], count=1)
    (tmp_path / "one.log").write_text("".join(lines))
    return tmp_path / "one.log"


def test_one_window_with_one_unknown_id_ranks_below_a_flood(bin_dir, made, one_unknown_id):  # noqa: F811
    few = [one for one in closed_incidents(bin_dir, made["model"], one_unknown_id) if any(i["id"] == "0x6F1" for i in one["ids"])]
    assert len(few) == 1 and few[0]["windows"] == 1, "a single incident of a single window"
    assert few[0]["reason"] == "unknown ID 0x6F1" and few[0]["part"] == "unknown" and few[0]["ids"][0]["known"] is False
    flood = max(closed_incidents(bin_dir, made["model"], made["attacked"]), key=lambda one: one["windows"])
    assert flood["windows"] >= 10 and flood["severity"] == "critical"
    assert LEVELS.index(few[0]["severity"]) < LEVELS.index(flood["severity"]) and few[0]["strength"] < flood["strength"]


def test_the_network_never_decides_alone(bin_dir, made, one_unknown_id):  # noqa: F811
    """Its score is far above the threshold in the window with the unknown ID, and decides nothing."""
    done = call(bin_dir, "detect", made["model"], one_unknown_id, "--json")
    alarms = [line for line in map(json.loads, done.stdout.splitlines()[:-1]) if line["unknown_ids"] == ["0x6F1"]]
    assert len(alarms) == 1 and alarms[0]["reason"] == "unknown ID 0x6F1"
    network = alarms[0]["parts"]["gat"]
    few = [one for one in closed_incidents(bin_dir, made["model"], one_unknown_id) if one["reason"] == "unknown ID 0x6F1"]
    others = max(value for name, value in alarms[0]["parts"].items() if name not in ("gat", "vgae"))
    assert few[0]["strength"] == pytest.approx(max(others, 1), rel=1e-6)
    assert few[0]["worst_score"] == pytest.approx(max(network, others), rel=1e-6)


def test_every_form_of_an_event_says_why(bin_dir, made, one_unknown_id):  # noqa: F811
    for kind in ("ocsf", "syslog"):
        done = call(bin_dir, "detect", made["model"], one_unknown_id, "--events", kind)
        assert re.search(r"Unusual CAN traffic on \w+: unknown ID 0x6F1", done.stdout), done.stderr
    done = call(bin_dir, "detect", made["model"], one_unknown_id)
    assert " by unknown ID 0x6F1  " in done.stdout and " gat" not in done.stdout


@pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="trains a detector of a real truck (set PLIMSOLL_SLOW)")
def test_a_flood_of_a_real_truck_ranks_above_what_its_drive_did_not_show(bin_dir, data_dir, tmp_path):
    """Case 112: all three incidents were critical and by gat, with scores of 69 to 76."""
    captures = data_dir / "can-j1939-truck"
    if not captures.is_dir():
        pytest.skip(f"no captures at {captures} (set PLIMSOLL_DATA)")
    done = call(bin_dir, "detector", captures / "normal.log.zst", "--out", tmp_path / "truck.safetensors", "-O", "training.max_epochs=4")
    assert done.returncode == 0, done.stderr
    found = closed_incidents(bin_dir, tmp_path / "truck.safetensors", captures / "dos_full.log.zst", "--j1939")
    flood = max(found, key=lambda one: one["windows"])
    others = [one for one in found if one is not flood]
    assert flood["windows"] > 150 and flood["severity"] == "critical" and flood["ids"][0]["id"] == "0x00000000"
    assert others and all(LEVELS.index(one["severity"]) < LEVELS.index("critical") for one in others)
    assert {"unknown ID 0x18EAFF0B"} <= {one["reason"] for one in others}
    assert {i["id"]: i.get("name") for one in others for i in one["ids"]}["0x18EAFF0B"] == "Request"
