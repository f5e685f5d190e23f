"""The timing of the features behaviour in NumPy: written from docs/behaviour-features.md, sharing nothing with the C++ code."""

import numpy as np

LOOK_BACK = 2000
FEWEST = 24
BEYOND = 0.001
LONGEST_PERIOD = 300e6  # ns
LEAST_OF_TWO, MOST_OF_LONGEST = 0.8, 2  # mean gaps
SHORTEST, LONGEST = 1000, 2**41 - 1  # ns


def bin_of(span):
    """(least, end) of the spans with the same six significant bits."""
    drop = max(int(span).bit_length() - 6, 0)
    return int(span) >> drop << drop, (int(span) >> drop) + 1 << drop


def cut(doublings):
    return np.clip(doublings, -8, 8) / 8


def spans(positions, times, apart):
    """Times from a frame to the one `apart` after it, of one ID, where no more than the look-back lies between."""
    near = positions[apart:] - positions[:-apart] <= LOOK_BACK
    return np.maximum(times[apart:] - times[:-apart], 0)[near]


def learn(frames):
    """{ID: (least time of two gaps or 0, longest gap or 0)} of the frames labelled 0 of training recordings."""
    one, two, heard, recordings, seen = {}, {}, {}, 0, set()
    for recording in frames.recordings:
        if not recording["split"].split("/")[-1].startswith("train") or recording["content"] in seen:
            continue
        seen.add(recording["content"])
        part = slice(recording["first_frame"], recording["first_frame"] + recording["frames"])
        benign = frames.label[part] == 0
        ids, times = frames.can_id[part][benign], frames.time[part][benign]
        recordings += ids.size > 0
        for can_id in np.unique(ids):
            positions = np.flatnonzero(ids == can_id)
            one.setdefault(can_id, []).append(spans(positions, times[positions], 1))
            two.setdefault(can_id, []).append(spans(positions, times[positions], 2))
            heard[can_id] = heard.get(can_id, 0) + 1
    profile = {}
    for can_id in sorted(one):
        gaps, pairs = np.concatenate(one[can_id]), np.sort(np.concatenate(two[can_id]))
        profile[can_id] = (0, 0)
        if gaps.size < 8 or pairs.size < FEWEST or gaps.mean() > LONGEST_PERIOD:
            continue
        least = bin_of(np.clip(pairs[int(BEYOND * pairs.size)], SHORTEST, LONGEST))[0]
        most = bin_of(np.clip(np.sort(gaps)[gaps.size - 1 - int(BEYOND * gaps.size)], SHORTEST, LONGEST))[1]
        profile[can_id] = (
            least if least > SHORTEST and least > LEAST_OF_TWO * gaps.mean() else 0,
            most if heard[can_id] == recordings and most <= MOST_OF_LONGEST * gaps.mean() else 0,
        )
    return profile


def excess(longer, than):
    return cut(np.log2(longer / max(than, 1))) if longer > than else 0.0


def window(ids, times, first, end, profile):
    """Rows (ID, early, early_share, surplus, silence) of the nodes of a window of a recording, overdue ones last."""
    start = max(first - LOOK_BACK, 0)
    in_window, in_both = ids[first:end], ids[start:end]
    names = list(dict.fromkeys(in_window.tolist()))
    if not names:
        return []
    latest = times[first:end].max()
    span = max(latest - times[first], 0)
    rows = []
    for can_id in names:
        least, longest = profile.get(can_id, (0, 0))
        at = np.flatnonzero(in_both == can_id) + start
        two = np.maximum(times[at[2:]] - times[at[:-2]], 0)[at[2:] >= first]
        count = np.count_nonzero(in_window == can_id)
        row = [can_id, 0.0, 0.0, 0.0, 0.0]
        if least:
            row[1] = excess(least, two.min()) if two.size else 0.0
            row[2] = np.count_nonzero(two + two // 4 < least) / count
            row[3] = max(count - 1 - np.ceil(2 * span / least), 0) / count
        if longest:
            row[4] = excess(max(latest - times[at[-1]], 0), longest)
        rows.append(row)
    known = sum(can_id in profile for can_id in names)
    if known < len(names) and 5 * known <= len(names):
        return rows
    for can_id, (_, longest) in profile.items():
        if longest and can_id not in names:
            heard = np.flatnonzero(in_both == can_id) + start
            silence = max(latest - times[heard[-1] if heard.size else start], 0)
            if silence > longest:
                rows.append([can_id, 0.0, 0.0, 0.0, excess(silence, longest)])
    return rows
