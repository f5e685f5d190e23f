"""Every real capture under data/can* is read by the command that docs/can-formats.md gives for it."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "can-formats.md"

# File below data/: frames, attack frames (None: unlabelled), from the README of each folder or counted with zstd and awk.
EXPECTED = {
    "can-crysys/S-1-1-orig.csv.zst": (17_935, None),
    "can-crysys/S-1-1-benign.log.zst": (17_935, None),
    "can-crysys/S-1-1-malicious-CONST-msg-mod-0x410.log.zst": (17_935, 60),
    "can-daga-v40/clean__V40_03.csv.zst": (245_144, 0),
    "can-daga-v40/DenialOfService__lowestID_V40_03.csv.zst": (254_164, 13_860),
    "can-daga-v40/OrderedSequenceReplay__n_10_V40_03.csv.zst": (253_460, 8_316),
    "can-daga-v40/PayloadFuzzing__ID_1_V40_03.csv.zst": (245_756, 612),
    "can-hcrl-carhacking-sample/normal_run_head.txt": (24, None),
    "can-j1939-truck/normal.log.zst": (19_957, None),
    "can-j1939-truck/dos_full.log.zst": (34_857, None),
    "can-j1939-truck/fuzz_1ms_ID_Only.log.zst": (28_393, None),
    "can-j1939-truck/address_claim_attack.log.zst": (15_723, None),
    "can-j1939-truck/memory_leak_attack.log.zst": (2_310, None),
    "can-j1939-truck/BAM_Block_attack.txt.zst": (6_184, None),
    "can-j1939-truck/labeled_dos.csv.zst": (34_857, 19_321),
    "can-j1939-truck/labeled_address_claim.csv.zst": (15_723, 2),
    "can-maritime/frames_0_599999.tsv.zst": (600_000, None),
    "can-otids/attack_free_head.txt.zst": (2_001, None),
    "can-otids/otids_dos_and_free.csv.zst": (102_151, 56_481),
    "can-otids/ids_free_then_impersonation.txt.zst": (4_373_136, None),
    "can-road-masquerade/correlated_signal_attack_1_masquerade.csv.zst": (73_211, 2_071),
    "can-road-masquerade/max_speedometer_attack_2_masquerade.csv.zst": (132_380, 3_122),
    "can-road-masquerade/reverse_light_on_attack_1_masquerade.csv.zst": (121_366, 1_971),
}


def documented_commands():
    """File below data/ -> the options that the document's table gives for it."""
    commands = {}
    for line in DOCUMENT.read_text().splitlines():
        if match := re.match(r"\| `(can-[^`]+)` \|.*\| `([^`]*)` \|$", line):
            for name in [name for name in EXPECTED if Path(name).match(match[1])]:
                commands[name] = shlex.split(match[2])
    return commands


def test_the_document_has_a_command_for_every_file(data_dir):
    here = {str(path.relative_to(data_dir)) for folder in data_dir.glob("can-*") for path in folder.iterdir()
            if path.suffix != ".md" and path.suffix != ".json"}
    assert here == set(EXPECTED)
    assert set(documented_commands()) == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_real_capture_is_read(run, data_dir, tmp_path, name):
    out = tmp_path / "frames"
    run("plimsoll", "ingest", "can", data_dir / name, "--out", out, *documented_commands()[name])
    run("plimsoll", "verify", out)
    frames, attacks = EXPECTED[name]
    manifest = json.loads((out / "manifest.json").read_text())
    labels = np.load(out / "label.npy")
    assert manifest["frames"] == len(labels) == frames
    if attacks is None:
        assert (labels == 255).all() and not manifest["recordings"][0]["labelled"]
    else:
        assert int((labels == 1).sum()) == attacks


def test_labels_and_ids_agree_with_the_sources_own_words(run, data_dir, tmp_path):
    """The truck's log and its labelled table are the same frames: only times' digits differ."""
    commands = documented_commands()
    for name in ("dos_full.log.zst", "labeled_dos.csv.zst"):
        run("plimsoll", "ingest", "can", data_dir / "can-j1939-truck" / name, "--out", tmp_path / name,
            *commands[f"can-j1939-truck/{name}"])
    for column in ("can_id", "length", "data", "time_ns"):
        log, table = (np.load(tmp_path / name / f"{column}.npy") for name in ("dos_full.log.zst", "labeled_dos.csv.zst"))
        if column == "can_id":  # a decimal ID of 0 does not tell that it is an extended one
            log, table = log & 0x1FFFFFFF, table & 0x1FFFFFFF
        assert (log == table).all(), column
    assert (np.load(tmp_path / "dos_full.log.zst" / "can_id.npy") & 0x1FFFFFFF == 0).sum() == 19_352
