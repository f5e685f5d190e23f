"""Cases from public bug reports (can_cases.py): BLF, MF4, pcap and pcapng."""

import pytest
from can_cases import Absent, Frames, Refused, check_case, parameters

CASES = {
    "103_blf_message2_variable": Frames("x.blf", 3, """
        1646659311.500000010 1 123 010203
        1646659311.500000020 1 124 -
        1646659311.500000030 2 125 0001020304050607"""),
    "104_blf_fd64_txrq": Frames("x.blf", 3, """
        1646659311.500000020 1 123 000102030405060708090A0B brs fd tx
        1646659311.500000030 200 00000124 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F fd
        1646659311.500000040 3 7FF - remote""", options="--payload 64"),
    "30_blf_size_zero": Refused("x.blf", ("x.blf: byte 144", "0 bytes")),
    "32_blf_cut_in_second_container": Frames("x.blf", 23, message="x.blf: is cut off at byte 436: the 23 whole frames before it were read"),
    "35_blf_unpadded_objects": Frames("x.blf", 4, """
        1646659311.500000000 1 100 0000000000000000
        1646659311.501000000 2 101 0101010101010101
        1646659311.502000000 1 102 0202020202020202
        1646659311.503000000 2 103 0303030303030303"""),
    "36_blf_all_other_buses": Frames("x.blf", 40, """
        1646659311.500000000 1 100 0000000000000000
        1646659311.501000000 2 101 0101010101010101
        1646659311.502000000 1 102 0202020202020202
        1646659311.503000000 2 103 0303030303030303"""),
    "37_blf_header_version_0": Refused("x.blf", ("x.blf: byte 144", "version 0")),
    "38_blf_no_start": Frames("x.blf", 3, """
        0.000000000 1 100 0000000000000000
        0.001000000 2 101 0101010101010101
        0.002000000 1 102 0202020202020202"""),
    "39_blf_dlc_over_8": Frames("x.blf", 2, """
        1646659311.500000005 1 1FFFFFFF 0102030405060708
        1646659311.500000006 3 7FF - remote tx"""),
    "40_blf_split_objects": Frames("x.blf", 9, """
        1646659311.500000000 2 010 00
        1646659311.501000000 2 011 01
        1646659311.502000000 2 012 02
        1646659311.503000000 2 013 03"""),
    "41_blf_unknown_and_trailing": Frames("x.blf", 2, """
        1646659311.500000000 1 100 0000000000000000
        1646659311.501000000 2 101 0101010101010101"""),
    "42_blf_issue_1905": Frames("issue_1905.blf", 22, """
        1735654183.491113000 7 6A9 FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF00000000000000000000000000000000 brs fd""", options="--payload 64"),
    "50_pcapng_can_and_ethernet": Frames("both.pcapng", 3, """
        1700000000.000000001 can0 123 0102030405060708
        1700000000.000000003 slcan1 18FEF100 09""", traps={"other_records": 1}),
    "52_pcap_sll_of_old_libpcap": Frames("pi.pcap", 2, """
        1700000000.000001000 - 123 010203
        1700000000.000002000 - 18FEF100 09 tx"""),
    "53_pcapng_sll2_any": Refused("any.pcapng", ("link type 276",)),
    "54_pcap_fd_without_flag": Frames("fd.pcap", 4, options="--payload 64"),
    "55_pcapng_old_packet_blocks": Frames("old.pcapng", 3, """
        1700000000.000000001 can0 123 0102030405060708
        1700000000.000000002 can0 18FEF100 09"""),
    "57_pcap_be_nano": Frames("be.pcap", 3, """
        1700000000.123456789 - 123 0102030405060708
        1700000000.123456790 - 004 0004000000000000 error
        1700000000.123456791 - 7FF - remote"""),
    "58_pcapng_two_sections": Frames("cat.pcapng", 3, """
        1700000000.000000001 can0 123 0102030405060708
        1700000000.000005000 can1 18FEF100 09
        1700000000.000006000 can0 123 0102030405060708"""),
    "59_pcap_cut": Frames("cut.pcap", 2, message="cut.pcap: is cut off at byte 88: the 2 whole frames before it were read"),
    "102_pcap_canboat_public": Absent("the capture is samples/can0-1.pcap of canboat, 1.6 MB"),
    "70_mf4_virtual_channels": Frames("x.mf4", 4, """
        1646659311.500100000 9 123 0102030405060708
        1646659311.500200000 1 18FEF100 09
        1646659311.500300000 1 124 - tx
        1646659311.500400000 9 125 0506"""),
    "72_mf4_length_by_table": Frames("x.mf4", 3, """
        1646659311.500100000 2 123 000102030405060708090A0B fd
        1646659311.500200000 2 00000124 000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F fd
        1646659311.500300000 2 125 010203 fd""", options="--payload 64"),
    "73_mf4_vlsd_hl_dl_dz": Frames("x.mf4", 4, """
        1646659311.500100000 2 123 000102030405060708090A0B
        1646659311.500200000 2 00000124 000102030405060708090A0B0C0D0E0F10111213
        1646659311.500300000 3 125 010203
        1646659311.500400000 3 126 -""", options="--payload 64"),
    "75_mf4_kvaser_error_frames": Frames("x.mf4", 3),
    "77_canedge_public_file": Frames("canedge.mf4", 3587, options="--payload 64"),
}

PENDING = {}


@pytest.mark.parametrize("name", parameters(CASES, PENDING))
def test_case(bin_dir, can_cases, tmp_path, name):
    check_case(CASES[name], bin_dir, can_cases / name, tmp_path)
