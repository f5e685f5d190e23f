"""`plan --device cuda` of a GPU that is not here."""

import json
import subprocess

import pytest

ALIGNMENT = 256  # of a piece on the device
STREAM_WORKSPACE = 66 << 20  # PlannedDevice::kAssumedWorkspace


@pytest.fixture(scope="module")
def frames(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("device_plan") / "frames"
    run("plimsoll", "simulate", "can", "--out", folder, "--frames", "40000", "--seed", "5")
    return folder


@pytest.fixture
def plan(bin_dir, frames, tmp_path):
    """plan(*arguments, training=...): the finished process."""

    def call(*arguments, training=""):
        recipe = tmp_path / "recipe.yaml"
        recipe.write_text(f"task: detection\ntraining: {{max_epochs: 1, batch_size: 512{training}}}\n")
        return subprocess.run([str(bin_dir / "plimsoll"), "plan", str(recipe), "--data", str(frames), *map(str, arguments)],
                              capture_output=True, text=True, timeout=600)

    return call


def device(done, code=0):
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)["device"]


def on_cuda(plan, budget, **more):
    return plan("--device", "cuda", "--device-budget", budget, "--json", **more)


KEPT = ", gradient_checkpointing: off"


def test_the_parts_are_the_peak_and_the_peak_is_within_the_budget(plan):
    found = device(on_cuda(plan, "8GiB", training=KEPT))
    assert found["feasible"] and found["blocks_in_flight"] > 1 and not found["recompute"]
    parts = found["breakdown"]
    assert sum(parts.values()) == found["peak_bytes"] <= found["budget_bytes"] == 8 << 30
    assert found["budgets_for_blocks"][found["blocks_in_flight"] - 1] == found["peak_bytes"]
    assert parts["blocks in flight"] == found["blocks_in_flight"] * found["range_bytes"]
    assert parts["workspaces"] == found["blocks_in_flight"] * STREAM_WORKSPACE
    for name in ("parameters", "blocks in flight"):
        assert parts[name] > 0 and parts[name] % ALIGNMENT == 0
    assert "optimizer" not in parts  # it steps on the host
    assert found["worst_block"]["peak_bytes"] <= found["range_bytes"]


def test_less_budget_sheds_blocks_and_below_the_least_the_exit_code_is_4(plan):
    roomy = device(on_cuda(plan, "8GiB", training=KEPT))
    for blocks, least in enumerate(roomy["budgets_for_blocks"], 1):
        found = device(on_cuda(plan, least, training=KEPT))
        assert found["blocks_in_flight"] == blocks and found["peak_bytes"] == least
    least = roomy["min_budget_bytes"]
    assert least == roomy["budgets_for_blocks"][0]
    refused = on_cuda(plan, least - 1, training=KEPT)
    found = device(refused, code=4)
    assert not found["feasible"] and found["min_budget_bytes"] == least
    assert f"smallest device budget that works is {least} bytes" in refused.stderr


def test_layers_that_run_again_lower_the_least_budget(plan):
    kept = device(on_cuda(plan, "8GiB", training=KEPT))["min_budget_bytes"]
    again = device(on_cuda(plan, "8GiB", training=", gradient_checkpointing: on"))["min_budget_bytes"]
    auto = device(on_cuda(plan, "8GiB"))
    assert auto["min_budget_bytes"] == auto["budgets_for_blocks"][0] == min(kept, again)


def test_larger_blocks_need_a_larger_range(plan):
    ranges = [device(on_cuda(plan, "80GiB", training=f", block: {{graphs: {graphs}}}"))["range_bytes"]
              for graphs in (8, 16, 32)]
    assert ranges[0] < ranges[1] < ranges[2] < 3 * ranges[1]


