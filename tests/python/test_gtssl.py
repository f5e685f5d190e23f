"""Pretraining on trees: what it judges beside a twin in torch, the same weights for every budget, and tuning from its weights."""

import json
import subprocess

import numpy as np
import pytest
from package_data import plimsoll

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from scipy.sparse import coo_matrix  # noqa: E402
from scipy.sparse.csgraph import breadth_first_order  # noqa: E402
from sgmp_twin import SgmpTwin  # noqa: E402
from torch_geometric.data import Data  # noqa: E402

RECIPE = """
task: tree_pretraining
model: gtmp
split: {by: graph, validation: 0.3, test: 0}
training: {max_epochs: 2, batch_size: 12, learning_rate: 0.005, weight_decay: 0, block: {graphs: 5, nodes: 60}}
paths: {hidden: 8, layers: 2, tile: 32, direction: ancestor}
pretraining: {bins: 12, margin: 0}
"""
MODEL = ("run", "seed-42", "gnn", "model.safetensors")


def trees(count, seed=1):
    """Trees whose parents come first, stored both ways, of 1 node and more."""
    rng = np.random.default_rng(seed)
    for g in range(count):
        size = 1 if g == 3 else int(rng.integers(2, 25))
        parent = [max(0, n - 1 - int(4 * rng.random() ** 2)) for n in range(1, size)]
        pos = np.zeros((size, 3), np.float32)
        for n in range(1, size):
            pos[n] = pos[parent[n - 1]] + (1 + g % 2) * rng.normal(size=3)
        down = torch.tensor([parent, list(range(1, size))], dtype=torch.long).reshape(2, -1)
        yield Data(x=torch.tensor(rng.normal(size=(size, 3)).astype(np.float32)), pos=torch.tensor(pos),
                   edge_index=torch.cat([down, down.flip(0)], 1), y=torch.tensor(g % 2))


