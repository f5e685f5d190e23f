"""Every verb at a full disk, in a folder that is read-only, at a signal, beside another process: it ends with a code of
docs/command-line.md and a message that names the path and the remedy, leaves what was there or what is new, whole, loses no
result that it has printed or could print, and works afterwards."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import REPOSITORY
from verb_faults import CRASHES, Harness, Trial, can_mount, content
from verb_table import LONG, VERBS


@pytest.fixture(scope="module")
def harness(bin_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbs")
    library = folder / "full_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, REPOSITORY / "tests/support/full_disk.c", "-ldl"], check=True)
    return Harness(bin_dir / "plimsoll", library, folder)


def test_every_verb_is_in_the_table(run):
    verbs = re.findall(r"^  ([a-z-]+)  ", run("plimsoll", "--help").partition("Subcommands:")[2], re.M)
    of_python = {"export", "sync"}  # their files are those of test_replacing.py
    assert set(verbs) - of_python == {name.split()[0] for name in VERBS}


def sample(points, name):
    """Three points that differ in kind, the same ones each time."""
    draw = random.Random(name)
    kinds = sorted({point.kind for point in points})
    chosen = draw.sample(kinds, min(3, len(kinds)))
    return [draw.choice([point for point in points if point.kind == kind]) for kind in chosen]


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_leaves_old_or_new_and_says_what_is_wrong(harness, name):
    points = harness.points(name)
    for point in points if os.environ.get("PLIMSOLL_SLOW") else sample(points, name):
        Trial(harness, name, point).run()


@pytest.mark.parametrize("name", LONG)
def test_a_verb_that_takes_minutes_stops_at_a_signal(harness, name):
    for second in range(1, 6) if os.environ.get("PLIMSOLL_SLOW") else [2]:
        place = harness.empty_place()
        process = harness.start([str(word) for word in (harness.program, *LONG[name](harness.inputs, place))], place)
        time.sleep(second)
        process.send_signal(signal.SIGTERM)
        ended = harness.end(process, place)
        assert ended.code in (75, -signal.SIGTERM), f"exit code {ended.code}\n{ended.err}"
        assert not CRASHES.search(ended.err), ended.err
        assert ended.code == 75 or name == "detector" or not content(place), sorted(content(place))
        shutil.rmtree(place)


@pytest.fixture(scope="module")
def odd_captures(harness):
    """Captures with attacks of a bus whose name is not UTF-8."""
    folder = harness.folder / "odd"
    harness.inputs.call("convert", harness.inputs.frames, "--to", "candump", "--out", folder)
    harness.inputs.call("convert", harness.inputs.capture, "--to", "candump", "--out", folder / "benign.log")
    for log in folder.rglob("*.log"):
        log.write_bytes(re.sub(rb"\) \S+ ", b") c\xff\xfe0 ", log.read_bytes()))
    return folder


def test_a_channel_whose_name_is_not_utf8_goes_through_all_verbs(harness, odd_captures):
    inputs, place = harness.inputs, harness.empty_place()
    capture = odd_captures / "benign.log"
    frames, run = place / "frames", place / "run"
    calls = [["ingest", "can", *filter(Path.is_dir, odd_captures.iterdir()), "--attack-label", 1, "--out", frames], ["inspect", frames], ["verify", frames],
             ["windows", frames, "--out", place / "windows"], ["convert", frames, "--to", "candump", "--out", place / "text"],
             ["convert", capture, "--out", place / "drive.log"], ["check", inputs.dbc, capture],
             ["plan", inputs.detection, "--data", frames], ["train", inputs.detection, "--data", frames, "--run", run],
             ["evaluate", run, "--data", frames, "--attention", place / "attention"],
             ["predict", run, "--data", frames, "--out", place / "said"],
             ["detect", run / "detector.safetensors", capture, "--all"],
             ["detect", run / "detector.safetensors", capture, "--events", "json"],
             ["calibrate", run / "detector.safetensors", "--benign", capture, "--out", place / "car.safetensors"],
             ["compare", run, run, "--page", place / "page.html"], ["job-report", run], ["stage", frames, "--to", place / "cache"]]
    for words in calls:
        ended = harness.run([str(word) for word in (harness.program, *words, "--json")], place)
        assert ended.code == 0, f"{words}: exit code {ended.code}\n{ended.err}"
        for line in ended.out.splitlines() if words[0] == "detect" else [ended.out]:
            json.loads(line)
    assert "c\\xff\\xfe0" in (place / "frames/manifest.json").read_text().encode().decode("unicode_escape")


def test_folders_can_be_mounted_read_only():
    if not can_mount():
        pytest.skip("no mount in a namespace of its own is allowed here: verbs in folders that are read-only are not tested")
