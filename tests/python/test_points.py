"""Point sets as graphs: neighbours as scikit-learn finds them, coordinates through ingest, PyTorch Geometric and loaders."""

import hashlib
import json
import subprocess

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from sklearn.neighbors import NearestNeighbors  # noqa: E402
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402
from tu_sets import make_tu_set  # noqa: E402


def bytes_of(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.npy")}


def edges_of(view, g):
    return {tuple(edge) for edge in np.asarray(view[g].edge_index).T.tolist()}


def test_neighbours_of_an_array_are_those_of_scikit_learn(run, tmp_path):
    points = np.random.default_rng(1).normal(size=(4, 120, 5)).astype(np.float32)
    np.save(tmp_path / "points.npy", points)
    np.save(tmp_path / "labels.npy", np.array([0, 2, 1, -1]))
    summary = json.loads(run("plimsoll", "ingest", "points", tmp_path / "points.npy", "--knn", 6, "--labels",
                             tmp_path / "labels.npy", "--out", tmp_path / "set", "--json"))
    assert (summary["graphs"], summary["nodes"], summary["edges"], summary["classes"]) == (4, 480, 2880, 3)
    run("plimsoll", "verify", tmp_path / "set")
    assert "coordinates of nodes" in run("plimsoll", "inspect", tmp_path / "set")
    made = plimsoll.open(tmp_path / "set")
    assert made.y.tolist() == [0, 2, 1, -1] and made.features.node == ("feature_0", "feature_1")
    np.testing.assert_array_equal(made.pos, points[:, :, :3].reshape(-1, 3))
    np.testing.assert_array_equal(made.x, points[:, :, 3:].reshape(-1, 2))
    for g, of_set in enumerate(points[:, :, :3].astype(float)):
        found = NearestNeighbors(n_neighbors=7).fit(of_set).kneighbors(of_set, return_distance=False)
        assert edges_of(made, g) == {(j, i) for i, row in enumerate(found) for j in row if j != i}


def test_text_and_python_make_the_same_set(run, tmp_path):
    rng = np.random.default_rng(2)
    sets = [rng.integers(0, 5, size=(size, 2)).astype(np.float32) for size in (1, 3, 20, 9)]
    rows = ["graph,x,weight,y,label"]
    weights = [rng.integers(0, 9, size=(len(of_set), 1)).astype(np.float32) for of_set in sets]
    for g, (of_set, weight) in enumerate(zip(sets, weights, strict=True)):
        rows += [f"{10 * g},{x},{w},{y},{g % 2}" for (x, y), (w,) in zip(of_set, weight, strict=True)]
    (tmp_path / "points.csv").write_text("\n".join(rows) + "\n")
    run("plimsoll", "ingest", "points", tmp_path / "points.csv", "--knn", 4, "--out", tmp_path / "text")
    plimsoll.ingest.points(tmp_path / "points.csv", tmp_path / "package", knn=4)
    made = plimsoll.from_points(sets, tmp_path / "python", knn=4, features=weights, y=[0, 1, 0, 1])
    assert bytes_of(tmp_path / "text") == bytes_of(tmp_path / "package") == bytes_of(tmp_path / "python")
    assert plimsoll.verify(made) == [] and made.pos[:, 2].tolist() == [0] * 33
    assert plimsoll.open(tmp_path / "text").features.node == ("weight",)
    # Of equal distance the lower index comes first; of fewer points than neighbours all are.
    distances = ((sets[2][:, None] - sets[2][None]) ** 2).sum(-1)
    np.fill_diagonal(distances, np.inf)
    expected = [[j, i] for i in range(20) for j in np.argsort(distances[i], kind="stable")[:4]]
    assert np.asarray(made[2].edge_index).T.tolist() == expected
    assert [view.num_edges for view in made] == [0, 6, 80, 36]


def test_targets_and_features_of_points(run, tmp_path):
    np.save(tmp_path / "points.npy", np.arange(12, dtype=np.float32).reshape(2, 3, 2))
    (tmp_path / "targets.txt").write_text("0.5, 1\nnan, 2\n")
    run("plimsoll", "ingest", "points", tmp_path / "points.npy", "--targets", tmp_path / "targets.txt", "--out",
        tmp_path / "set")
    made = plimsoll.open(tmp_path / "set")
    np.testing.assert_array_equal(made.target, [[0.5, 1], [np.nan, 2]])
    assert made.x.tolist() == [[1]] * 6 and made.y.tolist() == [-1, -1] and made.features.node == ("constant",)
    with_targets = plimsoll.from_points(list(made.pos.reshape(2, 3, 3)), tmp_path / "python", y=made.target)
    assert bytes_of(tmp_path / "python") == bytes_of(tmp_path / "set") and len(with_targets) == 2


@pytest.mark.parametrize("text, words", [
    ("graph,x\n0,1\n", "points.csv:1: has no column 'y'"),
    ("graph,x,y,x\n0,1,1,1\n", "points.csv:1: the column 'x' occurs twice"),
    ("graph,x,y\n", "contains no point sets"),
    ("graph,x,y\n0,1,nan\n", "points.csv:2:5: found 'nan', expected a coordinate"),
    ("graph,x,y\n0,1,2\n0,1,inf\n", "points.csv:3:5"),
    ("graph,x,y\n0,1,2\n0,1\n", "points.csv:3:4.*3 fields"),
    ("graph,x,y\n0,1,2\n0,1,2,3\n", "points.csv:3.*3 fields"),
    ("graph,x,y\n1,1,2\n0,1,2\n", "points.csv:3:1.*sort the file"),
    ("graph,x,y,label\n0,1,2,1\n0,1,2,2\n", "points.csv:3:7.*the label 1 of the other points of graph 0"),
    ("graph,x,y,label\n0,1,2,-2\n", "points.csv:2:7"),
])
def test_bad_texts_are_named(tmp_path, text, words):
    (tmp_path / "points.csv").write_text(text)
    with pytest.raises(plimsoll.InputError, match=words):
        plimsoll.ingest.points(tmp_path / "points.csv", tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_bad_arrays_are_named(tmp_path):
    points = np.zeros((3, 4, 3), np.float32)
    points[1, 2, 1] = np.inf

    def refused(array, words, error=plimsoll.InputError, **options):
        np.save(tmp_path / "points.npy", array)
        with pytest.raises(error, match=words):
            plimsoll.ingest.points(tmp_path / "points.npy", tmp_path / "set", **options)
        assert not (tmp_path / "set").exists()

    refused(points, "set 1, point 2: number 1 is inf")
    refused(np.zeros((3, 4), np.float32), r"expected an array \[sets, points, numbers\]")
    refused(np.zeros((3, 4, 3)), "<f8")
    with pytest.raises(plimsoll.InputError, match="is a folder, expected a file"):
        plimsoll.ingest.points(tmp_path, tmp_path / "set")
    refused(np.zeros((3, 4, 2), np.float32), "--dims is 3", plimsoll.UsageError, dims=3)
    good = np.zeros((3, 4, 3), np.float32)
    for labels, words in (([0, 1], "ends after 2 sets"), ([0, 1, 0, 1], "continues after 3 sets"), ([0, -2, 1], "row 1")):
        np.save(tmp_path / "labels.npy", np.array(labels))
        refused(good, words, labels=tmp_path / "labels.npy")
    (tmp_path / "targets.txt").write_text("1\n2,3\n4\n")
    refused(good, "targets.txt:2:1.*1 numbers", targets=tmp_path / "targets.txt")
    with pytest.raises(plimsoll.UsageError, match="pos|is not finite"):
        plimsoll.from_points([points[1]], tmp_path / "set")


class FirstAsPositions:
    """A transform: the first three features of a node are its coordinates."""

    def __call__(self, data):
        data.pos, data.x = data.x[:, :3], data.x[:, 3:]
        return data


def test_positions_of_atoms_are_those_of_pyg(run, data_dir, tmp_path):
    made = make_tu_set(data_dir, "BZR", tmp_path / "bzr", transform=FirstAsPositions())
    whole = make_tu_set(data_dir, "BZR", tmp_path / "whole")
    np.testing.assert_array_equal(np.hstack([made.pos, made.x]), whole.x)
    assert made.manifest["format_version"] == 2 and whole.manifest["format_version"] == 1
    run("plimsoll", "verify", tmp_path / "bzr")


@pytest.mark.parametrize("features", [0, 2])
def test_round_trip_and_loader(tmp_path, features):
    generator = torch.Generator().manual_seed(features)
    graphs = []
    for size in (4, 1, 9, 3, 7):
        x = torch.randn(size, features, generator=generator) if features else None
        graphs.append(Data(x=x, edge_index=torch.randint(0, size, (2, 6), generator=generator), y=torch.tensor([size % 2]),
                           pos=torch.randn(size, 3, generator=generator), num_nodes=size))
    made = plimsoll.from_pyg(graphs, tmp_path / "set")
    assert plimsoll.verify(made) == [] and made.pos.shape == (24, 3)
    for i, data in enumerate(graphs):
        torch.testing.assert_close(made.to_pyg(i).pos, data.pos, rtol=0, atol=0)
    for found, expected in zip(plimsoll.DataLoader(made, 2), DataLoader([made.to_pyg(i) for i in range(5)], 2), strict=True):
        assert list(found.keys()) == list(expected.keys())
        torch.testing.assert_close(found.pos, expected.pos, rtol=0, atol=0)
        assert torch.equal(found.get_example(0).pos, expected.get_example(0).pos)
    assert "pos" not in next(iter(plimsoll.DataLoader(made, 2, exclude_keys=["pos"])))


@pytest.mark.parametrize("pos, words", [
    (torch.zeros(3, 4), "expected coordinates of shape .3, 3."),
    (torch.zeros(2, 3), "expected coordinates of shape .3, 3."),
    (torch.tensor([[0, 0, 0], [0, torch.nan, 0], [1, 1, 1]]), "pos: the position of node 1 is not finite"),
    (None, "graph 1: has"),
])
def test_coordinates_that_no_column_holds(tmp_path, pos, words):
    graph = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0], [1]]), pos=torch.zeros(3, 3))
    other = graph.clone()
    other.pos = pos
    with pytest.raises(plimsoll.UsageError, match=words):
        plimsoll.from_pyg([graph, other], tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_rows_of_different_lengths_are_named(tmp_path):
    flat = [[0.0, 0.0], [1.0, 0.0]]
    with pytest.raises(plimsoll.UsageError, match="^graph 1: cannot become a NumPy array"):
        plimsoll.from_points([flat, [[0.0, 0.0], [1.0]]], tmp_path / "set", knn=1)
    with pytest.raises(plimsoll.UsageError, match="^graph 0: y: cannot become a NumPy array"):
        plimsoll.from_points([flat], tmp_path / "set", knn=1, y=[[[1.0], [1.0, 2.0]]])
    assert not (tmp_path / "set").exists()


def test_what_stands_beside_points_has_one_entry_a_set(tmp_path):
    sets = [np.zeros((4, 3), np.float32)] * 3
    for beside in ({"y": [0, 1]}, {"y": [0] * 5}, {"features": [np.ones((4, 1))] * 2}, {"features": [np.ones((4, 1))] * 5}):
        for points in (sets, iter(sets)):
            with pytest.raises(plimsoll.UsageError, match="expected one per point set"):
                plimsoll.from_points(points, tmp_path / "set", **beside)
    assert not (tmp_path / "set").exists()
    assert plimsoll.from_points(iter(sets), tmp_path / "set", y=[0, 1, 2]).y.tolist() == [0, 1, 2]


def test_damaged_coordinates_are_found(run, bin_dir, seal, tmp_path):
    plimsoll.from_points([np.zeros((4, 3), np.float32)] * 3, tmp_path / "set")
    column = np.lib.format.open_memmap(tmp_path / "set" / "pos.npy", "r+")
    column[7, 1] = np.nan
    column.flush()
    seal(tmp_path / "set")
    done = subprocess.run([str(bin_dir / "plimsoll"), "verify", str(tmp_path / "set")], capture_output=True, text=True)
    assert done.returncode != 0 and "column 'pos' holds coordinates that are not finite" in done.stdout + done.stderr
