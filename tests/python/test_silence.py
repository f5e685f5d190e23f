"""`plimsoll detect --tick`: time without frames."""

import json
import signal
import subprocess

import pytest

from new_vehicle import calibrated, drives, model, plimsoll, traffic, trained  # noqa: F401


@pytest.fixture(scope="module")
def rows(drives):
    """(header, frames as [time, rest]) of a benign drive."""
    header, *lines = drives[0].read_text().splitlines(keepends=True)
    return header, [(float(line.split(",", 1)[0]), line.split(",", 1)[1]) for line in lines]


def written(path, header, frames):
    path.write_text(header + "".join(f"{time:.6f},{rest}" for time, rest in frames))
    return path


def later(frames, seconds):
    return [(time + seconds, rest) for time, rest in frames]


def one_sender(frames, seconds):
    """The last frame again, every 20 ms, for so long: what is heard before a sleep."""
    time, rest = frames[-1]
    return [(time + 0.02 * k, rest) for k in range(1, int(seconds / 0.02))]


@pytest.fixture(scope="module")
def car(plimsoll, model, drives, tmp_path_factory):
    out = tmp_path_factory.mktemp("silence") / "car.safetensors"
    calibrated(plimsoll, model, drives[0], out)
    return out


def detected(plimsoll, car, capture, *options):
    lines = [json.loads(line) for line in plimsoll("detect", car, capture, "--json", *options).stdout.splitlines()]
    return lines[:-1], lines[-1]["summary"]


def test_a_bus_that_falls_silent_raises_one_alarm(plimsoll, car, rows, tmp_path):
    header, frames = rows
    cut = written(tmp_path / "cut.csv", header, frames[:2_050] + later(frames[2_050:], 3))
    plain, summary = detected(plimsoll, car, cut, "--all")
    assert summary["silences"] == 0 and not any("silence_ns" in line for line in plain)
    ticked, summary = detected(plimsoll, car, cut, "--all", "--tick", "100ms")
    told = [line for line in ticked if "silence_ns" in line]
    assert len(told) == 1 == summary["silences"]
    assert [line for line in ticked if "silence_ns" not in line] == plain, "windows stay as they are"
    assert ticked.index(told[0]) == 20, "after the windows before it, and before that in which it lies"
    # At a tick after the last frame: the first one that is more than twice as long as any benign pause.
    times = [time for time, _ in frames]
    longest = max(b - a for a, b in zip(times, times[1:]))
    assert 0 < longest < 0.05 and told[0]["silence_ns"] == 100_000_000
    assert told[0]["time_ns"] == pytest.approx(times[2_049] * 1e9 + 1e8, abs=1_000)
    assert told[0]["alarm"] and told[0]["score"] > told[0]["threshold"] == 1
    assert told[0]["parts"] == {"silence": told[0]["score"]}
    text = plimsoll("detect", car, cut, "--tick", "100ms").stdout
    assert text.count("no frame for 0.100 s") == 1 and "1 of them because the bus was silent" in text
    # A tick that is longer than the silence sees none.
    assert detected(plimsoll, car, cut, "--tick", "3.5s")[1]["silences"] == 0


def test_it_is_one_incident(plimsoll, car, rows, tmp_path):
    header, frames = rows
    cut = written(tmp_path / "cut.csv", header, frames[:2_050] + later(frames[2_050:], 30))
    lines = [json.loads(line) for line in plimsoll("detect", car, cut, "--events", "json", "--tick", "100ms", "--event-after", "5")
             .stdout.splitlines()][:-1]
    incidents = [(line["incident"], line["state"], line["windows"], line["part"]) for line in lines]
    assert incidents == [(1, "open", 1, "silence"), (1, "closed", 1, "silence")]
    assert lines[0]["ids"] == []


