"""Names of messages and signals that a plain DBC gives: `inspect --dbc`, and lines of alarms. Oracle: cantools."""

import random
import re

import pytest

from test_check import DBC
from test_detector import call, made  # noqa: F401

cantools = pytest.importorskip("cantools", reason="pip install cantools")


def rows_of(text, heading):
    """Rows of the table whose line of headings begins with these words, split where columns are."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.split()[:len(heading)] == heading)
    spans = [match.span() for match in re.finditer("-+", lines[first + 1])]
    table = []
    for line in lines[first + 2:]:
        if not line:
            break
        table.append([line[begin:end].strip() for begin, end in spans])
    return table


@pytest.fixture
def frames(run, tmp_path):
    """A data set of three messages with random payloads and two IDs that the DBC does not know, and its DBC."""
    numbers = random.Random(5)
    dbc = tmp_path / "car.dbc"
    dbc.write_text(DBC)
    messages = {message.frame_id: message for message in cantools.database.load_file(dbc, strict=False).messages}
    sent = [(id, numbers.randbytes(messages[id].length)) for _ in range(500) for id in messages]
    sent = [(id, data) for id, data in sent if id != 291 or data[4] & 15 in (1, 2)] + [(0x2C0, b"\x01")] * 3 + [(0x2C1, b"")]
    log = tmp_path / "drive.log"
    log.write_text("".join(f"({n * 0.001:.6f}) can0 {id:{'08X' if id > 0x7FF else '03X'}}#{data.hex()}\n" for n, (id, data) in enumerate(sent)))
    run("plimsoll", "ingest", "can", log, "--out", tmp_path / "frames")
    return tmp_path / "frames", dbc, messages, sent


def test_messages_and_signals_of_a_plain_dbc_are_those_of_cantools(run, frames):
    folder, dbc, messages, sent = frames
    text = run("plimsoll", "inspect", folder, "--dbc", dbc)
    counts = {message.name: sum(id == message.frame_id for id, _ in sent) for message in messages.values()}
    found = {row[1]: int(row[2].replace(",", "")) for row in rows_of(text, ["ID", "message"])}
    assert found == counts and "3 of 3 messages of the DBC" in text
    values = {}
    for id, data in sent:
        if id in messages:
            for name, value in messages[id].decode(data, decode_choices=False).items():
                values.setdefault((messages[id].name, name), []).append(value)
    signals = {(row[0], row[1]): row for row in rows_of(text, ["message", "signal"])}
    assert set(signals) == set(values)
    for key, row in signals.items():
        finite = [value for value in values[key] if value == value]
        assert int(row[3]) == len(values[key])
        assert float(row[4]) == pytest.approx(min(finite), rel=1e-5) and float(row[5]) == pytest.approx(max(finite), rel=1e-5)
    assert signals["Engine", "Speed"][2] == "km/h" and signals["Engine", "Speed"][6] == "0 .. 250" and signals["Engine", "Mode"][6] == "-"
    assert "2 IDs that the DBC does not know: 0x2C0 (3) 0x2C1 (1)\n" in text
    assert "that the DBC" not in run("plimsoll", "inspect", folder), "nobody asked"


def test_a_dbc_of_another_bus_says_so(run, frames, tmp_path):
    other = tmp_path / "other.dbc"
    other.write_text("BO_ 7 Seat: 8 ECU\n")
    text = run("plimsoll", "inspect", frames[0], "--dbc", other)
    assert "0 of 1 messages of the DBC, in 0 of" in text and "5 IDs that the DBC does not know: 0x200 (500)" in text


def test_a_line_of_an_alarm_names_every_unknown_id_and_who_does_not_know_it(bin_dir, made, tmp_path):
    lines = made["benign"].read_text().splitlines(keepends=True)[:2000]
    known = sorted({line.split()[2].split("#")[0] for line in lines})
    strange = ["6F1", "6F2", "6F3", "6F4", "6F5", "6F6"]
    for k, id in enumerate(strange):  # in one window of a hundred frames, but the last one
        lines[1010 + 9 * k] = re.sub(r" [0-9A-F]{3}#", f" {id}#", lines[1010 + 9 * k], count=1)
    capture = tmp_path / "strange.log"
    capture.write_text("".join(lines))
    dbc = tmp_path / "car.dbc"
    dbc.write_text("".join(f"BO_ {int(id, 16)} Message_{id}: 8 ECU\n" for id in known[1:] + strange[:1]))
    alarm = [line for line in call(bin_dir, "detect", made["model"], capture).stdout.splitlines() if line.startswith("ALARM")]
    assert len(alarm) == 1 and all(f"0x{id} " in alarm[0] + " " for id in strange)
    assert alarm[0].count("(unknown)") == len(strange)
    named = call(bin_dir, "detect", made["model"], capture, "--dbc", dbc).stdout
    assert "0x6F1 Message_6F1 (unknown)" in named and "0x6F2 (unknown, not in the DBC)" in named
    assert f"0x{known[1]} Message_{known[1]}" in named or "Message_" in named
    everything = call(bin_dir, "detect", made["model"], capture, "--dbc", dbc, "--all").stdout
    assert f"0x{known[0]} (not in the DBC)" in everything


def test_a_file_without_messages_is_no_dbc(bin_dir, made, frames):  # noqa: F811
    folder, dbc, *_ = frames
    dbc.write_text("timestamp,arbitration_id,data_field,attack\n1.0,123,00,0\n")
    for words in (["inspect", folder], ["detect", made["model"], made["attacked"]]):
        done = call(bin_dir, *words, "--dbc", dbc)
        assert done.returncode == 3 and not done.stdout
        assert f"{dbc}: found no message, expected lines such as BO_ 291 Engine: 8 ECU" in done.stderr
