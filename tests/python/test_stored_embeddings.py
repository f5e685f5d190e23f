"""Tables of embeddings on a disk: the bits of memory, for any budget, number of threads, kills and full disks."""

import ctypes
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
from giant_runs import answer, evaluate, load_weights, plan_of

WIDTH = 1024  # So wide that the smallest budget holds few of the rows.
HEADER = 4096
RECORD = 4 * (3 * (WIDTH + 1) + 2 * (2 * WIDTH + 1))  # Three places of weights, two of both moments of Adam, a checksum for each.
RESERVED = 4 * NODES * WIDTH
FILE_BYTES = HEADER + NODES * RECORD + RESERVED
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


def table_of(bare, name):
    return bare.folder / name / "seed-42" / "gnn" / "embedding.rows"


def is_on_disk(bare, name):
    return table_of(bare, name).exists()


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
    assert plan["exact"] and table["rows"] == NODES and table["file_bytes"] == FILE_BYTES and table["reserved_bytes"] == RESERVED
    least = plan_of(bare.bin_dir, recipe, bare.graph, *DISK, "--budget", plan["min_budget_bytes"])
    assert least["feasible"] and least["embeddings_on_disk"]["rows_in_memory"] < NODES / 2  # Samples reach half of the nodes.
    bare.train("sized", recipe, *DISK)
    assert table_of(bare, "sized").stat().st_size == FILE_BYTES - RESERVED  # The model file has the reserve.
    assert "embeddings_on_disk" not in plan_of(bare.bin_dir, recipe, bare.graph)


def test_the_smallest_budget_is_that_of_the_better_place(bare, recipe, plan):
    wide = bare.ingest("places", NODES + 50_000)
    words = ("-O", "gnn.embedding=128")
    found = plan_of(bare.bin_dir, recipe, wide, *words)
    places = found["embeddings_min_budget_bytes"]
    assert "embeddings_on_disk" not in found and found["min_budget_bytes"] == places["disk"] < places["memory"]
    for place in places:
        alone = plan_of(bare.bin_dir, recipe, wide, *words, "-O", f"run.embeddings={place}")["min_budget_bytes"]
        assert abs(alone - places[place]) < 1 << 20, place  # Floors of processes differ.
    text = subprocess.run(list(map(str, [bare.bin_dir / "plimsoll", "plan", recipe, "--data", wide, *words])), capture_output=True,
                          text=True, check=True).stdout
    assert "with the table of embeddings in memory: " in text and ", on disk: " in text
    trained = bare.train("places-run", recipe, *words, "-O", "training.max_epochs=1", "--budget", found["min_budget_bytes"], "--threads", 1,
                         data=wide)
    assert is_on_disk(bare, "places-run") and trained["unforeseen"] == 0
    refused = train(bare, recipe, "places-refused", *words, "--budget", places["disk"] - (3 << 20), data=wide)
    assert refused.returncode == 4 and "the smallest budget that works is" in refused.stderr


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
    assert refused.returncode == 4 and f"{HEADER + 8 * table + 20 * (NODES + 200_000)} bytes" in refused.stderr and "on the disk of the run" in refused.stderr


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
    table_of(bare, name).unlink()
    done = train(bare, recipe, name, "--resume", *place)
    assert done.returncode == 1 and "embedding.rows: the table of embeddings of this run is missing" in done.stderr


def flip_bits(file):
    """One bit of each place, so that the current one is damaged whichever it is."""
    for row in range(NODES):
        for first in (0, WIDTH + 1, 2 * (WIDTH + 1), 3 * (WIDTH + 1), 3 * (WIDTH + 1) + 2 * WIDTH + 1):
            file.seek(HEADER + row * RECORD + 4 * first + 40)
            byte = file.read(1)[0]
            file.seek(-1, 1)
            file.write(bytes([byte ^ 4]))


def punch_hole(file):
    punch_and_keep_size = 3
    length = ctypes.c_long(FILE_BYTES - RESERVED - HEADER)
    if ctypes.CDLL(None, use_errno=True).fallocate(file.fileno(), punch_and_keep_size, ctypes.c_long(HEADER), length) != 0:
        pytest.skip("the file system makes no holes")


@pytest.mark.parametrize("damage", [flip_bits, punch_hole])
def test_a_damaged_table_is_an_error_that_names_the_row(bare, recipe, damage):
    name = damage.__name__
    bare.train(name, recipe, *DISK, "-O", "training.max_epochs=1")
    with table_of(bare, name).open("r+b") as file:
        damage(file)
    done = train(bare, recipe, name, "--resume")
    assert done.returncode == 3 and f"{table_of(bare, name)}: row " in done.stderr
    assert "found numbers with the checksum" in done.stderr and "expected" in done.stderr and "--force" in done.stderr


