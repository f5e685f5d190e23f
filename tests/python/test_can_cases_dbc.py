"""Cases from public bug reports (can_cases.py): DBC files, and what is detected."""

import json

import pytest
from can_cases import Absent, check_case, parameters


def checked(run, folder):
    """(rule, signal) -> the finding of `plimsoll check` on the DBC and the log of a case, and the names of the messages found."""
    done = run("check", folder / "car.dbc", folder / "drive.log", "--json")
    assert done.returncode == 0, done.stderr
    findings = json.loads(done.stdout)["findings"]
    return {(finding["rule"], finding["signal"]): finding for finding in findings}, {finding["message"] for finding in findings}


def inspected(run, folder, tmp_path):
    """What `plimsoll inspect` prints about the frames of a case with its DBC."""
    done = run("ingest", "can", folder / "drive.log", "--out", tmp_path / "frames")
    assert done.returncode == 0, done.stderr
    done = run("inspect", tmp_path / "frames", "--dbc", folder / "car.dbc")
    assert done.returncode == 0, done.stderr
    return done.stdout


def reads_the_rest_beside_an_odd_signal(run, folder, tmp_path):
    checked(run, folder)
    assert "Getr" in inspected(run, folder, tmp_path)


def long_names(run, folder, tmp_path):
    text = inspected(run, folder, tmp_path)
    for name in ("Engine_Torque_Coordination_And_Limitation_Gearbox", "Engine_Torque_Coordination_And_Limitation_Hybrid",
                 "Requested_Torque_Of_Coordination_Total"):
        assert name in text


def units_of_cp1252(run, folder, tmp_path):
    checked(run, folder)
    text = inspected(run, folder, tmp_path)
    assert "°C" in text and "µm" in text


def names_that_are_no_identifiers(run, folder, tmp_path):
    checked(run, folder)
    inspected(run, folder, tmp_path)


def no_cycle_of_messages_that_are_not_cyclic(run, folder, tmp_path):
    findings, messages = checked(run, folder)
    assert messages == {"Door"} and {rule for rule, _ in findings} == {"length"}


def signal_of_a_short_frame(run, folder, tmp_path):
    findings, _ = checked(run, folder)
    assert set(findings) == {("length", ""), ("range", "Small")} and findings["length", ""]["frames"] == 1


def extended_multiplexing(run, folder, tmp_path):
    findings, _ = checked(run, folder)
    assert findings["range", "S2"]["frames"] == 1


def range_of_a_float(run, folder, tmp_path):
    findings, _ = checked(run, folder)
    assert ("range", "F") in findings


def later_of_two_messages(run, folder, tmp_path):
    assert "Engine_Again" in inspected(run, folder, tmp_path)


def one_name_in_two_branches(run, folder, tmp_path):
    findings, _ = checked(run, folder)
    assert findings["range", "Stamp"]["frames"] == 2


def signals_in_json(run, folder, tmp_path):
    inspected(run, folder, tmp_path)
    done = run("inspect", tmp_path / "frames", "--dbc", folder / "car.dbc", "--json")
    assert [message["name"] for message in json.loads(done.stdout)["dbc"]["messages"]] == ["Engine"]


CASES = {
    "80_dbc_multiplexor_small_m": reads_the_rest_beside_an_odd_signal,
    "82_dbc_long_names": long_names,
    "83_dbc_cp1252_units": units_of_cp1252,
    "84_dbc_utf8_names": names_that_are_no_identifiers,
    "85_dbc_default_cycle": no_cycle_of_messages_that_are_not_cyclic,
    "86_dbc_mux_short_frames": signal_of_a_short_frame,
    "87_dbc_extended_mux": extended_multiplexing,
    "90_dbc_floats": range_of_a_float,
    "91_dbc_independent_and_twice": later_of_two_messages,
    "94_dbc_one_name_in_two_branches": one_name_in_two_branches,
    "111_detect_cut_blf": Absent("needs a detector of attack-free-kia"),
    "112_severity_of_incidents": Absent("test_severity.py makes a detector of the truck (PLIMSOLL_SLOW)"),
    "113_inspect_dbc_json": signals_in_json,
}

PENDING = {}


@pytest.mark.parametrize("name", parameters(CASES, PENDING))
def test_case(bin_dir, can_cases, tmp_path, name):
    check_case(CASES[name], bin_dir, can_cases / name, tmp_path)
