"""The timing rule against its twin in NumPy, on made-up and real captures, for every way to cut windows."""

import json

import numpy as np
import pytest
import timing_twin
from made_up import random_frames, write_capture

MS = 1_000_000
CUTS = {
    "compat": (("compat", 100, 100), lambda ids, times: timing_twin.compat_windows(ids.size, 100, 100)),
    "overlapping": (("compat", 50, 20), lambda ids, times: timing_twin.compat_windows(ids.size, 50, 20)),
    "behaviour": (("behaviour", 100, 130), lambda ids, times: timing_twin.windows_by_frames(ids.size, 100, 130)),
    "time": (("behaviour", "50ms", "20ms"), lambda ids, times: timing_twin.windows_by_time(times, 50 * MS, 20 * MS)),
}


def compare(run, folder, cut):
    options, cut_recording = CUTS[cut]
    found = json.loads(run("timing_twin", folder, *options, 20))
    frames = timing_twin.Frames(folder)
    cuts = []
    for recording in frames.recordings:
        part = slice(recording["first_frame"], recording["first_frame"] + recording["frames"])
        cuts.append(cut_recording(frames.can_id[part], frames.time[part]))
    least, most = timing_twin.learn(frames, cuts, 20)
    assert found["timing.ids"] == sorted(most)
    assert found["timing.most"] == [most[can_id] for can_id in sorted(most)]
    assert found["timing.least_gap_ns"] == [least[can_id] for can_id in sorted(most)]
    np.testing.assert_allclose(found["scores"], timing_twin.scores(frames, cuts, least, most), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("cut", CUTS)
def test_made_up_captures_have_the_scores_of_the_twin(run, tmp_path, cut):
    rng = np.random.default_rng(8)
    for name, frames, attacks in (("train_01/attack-free-1", 12_000, 0), ("train_02/DoS-1", 9_000, 0.2),
                                  ("test_01/DoS-2", 5_000, 0.3)):
        write_capture(tmp_path / "in" / f"{name}.csv", random_frames(rng, frames, range(0x100, 0x120), attacks))
    copy = tmp_path / "in" / "train_02" / "attack-free-1.csv"
    copy.write_bytes((tmp_path / "in/train_01/attack-free-1.csv").read_bytes())
    run("plimsoll", "ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    compare(run, tmp_path / "frames", cut)


@pytest.mark.parametrize("cut", CUTS)
def test_real_captures_have_the_scores_of_the_twin(run, captures, tmp_path, cut):
    run("plimsoll", "ingest", "can", captures("hcrl_sa"), "--out", tmp_path / "frames")
    compare(run, tmp_path / "frames", cut)
