"""Data that changed since a set was made, or since a run began: noticed when the set is opened, by the column's name."""

import json
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

RECIPE = """
task: graph_classification
split: {by: recording}
training: {max_epochs: 400, batch_size: 64, checkpoint_every_s: 0}
gnn: {conv: sage, hidden: 8, layers: 1}
"""


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """A folder with frames, graphs of their windows, a recipe, and a run on the graphs."""
    folder = tmp_path_factory.mktemp("made")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "40000", "--seed", "3")
    run("plimsoll", "windows", folder / "frames", "--out", folder / "graphs", "--features", "compat")
    (folder / "recipe.yaml").write_text(RECIPE)
    run("plimsoll", "train", folder / "recipe.yaml", "--data", folder / "graphs", "--run", folder / "run", "-O",
        "training.max_epochs=1")
    return folder


@pytest.fixture
def call(bin_dir):
    def run(*arguments):
        return subprocess.run([str(bin_dir / "plimsoll"), *map(str, arguments)], capture_output=True, text=True,
                              timeout=600)

    return run


def change(path, at=None):
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        at = (4096 + size) // 2 if at is None else at
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1]))


def expect_refused(done, column):
    assert done.returncode == 3, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    for word in (f"column '{column}'", "checksum", "make the set again"):
        assert word in done.stderr


def test_a_run_records_the_manifest_that_it_read(made, call):
    read = json.loads((made / "run" / "manifest.json").read_text())["read"]
    assert len(read["manifest"]) == 16 and list(read) == ["manifest"]


@pytest.mark.parametrize("column", ["can_id", "data", "label"])
def test_a_changed_bit_of_frames_is_refused_by_all_that_read_them(made, call, tmp_path, column):
    frames = tmp_path / "frames"
    shutil.copytree(made / "frames", frames)
    change(frames / f"{column}.npy")
    expect_refused(call("windows", frames, "--out", tmp_path / "graphs"), column)
    expect_refused(call("simulate", "can", "--inject", frames, "--out", tmp_path / "attacks"), column)
    expect_refused(call("train", "recipes/gat.yaml", "--data", frames, "--run", tmp_path / "run"), column)
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]


def test_a_changed_bit_of_graphs_is_neither_trained_nor_judged(made, call, tmp_path):
    graphs = tmp_path / "graphs"
    shutil.copytree(made / "graphs", graphs)
    change(graphs / "x.npy")
    expect_refused(call("train", made / "recipe.yaml", "--data", graphs, "--run", tmp_path / "run"), "x")
    assert not (tmp_path / "run").exists()
    expect_refused(call("evaluate", made / "run", "--data", graphs), "x")


def test_ranges_of_splits_that_lie_outside_train_nothing(made, call, tmp_path):
    graphs = tmp_path / "graphs"
    shutil.copytree(made / "graphs", graphs)
    manifest = json.loads((graphs / "manifest.json").read_text())
    manifest["splits"][-1]["first_graph"] = 100000000
    (graphs / "manifest.json").write_text(json.dumps(manifest))
    done = call("train", made / "recipe.yaml", "--data", graphs, "--run", tmp_path / "run")
    assert done.returncode == 3 and "begins at graph 100000000" in done.stderr, done.stderr


