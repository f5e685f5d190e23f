"""`plimsoll windows --features compat` against its NumPy twin, bench/peers/compat_graphs.py, bit for bit."""

import functools
import json

import compat_graphs as twin
import numpy as np
import pytest
from made_up import random_frames, write_capture

# Graphs, attack graphs, nodes and edges of hcrl_sa, measured with two other implementations. The first two
# are also what the authors of KD-GAT report.
GOLDEN_SPLITS = {
    "train_01_attack_free": (3095, 0, 84_607, 142_366),
    "train_02_with_attacks": (6269, 1295, 186_420, 318_810),
    "test_01_known_vehicle_known_attack": (3994, 1928, 146_345, 237_970),
    "test_02_unknown_vehicle_known_attack": (1861, 754, 92_551, 149_204),
}
GOLDEN_TRAIN_FILES = {
    "attack-free-kia.csv.zst": (1924, 0),
    "attack-free-sonata.csv.zst": (1171, 0),
    "DoS-kia.csv.zst": (1818, 752),
    "fuzzing-sonata.csv.zst": (1356, 543),
}
# (file, window): nodes, edges, sums of the columns of x and of edge_attr.
GOLDEN_WINDOWS = {
    ("attack-free-sonata.csv.zst", 0): (
        24, 37,
        [17067, 5.8112, 4.5082, 3.2502, 4.9380, 4.1655, 4.3804, 1.8055, 2.8957, 15.2, 19.6364],
        [100, 1, 1035.5833, 22.3014, 20.8063, 7.97, 26.99, 19.02, 6, 3034, 41.7030]),
    ("DoS-kia.csv.zst", 200): (
        30, 57,
        [23548, 6.7020, 6.5598, 8.1116, 6.0094, 5.9514, 5.2039, 2.3367, 5.7429, 17.5, 24.3333],
        [100, 1, 995.1667, 85.3989, 16.8361, 22.30, 37.47, 15.17, 4, 3440, 75.7528]),
}


@functools.cache
def twin_graphs(root):
    """The twin's graphs of a folder of captures: {split: {file name: graph set}}."""
    return twin.compat_graphs(twin.read_captures(root))


def assert_same_bits(folder, expected):
    """The columns of the graph set in `folder` are those of `expected`, to the bit."""
    assert {path.stem for path in folder.glob("*.npy")} == set(twin.COLUMNS)
    for name in twin.COLUMNS:
        found, wanted = np.load(folder / f"{name}.npy"), expected[name]
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), name
        bits = np.dtype(f"u{wanted.itemsize}")
        differing = np.argwhere(found.view(bits) != wanted.view(bits))
        if differing.size:
            at = tuple(differing[0].tolist())
            owner = {"x": "node_ptr", "edges": "edge_ptr", "edge_attr": "edge_ptr"}.get(name)
            graph = np.searchsorted(expected[owner], at[0], side="right") - 1 if owner else at[0]
            pytest.fail(f"{name}{at} of graph {graph} is {found[at]!r}, not {wanted[at]!r}; "
                        f"{len(differing)} of {wanted.size} values differ", pytrace=False)


def assert_same_splits(folder, graphs):
    """The manifest's table of splits is that of `graphs`."""
    sizes = {split: sum(part["y"].size for part in files.values()) for split, files in graphs.items()}
    first = np.cumsum([0, *sizes.values()])
    manifest = json.loads((folder / "manifest.json").read_text())
    assert [(row["name"], row["first_graph"], row["graphs"]) for row in manifest["splits"]] == \
        [(split, int(begin), size) for (split, size), begin in zip(sizes.items(), first)]


def test_twin_reads_every_kind_of_row(tmp_path):
    rows = [("0C7", "02BD91A3", 0), ("7ff", "614008F208E870DE\t", 1), ("012", "", 1), ("1A", "abc", 0),
            ("0", "f", 0)]
    write_capture(tmp_path / "rows.csv.gz", rows, line_end="\r\n")
    capture = twin.read_capture(tmp_path / "rows.csv.gz")
    assert capture.ids.tolist() == [0x0C7, 0x7FF, 0x012, 0x1A, 0]
    assert [bytes(row).hex() for row in capture.data] == [
        "02bd91a300000000", "614008f208e870de", "0" * 16, "ab" + "0" * 14, "0" * 16]
    assert capture.label.tolist() == [False, True, True, False, False]


