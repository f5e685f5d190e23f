"""`detect --events`: what a security operations centre gets, and how a service is watched and changed."""

import json
import re
import signal
import socket
import subprocess
import time
import urllib.request

import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from simulated_bus import contents
from test_detector import call, made  # noqa: F401

# Required attributes of class 2004, Detection Finding, of OCSF 1.3: ocsf-schema, events/base_event.json,
# events/findings/finding.json, objects/{metadata,finding_info,product}.json.
REQUIRED = {
    "": ["activity_id", "category_uid", "class_uid", "finding_info", "metadata", "severity_id", "time", "type_uid"],
    "metadata": ["product", "version"],
    "finding_info": ["uid", "title"],
}
# RFC 5424, section 6.
SYSLOG = re.compile(
    r"<(?P<pri>\d{1,3})>1 (?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z) (?P<host>[!-~]{1,255}) (?P<app>[!-~]{1,48}) "
    r"(?P<proc>[!-~]{1,128}) (?P<msg>[!-~]{1,32}) \[(?P<sd>[!-~]{1,32})(?P<params>( [!-~]{1,32}=\"([^\"\\\]]|\\[\"\\\]])*\")*)\] (?P<text>.*)")


def events(bin_dir, made, kind, *options):
    done = call(bin_dir, "detect", made["model"], made["attacked"], "--events", kind, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_ocsf_has_what_its_class_requires(bin_dir, made):
    lines = [json.loads(line) for line in events(bin_dir, made, "ocsf", "--vehicle", "van 12")]
    plain = [json.loads(line) for line in events(bin_dir, made, "json", "--vehicle", "van 12")][:-1]
    assert [line["unmapped"] for line in lines] == plain != []
    for line, event in zip(lines, plain):
        for path, names in REQUIRED.items():
            assert not set(names) - set((line[path] if path else line))
        assert line["class_uid"] == 2004 and line["category_uid"] == 2 and line["metadata"]["product"]["vendor_name"]
        assert line["activity_id"] == {"open": 1, "ongoing": 2, "closed": 3}[event["state"]]
        assert line["type_uid"] == 200400 + line["activity_id"] and line["severity_id"] in (2, 3, 4, 5)
        assert line["start_time"] == event["start_ns"] // 1_000_000 <= line["end_time"] and line["count"] == event["windows"]
    uids = {line["finding_info"]["uid"] for line in lines}
    assert len(uids) == len({event["incident"] for event in plain})


def test_syslog_is_of_rfc_5424(bin_dir, made):
    lines = events(bin_dir, made, "syslog", "--vehicle", 'a "van" [12]')
    plain = [json.loads(line) for line in events(bin_dir, made, "json")][:-1]
    assert len(lines) == len(plain) > 0
    for line, event in zip(lines, plain):
        match = SYSLOG.fullmatch(line)
        assert match and 16 * 8 <= int(match["pri"]) < 17 * 8 and match["app"] == "plimsoll"
        assert r'vehicle="a \"van\" [12\]"' in match["params"] and f'state="{event["state"]}"' in match["params"]
        assert event["ids"][0]["id"] in match["params"]


def test_events_are_limited_and_what_is_held_back_is_told(bin_dir, made):
    everything = [json.loads(line) for line in events(bin_dir, made, "json", "--event-rate", 0, "--event-gap", 0)][:-1]
    few = [json.loads(line) for line in events(bin_dir, made, "json", "--event-rate", 3, "--event-gap", 0)][:-1]
    assert len(few) < len(everything) and few[:3] == everything[:3]
    minutes = [event["end_ns"] // 60_000_000_000 for event in few]
    assert all(minutes.count(minute) <= 3 for minute in minutes)
    late = [json.loads(line) for line in events(bin_dir, made, "json", "--event-after", 20)][:-1]
    assert all(event["windows"] >= 20 for event in late)


def test_a_command_gets_each_event(bin_dir, made, tmp_path):
    out = tmp_path / "got"
    lines = events(bin_dir, made, "json", "--on-event", f"cat >> {out}; echo $0 >> {out}.states; exit 3")[:-1]
    assert sorted(out.read_text().splitlines()) == sorted(lines)
    states = (tmp_path / "got.states").read_text().split()
    assert sorted(states) == sorted(json.loads(line)["state"] for line in lines)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def running(bin_dir, made, tmp_path, request):
    """A detection that reads a pipe: (process, its model, page, wait_for). A parameter replaces the option --all."""
    port = free_port()
    model = tmp_path / "car.safetensors"
    model.write_bytes(made["model"].read_bytes())
    process = subprocess.Popen(
        [str(word) for word in (bin_dir / "plimsoll", "detect", model, "-", "--json", "--metrics", port, "--heartbeat", 1,
                                *getattr(request, "param", ["--all"]))],
        stdin=subprocess.PIPE, stdout=(tmp_path / "out").open("wb"), stderr=(tmp_path / "err").open("wb"))

    def page():
        for _ in range(200):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
                    text = reply.read().decode()
                return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
            except OSError:
                time.sleep(0.05)
        raise AssertionError("no page")

    def wait_for(name, value):
        for _ in range(1200):
            if float(page()[name]) == value:
                return
            time.sleep(0.05)
        raise AssertionError(f"{name}: {page()[name]}, not {value}")

    yield process, model, page, wait_for
    process.kill()
    process.wait()


def lines_of(tmp_path):
    return [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]


def test_a_page_for_prometheus_and_heartbeats(made, running, tmp_path):
    process, _, page, wait_for = running
    log = made["attacked"].read_bytes().splitlines(keepends=True)[:5_000]
    process.stdin.write(b"".join(log))
    process.stdin.flush()
    wait_for("plimsoll_frames_total", 5_000)
    assert page()["plimsoll_windows_total"] == "50" and page()["plimsoll_channels"] == "1" and int(page()["plimsoll_ledger_bytes"]) > 0
    for _ in range(200):
        if any(line.get("event") == "heartbeat" and line["frames"] == 5_000 for line in lines_of(tmp_path)):
            break
        time.sleep(0.05)
    else:
        raise AssertionError("no heartbeat")
    process.communicate()
    assert process.returncode == 0


def test_a_detector_is_read_again_without_losing_a_frame(bin_dir, made, running, tmp_path):
    process, model, page, wait_for = running
    log = made["attacked"].read_bytes().splitlines(keepends=True)[:10_050]
    process.stdin.write(b"".join(log[:5_030]))
    process.stdin.flush()
    wait_for("plimsoll_frames_total", 5_030)
    # One that is damaged leaves the other at work.
    good = model.read_bytes()
    model.write_bytes(good[:-1])
    process.send_signal(signal.SIGHUP)
    process.stdin.write(b"".join(log[5_030:5_040]))
    process.stdin.flush()
    wait_for("plimsoll_frames_total", 5_040)
    model.write_bytes(good)
    process.send_signal(signal.SIGHUP)
    process.stdin.write(b"".join(log[5_040:]))
    process.stdin.flush()
    wait_for("plimsoll_reloads_total", 1)
    process.communicate()
    assert process.returncode == 0
    words = (tmp_path / "err").read_text()
    assert "keeping the previous detector" in words and "read again" in words
    lines = lines_of(tmp_path)
    assert lines[-1]["summary"]["frames"] == 10_050
    windows = [line for line in lines if "window" in line]
    # Every frame is in one window: the 50 windows before, and those of the 40 frames that waited and all after.
    spans = [(line["first_frame"], line["first_frame"] + line["frames"]) for line in windows]
    assert spans[0][0] == 0 and spans[-1][1] == 10_050 and all(a[1] == b[0] for a, b in zip(spans, spans[1:]))


@pytest.mark.parametrize(
    "running", [["--events", "json", "--event-gap", "3600", "--threshold", "-1000000"]], indirect=True)
def test_an_event_names_the_detector_that_raised_its_alarms(bin_dir, made, running, tmp_path):
    process, model, page, wait_for = running
    other = tmp_path / "other.safetensors"
    with safe_open(made["model"], "np") as file:
        tensors, metadata = contents(file)
    save_file(tensors, other, metadata)  # The same detector in a file with another hash.

    def hash_of(file):
        done = call(bin_dir, "detect", file, made["attacked"], "--events", "json")
        (found,) = {json.loads(line)["detector"] for line in done.stdout.splitlines()[:-1]}
        return found

    before, after = hash_of(made["model"]), hash_of(other)
    assert before != after
    log = made["attacked"].read_bytes().splitlines(keepends=True)[:1_000]
    process.stdin.write(b"".join(log[:500]))
    process.stdin.flush()
    wait_for("plimsoll_frames_total", 500)
    assert any(before in name for name in page())
    model.write_bytes(other.read_bytes())
    process.send_signal(signal.SIGHUP)
    process.stdin.write(b"".join(log[500:]))
    process.stdin.flush()
    wait_for("plimsoll_reloads_total", 1)
    assert any(after in name for name in page())
    process.communicate()
    found = [(line["state"], line["detector"]) for line in lines_of(tmp_path) if line.get("event") == "incident"]
    assert found == [("open", before), ("closed", before), ("open", after), ("closed", after)]


@pytest.mark.parametrize("running", [["--all", "--threshold", "-1000000"]], indirect=True)
def test_after_reading_again_a_few_last_frames_raise_no_alarm(made, running, tmp_path):
    process, _, _, wait_for = running
    log = made["attacked"].read_bytes().splitlines(keepends=True)[:1_030]
    process.stdin.write(b"".join(log[:1_020]))
    process.stdin.flush()
    wait_for("plimsoll_frames_total", 1_020)
    process.send_signal(signal.SIGHUP)
    process.stdin.write(b"".join(log[1_020:]))
    process.stdin.flush()
    wait_for("plimsoll_reloads_total", 1)
    process.communicate()
    windows = [line for line in lines_of(tmp_path) if "window" in line]
    assert [line["frames"] for line in windows] == [100] * 10 + [30]
    assert [line["alarm"] for line in windows] == [True] * 10 + [False]


def test_a_port_that_is_taken_is_refused(bin_dir, made):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = call(bin_dir, "detect", made["model"], made["attacked"], "--metrics", taken.getsockname()[1])
    assert done.returncode == 1 and "--metrics" in done.stderr