def test_values_changed_between_a_signal_and_resume_are_noticed(made, call, bin_dir, tmp_path):
    graphs, run = tmp_path / "graphs", tmp_path / "run"
    shutil.copytree(made / "graphs", graphs)
    command = ["train", made / "recipe.yaml", "--data", graphs, "--run", run]
    process = subprocess.Popen([str(bin_dir / "plimsoll"), *map(str, command)], stderr=subprocess.PIPE, text=True)
    while not list(run.glob("seed-42/gnn/checkpoints/step-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 75
    column = np.load(graphs / "x.npy", mmap_mode="r+")
    column[:200, 0] += 1
    del column
    before = (run / "manifest.json").read_bytes()
    expect_refused(call(*command, "--resume"), "x")
    assert (run / "manifest.json").read_bytes() == before


def test_a_column_made_shorter_while_it_trains_is_named_and_a_checkpoint_stays(made, call, bin_dir, tmp_path):
    graphs, run = tmp_path / "graphs", tmp_path / "run"
    shutil.copytree(made / "graphs", graphs)
    command = ["train", made / "recipe.yaml", "--data", graphs, "--run", run]
    process = subprocess.Popen([str(bin_dir / "plimsoll"), *map(str, command)], stderr=subprocess.PIPE, text=True)
    while not list(run.glob("seed-42/gnn/checkpoints/step-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    with (graphs / "x.npy").open("r+b") as file:
        file.truncate(4096)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 3, errors
    assert "x.npy: can no longer be read" in errors and "--resume" in errors
    shutil.copy(made / "graphs" / "x.npy", graphs / "x.npy")
    done = call(*command, "--resume", "-O", "training.max_epochs=1", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["resumed_at"] > 0, done.stderr


def test_tables_changed_between_a_run_and_resume_are_noticed(made, call, tmp_path):
    graphs, run = tmp_path / "graphs", tmp_path / "run"
    shutil.copytree(made / "graphs", graphs)
    command = ["train", made / "recipe.yaml", "--data", graphs, "--run", run, "-O", "training.max_epochs=1"]
    assert call(*command).returncode == 0
    manifest = json.loads((graphs / "manifest.json").read_text())
    manifest["features"]["node"][0] = "other"
    (graphs / "manifest.json").write_text(json.dumps(manifest))
    done = call(*command, "--resume")
    assert done.returncode == 3 and "manifest.json" in done.stderr and "--force" in done.stderr, done.stderr


@pytest.fixture
def large(call, seal, tmp_path):
    """A set above 1 GiB: small graphs that train, and one of zeros, a hole in the file, that does not."""
    folder = tmp_path / "large"
    folder.mkdir()
    width, small, rows = 1024, 64, 280_000
    ends = np.append(np.arange(small + 1) * 2, small * 2 + rows)
    columns = {"node_ptr": ends, "edge_ptr": np.append(np.arange(small + 1), small), "x": None,
               "edges": np.tile(np.array([[0, 1]], np.int32), (small, 1)), "edge_attr": np.zeros((small, 0), np.float32),
               "y": np.append(np.arange(small) % 2, 0)}
    manifest = {"kind": "graph_set", "format_version": 1, "columns": {}, "recordings": [], "vocabulary": [],
                "splits": [{"name": "train", "first_graph": 0, "graphs": small},
                           {"name": "test", "first_graph": small, "graphs": 1}],
                "features": {"node": [f"f{i}" for i in range(width)], "edge": []}}
    for name, values in columns.items():
        shape = [int(ends[-1]), width] if values is None else list(values.shape)
        dtype = "<f4" if values is None else values.dtype.str
        header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".ljust(4096 - 11) + "\n"
        with (folder / f"{name}.npy").open("wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + (4096 - 10).to_bytes(2, "little") + header.encode())
            if values is None:
                file.write(np.random.default_rng(1).standard_normal((small * 2, width)).astype(np.float32).tobytes())
                file.truncate(4096 + 4 * shape[0] * width)
            else:
                file.write(values.tobytes())
        manifest["columns"][name] = {"file": f"{name}.npy", "dtype": dtype, "shape": shape, "xxh3": ""}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    seal(folder)
    assert call("verify", folder).returncode == 0
    return folder


def test_of_a_large_set_changed_files_are_checked_and_all_when_asked(made, call, large, tmp_path):
    def train(run, *options):
        return call("train", made / "recipe.yaml", "--data", large, "--run", tmp_path / run, "-O", "split.by=graph",
                    "-O", "training.max_epochs=1", *options)

    assert train("run").returncode == 0
    read = json.loads((tmp_path / "run" / "manifest.json").read_text())["read"]
    status = (large / "x.npy").stat()
    assert read["columns"]["x"] == {"bytes": status.st_size, "inode": status.st_ino, "changed_ns": status.st_ctime_ns}
    assert train("run", "--resume").returncode == 0
    change(large / "x.npy", status.st_size - 100)
    expect_refused(train("run", "--resume"), "x")
    expect_refused(call("evaluate", tmp_path / "run", "--data", large, "--split", "validation"), "x")
    expect_refused(train("other", "--verify", "full"), "x")
    assert train("other").returncode == 0, "nothing is known of the set, and it is large"
