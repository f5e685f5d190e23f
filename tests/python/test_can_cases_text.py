"""Cases from public bug reports (can_cases.py): captures that are texts, and names of captures in capitals."""

import re

import pytest
from can_cases import Frames, Refused, check_case, frames_of, parameters, traps_of


def ingested(run, tmp_path, source, *options):
    """The frames of a capture, the counts of its traps, and what was said about it."""
    done = run("ingest", "can", source, "--out", tmp_path / "frames", *options)
    assert done.returncode == 0, done.stderr
    return frames_of(tmp_path / "frames"), traps_of(tmp_path / "frames"), done.stderr


def every_byte_of_mdf2asc(run, folder, tmp_path):
    """CAN FD frames are written as classic ones whose length is the DLC, before all their bytes."""
    frames, _, _ = ingested(run, tmp_path, folder / "multiple_CAN.asc", "--payload", "64")
    lines = re.findall(r" Rx d \d+ ?((?: ?[0-9A-F]{2})*) *$", (folder / "multiple_CAN.asc").read_text(), re.M)
    assert len(frames) == len(lines) == 164
    assert sorted(frame.split()[3] for frame in frames) == sorted(line.replace(" ", "") or "-" for line in lines)
    assert max(len(frame.split()[3]) for frame in frames) == 128 and not any(" fd" not in frame and len(frame.split()[3]) > 16 for frame in frames)


def delta_times(run, folder, tmp_path):
    """Times that are differences are added up, or it is said that they were not."""
    frames, _, said = ingested(run, tmp_path, folder / "delta.log")
    times = [float(frame.split()[0]) for frame in frames]
    assert times == [0, 0.200074, 0.400156, 0.600243] or "--time delta" in said
    frames, _, _ = ingested(run, tmp_path, folder / "delta.log", "--time", "delta", "--force")
    assert [float(frame.split()[0]) for frame in frames] == [0, 0.200074, 0.400156, 0.600243]


def frames_of_busmaster_asc(run, folder, tmp_path):
    frames, _, _ = ingested(run, tmp_path, folder / "busmaster.asc")
    assert [frame.split(" ", 1)[1] for frame in frames] == ["1 122 E30C00FE07000028", "1 040 D70B0004C1000000", "1 16A954A6 00002079785A5AA5"]


def differences_of_negative_times(run, folder, tmp_path):
    frames, _, _ = ingested(run, tmp_path, folder / "neg.csv")
    times = [int(frame.split()[0].replace(".", "")) for frame in frames]
    assert [b - a for a, b in zip(times, times[1:])] == [2_000, 1_011_000]


def buses_of_cabana(run, folder, tmp_path):
    """Bus 128 + n is what was sent on bus n."""
    frames, _, _ = ingested(run, tmp_path, folder / "cabana.csv")
    assert sorted(frames) == ["240.479114961 0 031 9C120743838B3055", "240.479114961 0 035 0ACC0ADE0074BF9E",
                              "240.479114961 130 035 0ACC0ADE0074BF9E tx", "240.489114961 128 18FEF100 01 tx"]
    columns = ("--columns", "time,id,channel,payload", "--id", "dec", "--bytes", "hex")
    frames, _, _ = ingested(run, tmp_path, folder / "cabana.csv", *columns, "--force")
    assert sorted(frames) == ["240.479114961 0 031 9C120743838B3055", "240.479114961 0 035 0ACC0ADE0074BF9E",
                              "240.479114961 130 035 0ACC0ADE0074BF9E", "240.489114961 128 18FEF100 01"]


def converted_from_upper_case(run, folder, tmp_path):
    done = run("convert", folder / "00000170.MF4", "--out", tmp_path / "x.log")
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "x.log").read_text().splitlines()) == 2010


