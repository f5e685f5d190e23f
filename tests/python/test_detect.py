"""`plimsoll detect`: the scores of evaluate from a stream, its lines, what it does with damage, and its memory."""

import csv
import json
import os
import re
import select
import signal
import subprocess
from collections import defaultdict

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.numpy import save_file

from cgroup import MemoryCgroup
from gat_with_jk import GATWithJK
from made_up import random_frames, write_capture

MIB = 1 << 20
BASE = "task: detection\ntraining: {max_epochs: 2, batch_size: 64}\n"
RECIPES = {
    "compat": BASE + "data: {features: compat}\ngat: {hidden: 8, heads: 2}\n",
    "compat, sliding": BASE + "data: {features: compat, window: 60, stride: 17}\ngat: {hidden: 8, heads: 2, layers: 3}\n",
    "behaviour": BASE + "data: {features: behaviour}\ngat: {hidden: 8, heads: 2, edge_features: true, id_dropout: 0.5}\n",
    "by time": BASE + "data: {features: behaviour, window: 40ms, stride: 25ms}\ngat: {hidden: 8, heads: 4, pooling: sum}\n",
    "gatv2, lstm": BASE + "data: {features: behaviour, stride: 50, without: [id_index, known, gap_mean]}\n"
                          "gat: {hidden: 8, heads: 2, attention: gatv2, jk: lstm, edge_features: true, fc_layers: 3}\n",
    "gatv2, max": BASE + "data: {features: behaviour}\n"
                         "gat: {hidden: 5, heads: 3, attention: gatv2, jk: max, pooling: max, fc_layers: 1}\n",
}


@pytest.fixture(scope="module")
def captures_made(run, tmp_path_factory):
    """Captures of a simulated bus, in train and test folders, and their frames."""
    folder = tmp_path_factory.mktemp("detect")
    run("plimsoll", "simulate", "can", "--format", "csv", "--out", folder / "captures", "--frames", "60000", "--seed", "5")
    run("plimsoll", "ingest", "can", folder / "captures", "--out", folder / "frames")
    return folder


@pytest.fixture(scope="module")
def detector(run, captures_made, tmp_path_factory):
    """detector(recipe's name): the folder of a run."""
    made = {}

    def train(name):
        if name not in made:
            folder = made[name] = tmp_path_factory.mktemp("run")
            (folder / "recipe.yaml").write_text(RECIPES[name])
            run("plimsoll", "train", folder / "recipe.yaml", "--data", captures_made / "frames", "--run", folder / "run")
        return made[name] / "run"

    return train


@pytest.fixture(scope="module")
def detect(bin_dir):
    """detect(*arguments, code, **options): (lines, summary, stderr)."""

    def start(*arguments, code=0, **options):
        command = [str(bin_dir / "plimsoll"), "detect", *map(str, arguments), "--json"]
        done = subprocess.run(command, capture_output=True, timeout=600, **options)
        assert done.returncode == code, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return lines[:-1], lines[-1]["summary"] if lines else None, done.stderr.decode()

    return start


def contents(file):
    """(tensors, metadata) to save again, changed: without a checksum that would then be wrong."""
    metadata = file.metadata()
    del metadata["plimsoll.checksum"]
    return {key: file.get_tensor(key) for key in file.keys()}, metadata


def evaluated(run, run_folder, frames, file, detector):
    """{recording's path: scores by window} of all that evaluate judges by this detector."""
    run("plimsoll", "evaluate", run_folder, "--data", frames, "--scores", file)
    scores = defaultdict(dict)
    with open(file, newline="") as rows:
        for row in csv.DictReader(rows):
            if row["detector"] == detector:
                scores[f"{row['split']}/{row['recording']}"][int(row["window"])] = float(row["score"])
    return scores


def detector_of(recipe):
    """Whose scores are those of `detect`: log-odds, or what they make with profile statistics."""
    return "gat" if recipe.startswith("compat") else "fused"


def compare(detect, model, captures, scores):
    """Every recording that was judged, from its capture."""
    compared = 0
    for path, expected in scores.items():
        files = sorted(captures.glob(f"{path}.csv*"))
        if not files:
            continue
        lines, summary, _ = detect(model, files[0], "--all")
        assert [line["window"] for line in lines] == list(range(summary["windows"]))
        assert len(expected) == len(lines)
        found = np.array([line["score"] for line in lines])
        wanted = np.array([expected[window] for window in range(len(lines))])
        assert np.isfinite(wanted).all()
        # Of float32 sums: 1e-5 of what is small, and 1e-6 of the evidence of an unknown ID, 100.
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-5)
        # The last window is a rest, which raises no alarm unless there is no other.
        assert [line["alarm"] for line in lines[:-1]] == [line["score"] > line["threshold"] for line in lines[:-1]]
        compared += len(lines)
    return compared


