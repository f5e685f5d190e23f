"""Nodes of a giant graph without features get learned embeddings: PyTorch Geometric's loss, lazy rows, exact plans."""

import csv
import subprocess

import numpy as np
import pytest
from bare_graph import CLASSES, HIDDEN, NODES, WIDTH, Bare
from giant_runs import answer, edge_index_of, evaluate, kill_often, load_weights, plan_of, pyg_model

torch = pytest.importorskip("torch")

@pytest.fixture(scope="module")
def bare(run, bin_dir, tmp_path_factory):
    return Bare(run, bin_dir, tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def still(bare):
    """A run at a rate of 0, whose weights stay as they begin."""
    return bare.train("still", bare.recipe(epochs=1, rate=0))


@pytest.fixture(scope="module")
def trained(bare):
    return bare.train("run", bare.recipe(), "--threads", 1)


def test_the_loss_of_a_step_is_that_of_pytorch_geometric(bare, still):
    for split, name in (("train", "training_loss"), ("valid", "validation_loss")):
        assert still[name] == pytest.approx(bare.loss(bare.folder / "still", split), rel=1e-4)


def test_embeddings_are_learned_and_evaluated(bare, still, trained):
    assert trained["training_loss"] < 0.8 * still["training_loss"]
    found = {split["name"]: split["models"][0] for split in evaluate(bare.bin_dir, bare.folder / "run", bare.graph)["splits"]}
    for split in ("valid", "test"):
        assert found[split]["loss"] == pytest.approx(bare.loss(bare.folder / "run", split), rel=1e-4)


def torch_losses(bare, epochs, rate):
    """Training losses of PyTorch in float64. Adam leaves rows that no step has reached, because their moments are 0."""
    tensors = load_weights(bare.folder / "still")
    table = torch.nn.Embedding.from_pretrained(torch.from_numpy(tensors.pop("embedding.weight").astype(np.float64)), freeze=False)
    model = pyg_model("sage", tensors, WIDTH, HIDDEN, CLASSES, 2).double()
    optimizer = torch.optim.Adam([*model.parameters(), *table.parameters()], lr=rate)
    edges, seeds = edge_index_of(bare.graph), torch.from_numpy(bare.splits["train"])
    labels, losses = torch.from_numpy(bare.y)[seeds], []
    for _ in range(epochs):
        loss = torch.nn.functional.cross_entropy(model(table(torch.arange(NODES)), edges)[seeds], labels)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def test_training_goes_as_in_pytorch(bare, still):
    """A step has all seeds and all of their neighbours, so both see the same gradients."""
    bare.train("whole", bare.recipe(epochs=12, decay=0, batch=250))
    with (bare.folder / "whole" / "seed-42" / "gnn" / "metrics.csv").open() as file:
        losses = [float(row["training_loss"]) for row in csv.DictReader(file)]
    assert losses == pytest.approx(torch_losses(bare, 12, 0.02), rel=1e-5)
    assert losses[-1] < 0.5 * losses[0]


def test_blocks_in_flight_do_not_each_hold_a_table(bare):
    """A block holds the gradients of its own rows: more nodes that no seed reaches add nothing to it."""
    more = bare.ingest("wide", NODES + 100_000)
    few, many = (plan_of(bare.bin_dir, bare.recipe(), graph) for graph in (bare.graph, more))
    assert many["exact"] and many["worst_block"]["range_bytes"] == few["worst_block"]["range_bytes"]


def test_killed_runs_end_with_the_same_bits(bare, trained):
    command = [bare.bin_dir / "plimsoll", "train", bare.recipe(), "--data", bare.graph, "--run", bare.folder / "killed", "--resume",
               "-O", "training.checkpoint_every_s=0"]
    kill_often(command, 3, 1.5)
    assert bare.train("killed", bare.recipe(), "--resume", "-O", "training.checkpoint_every_s=0")["weights"] == trained["weights"]


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_rows_that_no_step_reaches_stay(bare, still, optimizer):
    """In spite of the weight decay, which moves every other weight."""
    bare.train(optimizer, bare.recipe(epochs=2, decay=0.1, optimizer=optimizer))
    before, after = (load_weights(bare.folder / run)["embedding.weight"] for run in ("still", optimizer))
    assert (before[NODES // 2:] == after[NODES // 2:]).all()
    assert (before[bare.splits["train"]] != after[bare.splits["train"]]).any(axis=1).all()


def test_plans_hold_and_bits_do_not_depend_on_budget_and_threads(bare, trained):
    plan = plan_of(bare.bin_dir, bare.recipe(), bare.graph)
    table = 4 * NODES * WIDTH
    assert plan["exact"] and plan["breakdown"]["parameters"] > table and plan["breakdown"]["optimizer"] > 2 * table
    small = bare.train("small", bare.recipe(), "--threads", 1, "--budget", plan["min_budget_bytes"])
    assert small["weights"] == trained["weights"] and small["unforeseen"] == small["overflows"] == 0
    assert bare.train("threads", bare.recipe(), "--threads", 3)["weights"] == trained["weights"]
    evaluate(bare.bin_dir, bare.folder / "run", bare.graph, "--split", "test", "--budget", plan["evaluation_min_budget_bytes"])


def test_links_are_learned_by_embeddings(bare, run, tmp_path):
    run("plimsoll", "split-edges", bare.graph, "--out", tmp_path / "split")
    bare.train("links", bare.recipe(task="link_prediction", fan_out=4, epochs=20, rate=0.005, decay=0), data=tmp_path / "split")
    found = evaluate(bare.bin_dir, bare.folder / "links", tmp_path / "split")["splits"][0]["models"][0]
    assert found["auc"] > 0.5


def test_the_recipe_for_users_and_items_learns_what_they_choose(run, bin_dir, tmp_path):
    """Users and items of six tastes; almost all edges are within a taste."""
    random = np.random.default_rng(3)
    users, items = random.integers(0, 6, 400), random.integers(0, 6, 120)
    liked = np.where(users[:, None] == items, 1, 0.01)
    chosen = [(user, item) for user, odds in enumerate(liked) for item in random.choice(120, 12, replace=False, p=odds / odds.sum())]
    (tmp_path / "ratings.csv").write_text("".join(f"u{user},i{item}\n" for user, item in chosen))
    run("plimsoll", "ingest", "graph", "--edges", tmp_path / "ratings.csv", "--ids", "text", "--undirected", "--dedup",
        "--out", tmp_path / "graph")
    run("plimsoll", "split-edges", tmp_path / "graph", "--out", tmp_path / "split", "--valid", 0.1, "--test", 0.1)
    answer(bin_dir, "train", "recommend", "--data", tmp_path / "split", "--run", tmp_path / "run", "-O", "training.max_epochs=15")
    found = {split["name"]: split["models"][0] for split in evaluate(bin_dir, tmp_path / "run", tmp_path / "split")["splits"]}
    assert found["test"]["auc"] > 0.8
    run("plimsoll", "predict", tmp_path / "run", "--data", tmp_path / "split", "--out", tmp_path / "embeddings")
    assert np.load(tmp_path / "embeddings" / "embedding.npy").shape == (400 + len({item for _, item in chosen}), 64)


def test_another_number_of_nodes_is_refused(bare, trained):
    more = bare.ingest("more", NODES + 1)
    done = subprocess.run([bare.bin_dir / "plimsoll", "evaluate", bare.folder / "run", "--data", more], capture_output=True, text=True)
    assert done.returncode == 3
    assert f"learned embeddings of {NODES} nodes, but the data has {NODES + 1} nodes without features" in done.stderr