@pytest.fixture(scope="module")
def tree_set(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees") / "set"
    plimsoll.from_pyg(trees(30), folder)
    return folder


@pytest.fixture
def call(bin_dir, tmp_path):
    """call(verb, data, *options, expect=0): JSON of train, plan or evaluate on a recipe and tmp_path/run, or errors."""

    def run(verb, data, *options, expect=0, recipe=RECIPE):
        (tmp_path / "recipe.yaml").write_text(recipe)
        overrides = [part for option in map(str, options) if "=" in option for part in ("-O", option)]
        others = [option for option in map(str, options) if "=" not in option]
        what = {"train": [tmp_path / "recipe.yaml", "--run", tmp_path / "run", "--force"], "plan": [tmp_path / "recipe.yaml"],
                "evaluate": [tmp_path / "run"], "predict": [tmp_path / "run", "--out", tmp_path / "out"]}[verb]
        if "--resume" in others:
            what = what[:-1]
        done = subprocess.run(list(map(str, [bin_dir / "plimsoll", verb, *what, "--data", data, "--json", *overrides, *others])),
                              capture_output=True, text=True)
        assert done.returncode == expect, done.stderr
        return json.loads(done.stdout) if expect == 0 else done.stderr

    return run


def histogram(distances, bins, range):
    """As nn/tree_pairs.h has it, from its formula."""
    width = range / (bins - 1)
    centres = np.arange(bins) * width
    e = np.exp(-((np.minimum(distances, range)[:, None] - centres) ** 2) / (2 * width**2)).sum(0)
    return np.cumsum(e / e.sum()) if e.sum() > 0 else np.zeros(bins)


def parent_of(data):
    parent = np.full(len(data.x), -1)
    source, target = data.edge_index.numpy()
    parent[target[source < target]] = source[source < target]
    return parent


def expected(twin, graphs, range, order, leaves=True):
    """Means over nodes of growth, order with a margin of 0, and growth by the parent's edge."""
    columns = []
    for data in graphs:
        embeddings = twin.linear("lin1", twin.states(data, 0, None)).relu()
        said = twin.linear("lin2", embeddings).abs().detach().numpy()
        parent, pos = parent_of(data), data.pos.double().numpy()
        to_parent = np.linalg.norm(pos - pos[parent], axis=1)
        for n in np.arange(len(parent)):
            target = histogram(to_parent[parent == n], 12, range)
            growth = np.abs(np.cumsum(said[n] / said[n].sum()) - target).sum()
            edge = np.abs(histogram(to_parent[n : n + 1] if parent[n] >= 0 else np.zeros(0), 12, range) - target).sum()
            above = (embeddings[n] - embeddings[parent[n]]).relu() if parent[n] >= 0 else torch.zeros(1)
            counts = leaves or (parent == n).any()
            columns.append([counts * growth, float((above**2 if order == "vendrov" else above).sum().detach()), counts * edge])
    return np.mean(columns, axis=0)


@pytest.mark.parametrize("options", [(), ("pretraining.order=norm", "pretraining.range=3"),
                                     ("pretraining.order=squared", "pretraining.leaves=false", "model=sgmp")], ids=str)
def test_losses_are_those_of_the_twin(tree_set, call, tmp_path, options):
    call("train", tree_set, *options)
    graphs = list(trees(30, seed=5))
    plimsoll.from_pyg(graphs, tmp_path / "others")
    found = call("evaluate", tmp_path / "others")["splits"][0]
    twin = SgmpTwin(tmp_path.joinpath(*MODEL))
    assert found["items"] == sum(len(data.x) for data in graphs)
    order = "vendrov" if not options else "norm"
    growth, ordered, edge = expected(twin, graphs, 3 if options[1:2] == ("pretraining.range=3",) else twin.config["cutoff"],
                                     order, "pretraining.leaves=false" not in options)
    judged = found["models"][0]
    assert judged["growth"] == pytest.approx(growth, rel=1e-4)
    assert judged["parent_edge"] == pytest.approx(edge, rel=1e-4)
    assert judged["order"] == pytest.approx(ordered, rel=1e-4, abs=1e-6)
    assert judged["loss"] == pytest.approx(judged["growth"] + judged["order"], rel=1e-5)


def stars(leaves):
    for _ in range(12):
        down = torch.tensor([[0] * leaves, list(range(1, leaves + 1))])
        yield Data(x=torch.ones(leaves + 1, 2), pos=torch.eye(leaves + 1)[:, :3] if leaves == 2 else torch.zeros(leaves + 1, 3),
                   edge_index=down, y=torch.tensor(0))


@pytest.mark.parametrize("order", ["vendrov", "norm", "squared"])
def test_unrelated_nodes_are_told_apart(call, tmp_path, order):
    """Of a root with two ends each end has the other alone, and the root nobody; of equal embeddings the loss is the margin."""
    plimsoll.from_pyg(stars(2), tmp_path / "set")
    call("train", tmp_path / "set", "pretraining.margin=3", f"pretraining.order={order}", "training.max_epochs=1")
    found = call("evaluate", tmp_path / "set")["splits"][0]["models"][0]
    twin, data = SgmpTwin(tmp_path.joinpath(*MODEL)), next(stars(2))
    h = twin.linear("lin1", twin.states(data, 0, None)).relu()
    total = 0
    for end, other in ((1, 2), (2, 1)):
        above, apart = (h[end] - h[0]).relu(), h[end] - h[other]
        if order == "vendrov":
            above, apart = above**2, apart.relu()
        distance = apart.norm() if order == "norm" else (apart**2).sum()
        total += above.sum() + (3 - distance).relu()
    assert found["order"] == pytest.approx(float(total.detach()) / 3, rel=1e-4)
    # A chain has nobody to be told from.
    down = torch.tensor([[0, 1], [1, 2]])
    plimsoll.from_pyg([Data(x=torch.ones(3, 2), pos=torch.eye(3), edge_index=down, y=torch.tensor(0))] * 6, tmp_path / "chain")
    losses = [call("evaluate", tmp_path / "chain")["splits"][0]["models"][0]["order"]]
    call("train", tmp_path / "set", "pretraining.margin=0", f"pretraining.order={order}", "training.max_epochs=1")
    losses.append(call("evaluate", tmp_path / "chain")["splits"][0]["models"][0]["order"])
    assert losses[0] < 3 and losses[1] < 3


def test_the_same_weights_for_every_budget_and_thread(tree_set, call):
    options = ("pretraining.margin=1",)
    plan = call("plan", tree_set, *options)
    assert plan["exact"], plan["why_inexact"]
    assert plan["worst_block"]["peak_bytes"] == plan["worst_block"]["verified_peak_bytes"]
    weights = set()
    for threads, budget in ((1, plan["min_budget_bytes"]), (2, plan["min_budget_bytes"]), (4, "1GiB")):
        done = call("train", tree_set, *options, "--threads", threads, "--budget", budget)
        weights.add(done["weights"])
        assert done["memory"]["anonymous_peak_bytes"] <= done["planned_peak_bytes"]
        assert (done["overflows"], done["unforeseen"]) == (0, 0)
    assert len(weights) == 1
    call("train", tree_set, *options, "training.max_epochs=1")
    assert call("train", tree_set, *options, "--resume")["weights"] in weights
    assert call("train", tree_set, "pretraining.margin=1", "pretraining.order_weight=0")["weights"] not in weights


STAGES = ("task=tree_classification", "fine_tuning.max_epochs=3", "split.test=0.2")


def hashes_of(done):
    return {stage["stage"]: stage["weights"] for stage in done["stages"]}


def test_one_run_pretrains_tunes_and_starts_from_scratch(tree_set, call, tmp_path):
    done = call("train", tree_set, *STAGES, "--seeds", 2)
    assert [(stage["seed"], stage["stage"]) for stage in done["stages"]] == [
        (seed, stage) for seed in (42, 43) for stage in ("pretrain", "fine_tune", "scratch")]
    # Each stage is what a run of its own would be.
    hashes = {stage["stage"]: stage["weights"] for stage in done["stages"] if stage["seed"] == 42}
    kept = (tmp_path / "run").rename(tmp_path / "kept")
    given = ("training.max_epochs=3", "training.learning_rate=0.0003", "task=graph_classification", "split.test=0.2")
    others = {"pretrain": call("train", tree_set, "split.test=0.2")["weights"]}
    others["scratch"] = call("train", tree_set, *given)["weights"]
    others["fine_tune"] = call("train", tree_set, *given, f"init_from={kept / 'seed-42' / 'pretrain' / 'model.safetensors'}")["weights"]
    assert hashes == others and len(set(hashes.values())) == 3


def test_the_same_stages_for_every_budget_thread_and_kill(tree_set, call, tmp_path):
    smallest = max(stage["min_budget_bytes"] for stage in call("plan", tree_set, *STAGES)["stages"])
    first = hashes_of(call("train", tree_set, *STAGES, "--threads", 1, "--budget", smallest))
    assert hashes_of(call("train", tree_set, *STAGES, "--threads", 2, "--budget", "1GiB")) == first
    # As if it had been killed while it tuned.
    seed = tmp_path / "run" / "seed-42"
    for file in (*(seed / "scratch").rglob("*.safetensors"), seed / "fine_tune" / "model.safetensors",
                 sorted((seed / "fine_tune" / "checkpoints").iterdir())[-1]):
        file.unlink()
    assert hashes_of(call("train", tree_set, *STAGES, "--resume")) == first


def test_verdicts_of_a_run_of_stages(tree_set, call, tmp_path):
    call("train", tree_set, *STAGES, "pretraining.angle_bins=5", "--seeds", 2)
    splits = {split["name"]: split for split in call("evaluate", tree_set)["splits"]}
    assert set(splits) == {"validation", "test"}
    for split in splits.values():
        by = {(model["name"], model.get("seed")): model for model in split["models"]}
        assert set(by) == {("fine_tune", 42), ("fine_tune", 43), ("scratch", 42), ("scratch", 43),
                           ("5 nearest in shape", None), ("most frequent class", None)}
        assert by["most frequent class", None]["auc"] == 0.5
        assert [model["seed"] for model in split["pretraining"]] == [42, 43]
        assert all(model["growth"] > 0 and model["angle"] > 0 for model in split["pretraining"])
    report = (tmp_path / "run" / "report.html").read_text()
    assert report.count('aria-label="tree of') == splits["test"]["graphs"]
    call("predict", tree_set)
    said = np.load(tmp_path / "out" / "probability.npy")
    assert said.shape == (30, 2)


def test_trees_without_a_class_pretrain_alone(call, tmp_path):
    graphs = list(trees(30))
    for graph in graphs[::3]:
        graph.y = torch.tensor(-1)
    plimsoll.from_pyg(graphs, tmp_path / "some")
    done = call("train", tmp_path / "some", *STAGES)
    counts = {stage["stage"]: stage["graphs"] for stage in done["stages"]}
    assert counts["pretrain"] > counts["fine_tune"] == counts["scratch"]
    assert sum(split["graphs"] for split in call("evaluate", tmp_path / "some")["splits"]) < 30 - counts["fine_tune"]
    for graph in graphs:
        graph.y = torch.tensor(-1)
    plimsoll.from_pyg(graphs, tmp_path / "none")
    assert "set task: tree_pretraining" in call("train", tmp_path / "none", *STAGES, expect=3)
    assert "pretrains its own" in call("train", tmp_path / "some", *STAGES, "init_from=nowhere", expect=2)


def test_angles_of_children(call, tmp_path):
    """A chain that turns by a right angle at its second node: what is said of that node is compared with one bin alone."""
    down = torch.tensor([[0, 1], [1, 2]])
    pos = torch.tensor([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]])
    plimsoll.from_pyg([Data(x=torch.ones(3, 2), pos=pos, edge_index=down, y=torch.tensor(0))] * 6, tmp_path / "chain")
    call("train", tmp_path / "chain", "pretraining.angle_bins=5", "training.max_epochs=1")
    found = call("evaluate", tmp_path / "chain")["splits"][0]["models"][0]
    twin = SgmpTwin(tmp_path.joinpath(*MODEL))
    data = Data(x=torch.ones(3, 2), pos=pos, edge_index=down)
    said = twin.linear("lin2", twin.linear("lin1", twin.states(data, 0, None)).relu())[:, 12:].abs().detach().numpy()
    bins = np.arange(5) * np.pi / 4
    e = np.exp(-((np.pi / 2 - bins) ** 2) / (2 * (np.pi / 4) ** 2))
    targets = np.stack([np.zeros(5), np.cumsum(e / e.sum()), np.zeros(5)])  # a root has no direction, an end no child
    expected = np.abs(np.cumsum(said / said.sum(1, keepdims=True), 1) - targets).sum(1).mean()
    assert found["angle"] == pytest.approx(expected, rel=1e-4)
    assert found["loss"] == pytest.approx(found["growth"] + found["order"] + found["angle"], rel=1e-5)


