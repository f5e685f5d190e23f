"""`plimsoll convert`: frames to text and back, graph sets to files of PyTorch Geometric and back, to the bit."""

import gzip
import json
import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import pytest

FRAME_COLUMNS = ("time_ns", "can_id", "length", "data", "label")


@pytest.fixture
def plimsoll(bin_dir):
    def call(*arguments, code=0):
        done = subprocess.run([bin_dir / "plimsoll", *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env={**os.environ, "PLIMSOLL_PYTHON": sys.executable})
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    return call


def there_and_back(plimsoll, frames, folder, to):
    """The set that is read from what `convert` wrote, by the command that it printed."""
    summary = json.loads(plimsoll("convert", frames, "--out", folder / to, "--to", to, "--json"))
    words = summary["back"].replace("FRAMES", str(folder / f"{to}-back")).split()
    plimsoll(*words[1:])
    assert summary["frames"] == json.loads((frames / "manifest.json").read_text())["frames"]
    return folder / f"{to}-back"


def assert_same_frames(one, other):
    for column in FRAME_COLUMNS:
        assert (one / f"{column}.npy").read_bytes() == (other / f"{column}.npy").read_bytes(), column
    tables = [json.loads((folder / "manifest.json").read_text())["recordings"] for folder in (one, other)]
    for ours, theirs in zip(*tables, strict=True):
        for key in ("name", "split", "attack", "content", "copy_of", "frames", "attack_frames", "labelled"):
            assert ours[key] == theirs[key], key


@pytest.mark.parametrize("to", ["csv", "candump"])
def test_made_up_traffic_comes_back_to_the_bit(plimsoll, tmp_path, to):
    plimsoll("simulate", "can", "--out", tmp_path / "frames", "--frames", 20_000)
    assert_same_frames(tmp_path / "frames", there_and_back(plimsoll, tmp_path / "frames", tmp_path, to))


@pytest.mark.parametrize("to", ["csv", "candump"])
def test_odd_frames_come_back_to_the_bit(plimsoll, tmp_path, to):
    """Times in nanoseconds that run back, IDs of both lengths, payloads of 0 to 64 bytes."""
    lines = ["timestamp,arbitration_id,data_field,attack", "1.000000001,7FF,,0", "1.5,000007FF,AB,1", "0.000000,0,00,0",
             "2.123456,1FFFFFFF,0011223344556677,0", "1676937898.314919123,12345678," + "5A" * 64 + ",1",
             "1676937898.3149,123," + "01" * 12 + ",0"]
    source = tmp_path / "in" / "train" / "odd-1.csv"
    source.parent.mkdir(parents=True)
    source.write_text("\n".join(lines) + "\n")
    plimsoll("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames", "--payload", "64")
    assert_same_frames(tmp_path / "frames", there_and_back(plimsoll, tmp_path / "frames", tmp_path, to))


def test_candump_keeps_channel_remote_and_error_frames(plimsoll, tmp_path):
    text = "(1.000000) can7 123#R\n(1.000001) can7 20000004#0001000000000000\n(1.000002) can7 00000001#\n"
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.log").write_text(text)
    plimsoll("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames")
    back = there_and_back(plimsoll, tmp_path / "frames", tmp_path, "candump")
    assert_same_frames(tmp_path / "frames", back)
    assert json.loads((back / "manifest.json").read_text())["recordings"][0]["channel"] == "can7"
    assert "no remote" in plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "csv", code=3)
    assert not (tmp_path / "csv").exists()


@pytest.mark.parametrize("name", ["hcrl_sa"])
def test_real_captures_come_back_to_the_bit(plimsoll, captures, tmp_path, name):
    plimsoll("ingest", "can", captures(name) / "test_02_unknown_vehicle_known_attack", "--out", tmp_path / "frames")
    for to in ("csv", "candump"):
        assert_same_frames(tmp_path / "frames", there_and_back(plimsoll, tmp_path / "frames", tmp_path, to))


