"""Data sets of TU Dortmund for tests, read by PyTorch Geometric's `TUDataset` and written with `plimsoll.from_pyg`."""

import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.datasets import TUDataset  # noqa: E402


def unpack(archive, folder):
    """Unpacks NAME.zip below `folder`, the root of a `TUDataset`; gives the folder of its texts."""
    raw = Path(folder) / archive.stem / "raw"
    raw.mkdir(parents=True)
    with zipfile.ZipFile(archive) as packed:
        for member in packed.namelist():
            if member.endswith(".txt"):
                (raw / Path(member).name).write_bytes(packed.read(member))
    return raw


def read_tu(archive, folder, **options):
    """The data set of NAME.zip with all features; `options` are of `TUDataset`."""
    unpack(archive, folder)
    return TUDataset(str(folder), archive.stem, use_node_attr=True, use_edge_attr=True, **options)


def archive_of(data_dir, name):
    """The path of NAME.zip; the test is skipped where it is absent."""
    archive = data_dir / "graph-tu" / f"{name}.zip"
    if not archive.is_file():
        pytest.skip(f"no data set at {archive} (set PLIMSOLL_DATA)")
    return archive


def make_tu_set(data_dir, name, out, **options):
    """Writes NAME.zip as a graph set to `out`, and opens it."""
    plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    with tempfile.TemporaryDirectory() as folder:
        return plimsoll.from_pyg(read_tu(archive_of(data_dir, name), folder, **options), out)


class NodeClasses:
    """A transform: node labels, one-hot behind the attributes in `x`, become classes of nodes."""

    def __init__(self, attributes):
        self.attributes = attributes

    def __call__(self, data):
        data.node_y = data.x[:, self.attributes :].argmax(dim=1)
        data.x = data.x[:, : self.attributes]
        return data


def columns_of(graphs):
    """The columns of a list of `Data` in the layout of a graph set."""
    node_ptr = np.cumsum([0, *(data.num_nodes for data in graphs)])
    edge_ptr = np.cumsum([0, *(data.num_edges for data in graphs)])
    columns = {"node_ptr": node_ptr, "edge_ptr": edge_ptr}
    for name, rows in (("x", [data.x for data in graphs]), ("edges", [data.edge_index.t() for data in graphs]),
                       ("edge_attr", [data.edge_attr for data in graphs]), ("y", [data.y for data in graphs])):
        if rows[0] is not None:
            columns[name] = torch.cat(rows).numpy()
    return columns
