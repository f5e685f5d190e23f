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
    assert "RollingCounter" in text and f"5 of {len(bad)} frames break rules of" in text


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
    ("BO_ x Short: 8 ECU\n", "line 1: found 'BO_ x Short: 8 ECU', expected a message"),
    ("VERSION \"\"\n", "found no message"),
])
def test_what_is_no_dbc_is_refused(bin_dir, dbc, tmp_path, text, expected):
    write(tmp_path / "log.log", [(0, 291, bytes(8))])
    dbc.write_text(text)
    done = check(bin_dir, dbc, tmp_path / "log.log")
    assert done.returncode == 3 and expected in done.stderr


def test_an_odd_line_is_told_and_the_rest_is_read(bin_dir, dbc, tmp_path):
    write(tmp_path / "log.log", [(0, 291, b"\xff" * 8)])
    odd = [f' SG_ Odd{n} : 0|0@1+ (1,0) [0|1] "" ECU\n' for n in range(12)]
    dbc.write_text("BO_ 291 Engine: 8 ECU\n" + "".join(odd) + ' SG_ Speed : 0|8@1+ (1,0) [0|1] "" ECU\n')
    done = check(bin_dir, dbc, tmp_path / "log.log", "--json")
    assert findings_of(done) == {("0x123", "range", "Speed"): 1}
    remarks = json.loads(done.stdout)["dbc_remarks"]
    assert remarks["count"] == 12 and [one["line"] for one in remarks["lines"]] == list(range(2, 14))
    assert remarks["lines"][0]["found"].startswith("SG_ Odd0 : 0|0@1+") and remarks["lines"][0]["done"] == "left out"
    assert done.stderr.count("car.dbc:") == 9 and "and 4 more such lines" in done.stderr


def test_extended_multiplexing_and_long_names_are_those_of_cantools(bin_dir, dbc, tmp_path):
    dbc.write_bytes("""BO_ 291 Ext: 8 ECU
 SG_ S0 M : 0|4@1+ (1,0) [1|15] "" B
 SG_ S1 m0M : 4|4@1+ (1,0) [1|15] "" B
 SG_ S2000 m4 : 8|8@1+ (1,0) [0|100] "\xb0C" B
 SG_ S3 m5 : 8|8@1- (1,0) [0|50] "" B
 SG_ S4 m1M : 16|2@1+ (1,0) [1|2] "" B
 SG_ S5 m2 : 24|8@1+ (1,0) [0|10] "" B

SG_MUL_VAL_ 291 S1 S0 0-3, 8-15;
SG_MUL_VAL_ 291 S2000 S1 4-4, 6-7;
SG_MUL_VAL_ 291 S3 S1 0-3, 5-5, 8-15;
SG_MUL_VAL_ 291 S4 S0 1-1, 4-7;
SG_MUL_VAL_ 291 S5 S4 0-3;
BA_DEF_ SG_ "SystemSignalLongSymbol" STRING ;
BA_DEF_DEF_ "SystemSignalLongSymbol" "";
BA_ "SystemSignalLongSymbol" SG_ 291 S2000 "The_Second_Signal_With_A_Name_Above_32_Characters";
""".encode("cp1252"))
    message = cantools.database.load_file(dbc, strict=False).messages[0]
    numbers = random.Random(7)
    frames = [(n * 0.01, 291, numbers.randbytes(8)) for n in range(2000)]
    write(tmp_path / "log.log", frames)
    expected = {}
    for _, _, data in frames:
        for name, value in message.decode(data, decode_choices=False, allow_truncated=True).items():
            signal = message.get_signal_by_name(name)
            if not signal.minimum - 0.5 <= value <= signal.maximum + 0.5:
                expected["0x123", "range", name] = expected.get(("0x123", "range", name), 0) + 1
    found = check(bin_dir, dbc, tmp_path / "log.log", "--json")
    assert findings_of(found) == expected and len(expected) == 6
    assert "°C" in found.stdout and not found.stderr


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
