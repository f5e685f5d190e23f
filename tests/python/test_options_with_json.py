"""No option is ignored beside `--json`: each one changes what is printed or written, is refused, or is listed with the reason."""

import json
import re
import subprocess

import pytest

DBC = 'BO_ 291 Engine: 8 ECU\n SG_ Speed : 0|8@1+ (1,0) [0|10] "km/h" ECU\n\nBO_ 2364540158 EEC1: 8 ECU\n'
GROUPS = 'BA_DEF_ BO_ "VFrameFormat" INT 0 15;\nBA_DEF_DEF_ "VFrameFormat" 0;\nBA_ "VFrameFormat" BO_ 2364540158 3;\n'

# What any verb has, and what is about the process, a file that is already there, or where things go.
OF_THE_PROCESS = {"--help", "--json", "--budget", "--threads", "--force", "--out"}
# Verbs that need a trained run, a GPU or a network of ranks; their options are tested with them.
NEED_A_RUN = {"plan", "train", "evaluate", "predict", "calibrate", "detect", "detector", "compare", "job-report", "slurm", "sync", "import", "export"}
# Verbs whose every option describes what is made, and is part of its provenance.
MAKE_A_SET = {"ingest", "simulate", "split-edges", "walks", "windows", "convert", "merge"}


@pytest.fixture(scope="module")
def world(bin_dir, tmp_path_factory):
    """A small data set of frames, a graph, a DBC and a log."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "car.dbc").write_text(DBC + GROUPS)
    (folder / "drive.log").write_text("(1.0) can0 123#FF00000000000000\n(1.1) can1 0CF00401#0102030405060708\n(1.2) can0 7FF#00\nbad line\n")
    call(bin_dir, folder, "ingest", "can", "drive.log", "--out", "frames", "--on-error", "skip", check=0)
    call(bin_dir, folder, "simulate", "graph", "--nodes", "50", "--out", "graph", check=0)
    return folder


def call(bin_dir, folder, *words, check=None):
    done = subprocess.run([bin_dir / "plimsoll", *words], cwd=folder, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    assert check is None or done.returncode == check, done.stderr
    return done


def options_of(bin_dir, folder, *verb):
    text = call(bin_dir, folder, *verb, "--help").stdout
    return set(re.findall(r"^\s+(?:-\w,)?(--[a-z][a-z0-9-]*)", text, re.MULTILINE))


# verb -> (a call that works, {option: its words}); each pair has to differ from the call without the option.
PAIRS = {
    "inspect": (["frames"], {"--dbc": ["car.dbc"], "--j1939": [], "--limits": []}),
    "check": (["car.dbc", "drive.log"], {"--fail-on-finding": [], "--strict": [], "--format": ["blf"], "--payload": None, "--channel": ["can1"],
                                         "--name-channel": ["can0=body"], "--time": ["delta"], "--truncated": None}),
    "recipes": ([], {}),
    "verify": (["frames"], {}),
    "stage": (["frames", "--to", "cache"], {"--to": ["other"], "--evict": [], "--verify": None}),
    "top": ([], {"--interval": ["2"], "--once": None}),
}
SAME_BY_DESIGN = {
    ("check", "--truncated"): "the log is whole",
    ("check", "--payload"): "the frames fit into either",
    ("stage", "--verify"): "an undamaged copy is one by sizes and by checksums",
    ("top", "--once"): "--json prints once",
}


def without_measurements(done):
    """What a call printed, without times and sizes of memory."""
    try:
        json_ = json.loads(done.stdout)
    except json.JSONDecodeError:
        return done.returncode, done.stdout
    for name in ("seconds", "memory", "held"):
        json_.pop(name, None)
    return done.returncode, json_


def test_every_verb_is_in_one_list(bin_dir, world):
    text = call(bin_dir, world, "--help").stdout
    verbs = set(re.findall(r"^  ([a-z][a-z0-9-]+) {2,}", text[text.index("Subcommands:"):], re.MULTILINE))
    assert verbs == set(PAIRS) | NEED_A_RUN | MAKE_A_SET


@pytest.mark.parametrize("verb", PAIRS)
def test_each_option_counts_beside_json(bin_dir, world, verb):
    base, pairs = PAIRS[verb]
    assert set(pairs) | OF_THE_PROCESS >= options_of(bin_dir, world, verb), "an option that is not paired"
    plain = call(bin_dir, world, verb, *base, "--json", check=0)
    for option, words in pairs.items():
        if words is None:
            assert (verb, option) in SAME_BY_DESIGN
            continue
        paired = call(bin_dir, world, verb, *base, option, *words, "--json")
        assert without_measurements(paired) != without_measurements(plain), f"{verb} {option} --json ignores {option}"


def test_inspect_gives_messages_signals_and_groups_as_json(bin_dir, world):
    found = json.loads(call(bin_dir, world, "inspect", "frames", "--dbc", "car.dbc", "--json", check=0).stdout)
    assert found["kind"] == "frames", "the manifest is there as well"
    engine, eec1 = sorted(found["dbc"]["messages"], key=lambda message: message["id"], reverse=True)
    assert (engine["name"], engine["frames"], engine["bytes"], engine["stated_bytes"]) == ("Engine", 1, [8], 8)
    assert engine["signals"] == [{"name": "Speed", "unit": "km/h", "frames": 1, "least": 255, "most": 255, "stated": [0, 10]}]
    assert eec1["name"] == "EEC1" and eec1["id"] == "0x0CF00401"
    assert found["dbc"]["unknown_ids"] == [{"id": "0x7FF", "frames": 1}]
    assert found["j1939"] == [{"pgn": 61444, "name": "EEC1", "frames": 1, "priorities": [3], "sources": [1], "destinations": []}]


@pytest.mark.parametrize("words", [
    ["inspect", "--limits", "frames"], ["inspect", "--limits", "--dbc", "car.dbc"], ["inspect", "--limits", "--j1939"],
    ["inspect", "graph", "--dbc", "car.dbc"], ["inspect", "graph", "--j1939", "--json"],
    ["top", "--once", "--interval", "2"], ["top", "--json", "--interval", "2"],
    ["stage", "frames", "--to", "cache", "--evict", "--verify", "full"],
    ["detect", "model", "drive.log", "--event-gap", "2"], ["detect", "model", "drive.log", "--events", "json", "--all"],
    ["ingest", "can", "drive.log", "--out", "new", "--separator", ";"], ["ingest", "can", "drive.log", "--out", "new", "--id", "dec"],
    ["plan", "recipe.yaml", "--data", "frames", "--table", "1GiB", "--profile"],
    ["plan", "recipe.yaml", "--data", "frames", "--table", "1GiB", "--snapshot", "file"],
])
def test_options_without_an_effect_together_are_refused(bin_dir, world, words):
    done = call(bin_dir, world, *words)
    assert done.returncode == 2 and done.stderr, done.stdout