def test_a_plan_without_data_is_one_with(tree_set, call):
    for options in ((), ("pretraining.angle_bins=5", "pretraining.order=norm")):
        measured, static = (call("plan", tree_set, *options, f"memory.estimation={mode}")["worst_block"]["peak_bytes"]
                            for mode in ("measured", "static"))
        assert measured == static


def test_another_task_starts_from_its_weights(tree_set, call, tmp_path):
    call("train", tree_set)
    pretrained = tmp_path.joinpath(*MODEL).rename(tmp_path / "pretrained.safetensors")
    tuned = call("train", tree_set, "task=graph_classification", f"init_from={pretrained}")
    assert tuned["init_from"]["taken"] > 30
    assert all("lin2" in name for name in tuned["init_from"]["other_shape"])


def with_cycles(count, root, seed=4):
    """Graphs with cycles, of one part and more, and of each its breadth-first forest as SciPy walks it."""
    rng = np.random.default_rng(seed)
    for g in range(count):
        size = int(rng.integers(6, 25))
        a, b = (rng.integers(0, size, 3 * size // 2) for _ in range(2))
        a, b = a[a != b], b[a != b]
        graph = Data(x=torch.tensor(rng.normal(size=(size, 3)).astype(np.float32)), y=torch.tensor(g % 2),
                     pos=torch.tensor(rng.normal(size=(size, 3)).astype(np.float32)), edge_index=torch.tensor(np.stack([np.r_[a, b], np.r_[b, a]])))
        matrix = coo_matrix((np.ones(2 * len(a)), (np.r_[a, b], np.r_[b, a])), shape=(size, size)).tocsr()
        neighbours = np.diff(matrix.indptr)
        order, parent = [], np.full(size, -1)
        for n in ([] if root < 0 else [root]) + sorted(range(size), key=lambda n: (-neighbours[n], n)):
            if n not in order:
                reached, before = breadth_first_order(matrix, n)
                order += reached.tolist()
                parent[reached[1:]] = before[reached[1:]]
        place = np.argsort(order)
        kept = [(p, c) for p, c in graph.edge_index.t().tolist() if parent[c] == p or parent[p] == c]
        yield graph, Data(x=graph.x[order], pos=graph.pos[order], y=graph.y, edge_index=torch.tensor(place[np.array(kept)].T.copy()))


@pytest.mark.parametrize("root", [-1, 2])
def test_graphs_with_cycles_become_the_forests_of_scipy(call, tmp_path, root):
    graphs, forests = zip(*with_cycles(30, root), strict=True)
    plimsoll.from_pyg(list(graphs), tmp_path / "graphs"), plimsoll.from_pyg(list(forests), tmp_path / "forests")
    left_out = sum(len(graph.edge_index[0]) - len(forest.edge_index[0]) for graph, forest in zip(graphs, forests, strict=True))
    named = (f"pretraining.root={root}",)
    plan = call("plan", tmp_path / "graphs", *named)
    assert plan["exact"], plan["why_inexact"]
    weights = {call("train", tmp_path / "forests")["weights"]}
    for threads, budget in ((1, plan["min_budget_bytes"]), (2, "1GiB")):
        done = call("train", tmp_path / "graphs", *named, "--threads", threads, "--budget", budget)
        weights.add(done["weights"])
        assert (done["overflows"], done["unforeseen"]) == (0, 0)
    assert len(weights) == 1
    assert call("evaluate", tmp_path / "graphs")["forests"] == {"graphs": 30, "edges_left_out": left_out}
    said = f"30 of 30 graphs became breadth-first forests from {'the node with the most edges' if root < 0 else 'node 2'}"
    assert said in (tmp_path / "run" / "report.html").read_text()
    call("train", tmp_path / "graphs", *named, *STAGES)
    assert call("evaluate", tmp_path / "graphs")["forests"]["edges_left_out"] == left_out
    assert said in (tmp_path / "run" / "report.html").read_text()
    if root >= 0:
        return  # the forests would grow again, from another node
    call("predict", tmp_path / "graphs")
    of_graphs = np.load(tmp_path / "out" / "probability.npy")
    (tmp_path / "out").rename(tmp_path / "of-graphs")
    call("predict", tmp_path / "forests")
    np.testing.assert_array_equal(of_graphs, np.load(tmp_path / "out" / "probability.npy"))


def test_what_does_not_do_is_named(tree_set, call):
    assert "no node 1000, which is the root" in call("train", tree_set, "pretraining.root=1000", expect=3)
    assert "set model: sgmp or gtmp" in call("train", tree_set, "model=gnn", expect=2)
    call("train", tree_set)
    assert "init_from" in call("predict", tree_set, expect=2)
