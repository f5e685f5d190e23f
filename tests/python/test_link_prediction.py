"""Link prediction on one giant graph: the same bits for every budget, and what PyTorch Geometric and scikit-learn say."""

import csv
import json
import subprocess

import numpy as np
import pytest
from giant_runs import answer, edge_index_of, evaluate, kill_often, load_weights, plan_of, pyg_model

RECIPE = """
task: link_prediction
sampling: {fan_outs: [6, 4]}
training: {max_epochs: 2, batch_size: 4000, learning_rate: 0.01, weight_decay: 0, checkpoint_every_s: 0,
           block: {seeds: 512}}
gnn: {conv: sage, layers: 2, hidden: 16, dropout: 0.3}
"""
CONVS = ["sage", "gcn", "gat", "gatv2", "gin"]
RANKED = 100


@pytest.fixture(scope="module")
def whole_graph(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "graph"
    run("plimsoll", "simulate", "graph", "--nodes", 3000, "--degree", 8, "--features", 32, "--classes", 8, "--out", folder,
        "--seed", 2)
    return folder


@pytest.fixture(scope="module")
def graph(run, whole_graph, tmp_path_factory):
    folder = tmp_path_factory.mktemp("giant") / "split"
    run("plimsoll", "split-edges", whole_graph, "--out", folder, "--valid", 0.05, "--test", 0.1)
    run("plimsoll", "verify", folder)
    return folder


@pytest.fixture(scope="module")
def recipe(tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "links.yaml"
    path.write_text(RECIPE)
    return path


@pytest.fixture(scope="module")
def train(bin_dir, graph, recipe):
    """train(run, *arguments): trains into a run; its summary."""

    def train_into(run, *arguments, data=graph):
        return answer(bin_dir, "train", recipe, "--data", data, "--run", run, *arguments)

    return train_into


@pytest.fixture(scope="module")
def whole(train, tmp_path_factory):
    return train(tmp_path_factory.mktemp("whole") / "run", "--threads", 1)["weights"]


def test_bits_do_not_depend_on_threads_prefetch_or_cache(train, whole, tmp_path):
    for i, arguments in enumerate([("--threads", 2), ("--threads", 3, "--prefetch", 0), ("--prefetch", 5)]):
        assert train(tmp_path / str(i), *arguments)["weights"] == whole


def test_the_smallest_budget_works_and_changes_no_bit(bin_dir, recipe, graph, train, whole, tmp_path):
    plan = plan_of(bin_dir, recipe, graph)
    assert plan["exact"] and plan["all_blocks_known"]
    for budget in (plan["min_budget_bytes"], plan["min_budget_bytes"] + 400_000):
        summary = train(tmp_path / str(budget), "--threads", 1, "--budget", budget)
        assert summary["weights"] == whole
        assert summary["unforeseen"] == summary["reruns"] == summary["overflows"] == 0


def test_a_static_plan_sees_a_block_from_above(bin_dir, recipe, graph):
    """As of all models (test_plan.py); to the byte for single blocks: sample_plan_test.cc."""
    measured, static = (plan_of(bin_dir, recipe, graph, "--mode", mode) for mode in ("measured", "static"))
    needs = [plan["worst_block"]["range_bytes"] for plan in (measured, static)]
    assert needs[0] <= needs[1] <= 1.05 * needs[0]


def test_kills_change_no_bit(bin_dir, recipe, graph, train, whole, tmp_path):
    folder = tmp_path / "run"
    command = [bin_dir / "plimsoll", "train", recipe, "--data", graph, "--run", folder, "--json", "--resume"]
    kill_often(command, times=6, longest=2.0)
    assert train(folder, "--resume")["weights"] == whole


def targets_in(block):
    """How often an edge that a block predicts is in its sample, whichever way."""
    pairs = np.array(block["pairs"]).reshape(-1, 2)[np.array(block["pair_y"]) == 1]
    targets = set(map(tuple, np.concatenate([pairs, pairs[:, ::-1]]).tolist()))
    return sum(edge in targets for edge in map(tuple, np.array(block["edges"]).reshape(-1, 2).tolist()))


def test_a_step_is_that_of_pyg(bin_dir, run, graph, train, tmp_path):
    """Loss and gradients of the dot products' cross-entropy on the same samples: a step of SGD with rate 1 shows them."""
    torch = pytest.importorskip("torch")
    edges = len(np.load(graph / "train_edges.npy"))
    block, negatives = 2048, 2
    one_step = ["-O", f"training.batch_size={edges}", "-O", f"training.block.seeds={block}", "-O", "training.max_epochs=1",
                "-O", "training.optimizer=sgd", "-O", "training.gradient_clip_val=0", "-O", "gnn.dropout=0",
                "-O", f"sampling.negatives={negatives}"]
    train(tmp_path / "before", *one_step, "-O", "training.learning_rate=0")
    train(tmp_path / "after", *one_step, "-O", "training.learning_rate=1")
    before, after = load_weights(tmp_path / "before"), load_weights(tmp_path / "after")

    model = pyg_model("sage", before, 32, 16, 16, 2).double()
    loss = 0
    for number in range(-(-edges // block)):
        found = json.loads(run("link_twin", graph, "block", edges, block, negatives, 42, number, 6, 4))
        assert not targets_in(found), "an edge is predicted and in the sample"
        x = torch.tensor(found["x"], dtype=torch.double).reshape(-1, 32)
        edge_index = torch.tensor(found["edges"]).reshape(-1, 2).T
        pairs = torch.tensor(found["pairs"]).reshape(-1, 2).T
        z = model(x, edge_index)
        scores = (z[pairs[0]] * z[pairs[1]]).sum(dim=1)
        loss = loss + torch.nn.functional.binary_cross_entropy_with_logits(
            scores, torch.tensor(found["pair_y"], dtype=torch.double), reduction="sum") / (edges * (1 + negatives))
    loss.backward()
    with open(tmp_path / "after" / "seed-42" / "gnn" / "metrics.csv") as file:
        assert float(next(csv.DictReader(file))["training_loss"]) == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in model.named_parameters():
        step = before[name].astype(np.float64) - after[name]
        scale = np.abs(parameter.grad.numpy()).max()
        np.testing.assert_allclose(step, parameter.grad.numpy(), atol=2e-4 * scale + 1e-7, err_msg=name)


@pytest.mark.parametrize("conv", CONVS)
def test_evaluation_takes_all_neighbours_as_pyg_does(bin_dir, run, graph, train, tmp_path, conv):
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("sklearn.metrics")
    train(tmp_path / "run", "-O", f"gnn.conv={conv}", "-O", "training.learning_rate=0.003")
    found = evaluate(bin_dir, tmp_path / "run", graph)
    model = pyg_model(conv, load_weights(tmp_path / "run"), 32, 16, 16, 2).double()
    with torch.no_grad():
        z = model(torch.from_numpy(np.load(graph / "x.npy")).double(), edge_index_of(graph)).numpy()

    def scores(a, b):
        return (z[a] * z[b]).sum(axis=1)

    assert [split["name"] for split in found["splits"]] == ["valid", "test"]
    for number, split in enumerate(found["splits"], 1):
        negatives = json.loads(run("link_twin", graph, "judged", number, 42, RANKED))
        edges = np.load(graph / f"{split['name']}_edges.npy")
        assert split["edges"] == len(edges) and split["ranked_negatives"] == RANKED
        positive = scores(edges[:, 0], edges[:, 1])
        both = np.concatenate([positive, scores(negatives["nodes"], negatives["neighbours"])])
        truth = np.repeat([1, 0], len(edges))
        ranked = scores(negatives["ranked_nodes"], negatives["ranked_neighbours"]).reshape(-1, RANKED)
        assert (np.array(negatives["ranked_nodes"]).reshape(-1, RANKED) == edges[:, 1:]).all()
        rank = 1 + (ranked > positive[:, None]).sum(1) + 0.5 * (ranked == positive[:, None]).sum(1)
        said = split["models"][0]
        assert said["loss"] == pytest.approx(np.logaddexp(0, np.where(truth, -both, both)).mean(), rel=1e-4)
        assert said["auc"] == pytest.approx(metrics.roc_auc_score(truth, both), abs=1e-4)
        assert said["average_precision"] == pytest.approx(metrics.average_precision_score(truth, both), abs=1e-4)
        assert said["mrr"] == pytest.approx((1 / rank).mean(), abs=1e-3)
        for k, share in said["hits"].items():
            assert share == pytest.approx((rank <= int(k)).mean(), abs=3 / len(edges))


def test_evaluation_is_the_same_in_a_small_budget(bin_dir, graph, train, tmp_path):
    train(tmp_path / "run")
    said = [evaluate(bin_dir, tmp_path / "run", graph, *arguments)
            for arguments in ([], ["--threads", "1", "--budget", "80MiB"], ["--threads", "3"])]
    assert said[0] == said[1] == said[2]


@pytest.mark.parametrize("column, byte", [("indices.npy", 50_000), ("indptr.npy", 20_000)])
def test_evaluation_names_what_cannot_be_read(bin_dir, failing_disk, graph, train, tmp_path, column, byte):
    train(tmp_path / "run", "-O", "training.max_epochs=1")
    command = [str(bin_dir / "plimsoll"), "evaluate", str(tmp_path / "run"), "--data", str(graph)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=failing_disk(column, byte))
    assert done.returncode == 1, done.stderr
    assert column in done.stderr and "Input/output error" in done.stderr, done.stderr


def test_no_held_out_edge_and_no_edge_as_a_negative(run, whole_graph, graph):
    """Neither what is sampled for any block nor what judges has one."""
    def pairs_of(folder):
        return set(map(tuple, edge_index_of(folder).T.tolist()))

    whole, kept = pairs_of(whole_graph), pairs_of(graph)
    held_out = set()
    for split in ("valid", "test"):
        held_out |= set(map(tuple, np.load(graph / f"{split}_edges.npy").tolist()))
    assert whole == kept | held_out and not kept & held_out
    assert not kept & {(b, a) for a, b in held_out}
    for number in (1, 2):
        negatives = json.loads(run("link_twin", graph, "judged", number, 42, RANKED))
        drawn = set(zip(negatives["neighbours"] + negatives["ranked_neighbours"],
                        negatives["nodes"] + negatives["ranked_nodes"]))
        assert not drawn & whole and all(a != b for a, b in drawn)


def test_learns_who_is_near(bin_dir, graph, train, tmp_path):
    """Far better than features say: a node's own are mostly noise."""
    metrics = pytest.importorskip("sklearn.metrics")
    run = tmp_path / "run"
    train(run, "-O", "training.max_epochs=10", "-O", "training.batch_size=1000", "-O", "gnn.dropout=0")
    auc = {split["name"]: split["models"][0]["auc"] for split in evaluate(bin_dir, run, graph)["splits"]}
    x = np.load(graph / "x.npy")
    edges = np.load(graph / "test_edges.npy")
    others = np.random.default_rng(1).integers(len(x), size=edges.shape)
    both = np.concatenate([edges, others])
    features = metrics.roc_auc_score(np.repeat([1, 0], len(edges)), (x[both[:, 0]] * x[both[:, 1]]).sum(1))
    assert auc["test"] > features + 0.1, (auc, features)


def refusal(bin_dir, recipe, data, tmp_path, *arguments):
    command = [bin_dir / "plimsoll", "train", recipe, "--data", data, "--run", tmp_path / "refused", *arguments]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    assert not (tmp_path / "refused").exists()
    return done.returncode, done.stderr


def test_what_cannot_be_is_refused(bin_dir, recipe, whole_graph, graph, tmp_path):
    for data, arguments, code, about in [
            (whole_graph, (), 3, "split-edges"),
            (graph, ("-O", "task=node_classification", "-O", "gnn.layers=3"), 2, "fan_outs"),
            (graph, ("-O", "task=graph_classification"), 2, "link_prediction"),
            (graph, ("-O", "sampling.negatives=0"), 2, "negatives"),
            (graph, ("--budget", "20MiB"), 4, "smallest budget")]:
        found, text = refusal(bin_dir, recipe, data, tmp_path, *arguments)
        assert found == code and about in text, text


def complete_graph(run, folder, nodes, leave_out=()):
    """All pairs of nodes but some, with edges held out."""
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a < b and (a, b) not in leave_out]
    np.save(folder / "edges.npy", np.array(pairs))
    np.save(folder / "x.npy", np.random.default_rng(0).random((nodes, 4), np.float32))
    run("plimsoll", "ingest", "graph", "--edges", folder / "edges.npy", "--undirected", "--ids", "dense", "--features",
        folder / "x.npy", "--out", folder / "whole")
    run("plimsoll", "split-edges", folder / "whole", "--out", folder / "split", "--valid", 0.2, "--test", 0.2)
    return folder / "split"


def test_a_graph_in_which_all_pairs_are_edges_is_refused(bin_dir, run, recipe, tmp_path):
    """It had no end, and took no signal."""
    code, text = refusal(bin_dir, recipe, complete_graph(run, tmp_path, 40), tmp_path)
    assert code == 2 and "all pairs of the 40 nodes have an edge" in text and "remove some edges" in text, text


def test_a_nearly_complete_graph_trains(bin_dir, run, recipe, train, tmp_path):
    data = complete_graph(run, tmp_path, 60, {(3, 50), (10, 11), (20, 40)})
    arguments = ["-O", "training.max_epochs=1", "-O", "training.block.seeds=64"]
    weights = {train(tmp_path / str(threads), *arguments, "--threads", threads, data=data)["weights"] for threads in (1, 2)}
    assert len(weights) == 1


def test_a_split_that_cannot_be_is_refused(bin_dir, graph, whole_graph, tmp_path):
    for data, arguments, code, about in [(graph, [], 3, "already split"), (whole_graph, ["--valid", "0"], 2, "--valid"),
                                         (tmp_path, [], 3, "manifest")]:
        command = [bin_dir / "plimsoll", "split-edges", data, "--out", tmp_path / "out", *arguments]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=100)
        assert done.returncode == code and about in done.stderr, done.stderr
        assert not (tmp_path / "out").exists()


def test_edges_of_a_real_graph_are_found(bin_dir, run, data_dir, recipe, train, tmp_path):
    """Cora: held-out citations, far better than a features' dot product (0.80) tells them."""
    source = data_dir / "graph-cora"
    if not source.is_dir():
        pytest.skip(f"no graph at {source} (set PLIMSOLL_DATA)")
    features = tmp_path / "x.npy"
    np.save(features, cora_features(source))
    run("plimsoll", "ingest", "graph", "--edges", source / "edges.tsv.zst", "--undirected", "--dedup", "--ids", "dense",
        "--features", features, "--out", tmp_path / "cora")
    run("plimsoll", "split-edges", tmp_path / "cora", "--out", tmp_path / "split", "--valid", 0.05, "--test", 0.1)
    train(tmp_path / "run", "-O", "gnn.conv=gcn", "-O", "gnn.hidden=32", "-O", "gnn.dropout=0", "-O", "training.max_epochs=20",
          "-O", "training.batch_size=512", "-O", "training.learning_rate=0.003", "-O", "sampling.fan_outs=[5, 5]",
          data=tmp_path / "split")
    found = evaluate(bin_dir, tmp_path / "run", tmp_path / "split")["splits"]
    assert found[1]["name"] == "test" and found[1]["models"][0]["auc"] > 0.88, found


def cora_features(source):
    text = subprocess.run(["zstd", "-dc", str(source / "nodes.tsv.zst")], capture_output=True, text=True, check=True).stdout
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    x = np.zeros((len(rows), 1433), dtype=np.float32)
    for row in rows:
        x[int(row[0]), [int(column) for column in row[3].split()]] = 1
    return x
