"""Node classification on one giant graph: the same bits for every budget, and what PyTorch Geometric says."""

import ctypes
import json
import os
import struct
import subprocess
import time

import numpy as np
import pytest
from giant_runs import answer, edge_index_of, evaluate, kill_often, load_weights, plan_of, pyg_model

RECIPE = """
task: node_classification
sampling: {fan_outs: [6, 4]}
training: {max_epochs: 3, batch_size: 100, learning_rate: 0.01, weight_decay: 0, checkpoint_every_s: 0,
           block: {seeds: 32}}
gnn: {conv: sage, layers: 2, hidden: 16, dropout: 0.3}
"""
CONVS = ["sage", "gcn", "gat", "gatv2"]


@pytest.fixture(scope="module")
def graph(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("giant") / "graph"
    run("plimsoll", "simulate", "graph", "--nodes", 6000, "--degree", 10, "--features", 64, "--classes", 4, "--out", folder,
        "--seed", 2)
    return folder


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "nodes.yaml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def train(bin_dir, graph, recipe):
    """train(run, *arguments): trains into a run; its summary."""

    def train_into(run, *arguments, environment=None):
        return answer(bin_dir, "train", recipe, "--data", graph, "--run", run, *arguments, environment=environment)

    return train_into


@pytest.fixture(scope="module")
def whole(train, tmp_path_factory):
    return train(tmp_path_factory.mktemp("whole") / "run", "--threads", 1)["weights"]


def test_bits_do_not_depend_on_threads_prefetch_or_cache(train, whole, tmp_path):
    for i, arguments in enumerate([("--threads", 2), ("--threads", 3, "--prefetch", 0), ("--prefetch", 5)]):
        assert train(tmp_path / str(i), *arguments)["weights"] == whole


def test_the_smallest_budget_works_and_changes_no_bit(bin_dir, recipe, graph, train, whole, tmp_path):
    plan = plan_of(bin_dir, recipe, graph)
    assert plan["exact"]
    for budget in (plan["min_budget_bytes"], plan["min_budget_bytes"] + 400_000):
        summary = train(tmp_path / str(budget), "--threads", 1, "--budget", budget)
        assert summary["weights"] == whole


# 150 blocks an epoch, so that the third and later epochs are not sampled before the run.
LATER = ["-O", "training.block.seeds=4", "-O", "training.patience=1000", "-O"]


def test_start_up_and_the_smallest_budget_do_not_grow_with_epochs(bin_dir, recipe, graph):
    few, many = (plan_of(bin_dir, recipe, graph, *LATER, f"training.max_epochs={epochs}") for epochs in (4, 400))
    assert many["blocks_planned"] == few["blocks_planned"]
    for field in ("blocks", "bytes_read", "bytes_written"):
        assert many["reading"]["start_up"][field] == few["reading"]["start_up"][field]
    floors = 512 << 10  # By which the floors of two processes may differ.
    assert abs(many["min_budget_bytes"] - few["min_budget_bytes"]) < floors
    assert abs(many["breakdown"]["columns"] - few["breakdown"]["columns"]) == 0


def test_epochs_that_are_sampled_later_change_no_bit(bin_dir, recipe, graph, train, tmp_path):
    """Without a scratch file all epochs are sampled before the run."""
    more = [*LATER, "training.max_epochs=4"]
    before = train(tmp_path / "before", "--scratch", 0, *more)
    smallest = plan_of(bin_dir, recipe, graph, *more)["min_budget_bytes"]
    for budget in (smallest, smallest + 1_000_000, smallest + 4_000_000, 1 << 30):
        later = train(tmp_path / str(budget), "--threads", 1, "--budget", budget, *more)
        assert later["weights"] == before["weights"]
        assert later["start_up"]["blocks"] < before["start_up"]["blocks"]
        assert later["reruns"] == later["overflows"] == later["unforeseen"] == 0
    killed = [bin_dir / "plimsoll", "train", recipe, "--data", graph, "--run", tmp_path / "killed", "--resume", "--json", *more]
    kill_often(killed, 4, 4)
    assert summary_of(killed)["weights"] == before["weights"]


@pytest.fixture(scope="module")
def large(run, bin_dir, recipe, tmp_path_factory):
    """A command that trains in a small budget on a graph of which a block takes a small part."""
    folder = tmp_path_factory.mktemp("large") / "graph"
    run("plimsoll", "simulate", "graph", "--nodes", 100_000, "--degree", 5, "--features", 128, "--classes", 4, "--out", folder,
        "--seed", 2)
    more = ["-O", "training.max_epochs=2", "-O", "training.batch_size=200"]
    budget = plan_of(bin_dir, recipe, folder, *more)["min_budget_bytes"] + 10_000_000
    return [bin_dir / "plimsoll", "train", recipe, "--data", folder, "--threads", 1, "--budget", budget, "--json", *more]


def summary_of(command, *arguments):
    done = subprocess.run([str(word) for word in (*command, *arguments)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_plan_says_what_memory_buys(bin_dir, recipe, graph):
    """Budgets grow with their shares of the graph, reading falls, and the disk was measured."""
    plan = plan_of(bin_dir, recipe, graph)
    reading = plan["reading"]
    shares = reading["shares"]
    assert [part["share"] for part in shares] == [0.05, 0.1, 0.2, 0.5, 1.0]
    for less, more in zip(shares, shares[1:], strict=False):
        assert plan["min_budget_bytes"] <= less["budget_bytes"] <= more["budget_bytes"]
        assert less["bytes_read"] + less["bytes_written"] >= more["bytes_read"] + more["bytes_written"]
    assert all(part["compute_seconds"] > 0 for part in shares)
    assert reading["disk_rows_per_s"] > 0
    assert reading["start_up"]["blocks"] > 0
    assert reading["start_up"]["bytes_read"] > 0
    nodes, features = np.load(graph / "x.npy", mmap_mode="r").shape
    columns = sum(np.load(graph / f"{name}.npy", mmap_mode="r").nbytes for name in ("indptr", "indices")) + 4 * nodes * features
    without = plan["peak_bytes"] - plan["breakdown"].get("cache", 0)
    half = max(plan["min_budget_bytes"], without + columns / 2)
    assert shares[3]["budget_bytes"] == pytest.approx(half, rel=0.02)


def test_seconds_of_an_epoch_count_bytes_and_scattered_reads(bin_dir, recipe, large):
    """Neither is left out where there are both."""
    reading = plan_of(bin_dir, recipe, large[large.index("--data") + 1])["reading"]
    rates = {"bytes_read": "disk_reads_per_s", "bytes_written": "disk_writes_per_s", "pieces": "disk_rows_per_s"}
    assert reading["disk_reads_per_s"] > 0
    for part in reading["shares"]:
        seconds = sum(part[what] / reading[rate] for what, rate in rates.items() if part[what] > 0)
        assert part["epoch_seconds"] >= 0.999 * seconds
    run = reading["run"]  # Planning takes time too.
    assert run["seconds"] > reading["start_up"]["seconds"] + run["epochs"] * run["epoch_seconds"]


def test_blocks_that_wait_on_the_disk_change_no_bit(large, tmp_path):
    """Neither do kills; and the file in which they wait leaves nothing behind."""
    in_memory = summary_of(large, "--run", tmp_path / "memory", "--scratch", 0)
    assert in_memory["reading"]["bytes_written"] == in_memory["reading"]["predicted_bytes_written"] == 0
    assert 0.5 < in_memory["reading"]["predicted_bytes_read"] / in_memory["reading"]["bytes_read"] < 2
    for scratch in ("100MiB", "2GiB"):
        on_disk = summary_of(large, "--run", tmp_path / scratch, "--scratch", scratch)
        assert on_disk["weights"] == in_memory["weights"]
        if on_disk["reading"]["bytes_written"] == 0:
            pytest.skip("temporary files lie in memory, or their disk is full")
        assert on_disk["reading"]["bytes_read"] < in_memory["reading"]["bytes_read"]
        for what in ("bytes_read", "bytes_written"):
            assert 0.4 < on_disk["reading"][f"predicted_{what}"] / on_disk["reading"][what] < 2.5, what
    killed = [*large, "--run", tmp_path / "killed", "--scratch", "100MiB", "--resume"]
    kill_often(killed, 4, 2)
    assert summary_of(killed)["weights"] == in_memory["weights"]
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert not [name for name in left if "packs" in name]


@pytest.mark.parametrize("way", ["ring-direct", "pool-direct", "ring", "pool"])
def test_bits_do_not_depend_on_the_way_of_reading(bin_dir, recipe, graph, train, whole, tmp_path, way):
    budget = plan_of(bin_dir, recipe, graph)["min_budget_bytes"] + 500_000
    try:
        summary = train(tmp_path / way, "--budget", budget, environment={**os.environ, "PLIMSOLL_READ": way})
    except AssertionError as refusal:
        if "PLIMSOLL_READ" not in str(refusal) and way.split("-")[0] not in str(refusal):
            raise
        pytest.skip(f"{way} is refused here")
    assert summary["weights"] == whole


def test_kills_change_no_bit(bin_dir, recipe, graph, train, whole, tmp_path):
    folder = tmp_path / "run"
    command = [bin_dir / "plimsoll", "train", recipe, "--data", graph, "--run", folder, "--json", "--resume"]
    kill_often(command, times=8, longest=1.6)
    assert train(folder, "--resume")["weights"] == whole


@pytest.mark.parametrize("conv", CONVS)
def test_evaluation_takes_all_neighbours_as_pyg_does(bin_dir, graph, train, tmp_path, conv):
    torch = pytest.importorskip("torch")
    run = tmp_path / "run"
    train(run, "-O", f"gnn.conv={conv}", "-O", "gnn.jk=last")
    found = evaluate(bin_dir, run, graph)

    model = pyg_model(conv, load_weights(run), 64, 16, 4, 2)
    with torch.no_grad():
        logits = model(torch.from_numpy(np.load(graph / "x.npy")), edge_index_of(graph))
    y = torch.from_numpy(np.load(graph / "y.npy"))
    for split in found["splits"]:
        nodes = torch.from_numpy(np.load(graph / f"{split['name']}_idx.npy"))
        loss = torch.nn.functional.cross_entropy(logits[nodes], y[nodes]).item()
        accuracy = (logits[nodes].argmax(1) == y[nodes]).float().mean().item()
        assert split["models"][0]["loss"] == pytest.approx(loss, rel=2e-5)
        assert split["models"][0]["accuracy"] == pytest.approx(accuracy, abs=2 / len(nodes))
    assert {split["name"] for split in found["splits"]} == {"valid", "test"}


@pytest.mark.parametrize("conv, norm", [(conv, "none") for conv in CONVS] + [("sage", "batch")])
def test_a_step_is_that_of_pyg(graph, train, tmp_path, conv, norm):
    """A sample of all neighbours in PyTorch Geometric, every layer on all of its nodes; normalised are those that a
    trimmed layer makes."""
    torch = pytest.importorskip("torch")
    rate = 10
    weights = []
    for learning_rate in (0, rate):
        run = tmp_path / str(learning_rate)
        options = {"gnn.conv": conv, "gnn.norm": norm, "gnn.dropout": 0, "sampling.fan_outs": "[-1,-1]",
                   "training.max_epochs": 1, "training.optimizer": "sgd", "training.learning_rate": learning_rate,
                   "training.batch_size": 1000, "training.block.seeds": 1000}
        train(run, *(word for key, value in options.items() for word in ("-O", f"{key}={value}")))
        weights.append(load_weights(run))

    indptr, indices = (np.load(graph / f"{name}.npy").astype(np.int64) for name in ("indptr", "indices"))
    seeds = np.load(graph / "train_idx.npy")
    assert len(seeds) <= 1000
    target = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    made = np.union1d(seeds, indices[np.isin(target, seeds)])  # by the first layer
    assert len(made) < len(indptr) - 1
    sampled = np.isin(target, made)
    edge_index = torch.from_numpy(np.stack([indices[sampled], target[sampled]]))
    model = pyg_model(conv, {name: value for name, value in weights[0].items() if "norms" not in name}, 64, 16, 4, 2)
    norms = {f"norms.{i}": torch.nn.BatchNorm1d(16) if norm == "batch" else torch.nn.Identity() for i in (0, 1)}
    x = torch.from_numpy(np.load(graph / "x.npy"))
    for i, rows in enumerate((made, seeds)):
        x = model.convs[i](x, edge_index)
        x = x.index_copy(0, torch.from_numpy(rows), norms[f"norms.{i}"](x[rows]).relu())
    loss = torch.nn.functional.cross_entropy(model.lin(x[seeds]), torch.from_numpy(np.load(graph / "y.npy"))[seeds])
    loss.backward()
    expected = dict(model.named_parameters())
    for name, layer in norms.items():
        expected |= {f"{name}.{key}": value for key, value in layer.named_parameters()}
    assert len(expected) > 4
    for name, parameter in expected.items():
        found = (weights[0][name].astype(np.float64) - weights[1][name]) / rate
        gradient = parameter.grad.numpy()
        # A bias in front of batch normalisation has no gradient: what is there is what rounding leaves of sums.
        assert np.abs(found - gradient).max() <= 1e-5 * max(np.abs(gradient).max(), 1e-1), name


def test_evaluation_is_the_same_in_a_small_budget(bin_dir, graph, train, tmp_path):
    run = tmp_path / "run"
    train(run)
    said = [evaluate(bin_dir, run, graph, *words)
            for words in ([], ["--threads", "1", "--budget", "80MiB"], ["--threads", "3"])]
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize("conv", ["gcn", "gatv2"])
def test_evaluation_works_with_many_threads_where_training_does(bin_dir, recipe, graph, tmp_path, conv):
    """As many threads work as the budget has room for, and what they say is the same."""
    run = tmp_path / "run"
    words = [f"gnn.conv={conv}", "gnn.norm=batch", "training.max_epochs=1", "training.batch_size=1000",
             "training.block.seeds=1000", "sampling.fan_outs=[10,10]"]  # blocks larger than pieces of evaluation
    words = ["--threads", 16, *(word for option in words for word in ("-O", option))]
    budget = answer(bin_dir, "plan", recipe, "--data", graph, *words)["min_budget_bytes"]
    answer(bin_dir, "train", recipe, "--data", graph, "--run", run, "--budget", budget, *words)
    small = ["--threads", 16, "--budget", budget]
    assert evaluate(bin_dir, run, graph, *small) == evaluate(bin_dir, run, graph, "--threads", 2)

    def predict(name, *words):
        memory = answer(bin_dir, "predict", run, "--data", graph, "--out", tmp_path / name, *words)["memory"]
        assert memory["anonymous_peak_bytes"] <= memory["budget_bytes"], memory
        return {path.name: path.read_bytes() for path in (tmp_path / name).glob("*.npy")}

    roomy = predict("roomy", "--threads", 2)
    assert roomy
    for more in (0, 1_000_000, 4_000_000, 10_000_000):
        assert predict(str(more), "--threads", 16, "--budget", budget + more) == roomy


def refusal(bin_dir, recipe, data, tmp_path, *arguments):
    command = [bin_dir / "plimsoll", "train", recipe, "--data", data, "--run", tmp_path / "refused", *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    assert not (tmp_path / "refused").exists()
    return done.returncode, done.stderr


@pytest.mark.parametrize("arguments, code, about", [
    (("-O", "task=detection"), 2, "node_classification"),
    (("-O", "gnn.layers=3"), 2, "fan_outs"),
    (("-O", "gnn.norm=graph"), 2, "norm"),
    (("-O", "sampling.weighted=true"), 2, "no weights"),
    (("-O", "sampling.fan_outs=[-2, 1]"), 2, "fan_outs"),
    (("--budget", "20MiB"), 4, "smallest budget"),
])
def test_what_cannot_be_is_refused(bin_dir, recipe, graph, tmp_path, arguments, code, about):
    found, text = refusal(bin_dir, recipe, graph, tmp_path, *arguments)
    assert found == code and about in text, text


def test_a_column_that_was_cut_short_is_named(bin_dir, recipe, graph, tmp_path):
    import shutil

    copy = tmp_path / "graph"
    shutil.copytree(graph, copy)
    with open(copy / "x.npy", "r+b") as file:
        file.truncate(1_000_000)
    code, text = refusal(bin_dir, recipe, copy, tmp_path)
    assert code == 3 and "x.npy" in text, text


def test_a_column_that_is_cut_short_in_a_run_is_named(bin_dir, recipe, graph, train, whole, tmp_path):
    """The run ends with a checkpoint, and goes on from there when the file is whole again."""
    import shutil

    copy, folder = tmp_path / "graph", tmp_path / "run"
    shutil.copytree(graph, copy)
    column = (copy / "x.npy").read_bytes()
    long = ["-O", "training.max_epochs=500", "-O", "training.patience=500"]
    budget = plan_of(bin_dir, recipe, graph, *long)["min_budget_bytes"] + 300_000
    command = [bin_dir / "plimsoll", "train", recipe, "--data", copy, "--run", folder, "--budget", budget, "--threads", 1]
    words = [str(word) for word in command]
    run = subprocess.Popen(words + long, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    with open(copy / "x.npy", "r+b") as file:
        file.truncate(400_000)
    _, text = run.communicate(timeout=100)
    assert run.returncode == 3 and "x.npy" in text, text
    (copy / "x.npy").write_bytes(column)
    words += ["--resume", "-O", "training.max_epochs=1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def forbid_io_uring():
    """For the process that comes: io_uring_setup fails, as in a container that forbids it (seccomp(2))."""
    load, jump_equal, give = 0x20, 0x15, 0x06
    instructions = [(load, 0, 0, 0), (jump_equal, 0, 1, 425), (give, 0, 0, 0x00050000 | 1), (give, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxQ", len(instructions), ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, filter_mode = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or libc.prctl(set_seccomp, filter_mode, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


@pytest.mark.parametrize("more", [300_000, 3_000_000])
def test_io_uring_may_be_forbidden(bin_dir, recipe, graph, whole, tmp_path, more):
    budget = plan_of(bin_dir, recipe, graph)["min_budget_bytes"] + more
    command = [bin_dir / "plimsoll", "train", recipe, "--data", graph, "--run", tmp_path / "run", "--json", "--threads", 1,
               "--budget", budget]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300,
                          preexec_fn=forbid_io_uring)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["weights"] == whole


@pytest.mark.parametrize("column", ["x.npy", "indices.npy"])
def test_a_block_of_the_disk_that_cannot_be_read_is_named(bin_dir, failing_disk, recipe, graph, whole, tmp_path,
                                                          column):
    """The run ends with file and offset, what was published stays, and it goes on when the disk is whole again."""
    folder = tmp_path / "run"
    budget = plan_of(bin_dir, recipe, graph)["min_budget_bytes"] + 300_000
    command = [bin_dir / "plimsoll", "train", recipe, "--data", graph, "--run", folder, "--threads", 1, "--json", "--budget",
               budget]
    words = [str(word) for word in command]
    # Every seed wants some of the rows, so that the run gets no further than to the first block.
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env=failing_disk(column, 150_000))
    assert done.returncode == 1, done.stderr
    assert column in done.stderr and "Input/output error" in done.stderr, done.stderr
    whole_again = subprocess.run([*words, "--resume"], capture_output=True, text=True, timeout=300,
                                 env={**os.environ, "PLIMSOLL_READ": "pool"})
    assert whole_again.returncode == 0, whole_again.stderr
    assert json.loads(whole_again.stdout)["weights"] == whole


@pytest.mark.parametrize("conv", ["sage", "gcn"])
@pytest.mark.parametrize("column, byte", [("indices.npy", 150_000), ("indptr.npy", 30_000), ("x.npy", 150_000)])
def test_evaluation_names_what_cannot_be_read(bin_dir, failing_disk, graph, train, tmp_path, column, byte, conv):
    """Edges as well are read, not mapped: the end is an error and no signal."""
    train(tmp_path / "run", "-O", f"gnn.conv={conv}", "-O", "training.max_epochs=1")
    for budget in ([], ["--budget", "80MiB"]):
        command = [str(bin_dir / "plimsoll"), "evaluate", str(tmp_path / "run"), "--data", str(graph), *budget]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=failing_disk(column, byte))
        assert done.returncode == 1, done.stderr
        assert column in done.stderr and "Input/output error" in done.stderr, done.stderr
    assert not (tmp_path / "run" / "evaluation.json").exists()


def test_a_full_disk_ends_training_and_a_larger_one_goes_on(bin_dir, recipe, graph, whole, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=36k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mount of a small file system is not allowed here")
    words = [str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(graph), "--run", str(disk / "run"), "--json"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert done.returncode == 1, done.stderr
        assert "No space left on device" in done.stderr and "make room" in done.stderr, done.stderr
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        again = subprocess.run([*words, "--resume"], capture_output=True, text=True, timeout=300)
        if again.returncode == 2:  # it ended before there was a run to go on with
            again = subprocess.run(words, capture_output=True, text=True, timeout=300)
        assert again.returncode == 0, again.stderr
        assert json.loads(again.stdout)["weights"] == whole
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def test_learns_what_neighbours_say(train, bin_dir, graph, tmp_path):
    """The simulated graph's classes can be told from neighbours far better than by chance."""
    run = tmp_path / "run"
    train(run, "-O", "training.max_epochs=8")
    accuracy = {split["name"]: split["models"][0]["accuracy"] for split in evaluate(bin_dir, run, graph)["splits"]}
    assert accuracy["test"] > 0.8, accuracy
