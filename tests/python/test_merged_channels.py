"""Captures with several buses, merged: recordings with a column `channel`, windows and profiles of messages by bus and ID.

Oracles: python-can for what is read; for windows and verdicts a capture of one bus whose IDs are renumbered, 0x400 for each bus.
"""

import json
import subprocess

import numpy as np
import pytest

from package_data import plimsoll as package

RENUMBERED = 0x400
TRANSFER = """
task: detection
data: {features: behaviour, calibration: 60, without: [id_index, known_transition]}
training: {max_epochs: 1, batch_size: 64}
gat: {hidden: 8, heads: 2, learning_rate: 0.002}
"""


def call(bin_dir, *words, code=0, **options):
    done = subprocess.run([str(word) for word in (bin_dir / "plimsoll", *words)], capture_output=True, timeout=600, **options)
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


def traffic(seconds, seed, strange=()):
    """[(time, bus, ID, payload)] of two buses with IDs in common; `strange`: (time, bus, ID) besides."""
    dice = np.random.default_rng(seed)
    frames = []
    for bus, periods in enumerate([{0x100: 0.01, 0x2C0: 0.02, 0x3A0: 0.1}, {0x100: 0.02, 0x110: 0.01, 0x3A0: 0.05}]):
        for can_id, period in periods.items():
            for k, time in enumerate(np.arange(dice.random() * period, seconds, period)):
                frames.append((time + dice.random() * 2e-4, bus, can_id, bytes([k & 255, can_id & 255, int(dice.integers(4))])))
    frames += [(time, bus, can_id, b"\1\2") for time, bus, can_id in strange]
    return sorted(frames)


def candump(frames, names=("can0", "can1")):
    return "".join(f"({1000 + time:.6f}) {names[bus]} {can_id:03X}#{data.hex().upper()}\n" for time, bus, can_id, data in frames)


def renumbered(frames):
    return [(time, 0, can_id + RENUMBERED * bus, data) for time, bus, can_id, data in frames]


def first_on(bus, frames):
    """The same frames, from the first of this bus on: buses are numbered in the order of their first frames."""
    return frames[next(i for i, frame in enumerate(frames) if frame[1] == bus):]


BENIGN = first_on(0, traffic(60, 3))
STRANGE = [(20 + k * 0.001, 1, 0x2C0) for k in range(40)]  # an ID of the other bus
WATCHED = first_on(0, traffic(40, 4, STRANGE))


@pytest.fixture(scope="module")
def folder(bin_dir, run, tmp_path_factory):
    """Captures of the traffic as it is and renumbered, and a detector calibrated on each."""
    root = tmp_path_factory.mktemp("merged")
    for name, frames in {"benign": BENIGN, "watched": WATCHED}.items():
        (root / f"{name}.log").write_text(candump(frames))
        (root / f"{name}-one.log").write_text(candump(renumbered(frames)))
    run("plimsoll", "simulate", "can", "--out", root / "made", "--frames", "60000", "--seed", "5")
    (root / "recipe.yaml").write_text(TRANSFER)
    run("plimsoll", "train", root / "recipe.yaml", "--data", root / "made", "--run", root / "run")
    model = root / "run" / "detector.safetensors"
    for name, benign, options in (("car", "benign", ["--merge-channels"]), ("one", "benign-one", [])):
        run("plimsoll", "calibrate", model, "--benign", root / f"{benign}.log", "--out", root / f"{name}.safetensors", *options)
    return root


def detected(bin_dir, model, capture, *options, **more):
    out, error = call(bin_dir, "detect", model, capture, "--all", "--json", *options, **more)
    lines = [json.loads(line) for line in out.splitlines()]
    return lines[:-1], lines[-1]["summary"], error


