"""`plimsoll check`: frames against a DBC; cantools says what signals they have."""

import json
import random
import struct
import subprocess

import pytest

cantools = pytest.importorskip("cantools")

DBC = """VERSION ""
BU_: ECU
BO_ 291 Engine: 8 ECU
 SG_ Speed : 7|16@0+ (0.01,0) [0|250] "km/h" ECU
 SG_ Torque : 20|11@1- (0.5,-100) [-300|300] "Nm" ECU
 SG_ Mode M : 32|4@1+ (1,0) [0|0] "" ECU
 SG_ Heat m1 : 40|8@1+ (1,-40) [-20|120] "C" ECU
 SG_ Level m2 : 40|8@1+ (1,0) [0|100] "%" ECU
 SG_ RollingCounter : 56|4@1+ (1,0) [0|15] "" ECU

BO_ 2566834709 Brake: 4 ECU
 SG_ Pressure : 3|28@0- (0.001,0) [-50000|50000] "kPa" ECU

BO_ 512 Flow: 4 ECU
 SG_ Rate : 0|32@1- (1,0) [-1|1] "" ECU

CM_ BO_ 291 "The engine,
BO_ 5000 in a comment";
BA_DEF_ BO_ "GenMsgCycleTime" INT 0 10000;
BA_DEF_DEF_ "GenMsgCycleTime" 0;
BA_ "GenMsgCycleTime" BO_ 291 100;
SIG_VALTYPE_ 512 Rate : 1;
"""


def check(bin_dir, dbc, capture, *options):
    done = subprocess.run([bin_dir / "plimsoll", "check", dbc, capture, *options], capture_output=True, text=True)
    return done


def findings_of(done):
    assert done.returncode == 0, done.stderr
    return {(f["id"], f["rule"], f["signal"]): f["frames"] for f in json.loads(done.stdout)["findings"]}


def write(path, frames):
    """candump lines of (seconds, ID, payload)."""
    path.write_text("".join(f"({time:.6f}) can0 {id:{'08X' if id > 0x7FF else '03X'}}#{data.hex().upper()}\n"
                            for time, id, data in frames))


@pytest.fixture
def dbc(tmp_path):
    path = tmp_path / "car.dbc"
    path.write_text(DBC)
    return path


def test_signals_outside_their_range_are_those_of_cantools(bin_dir, dbc, tmp_path):
    numbers = random.Random(1)
    messages = {message.frame_id: message for message in cantools.database.load_file(dbc, strict=False).messages}
    frames = [(n * 1e-3, id, numbers.randbytes(messages[id].length)) for n in range(3000) for id in messages]
    frames = [(time, id, data) for time, id, data in frames if id != 291 or data[4] & 15 in (1, 2)]
    write(tmp_path / "log.candump.log", frames)
    expected = {}
    for _, id, data in frames:
        for name, value in messages[id].decode(data, decode_choices=False).items():
            signal = messages[id].get_signal_by_name(name)
            slack = 0 if signal.is_float else abs(signal.scale) / 2
            if signal.maximum and not signal.minimum - slack <= value <= signal.maximum + slack:
                key = (f"0x{id:08X}" if id > 0x7FF else f"0x{id:03X}", "range", name)
                expected[key] = expected.get(key, 0) + 1
    found = {key: n for key, n in findings_of(check(bin_dir, dbc, tmp_path / "log.candump.log", "--json")).items() if key[1] == "range"}
    assert found == expected and len(expected) == 6


def engine(counter, speed=0):
    return speed.to_bytes(2, "big") + bytes(5) + bytes([counter])


def test_cycles_counters_lengths_and_unknown_ids(bin_dir, dbc, tmp_path):
    good = [(n * 0.1, 291, engine(n % 16)) for n in range(40)]
    log = tmp_path / "log.log"
    write(log, good)
    done = check(bin_dir, dbc, log, "--json", "--fail-on-finding")
    assert findings_of(done) == {} and json.loads(done.stdout)["frames"] == 40
    bad = good[:20] + [(1.92, 291, engine(7))] + good[20:30] + good[34:] + [(4.0, 292, b"\x01"), (4.0, 291, engine(8)[:4])]
    write(log, bad)
    done = check(bin_dir, dbc, log, "--json", "--fail-on-finding")
    assert done.returncode == 10
    found = {(f["id"], f["rule"]): (f["frames"], f["found"], f["expected"]) for f in json.loads(done.stdout)["findings"]}
    assert found == {
        ("0x123", "early"): (1, "20.000 ms", "100 ms"),
        ("0x123", "late"): (1, "500.000 ms", "100 ms"),
        ("0x123", "counter"): (3, "7", "4"),
        ("0x123", "length"): (1, "4 bytes", "8"),
        ("0x124", "unknown message"): (1, "1 bytes", "an ID of the DBC"),
    }
    assert json.loads(done.stdout)["broken"] == 5
    text = check(bin_dir, dbc, log).stdout
    assert "RollingCounter" in text and f"5 of {len(bad)} frames break what" in text


