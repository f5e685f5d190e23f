"""What tests of distillations share: a small recipe, its command line, and what a run leaves."""

import json
import subprocess
import time

RECIPE = """
task: distillation
data: {features: behaviour}
training: {max_epochs: 2, batch_size: 64, checkpoint_every_s: 0, block: {graphs: 16}}
gat: {hidden: 8, heads: 2, layers: 2, embedding: 4}
vgae: {hidden: [16, 8], latent: 4, embedding: 4, heads: 1}
teacher:
  gat: {hidden: 16, heads: 2, layers: 2, embedding: 8}
  vgae: {hidden: [32, 16], latent: 8, embedding: 4, heads: 1}
"""
MODELS = ["autoencoder", "teacher", "student_vgae", "student_gat", "student_gat_alone"]
COLUMNS = ["difficulty", "teacher_encodings", "teacher_logits"]
FLOORS_DIFFER = 2112 * 1024  # what a stated budget allows for the floors of processes, and rounding (planner.cc)


def make_work(run, folder, recipe=RECIPE):
    """Made-up frames and a recipe in a folder."""
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "60000", "--seed", "3")
    (folder / "recipe.yaml").write_text(recipe)
    return folder


def command_in(bin_dir, work):
    """command(verb, *arguments): the command line of a verb that takes the recipe."""

    def make(verb, *arguments):
        return [str(bin_dir / "plimsoll"), verb, str(work / "recipe.yaml"), "--data", str(work / "frames"), "--json",
                *map(str, arguments)]

    return make


def call(command, code=0, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


def results(run, seed=42, columns=COLUMNS):
    """The bytes of all models and columns of a seed."""
    folder = run / f"seed-{seed}"
    files = [folder / stage / "model.safetensors" for stage in MODELS]
    files += [folder / "columns" / f"{name}.{ending}" for name in columns for ending in ("npy", "json")]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def stages(summary):
    return {stage["stage"]: stage for stage in summary["stages"]}


def wait_for(path, process):
    while not list(path.parent.glob(path.name)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
