"""Tables of embeddings on a disk: the bits of memory, for any budget, number of threads, kills and full disks."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from bare_graph import NODES, Bare
from giant_runs import evaluate, load_weights, plan_of

WIDTH = 1024  # So wide that the smallest budget holds few of the rows.
FILE_BYTES = 4 * NODES * WIDTH * 7  # Three places of weights, and two of both moments of Adam.
DISK = ("-O", "run.embeddings=disk")
OFTEN = ("-O", "training.checkpoint_every_s=0")


def recipe_of(bare, **options):
    """A recipe whose steps reach a few of the rows, so that slots are used again."""
    path = bare.recipe(fan_out=2, batch=32, **options)
    path.write_text(path.read_text().replace("embedding: 12", f"embedding: {WIDTH}"))
    return path


@pytest.fixture(scope="module")
def bare(run, bin_dir, tmp_path_factory):
    return Bare(run, bin_dir, tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def recipe(bare):
    return recipe_of(bare, epochs=4)


@pytest.fixture(scope="module")
def in_memory(bare, recipe):
    return bare.train("memory", recipe, "-O", "run.embeddings=memory")


@pytest.fixture(scope="module")
def plan(bare, recipe):
    return plan_of(bare.bin_dir, recipe, bare.graph, *DISK)


def is_on_disk(bare, name):
    return (bare.folder / name / "seed-42" / "gnn" / "embedding.rows").exists()


def test_bits_are_those_of_memory_for_any_budget_and_threads(bare, recipe, in_memory, plan):
    for name, words in {"whole": (), "least": ("--budget", plan["min_budget_bytes"], "--threads", 1), "threads": ("--threads", 3)}.items():
        found = bare.train(name, recipe, *DISK, *words)
        assert is_on_disk(bare, name) and found["weights"] == in_memory["weights"], name
        assert found["unforeseen"] == found["overflows"] == 0, name
        assert found["validation_loss"] == in_memory["validation_loss"], name
    assert load_weights(bare.folder / "least").keys() == load_weights(bare.folder / "memory").keys()


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_other_optimizers_and_clipped_gradients(bare, optimizer):
    recipe = recipe_of(bare, epochs=2, optimizer=optimizer)
    clipped = ("-O", "training.gradient_clip_val=0.05", "-O", "training.momentum=" + ("0.9" if optimizer == "sgd" else "0"))
    memory = bare.train(f"{optimizer}-memory", recipe, *clipped, "-O", "run.embeddings=memory")
    budget = plan_of(bare.bin_dir, recipe, bare.graph, *DISK, *clipped)["min_budget_bytes"]
    disk = bare.train(f"{optimizer}-disk", recipe, *clipped, *DISK, "--budget", budget, "--threads", 1)
    assert disk["weights"] == memory["weights"]


def test_the_plan_states_rows_in_memory_and_bytes_on_disk(bare, recipe, plan):
    table = plan["embeddings_on_disk"]
    assert plan["exact"] and table["rows"] == NODES and table["file_bytes"] == FILE_BYTES
    least = plan_of(bare.bin_dir, recipe, bare.graph, *DISK, "--budget", plan["min_budget_bytes"])
    assert least["feasible"] and least["embeddings_on_disk"]["rows_in_memory"] < NODES / 2  # Samples reach half of the nodes.
    bare.train("sized", recipe, *DISK)
    assert (bare.folder / "sized" / "seed-42" / "gnn" / "embedding.rows").stat().st_size == FILE_BYTES
    assert "embeddings_on_disk" not in plan_of(bare.bin_dir, recipe, bare.graph)


def test_a_table_that_does_not_fit_the_budget_goes_to_the_disk(bare, recipe):
    """200,000 nodes of which samples reach few; the smallest budget is far below the table's size."""
    wide = bare.ingest("wide", NODES + 200_000)
    wider = ("-O", "gnn.embedding=128")
    table = 4 * 128 * (NODES + 200_000)
    memory = bare.train("wide-memory", recipe, *wider, data=wide)
    assert not is_on_disk(bare, "wide-memory")
    budget = plan_of(bare.bin_dir, recipe, wide, *wider, *DISK)["min_budget_bytes"]
    in_memory = plan_of(bare.bin_dir, recipe, wide, *wider, "-O", "run.embeddings=memory")["min_budget_bytes"]
    assert budget < in_memory - 4 * table
    disk = bare.train("wide-disk", recipe, *wider, "--budget", budget, "--threads", 1, data=wide)
    assert is_on_disk(bare, "wide-disk") and disk["weights"] == memory["weights"]
    found = [evaluate(bare.bin_dir, bare.folder / run, wide, "--split", "test")["splits"] for run in ("wide-memory", "wide-disk")]
    assert found[0] == found[1]
    refused = train(bare, recipe, "refused", *wider, "--budget", budget - (3 << 20), data=wide)
    assert refused.returncode == 4 and f"{7 * table} bytes" in refused.stderr and "on the disk of the run" in refused.stderr


def train(bare, recipe, name, *words, data=None, **options):
    command = [bare.bin_dir / "plimsoll", "train", recipe, "--data", data or bare.graph, "--run", bare.folder / name, *words]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, **options)


