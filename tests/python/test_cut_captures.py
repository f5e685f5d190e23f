"""Captures that are cut off, as by a power failure: read up to the last whole frame, with a warning, in every verb."""

import gzip
import json
import re
import struct
import subprocess
import zlib

import numpy as np
import pytest

can = pytest.importorskip("can", reason="pip install python-can")
zstandard = pytest.importorskip("zstandard")

from test_can_containers import messages, write  # noqa: E402


def candump(sent):
    return "".join(f"({m.timestamp:.6f}) can0 {m.arbitration_id:0{8 if m.is_extended_id else 3}X}#{bytes(m.data).hex().upper()}\n"
                   for m in sent).encode()


def pcap(sent):
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 227)]
    for m in sent:
        frame = struct.pack(">IB3x", m.arbitration_id | (m.is_extended_id << 31), len(m.data)) + bytes(m.data).ljust(8, b"\0")
        parts.append(struct.pack("<IIII", int(m.timestamp), round(m.timestamp % 1 * 1e6), len(frame), len(frame)) + frame)
    return b"".join(parts)


CAPTURES = {
    "drive.blf": can.BLFWriter, "drive.asc": can.ASCWriter, "drive.trc": can.TRCWriter, "drive.csv": can.CSVWriter,
    "drive.log": candump, "drive.pcap": pcap,
}


@pytest.fixture(scope="module")
def sent():
    return messages(300, remote=False)


@pytest.fixture(scope="module")
def made(sent, tmp_path_factory):
    """The bytes of a whole capture."""

    def make(name):
        way = CAPTURES[name]
        if way in (candump, pcap):
            return way(sent)
        path = tmp_path_factory.mktemp("whole") / name
        options = {"channel": 1} if name.endswith((".asc", ".trc")) else {}
        return write(path, way, sent, **options).read_bytes()

    return make