def test_twin_gives_the_golden_numbers(captures):
    graphs = twin_graphs(captures("hcrl_sa"))
    parts = {split: twin.concatenate(files.values()) for split, files in graphs.items()}
    assert {split: (part["y"].size, part["y"].sum(), len(part["x"]), len(part["edges"]))
            for split, part in parts.items()} == GOLDEN_SPLITS
    train = graphs["train_02_with_attacks"]
    assert {name: (part["y"].size, part["y"].sum()) for name, part in train.items()} == GOLDEN_TRAIN_FILES
    for (name, window), (nodes, edges, x_sums, edge_sums) in GOLDEN_WINDOWS.items():
        part = train[name]
        x = part["x"][slice(*part["node_ptr"][window:window + 2])].astype(np.float64)
        edge_attr = part["edge_attr"][slice(*part["edge_ptr"][window:window + 2])].astype(np.float64)
        assert (len(x), len(edge_attr)) == (nodes, edges)
        np.testing.assert_allclose(x.sum(axis=0), x_sums, rtol=0, atol=5.1e-5)
        np.testing.assert_allclose(edge_attr.sum(axis=0), edge_sums, rtol=0, atol=5.1e-5)


@pytest.mark.parametrize("name", ["hcrl_sa", "set_01", "set_03"])
def test_real_captures(name, captures, compat_windows, tmp_path):
    source = captures(name)
    folder = compat_windows(source, tmp_path)
    assert_same_bits(folder, twin.flatten(twin_graphs(source)))
    assert_same_splits(folder, twin_graphs(source))
    if name == "hcrl_sa":
        y, x, edges = (np.load(folder / f"{column}.npy") for column in ("y", "x", "edges"))
        golden = np.array(list(GOLDEN_SPLITS.values())).sum(axis=0)
        assert [y.size, y.sum(), len(x), len(edges)] == golden.tolist()


def test_made_up_captures(compat_windows, tmp_path):
    """Chunk borders, short recordings, unseen IDs, odd, padded and empty payloads, line ends, compression."""
    rng = np.random.default_rng(7)
    known, unseen = np.arange(0x100, 0x180, 3), np.array([0x001, 0x101, 0x102, 0x7FE, 0x7FF])
    odd = random_frames(rng, 400, known, 0.2)
    odd[3:60:3] = [(can_id, payload[:-1], label) for can_id, payload, label in odd[3:60:3]]
    odd[4:60:3] = [(can_id, payload + "\t", label) for can_id, payload, label in odd[4:60:3]]
    odd[5:60:3] = [(can_id.lower(), payload.lower(), label) for can_id, payload, label in odd[5:60:3]]
    odd[60:160] = [(can_id, "", label) for can_id, _, label in odd[60:160]]

    source = tmp_path / "captures"
    write_capture(source / "train_01_plain" / "border.csv", random_frames(rng, 5001, known))
    write_capture(source / "train_01_plain" / "beyond.csv.zst", random_frames(rng, 10_150, known))
    write_capture(source / "train_01_plain" / "short.csv.gz", random_frames(rng, 37, known))
    write_capture(source / "train_01_plain" / "one.csv", random_frames(rng, 1, known))
    write_capture(source / "train_02_attacked" / "crlf.csv", random_frames(rng, 260, known, 0.3), "\r\n")
    write_capture(source / "train_02_attacked" / "odd.csv", odd)
    both = np.append(known, unseen)
    write_capture(source / "test_01_unseen" / "mixed.csv", random_frames(rng, 730, both, 0.1))
    write_capture(source / "test_01_unseen" / "only.csv", random_frames(rng, 150, unseen))
    write_capture(source / "test_01_unseen" / "two.csv", random_frames(rng, 2, known))
    write_capture(source / "test_01_unseen" / "window.csv", random_frames(rng, 101, known[:2]))

    graphs = twin_graphs(source)
    assert {name: part["y"].size for files in graphs.values() for name, part in files.items()} == {
        "border.csv": 49, "beyond.csv.zst": 101, "short.csv.gz": 1, "one.csv": 0, "crlf.csv": 2, "odd.csv": 3,
        "mixed.csv": 7, "only.csv": 1, "two.csv": 1, "window.csv": 1}
    assert graphs["test_01_unseen"]["only.csv"]["edges"].tolist() == [[0, 0]]

    folder = compat_windows(source, tmp_path)
    assert_same_bits(folder, twin.flatten(graphs))
    assert_same_splits(folder, graphs)
