"""Data sets opened in Python: columns without copies, lifetimes, slices, tables, errors."""

import gc
import json
import pickle
import shutil
import threading

import numpy as np
import pytest
from package_data import FRAMES, plimsoll, python


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("sets")
    plimsoll.simulate.can(root / "frames", frames=FRAMES)
    plimsoll.windows(root / "frames", root / "graphs")
    return root


@pytest.fixture
def frames(folders):
    return plimsoll.open(folders / "frames")


@pytest.fixture
def graphs(folders):
    return plimsoll.open(folders / "graphs")


def mapped_bytes(folder):
    with open("/proc/self/maps") as maps:
        lines = [line.split() for line in maps if f"{folder}/" in line]
    return sum(int(last, 16) - int(first, 16) for first, last in (line[0].split("-") for line in lines))


def test_columns_are_those_of_the_files(folders, frames, graphs):
    for data_set, folder in ((frames, "frames"), (graphs, "graphs")):
        for name in data_set.manifest["columns"]:
            column = getattr(data_set, name)
            expected = np.load(folders / folder / f"{name}.npy")
            assert column.dtype == expected.dtype and np.array_equal(column, expected), name
            assert not column.flags.writeable and not column.flags.owndata, name


def test_columns_cannot_be_written(graphs):
    with pytest.raises(ValueError, match="read-only"):
        graphs.x[0, 0] = 1
    with pytest.raises(ValueError):
        graphs.x.flags.writeable = True
    with pytest.raises(ValueError):
        graphs[0].edge_index[0, 0] = 1


def test_tensors_are_copy_on_write(folders):
    torch = pytest.importorskip("torch")
    graphs = plimsoll.open(folders / "graphs")
    for name in graphs.manifest["columns"]:
        assert torch.equal(graphs.tensor(name), torch.from_numpy(getattr(graphs, name).copy()))
    x, other, before = graphs.tensor("x"), graphs.tensor("x"), graphs.x.copy()
    x += 1
    assert np.array_equal(graphs.x, before) and np.array_equal(other.numpy(), before)
    assert np.array_equal(np.load(folders / "graphs" / "x.npy"), before)
    graphs.close()
    assert float(x.sum()) == pytest.approx(float((before + 1).sum()), rel=1e-4)
    with pytest.raises(plimsoll.UsageError, match="closed"):
        graphs.tensor("x")
    with pytest.raises(plimsoll.UsageError, match="no column 'pos'"):
        plimsoll.open(folders / "graphs").tensor("pos")


def test_a_tensor_of_a_file_that_was_replaced(folders, tmp_path):
    pytest.importorskip("torch")
    shutil.copytree(folders / "graphs", tmp_path / "graphs")
    graphs = plimsoll.open(tmp_path / "graphs")
    other = np.load(tmp_path / "graphs" / "x.npy") + 1
    (tmp_path / "graphs" / "x.npy").unlink()
    np.save(tmp_path / "graphs" / "x.npy", other)
    with pytest.raises(plimsoll.InputError, match="x.npy: the file was replaced after the data set was opened"):
        graphs.tensor("x")


def test_arrays_outlive_close_and_the_object(folders):
    before = mapped_bytes(folders)
    graphs = plimsoll.open(folders / "graphs")
    x, part = graphs.x, graphs[3].edge_attr
    expected = x.sum(), part.sum()
    graphs.close()
    graphs.close()
    assert graphs.closed and "closed" in repr(graphs)
    del graphs
    assert (x.sum(), part.sum()) == expected
    assert mapped_bytes(folders) > before
    del x, part
    assert mapped_bytes(folders) == before, "the mapping ends with the last array, without the garbage collector"


def test_a_closed_data_set_refuses(folders):
    with plimsoll.open(folders / "graphs") as graphs, plimsoll.open(folders / "frames") as frames:
        pass
    for access in (lambda: graphs.x, lambda: graphs[0], lambda: graphs.manifest, lambda: graphs.to_pyg(0),
                   lambda: frames.data, lambda: frames[0], lambda: len(frames)):
        with pytest.raises(plimsoll.UsageError, match="closed; open it again"):
            access()


def test_frames_one_and_many(folders, frames):
    data, length = np.load(folders / "frames" / "data.npy"), np.load(folders / "frames" / "length.npy")
    assert len(frames) == FRAMES
    for i in (0, 7, -1):
        frame = frames[i]
        assert frame.data == data[i, : length[i]].tobytes()
        assert (frame.time_ns, frame.can_id, frame.label) == (frames.time_ns[i], frames.can_id[i], frames.label[i])
    part = frames[10:20]
    assert len(part) == 10 and np.shares_memory(part.data, frames.data)
    with pytest.raises(IndexError):
        frames[FRAMES]
    assert sum(len(frames[recording.slice]) for recording in frames.recordings) == FRAMES
    assert all((frames[r.slice].label == 1).sum() == r.attack_frames for r in frames.recordings)
    assert f"frames={FRAMES}" in repr(frames)