def test_of_a_giant_graph_what_is_left_holds_rows_of_features(run, bin_dir, tmp_path):
    nodes, features = 3000, 40
    run("plimsoll", "simulate", "graph", "--nodes", nodes, "--degree", "8", "--features", features, "--out", tmp_path / "graph")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("task: node_classification\nsampling: {fan_outs: [5, 3]}\ngnn: {conv: sage, layers: 2, hidden: 16}\n"
                      "training: {max_epochs: 1, batch_size: 64, block: {seeds: 32}}\n")

    def planned(budget):
        return device(subprocess.run([bin_dir / "plimsoll", "plan", recipe, "--data", tmp_path / "graph", "--device", "cuda",
                                      "--device-budget", str(budget), "--json"], capture_output=True, text=True, timeout=600))

    roomy = planned("8GiB")
    assert roomy["blocks_in_flight"] == 1
    assert roomy["breakdown"]["features"] == -(nodes * features * 4 // -ALIGNMENT) * ALIGNMENT
    some = planned(roomy["peak_bytes"] - nodes * features * 2)
    assert 0.45 < some["breakdown"]["features"] / roomy["breakdown"]["features"] < 0.5
    none = planned(roomy["min_budget_bytes"])
    assert "features" not in none["breakdown"] and none["min_budget_bytes"] == roomy["min_budget_bytes"]
    for found in (roomy, some, none):
        assert sum(found["breakdown"].values()) == found["peak_bytes"] <= found["budget_bytes"]


# ---- a model of card ----------------------------------------------------------------------------------------------

MIB = 1 << 20


def on_card(plan, model, *words, **more):
    return device(plan("--device", "cuda", "--device-model", model, "--threads", 2, "--json", *words, **more))


def test_a_card_that_nobody_measured_has_a_margin(plan):
    measured, assumed = on_card(plan, "h200"), on_card(plan, "v100-16")
    assert measured["context_is_measured"] and "margin" not in measured["breakdown"]
    assert not assumed["context_is_measured"] and assumed["breakdown"]["margin"] == 128 * MIB
    assert assumed["min_budget_bytes"] == measured["min_budget_bytes"] + 128 * MIB
    assert 15 << 30 < assumed["budget_bytes"] < 16 << 30 and assumed["model"] == "v100-16"
    shown = plan("--device", "cuda", "--device-model", "v100-16").stdout
    assert "it was not measured on v100-16, so 128 MiB are left free as a margin" in shown
    assert "hours: not estimated" in shown


def test_larger_blocks_and_the_largest_for_each_card(plan):
    found = on_card(plan, "v100-16")
    sizes = found["block_sizes"]
    assert [size["graphs"] for size in sizes] == [64 << i for i in range(len(sizes))] and 2 <= len(sizes) <= 13
    assert sizes[0]["min_budget_bytes"] == found["min_budget_bytes"]
    ranges = [size["range_bytes"] for size in sizes]
    assert ranges == sorted(set(ranges))
    again = device(on_cuda(plan, "8GiB", training=f", block: {{graphs: {sizes[-1]['graphs']}, nodes: {sizes[-1]['nodes']}, "
                                                  f"edges: {sizes[-1]['edges']}}}"))
    assert again["range_bytes"] == ranges[-1]
    assert found["gpu_preset"]["graphs"] == 512 and found["gpu_preset"]["range_bytes"] >= ranges[0]
    assert [card["model"] for card in found["models"]] == [
        "rtx3060-12", "v100-16", "rtx4090-24", "v100-32", "a100-40", "h100", "a100-80", "h200"]
    for card in found["models"]:
        assert card["largest_block"] == sizes[-1] and card["largest_block"]["min_budget_bytes"] <= card["bytes"]


def test_a_recipe_with_the_preset_has_no_other_row(plan):
    assert on_card(plan, "h200", "-O", "training.block.preset=gpu")["gpu_preset"] is None


def test_hours_come_from_a_stated_rate_alone(plan):
    assert "hours" not in on_card(plan, "h200")
    slow = on_card(plan, "h200", "--graphs-per-s", 10, "-O", "training.max_epochs=20")["hours"]
    assert slow > 0 and slow == pytest.approx(2 * on_card(plan, "h200", "--graphs-per-s", 10, "-O", "training.max_epochs=10")["hours"])
    assert slow == pytest.approx(10 * on_card(plan, "h200", "--graphs-per-s", 100, "-O", "training.max_epochs=20")["hours"])


def test_no_more_blocks_in_flight_than_help(plan):
    words = ("-O", "training.block.graphs=4", "--device", "cuda", "--device-model", "h200", "--json")
    assert device(plan(*words, "--threads", 16))["blocks_in_flight"] == 4
    assert device(plan(*words, "--threads", 3))["blocks_in_flight"] == 3


def test_all_operators_have_a_kernel_for_cuda(plan):
    assert device(on_cuda(plan, "8GiB"))["without_cuda"] == []


def test_mixed_precision_is_planned_for_a_gpu_alone(plan):
    assert device(on_cuda(plan, "8GiB", training=", precision: bf16-mixed"))["feasible"]
    done = plan("--json", training=", precision: bf16-mixed")
    assert done.returncode == 2 and "add --device cuda" in done.stderr and "training.block" in done.stderr, done.stderr


NOT_THERE = pytest.mark.parametrize("arguments, text", [
    (["--device-budget", "8GiB"], "add --device cuda"),
    (["--device", "gpu"], "cuda:N"),
    (["--device", "cuda:63"], "cuda:63: "),
])


@NOT_THERE
@pytest.mark.parametrize("verb", ["evaluate", "predict"])
def test_judging_on_what_is_not_there_is_refused_with_the_remedy(bin_dir, frames, tmp_path, verb, arguments, text):
    out = ["--out", str(tmp_path / "out")] if verb == "predict" else []
    done = subprocess.run([str(bin_dir / "plimsoll"), verb, str(tmp_path / "run"), "--data", str(frames), *out, *arguments],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and text in done.stderr, done.stderr


@NOT_THERE
def test_training_on_what_is_not_there_is_refused_with_the_remedy(bin_dir, frames, tmp_path, arguments, text):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("task: detection\n")
    done = subprocess.run([str(bin_dir / "plimsoll"), "train", str(recipe), "--data", str(frames), "--run",
                           str(tmp_path / "run"), *arguments], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2 and text in done.stderr, done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("arguments, text", [
    (["--device-budget", "8GiB"], "add --device cuda"),
    (["--device", "gpu"], "cuda:N"),
    (["--device", "cuda:63", "--device-budget", "80%"], "give bytes, as 8GiB"),
    (["--device-model", "v100-16"], "--device-model works only with a GPU; add --device cuda"),
    (["--device", "cuda", "--device-model", "a10-80"], "did you mean 'a100-80'?"),
    (["--device", "cuda", "--device-model", "v100-16", "--device-budget", "16GiB"], "more than the 15.8 GiB that the device has"),
    (["--device", "stand-in"], "configure with -DPLIMSOLL_STAND_IN=ON"),
    (["--device", "cuda:63"], "give bytes, as 8GiB"),
    (["--device", "cuda", "--device-budget", "8GiB", "--mode", "trial"], "remove --mode for a static plan"),
])
def test_what_cannot_be_planned_is_refused_with_the_remedy(plan, arguments, text):
    done = plan(*arguments)
    assert done.returncode == 2 and text in done.stderr, done.stderr
