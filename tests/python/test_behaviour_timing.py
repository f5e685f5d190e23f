"""What the features behaviour expect of time against their twin in NumPy, on made-up and real captures."""

import json

import behaviour_twin
import numpy as np
import pytest
import timing_twin

MS = 1_000_000
COLUMNS = ("early", "early_share", "surplus", "silence")
CUTS = {
    "frames": ((100, 130), lambda times: timing_twin.windows_by_frames(times.size, 100, 130)),
    "overlapping": ((70, 50), lambda times: timing_twin.windows_by_frames(times.size, 70, 50)),
    "time": (("50ms", "40ms"), lambda times: timing_twin.windows_by_time(times, 50 * MS, 40 * MS)),
}


def compare(run, folder, cut, step=1):
    """The nodes of every step-th window; gives how many are overdue, and how often each column says something."""
    (window, stride), cut_recording = CUTS[cut]
    out = folder.parent / "graphs"
    run("plimsoll", "windows", folder, "--out", out, "--features", "behaviour", "--window", window, "--stride", stride)
    names = json.loads((out / "manifest.json").read_text())["features"]["node"]
    columns = [names.index(name) for name in ("id_index", "count_share", *COLUMNS)]
    x, node_ptr = np.load(out / "x.npy")[:, columns], np.load(out / "node_ptr.npy")
    frames = timing_twin.Frames(folder)
    profile = behaviour_twin.learn(frames)
    index = {can_id: number for number, can_id in enumerate(profile)}
    found, expected, graph = [], [], 0
    for recording in frames.recordings:
        part = slice(recording["first_frame"], recording["first_frame"] + recording["frames"])
        ids, times = frames.can_id[part], frames.time[part]
        for first, end in cut_recording(times):
            if graph % step == 0:
                found.append(x[node_ptr[graph]:node_ptr[graph + 1]])
                present = set(ids[first:end].tolist())
                nodes = behaviour_twin.window(ids, times, first, end, profile)
                expected += [(index.get(row[0], len(index)), row[0] in present, *row[1:]) for row in nodes]
                assert len(found[-1]) == len(nodes), graph
            graph += 1
    assert graph == node_ptr.size - 1
    found, expected = np.concatenate(found), np.array(expected)
    np.testing.assert_array_equal(found[:, 0], expected[:, 0])
    np.testing.assert_array_equal(found[:, 1] > 0, expected[:, 1] == 1)
    np.testing.assert_allclose(found[:, 2:], expected[:, 2:], rtol=1e-6, atol=1e-7)
    return np.count_nonzero(expected[:, 1] == 0), np.count_nonzero(expected[:, 2:], axis=0)


def made_capture(rng, seconds, attacks, silence):
    """Twelve periodic IDs and one that sends on events; with frames too many, and with IDs that fall silent."""
    rows = []
    for number in range(12):
        period = (5 + 4 * number) * MS
        times = np.arange(number * MS, seconds * 1000 * MS, period)
        times = times + rng.integers(0, period // 8, times.size)
        if silence and number % 4 == 0:
            times = times[(times // (300 * MS)) % 4 != 3]
        rows += [(time, 0x100 + number, 0) for time in times]
        if attacks and number % 4 == 1:
            rows += [(time, 0x100 + number, 1) for time in rng.integers(0, seconds * 1000 * MS, 200)]
    rows += [(time, 0x300, 0) for time in rng.integers(0, seconds * 1000 * MS, 40 * seconds)]
    lines = ["timestamp,arbitration_id,data_field,attack"]
    lines += [f"{1000 + time / 1e9:.6f},{can_id:03X},00,{label}" for time, can_id, label in sorted(rows)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("cut", CUTS)
def test_made_up_captures_have_the_timing_of_the_twin(run, tmp_path, cut):
    rng = np.random.default_rng(5)
    for name, attacks, silence in (("train_01/free-1", False, False), ("train_01/free-2", False, False),
                                   ("train_02/DoS-1", True, False), ("test_01/DoS-2", True, True)):
        path = tmp_path / "in" / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(made_capture(rng, 12, attacks, silence))
    run("plimsoll", "ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    overdue, said = compare(run, tmp_path / "frames", cut)
    assert overdue > 10
    assert (said > 20).all(), dict(zip(COLUMNS, said))


@pytest.mark.parametrize("cut", CUTS)
def test_real_captures_have_the_timing_of_the_twin(run, captures, tmp_path, cut):
    run("plimsoll", "ingest", "can", captures("hcrl_sa"), "--out", tmp_path / "frames")
    _, said = compare(run, tmp_path / "frames", cut, step=7)
    assert said.sum() > 0