def test_what_text_cannot_tell_is_refused(plimsoll, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("110\n111\n")
    plimsoll("ingest", "can", tmp_path / "in", "--out", tmp_path / "frames", "--columns", "id", "--time", "none")
    for to in ("csv", "candump"):
        error = plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "out", "--to", to, code=3)
        assert "in/a" in error and "has no times" in error
    assert "no such file" in plimsoll("convert", tmp_path / "nowhere", "--out", tmp_path / "out", code=3)
    assert not (tmp_path / "out").exists()


def test_a_split_that_leads_out_of_the_folder_is_refused(plimsoll, tmp_path):
    plimsoll("simulate", "can", "--out", tmp_path / "frames", "--frames", 2000)
    manifest = json.loads((tmp_path / "frames" / "manifest.json").read_text())
    for split in ("../out", "/tmp/out", "a/../../b"):
        for recording in manifest["recordings"]:
            recording["split"] = split
        (tmp_path / "frames" / "manifest.json").write_text(json.dumps(manifest))
        assert "name of a file" in plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "out", code=3)


def test_an_output_that_exists_stays(plimsoll, tmp_path):
    plimsoll("simulate", "can", "--out", tmp_path / "frames", "--frames", 2000)
    (tmp_path / "out").mkdir()
    assert "--force" in plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "out", code=1)
    (tmp_path / "out" / "mine").write_text("x")
    for force in ([], ["--force"]):
        assert "holds mine," in plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "out", *force, code=1)
    (tmp_path / "out" / "mine").rename(tmp_path / "out" / "mine.csv")
    assert "holds mine.csv," in plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "out", "--force", code=1)
    (tmp_path / "out" / "mine.csv").unlink()
    plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "out", "--force")
    plimsoll("convert", tmp_path / "frames", "--out", tmp_path / "out", "--force")


# Files of PyTorch Geometric: in Python, by way of the command line.

package = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from plimsoll.jobs import commands  # noqa: E402
from torch_geometric.data import Data, InMemoryDataset  # noqa: E402

GRAPH_COLUMNS = ("node_ptr", "edge_ptr", "x", "edges", "edge_attr", "y", "node_y", "target", "node_target", "pos")


def assert_same_graphs(one, other):
    for column in GRAPH_COLUMNS:
        files = [folder / f"{column}.npy" for folder in (one, other)]
        assert files[0].exists() == files[1].exists(), column
        if files[0].exists():
            assert files[0].read_bytes() == files[1].read_bytes(), column
    ours, theirs = (json.loads((folder / "manifest.json").read_text()) for folder in (one, other))
    for key in ours.keys() - {"provenance"}:
        assert ours[key] == theirs[key], key


@pytest.fixture
def here(capsys):
    """The same as `plimsoll`, in this process, which has torch and PyTorch Geometric already."""

    def call(*arguments, code=0):
        with pytest.raises(SystemExit) as ended:
            commands.main([str(argument) for argument in arguments])
        out, error = capsys.readouterr()
        assert ended.value.code == code, f"exit code {ended.value.code}\n{out}\n{error}"
        return out if code == 0 else error

    return call


def through_pyg(call, graphs, folder):
    call("convert", graphs, "--out", folder / "pyg")
    call("convert", folder / "pyg", "--out", folder / "back")
    return folder / "back"


def test_windows_come_back_to_the_bit(plimsoll, tmp_path):
    plimsoll("simulate", "can", "--out", tmp_path / "frames", "--frames", 20_000)
    plimsoll("windows", tmp_path / "frames", "--out", tmp_path / "graphs")
    assert_same_graphs(tmp_path / "graphs", through_pyg(plimsoll, tmp_path / "graphs", tmp_path))
    split = list(package.open(tmp_path / "graphs").splits.values())[1]
    loaded = InMemoryDataset()
    loaded.load(tmp_path / "pyg" / f"{split.name}.pt")
    assert len(loaded) == split.graphs
    plimsoll("convert", tmp_path / "graphs", "--out", tmp_path / "pyg", "--force")
    torch.save([], tmp_path / "pyg" / "mine.pt")
    for force in ([], ["--force"]):
        told = plimsoll("convert", tmp_path / "graphs", "--out", tmp_path / "pyg", *force, code=1)
        assert "mine.pt was not written by plimsoll; name another output" in told
    ours = package.open(tmp_path / "graphs").to_pyg(split.first_graph + 3)
    assert all(torch.equal(ours[key], loaded[3][key]) for key in ours.keys())