def test_a_table_of_an_older_version_is_refused(bare, recipe):
    bare.train("old", recipe, *DISK, "-O", "training.max_epochs=1")
    with table_of(bare, "old").open("r+b") as file:
        file.write(np.random.default_rng(1).standard_normal(32).astype("f4").tobytes())
    done = train(bare, recipe, "old", "--resume")
    assert done.returncode == 1 and "expected 'plimsoll embedding.rows 2: " in done.stderr and "--force" in done.stderr


def test_a_run_that_is_stopped_keeps_space_for_its_model(bare, recipe):
    command = [bare.bin_dir / "plimsoll", "train", recipe, "--data", bare.graph, "--run", bare.folder / "kept", *DISK, *OFTEN]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not list((bare.folder / "kept").glob("seed-42/gnn/checkpoints/step-*")) and process.poll() is None:
        time.sleep(0.02)
    process.kill()
    process.wait()
    status = table_of(bare, "kept").stat()
    assert status.st_size == FILE_BYTES and (status.st_blocks * 512 >= FILE_BYTES or status.st_blocks == 0)


def test_keys_without_effect_are_refused_or_noted(bare, run, recipe):
    np.save(bare.folder / "x.npy", np.random.default_rng(2).random((NODES, 3), dtype=np.float32))
    splits = [word for split in bare.splits for word in (f"--{split}", bare.folder / f"{split}.npy")]
    run("plimsoll", "ingest", "graph", "--edges", bare.folder / "edges.npy", "--labels", bare.folder / "y.npy", "--features",
        bare.folder / "x.npy", "--ids", "dense", "--dedup", *splits, "--out", bare.folder / "featured")
    refused = train(bare, recipe, "featured-run", *DISK, data=bare.folder / "featured")
    assert refused.returncode == 2 and "run.embeddings: found disk, but the model learns no embeddings" in refused.stderr
    noted = train(bare, recipe, "featured-run", "-O", "training.max_epochs=1", data=bare.folder / "featured")
    assert noted.returncode == 0 and "gnn.embedding has no effect: the nodes have features" in noted.stderr
    silent = train(bare, recipe, "silent", "-O", "training.max_epochs=1")
    assert silent.returncode == 0 and "has no effect" not in silent.stderr


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


@pytest.mark.skipif(not os.environ.get("PLIMSOLL_SLOW"), reason="17 million nodes take a minute; set PLIMSOLL_SLOW")
def test_nodes_whose_numbers_no_f32_has(tmp_path, run, bin_dir):
    """An f32 rounds odd numbers above 2^24 to even ones."""
    nodes, used = 2**24 + 128, 128
    random = np.random.default_rng(4)
    np.save(tmp_path / "edges.npy", nodes - used + random.integers(0, used, (1000, 2)))
    y = np.zeros(nodes, np.int8)
    y[-used:] = random.integers(0, 2, used)
    np.save(tmp_path / "y.npy", y)
    words = ["--edges", tmp_path / "edges.npy", "--labels", tmp_path / "y.npy", "--ids", "dense"]
    for split, part in (("train", range(0, 96)), ("valid", range(96, used))):
        np.save(tmp_path / f"{split}.npy", nodes - used + np.array(part))
        words += [f"--{split}", tmp_path / f"{split}.npy"]
    run("plimsoll", "ingest", "graph", *words, "--out", tmp_path / "graph")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("task: node_classification\nsampling: {fan_outs: [5, 5]}\ntraining: {lanes: 1}\n"
                      "gnn: {conv: sage, layers: 2, hidden: 8, embedding: 2}\n")
    tables = {}
    for place in ("memory", "disk"):
        for rate in (0.01, 1e-30):  # The second one changes nothing.
            name = tmp_path / f"{place}-{rate}"
            answer(bin_dir, "train", recipe, "--data", tmp_path / "graph", "--run", name, "-O", "training.max_epochs=1", "-O",
                   f"training.learning_rate={rate}", "-O", f"run.embeddings={place}")
            tables[place, rate] = load_weights(name)["embedding.weight"]
    changed = np.flatnonzero((tables["memory", 0.01] != tables["memory", 1e-30]).any(1))
    assert changed.min() >= nodes - used and (changed % 2 == 1).any() and (changed % 2 == 0).any()
    for rate in (0.01, 1e-30):
        assert (tables["memory", rate] == tables["disk", rate]).all()