def test_graphs_by_number(graphs):
    for g in (0, 5, len(graphs) - 1):
        nodes = slice(graphs.node_ptr[g], graphs.node_ptr[g + 1])
        edges = slice(graphs.edge_ptr[g], graphs.edge_ptr[g + 1])
        graph = graphs.get(g)
        assert np.array_equal(graph.x, graphs.x[nodes]) and np.shares_memory(graph.x, graphs.x)
        assert np.array_equal(graph.edge_index, graphs.edges[edges].T)
        assert np.array_equal(graph.edge_attr, graphs.edge_attr[edges])
        assert graph.y == graphs.y[g] and graph.node_y is None
        assert (graph.num_nodes, graph.num_edges) == (nodes.stop - nodes.start, edges.stop - edges.start)
    assert graphs[-1].y == graphs[len(graphs) - 1].y
    for wrong in (len(graphs), -len(graphs) - 1):
        with pytest.raises(IndexError, match=f"of {len(graphs)}"):
            graphs[wrong]
    assert sum(1 for _ in graphs) == len(graphs)


def test_graphs_by_slice_list_array_and_mask(graphs):
    def numbers(some):
        return list(some.indices)

    assert numbers(graphs[3:9:2]) == [3, 5, 7]
    assert numbers(graphs[3:9][1:3]) == [4, 5]
    assert numbers(graphs[[5, -1, 5]]) == [5, len(graphs) - 1, 5]
    assert numbers(graphs[np.array([2, 4])][np.array([True, False])]) == [2]
    assert numbers(graphs[graphs.y == 1]) == np.flatnonzero(graphs.y == 1).tolist()
    assert numbers(graphs[[]]) == []
    assert [g.num_edges for g in graphs.multi_get(range(4))] == np.diff(graphs.edge_ptr)[:4].tolist()
    with pytest.raises(IndexError):
        graphs[[0, len(graphs)]]
    for wrong in ([0.5], np.zeros((2, 2), int), np.array([True])):
        with pytest.raises(plimsoll.UsageError):
            graphs[wrong]
    assert repr(graphs[:3]).startswith("Graphs(3 of GraphSet(")


def test_tables(graphs):
    assert sum(split.graphs for split in graphs.splits.values()) == len(graphs)
    assert sum(len(graphs[recording.slice]) for recording in graphs.recordings) == len(graphs)
    assert graphs.features.node[:2] == ("id_index", "byte_0")
    assert graphs.vocabulary == tuple(sorted(graphs.vocabulary)) and graphs.vocabulary
    assert graphs.manifest["provenance"]["options"]["window"] == 100


def test_views_are_compared_by_content(graphs):
    assert graphs[3] == graphs[3] and graphs[3] != graphs[4] and graphs[3] != 3
    assert graphs[3] in graphs[2:5] and graphs[2:5].index(graphs[3]) == 1
    with pytest.raises(TypeError, match="unhashable"):
        hash(graphs[3])


def test_goes_to_another_process_by_its_path(graphs, monkeypatch, tmp_path):
    pickled = pickle.dumps((graphs, graphs[2:4]))
    monkeypatch.chdir(tmp_path)
    again, part = pickle.loads(pickled)
    assert np.array_equal(again.x, graphs.x) and list(part.indices) == [2, 3]


def test_many_threads_read(graphs):
    sums = []
    threads = [threading.Thread(target=lambda: sums.append(sum(float(g.x.sum()) for g in graphs))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(sums)) == 1 and len(sums) == 4


def test_bad_data_sets(folders, tmp_path):
    with pytest.raises(plimsoll.InputError, match="no manifest.json"):
        plimsoll.open(tmp_path)
    with pytest.raises(plimsoll.InputError, match="no such folder: .*nowhere"):
        plimsoll.open(tmp_path / "nowhere")
    with pytest.raises(plimsoll.InputError, match="kind 'frames', expected 'graph_set'"):
        plimsoll.GraphSet(folders / "frames")
    (tmp_path / "manifest.json").write_text(json.dumps({"kind": "hull", "format_version": 1, "columns": {}}))
    with pytest.raises(plimsoll.InputError, match="unknown kind 'hull'"):
        plimsoll.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(plimsoll.InputError, match="not JSON"):
        plimsoll.open(tmp_path)
    for call in (plimsoll.open, plimsoll.verify, plimsoll.GraphSet):
        with pytest.raises(TypeError, match="os.PathLike object, not int"):
            call(17)


def test_damage_is_named(folders, tmp_path):
    for file in (folders / "graphs").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    column = np.load(tmp_path / "node_ptr.npy", mmap_mode="r+")
    column[5] = 1 << 40
    column.flush()
    graphs = plimsoll.open(tmp_path)
    with pytest.raises(plimsoll.InputError, match="graph 4 is outside"):
        graphs[4]
    assert any("node_ptr" in finding for finding in plimsoll.verify(tmp_path))
    with open(tmp_path / "x.npy", "r+b") as file:
        file.truncate(8192)
    with pytest.raises(plimsoll.InputError, match="x.npy"):
        plimsoll.open(tmp_path)


def test_opening_takes_no_memory_by_size(folders):
    """Each interpreter opens one set; the anonymous memory of both is the same but for the manifest."""
    code = f"""
import plimsoll
def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))
plimsoll.open({str(folders / "graphs")!r}).close()
before = anonymous()
graphs = plimsoll.open({str(folders / "graphs")!r})
graphs[0]
print(anonymous() - before)
"""
    assert int(python(code)) < 512
    gc.collect()
