"""What a wheel does with torch and PyTorch Geometric, and no compiler (scripts/try-wheel): the pages of docs/python, the
program that trains, and examples/."""

import os
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import torch

from plimsoll import _operators

repository = Path(sys.argv[1])
if ".".join(torch.__version__.split(".")[:2]) not in _operators.versions():
    sys.exit()  # first_loss.py has tested the message.

sys.path.insert(0, str(repository / "tests" / "python"))
sys.modules["pytest"] = type(sys)("pytest")  # the reader of pages is in a test
sys.modules["pytest"].importorskip = lambda *_, **__: None
sys.modules["pytest"].mark = type("Mark", (), {"parametrize": staticmethod(lambda *_, **__: lambda test: test)})
from test_package_docs import PAGES, code_of  # noqa: E402


def run(*command, folder="."):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


for page in PAGES:
    Path(page.stem).mkdir()
    run(sys.executable, "-c", code_of(page), folder=page.stem)
plan = run(sys.executable, "-m", "plimsoll", "plan", "gat", "-Otask=graph_classification", "--data", "data-sets/graphs")
assert "smallest budget" in plan

# Verbs that start another program of the wheel.
run(sys.executable, "-m", "plimsoll", "simulate", "can", "--frames", 60_000, "--out", "frames")
run(sys.executable, "-m", "plimsoll", "convert", "frames", "--to", "candump", "--out", "log")
log = sorted(Path("log").rglob("*.log"))[0]
run(sys.executable, "-m", "plimsoll", "convert", log, "--to", "csv", "--benign", "--out", "frames.csv")
run(sys.executable, "-m", "plimsoll", "detector", log, "--out", "car.safetensors", "--attacks", "DoS", "-Otraining.max_epochs=1")
job = run(sys.executable, "-m", "plimsoll", "slurm", "gat", "-Otask=graph_classification", "--data", "data-sets/graphs", "--run", "runs/job", "--trial", 0)
(program,) = [line.removeprefix("plimsoll=") for line in job.splitlines() if line.startswith("plimsoll=")]
run(program, "plan", "gat", "-Otask=graph_classification", "--data", "data-sets/graphs")

example = repository / "examples" / "train_can_windows.py"
assert "epoch 1: loss" in run(sys.executable, example, "--epochs", 1, "--frames", 60_000)
archive = Path(os.environ["PLIMSOLL_DATA"]) / "graph-tu" / "MUTAG.zip"
if archive.is_file():
    from tu_sets import unpack

    unpack(archive, "tu")
    assert "the same to the bit" in run(sys.executable, repository / "examples" / "train_tu.py", "MUTAG", "--epochs", 1)
print(f"torch {torch.__version__}: {len(PAGES)} pages, `plimsoll plan` and the examples run")

# plimsoll[pyg] installs a torch that the wheel has a part for.
(limits,) = [line.split(";")[0] for line in requires("plimsoll") if line.startswith(("torch<", "torch>"))]
above = int(_operators.versions()[-1].removeprefix("2.")) + 1
assert set(limits.strip().removeprefix("torch").split(",")) == {f">={_operators.versions()[0]}", f"<2.{above}"}, limits
