"""The smallest budget of `evaluate` that `plan` names before a model of a giant graph is trained."""

import subprocess

import pytest
from giant_runs import answer

RECIPE = ("task: {task}\ngnn: {{hidden: 8, layers: 2, conv: sage}}\nsampling: {{fan_outs: [4, 4]}}\n"
          "training: {{max_epochs: 1, batch_size: 512}}\n")


@pytest.fixture(scope="module")
def graph(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("giant") / "graph"
    run("plimsoll", "simulate", "graph", "--out", folder, "--nodes", 4000, "--features", 6, "--classes", 3)
    return folder


@pytest.mark.parametrize("task", ["node_classification", "link_prediction"])
@pytest.mark.parametrize("conv", ["gcn", "gat"])
def test_a_plan_names_the_budget_of_evaluation(run, bin_dir, graph, tmp_path, task, conv):
    data = graph
    if task == "link_prediction":
        data = tmp_path / "split"
        run("plimsoll", "split-edges", graph, "--out", data)
    (tmp_path / "recipe.yaml").write_text(RECIPE.format(task=task))
    words = [tmp_path / "recipe.yaml", "--data", data, "--threads", 1, "-O", f"gnn.conv={conv}"]
    budget = answer(bin_dir, "plan", *words)["evaluation_min_budget_bytes"]
    run("plimsoll", "train", *words, "--run", tmp_path / "run")
    answer(bin_dir, "evaluate", tmp_path / "run", "--data", data, "--threads", 1, "--budget", budget)
    command = [bin_dir / "plimsoll", "evaluate", tmp_path / "run", "--data", data, "--threads", 1, "--budget",
               budget - (3 << 20)]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 4, done.stderr
