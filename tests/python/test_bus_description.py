"""ARXML, KCD and SYM to DBC: what cantools reads of the DBC is what it reads of the source."""

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


def test_what_is_no_description_is_refused(bin_dir, tmp_path):
    (tmp_path / "car.arxml").write_text("<AUTOSAR>")
    done = convert(bin_dir, tmp_path / "car.arxml", "--out", tmp_path / "car.dbc")
    assert done.returncode == 3 and "car.arxml" in done.stderr and not (tmp_path / "car.dbc").exists()
