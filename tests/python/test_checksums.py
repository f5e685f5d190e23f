"""Checksums that `plimsoll calibrate` finds in benign payloads, and `detect` finds broken: against the package crccheck and formulas of vehicles."""

import json
import random
import subprocess

import pytest
from crccheck.crc import Crc8Autosar, Crc8Base, Crc8Maxim, Crc8SaeJ1850

RECIPE = """
task: detection
data: {features: behaviour, calibration: 60, without: [id_index, known_transition]}
training: {max_epochs: 1, batch_size: 64}
gat: {hidden: 4, heads: 2}
"""


@pytest.fixture(scope="module")
def model(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("checksums")
    run("plimsoll", "simulate", "can", "--format", "frames", "--out", folder / "frames", "--frames", "60000", "--seed", "5")
    (folder / "recipe.yaml").write_text(RECIPE)
    run("plimsoll", "train", folder / "recipe.yaml", "--data", folder / "frames", "--run", folder / "run")
    return folder / "run" / "detector.safetensors"


def crc(kind):
    return lambda data, _: bytes([*data[:7], kind.calc(data[:7])])


def toyota(data, can_id):
    return bytes([*data[:7], (sum(divmod(can_id, 256)) + 8 + sum(data[:7])) % 256])


def xor(data, _):
    check = 0
    for byte in data[1:]:
        check ^= byte
    return bytes([check ^ 0x3A, *data[1:]])


CHECKS = {0x101: crc(Crc8SaeJ1850), 0x102: crc(Crc8Autosar), 0x103: crc(Crc8Maxim), 0x104: crc(Crc8Base), 0x105: toyota, 0x106: xor,
          0x107: lambda data, _: data}


def drive(frames, seed, falsified=()):
    """Lines of a capture: signals that wander, a counter, and the check of each ID; in falsified frames a byte is set to 255 afterwards."""
    draw = random.Random(seed)
    ids = list(CHECKS)
    values = dict.fromkeys(ids, 500)
    lines = ["timestamp,arbitration_id,data_field,attack"]
    for k in range(frames):
        can_id = ids[k % len(ids)]
        values[can_id] = min(1000, max(0, values[can_id] + draw.randint(-9, 9)))
        signal = values[can_id].to_bytes(2, "big")
        data = CHECKS[can_id](bytes([0, k // len(ids) % 16, *signal, 0x55, draw.randint(0, 3) << 6, 7, 0]), can_id)
        if k in falsified:
            data = bytes([*data[:2], 255, *data[3:]])
        lines.append(f"{k * 0.001:.6f},{can_id:03X},{data.hex()},{int(k in falsified)}")
    return "\n".join(lines) + "\n"


def test_a_falsified_signal_breaks_the_check_of_its_frame(bin_dir, model, tmp_path):
    def plimsoll(*arguments):
        return subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True, check=True).stdout

    (tmp_path / "benign.csv").write_text(drive(20_000, 1))
    plimsoll("calibrate", model, "--benign", tmp_path / "benign.csv", "--out", tmp_path / "car.safetensors")
    # One ID after the other, a window apart.
    falsified = {3_003 + 700 * n + n: can_id for n, can_id in enumerate(CHECKS)}
    (tmp_path / "later.csv").write_text(drive(20_000, 2, falsified))
    lines = [json.loads(line) for line in plimsoll("detect", tmp_path / "car.safetensors", tmp_path / "later.csv", "--all",
                                                   "--json").splitlines()][:-1]
    broken = {k for k, line in enumerate(lines) if line["parts"]["checksum"] > 1}
    assert broken == {at // 100 for at, can_id in falsified.items() if can_id != 0x107}, "the last ID has no check"
    assert all(lines[window]["alarm"] for window in broken)