@pytest.mark.parametrize("name", RECIPES)
def test_scores_are_those_of_the_trained_model(run, detector, detect, captures_made, tmp_path, name):
    scores = evaluated(run, detector(name), captures_made / "frames", tmp_path / "scores.csv", detector_of(name))
    scores = {path: of for path, of in scores.items() if not path.startswith("validation")}
    assert compare(detect, detector(name) / "detector.safetensors", captures_made / "captures", scores) > 100


@pytest.mark.parametrize("recipe", ["compat", "behaviour"])
def test_scores_of_all_test_recordings_are_those_of_the_trained_model(run, captures, detect, tmp_path, recipe):
    source = captures("hcrl_sa")
    (tmp_path / "recipe.yaml").write_text(RECIPES[recipe].replace("max_epochs: 2", "max_epochs: 1"))
    run("plimsoll", "ingest", "can", source, "--out", tmp_path / "frames")
    run("plimsoll", "train", tmp_path / "recipe.yaml", "--data", tmp_path / "frames", "--run", tmp_path / "run")
    scores = evaluated(run, tmp_path / "run", tmp_path / "frames", tmp_path / "scores.csv", detector_of(recipe))
    assert compare(detect, tmp_path / "run" / "detector.safetensors", source,
                   {path: of for path, of in scores.items() if path.startswith("test")}) > 5_000


@pytest.mark.parametrize("level", ["portable", "avx2", "avx512"])
def test_levels_of_the_processor_agree(detector, detect, captures_made, level):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    expected, _, _ = detect(model, capture, "--all")
    done = subprocess.run(["grep", "-c", level if level != "avx512" else "avx512bw", "/proc/cpuinfo"], capture_output=True)
    if level != "portable" and done.returncode != 0:
        pytest.skip(f"no {level} here")
    found, _, _ = detect(model, capture, "--all", env=dict(os.environ, PLIMSOLL_SIMD=level))
    np.testing.assert_allclose([line["score"] for line in found], [line["score"] for line in expected], atol=2e-5)


