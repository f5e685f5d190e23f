"""ARXML, KCD and SYM to DBC: what cantools reads of the DBC is what it reads of the source."""

import json
import os
import subprocess
import sys

import pytest

cantools = pytest.importorskip("cantools")

KCD = """<NetworkDefinition xmlns="http://kayak.2codeornot2code.org/1.0"><Document name="car" version="1" author="a" company="c" date="d"/>
<Bus name="body"><Message id="0x123" name="Engine" length="8" interval="20"><Signal name="Speed" offset="8" length="16" endianess="little">
<Value type="unsigned" slope="0.5" intercept="-10" unit="km/h" min="0" max="250"/></Signal></Message>
<Message id="0x18FEF100" name="Cruise" length="8" format="extended"><Signal name="Brake" offset="3" length="2"/></Message></Bus></NetworkDefinition>"""


def convert(bin_dir, *arguments):
    return subprocess.run([str(bin_dir / "plimsoll"), "convert", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PLIMSOLL_PYTHON": sys.executable})


def facts(path):
    return {(m.frame_id, m.is_extended_frame, m.name, m.length, m.cycle_time):
            [(s.name, s.start, s.length, s.byte_order, s.scale, s.offset, s.minimum, s.maximum) for s in m.signals]
            for m in cantools.database.load_file(path, strict=False).messages}


def test_a_kcd_becomes_a_dbc_that_check_reads(bin_dir, run, tmp_path):
    (tmp_path / "car.kcd").write_text(KCD)
    done = convert(bin_dir, tmp_path / "car.kcd", "--out", tmp_path / "car.dbc")
    assert done.returncode == 0, done.stderr
    assert facts(tmp_path / "car.dbc") == facts(tmp_path / "car.kcd") and len(facts(tmp_path / "car.dbc")) == 2
    (tmp_path / "a.log").write_text("(1.0) can0 123#00FFFF0000000000\n(1.02) can0 18FEF100#0000000000000000\n(1.03) can0 7FF#00\n")
    found = run("plimsoll", "check", tmp_path / "car.dbc", tmp_path / "a.log")
    assert "Speed" in found and "range" in found and "unknown message" in found
    assert "--force" in convert(bin_dir, tmp_path / "car.kcd", "--out", tmp_path / "car.dbc").stderr
    done = convert(bin_dir, tmp_path / "car.kcd", "--out", tmp_path / "a.log" / "below")
    assert done.returncode == 1 and "below cannot be written" in done.stderr and "Traceback" not in done.stderr


TWO_BUSES = KCD.replace("</Bus>", """</Bus><Bus name="power"><Message id="0x123" name="Battery" length="2"><Signal name="Volts" offset="0" length="8">
<Value type="signed" min="-5"/></Signal><Signal name="Amperes" offset="8" length="8"><Value type="signed" max="100"/></Signal></Message></Bus>""")


def test_one_of_several_buses_with_ranges_of_one_bound(bin_dir, run, tmp_path):
    (tmp_path / "car.kcd").write_text(TWO_BUSES)
    done = convert(bin_dir, tmp_path / "car.kcd", "--out", tmp_path / "car.dbc")
    assert done.returncode == 3 and "ID 123 is Engine on bus body and Battery on bus power" in done.stderr and "--bus" in done.stderr
    done = convert(bin_dir, tmp_path / "car.kcd", "--out", tmp_path / "car.dbc", "--bus", "lin")
    assert done.returncode == 3 and "it has messages of body, power" in done.stderr
    assert convert(bin_dir, tmp_path / "car.kcd", "--out", tmp_path / "car.dbc", "--bus", "power").returncode == 0
    assert facts(tmp_path / "car.dbc") == {(0x123, False, "Battery", 2, None): [
        ("Volts", 0, 8, "little_endian", 1, 0, -5, 127), ("Amperes", 8, 8, "little_endian", 1, 0, -128, 100)]}
    (tmp_path / "a.log").write_text("".join(f"({n}.0) can0 123#{n * 16 % 256:02X}{n * 16 % 256:02X}\n" for n in range(16)))
    found = {f["signal"]: f["frames"] for f in json.loads(run("plimsoll", "check", tmp_path / "car.dbc", tmp_path / "a.log", "--json"))["findings"]}
    values = [(n * 16 % 256) - (256 if n >= 8 else 0) for n in range(16)]
    assert found == {"Volts": sum(v < -5 for v in values), "Amperes": sum(v > 100 for v in values)}


def test_values_with_names_are_whole_and_fd_is_told(tmp_path):
    from package_data import plimsoll  # noqa: F401
    from plimsoll.can.bus_description import _define_frame_format, _whole_choices

    database = cantools.database.load_string('BO_ 5 A: 8 X\n SG_ S : 0|8@1+ (1,0) [0|1] "" X\nVAL_ 5 S 0 "Off" 1 "On" ;\n')
    signal = database.messages[0].signals[0]
    signal.choices = {0.0: "Off", 1.0: "On", 1.5: "Between"}  # as cantools reads an ARXML with floats
    _whole_choices(signal)
    database.messages[0]._is_fd = True
    _define_frame_format(database)
    again = cantools.database.load_string(database.as_dbc_string())
    assert {int(raw): str(name) for raw, name in again.messages[0].signals[0].choices.items()} == {0: "Off", 1: "On"}
    assert again.messages[0].is_fd


def test_what_is_no_description_is_refused(bin_dir, tmp_path):
    (tmp_path / "car.arxml").write_text("<AUTOSAR>")
    done = convert(bin_dir, tmp_path / "car.arxml", "--out", tmp_path / "car.dbc")
    assert done.returncode == 3 and "car.arxml" in done.stderr and not (tmp_path / "car.dbc").exists()


def test_a_description_is_never_replaced_by_its_dbc(tmp_path):
    from package_data import plimsoll
    from plimsoll.can.bus_description import to_dbc

    (tmp_path / "car.kcd").write_text(KCD)
    (tmp_path / "link.dbc").symlink_to(tmp_path / "car.kcd")
    for out in ("car.kcd", "link.dbc"):
        with pytest.raises(plimsoll.Failure, match=f"{out} is an input"):
            to_dbc(tmp_path / "car.kcd", tmp_path / out, force=True)
    assert (tmp_path / "car.kcd").read_text() == KCD