def test_a_recording_has_all_channels_in_the_order_of_the_capture(run, tmp_path):
    can = pytest.importorskip("can", reason="pip install python-can")
    with can.BLFWriter(tmp_path / "drive.blf") as log:
        for time, bus, can_id, data in BENIGN[:3000]:
            log.on_message_received(can.Message(timestamp=1.7e9 + time, arbitration_id=can_id, is_extended_id=False, data=data,
                                                channel=bus))
    run("plimsoll", "ingest", "can", tmp_path / "drive.blf", "--out", tmp_path / "out", "--merge-channels")
    read = list(can.BLFReader(tmp_path / "drive.blf"))
    frames = package.open(tmp_path / "out")
    recording, = frames.recordings
    names = np.array(recording.channels)[frames.channel]
    assert names.tolist() == [str(message.channel + 1) for message in read]
    assert frames.can_id.tolist() == [message.arbitration_id for message in read]
    assert recording.channel is None and recording.name == "drive" and len(frames) == recording.frames == len(read)
    assert np.array_equal(frames[5:9].channel, frames.channel[5:9])
    text = run("plimsoll", "inspect", tmp_path / "out")
    assert "merged channels: 1, 2" in text
    assert "intact" in run("plimsoll", "verify", tmp_path / "out")


def test_windows_are_those_of_renumbered_ids(run, folder, tmp_path):
    for name, options in (("benign", ["--merge-channels"]), ("benign-one", [])):
        run("plimsoll", "ingest", "can", folder / f"{name}.log", "--out", tmp_path / name, "--benign", "--split", "train", *options)
        run("plimsoll", "windows", tmp_path / name, "--out", tmp_path / f"{name}-w", "--features", "behaviour", "--stride", 30)
    merged, one = (package.open(tmp_path / f"{name}-w") for name in ("benign", "benign-one"))
    for column in ("x", "edges", "edge_attr", "y", "node_ptr", "edge_ptr"):
        assert np.array_equal(getattr(merged, column), getattr(one, column)), column
    assert merged.channels == ("can0", "can1") and one.channels == ()
    assert [key % 2**32 + RENUMBERED * (key >> 32) for key in merged.vocabulary] == list(one.vocabulary)


def test_a_stream_is_judged_as_renumbered_ids_are(bin_dir, folder):
    lines, summary, error = detected(bin_dir, folder / "car.safetensors", folder / "watched.log")
    expected, _, _ = detected(bin_dir, folder / "one.safetensors", folder / "watched-one.log")
    assert [line["score"] for line in lines] == [line["score"] for line in expected]
    assert [line["parts"] for line in lines] == [line["parts"] for line in expected]
    assert summary["recordings"] == 1 and error == ""
    alarms = [line for line in lines if line["alarm"]]
    assert alarms and {name for line in alarms for name in line["unknown_ids"]} == {"can1:0x2C0"}
    assert all("channel" not in line for line in lines)
    assert {(node["channel"], node["id"]) for line in lines for node in line["nodes"]} > {("can0", "0x100"), ("can1", "0x100")}
    # Apart, 0x2C0 is known wherever it is sent: the profile of single channels is of all IDs.
    text, _ = call(bin_dir, "detect", folder / "car.safetensors", folder / "watched.log")
    assert "can1:0x2C0 (unknown)" in text


def test_recordings_are_judged_as_streams_are(run, bin_dir, folder, tmp_path):
    run("plimsoll", "ingest", "can", folder / "watched.log", "--out", tmp_path / "frames", "--merge-channels")
    frames = package.open(tmp_path / "frames")
    verdicts = package.Detector(folder / "car.safetensors").judge(frames, frames.recordings[0])
    lines, _, _ = detected(bin_dir, folder / "car.safetensors", folder / "watched.log")
    assert [(v.number, v.frames, v.alarm, v.score) for v in verdicts] == [
        (line["window"], line["frames"], line["alarm"], pytest.approx(line["score"], rel=1e-6)) for line in lines]
    with pytest.raises(package.InputError, match="record no channel"):
        package.Detector(folder / "car.safetensors").add(package.FrameColumns(
            frames.time_ns[:], frames.can_id[:], frames.length[:], frames.data[:], frames.label[:]))


