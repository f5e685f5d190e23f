"""Evaluation and prediction of one giant graph on several ranks: the bytes of one process, and how ranks end together."""

import json
import resource
import signal
import subprocess
import sys
import time

import pytest
from rank_processes import LIMIT_S, ended, start

package = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
dist = pytest.importorskip("torch.distributed")
if not dist.is_available() or not dist.is_gloo_available():
    pytest.skip("this torch has no gloo", allow_module_level=True)

NODES = 6000
RECIPE = ("task: {task}\ngnn: {{hidden: 16, layers: 2, conv: {conv}}}\nsampling: {{fan_outs: [4, 4]}}\n"
          "training: {{max_epochs: 1, batch_size: 512}}\n")


def plimsoll(*words):
    done = subprocess.run([sys.executable, "-m", "plimsoll", *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def train(folder, task, data, conv="sage"):
    (folder / f"{task}.yaml").write_text(RECIPE.format(task=task, conv=conv))
    plimsoll("train", folder / f"{task}.yaml", "--data", data, "--run", folder / task, "--threads", 1)
    return folder / task


@pytest.fixture(scope="module")
def giant(tmp_path_factory):
    """A graph, and models of its nodes and of its edges."""
    folder = tmp_path_factory.mktemp("giant-ranks")
    plimsoll("simulate", "graph", "--out", folder / "graph", "--nodes", NODES, "--features", 6, "--classes", 3)
    plimsoll("split-edges", folder / "graph", "--out", folder / "split")
    train(folder, "node_classification", folder / "graph", "gcn")
    train(folder, "link_prediction", folder / "split")
    return folder


def same_evaluation(run, data):
    """The bytes that `evaluate` writes and prints on 1, 2 and 3 ranks, which must be equal."""
    found = []
    for ranks in (1, 2, 3):
        out = plimsoll("evaluate", run, "--data", data, "--threads", 1, "--json", "--ranks", ranks)
        found.append((out, (run / "evaluation.json").read_bytes()))
    assert found[1] == found[0] and found[2] == found[0]
    assert not list(run.glob(".layers*"))  # of any rank
    return json.loads(found[0][0])


def test_classes_are_evaluated_as_by_one_process(giant):
    found = same_evaluation(giant / "node_classification", giant / "graph")
    assert [split["name"] for split in found["splits"]] == ["valid", "test"]


def test_links_are_evaluated_as_by_one_process(giant):
    found = same_evaluation(giant / "link_prediction", giant / "split")
    assert found["splits"][0]["models"][0]["auc"] > 0.5


@pytest.mark.parametrize("task, words", [("node_classification", ["--embeddings", "--csv"]), ("link_prediction", []),
                                         ("node_classification", ["--nodes"])])
def test_predictions_are_the_bytes_of_one_process(giant, tmp_path, task, words):
    (tmp_path / "nodes.txt").write_text("5999\n17\n0\n17\n")
    found = []
    for ranks, budget in ((1, "2GiB"), (2, "400MiB"), (4, "2GiB")):
        out = tmp_path / str(ranks)
        plimsoll("predict", giant / task, "--data", giant / "graph", "--out", out, "--threads", 1, "--ranks", ranks, "--budget", budget,
                 *words, *([tmp_path / "nodes.txt"] if words == ["--nodes"] else []))
        found.append({path.name: path.read_bytes() for path in out.iterdir()})
    assert len(found[0]) > 1
    assert found[1] == found[0] and found[2] == found[0]


def test_the_budget_that_a_plan_names_for_evaluation_is_enough_for_each_rank(giant):
    run, graph = giant / "node_classification", giant / "graph"
    plan = json.loads(plimsoll("plan", giant / "node_classification.yaml", "--data", graph, "--ranks", 2, "--threads", 1, "--json"))
    expected = plimsoll("evaluate", run, "--data", graph, "--threads", 1, "--json")
    assert plimsoll("evaluate", run, "--data", graph, "--threads", 1, "--json", "--ranks", 2, "--budget",
                    plan["evaluation_min_budget_bytes"]) == expected
    # Each layer sends half of its rows, and so does the head.
    rows = NODES // 2 * 16 * 4 * 2
    assert rows < plan["ranks"]["evaluation_bytes_sent"] < 1.5 * rows


def test_a_budget_that_is_too_small_for_ranks_is_refused_with_the_smallest(giant):
    words = ["evaluate", giant / "node_classification", "--data", giant / "graph", "--threads", 1, "--budget", "60MiB"]
    for code, _, text in ended(start(2, lambda rank: words)):
        assert code == 4 and "the smallest budget that works is" in text, text


def predict_words(giant, out, *more):
    return ["predict", giant / "node_classification", "--data", giant / "graph", "--out", out, "--threads", 1, *more]


def test_other_nodes_and_other_data_are_refused_by_all(giant, tmp_path):
    for rank, text in enumerate(("1\n2\n", "1\n")):
        (tmp_path / f"{rank}.txt").write_text(text)
    for code, _, text in ended(start(2, lambda rank: predict_words(giant, tmp_path / "out", "--nodes", tmp_path / f"{rank}.txt"))):
        assert code == 2 and "the ranks differ in --nodes: rank 0 has" in text, text
    sets = [giant / "graph", giant / "split"]
    for code, _, text in ended(start(2, lambda rank: ["evaluate", giant / "node_classification", "--data", sets[rank]])):
        assert code == 2 and "the ranks differ in data set: rank 0 has" in text, text
    for code, _, text in ended(start(2, lambda rank: predict_words(giant, tmp_path / f"out-{rank}"))):
        assert code == 2 and f"the ranks differ in --out: rank 0 has '{tmp_path / 'out-0'}', rank 1 has" in text, text
    assert not list(tmp_path.glob("out*"))


def layers_in(giant):
    return set((giant / "node_classification").glob(".layers*"))


def test_a_full_disk_on_one_rank_ends_all(giant, tmp_path):
    """A file of a layer has 16 numbers per node; one rank may write only half of it."""
    limit = NODES * 16 * 4 // 2
    processes = start(3, lambda rank: predict_words(giant, tmp_path / "out"))
    resource.prlimit(processes[1].pid, resource.RLIMIT_FSIZE, (limit, limit))
    done = ended(processes)
    assert done[1][0] == 1 and "layer-0.f32" in done[1][2], done[1]
    for rank in (0, 2):
        code, _, text = done[rank]
        assert (code == 1 and "rank 1 failed" in text) or (code == 75 and "rank 1 (process " in text), done[rank]
    assert not (tmp_path / "out").exists()
    # A rank that is ended cannot remove its files of layers. The next process does.
    plimsoll(*predict_words(giant, tmp_path / "again"))
    assert not layers_in(giant)


def test_a_lost_rank_ends_the_others(giant, tmp_path):
    """A larger graph, so that the layers take longer than the signal. It comes once all ranks have met and work."""
    before = layers_in(giant)
    plimsoll("simulate", "graph", "--out", tmp_path / "large", "--nodes", 25 * NODES, "--features", 6, "--classes", 3)
    processes = start(3, lambda rank: ["predict", giant / "node_classification", "--data", tmp_path / "large", "--out", tmp_path / "out",
                                       "--threads", 1])
    end = time.monotonic() + LIMIT_S
    while len(layers_in(giant) - before) < 3 and time.monotonic() < end:
        time.sleep(0.005)
    processes[2].send_signal(signal.SIGKILL)
    begin = time.monotonic()
    done = ended(processes)
    assert time.monotonic() - begin < 30
    for code, _, text in done[:2]:
        assert code == 75 and "rank 2 (process " in text and "has ended; start all ranks again" in text, done
    assert not (tmp_path / "out").exists()
