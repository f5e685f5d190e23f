"""SWC files as trees: beside MorphIO and NumPy, in any order of rows, from folders and archives; what is not right is named."""

import hashlib
import io
import json
import subprocess
import tarfile
import zipfile

import numpy as np
import pytest
import zstandard
from package_data import plimsoll

morphio = pytest.importorskip("morphio")


def write(path, rows, end="\n", head=""):
    """Rows of id, type, x, y, z, radius, parent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((head + "".join(" ".join(map(str, row)) + end for row in rows)).encode())


def made_up(points, seed, first=1, gap=1):
    """A soma and branches of types 2 to 4, ids in steps of `gap`, parents before children."""
    rng = np.random.default_rng(seed)
    rows = [[first, 1, 0.0, 0.0, 0.0, 5.0, -1]]
    for n in range(1, points):
        parent = rows[0] if n < 4 else rows[max(1, n - 1 - int(3 * rng.random() ** 4))]
        place = [round(float(parent[2 + c] + rng.normal()), 4) for c in range(3)]
        rows.append([first + gap * n, n + 1 if n < 4 else parent[1], *place, 0.5, parent[0]])
    return rows


@pytest.fixture
def ingest(run, tmp_path):
    """ingest(source, *options): the set and the summary."""

    def call(source, *options, out="set"):
        summary = json.loads(run("plimsoll", "ingest", "swc", source, "--out", tmp_path / out, "--force", "--json", *options))
        return plimsoll.open(tmp_path / out), summary

    return call


def errors(bin_dir, tmp_path, *arguments):
    done = subprocess.run([str(bin_dir / "plimsoll"), "ingest", "swc", *map(str, arguments), "--out", str(tmp_path / "out")],
                          capture_output=True, text=True)
    assert not (tmp_path / "out").exists()
    return done.returncode, done.stderr


def parents_of(graph):
    """Of a tree stored both ways: the parent of each node, -1 of the root."""
    parent = np.full(len(graph.pos), -1)
    source, target = np.asarray(graph.edge_index)
    assert len(source) == 2 * (len(parent) - 1)
    assert {(s, t) for s, t in zip(source, target)} == {(t, s) for s, t in zip(source, target)}
    parent[target[source < target]] = source[source < target]
    assert (parent[1:] >= 0).all() and parent[0] == -1
    return parent


def length_of(graph):
    parent, pos = parents_of(graph), np.asarray(graph.pos, dtype=float)
    return np.linalg.norm(pos[1:] - pos[parent[1:]], axis=1)


def bytes_of(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.npy")}


def sorted_points(points):
    return np.asarray(sorted(map(tuple, np.asarray(points, dtype=np.float32).tolist())))


def compare_with_morphio(path, graph):
    """Points but the soma, where branches end, and how long they are."""
    neuron = morphio.Morphology(str(path))
    parent, x = parents_of(graph), dict(zip(graph.feature_names, np.asarray(graph.x).T))
    neurite = x["soma"] == 0
    sections = list(neuron.iter())
    theirs = np.concatenate([section.points if section.is_root else section.points[1:] for section in sections])
    np.testing.assert_array_equal(sorted_points(graph.pos[neurite]), sorted_points(theirs))
    children = np.bincount(parent[1:], minlength=len(parent))
    np.testing.assert_array_equal(x["children"], children)
    assert ((children == 0) & neurite).sum() == sum(not section.children for section in sections)
    inside = np.flatnonzero(neurite[1:] & neurite[parent[1:]]) + 1
    pos = np.asarray(graph.pos, dtype=float)
    ours = np.linalg.norm(pos[inside] - pos[parent[inside]], axis=1).sum()
    lengths = [np.linalg.norm(np.diff(section.points.astype(float), axis=0), axis=1).sum() for section in sections]
    assert ours == pytest.approx(sum(lengths), rel=1e-9)
    if not neurite.all():
        np.testing.assert_allclose(graph.pos[~neurite].mean(0), neuron.soma.center, atol=1e-4)


class Tree:
    """A graph of a set with the names of its features."""

    def __init__(self, made, g):
        graph = made[g]
        self.pos, self.x, self.edge_index = np.asarray(graph.pos), np.asarray(graph.x), np.asarray(graph.edge_index)
        self.feature_names = made.features.node


@pytest.mark.parametrize("gap", [1, 3])
def test_trees_are_those_of_morphio(ingest, tmp_path, gap):
    for seed in range(3):
        write(tmp_path / "swc" / f"{seed}.swc", made_up(200, seed, gap=gap))
    made, summary = ingest(tmp_path / "swc")
    assert (summary["files"], summary["graphs"], summary["nodes"], summary["edges"]) == (3, 3, 600, 2 * 597)
    for seed in range(3):
        compare_with_morphio(tmp_path / "swc" / f"{seed}.swc", Tree(made, seed))


@pytest.mark.parametrize("name", ["tree-neuron-ratcortex", "tree-neuron-drosophila379"])
def test_real_neurons_are_those_of_morphio(ingest, data_dir, tmp_path, name):
    archive = data_dir / name / "swc.tar.zst"
    if not archive.exists():
        pytest.skip(f"no {archive}")
    made, summary = ingest(archive, "--labels", data_dir / name / "labels.tsv")
    rows = [line.split("\t") for line in (data_dir / name / "labels.tsv").read_text().splitlines()[1:]]
    assert summary["files"] == len(rows) and summary["points"] == sum(int(row[3]) for row in rows)
    assert summary["classes"] == sorted({row[1] for row in rows})
    label_of = {row[0]: row[1] for row in rows}
    with zstandard.open(archive) as stream, tarfile.open(fileobj=io.BytesIO(stream.read())) as members:
        names = [member.name.removeprefix("./") for member in members if member.name.endswith(".swc")]
        for g in range(0, len(names), 60):
            assert summary["classes"][made.y[g]] == label_of[names[g]]
            members.extract(members.getmembers()[[m.name.removeprefix("./") for m in members.getmembers()].index(names[g])],
                            tmp_path / "one", filter="data")
            compare_with_morphio(next((tmp_path / "one").rglob(names[g].split("/")[-1])), Tree(made, g))


def sholl(pos, parent, edges, centre, radii):
    """How many of these edges, each named by its child, cross each sphere."""
    away = np.linalg.norm(pos - centre, axis=1)
    near, far = np.minimum(away[edges], away[parent[edges]]), np.maximum(away[edges], away[parent[edges]])
    return [int(((near <= r) & (r <= far)).sum()) for r in radii]


@pytest.mark.parametrize("name", ["tree-neuron-ratcortex", "tree-neuron-drosophila379"])
def test_real_neurons_are_those_of_neurom(ingest, data_dir, tmp_path, name):
    """Sholl profile, sections, ends, branch points and lengths of what grows from the soma."""
    neurom = pytest.importorskip("neurom", reason="pip install neurom")
    archive = data_dir / name / "swc.tar.zst"
    if not archive.exists():
        pytest.skip(f"no {archive}")
    made, _ = ingest(archive)
    with zstandard.open(archive) as stream, tarfile.open(fileobj=io.BytesIO(stream.read())) as members:
        files = [member for member in members if member.name.endswith(".swc")]
        for g in range(7, len(files), 40):
            members.extract(files[g], tmp_path / "swc", filter="data")
            theirs, tree = neurom.load_morphology(tmp_path / "swc" / files[g].name), Tree(made, g)
            parent, pos = parents_of(tree), tree.pos.astype(float)
            neurite = tree.x[:, tree.feature_names.index("soma")] == 0
            inside = np.flatnonzero(neurite[1:] & neurite[parent[1:]]) + 1
            children = np.bincount(parent[inside], minlength=len(parent))[neurite]
            assert (children == 0).sum() == neurom.get("number_of_leaves", theirs)
            assert (children > 1).sum() == neurom.get("number_of_forking_points", theirs)
            assert (children != 1).sum() == neurom.get("number_of_sections", theirs)
            lengths = np.linalg.norm(pos[inside] - pos[parent[inside]], axis=1)
            assert lengths.sum() == pytest.approx(neurom.get("total_length", theirs), rel=1e-5)
            centre = pos[0]
            radii = np.linspace(0, np.linalg.norm(pos - centre, axis=1).max(), 14)[1:-1]
            assert sholl(pos, parent, inside, centre, radii) == neurom.get("sholl_crossings", theirs, center=centre, radii=radii)


def test_the_order_of_rows_does_not_matter(ingest, tmp_path):
    rows = made_up(300, 7, first=5, gap=2)
    write(tmp_path / "a.swc", rows)
    shuffled = [rows[n] for n in np.random.default_rng(1).permutation(len(rows))]
    write(tmp_path / "b.swc", shuffled, end="  \r\n", head="# a comment\r\n\r\n#another\r\n")
    ingest(tmp_path / "a.swc", out="a"), ingest(tmp_path / "b.swc", out="b")
    assert bytes_of(tmp_path / "a") == bytes_of(tmp_path / "b")


def test_folders_and_archives_are_the_same(ingest, tmp_path):
    folder = tmp_path / "swc"
    for seed in range(4):
        write(folder / "a" / f"{seed}.swc", made_up(50 + seed, seed))
    write(folder / ("long" * 30) / ("name" * 30 + ".swc"), made_up(20, 9))
    (folder / "a" / "README.md").write_text("no tree")
    (folder / ".hidden.swc").write_text("no tree")
    files = sorted(file for file in folder.rglob("*.swc") if not file.name.startswith("."))
    for format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        with tarfile.open(tmp_path / f"{format}.tar", "w", format=format) as archive:
            for file in files:
                archive.add(file, f"./{file.relative_to(folder)}")
            archive.add(folder / "a" / "README.md", "README.md")
    plain = (tmp_path / f"{tarfile.PAX_FORMAT}.tar").read_bytes()
    (tmp_path / "trees.tar.zst").write_bytes(zstandard.compress(plain))
    with zipfile.ZipFile(tmp_path / "trees.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.relative_to(folder))
    labels = "file,label\n" + "".join(f"{file.relative_to(folder)},{'ab'[n % 2]}\n" for n, file in enumerate(files))
    (tmp_path / "labels.csv").write_text(labels)
    ingest(folder, "--labels", tmp_path / "labels.csv", out="expected")
    for source in (f"{tarfile.PAX_FORMAT}.tar", f"{tarfile.GNU_FORMAT}.tar", "trees.tar.zst", "trees.zip"):
        made, _ = ingest(tmp_path / source, "--labels", tmp_path / "labels.csv", out=f"of {source}")
        assert bytes_of(tmp_path / f"of {source}") == bytes_of(tmp_path / "expected"), source
        assert made.y.tolist() == [0, 1, 0, 1, 0]


SOMA = {
    "one point": [[1, 1, 0, 0, 0, 3, -1]],
    "three points": [[1, 1, 0, 0, 0, 3, -1], [2, 1, 0, -3, 0, 3, 1], [3, 1, 0, 3, 0, 3, 1]],
    "a chain": [[1, 1, -1, 0, 0, 2, -1], [2, 1, 0, 0, 0, 3, 1], [3, 1, 1, 0, 0, 4, 2]],
}


def test_links_are_followed_once_and_loops_end(ingest, tmp_path):
    write(tmp_path / "swc" / "a" / "1.swc", made_up(20, 1))
    write(tmp_path / "elsewhere" / "2.swc", made_up(20, 2))
    for link in ("loop", "loop_too"):
        (tmp_path / "swc" / "a" / link).symlink_to(".")
    (tmp_path / "swc" / "a" / "around").symlink_to("..")
    (tmp_path / "swc" / "other").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "swc" / "nowhere.swc").symlink_to("absent")
    made, summary = ingest(tmp_path / "swc")
    assert summary["files"] == 2 and len(made) == 2


@pytest.mark.parametrize("soma", SOMA)
def test_a_soma_is_one_node(ingest, tmp_path, soma):
    last = SOMA[soma][-1][0]
    write(tmp_path / "a.swc", SOMA[soma] + [[10, 3, 5, 0, 0, 1, 1], [11, 3, 6, 0, 0, 1, 10], [12, 2, -5, 0, 0, 1, last]])
    made, summary = ingest(tmp_path / "a.swc")
    graph = Tree(made, 0)
    assert summary["soma_points"] == last - 1 and made[0].pos.tolist()[0] == [0, 0, 0]
    # What hangs on a soma point that is joined stands where the point stood.
    assert parents_of(graph).tolist() == ([-1, 0, 1, 0] if last == 1 else [-1, 0, 0, 2]) and graph.x[0, graph.feature_names.index("radius")] == 3
    assert graph.x[:, graph.feature_names.index("soma")].tolist() == [1, 0, 0, 0]


def test_the_soma_is_the_root_unless_the_first_is_asked_for(ingest, tmp_path):
    # The root is the end of a dendrite; two branches leave the soma.
    rows = [[1, 3, 3, 0, 0, 1, -1], [2, 3, 2, 0, 0, 1, 1], [3, 1, 0, 0, 0, 4, 2], [4, 2, -2, 0, 0, 1, 3], [5, 3, 2, 1, 0, 1, 2]]
    write(tmp_path / "a.swc", rows)
    made, summary = ingest(tmp_path / "a.swc")
    assert summary["rerooted"] == 1
    assert made[0].pos[:, 0].tolist() == [0, 2, 3, 2, -2] and parents_of(Tree(made, 0)).tolist() == [-1, 0, 1, 1, 0]
    made, summary = ingest(tmp_path / "a.swc", "--root", "first", "--node-features", "depth")
    assert summary["rerooted"] == 0 and made[0].pos[:, 0].tolist() == [3, 2, 0, -2, 2]
    assert made.features.node == ("depth",) and made.x.ravel().tolist() == [0, 1, 2, 3, 2]


def test_forests_are_picked_from_or_split(ingest, tmp_path):
    loose = [[n, 2, n, 0, 0, 1, n - 1 if n > 10 else -1] for n in range(10, 16)]
    write(tmp_path / "a.swc", loose + made_up(4, 1))
    made, summary = ingest(tmp_path / "a.swc")
    assert (summary["graphs"], summary["nodes"], summary["dropped_points"], summary["without_soma"]) == (1, 4, 6, 0)
    made, summary = ingest(tmp_path / "a.swc", "--forest", "split")
    assert (summary["graphs"], summary["nodes"], summary["without_soma"]) == (2, 10, 1)
    assert [len(made[g].pos) for g in range(2)] == [4, 6]
    write(tmp_path / "b.swc", loose[:2] + [[n + 20, *row[1:6], row[6] + 20 if row[6] > 0 else -1] for row in loose
                                           for n in [row[0]]])
    assert ingest(tmp_path / "b.swc")[1]["nodes"] == 6  # the largest
    assert ingest(tmp_path / "b.swc", "--root", "first")[1]["nodes"] == 2


def test_many_trees_of_a_file_are_rerooted_at_once(ingest, tmp_path):
    rows = [row for n in range(0, 80_000, 2) for row in ([n, 3, n, 0, 0, 1, -1], [n + 1, 1, n, 1, 0, 1, n])]
    write(tmp_path / "a.swc", rows)
    made, summary = ingest(tmp_path / "a.swc", "--forest", "split")
    assert summary["graphs"] == summary["rerooted"] == 40_000
    assert made.pos.tolist()[:4] == [[0, 1, 0], [0, 0, 0], [2, 1, 0], [2, 0, 0]]


def test_scales_and_zero_length_segments(ingest, tmp_path):
    rows = [[1, 1, 1, 1, 1, 2, -1], [2, 3, 2, 2, 2, 1, 1], [3, 3, 2, 2, 2, 1, 2], [4, 9, 3, 2, 2, 1, 3]]
    write(tmp_path / "a.swc", rows, head="# SCALE 1.0 2.0 0.5\n# SCALE of the picture: none\n")
    made, _ = ingest(tmp_path / "a.swc")
    assert made.pos.tolist() == [[1, 2, 0.5], [2, 4, 1], [2, 4, 1], [3, 4, 1]]
    assert made.x[:, made.features.node.index("other")].tolist() == [0, 0, 0, 1]


def test_resampled_points_lie_on_the_branches(ingest, tmp_path):
    write(tmp_path / "a.swc", made_up(400, 3))
    given, _ = ingest(tmp_path / "a.swc", out="given")
    made, _ = ingest(tmp_path / "a.swc", "--resample", "2.5um", out="made")
    before, after = Tree(given, 0), Tree(made, 0)
    old, parent = before.pos.astype(float), parents_of(before)
    a, b = old[parent[1:]], old[1:]
    along = b - a
    for point in after.pos.astype(float):
        share = np.clip(((point - a) * along).sum(1) / np.maximum((along**2).sum(1), 1e-30), 0, 1)
        assert np.linalg.norm(point - (a + share[:, None] * along), axis=1).min() < 1e-5
    assert length_of(after).max() <= 2.5 * (1 + 1e-6) and 0.5 * length_of(before).sum() < length_of(after).sum()
    assert length_of(after).sum() <= length_of(before).sum() * (1 + 1e-6)

    def kept(graph):
        children = graph.x[:, graph.feature_names.index("children")]
        return sorted_points(graph.pos[children != 1])

    np.testing.assert_array_equal(kept(after), kept(before))
    fine, _ = ingest(tmp_path / "a.swc", "--resample", "0.01", out="fine")
    assert length_of(Tree(fine, 0)).sum() == pytest.approx(length_of(before).sum(), rel=1e-3)


GOOD = "1 1 0 0 0 1 -1\n"
BAD = {
    "a missing parent": (GOOD + "2 3 1 0 0 1 7\n", ":2: found point 2 with parent 7, expected a parent that is in the file"),
    "an id twice": (GOOD + "3 3 1 0 0 1 1\n\n3 3 1 0 0 1 1\n", ":4: found point 3 with parent 1, expected a unique id: "
                    "line 2 already has it"),
    "its own parent": (GOOD + "2 3 1 0 0 1 2\n", ":2: found point 2 with parent 2, expected a tree: the point is on a cycle of 1"),
    "a cycle": (GOOD + "5 3 0 0 0 1 4\n2 3 1 0 0 1 4\n3 3 1 0 0 1 2\n4 3 1 0 0 1 3\n", ":3: found point 2 with parent 4, "
                "expected a tree: the point is on a cycle of 3 points"),
    "nothing but a cycle": ("1 3 1 0 0 1 2\n2 3 1 0 0 1 1\n", ":1: found point 1 with parent 2"),
    "NaN": ("1 1 0 nan 0 1 -1\n", ":1: found 'nan', expected the coordinate y, a finite number"),
    "infinity": ("1 1 0 0 0 1e99 -1\n", ":1: found '1e99', expected a radius"),
    "a missing field": (GOOD + "2 3 1 0 0 1\n", ":2: found '', expected the id of the parent"),
    "another format": ("PNG\x01 picture\n", ":1: found 'PNG\\x01', expected an id, a whole number: the fields are id type x"),
    "no text": ("", ": holds no points"),
    "comments alone": ("# one\n# two\n", ": holds no points"),
    "a broken id": ("1.5 1 0 0 0 1 -1\n", ":1: found '1.5', expected an id"),
    "a scale that makes it infinite": ("# SCALE 1e30 1e30 1e30\n" + GOOD + "2 3 0 1e20 0 1 1\n", ":3: found a coordinate beyond 3.4e38 "
                                       "after SCALE 1e+30 1e+30 1e+30, expected finite numbers"),
    "a huge id": ("99999999999 1 0 0 0 1 -1\n", ":1: found '99999999999', expected an id of 0 to 2^31 - 1"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_not_right_is_named(bin_dir, tmp_path, what):
    text, message = BAD[what]
    (tmp_path / "a.swc").write_text(text)
    code, said = errors(bin_dir, tmp_path, tmp_path / "a.swc")
    assert code == 3 and f"a.swc{message}" in said


def test_sources_and_options_that_do_not_do(bin_dir, tmp_path):
    write(tmp_path / "a.swc", made_up(5, 1))
    assert "no such file" in errors(bin_dir, tmp_path, tmp_path / "none")[1]
    (tmp_path / "empty").mkdir()
    assert "holds no file *.swc" in errors(bin_dir, tmp_path, tmp_path / "empty")[1]
    for option in (("--resample", "0um"), ("--resample", "wide"), ("--node-features", "colour"), ("--root", "leaf")):
        assert errors(bin_dir, tmp_path, tmp_path / "a.swc", *option)[0] == 2
    with tarfile.open(tmp_path / "cut.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        archive.add(tmp_path / "a.swc", "a.swc")
    whole = (tmp_path / "cut.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:600])
    assert "the archive ends within a.swc" in errors(bin_dir, tmp_path, tmp_path / "cut.tar")[1]
    (tmp_path / "cut.tar").write_bytes(whole[:20] + b"x" + whole[21:])
    assert "byte 0: found a header with a wrong checksum" in errors(bin_dir, tmp_path, tmp_path / "cut.tar")[1]


def test_labels_and_files_have_to_match_or_are_counted(bin_dir, ingest, tmp_path):
    for n in range(3):
        write(tmp_path / "swc" / f"{n}.swc", made_up(10, n))
    (tmp_path / "swc" / "broken.swc").write_text("1 1 0 0\n")
    (tmp_path / "labels.tsv").write_text("label\tfile\nb\t0.swc\na\t1.swc\nb\tbroken.swc\na\tgone.swc\n")
    labels = ("--labels", tmp_path / "labels.tsv")
    assert "has no line for '2.swc'" in errors(bin_dir, tmp_path, tmp_path / "swc" / "2.swc", *labels)[1]
    assert ("labels.tsv:3: found '1.swc', expected a file of the sources; 2 more lines are like this"
            in errors(bin_dir, tmp_path, tmp_path / "swc" / "0.swc", *labels)[1])
    made, summary = ingest(tmp_path / "swc", *labels, "--on-error", "skip")
    assert (summary["files"], summary["skipped_files"], summary["skipped_labels"]) == (2, 2, 1)
    assert made.y.tolist() == [1, 0] and summary["classes"] == ["a", "b"]
    (tmp_path / "labels.tsv").write_text("label\tfile\nb\t0.swc\nb\t0.swc\n")
    assert "labels.tsv:3" in errors(bin_dir, tmp_path, tmp_path / "swc", *labels)[1]
    (tmp_path / "labels.tsv").write_text("class\tfile\n")
    assert "has no column 'label'" in errors(bin_dir, tmp_path, tmp_path / "swc", *labels)[1]


def test_memory_is_that_of_one_tree(ingest, tmp_path):
    peaks = []
    for count in (3, 60):
        for n in range(count):
            write(tmp_path / str(count) / f"{n}.swc", made_up(2000 if n == 0 else 200, n))
        peaks.append(ingest(tmp_path / str(count))[1]["memory"]["ledger_peak_bytes"])
    # Of each file a path, in its parts, stands in two lists, and a hash in the manifest.
    assert peaks[1] < peaks[0] + 60 * 3000


def test_a_set_that_is_there_is_left_alone(run, tmp_path):
    write(tmp_path / "a.swc", made_up(5, 1))
    command = ("plimsoll", "ingest", "swc", tmp_path / "a.swc", "--out", tmp_path / "set")
    run(*command)
    assert json.loads(run(*command, "--json"))["already_there"]
    run("plimsoll", "verify", tmp_path / "set")
