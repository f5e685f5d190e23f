"""Parameter groups and addresses of J1939. Oracles: cantools, canmatrix (where it is installed), and a real truck."""

import json
import random
import re
import subprocess
from collections import Counter, defaultdict

import pytest
import zstandard

cantools = pytest.importorskip("cantools", reason="pip install cantools")

EXTENDED = 1 << 31
GROUP_OF_ANY_SOURCE = 0x03FFFF00  # a mask under which IDs of PDU2 are equal whose groups are

DBC = """VERSION ""
BU_: ECU
BO_ 2364540158 EEC1: 8 ECU
 SG_ EngineSpeed : 24|16@1+ (0.125,0) [0|6000] "rpm" ECU
 SG_ Torque : 16|8@1+ (1,-125) [-100|100] "%" ECU
 SG_ Mode : 0|4@1+ (1,0) [0|12] "" ECU

BO_ 2566844926 CCVS: 8 ECU
 SG_ Speed : 8|16@1+ (0.00390625,0) [0|200] "km/h" ECU

BO_ 2566844683 CCVS_of_11: 8 ECU
 SG_ Other : 8|16@1+ (1,0) [0|65535] "" ECU

BO_ 2348875518 TSC1: 8 ECU
 SG_ MessageCounter : 56|4@1+ (1,0) [0|7] "" ECU

BO_ 2566834942 DM1: 20 ECU
 SG_ Lamp : 0|2@1+ (1,0) [0|1] "" ECU

BO_ 2566849790 Plain: 8 ECU

BA_DEF_ BO_ "VFrameFormat" ENUM "StandardCAN","ExtendedCAN","StandardCAN_FD","ExtendedCAN_FD","J1939PG";
BA_DEF_DEF_ "VFrameFormat" "J1939PG";
BA_ "VFrameFormat" BO_ 2566849790 1;
"""
EEC1, CCVS, TSC1, DM1, PLAIN = 0x0CF00400, 0x18FEF100, 0x0C000000, 0x18FECA00, 0x18FF0400