def test_pieces_and_late_channels_make_no_difference(bin_dir, folder):
    """A stream that comes line by line; buses that another capture has in another order."""
    expected, _, _ = detected(bin_dir, folder / "car.safetensors", folder / "watched.log")
    other = first_on(1, WATCHED)
    lines, _, _ = detected(bin_dir, folder / "car.safetensors", "-", input=candump(other).encode())
    apart = len(WATCHED) - len(other)
    process = subprocess.Popen([bin_dir / "plimsoll", "detect", folder / "car.safetensors", "-", "--all", "--json"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for line in candump(WATCHED).splitlines(keepends=True)[:600]:
        process.stdin.write(line.encode())
        process.stdin.flush()
    process.stdin.close()
    slow = [json.loads(line) for line in process.stdout.read().splitlines()][:-1]
    assert process.wait() == 0
    assert slow == expected[:6]
    assert apart < 100 and abs(len(lines) - len(expected)) <= 1
    assert {name for line in lines if line["alarm"] for name in line["unknown_ids"]} == {"can1:0x2C0"}


def test_channels_of_another_name_are_told_and_can_be_named(bin_dir, folder):
    text = candump(WATCHED, ("1", "2")).encode()
    expected, _, _ = detected(bin_dir, folder / "car.safetensors", folder / "watched.log")
    _, error = call(bin_dir, "detect", folder / "car.safetensors", "-", input=text, code=3)
    assert "channel '1' is not one that the detector was made for (can0, can1)" in error and "--name-channel 1=can0" in error
    assert "found the channels 1, 2, expected some" in error.splitlines()[-1]
    _, error = call(bin_dir, "detect", folder / "car.safetensors", "-", "--name-channel", "1=odd", input=text, code=3)
    assert "channel 'odd' is not one" in error and "--name-channel 1=can0" in error
    lines, _, error = detected(bin_dir, folder / "car.safetensors", "-", "--name-channel", "1=can0", input=text)
    assert error.count("is not one that the detector was made for") == 1 and "--name-channel 2=can0" in error
    assert all(line["alarm"] for line in lines[:-1]) and "2:0x3A0" in lines[5]["unknown_ids"]
    lines, _, error = detected(bin_dir, folder / "car.safetensors", "-", "--name-channel", "1=can0", "2=can1", input=text)
    assert lines == expected and error == ""
    _, error = call(bin_dir, "detect", folder / "car.safetensors", "-", "--name-channel", "1", input=text, code=2)
    assert "expected CHANNEL=NAME" in error


def test_a_channel_may_have_a_detector_of_its_own(run, bin_dir, folder, tmp_path):
    model = folder / "run" / "detector.safetensors"
    run("plimsoll", "calibrate", model, "--benign", folder / "benign.log", "--channel", "can1", "--out", tmp_path / "can1.safetensors")
    (tmp_path / "can1.log").write_text(candump([frame for frame in WATCHED if frame[1] == 1]))
    expected, _, _ = detected(bin_dir, tmp_path / "can1.safetensors", tmp_path / "can1.log")
    lines, summary, _ = detected(bin_dir, folder / "car.safetensors", folder / "watched.log", "--detector",
                                 f"can1={tmp_path / 'can1.safetensors'}")
    assert [line for line in lines if line.get("channel") == "can1"] == expected
    assert summary["recordings"] == 2
    _, error = call(bin_dir, "detect", model, folder / "watched.log", "--detector", f"can1={folder / 'car.safetensors'}", code=2)
    assert "made for merged channels" in error


def test_what_is_merged_and_what_is_not_are_kept_apart(run, bin_dir, folder, tmp_path):
    (tmp_path / "drive.csv").write_text("timestamp,arbitration_id,data_field,attack\n1.0,100,AA,0\n")
    _, error = call(bin_dir, "ingest", "can", tmp_path / "drive.csv", "--out", tmp_path / "csv", "--merge-channels", code=3)
    assert "this format records no channel" in error
    _, error = call(bin_dir, "detect", folder / "car.safetensors", tmp_path / "drive.csv", code=3)
    assert "record no channel, but the model is for the merged channels can0, can1" in error
    run("plimsoll", "ingest", "can", folder / "watched.log", "--out", tmp_path / "frames", "--merge-channels")
    _, error = call(bin_dir, "evaluate", folder / "run", "--data", tmp_path / "frames", code=3)
    assert "recordings are merged" in error
    _, error = call(bin_dir, "windows", tmp_path / "frames", "--out", tmp_path / "compat", "--features", "compat", code=2)
    assert "merged channels" in error
    _, error = call(bin_dir, "ingest", "can", folder / "watched.log", "--out", tmp_path / "x", "--merge-channels", "--channel",
                    "can0", code=2)
    assert "exclude" in error


def test_merged_channels_become_one_capture_and_come_back(run, folder, tmp_path):
    run("plimsoll", "ingest", "can", folder / "watched.log", "--out", tmp_path / "frames", "--merge-channels", "--split", "s")
    said = json.loads(run("plimsoll", "convert", tmp_path / "frames", "--out", tmp_path / "text", "--to", "candump", "--json"))
    assert "--merge-channels" in said["back"] and said["recordings"] == 1
    run("plimsoll", "ingest", "can", tmp_path / "text", "--out", tmp_path / "again", "--merge-channels")
    for file in (tmp_path / "frames").glob("*.npy"):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name
    assert package.open(tmp_path / "again").recordings[0].content == package.open(tmp_path / "frames").recordings[0].content


def test_a_capture_converts_with_other_names_of_channels(run, folder, tmp_path):
    run("plimsoll", "convert", folder / "watched.log", "--out", tmp_path / "named.log", "--name-channel", "can0=vcan7")
    assert set(line.split()[1] for line in (tmp_path / "named.log").read_text().splitlines()) == {"vcan7", "can1"}


def test_shards_of_merged_captures_join_to_what_one_process_makes(run, folder, tmp_path):
    whole, parts = tmp_path / "whole", [tmp_path / "1", tmp_path / "2"]
    sources = [folder / "benign.log", folder / "watched.log"]
    run("plimsoll", "ingest", "can", *sources, "--out", whole, "--merge-channels")
    for number, part in enumerate(parts, 1):
        run("plimsoll", "ingest", "can", *sources, "--out", part, "--merge-channels", "--shard", f"{number}/2")
    run("plimsoll", "merge", *parts, "--out", tmp_path / "joined")
    for file in whole.iterdir():
        assert (tmp_path / "joined" / file.name).read_bytes() == file.read_bytes(), file.name


def test_from_one_log_of_two_buses_to_incidents_that_name_the_bus(bin_dir, run, folder, tmp_path):
    call(bin_dir, "detector", folder / "benign.log", "--merge-channels", "--out", tmp_path / "car.safetensors", "-O",
         "training.max_epochs=1", "--attacks", "DoS,fuzzing,injection", "--threads", 2)
    out, _ = call(bin_dir, "detect", tmp_path / "car.safetensors", folder / "watched.log", "--events", "json")
    events = [json.loads(line) for line in out.splitlines()][:-1]
    named = [one for event in events for one in event["ids"]]
    assert {"id": "0x2C0", "channel": "can1"} in [{key: one[key] for key in ("id", "channel")} for one in named]
    out, _ = call(bin_dir, "detect", tmp_path / "car.safetensors", folder / "watched.log", "--events", "syslog")
    assert "can1:0x2C0" in out
    run("plimsoll", "evaluate", tmp_path / "car.safetensors.work" / "run", "--data", tmp_path / "car.safetensors.work" / "frames",
        "--split", "validation", "--attention", tmp_path / "attention")
    attention = package.open(tmp_path / "attention")
    assert set(attention.channel.tolist()) == {0, 1} and attention.manifest["channels"] == ["can0", "can1"]


def test_a_frame_of_no_channel_is_refused(bin_dir, run, folder, seal, tmp_path):
    """What is made of it would be data sets and models that cannot be opened."""
    frames = tmp_path / "frames"
    run("plimsoll", "ingest", "can", folder / "benign.log", "--out", frames, "--benign", "--split", "train", "--merge-channels")
    channels = np.load(frames / "channel.npy")
    channels[7] = 2
    np.save(frames / "channel.npy", channels)
    seal(frames)
    out = tmp_path / "out"
    for words in (("windows", frames, "--out", out), ("convert", frames, "--out", out, "--to", "candump"),
                  ("simulate", "can", "--inject", frames, "--attacks", "flooding", "--out", out),
                  ("calibrate", folder / "run" / "detector.safetensors", "--benign", frames, "--out", out),
                  ("train", folder / "recipe.yaml", "--data", frames, "--run", out),
                  ("evaluate", folder / "run", "--data", frames)):
        _, error = call(bin_dir, *words, code=3)
        assert "frame 7: channel 2" in error, error
        assert not (out / "manifest.json").exists() and not out.is_file()
