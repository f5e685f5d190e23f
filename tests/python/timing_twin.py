"""The timing rule in NumPy: written from docs/rules.md, sharing nothing with the C++ code."""

import json

import numpy as np

QUANTILE = 0.01
FEWEST = 8
SHORTEST, LONGEST = 1000, 2**41 - 1  # nanoseconds
NOTHING = -30.0
CHUNK = 5000  # frames of which compat loses the last one


class Frames:
    """A set of frames: columns and recordings."""

    def __init__(self, folder):
        self.can_id, self.time, self.label = (np.load(folder / f"{name}.npy") for name in ("can_id", "time_ns", "label"))
        self.recordings = json.loads((folder / "manifest.json").read_text())["recordings"]


def compat_windows(frames, window, stride):
    """(first, end) of the frames of each window of a recording; the last row's target belongs to it."""
    rows = np.flatnonzero((np.arange(frames) % CHUNK != CHUNK - 1) & (np.arange(frames) != frames - 1))
    if rows.size < window:
        return [(0, rows[-1] + 2)] if rows.size else []
    return [(rows[r], rows[r + window - 1] + 2) for r in range(0, rows.size - window + 1, stride)]


def windows_by_frames(frames, window, stride):
    """(first, end) of the windows of behaviour: the last one is kept however short."""
    cuts = []
    for first in range(0, frames, stride):
        cuts.append((first, min(first + window, frames)))
        if first + window >= frames:
            break
    return cuts


def windows_by_time(times, window, stride):
    """(first, end) of windows by time on the clock that never runs back."""
    clock = np.maximum.accumulate(times) - times[0]
    cuts, start = [], 0
    while True:
        cuts.append(tuple(np.searchsorted(clock, [start, start + window])))
        if start + window > clock[-1] or start + stride > clock[-1]:
            return cuts
        start += stride


def gaps(ids, times):
    """Nanoseconds to each frame from the last one of its ID, 0 for the first."""
    order = np.argsort(ids, kind="stable")
    later = ids[order][1:] == ids[order][:-1]
    found = np.zeros(ids.size, np.int64)
    found[order[1:][later]] = np.clip(np.diff(times[order])[later], SHORTEST, LONGEST)
    return found


def round_down(gap):
    """To six significant bits."""
    drop = max(int(gap).bit_length() - 6, 0)
    return int(gap) >> drop << drop


def learn(frames, cuts, held_out):
    """({ID: least gap or 0}, {ID: most frames in a window}) of all but the last windows of training recordings."""
    found, most, seen = {}, {}, set()
    for recording, windows in zip(frames.recordings, cuts):
        if not recording["split"].split("/")[-1].startswith("train") or recording["content"] in seen:
            continue
        seen.add(recording["content"])
        part = slice(recording["first_frame"], recording["first_frame"] + recording["frames"])
        ids, times, benign = frames.can_id[part], frames.time[part], frames.label[part] == 0
        learned = np.zeros(ids.size, bool)
        for first, end in windows[:max(len(windows) - held_out, 0)]:
            learned[first:end] = True
            for can_id, count in zip(*np.unique(ids[first:end][benign[first:end]], return_counts=True)):
                most[can_id] = max(most.get(can_id, 0), count)
        of_benign = gaps(ids[benign], times[benign])
        used = learned[benign] & (of_benign > 0)
        for can_id in np.unique(ids[benign][learned[benign]]):
            found.setdefault(can_id, []).append(of_benign[used & (ids[benign] == can_id)])
    least = {}
    for can_id, parts in found.items():
        all_gaps = np.sort(np.concatenate(parts))
        least[can_id] = round_down(all_gaps[int(QUANTILE * all_gaps.size)]) if all_gaps.size >= FEWEST else 0
    return least, most


def scores(frames, cuts, least, most):
    """The score of every window."""
    result = []
    for recording, windows in zip(frames.recordings, cuts):
        part = slice(recording["first_frame"], recording["first_frame"] + recording["frames"])
        ids = frames.can_id[part]
        gap = gaps(ids, frames.time[part])
        allowed = np.array([least.get(can_id, 0) for can_id in ids])
        sooner = np.full(ids.size, NOTHING)
        there = (gap > 0) & (allowed > 0)
        sooner[there] = np.log(allowed[there] / gap[there])
        for first, end in windows:
            names, counts = np.unique(ids[first:end], return_counts=True)
            more = [np.log(count / most[name]) for name, count in zip(names, counts) if name in most]
            result.append(max([NOTHING, *more, *sooner[first:end]]))
    return np.array(result)