def check(bin_dir, dbc, frames, tmp_path, *options):
    log = tmp_path / "log.log"
    log.write_text("".join(f"({time:.6f}) can0 {id:08X}#{bytes(data).hex().upper()}\n" for time, id, data in frames))
    done = subprocess.run([bin_dir / "plimsoll", "check", dbc, log, "--json", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_id(summary):
    return {(f["id"], f["message"], f["rule"], f["signal"]): f["frames"] for f in summary["findings"]}


@pytest.fixture
def dbc(tmp_path):
    path = tmp_path / "truck.dbc"
    path.write_text(DBC)
    return path


def groups_of(text):
    """{PGN: (frames, priorities, from, to, message)} of the table that `inspect` prints."""
    rows = {}
    for line in text[text.index("parameter groups"):].splitlines():
        if match := re.match(r" *(\d+) +([0-9A-F]{4,5}) +([\d,]+)  ([\d ]+?)  +(\S.*?)  +(\S.*?)(?:  +(\S+))?$", line):
            pgn, digits, frames, *rest = match.groups()
            assert int(digits, 16) == int(pgn)
            rows[int(pgn)] = (int(frames.replace(",", "")), *rest)
    return rows


def test_the_groups_of_a_real_truck_are_those_of_cantools(run, data_dir, tmp_path):
    captures = data_dir / "can-j1939-truck"
    if not captures.is_dir():
        pytest.skip(f"no captures at {captures} (set PLIMSOLL_DATA)")
    capture = captures / "normal.log.zst"
    ids = [int(line.split()[2], 16) for line in zstandard.decompress(capture.read_bytes(), 1 << 26).decode().splitlines()]
    expected, sources, priorities = Counter(), defaultdict(set), defaultdict(set)
    for id in ids:
        pgn, parts = cantools.j1939.pgn_from_frame_id(id), cantools.j1939.frame_id_unpack(id)
        expected[pgn] += 1
        sources[pgn].add(parts.source_address)
        priorities[pgn].add(parts.priority)
    run("plimsoll", "ingest", "can", capture, "--out", tmp_path / "frames")
    found = groups_of(run("plimsoll", "inspect", tmp_path / "frames", "--j1939"))
    assert {pgn: row[0] for pgn, row in found.items()} == expected
    for pgn, (_, priority, source, destination, _) in found.items():
        assert {int(one) for one in priority.split()} == priorities[pgn]
        assert len(sources[pgn]) > 8 or {int(one) for one in source.split()} == sources[pgn]
        assert (destination == "all") == (pgn >> 8 & 0xFF >= 240)
    assert "parameter groups" not in run("plimsoll", "inspect", tmp_path / "frames"), "nobody asked"


def test_a_dbc_names_the_groups_of_a_real_truck_as_canmatrix_does(run, bin_dir, data_dir, tmp_path):
    canmatrix = pytest.importorskip("canmatrix", reason="pip install canmatrix")
    formats = pytest.importorskip("canmatrix.formats")
    captures = data_dir / "can-j1939-truck"
    if not captures.is_dir():
        pytest.skip(f"no captures at {captures} (set PLIMSOLL_DATA)")
    dbc = next(iter(canmatrix.__path__)) + "/j1939.dbc"
    matrix = formats.loadp_flat(dbc)
    lines = zstandard.decompress((captures / "normal.log.zst").read_bytes(), 1 << 26).decode().splitlines()
    ids = Counter(int(line.split()[2], 16) for line in lines)

    def frame_of(id):
        arbitration = canmatrix.ArbitrationId(id, extended=True)
        return matrix.frame_by_id(arbitration) or matrix.frame_by_pgn(arbitration.pgn)

    expected = {f"0x{id:08X}": n for id, n in ids.items() if frame_of(id) is None}
    done = subprocess.run([bin_dir / "plimsoll", "check", dbc, captures / "normal.log.zst", "--json"], capture_output=True, text=True)
    findings = json.loads(done.stdout)["findings"]
    assert {f["id"]: f["frames"] for f in findings if f["rule"] == "unknown message"} == expected and 0 < len(expected) < len(ids)
    run("plimsoll", "ingest", "can", captures / "normal.log.zst", "--out", tmp_path / "frames")
    found = groups_of(run("plimsoll", "inspect", tmp_path / "frames", "--dbc", dbc))
    names = {canmatrix.ArbitrationId(id, extended=True).pgn: frame_of(id) for id in ids}
    assert {pgn: row[4] for pgn, row in found.items()} == {pgn: frame and frame.name for pgn, frame in names.items()}


def test_messages_are_matched_by_group_as_a_masked_database_of_cantools(bin_dir, dbc, tmp_path):
    dice = random.Random(3)
    masked = cantools.database.load_file(dbc, strict=False, frame_id_mask=GROUP_OF_ANY_SOURCE)
    groups = [id for id in (EEC1, CCVS, DM1)]
    ids = [dice.choice(groups) & 0x3FFFFFF | dice.randrange(8) << 26 | dice.choice([0, 3, 17, 254]) for _ in range(300)]
    frames = [(n * 0.01, id, dice.randbytes(8)) for n, id in enumerate(ids)]
    exact = {message.frame_id for message in masked.messages}
    expected = Counter()
    for _, id, data in frames:
        told = id if id in exact else id & 0x3FFFFFF  # without its priority
        message = masked.get_message_by_frame_id(id)
        message = message if message.name != "CCVS_of_11" else masked.get_message_by_name("CCVS")  # its group's last
        for name, value in message.decode(data, decode_choices=False, allow_truncated=True).items():
            signal = message.get_signal_by_name(name)
            raw = message.decode(data, scaling=False, decode_choices=False, allow_truncated=True)[name]
            bits = signal.length
            no_value = raw >> (bits - 8) >= 0xFB if bits % 8 == 0 else raw >= 2**bits - 2
            if not no_value and not signal.minimum - signal.scale / 2 <= value <= signal.maximum + signal.scale / 2:
                expected[f"0x{told:08X}", message.name, "range", name] += 1
    found = by_id(check(bin_dir, dbc, frames, tmp_path))
    assert {key: n for key, n in found.items() if key[2] == "range"} == expected and len(expected) > 4
    assert not [key for key in found if key[2] == "unknown message"]


def test_the_message_of_its_source_comes_first(bin_dir, dbc, tmp_path):
    frames = [(0, CCVS | source, bytes(7)) for source in (11, 12)] + [(0, PLAIN | 1, bytes(8)), (0, 0x18FF0500, b"")]
    found = by_id(check(bin_dir, dbc, frames, tmp_path))
    assert found == {("0x18FEF10B", "CCVS_of_11", "length", ""): 1, ("0x00FEF10C", "CCVS", "length", ""): 1,
                     ("0x18FF0401", "", "unknown message", ""): 1, ("0x18FF0500", "", "unknown message", ""): 1}


def test_each_sender_has_counters_and_cycles_of_its_own(bin_dir, dbc, tmp_path):
    dbc.write_text(DBC + 'BA_DEF_ BO_ "GenMsgCycleTime" INT 0 10000;\nBA_DEF_DEF_ "GenMsgCycleTime" 0;\n'
                   'BA_ "GenMsgCycleTime" BO_ 2348875518 10;\n')
    frames = []
    for n in range(40):
        for sender, offset in ((0x03, 0), (0x27, 5)):  # to address 0 and to 3
            for destination in (0, 3):
                frames.append((n * 0.01 + offset * 0.001, TSC1 | destination << 8 | sender | (n % 2) << 26,
                               bytes(7) + bytes([(n + offset + destination) % 8])))
    frames.append((0.4, TSC1 | 3, bytes(7) + b"\x0f"))  # no value is no break
    assert by_id(check(bin_dir, dbc, frames, tmp_path)) == {}
    frames.append((0.399, TSC1 | 0x27, bytes(7) + b"\x07"))
    summary = check(bin_dir, dbc, frames, tmp_path)
    assert by_id(summary) == {("0x00000027", "TSC1", "counter", "MessageCounter"): 1, ("0x00000027", "TSC1", "early", ""): 1}
    assert {(f["pgn"], f["source"], f["destination"]) for f in summary["findings"]} == {(0, 0x27, 0)}


def test_a_long_group_is_of_any_length(bin_dir, dbc, tmp_path):
    text = ' SG_ Lamp : 0|2@1+ (1,0) [0|1] "" ECU\n'
    dbc.write_text(DBC.replace(text, text + ' SG_ Text : 8|152@1+ (1,0) [0|0] "" ECU\n'))  # no frame has such a signal
    frames = [(0, DM1, b"\x01" * 8), (1, DM1, b"\x00\x00"), (2, EEC1, b"\0\0\x7d\0")]
    assert by_id(check(bin_dir, dbc, frames, tmp_path)) == {("0x00F00400", "EEC1", "length", ""): 1}


def test_senders_without_end_take_no_memory_without_end(bin_dir, dbc, tmp_path):
    dice = random.Random(1)
    frames = [(n * 1e-4, 0x0C000000 | dice.randrange(1 << 16), bytes(8)) for n in range(30_000)]
    summary = check(bin_dir, dbc, frames, tmp_path)
    assert summary["frames"] == 30_000 and summary["broken"] < 30_000 and len(summary["findings"]) <= 4096 + 1


def test_a_number_for_the_format_is_vectors(bin_dir, dbc, tmp_path):
    number = DBC.replace('ENUM "StandardCAN","ExtendedCAN","StandardCAN_FD","ExtendedCAN_FD","J1939PG"', "INT 0 15").replace(
        'BA_DEF_DEF_ "VFrameFormat" "J1939PG"', 'BA_DEF_DEF_ "VFrameFormat" 3')
    dbc.write_text(number)
    assert {message.protocol for message in cantools.database.load_file(dbc, strict=False).messages} == {"j1939", None}
    assert by_id(check(bin_dir, dbc, [(0, EEC1 | 7, b"\xff" * 8)], tmp_path)) == {}
    dbc.write_text(number.replace('"VFrameFormat" 3', '"VFrameFormat" 1'))
    assert by_id(check(bin_dir, dbc, [(0, EEC1 | 7, bytes(8))], tmp_path)) == {("0x0CF00407", "", "unknown message", ""): 1}


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """A detector of a made-up truck, and a capture with a sender that it does not know."""
    folder = tmp_path_factory.mktemp("truck")
    dice = random.Random(2)
    periods = {EEC1: 0.01, CCVS | 3: 0.02, TSC1 | 0x0B: 0.01, 0x18EAFF21: 0.05}

    def traffic(seconds, more=()):
        frames = [(n * period + dice.random() * 1e-4, id, bytes([n % 256]) + bytes(7)) for id, period in periods.items()
                  for n in range(int(seconds / period))]
        return "".join(f"({time:.6f}) can0 {id:08X}#{data.hex().upper()}\n" for time, id, data in sorted(frames + list(more)))

    (folder / "drive.log").write_text(traffic(60))
    (folder / "watched.log").write_text(traffic(10, [(5 + n * 0.004, CCVS | 0x55, bytes(8)) for n in range(40)]))
    run("plimsoll", "detector", folder / "drive.log", "--out", folder / "truck.safetensors", "-O", "training.max_epochs=1", "--attacks",
        "DoS,injection", "--threads", 2)
    return folder


def test_alarms_and_events_tell_groups_and_addresses(run, made, tmp_path):
    model, capture = made / "truck.safetensors", made / "watched.log"
    (tmp_path / "truck.dbc").write_text(DBC)

    def nodes(*options):
        lines = [json.loads(line) for line in run("plimsoll", "detect", model, capture, "--all", "--json", *options).splitlines()]
        return {node["id"]: node for line in lines[:-1] for node in line["nodes"]}

    found = nodes("--j1939")
    for id, node in found.items():
        parts = cantools.j1939.frame_id_unpack(int(id, 16))
        assert (node["pgn"], node["source"]) == (cantools.j1939.pgn_from_frame_id(int(id, 16)), parts.source_address)
        assert node.get("destination", 255) == (parts.pdu_specific if parts.pdu_format < 240 else 255)
        assert node.get("name") == ("Request" if id == "0x18EAFF21" else None), "groups of the protocol itself have names"
    assert len(found) == 5 and "pgn" not in nodes()["0x18FEF103"]
    assert {id: node.get("name") for id, node in nodes("--dbc", tmp_path / "truck.dbc").items()} == {
        "0x0CF00400": "EEC1", "0x18FEF103": "CCVS", "0x18FEF155": "CCVS", "0x0C00000B": "TSC1", "0x18EAFF21": "Request"}
    text = run("plimsoll", "detect", model, capture, "--dbc", tmp_path / "truck.dbc")
    assert re.search(r"ALARM .*0x18FEF155 CCVS \(PGN 65265 from 85\) \(unknown\)", text)
    events = [json.loads(line) for line in run("plimsoll", "detect", model, capture, "--events", "json", "--dbc", tmp_path / "truck.dbc").splitlines()]
    named = [one for event in events[:-1] for one in event["ids"] if one["id"] == "0x18FEF155"]
    assert named and all(one["pgn"] == 65265 and one["source"] == 85 and one["name"] == "CCVS" for one in named)
