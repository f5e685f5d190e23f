"""Without `--payload`, frames of CAN FD are read: files once more with 64 bytes a frame, pipes with 64 from the start."""

import json
import os
import subprocess
import threading

import numpy as np
import pytest

CLASSIC = "".join(f"({n * 0.1:.1f}) can0 123#0102030405060708\n" for n in range(500))
LONG = "(60.0) can0 124##1" + "AB" * 64 + "\n"


def call(bin_dir, *words, **options):
    return subprocess.run([str(word) for word in (bin_dir / "plimsoll", *words)], capture_output=True, text=True, timeout=120, **options)


def width_of(folder):
    return np.load(folder / "data.npy", mmap_mode="r").shape[1]


def manifest_of(folder):
    return (folder / "manifest.json").read_bytes()


@pytest.fixture
def logs(tmp_path):
    (tmp_path / "classic.log").write_text(CLASSIC)
    (tmp_path / "fd.log").write_text(CLASSIC + LONG)
    return tmp_path


def test_files_get_the_width_that_they_need(bin_dir, logs):
    for name, width in ("classic", 8), ("fd", 64):
        done = call(bin_dir, "ingest", "can", logs / f"{name}.log", "--out", logs / name)
        assert done.returncode == 0 and width_of(logs / name) == width, done.stderr
        again = call(bin_dir, "ingest", "can", logs / f"{name}.log", "--out", logs / name, "--json")
        assert json.loads(again.stdout)["already_there"] is True
        given = call(bin_dir, "ingest", "can", logs / f"{name}.log", "--out", logs / f"{name}-given", "--payload", width)
        assert given.returncode == 0 and manifest_of(logs / name) == manifest_of(logs / f"{name}-given")


def test_a_long_frame_is_no_bad_line(bin_dir, logs):
    (logs / "bad.log").write_text(CLASSIC + "no frame\n" + LONG)
    done = call(bin_dir, "ingest", "can", logs / "bad.log", "--out", logs / "set", "--on-error", "skip", "--json")
    assert json.loads(done.stdout)["frames"] == 501 and width_of(logs / "set") == 64
    done = call(bin_dir, "ingest", "can", logs / "bad.log", "--out", logs / "eight", "--on-error", "skip", "--payload", "8", "--json")
    assert json.loads(done.stdout)["frames"] == 500


def test_the_width_that_was_given_holds(bin_dir, logs):
    done = call(bin_dir, "ingest", "can", logs / "fd.log", "--out", logs / "set", "--payload", "8")
    assert done.returncode == 3 and "fd.log:501:" in done.stderr and "give --payload 64" in done.stderr


def test_binary_captures_choose_the_payload(bin_dir, logs):
    can = pytest.importorskip("can", reason="pip install python-can")
    from test_mf4 import unsorted

    sent = [can.Message(timestamp=1.7e9 + n * 0.1, arbitration_id=0x123, is_extended_id=False, data=range(8), channel=0) for n in range(500)]
    sent.append(can.Message(timestamp=1.7e9 + 60, arbitration_id=0x124, is_extended_id=False, is_fd=True, data=b"\xAB" * 64, channel=0))
    with can.BLFWriter(logs / "fd.blf") as log:
        for message in sent:
            log.on_message_received(message)
    (logs / "fd.mf4").write_bytes(unsorted(sent))
    for ending in ("blf", "mf4"):
        done = call(bin_dir, "ingest", "can", logs / f"fd.{ending}", "--out", logs / ending)
        assert done.returncode == 0 and width_of(logs / ending) == 64, done.stderr


def test_a_pipe_has_space_for_every_frame(bin_dir, logs):
    os.mkfifo(logs / "pipe.log")
    writer = threading.Thread(target=lambda: (logs / "pipe.log").write_text(CLASSIC + LONG))
    writer.start()
    done = call(bin_dir, "ingest", "can", logs / "pipe.log", "--out", logs / "set", "--format", "candump")
    writer.join()
    assert done.returncode == 0 and width_of(logs / "set") == 64, done.stderr


def test_check_reads_long_frames_of_files_and_pipes(bin_dir, logs):
    (logs / "car.dbc").write_text('BO_ 291 A: 8 X\nBO_ 292 B: 64 X\n SG_ S : 504|8@1+ (1,0) [0|1] "" X\n')
    for source, text in (logs / "fd.log", None), ("-", CLASSIC + LONG):
        done = call(bin_dir, "check", logs / "car.dbc", source, "--json", input=text)
        found = json.loads(done.stdout)
        assert found["frames"] == 501 and found["malformed_lines"] == 0
        assert [(one["signal"], one["found"].strip()) for one in found["findings"]] == [("S", "171")]
