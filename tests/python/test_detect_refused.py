"""`plimsoll detect` with what is no detector, or a damaged one."""

import json
import re

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save_file

from simulated_bus import captures_made, contents, detect, detector  # noqa: F401


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


def test_what_is_no_capture_and_what_is_no_detector_is_refused(detector, detect, captures_made, tmp_path):
    model = detector("behaviour") / "detector.safetensors"
    _, _, error = detect(model, "-", input=b"no frames\n" * 1000, code=3)
    assert "not in a known capture format" in error and "`plimsoll ingest can --format table --columns`" in error
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
    assert "units.safetensors" in error and "different units" in error
    for name in ("head.bias", "convs.0.bias"):
        with safe_open(model, "np") as file:
            tensors, metadata = contents(file)
        tensors[name][0] = np.nan
        save_file(tensors, tmp_path / "nan.safetensors", metadata)
        _, _, error = detect(tmp_path / "nan.safetensors", "-", input=b"", code=3)
        assert f"'{name}' holds a value that is not a finite number" in error
    detect(model, "-", "--threshold", "nan", input=b"", code=2)
    detect(model, "-", "--stride", "9223372036854775807", input=b"", code=2)
    _, _, error = detect(model, "-", "--window", "50ms", input=b"", code=2)
    assert "windows of 100" in error
    _, _, error = detect(model, "-", "--false-alarms", "0.5", input=b"", code=2)
    assert "0.001" in error


def test_no_false_alarms_is_no_rate(detector, detect):
    for rate in ("0", "1", "nan"):
        _, _, error = detect(detector("behaviour") / "detector.safetensors", "-", "--false-alarms", rate, input=b"", code=2)
        assert "expected a rate above 0 and below 1" in error


def test_a_model_whose_levels_are_impossible_is_refused(detector, detect, tmp_path):
    with safe_open(detector("behaviour") / "detector.safetensors", "np") as file:
        tensors, metadata = contents(file)
    for name, value in (("fusion.scale", [0.0]), ("fusion.unit", [-1.0] * 9), ("fusion.unit", [1.0] * 8)):
        save_file(dict(tensors, **{name: np.array(value)}), tmp_path / "bad.safetensors", metadata)
        _, _, error = detect(tmp_path / "bad.safetensors", "-", input=b"", code=3)
        assert "fusion." in error and "bad.safetensors" in error