def test_a_frame_counts_once_where_two_signals_have_one_name(bin_dir, dbc, tmp_path):
    dbc.write_text('BO_ 512 Flow: 2 ECU\n SG_ Rate : 0|8@1+ (1,0) [0|1] "" ECU\n SG_ Rate : 8|8@1+ (1,0) [0|1] "" ECU\n')
    write(tmp_path / "log.log", [(n * 0.1, 512, bytes([9, 9])) for n in range(5)])
    assert findings_of(check(bin_dir, dbc, tmp_path / "log.log", "--json")) == {("0x200", "range", "Rate"): 5}


def test_channels_are_judged_apart(bin_dir, dbc, tmp_path):
    log = tmp_path / "log.log"
    lines = [f"({n * 0.1:.6f}) can{c} 123#{engine((n + 3 * c) % 16).hex()}\n" for n in range(20) for c in range(2)]
    log.write_text("".join(lines))
    assert findings_of(check(bin_dir, dbc, log, "--json")) == {}


@pytest.mark.parametrize(("text", "expected"), [
    ("BO_ 99999 Short: 8 ECU\n", "expected a message"),
    ("BO_ 291 Engine: 8 ECU\n SG_ Speed : 7|0@0+ (1,0) [0|1] \"\" ECU\n", "car.dbc:2: found 'SG_ Speed"),
    ("BO_ 291 Engine: 8 ECU\n SG_ Speed : 7|16@0 (1,0) [0|1] \"\" ECU\n", "expected a signal"),
    ("BO_ 291 Engine: 8 ECU\n SG_ Speed : 7|16@0+ (nan,0) [0|1] \"\" ECU\n", "expected a signal"),
    ("BO_ 291 Engine: 8 ECU\n SG_ Speed : 7|16@0+ (1,inf) [0|1] \"\" ECU\n", "expected a signal"),
    ("VERSION \"\"\n", "found no message"),
])
def test_what_is_no_dbc_is_refused(bin_dir, dbc, tmp_path, text, expected):
    write(tmp_path / "log.log", [(0, 291, bytes(8))])
    dbc.write_text(text)
    done = check(bin_dir, dbc, tmp_path / "log.log")
    assert done.returncode == 3 and expected in done.stderr


def test_a_large_dbc_stands_in_the_budget(bin_dir, dbc, tmp_path):
    write(tmp_path / "log.log", [(0, 291, bytes(8))])
    signals = "".join(f' SG_ S{n} : 0|8@1+ (1,0) [0|0] "" ECU\n' for n in range(60_000))
    # Types of values took the square of their number, so minutes.
    types = "".join(f"SIG_VALTYPE_ 291 S{n} : 1;\n" for n in range(60_000))
    dbc.write_text("BO_ 291 Engine: 8 ECU\n" + signals + types)
    assert check(bin_dir, dbc, tmp_path / "log.log").returncode == 0
    for endless in dbc, "/dev/zero":
        done = check(bin_dir, endless, tmp_path / "log.log", "--budget", "12MiB")
        assert done.returncode == 4 and "out of budget" in done.stderr


def test_types_of_values_make_floats(bin_dir, dbc, tmp_path):
    signal = ' SG_ {} : {}|32@1+ (1,0) [0|1] "" ECU\n'
    dbc.write_text("BO_ 291 Engine: 8 ECU\n" + signal.format("A", 0) + signal.format("B", 32) + "SIG_VALTYPE_ 291 A : 1;\n")
    write(tmp_path / "log.log", [(0, 291, struct.pack("<ff", 0.5, 0.5))])
    assert findings_of(check(bin_dir, dbc, tmp_path / "log.log", "--json")) == {("0x123", "range", "B"): 1}
