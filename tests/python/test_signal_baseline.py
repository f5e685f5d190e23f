"""The plain baseline of bench/signals.py: which rule sees what in signals made by hand."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "bench"))
from signal_baseline import Baseline, per_window  # noqa: E402

WINDOW, CALIBRATION, WINDOWS = 10, 60, 90
ATTACK = slice(700, 800)  # frames, windows 70 to 79


def signal(can_id, bits=16):
    return SimpleNamespace(can_id=can_id, bits=bits, of=lambda data: data[:, 0])


SIGNALS = [signal(1), signal(2), signal(3)]


@pytest.fixture
def drive():
    """Frames of three IDs in turn: a wave, one in step with it, and a counter that overflows."""
    at = np.arange(WINDOW * WINDOWS)
    can_id = at % 3 + 1
    wave = np.round(1000 + 500 * np.sin(at / 40)).astype(np.int64)
    values = np.where(can_id == 1, wave, np.where(can_id == 2, 2 * wave + 7, at * 401 & 0xFFFF))
    return can_id, values[:, None]


def judged(can_id, benign, attacked):
    baseline = Baseline(per_window(SIGNALS, can_id, benign, WINDOW)[..., :CALIBRATION])
    score, rule = baseline.judged(per_window(SIGNALS, can_id, attacked, WINDOW)[..., CALIBRATION:])
    return {window + CALIBRATION: rule[window] for window in np.flatnonzero(score > baseline.level)}


def falsified(can_id, data, of, change):
    attacked = data.copy()
    rows = np.arange(len(data))[ATTACK]
    rows = rows[can_id[rows] == of]
    attacked[rows, 0] = change(attacked[rows, 0])
    return attacked


def test_benign_windows_raise_no_alarm(drive):
    assert judged(*drive, drive[1]) == {}


def test_what_accumulates_as_before_is_below_the_level(drive):
    can_id, data = drive
    distance = np.arange(len(data))[:, None]
    assert judged(can_id, distance, distance) == {}


def test_random_values_are_too_fast(drive):
    can_id, data = drive
    random = np.random.default_rng(1)
    found = judged(can_id, data, falsified(can_id, data, 3, lambda values: random.integers(0, 65536, len(values))))
    assert set(found) >= set(range(70, 80)) and set(found.values()) == {"rate"}
    assert set(found) <= set(range(70, 81))  # one step back


def test_values_outside_are_out_of_range(drive):
    can_id, data = drive
    alone = np.where(can_id == 1, np.arange(len(data)) // WINDOW % 2 * 1000, 5)[:, None]  # nothing to correlate with
    found = judged(can_id, alone, falsified(can_id, alone, 1, lambda values: values + 1000))
    assert [found.get(window) for window in range(71, 81)] == [*["range", None] * 4, "range", "rate"]  # 2,000 and 1,000 in turn, then 0


def test_a_delta_breaks_a_correlation_inside_the_range(drive):
    can_id, data = drive
    found = judged(can_id, data, falsified(can_id, data, 1, lambda values: values + 200))
    assert [found.get(window) for window in range(69, 82)] == [None, *["correlation"] * 10, "rate", None]


def test_a_constant_is_as_good_as_any_value(drive):
    can_id, data = drive
    alone = data * 0 + np.where(can_id == 3, np.arange(len(data)) // 7 % 50, 0)[:, None]
    assert judged(can_id, alone, falsified(can_id, alone, 3, lambda values: np.full_like(values, values[0]))) == {}


def test_windows_without_a_frame_hold_the_last_value():
    can_id = np.array([2, 2, 1, 1, 2, 2, 2, 2, 1, 2])
    data = np.array([0, 0, 5, 9, 0, 0, 0, 0, 65535, 0])[:, None]
    least, greatest, step, mean = per_window([signal(1)], can_id, data, 2)
    assert least.tolist() == [[5, 5, 9, 9, 65535]] and greatest.tolist() == [[5, 9, 9, 9, 65535]]
    assert step.tolist() == [[0, 4, 0, 0, 10]]  # on the ring
    assert mean.tolist() == [[5, 7, 9, 9, 65535]]