@pytest.mark.parametrize("variant", range(5))
def test_any_columns_come_back_to_the_bit(here, tmp_path, variant):
    generator = torch.Generator().manual_seed(variant)
    graphs = []
    for nodes in (5, 1, 0, 30):
        data = Data(edge_index=torch.randint(0, max(nodes, 1), (2, 3 * nodes), generator=generator), num_nodes=nodes)
        if variant != 1:
            del data.num_nodes
            data.x = torch.randn(nodes, 3, generator=generator)
        if variant in (0, 3):
            data.edge_attr = torch.randn(3 * nodes, 2, generator=generator)
        data.y = torch.randn(1, 2, generator=generator) if variant == 2 else torch.randint(0, 4, (1,), generator=generator)
        if variant in (1, 3):
            data.node_y = torch.randn(nodes, generator=generator) if variant == 3 else torch.randint(0, 3, (nodes,))
        if variant == 2:
            data.graph_y = torch.randint(0, 4, (1,), generator=generator)
        if variant in (1, 4):
            data.pos = torch.randn(nodes, 3, generator=generator)
        graphs.append(data)
    package.from_pyg({"a/train": graphs[:2], "a/test": graphs[2:]}, tmp_path / "graphs")
    assert_same_graphs(tmp_path / "graphs", through_pyg(here, tmp_path / "graphs", tmp_path))


def test_lists_of_data_are_read_and_attributes_left_out(here, tmp_path):
    """As KD-GAT's processed_graphs.pt: a list of Data that has more than we keep."""
    graphs = [Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([i]), attack_type=torch.tensor(3))
              for i in range(3)]
    torch.save(graphs, tmp_path / "graphs.pt")
    assert "attack_type" in here("convert", tmp_path / "graphs.pt", "--out", tmp_path / "set", code=2)
    here("convert", tmp_path / "graphs.pt", "--out", tmp_path / "set", "--leave-out", "attack_type")
    assert package.open(tmp_path / "set").y.tolist() == [0, 1, 2]


def of_an_old_version(**columns):
    data = Data.__new__(Data)
    data.__dict__.update(columns)
    return data


def test_bad_files_are_refused_and_leave_nothing(here, tmp_path):
    (tmp_path / "none.pt").write_bytes(b"no zip")
    three, old = Data(x=torch.ones(3, 1)).to_dict(), of_an_old_version(x=torch.ones(3, 1), edge_index=torch.zeros(2, 0).long())
    ends = {"x": torch.tensor([0, 3])}
    bad = {
        "other": {"a": 1},
        "code": [gzip.GzipFile],
        "past the end": (three, {"x": torch.tensor([0, 9])}),
        "no slices": (three, {"x": None}),
        "a number": (three, {"x": 5}),
        "no axis": (three, {"x": torch.tensor(5)}),
        "nan": (three, {"x": torch.tensor([0, float("nan")])}),
        "no column": ({"x": 5}, ends),
        "no name": ({1: torch.ones(3, 1)}, ends),
        "old list": [old],
        "old joined": (old, ends),
        "old splits": {"train": [old]},
    }
    for name, content in bad.items():
        torch.save(content, tmp_path / f"{name}.pt")
    for name in ("none", *bad):
        error = here("convert", tmp_path / f"{name}.pt", "--out", tmp_path / "set", code=3)
        assert f"{name}.pt" in error
        assert ("current version of PyTorch Geometric" in error) == name.startswith("old")
    (tmp_path / "empty").mkdir()
    assert "no .pt files" in here("convert", tmp_path / "empty", "--out", tmp_path / "set", code=3)
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize("tables", ['{"splits": [{"name": ["a"]}], "features": 0, "recordings": 0, "vocabulary": 0}', "[" * 100_000])
def test_bad_tables_beside_files_are_refused(here, tmp_path, tables):
    (tmp_path / "pyg").mkdir()
    torch.save([Data(x=torch.ones(3, 1), edge_index=torch.zeros(2, 0).long())], tmp_path / "pyg" / "a.pt")
    (tmp_path / "pyg" / "graph_set.json").write_text(tables)
    assert "graph_set.json" in here("convert", tmp_path / "pyg", "--out", tmp_path / "set", code=3)
    assert not (tmp_path / "set").exists()