@pytest.fixture
def call(bin_dir):
    def run(*words, code=0):
        done = subprocess.run([str(bin_dir / "plimsoll"), *map(str, words)], capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


def frames_of(call, path, out, *options):
    done = call("ingest", "can", path, "--out", out, "--json", *options)
    return np.load(out / "can_id.npy"), json.loads(done.stdout), done.stderr


def expect_cut(call, path, out, whole):
    """The frames of `path` are the first ones of `whole`."""
    ids, summary, stderr = frames_of(call, path, out)
    assert 1 <= len(ids) < len(whole) and np.array_equal(ids, whole[:len(ids)])
    said = re.search(rf"{path.name}: is cut off at byte (\d+): the ([\d,]+) whole frames before it were read, ([\d,]+) bytes", stderr)
    assert said and int(said[2].replace(",", "")) == len(ids), stderr
    assert list(summary["truncated_at"].values()) == [int(said[1])]
    recording = json.loads((out / "manifest.json").read_text())["recordings"][0]
    assert recording["truncated_at"] == int(said[1])
    assert recording["traps"].get("cut_off_bytes", 0) == int(said[3].replace(",", ""))
    error = call("ingest", "can", path, "--out", out.parent / "refused", "--truncated", "fail", code=3).stderr
    assert path.name in error and not (out.parent / "refused").exists()
    return len(ids), int(said[1])


@pytest.mark.parametrize("name", CAPTURES)
def test_a_capture_is_read_up_to_where_it_is_cut(call, made, tmp_path, name):
    whole = made(name)
    path = tmp_path / name
    path.write_bytes(whole)
    ids, summary, stderr = frames_of(call, path, tmp_path / "whole")
    assert len(ids) == 300 and "truncated_at" not in summary and "cut off" not in stderr
    is_text = name.endswith((".asc", ".trc", ".csv", ".log"))
    for i, share in enumerate((0.95, 0.7)):
        end = int(len(whole) * share) + 1
        if is_text:  # a few characters into a line
            end = whole.rfind(b"\n", 0, end) + 8
        path.write_bytes(whole[:end])
        expect_cut(call, path, tmp_path / f"cut{i}", ids)


@pytest.mark.parametrize("ending, pack", [(".gz", gzip.compress), (".zst", lambda data: zstandard.compress(data))])
@pytest.mark.parametrize("name", ["drive.log", "drive.blf", "drive.pcap"])
def test_a_packed_capture_is_read_up_to_where_it_is_cut(call, tmp_path, name, ending, pack):
    many = messages(30_000, remote=False)
    plain = tmp_path / name
    if name == "drive.blf":
        write(plain, can.BLFWriter, many, compression_level=0)
    else:
        plain.write_bytes(CAPTURES[name](many))
    ids, _, _ = frames_of(call, plain, tmp_path / "whole")
    packed = pack(plain.read_bytes())
    path = tmp_path / (name + ending)
    for i, end in enumerate((len(packed) * 2 // 3, len(packed) - (5 if ending == ".gz" else len(packed) // 4))):
        path.write_bytes(packed[:end])
        if i == 1 and ending == ".gz":  # all data, and no checksum
            cut, summary, stderr = frames_of(call, path, tmp_path / "all")
            assert np.array_equal(cut, ids) and "is cut off at byte" in stderr and summary["truncated_at"]
        else:
            expect_cut(call, path, tmp_path / f"cut{i}", ids)


@pytest.mark.parametrize("name", CAPTURES)
def test_zeros_in_place_of_the_end_are_no_frames(call, made, tmp_path, name):
    """What some file systems leave of the last blocks after a power failure."""
    whole = made(name)
    path = tmp_path / name
    path.write_bytes(whole)
    ids, _, _ = frames_of(call, path, tmp_path / "whole")
    end = len(whole) - 5 if name == "drive.blf" else whole.rfind(b"\n", 0, len(whole) * 2 // 3) + 6
    if name == "drive.pcap":
        end = 24 + 32 * 200
    if name == "drive.blf":  # a whole container before it
        path.write_bytes(whole)
        whole = write(path, can.BLFWriter, messages(9000, remote=False)).read_bytes()
        ids, _, _ = frames_of(call, path, tmp_path / "many")
        end = len(whole) - 1000
    path.write_bytes(whole[:end] + bytes(4096))
    expect_cut(call, path, tmp_path / "cut", ids)


def test_zlib_data_with_zeros_at_its_end_gives_no_made_up_frames(call, tmp_path):
    """Zeros inflate to symbols: what comes of them is none of the file."""
    path = tmp_path / "drive.blf"
    whole = write(path, can.BLFWriter, messages(9000, remote=False)).read_bytes()
    ids, _, _ = frames_of(call, path, tmp_path / "whole")
    for k in range(6):
        end = len(whole) - 3000 - 97 * k
        path.write_bytes(whole[:end] + bytes(len(whole) - end))
        expect_cut(call, path, tmp_path / f"cut{k}", ids)


def test_every_verb_reads_a_cut_capture(call, made, tmp_path):
    path = tmp_path / "drive.blf"
    whole = write(path, can.BLFWriter, messages(9000, remote=False)).read_bytes()
    path.write_bytes(whole[: len(whole) - 4000])
    _, summary, _ = frames_of(call, path, tmp_path / "frames")
    byte = summary["truncated_at"]["drive.blf"]
    converted = call("convert", path, "--out", tmp_path / "to.log", "--json")
    assert json.loads(converted.stdout)["truncated_at"] == byte and f"is cut off at byte {byte}" in converted.stderr
    call("convert", path, "--out", tmp_path / "no.log", "--truncated", "fail", code=3)
    (tmp_path / "car.dbc").write_text('VERSION ""\nBU_: A\nBO_ 291 M: 8 A\n SG_ S : 0|8@1+ (1,0) [0|255] "" A\n')
    checked = call("check", tmp_path / "car.dbc", path, "--json")
    assert json.loads(checked.stdout)["truncated_at"] == byte and f"is cut off at byte {byte}" in checked.stderr
    assert json.loads(checked.stdout)["frames"] == summary["frames"]
    call("check", tmp_path / "car.dbc", path, "--truncated", "fail", code=3)


def test_check_tells_what_it_found_before_a_damage(call, tmp_path):
    path = tmp_path / "drive.blf"
    whole = bytearray(write(path, can.BLFWriter, messages(9000, remote=False)).read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    path.write_bytes(whole)
    (tmp_path / "car.dbc").write_text('VERSION ""\nBU_: A\nBO_ 291 M: 8 A\n SG_ S : 0|8@1+ (1,0) [0|255] "" A\n')
    done = call("check", tmp_path / "car.dbc", path, "--json", code=3)
    assert json.loads(done.stdout)["frames"] > 1000 and "drive.blf: byte" in done.stderr


def test_a_capture_that_is_cut_before_its_first_frame_is_left_out(call, made, tmp_path):
    folder = tmp_path / "card"
    folder.mkdir()
    (folder / "one.blf").write_bytes(made("drive.blf"))
    (folder / "two.blf").write_bytes(made("drive.blf")[:90])
    ids, _, stderr = frames_of(call, folder, tmp_path / "frames")
    assert len(ids) == 300 and "two.blf: is cut off at byte 0, before the first frame" in stderr
    error = call("ingest", "can", folder / "two.blf", "--out", tmp_path / "none", code=3).stderr
    assert "two.blf: is cut off at byte 0, before the first frame" in error


def test_a_last_line_in_half_a_byte_is_cut(call, tmp_path):
    path = tmp_path / "drive.log"
    path.write_text("(1.0) can0 123#1122\n(2.0) can0 123#112")
    ids, summary, _ = frames_of(call, path, tmp_path / "frames")
    assert len(ids) == 1 and summary["truncated_at"] == {"drive.log": 20}


def test_a_container_that_hides_others_is_damaged_not_cut(call, tmp_path):
    """Its size goes beyond the end of the file, as that of one that is cut off does."""

    def container(first):
        objects = b"".join(struct.pack("<4sHHIIIIQHBBI8s8x", b"LOBJ", 32, 1, 56, 86, 2, 0, i, 1, 0, 8, i, b"") for i in range(first, first + 9))
        packed = zlib.compress(objects)
        head = struct.pack("<4sHHIIH6xI4x", b"LOBJ", 16, 1, 32 + len(packed), 10, 2, len(objects))
        return head + packed + bytes(len(packed) % 4)

    head = struct.pack("<4sI", b"LOGG", 144).ljust(144, b"\0")
    parts = [container(9 * i) for i in range(3)]
    path = tmp_path / "drive.blf"
    path.write_bytes(head + b"".join(parts))
    assert len(frames_of(call, path, tmp_path / "whole")[0]) == 27
    middle = bytearray(parts[1])
    struct.pack_into("<I", middle, 8, 100_000)
    path.write_bytes(head + parts[0] + bytes(middle) + parts[2])
    error = call("ingest", "can", path, "--out", tmp_path / "out", code=3).stderr
    assert f"drive.blf: byte {len(head) + len(parts[0])}: found objects after the zlib data of a container" in error
