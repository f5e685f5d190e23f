"""From one unlabelled benign log to incidents with names: `detector`, `detect --events`, `inspect`."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

ATTACKS = "DoS,fuzzing"


def call(bin_dir, *words):
    return subprocess.run([str(word) for word in (bin_dir / "plimsoll", *words)], capture_output=True, text=True, timeout=600)


@pytest.fixture(scope="module")
def made(bin_dir, run, tmp_path_factory):
    """A benign candump of a made-up vehicle, an attacked one of it, and the detector of the first."""
    folder = tmp_path_factory.mktemp("detector")
    run("plimsoll", "simulate", "can", "--out", folder / "logs", "--frames", "120000", "--seed", "5", "--vehicles", "2", "--format",
        "candump", "--attacks", ATTACKS)
    benign = folder / "logs" / "train_01_attack_free" / "attack-free-1.log"
    attacked = folder / "logs" / "train_02_with_attacks" / "DoS-1.log"
    # As the card of a data logger has it: folders of the device and of sessions, none of which is called train.
    session = folder / "card" / "LOG" / "17BD1DB7" / "00000001"
    session.mkdir(parents=True)
    shutil.copy(benign, session)
    done = call(bin_dir, "detector", folder / "card", "--out", folder / "car.safetensors", "-O", "training.max_epochs=3", "--attacks",
                "DoS,fuzzing,suppression", "--threads", 2, "--budget", "200MiB")
    assert done.returncode == 0, done.stderr
    assert re.findall("of a budget of (.*?) \\(", done.stderr) == ["200 MiB"] * 3 and done.stderr.count(" --threads 2") == 3
    assert re.search(r"it detects [\d.]+ % of the windows with injected attacks and raises false alarms in [\d.]+ % of the other windows", done.stdout)
    figures = json.loads((folder / "car.safetensors.work" / "validation.json").read_text())["splits"][0]["models"]
    strictest = min((one for one in figures if one["name"] == "fused"), key=lambda one: one["target_fpr"])
    assert f"it detects {100 * strictest['recall']:.2f} %" in done.stdout and f"in {100 * strictest['fpr']:.2f} % of the other windows" in done.stdout
    assert not re.search(r"\b(fused|log-odds)\b", done.stdout + done.stderr)
    assert "next: plimsoll detect" in done.stdout
    return {"folder": folder, "benign": benign, "attacked": attacked, "model": folder / "car.safetensors"}


def test_too_little_traffic_is_refused_with_what_is_needed(bin_dir, tmp_path):
    (tmp_path / "short.log").write_text("".join(f"(1.{i:06d}) can0 123#00\n" for i in range(30)))
    done = call(bin_dir, "detector", tmp_path / "short.log", "--out", tmp_path / "car.safetensors")
    assert done.returncode == 3
    assert "expected a drive of several minutes in which IDs are sent at regular intervals" in done.stderr, done.stderr


def test_its_verdict_fits_into_the_smallest_budget_of_training(bin_dir, made):
    """It is judged after hours of training, so its need must not come as news."""
    work = made["folder"] / "car.safetensors.work"
    planned = call(bin_dir, "plan", work / "recipe.yaml", "--data", work / "frames", "--json")
    assert planned.returncode == 0, planned.stderr
    smallest = json.loads(planned.stdout)["min_budget_bytes"]
    done = call(bin_dir, "evaluate", work / "run", "--data", work / "frames", "--split", "validation", "--budget", smallest)
    assert done.returncode == 0, done.stderr


def events_of(bin_dir, made, *options):
    done = call(bin_dir, "detect", made["model"], made["attacked"], "--events", "json", *options)
    assert done.returncode in (0, 10), done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return lines[:-1], lines[-1]["summary"], done.returncode


def test_a_flood_is_a_few_incidents_that_tell_when_and_what(bin_dir, made):
    lines, summary, _ = events_of(bin_dir, made, "--vehicle", "van 12")
    closed = [line for line in lines if line["state"] == "closed"]
    opened = [line for line in lines if line["state"] == "open"]
    assert 1 <= len(closed) == len(opened) < summary["alarms"]
    assert sum(line["windows"] for line in closed) == summary["alarms"]
    assert [line["incident"] for line in closed] == list(range(1, len(closed) + 1))
    for line in closed:
        assert line["vehicle"] == "van 12" and line["worst_score"] > line["threshold"] and line["end_ns"] >= line["start_ns"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line["start"])
        assert np.datetime64(line["start"][:-1], "us") == np.datetime64(line["start_ns"] // 1000, "us")
        assert line["severity"] in ("low", "medium", "high", "critical") and 1 <= len(line["ids"]) <= 16
    assert all(a["end_ns"] + 1_000_000_000 < b["start_ns"] for a, b in zip(closed, closed[1:]))


def test_a_wide_gap_makes_one_incident(bin_dir, made):
    lines, summary, _ = events_of(bin_dir, made, "--event-gap", 86400)
    assert [line["state"] for line in lines].count("closed") == 1 and lines[-1]["windows"] == summary["alarms"]


def test_alarms_are_an_exit_code_on_request(bin_dir, made):
    assert events_of(bin_dir, made, "--fail-on-alarm")[2] == 10
    assert call(bin_dir, "detect", made["model"], made["attacked"], "--fail-on-alarm", "--threshold", "1e30").returncode == 0


def test_names_of_a_dbc(bin_dir, made, tmp_path):
    cantools = pytest.importorskip("cantools", reason="pip install cantools")
    lines, _, _ = events_of(bin_dir, made)
    ids = {int(one["id"], 16): one["id"] for line in lines for one in line["ids"]}
    dbc = tmp_path / "car.dbc"
    dbc.write_text('VERSION ""\nBU_: ECU\n' + "".join(f"BO_ {id} Message_{id:X}: 8 ECU\n\n" for id in ids)
                   + "BO_ 2566844672 Extended: 8 ECU\n\nBO_ 3221225472 VECTOR__INDEPENDENT_SIG_MSG: 0 Vector__XXX\n")
    expected = {message.frame_id: message.name for message in cantools.database.load_file(dbc, strict=False).messages}
    lines, _, _ = events_of(bin_dir, made, "--dbc", dbc)
    assert all(one["name"] == expected[int(one["id"], 16)] for line in lines for one in line["ids"])
    text = call(bin_dir, "detect", made["model"], made["attacked"], "--dbc", dbc).stdout
    assert "Message_" in text
    dbc.write_text("BO_ x Short: 8 ECU\n")
    bad = call(bin_dir, "detect", made["model"], made["attacked"], "--dbc", dbc)
    assert bad.returncode == 3 and "car.dbc: found no message" in bad.stderr and "line 1: found 'BO_ x" in bad.stderr


def test_the_same_log_as_blf_raises_the_same_alarms(bin_dir, made, tmp_path):
    can = pytest.importorskip("can", reason="pip install python-can")
    with can.BLFWriter(tmp_path / "a.blf") as log:
        for message in can.CanutilsLogReader(made["attacked"]):
            message.channel = 0
            log.on_message_received(message)

    def alarms(source):
        lines = [json.loads(line) for line in call(bin_dir, "detect", made["model"], source, "--json").stdout.splitlines()]
        return [line["window"] for line in lines if "window" in line], lines[-1]["summary"]["frames"]

    assert alarms(tmp_path / "a.blf") == alarms(made["attacked"])


def test_a_table_that_the_command_line_describes_is_judged(bin_dir, made, tmp_path):
    def table_of(log):
        rows = [line.split() for line in log.read_text().splitlines()]
        path = tmp_path / f"{log.stem}.csv"
        path.write_text("Payload;Time;Identifier\n" + "".join(
            f"{frame.split('#')[1]};{time[1:-1]};{int(frame.split('#')[0], 16)}\n" for time, _, frame, *_ in rows))
        return path

    described = ["--columns=payload,time,id", "--separator=;", "--id=dec", "--bytes=hex"]

    def scores(model, source, *options):
        done = call(bin_dir, "detect", model, source, "--json", "--all", *options)
        assert done.returncode == 0, done.stderr
        return [(line["window"], line["score"]) for line in map(json.loads, done.stdout.splitlines()) if "window" in line]

    attacked = table_of(made["attacked"])
    expected = scores(made["model"], made["attacked"])
    assert len(expected) > 100 and scores(made["model"], attacked, *described) == expected
    words = ["detector", attacked, "--out", tmp_path / "again.safetensors", *described, "--recipe", tmp_path / "none.yaml"]
    assert f"ingest can {attacked} " in (told := call(bin_dir, *words).stderr) and " ".join(described) in told


def test_what_was_made_is_not_replaced_by_itself(bin_dir, made):
    again = call(bin_dir, "detector", made["benign"], "--out", made["model"])
    assert again.returncode == 1 and "--force" in again.stderr


@pytest.fixture
def with_trainer(bin_dir, made, tmp_path):
    """with_trainer(lines of a shell): `detector` at work, whose `train` is these lines in place of plimsoll-train."""

    def start(*lines):
        trainer = tmp_path / "trainer"
        trainer.write_text("\n".join(["#!/bin/sh", *lines]))
        trainer.chmod(0o755)
        words = ["detector", made["benign"], "--out", tmp_path / "car.safetensors", "--attacks", "DoS"]
        return subprocess.Popen([str(word) for word in (bin_dir / "plimsoll", *words)], stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "PLIMSOLL_TRAINER": str(trainer)},
                                preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # nohup ignores it

    return start


@pytest.mark.parametrize("code", [1, 2, 3, 4, 75])
def test_the_exit_code_is_that_of_the_verb_that_ended_it(with_trainer, code):
    process = with_trainer(f"exit {code}")
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == code and f"ended with exit code {code}" in stderr and "plimsoll train" in stderr
    assert ("run the same command again to continue" in stderr) == (code == 75)


def wait_until(holds):
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def at_work(with_trainer, tmp_path):
    """A `detector` that trains, and whether its trainer, which notes a first TERM and ends by a second one, is there."""
    process = with_trainer(f"trap 'echo >> {tmp_path}/told; trap - TERM' TERM", f"echo $$ > {tmp_path}/started",
                           "for i in $(seq 600); do sleep 0.1; done")
    started = tmp_path / "started"
    wait_until(lambda: started.exists() and started.read_text())
    trainer = int(started.read_text())

    def is_there():
        try:
            return open(f"/proc/{trainer}/stat").read().split()[2] != "Z"
        except FileNotFoundError:
            return False

    yield process, is_there
    if is_there():
        os.kill(trainer, signal.SIGKILL)
    process.kill()
    process.communicate()


def test_a_second_signal_ends_what_works_for_it(at_work, tmp_path):
    process, trainer_is_there = at_work
    process.send_signal(signal.SIGINT)
    wait_until((tmp_path / "told").exists)
    assert process.poll() is None and trainer_is_there()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 128 + signal.SIGTERM
    wait_until(lambda: not trainer_is_there())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_at_its_end_what_works_for_it_is_told(at_work, tmp_path, number):
    process, _ = at_work
    process.send_signal(number)
    assert process.wait(timeout=60) == -number
    wait_until((tmp_path / "told").exists)


def test_a_signal_that_ends_what_works_for_it_ends_it_too(with_trainer, tmp_path):
    process = with_trainer(f"echo > {tmp_path}/started", "exec sleep 600")
    wait_until((tmp_path / "started").exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    process = with_trainer("kill -KILL $$")
    assert "signal 9 (Killed)" in process.communicate(timeout=60)[1] and process.returncode == 1


def test_benign_labels_all_frames_and_refuses_attacks(bin_dir, made, tmp_path):
    call(bin_dir, "ingest", "can", made["benign"], "--out", tmp_path / "a", "--benign", "--split", "train")
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert manifest["recordings"][0]["labelled"] and manifest["recordings"][0]["split"] == "train"
    assert not np.load(tmp_path / "a" / "label.npy").any()
    (tmp_path / "x.csv").write_text("1.0,123,00,0\n1.1,123,00,1\n")
    bad = call(bin_dir, "ingest", "can", tmp_path / "x.csv", "--out", tmp_path / "b", "--benign")
    assert bad.returncode == 3 and "--benign" in bad.stderr and not (tmp_path / "b").exists()


def test_inspect_counts_kinds_of_frames(bin_dir, tmp_path):
    (tmp_path / "a.log").write_text("(1.0) can3 123#00\n(1.1) can3 00000123#R\n(1.2) can3 20000004#0000000000000000\n"
                                    "(1.3) can3 18FEF100##1000102030405060708090A0B\n")
    call(bin_dir, "ingest", "can", tmp_path / "a.log", "--out", tmp_path / "out", "--payload", 64)
    text = call(bin_dir, "inspect", tmp_path / "out").stdout
    assert "2 with extended IDs, 1 remote frames, 1 error frames, 1 CAN FD frames; 1 with BRS, 0 with ESI, 0 sent by the recorder; channels: can3" in text


def test_convert_takes_a_capture(bin_dir, tmp_path):
    can = pytest.importorskip("can", reason="pip install python-can")
    sent = [can.Message(timestamp=1_700_000_000 + i / 1000, arbitration_id=i % 7, is_extended_id=False, data=[i % 256], channel=0)
            for i in range(500)]
    with can.BLFWriter(tmp_path / "a.blf") as log:
        for message in sent:
            log.on_message_received(message)
    assert call(bin_dir, "convert", tmp_path / "a.blf", "--out", tmp_path / "text", "--to", "candump").returncode == 0
    (log,) = (tmp_path / "text").rglob("*.log")
    again = list(can.CanutilsLogReader(log))
    assert [(m.arbitration_id, bytes(m.data)) for m in again] == [(m.arbitration_id, bytes(m.data)) for m in sent]
    bad = call(bin_dir, "convert", tmp_path / "a.blf", "--out", tmp_path / "csv")
    assert bad.returncode == 3 and "--to candump" in bad.stderr and not (tmp_path / "csv").exists()
    assert call(bin_dir, "convert", tmp_path / "a.blf", "--out", tmp_path / "csv", "--benign").returncode == 0