CASES = {
    "01_candump_date": Frames("drive.log", 3, """
        1544088690.572475000 can0 57E C735061800
        1544088690.770509000 can0 03C 4EDFFC32
        1544088690.969856000 can0 18FEF100 1122334455667788"""),
    "03_candump_no_time": Frames("plain.log", 3, """
        0.000000000 can0 1CF004FF 0000000000000000
        0.000000001 can0 123 AABB
        0.000000002 can1 7DF -"""),
    "04_candump_errorframe_text": Frames("err.log", 3, """
        1615000000.000100000 vcan0 123 AABB
        1615000000.000200000 vcan0 004 0004000000000000 error
        1615000000.000300000 vcan0 124 01"""),
    "05_candump_e_details": Frames("err_e.log", 4, """
        1615000000.000100000 can0 123 AABB
        1615000000.000200000 can0 004 0004000000000000 error
        1615000000.000300000 can0 080 0000000000000000 error
        1615000000.000400000 can0 124 01""", traps={"other_lines": 2}),
    "06_candump_len8": Frames("len8.log", 4, """
        1615000000.000100000 can0 123 1122334455667788
        1615000000.000200000 can0 18FEF100 1122334455667788
        1615000000.000300000 can0 124 - remote
        1615000000.000400000 can0 125 01"""),
    "08_candump_fd_brackets": Frames("fd.log", 2, """
        1727438342.368435000 can0 0C0 03F5FEE7FF102700E0FFFFF33FFFF33FFCEFFFFDFFFFFE070000000000000000 fd
        1727438342.372671000 can0 583 0000800010404040 fd""", options="--payload 64"),
    "09_candump_8_decimals": Frames("many_decimals.log", 4, """
        1624997419.192631010 can1 218 9FFF00402000FF00
        1624997419.195024970 can1 239 0000
        1624997419.195312020 can1 445 31FF85FF0000
        1624997420.079447980 can0 3A6 0000070000000000"""),
    "10_candump_x_relative": Frames("x.log", 4, """
        0.000000000 can1 083 10327064E0F8026D
        0.000194000 can0 07A 6294400000108000 tx
        0.000400000 can0 0C0 000102030405060708090A0B brs fd
        0.000500000 can0 0C1 000102030405060708090A0B brs esi fd""", options="--payload 64"),
    "11_candump_delta": delta_times,
    "96_candump_canboat": Frames("n2k.log", 2, """
        1502979132.106111000 slcan0 09F50374 000A00FFFF00FFFF
        1502979132.106112000 slcan0 0DF50B74 00FF"""),
    "100_candump_comments": Frames("candumpSample3.txt", 50, """
        1502984866.421964000 slcan0 09F112CC FF725AFF7FFF7FFD""", traps={"other_lines": 9, "blank_lines": 1}),
    "12_asc_canalyzer11": Frames("canalyzer.asc", 5, """
        1633428565.287231000 2 701 05
        1633428565.288267000 1 080 -
        1633428565.301846000 1 680 51023E8000000000
        1633428565.586000000 2 1FFFFFFF - remote tx"""),
    "13_asc_negative_time": Frames("negative.asc", 3, """
        1684144799.999750000 1 123 0102
        1684144799.999900000 1 124 0304
        1684144800.000050000 1 125 0506""", traps={"other_lines": 5}),
    "14_asc_busmaster": frames_of_busmaster_asc,
    "15_asc_german_81": Frames("german.asc", 3, """
        1715883421.554773000 1 168 950B800000000000 brs fd
        1715883421.554873000 2 00000121 000102030405060708090A0B0C0D0E0F1011121314151617 brs esi fd
        1715883421.554895000 5 1AF D30B1C6A00000000""", options="--payload 64"),
    "16_asc_german_march_cp1252_0": Frames("maerz.asc", 2, """
        1646659311.600000000 1 123 0102
        1646659311.700000000 1 124 0304"""),
    "20_asc_gl3000_dec": Frames("gl3000.asc", 3, """
        1630576239.592543000 7 502 0000000000AA0000
        1630576239.592643000 9 320 004000004B000000
        1630576239.600000000 9 18FEF100 FFFE09"""),
    "21_asc_dlc_over_8": Frames("dlc13.asc", 2, """
        1651053600.010000000 1 221 C24A058100001510
        1651053600.030000000 1 3FF 55AA010203040506"""),
    "22_asc_am_pm_double": Frames("ampm.asc", 1, """
        1506729974.191000000 1 12345678 01"""),
    "43_asc_classic_on_fd_channel": Frames("v9.asc", 3, """
        1664956658.038132000 1 14E 0000000000000000
        1664956658.038371000 1 171 0000077623000000
        1664956658.038600000 1 18FEF100 0000077623000000 brs fd tx""", options="--payload 64"),
    "45_asc_kvaser_memorator": Frames("kvaser.asc", 2, """
        1766164218.311250987 1 0C0 38FF000001010000
        1766164218.311500000 2 18FEF100 010203"""),
    "46_asc_two_trigger_blocks": Frames("blocks.asc", 2, """
        1594115391.000000000 1 123 01
        1594115451.000000000 1 123 02"""),
    "47_asc_header_without_trigger": Frames("plain.asc", 2, """
        1546273661.380450000 1 119 0000
        1546273661.383500000 1 75D 123456789ABCDEF0"""),
    "48_asc_relative": Refused("rel.asc", ("rel.asc:2:6", "timestamps absolute", "export the file again")),
    "49_asc_no_header": Frames("nohead.asc", 2, """
        2.501000000 2 000000C8 0908070605040302
        2.601000000 1 0C9 01""", options="--format asc"),
    "108_asc_mdf2asc": every_byte_of_mdf2asc,
    "60_trc_v10_rtr": Frames("v10.trc", 3, """
        1.059900000 1 300 00000000040000
        1.283200000 1 400 - remote
        1.323000000 1 18EFC034 010203"""),
    "61_trc_v13_rtr": Frames("v13.trc", 3, """
        1592481601.059900000 1 300 00000000040000
        1592481601.283231000 2 400 - remote tx
        1592481601.323000000 2 18EFC034 010203"""),
    "62_trc_v21_all": Frames("v21.trc", 6, """
        1592481601.059900000 1 300 00000000040000
        1592481601.283231000 1 400 - remote tx
        1592481601.323000000 2 18EFC034 0102030405060708090A0B0C fd
        1592481601.324000000 2 301 0102030405060708 brs fd""", options="--payload 64"),
    "93_trc_logger_21": Frames("logger.trc", 4, """
        1770634293.150096000 1 102 0000000006000000
        1770634293.150346000 1 103 00000000FE000404
        1770634293.151296000 2 106 000F0004 tx
        1770634293.151396000 2 107 - remote"""),
    "63_gvret_negative": differences_of_negative_times,
    "64_gvret_below_1ms": Frames("low.csv", 3, """
        0.000973000 0 13B 000008000000004C
        0.002009000 1 030 0000000017000150 tx
        0.002988000 0 00000090 020202"""),
    "65_gvret_savvycan_example": Frames("GVRET_Log.csv", 399, """
        166.064000000 0 21A FE3612FE690507AD
        166.064000000 0 23A 0037001200000000
        166.064000000 0 28C 000000000000F000
        166.064000000 0 22A 67015E1D00000000"""),
    "66_gvret_windows": Frames("excel.csv", 2, """
        0.000973000 0 13B 0001
        0.002988000 0 18FEF100 020202"""),
    "67_cabana_csv": buses_of_cabana,
    "68_busmaster_log": Frames("BusMasterLog.log", 47, """
        1443046814.992000000 0 21A FE3612FE690507AD""", traps={"other_lines": 13}),
    "97_pythoncan_csv": Frames("pc.csv", 4, """
        0.000010000 - 123 0102
        1483389946.197000000 - 00DADADA 626173653634
        1483389946.198000000 - 7FF - remote
        1483389946.199000000 - 004 0000000000000000 error"""),
    "23_upper_case_ending_LOG": Frames("DRIVE.LOG", 2, """
        1.000000000 can0 123 1122
        1.100000000 can0 124 33"""),
    "25_canedge_upper_case_MF4": Frames("LOG/17BD1DB7/00000006/00000170.MF4", 2010),
    "110_convert_upper_case": converted_from_upper_case,
}

PENDING = {}


@pytest.mark.parametrize("name", parameters(CASES, PENDING))
def test_case(bin_dir, can_cases, tmp_path, name):
    check_case(CASES[name], bin_dir, can_cases / name, tmp_path)
