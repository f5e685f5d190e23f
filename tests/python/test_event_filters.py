"""The filters of `detect --events`, beside a second program of what AUTOSAR's IdsM says of them, to the last event."""

import json

import pytest

from test_detector import call, made  # noqa: F401

DROPS = ("over_rate", "over_bytes", "alarms_blocked", "alarms_sampled_out", "alarms_below_threshold")


def events_of(bin_dir, model, capture, *options):
    done = call(bin_dir, "detect", model, capture, "--events", "json", *options)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    return lines[:-1], json.loads(lines[-1])["summary"]["events"], done.stderr


def chain(verdicts, every=1, gap=1.0, interval=None, after=1, within=None):
    """[(state, start, end, alarms)] of [(time in ns, alarm)], and how many alarms sampling and threshold dropped."""
    told, dropped, sampled = [], {"alarms_sampled_out": 0, "alarms_below_threshold": 0}, 0
    counter = {"interval": None, "alarms": 0}
    now = None

    def enough(time, alarms):
        if within and time // round(within * 1e9) != counter["interval"]:
            counter.update(interval=time // round(within * 1e9), alarms=0)
        counter["alarms"] += alarms
        return counter["alarms"] >= after

    def close():
        if enough(now["start"], now["alarms"]) if interval else now["told"]:
            told.append(("closed", now["start"], now["end"], now["alarms"]))
        else:
            dropped["alarms_below_threshold"] += now["alarms"]

    for time, alarm in verdicts:
        if now and (time // round(interval * 1e9) != now["start"] // round(interval * 1e9) if interval
                    else time - now["end"] > gap * 1e9 or time < now["start"]):
            close()
            now = None
        if not alarm:
            continue
        sampled += 1
        if sampled < every:
            dropped["alarms_sampled_out"] += 1
            continue
        sampled = 0
        if not now:
            now = {"start": time, "alarms": 0, "told": None}
            if not within:
                counter["alarms"] = 0
        now.update(end=time, alarms=now["alarms"] + 1)
        if interval:
            continue
        over = enough(time, 1)
        if not now["told"] and over:
            told.append(("open", now["start"], time, now["alarms"]))
            now["told"] = time
        elif now["told"] and time - now["told"] >= 60e9:
            told.append(("ongoing", now["start"], time, now["alarms"]))
            now["told"] = time
    if now:
        close()
    return told, dropped


def options_of(words):
    return [part for name, value in words.items() for part in (f"--event-{name}", value)]


@pytest.fixture(scope="module")
def verdicts(bin_dir, made):
    lines = call(bin_dir, "detect", made["model"], made["attacked"], "--all", "--json").stdout.splitlines()
    return [(line["time_ns"], line["alarm"]) for line in map(json.loads, lines[:-1])]


@pytest.mark.parametrize("words", [
    {}, {"gap": 0.05}, {"every": 3}, {"every": 2, "gap": 0.2}, {"after": 20}, {"after": 5, "within": 1}, {"interval": 1},
    {"interval": 0.25, "after": 3}, {"interval": 0.5, "every": 2, "after": 6, "within": 2}, {"gap": 0.1, "every": 4, "after": 3, "within": 5},
    {"gap": 86400}], ids=str)
def test_filters_are_those_of_the_second_program(bin_dir, made, verdicts, words):
    expected, dropped = chain(verdicts, **words)
    lines, told, errors = events_of(bin_dir, made["model"], made["attacked"], "--event-rate", 0, *options_of(words))
    events = [json.loads(line) for line in lines]
    assert [(e["state"], e["start_ns"], e["end_ns"], e["windows"]) for e in events] == expected
    assert told == {"told": len(events), **dict.fromkeys(DROPS, 0), **dropped}
    alarms = sum(alarm for _, alarm in verdicts)
    assert sum(e["windows"] for e in events if e["state"] == "closed") + sum(dropped.values()) == alarms > 0
    after_last = sum(dropped.values()) - sum(e.get("filtered_alarms", 0) for e in events)
    assert after_last >= 0 and (f"and {sum(dropped.values())} alarms" in errors) == any(dropped.values())


def test_a_sequence_by_hand(bin_dir, made, tmp_path):
    """Windows of 0.1 s that are all alarms: the third ones, summed in a second, from four in two seconds on."""
    frames = made["benign"].read_text().splitlines()[:4000]
    capture = tmp_path / "drive.log"
    capture.write_text("".join(f"({1_700_000_000 + n // 1000}.{n % 1000:03}000) {' '.join(line.split()[1:])}\n" for n, line in enumerate(frames)))
    chosen = ("--threshold", "-1000", "--event-every", 3, "--event-interval", 1, "--event-after", 4, "--event-within", 2)
    lines, told, errors = events_of(bin_dir, made["model"], capture, *chosen)
    start = 1_700_000_000_000_000_000
    found = [((e["start_ns"] - start) // 1_000_000, (e["end_ns"] - start) // 1_000_000, e["windows"], e["filtered_alarms"], e["state"])
             for e in map(json.loads, lines)]
    assert found == [(1199, 1799, 3, 17, "closed"), (2099, 2999, 4, 6, "closed"), (3299, 3899, 3, 7, "closed")]
    assert told == {"told": 3, **dict.fromkeys(DROPS, 0), "alarms_sampled_out": 27, "alarms_below_threshold": 3}
    assert "3 events reported; suppressed 0 events" in errors and "30 alarms (--event-block: 0, --event-every: 27, --event-after: 3)" in errors


@pytest.mark.parametrize("words", [{"rate": 2, "window": 1}, {"rate": 3, "window": 60}, {"rate": 0, "bytes": 1300, "window": 5},
                                   {"rate": 2, "bytes": 1500, "window": 30}], ids=str)
def test_limits_of_number_and_bytes_are_those_of_the_second_program(bin_dir, made, words):
    everything, _, _ = events_of(bin_dir, made["model"], made["attacked"], "--event-rate", 0, "--event-gap", 0.05)
    few, told, errors = events_of(bin_dir, made["model"], made["attacked"], "--event-gap", 0.05, *options_of(words))
    expected, dropped, window, count, size, held = [], {"over_rate": 0, "over_bytes": 0}, None, 0, 0, 0
    for line in everything:
        at = json.loads(line)["end_ns"] // (words["window"] * 1_000_000_000)
        if at != window:
            window, count, size = at, 0, 0
        whole = line[:-1] + (f',"suppressed":{held}' if held else "") + "}"
        over = "over_rate" if words["rate"] and count >= words["rate"] else ""
        over = over or ("over_bytes" if words.get("bytes") and size + len(whole) + 1 > words["bytes"] else "")
        if over:
            dropped[over] += 1
            held += 1
            continue
        expected.append(json.loads(whole))
        count, size, held = count + 1, size + len(whole) + 1, 0
    assert [json.loads(line) for line in few] == expected
    assert len(everything) > len(few) == told["told"] and {name: told[name] for name in dropped} == dropped
    assert f"suppressed {sum(dropped.values())} events (--event-rate: {dropped['over_rate']}, --event-bytes: {dropped['over_bytes']})" in errors


def test_a_blocked_state_drops_alarms_and_says_so(bin_dir, made, verdicts, tmp_path):
    state = tmp_path / "workshop"
    blocked, told, errors = events_of(bin_dir, made["model"], made["attacked"], "--event-block", state)
    assert blocked and told["alarms_blocked"] == 0
    state.touch()
    blocked, told, errors = events_of(bin_dir, made["model"], made["attacked"], "--event-block", state, "--event-every", 2)
    alarms = sum(alarm for _, alarm in verdicts)
    assert blocked == [] and told == {"told": 0, **dict.fromkeys(DROPS, 0), "alarms_blocked": alarms}
    assert f"{alarms} alarms (--event-block: {alarms}, --event-every: 0" in errors


def test_a_gap_and_an_interval_exclude_each_other(bin_dir, made):
    done = call(bin_dir, "detect", made["model"], made["attacked"], "--events", "json", "--event-gap", 1, "--event-interval", 1)
    assert done.returncode == 2 and "--event-gap" in done.stderr