def test_an_attack_right_before_it_is_the_same_incident(plimsoll, car, rows, tmp_path):
    header, frames = rows
    time, rest = frames[1_949]
    strange = [(time, "7FE," + rest.split(",", 1)[1])] * 5  # in a window that waits when the bus falls silent
    cut = written(tmp_path / "cut.csv", header, frames[:1_950] + strange + frames[1_950:2_050] + later(frames[2_050:], 3))
    lines = [json.loads(line) for line in plimsoll("detect", car, cut, "--events", "json", "--tick", "100ms").stdout.splitlines()][:-1]
    # The second one is of the window in which the pause lies.
    assert [(line["incident"], line["state"], line["windows"]) for line in lines[:2]] == [(1, "open", 1), (1, "closed", 2)]
    assert all(line["incident"] == 2 for line in lines[2:])


def test_windows_that_wait_are_judged_when_a_signal_ends_it(bin_dir, car, rows):
    header, frames = rows
    process = subprocess.Popen([str(bin_dir / "plimsoll"), "detect", str(car), "-", "--all", "--json"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    process.stdin.write(header + "".join(f"{time:.6f},{rest}" for time, rest in frames[:350]))
    process.stdin.flush()
    told = [json.loads(process.stdout.readline())["window"] for _ in range(2)]
    process.send_signal(signal.SIGTERM)
    lines = [json.loads(line) for line in process.stdout.read().splitlines()]
    assert process.wait(10) == 0
    assert told == [0, 1] and [line.get("window") for line in lines[:-1]] == [2]


def test_bus_sleep_as_in_benign_traffic_raises_none(plimsoll, model, car, rows, tmp_path):
    header, frames = rows
    half = len(frames) // 2

    def drive(name, sleep, abrupt):
        first = frames[:half] if abrupt else frames[:half] + one_sender(frames[:half], 2)
        return written(tmp_path / name, header, first + later(frames[half:], sleep))

    calibrated(plimsoll, model, drive("benign.csv", 900, False), tmp_path / "sleeps.safetensors")
    asleep = drive("asleep.csv", 7_200, False)
    cut = drive("cut.csv", 7_200, True)
    assert detected(plimsoll, tmp_path / "sleeps.safetensors", asleep, "--tick", "100ms")[1]["silences"] == 0
    assert detected(plimsoll, tmp_path / "sleeps.safetensors", cut, "--tick", "100ms")[1]["silences"] == 1
    assert detected(plimsoll, car, asleep, "--tick", "100ms")[1]["silences"] == 1, "of a detector that knows no sleep"


def test_channels_are_silent_each_for_itself(plimsoll, car, rows, tmp_path):
    _, frames = rows
    lines = [(time, channel, rest) for channel in ("can0", "can1") for time, rest in frames[:2_000]
             if channel == "can0" or time < frames[1_000][0]]
    log = "".join(f"({time:.6f}) {channel} {rest.split(',')[0]}#{rest.split(',')[1]}\n" for time, channel, rest in sorted(lines))
    (tmp_path / "two.log").write_text(log)
    told = [line for line in detected(plimsoll, car, tmp_path / "two.log", "--tick", "100ms")[0] if "silence_ns" in line]
    assert [line["channel"] for line in told] == ["can1"]
    assert told[0]["time_ns"] == pytest.approx(frames[999][0] * 1e9 + 1e8, abs=1_000)


def test_what_cannot_be_judged_is_refused(plimsoll, trained, car, drives, tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    assert "such as 100ms" in plimsoll("detect", car, drives[0], "--tick", "100", code=2).stderr
    with safe_open(car, "np") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys() if name != "profile.silence"}
        metadata = file.metadata()
    del metadata["plimsoll.checksum"]
    save_file(tensors, tmp_path / "old.safetensors", metadata)
    assert "calibrate it again" in plimsoll("detect", tmp_path / "old.safetensors", drives[0], "--tick", "100ms", code=2).stderr
    plimsoll("detect", tmp_path / "old.safetensors", drives[0])
