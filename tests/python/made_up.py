"""Captures made up for tests."""

import gzip

import zstandard


def random_frames(rng, frames, ids, attack_share=0.0):
    """Rows (hex ID, hex payload of 0 to 8 bytes, label), IDs drawn from `ids`; attacks come in runs of 40."""
    attacked = (rng.random(frames // 40 + 1) < attack_share).repeat(40)[:frames]
    lengths = rng.integers(0, 9, frames)
    return [(f"{int(can_id):03X}", rng.bytes(int(length)).hex().upper(), int(label))
            for can_id, length, label in zip(rng.choice(ids, frames), lengths, attacked)]


def write_capture(path, rows, line_end="\n"):
    """Writes rows (ID, payload, label) as a four-column CSV, compressed as the name of the file says."""
    lines = ["timestamp,arbitration_id,data_field,attack"]
    for row, (can_id, payload, label) in enumerate(rows):
        lines.append(f"{1000 + row * 0.0005:.6f},{can_id},{payload},{label}")
    content = "".join(line + line_end for line in lines).encode()
    if path.suffix == ".zst":
        content = zstandard.compress(content)
    elif path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