def test_frames_that_come_one_by_one_give_the_same_lines(bin_dir, detector, detect, captures_made):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    head = b"".join(capture.read_bytes().splitlines(keepends=True)[:1001])
    expected, _, _ = detect(model, "-", "--all", input=head)
    assert len(expected) == 10
    process = subprocess.Popen([str(bin_dir / "plimsoll"), "detect", str(model), "-", "--all", "--json"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    lines = head.splitlines(keepends=True)
    for line in lines[:101]:
        process.stdin.write(line[:7])
        process.stdin.flush()
        process.stdin.write(line[7:])
        process.stdin.flush()
    first = json.loads(process.stdout.readline())  # while the pipe stays open
    assert first == expected[0]
    process.stdin.write(b"".join(lines[101:]))
    rest = process.communicate()[0].splitlines()
    assert [first] + [json.loads(line) for line in rest[:-1]] == expected


def test_an_interrupt_ends_it_with_a_summary(bin_dir, detector, captures_made):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    process = subprocess.Popen([str(bin_dir / "plimsoll"), "detect", str(model), "-", "--all", "--json"],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(b"".join(capture.read_bytes().splitlines(keepends=True)[:350]) + b"1513920")
    process.stdin.flush()
    for _ in range(3):
        process.stdout.readline()
    process.send_signal(signal.SIGINT)
    lines = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert process.wait(10) == 0
    # Neither the line nor the window that were cut off.
    assert len(lines) == 1 and 300 <= lines[0]["summary"]["frames"] <= 349 and lines[0]["summary"]["windows"] == 3
    assert lines[0]["summary"]["malformed_lines"] == 0


def test_a_pipe_with_a_name_is_read_as_it_fills_and_left_at_a_signal(bin_dir, detector, captures_made, tmp_path):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    os.mkfifo(tmp_path / "pipe")
    command = [str(bin_dir / "plimsoll"), "detect", str(model), str(tmp_path / "pipe"), "--all", "--json"]
    for frames in (0, 250):
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        if frames:
            with open(tmp_path / "pipe", "wb", buffering=0) as pipe:
                pipe.write(b"".join(capture.read_bytes().splitlines(keepends=True)[:frames + 1]))
                assert json.loads(process.stdout.readline())["window"] == 0
                process.send_signal(signal.SIGTERM)
                assert process.wait(10) == 0
        else:  # nobody has opened the other end
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.3)
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0


def test_alarms_that_do_not_get_through_are_an_error(bin_dir, detector, captures_made):
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    for more in (["--threshold", "-1e9"], ["--threshold", "1e9", "--json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(bin_dir / "plimsoll"), "detect", str(detector("behaviour") / "detector.safetensors"),
                                   str(capture), *more], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1 and "standard output" in done.stderr


def test_malformed_lines_are_counted_and_never_fatal(detector, detect, tmp_path):
    rng = np.random.default_rng(3)
    rows = random_frames(rng, 600, [0x100, 0x200, 0x7FF])
    write_capture(tmp_path / "good.csv", rows)
    lines = (tmp_path / "good.csv").read_bytes().splitlines(keepends=True)
    model = detector("behaviour") / "detector.safetensors"
    expected, _, _ = detect(model, tmp_path / "good.csv", "--all")
    bad = [b"nonsense\n", b"1.0,XYZ,00,0\n", bytes(rng.integers(0, 256, 300, dtype=np.uint8)).replace(b"\n", b"") + b"\n",
           b"9" * 200_000 + b"\n", b"\n"]
    damaged = lines[:1]
    for k, line in enumerate(lines[1:]):
        damaged += bad[k // 100:k // 100 + 1] * (k % 100 == 50) + [line]
    (tmp_path / "bad.csv").write_bytes(b"".join(damaged))
    found, summary, _ = detect(model, tmp_path / "bad.csv", "--all")
    assert found == expected
    assert summary["malformed_lines"] >= 4 and sum(summary["malformed"].values()) == summary["malformed_lines"]
    _, _, error = detect(model, tmp_path / "bad.csv", "--strict", code=3)
    assert "bad.csv:52:9: found" in error and "expected four fields" in error


def test_a_stream_that_is_joined_loses_what_came_before_its_first_line(detector, detect, tmp_path):
    rng = np.random.default_rng(8)
    write_capture(tmp_path / "good.csv", random_frames(rng, 300, [0x100, 0x200]))
    lines = (tmp_path / "good.csv").read_bytes().splitlines(keepends=True)[1:]
    model = detector("behaviour") / "detector.safetensors"
    expected, _, _ = detect(model, "-", "--all", input=b"".join(lines))
    found, summary, _ = detect(model, "-", "--all", input=b"00,0102,0\n" + b"".join(lines))
    assert found == expected and summary["malformed_lines"] == 1
    _, _, error = detect(model, "-", "--strict", input=b"00,0102,0\n" + b"".join(lines), code=3)
    assert "of no known capture format" in error
    # The end of a line that is too long is not a frame.
    long = b"x" * 65_536 + lines[0]
    found, summary, _ = detect(model, "-", "--all", input=lines[0] + long + b"".join(lines[1:]))
    assert found == expected and summary["malformed_lines"] == 1
    _, _, error = detect(model, "-", "--strict", input=lines[0] + long + b"".join(lines[1:]), code=3)
    assert "standard input:2: " in error and "65536" in error


@pytest.mark.parametrize("text", [b"", b"timestamp,arbitration_id,data_field,attack\n", b"\0" * 5_000, b"\0" * 200_000,
                                  b"nan,123,00,0\n" * 10, b"nan,123,00,0\n" * 10_000,
                                  b"timestamp,arbitration_id,data_field,attack\n" + b"nan,123,00,0\n" * 500,
                                  b"(1.0) can0 123#00\n(nan) can0 123#00\n"])
def test_what_gives_no_window_to_judge_is_an_error(detector, detect, tmp_path, text):
    """What was not judged must not pass for benign; the summary says what became of it."""
    model = detector("compat") / "detector.safetensors"
    (tmp_path / "capture").write_bytes(text)
    for source, given in (("-", text), (tmp_path / "capture", b"")):
        lines, summary, error = detect(model, source, "--all", input=given, code=3)
        assert lines == [] and ("no window was judged" in error or "no known capture format" in error)
        assert summary is None or (summary["windows"] == 0 and summary["latency_ns"]["p99"] == 0)


def test_a_bit_that_turns_in_a_detector_is_noticed(detector, detect, captures_made, tmp_path):
    """One of the levels of its score would raise thousands of alarms, or none."""
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    content = model.read_bytes()
    length = int.from_bytes(content[:8], "little")
    begin, end = json.loads(content[8:8 + length])["fusion.edge"]["data_offsets"]
    for byte in (8 + length + begin + 6, 8 + length + end - 1, len(content) - 1):
        damaged = bytearray(content)
        damaged[byte] ^= 0x40
        (tmp_path / "damaged.safetensors").write_bytes(damaged)
        _, _, error = detect(tmp_path / "damaged.safetensors", capture, code=3)
        assert "damaged.safetensors" in error and "checksum" in error
    # A file of before there were checksums, or of another tool, has none.
    with safe_open(model, "np") as file:
        assert re.fullmatch("[0-9a-f]{16}", file.metadata()["plimsoll.checksum"])
        tensors, metadata = contents(file)
    save_file(tensors, tmp_path / "unchecked.safetensors", metadata)
    expected, _, _ = detect(model, capture, "--all")
    found, _, _ = detect(tmp_path / "unchecked.safetensors", capture, "--all")
    assert found == expected


def candump(frames, channel, start=1000.0):
    """Lines of `candump -L`."""
    return b"".join(b"(%.6f) %s %s#%s\n" % (start + k * 0.0005, channel, can_id.encode(), payload.encode())
                    for k, (can_id, payload, _) in enumerate(frames))


def of_channel(lines, channel):
    return [line for line in lines if line["channel"] == channel]


def test_each_channel_is_judged_alone(detector, detect):
    """Whatever comes between its frames."""
    rng = np.random.default_rng(5)
    model = detector("behaviour") / "detector.safetensors"
    mine, other = (candump(random_frames(rng, 2_050, [0x100, 0x200]), name).splitlines(keepends=True) for name in (b"can0", b"can1"))
    alone = detect(model, "-", "--all", input=b"".join(mine))[0] + detect(model, "-", "--all", input=b"".join(other))[0]
    mixed = b"".join(line for pair in zip(mine, other) for line in pair)
    found, summary, error = detect(model, "-", "--all", input=mixed)
    for channel in ("can0", "can1"):
        assert of_channel(found, channel) == of_channel(alone, channel) != []
    assert summary["other_channels"] == 0 and summary["frames"] == 4_100 and summary["recordings"] == 2 and error == ""
    chosen, summary, _ = detect(model, "-", "--all", "--channel", "can0", input=mixed)
    assert chosen == of_channel(alone, "can0") and summary["other_channels"] == 2_050
    compat = detector("compat") / "detector.safetensors"
    expected = detect(compat, "-", "--all", input=b"".join(other))[0]
    found, _, _ = detect(model, "-", "--all", "--detector", f"can1={compat}", input=mixed)
    assert of_channel(found, "can0") == of_channel(alone, "can0") and of_channel(found, "can1") == expected


def test_a_channel_that_comes_late_is_waited_for(detector, detect):
    rng = np.random.default_rng(6)
    model = detector("behaviour") / "detector.safetensors"
    other, mine = (candump(random_frames(rng, 500, [0x100, 0x200]), channel) for channel in (b"can0", b"can1"))
    expected, _, _ = detect(model, "-", "--all", input=mine)
    found, summary, _ = detect(model, "-", "--all", "--channel", "can1", input=other + mine)
    assert found == expected and summary["other_channels"] == 500
    _, summary, error = detect(model, "-", "--channel", "can7", input=other + mine, code=3)
    assert summary["other_channels"] == 1_000 and "1000 frames of other channels" in error


def test_a_channel_whose_name_is_no_text_keeps_the_summary(detector, detect):
    rng = np.random.default_rng(7)
    model = detector("behaviour") / "detector.safetensors"
    mine = candump(random_frames(rng, 250, [0x100, 0x200]), b"can\xff")
    expected, _, _ = detect(model, "-", "--all", input=mine.replace(b"\xff", b"0"))
    found, summary, _ = detect(model, "-", "--all", input=mine + candump(random_frames(rng, 3, [1]), b"\x1b[2J", 2000))
    assert [line | {"channel": "can0"} for line in found if line["channel"] == "can\\xff"] == expected
    assert summary["frames"] == 253 and summary["malformed_lines"] == 0


def test_what_is_no_capture_and_what_is_no_detector_is_refused(detector, detect, captures_made, tmp_path):
    model = detector("behaviour") / "detector.safetensors"
    _, _, error = detect(model, "-", input=b"no frames\n" * 1000, code=3)
    assert "of no known capture format" in error and "`plimsoll ingest can --format table --columns`" in error
    _, _, error = detect(model, tmp_path / "absent.csv", code=3)
    assert "absent.csv" in error
    content = model.read_bytes()
    for length in (0, 7, 100, len(content) // 2, len(content) - 1):
        (tmp_path / "cut.safetensors").write_bytes(content[:length])
        _, _, error = detect(tmp_path / "cut.safetensors", "-", input=b"", code=3)
        assert "cut.safetensors" in error
    unchecked = re.sub(rb'"plimsoll.checksum":"[0-9a-f]{16}",', lambda entry: b" " * len(entry[0]), content)
    assert len(unchecked) == len(content) and unchecked != content
    (tmp_path / "old.safetensors").write_bytes(unchecked.replace(b'"plimsoll.data"', b'"plimsoll.date"'))
    _, _, error = detect(tmp_path / "old.safetensors", "-", input=b"", code=3)
    assert "train it again" in error
    (tmp_path / "units.safetensors").write_bytes(unchecked.replace(b'\\"window\\":\\"100\\"', b'\\"window\\":\\"1ms\\"'))
    _, _, error = detect(tmp_path / "units.safetensors", "-", input=b"", code=3)
    assert "units.safetensors" in error and "different kinds" in error
    for name in ("head.bias", "convs.0.bias"):
        with safe_open(model, "np") as file:
            tensors, metadata = contents(file)
        tensors[name][0] = np.nan
        save_file(tensors, tmp_path / "nan.safetensors", metadata)
        _, _, error = detect(tmp_path / "nan.safetensors", "-", input=b"", code=3)
        assert f"'{name}' holds what is no finite number" in error
    detect(model, "-", "--threshold", "nan", input=b"", code=2)
    detect(model, "-", "--stride", "9223372036854775807", input=b"", code=2)
    _, _, error = detect(model, "-", "--window", "50ms", input=b"", code=2)
    assert "windows of 100" in error
    _, _, error = detect(model, "-", "--false-alarms", "0.5", input=b"", code=2)
    assert "0.001" in error


def test_a_sliding_window_shares_its_windows_with_the_strides_of_training(detector, detect, captures_made):
    model = detector("behaviour") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    apart, _, _ = detect(model, capture, "--all")
    sliding, summary, _ = detect(model, capture, "--all", "--stride", "10")
    assert summary["windows"] > 9 * len(apart)
    by_frame = {line["first_frame"]: line["score"] for line in sliding}
    for line in apart[:-1]:
        assert by_frame[line["first_frame"]] == line["score"]


def test_a_clock_that_jumps_begins_another_recording(detector, detect, captures_made, tmp_path):
    model = detector("by time") / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    lines = capture.read_text().splitlines(keepends=True)[:4001]
    expected, once, _ = detect(model, "-", "--all", input="".join(lines).encode())
    times = [float(line.split(",")[0]) for line in lines[1:]]
    for shift in (-1e6, 1e6, 1e9):
        moved = [f"{time + shift:.6f},{line.split(',', 1)[1]}" for time, line in zip(times, lines[1:])]
        found, summary, _ = detect(model, "-", "--all", input="".join(lines + moved).encode())
        assert summary["recordings"] == 2 and summary["windows"] == 2 * once["windows"]
        assert [line["score"] for line in found] == [line["score"] for line in expected] * 2
        assert found[-1]["window"] == summary["windows"] - 1


@pytest.mark.parametrize("name", ["compat", "behaviour"])
def test_the_threshold_is_that_of_the_lowest_rate_unless_another_is_named(detector, detect, captures_made, tmp_path, name):
    model = detector(name) / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    levels = {0.01: -1.5, 0.001: 2.5, 0.1: -4.25}
    with safe_open(model, "np") as file:
        tensors, metadata = contents(file)
    assert ("fusion.lines" in tensors) == (name == "behaviour")
    if name == "behaviour":
        tensors["fusion.lines"] = np.array([[rate, rate, level] for rate, level in levels.items()])
    else:
        metadata["plimsoll.thresholds"] = json.dumps([{"target_rate": rate, "log_odds": level} for rate, level in levels.items()])
    model = tmp_path / "model.safetensors"
    save_file(tensors, model, metadata)
    for more, level in (([], levels[0.001]), (["--false-alarms", "0.01"], levels[0.01]), (["--threshold", "-3.5"], -3.5)):
        lines, _, _ = detect(model, capture, "--all", *more)
        assert all(line["threshold"] == pytest.approx(level) for line in lines)


@pytest.mark.parametrize("name", ["behaviour", "gatv2, lstm"])
def test_the_score_is_that_of_its_worst_part(detector, detect, captures_made, bin_dir, name):
    model = detector(name) / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    lines, _, _ = detect(model, capture, "--all")
    with safe_open(model, "np") as file:
        edges = file.get_tensor("fusion.edge")
    parts = ["unknown", "early", "early_share", "surplus", "silence", "load", "still", "transitions", "steps", "extra", "checksum", "apart",
             "held", "restless", "gat", "vgae"]
    spoken = [part for part, edge in zip(parts, edges) if np.isfinite(edge)]
    assert spoken == parts[:-1]
    for line in lines:
        assert sorted(line["parts"]) == sorted(spoken)
        assert line["score"] == max(line["parts"].values())
    text = subprocess.run([str(bin_dir / "plimsoll"), "detect", str(model), str(capture), "--all"],
                          capture_output=True, text=True, timeout=60).stdout.splitlines()
    for line, words in zip(lines, text):
        assert words.split(" by ")[1].split()[0] in [part for part in spoken if line["parts"][part] == line["score"]]


def test_a_model_whose_levels_are_impossible_is_refused(detector, detect, tmp_path):
    with safe_open(detector("behaviour") / "detector.safetensors", "np") as file:
        tensors, metadata = contents(file)
    for name, value in (("fusion.scale", [0.0]), ("fusion.unit", [-1.0] * 9), ("fusion.unit", [1.0] * 8)):
        save_file(dict(tensors, **{name: np.array(value)}), tmp_path / "bad.safetensors", metadata)
        _, _, error = detect(tmp_path / "bad.safetensors", "-", input=b"", code=3)
        assert "fusion." in error and "bad.safetensors" in error


def test_alarms_are_told_per_hour_of_traffic(detector, detect, captures_made):
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    lines, summary, _ = detect(detector("behaviour") / "detector.safetensors", capture, "--all")
    hours = (lines[-1]["time_ns"] - lines[0]["time_ns"]) / 3600e9
    assert summary["traffic_hours"] == pytest.approx(hours, rel=1e-6) and hours > 0
    assert summary["alarms_per_hour"] == pytest.approx(summary["alarms"] / hours, rel=1e-6)
    false = summary["alarms"] - summary["labels"]["found"]
    assert summary["labels"]["false_alarms_per_hour"] == pytest.approx(false / hours, rel=1e-6)


def test_a_burst_waits_for_itself(detector, detect, captures_made):
    """Latency counts from the arrival of a window's frames, so what waits after other windows of a read is slower."""
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    _, summary, _ = detect(detector("behaviour") / "detector.safetensors", capture, "--stride", "1")
    assert summary["latency_ns"]["max"] > 50e9 / summary["windows_per_s"]
    assert summary["latency_ns"]["p50"] > 5e9 / summary["windows_per_s"]


def rollout(model, x, edge_index, edge_attr):
    """Attention rollout by PyTorch Geometric's layers: (shares of nodes, shares of edges without self-loops)."""
    h = torch.cat([model.embedding(x[:, 0].long()), x[:, 1:]], dim=1)
    attention = []
    for conv in model.convs:
        h, (index, alpha) = conv(h, edge_index, edge_attr if model.uses_edges else None, return_attention_weights=True)
        attention.append((index.numpy(), alpha.mean(1).numpy()))
        h = torch.relu(h)
    at, through = np.zeros(len(x)), {}
    for index, alpha in reversed(attention):
        at = at + 1 / (len(x) * len(attention))
        below = np.zeros(len(x))
        for (source, target), share in zip(index.T, alpha * at[index[1]]):
            below[source] += share
            if source != target:
                through[source, target] = through.get((source, target), 0) + share / len(attention)
        at = below
    return at, through


@pytest.mark.parametrize("name", ["behaviour", "gatv2, max"])
def test_attention_points_where_that_of_pytorch_geometric_does(run, detector, detect, captures_made, tmp_path, name):
    model = detector(name) / "detector.safetensors"
    run("plimsoll", "windows", captures_made / "frames", "--features", "behaviour", "--out", tmp_path / "graphs")
    manifest = json.loads((tmp_path / "graphs" / "manifest.json").read_text())
    recording = next(r for r in manifest["recordings"] if r["split"].startswith("test"))
    lines, _, _ = detect(model, captures_made / "captures" / recording["split"] / f"{recording['name']}.csv", "--all")
    with safe_open(model, "pt") as file:
        twin = GATWithJK(**json.loads(file.metadata()["plimsoll.config"]))
        twin.load_state_dict({key: file.get_tensor(key) for key in twin.state_dict()})
    node_ptr, edge_ptr, x, edges, edge_attr = (np.load(tmp_path / "graphs" / f"{column}.npy")
                                               for column in ("node_ptr", "edge_ptr", "x", "edges", "edge_attr"))
    with torch.no_grad():
        for line in lines[:20]:
            g = recording["first_graph"] + line["window"]
            nodes, rows = slice(*node_ptr[g:g + 2]), slice(*edge_ptr[g:g + 2])
            at, through = rollout(twin.eval(), torch.from_numpy(x[nodes]), torch.from_numpy(edges[rows].T.astype(np.int64)),
                                  torch.from_numpy(edge_attr[rows]))
            assert at.sum() == pytest.approx(1, abs=1e-5)
            np.testing.assert_allclose([node["share"] for node in line["nodes"]], sorted(at, reverse=True)[:5], atol=1e-5)
            np.testing.assert_allclose([edge["share"] for edge in line["edges"]],
                                       sorted(through.values(), reverse=True)[:5], atol=1e-5)


def test_alarms_point_at_the_unknown_id(detector, detect, tmp_path):
    rng = np.random.default_rng(4)
    write_capture(tmp_path / "strange.csv", random_frames(rng, 400, [0x7F1, 0x7F2, 0x7F3]))
    lines, _, _ = detect(detector("behaviour") / "detector.safetensors", tmp_path / "strange.csv", "--all",
                         "--threshold", "-1000")
    for line in lines:
        assert line["alarm"] and set(line["unknown_ids"]) == {"0x7F1", "0x7F2", "0x7F3"}
        assert 0 < sum(node["share"] for node in line["nodes"]) <= 1.0001
        assert all(not node["known"] for node in line["nodes"])
        ids = {node["id"] for node in line["nodes"]}
        assert all(edge["source"] in ids and edge["target"] in ids for edge in line["edges"])


@pytest.mark.parametrize("name,more,step", [("behaviour", [], 0.005), ("by time", [], 0.005),
                                            ("by time", ["--stride", "60s"], 0.005), ("by time", [], 0)])
def test_hours_of_a_bus_take_the_memory_of_minutes(bin_dir, detector, captures_made, name, more, step):
    """A bus of hours on a pipe, inside a cgroup: also where windows lie far apart, and where the clock stands still."""
    model = detector(name) / "detector.safetensors"
    capture = next(iter(sorted((captures_made / "captures").glob("test*/*.csv"))))
    fields = [line.split(",", 1)[1] for line in capture.read_text().splitlines(keepends=True)[1:2001]]
    try:
        group = MemoryCgroup(32 * MIB)
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")

    def peak(rounds):
        process = subprocess.Popen([str(bin_dir / "plimsoll"), "detect", str(model), "-", "--json", "--budget", "24MiB",
                                    "--threshold", "1e9", *more], preexec_fn=group.join, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for k in range(rounds):
            process.stdin.write("".join(f"{1000 + (k * len(fields) + j) * step:.6f},{rest}"
                                        for j, rest in enumerate(fields)).encode())
        summary = json.loads(process.communicate()[0].splitlines()[-1])["summary"]
        assert process.returncode == 0 and summary["frames"] == rounds * len(fields)
        return summary["memory"]["ledger_peak_bytes"]

    with group:
        few = peak(200)
        many = peak(1500)  # four hours
        assert group.kills() == 0
    assert many <= 1.5 * few  # buffers grow with the longest read
    assert few < (4 if step else 24) * MIB
