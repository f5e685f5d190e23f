"""`plimsoll ingest tu` against PyTorch Geometric's own reader, value for value."""

import json
import subprocess
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.data import Data  # noqa: E402
from torch_geometric.io import read_tu_data  # noqa: E402
from torch_geometric.transforms import OneHotDegree  # noqa: E402

# Graphs, nodes, edges without self-loops and repetitions, classes.
SETS = {
    "MUTAG": (135, 2_545, 5_626, 2),
    "PROTEINS": (975, 42_323, 158_022, 2),
    "ENZYMES": (595, 19_327, 73_980, 6),
    "NCI1": (3_785, 112_952, 245_052, 2),
    "IMDB-BINARY": (493, 11_872, 109_424, 2),
    "Letter-med": (29, 198, 328, 8),
}
TEXTS = {"MUTAG": (188, 3_371, 7_442, 2), "PROTEINS": (1_113, 43_471, 162_088, 2)}


@pytest.fixture
def source(data_dir):
    """source(folder, file): the path of a data set; the test is skipped where it is absent."""

    def find(folder, file):
        path = data_dir / folder / file
        if not path.is_file():
            pytest.skip(f"no data set at {path} (set PLIMSOLL_DATA)")
        return path

    return find


def columns_of(folder):
    return {path.stem: np.load(path) for path in folder.glob("*.npy")}


def read_with_pyg(folder, name):
    """The columns that PyG's reader gives, in the layout of a graph_set."""
    data, slices, sizes = read_tu_data(str(folder), name)
    node_ptr = slices["x"] if "x" in slices else torch.tensor([0, *data._num_nodes]).cumsum(0)
    width = data.edge_attr.shape[1] if data.edge_attr is not None else 0
    edge_attr = data.edge_attr if width else torch.zeros((0, 0))
    edge_ptr = slices["edge_index"]
    assert "edge_attr" not in slices or torch.equal(slices["edge_attr"], edge_ptr)
    x = data.x if data.x is not None else one_hot_degrees(data.edge_index, node_ptr, edge_ptr)
    columns = {"node_ptr": node_ptr, "edge_ptr": edge_ptr, "x": x, "edges": data.edge_index.t(),
               "edge_attr": edge_attr, "y": data.y}
    return {key: value.numpy() for key, value in columns.items()}, sizes


def one_hot_degrees(edge_index, node_ptr, edge_ptr):
    """What people give graphs without features: OneHotDegree of the greatest degree of the set."""
    graphs = []
    for g in range(len(node_ptr) - 1):
        edges = edge_index[:, edge_ptr[g]:edge_ptr[g + 1]]
        graphs.append(Data(edge_index=edges, num_nodes=int(node_ptr[g + 1] - node_ptr[g])))
    most = max(int(torch.bincount(graph.edge_index[1]).max()) for graph in graphs)
    transform = OneHotDegree(most, in_degree=True)
    return torch.cat([transform(graph).x for graph in graphs])


def assert_same_values(found, expected):
    assert set(found) == set(expected)
    for name, wanted in expected.items():
        if name == "edge_attr" and wanted.size == 0:
            assert found[name].size == 0
        else:
            assert found[name].shape == wanted.shape, name
            np.testing.assert_array_equal(found[name], wanted, err_msg=name)