def test_splits_of_a_file_may_be_what_pyg_joins(here, tmp_path):
    graphs = [Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([i])) for i in range(3)]
    torch.save({"a": InMemoryDataset.collate(graphs), "b": graphs[:1]}, tmp_path / "splits.pt")
    here("convert", tmp_path / "splits.pt", "--out", tmp_path / "set")
    assert package.open(tmp_path / "set").y.tolist() == [0, 1, 2, 0]


def content(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@contextmanager
def files_no_larger_than(size):
    """As on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.fixture
def written(tmp_path):
    """A folder of files that an output would replace, and the graph_set to write there."""
    for name, graphs in (("old", 3), ("new", 400)):
        package.from_pyg([Data(x=torch.ones(9, 5), edge_index=torch.zeros(2, 9).long(), y=torch.tensor([0]))] * graphs,
                         tmp_path / name)
    (tmp_path / "out").mkdir()
    package.to_pyg_files(tmp_path / "old", tmp_path / "out" / "pyg")
    return tmp_path / "out", tmp_path / "new"


@pytest.mark.parametrize("number", [1, 2])
def test_files_of_pyg_stay_where_a_rename_fails(written, monkeypatch, number):
    out, graphs = written
    before, done, rename = content(out), [], os.rename

    def failing(source, target):
        done.append(target)
        if len(done) == number:
            raise PermissionError(13, "Permission denied", str(target))
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(package.Failure, match="Permission denied"):
        package.to_pyg_files(graphs, out / "pyg", force=True)
    assert content(out) == before and os.listdir(out) == ["pyg"]


def test_files_of_pyg_stay_where_the_disk_is_full(here, written):
    out, graphs = written
    before = content(out)
    with files_no_larger_than(20_000):
        error = here("convert", graphs, "--out", out / "pyg", "--force", code=1)
    assert "File too large" in error and "name another output" in error
    assert content(out) == before and os.listdir(out) == ["pyg"]


def test_files_of_pyg_are_synced_before_they_are_there(written, monkeypatch):
    out, graphs = written
    done, fsync, rename = [], os.fsync, os.rename

    def synced(descriptor):
        done.append(os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    def renamed(source, target):
        done.append(f"rename to {os.path.basename(target)}")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    package.to_pyg_files(graphs, out / "pyg", force=True)
    there = done.index("rename to pyg")
    assert {"all.pt", "graph_set.json", "new"} <= set(done[:there]) and "out" in done[there:]


def test_an_output_below_a_file_is_a_failure(here, written):
    out, graphs = written
    assert "cannot be written" in here("convert", graphs, "--out", out / "pyg" / "all.pt" / "a", code=1)


def test_errors_of_progress_stay_what_they_are(written):
    def progress(done, total):
        raise OSError("mine")

    with pytest.raises(OSError, match="^mine$") as raised:
        package.to_pyg_files(written[1], written[0] / "pyg", force=True, progress=progress)
    assert not isinstance(raised.value, package.Failure) and os.listdir(written[0]) == ["pyg"]


def test_a_python_without_the_package_is_told_about(bin_dir, tmp_path):
    torch.save([], tmp_path / "x.pt")
    environment = {**os.environ, "PLIMSOLL_PYTHON": "/nonexistent/python"}
    done = subprocess.run([bin_dir / "plimsoll", "convert", tmp_path / "x.pt", "--out", tmp_path / "o"], capture_output=True,
                          text=True, env=environment)
    assert done.returncode == 1 and "PLIMSOLL_PYTHON" in done.stderr