def kill_at_random(bare, recipe, name, times, seed, *words):
    """Ends a run by kill -9 again and again, a random time after it wrote something."""
    moments = random.Random(seed)
    command = [bare.bin_dir / "plimsoll", "train", recipe, "--data", bare.graph, "--run", bare.folder / name, "--resume", *words]
    for _ in range(times):
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.2, 1.2))
        process.send_signal(signal.SIGKILL)
        process.wait()
    return bare.train(name, recipe, "--resume", *words)


@pytest.mark.parametrize("checkpoints", [OFTEN, ()])
def test_killed_runs_end_with_the_same_bits(bare, recipe, in_memory, plan, checkpoints):
    name = f"killed-{len(checkpoints)}"
    found = kill_at_random(bare, recipe, name, 4, 7, *DISK, *checkpoints, "--budget", plan["min_budget_bytes"], "--threads", 1)
    assert found["weights"] == in_memory["weights"]


@pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="a hundred runs take minutes; set PLIMSOLL_SLOW")
def test_a_hundred_kills(bare, recipe, in_memory, plan):
    for round in range(20):
        name = f"killed-{round}-often"
        found = kill_at_random(bare, recipe, name, 5, round, *DISK, *OFTEN, "--budget", plan["min_budget_bytes"], "--threads", 1)
        assert found["weights"] == in_memory["weights"], round
        shutil.rmtree(bare.folder / name)


def test_a_run_in_memory_continues_on_disk(bare, recipe, in_memory):
    stopped = ("-O", "training.max_epochs=2")
    bare.train("moved", recipe, *stopped, "-O", "run.embeddings=memory")
    found = bare.train("moved", recipe, "--resume", *DISK)
    assert is_on_disk(bare, "moved") and found["weights"] == in_memory["weights"]
    back = train(bare, recipe, "moved", "--resume", "-O", "run.embeddings=memory")
    assert back.returncode == 2 and "this run has its table on a disk" in back.stderr


def test_a_run_made_longer_has_the_weights_of_a_long_one(bare, recipe, in_memory):
    bare.train("longer", recipe, *DISK, "-O", "training.max_epochs=2")
    assert bare.train("longer", recipe, "--resume")["weights"] == in_memory["weights"]


def limit_files_to(limit):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))


def test_a_file_that_is_too_large_is_refused_before_the_first_step(bare, recipe):
    done = train(bare, recipe, "limited", *DISK, preexec_fn=limit_files_to(FILE_BYTES - 1))
    assert done.returncode == 1 and f"need {FILE_BYTES} bytes" in done.stderr and "ulimit -f" in done.stderr
    assert not (bare.folder / "limited").exists()


@pytest.mark.parametrize("place", [DISK, ()])
def test_a_lost_table_is_an_error_that_names_it(bare, recipe, place):
    name = f"lost-{len(place)}"
    bare.train(name, recipe, *DISK, "-O", "training.max_epochs=1")
    (bare.folder / name / "seed-42" / "gnn" / "embedding.rows").unlink()
    done = train(bare, recipe, name, "--resume", *place)
    assert done.returncode == 1 and "embedding.rows: the table of embeddings of this run is missing" in done.stderr


def test_the_table_is_exported_as_the_page_says(bare, in_memory, monkeypatch):
    page = Path(__file__).parents[2] / "docs" / "giant-graphs.md"
    text = page.read_text()
    code = text[text.index("import numpy as np\nfrom safetensors"):].partition("```")[0]
    monkeypatch.chdir(bare.folder)
    exec(code.replace("run/seed-42", "memory/seed-42").replace("65536", "300"), {})
    assert (np.load("embeddings.npy") == load_weights(bare.folder / "memory")["embedding.weight"]).all()


def test_evaluation_and_prediction_need_no_memory_for_the_table(bare, run, recipe):
    wide = bare.ingest("evaluated", NODES + 50_000)
    wider = ("-O", "gnn.embedding=512", "-O", "training.max_epochs=1")
    budget = plan_of(bare.bin_dir, recipe, wide, *wider)["evaluation_min_budget_bytes"]
    less = plan_of(bare.bin_dir, recipe, wide, "-O", "gnn.embedding=2")["evaluation_min_budget_bytes"]
    assert budget - less < 4 * 512 * (NODES + 50_000) / 2  # Half of the table.
    bare.train("evaluated-run", recipe, *wider, data=wide)
    whole = evaluate(bare.bin_dir, bare.folder / "evaluated-run", wide)
    assert evaluate(bare.bin_dir, bare.folder / "evaluated-run", wide, "--budget", budget)["splits"] == whole["splits"]
    run("plimsoll", "predict", bare.folder / "evaluated-run", "--data", wide, "--budget", budget, "--out", bare.folder / "predicted")


def test_a_warm_start_takes_the_rows_of_another_run(bare, recipe, in_memory):
    model = bare.folder / "memory" / "seed-42" / "gnn" / "model.safetensors"
    text = recipe.read_text() + f"init_from: {model}\n"
    warm = bare.folder / "warm.yaml"
    warm.write_text(text)
    memory = bare.train("warm-memory", warm, "-O", "run.embeddings=memory")
    assert bare.train("warm-disk", warm, *DISK)["weights"] == memory["weights"] != in_memory["weights"]
    for place in ("memory", "disk"):
        done = train(bare, warm, f"other-{place}", "-O", f"run.embeddings={place}", "-O", "gnn.embedding=64")
        assert done.returncode == 3
        assert f"has embeddings of nodes F32 [{NODES}, {WIDTH}], expected F32 [{NODES}, 64]" in done.stderr