def pack(folder, name, files):
    """Writes files, {kind: text}, as NAME.zip and unpacked; gives both paths."""
    (folder / name).mkdir(parents=True)
    with zipfile.ZipFile(folder / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, text in files.items():
            (folder / name / f"{name}_{kind}.txt").write_text(text)
            archive.writestr(f"{name}/{name}_{kind}.txt", text)
    return folder / f"{name}.zip", folder / name


@pytest.mark.parametrize("name", SETS)
def test_sets_are_those_of_pyg(name, source, run, tmp_path):
    archive = source("graph-tu", f"{name}.zip")
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    expected, sizes = read_with_pyg(tmp_path / name, name)
    summary = json.loads(run("plimsoll", "ingest", "tu", archive, "--out", tmp_path / "set", "--json",
                             "--budget", "16MiB"))
    assert_same_values(columns_of(tmp_path / "set"), expected)
    assert tuple(summary[key] for key in ("graphs", "nodes", "edges", "classes")) == SETS[name]
    features = json.loads((tmp_path / "set" / "manifest.json").read_text())["features"]
    for kind in ("node", "edge"):
        for prefix, size in (("attribute_", sizes[f"num_{kind}_attributes"]), ("label_", sizes[f"num_{kind}_labels"])):
            assert sum(name.startswith(prefix) for name in features[kind]) == size
    run("plimsoll", "verify", tmp_path / "set")
    run("plimsoll", "ingest", "tu", tmp_path / name, "--out", tmp_path / "unpacked")
    assert_same_values(columns_of(tmp_path / "unpacked"), columns_of(tmp_path / "set"))


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_read_line_by_line(name, source, run, tmp_path):
    path = source("graph-tu-full", f"{name}.txt")
    lines = iter(path.read_text().splitlines())
    nodes, edges, labels, tags, pairs = [0], [0], [], [], []
    for _ in range(int(next(lines))):
        count, label = map(int, next(lines).split())
        rows = [[int(field) for field in next(lines).split()] for _ in range(count)]
        arcs = sorted({(i, j) for i, row in enumerate(rows) for j in row[2:] if i != j})
        tags += [row[0] for row in rows]
        pairs += arcs
        labels.append(label)
        nodes.append(nodes[-1] + count)
        edges.append(edges[-1] + len(arcs))
    tags = np.array(tags) - min(tags)
    summary = json.loads(run("plimsoll", "ingest", "tu", path, "--out", tmp_path / "set", "--json"))
    assert_same_values(columns_of(tmp_path / "set"), {
        "node_ptr": np.array(nodes), "edge_ptr": np.array(edges), "edges": np.array(pairs),
        "x": np.eye(tags.max() + 1)[tags], "edge_attr": np.zeros((0, 0)),
        "y": np.unique(labels, return_inverse=True)[1]})
    assert tuple(summary[key] for key in ("graphs", "nodes", "edges", "classes")) == TEXTS[name]
    run("plimsoll", "verify", tmp_path / "set")


def made_up_files(seed):
    """Graphs with everything that a set may have: repeated arcs, self-loops, several labels, odd numbers."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 20)
    first = np.cumsum([0, *sizes])
    graph = rng.integers(0, 20, 300)
    # Every node has an arc, so that no reader can lose one.
    arcs = np.stack([first[graph] + rng.integers(0, sizes[graph]), first[graph] + rng.integers(0, sizes[graph])])
    nodes = int(first[-1])

    def rows(values):
        return "".join(", ".join(map(str, row)) + "\n" for row in values)

    # Repetitions are added in an order of PyG's own, so their sums must be exact: eighths are.
    return {
        "A": rows(arcs.T + 1),
        "graph_indicator": rows(np.repeat(np.arange(1, 21), sizes)[:, None]),
        "graph_labels": rows(rng.choice([-7, 0, 3], 20)[:, None]),
        "node_labels": rows(rng.integers(-3, 4, (nodes, 2))),
        "node_attributes": rows(rng.normal(size=(nodes, 3)) * 10.0 ** rng.integers(-30, 30, (nodes, 3))),
        "edge_labels": rows(rng.integers(5, 9, (300, 2))),
        "edge_attributes": rows(rng.integers(-40, 40, (300, 2)) / 8),
    }


@pytest.mark.parametrize("seed", range(3))
def test_made_up_sets_are_those_of_pyg(seed, run, tmp_path):
    archive, folder = pack(tmp_path, "MADE_UP", made_up_files(seed))
    expected, _ = read_with_pyg(folder, "MADE_UP")
    assert len(expected["edges"]) < 270  # repetitions and self-loops are gone
    run("plimsoll", "ingest", "tu", archive, "--out", tmp_path / "set")
    assert_same_values(columns_of(tmp_path / "set"), expected)


def test_node_labels_as_the_target(run, tmp_path):
    files = made_up_files(0)
    files["node_labels"] = "".join(line.split(",")[0] + "\n" for line in files["node_labels"].splitlines())
    archive, folder = pack(tmp_path, "MADE_UP", files)
    expected, sizes = read_with_pyg(folder, "MADE_UP")
    run("plimsoll", "ingest", "tu", archive, "--out", tmp_path / "set", "--target", "node")
    attributes = sizes["num_node_attributes"]
    labels = expected["x"][:, attributes:]
    expected["node_y"] = np.unique(labels.argmax(axis=1), return_inverse=True)[1]
    expected["x"] = expected["x"][:, :attributes]
    assert_same_values(columns_of(tmp_path / "set"), expected)
    run("plimsoll", "verify", tmp_path / "set")


def test_exit_codes(bin_dir, tmp_path):
    archive, folder = pack(tmp_path, "MADE_UP", made_up_files(0))

    def code(*arguments):
        done = subprocess.run([bin_dir / "plimsoll", "ingest", "tu", *arguments], capture_output=True, text=True)
        assert done.returncode == 0 or done.stderr.startswith(("plimsoll: ", "--"))
        return done.returncode

    out = ("--out", tmp_path / "set")
    assert code(archive, *out, "--target", "edge") == 2
    assert code(archive, *out, "--target", "node", "--node-features", "labels") == 2
    assert code(tmp_path / "absent", *out) == 3
    assert code(archive, *out, "--budget", "2MiB") == 4
    assert not (tmp_path / "set").exists()
    assert code(archive, *out) == 0
    assert code(archive, *out) == 0
    assert code(folder, *out) == 1
    assert code(folder, *out, "--force") == 0
