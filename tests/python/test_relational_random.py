"""Models of random linked tables: each trains at the smallest budget that the refusal names, within it, with the weights of a large one."""

import json
import os
import re
import subprocess

import numpy as np
import pytest
import random_tables

pytest.importorskip("pyarrow")
RUNS = 500 if os.environ.get("PLIMSOLL_SLOW") else 6
LAYERS = ["sage", "gin", "rgcn", "gatv2", "gatv2", "hgt", "hgt"]
BLOCKS = [(1, 100000, 100000), (8, 4096, 16384), (64, 16384, 65536)]


def recipe_of(random):
    graphs, nodes, edges = BLOCKS[random.integers(len(BLOCKS))]
    return (f"task: relational\n"
            f"relational: {{task: label, channels: {random.choice([4, 16, 64])}, neighbours: {random.choice(['random', 'latest'])}, "
            f"test_history: {random.choice(['cutoff', 'rolling'])}, training_history: {random.choice(['lagged', 'full'])}, "
            f"history_days: {random.choice(['[]', '[7]', '[1, 7, 28, 90]'])}, aggregation: {random.choice(['sum', 'mean'])}, "
            f"layer: {random.choice(LAYERS)}, heads: {random.choice([1, 2, 4])}, combine: {random.choice(['sum', 'mean'])}, "
            f"bases: {random.choice([1, 3])}}}\n"
            f"sampling: {{fan_outs: {random.choice(['[4]', '[8, 4]', '[64, 4]', '[3, 3, 2]', '[30, 30]'])}}}\n"
            f"training: {{max_epochs: 2, batch_size: {random.choice([7, 64, 512])}, block: {{graphs: {graphs}, nodes: {nodes}, edges: {edges}}}}}\n")


def train(bin_dir, folder, name, budget, *options, code=0):
    command = [bin_dir / "plimsoll", "train", folder / "recipe.yaml", "--data", folder / "graph", "--run", folder / name, "--budget", budget]
    done = subprocess.run([str(word) for word in (*command, "--json", *options)], capture_output=True, text=True, timeout=600)
    assert done.returncode == code, done.stderr
    if code:
        return done.stderr
    result = json.loads(done.stdout)
    assert result["memory"]["anonymous_peak_bytes"] <= result["memory"]["budget_bytes"]
    return result["weights"]


@pytest.mark.parametrize("seed", range(RUNS))
def test_the_smallest_budget_trains_the_same_model(seed, bin_dir, run, tmp_path):
    random = np.random.default_rng(seed)
    keys = random_tables.write_tables(tmp_path / "tables", random)
    random_tables.write_task(tmp_path / "tables", random, keys)
    run("plimsoll", "ingest", "tables", tmp_path / "tables", "--out", tmp_path / "graph", *(["--reverse"] if random.random() < 0.8 else []))
    (tmp_path / "recipe.yaml").write_text(recipe_of(random))
    threads = ("--threads", random.choice([1, 2, 5]))
    refusal = train(bin_dir, tmp_path, "small", "1MiB", *threads, code=4)
    smallest = re.search(r"the smallest budget that works is (\d+) bytes", refusal)[1]
    assert train(bin_dir, tmp_path, "small", smallest, *threads) == train(bin_dir, tmp_path, "large", "1GiB")
