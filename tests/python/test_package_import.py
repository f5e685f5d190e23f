"""The package `plimsoll`: what it needs, what it shows, and the command line in it."""

import ast
import importlib
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from package_data import plimsoll, python

from plimsoll import _operators

BLOCKED = "import sys; sys.modules.update({'torch': None, 'torch_geometric': None})\n"


def test_needs_neither_torch_nor_pyg(tmp_path):
    out = python(BLOCKED + f"""
import plimsoll
frames = plimsoll.simulate.can({str(tmp_path / "f")!r}, frames=20000)
graphs = plimsoll.windows(frames, {str(tmp_path / "g")!r})
try:
    graphs.to_pyg(0)
except plimsoll.MissingPackage as error:
    print(isinstance(error, ImportError), error)
""")
    assert out.startswith("True") and "pip install torch torch_geometric" in out


def test_names_are_there_before_they_are_imported():
    out = python("""
from plimsoll import *
import sys, time
import plimsoll
assert open is __builtins__.open and {"plan", "fit", "budget", "open", "from_pyg"} <= set(dir(plimsoll))
print(plan, DataLoader, ingest.can)
""")
    assert "function plan" in out
    quick = "import sys, plimsoll; print([m for m in ('numpy', 'typing', 'torch', 'plimsoll._core') if m in sys.modules])"
    assert python(f"import site; {quick}").strip() == "[]"


def test_import_does_not_load_torch():
    assert python("import plimsoll, sys; print([m for m in sys.modules if m.startswith('torch')])").strip() == "[]"


def test_is_the_version_of_the_programs(run):
    assert run("plimsoll", "--version").strip() == f"plimsoll {plimsoll.__version__}"


def test_python_m_plimsoll_is_the_command_line(run):
    here = subprocess.run([sys.executable, "-m", "plimsoll", "--help"], capture_output=True, text=True, timeout=60)
    assert here.returncode == 0 and here.stdout == run("plimsoll", "--help")
    wrong = subprocess.run([sys.executable, "-m", "plimsoll", "sink"], capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 2
    script = Path(sysconfig.get_path("scripts"), "plimsoll")
    assert subprocess.run([script, "--version"], capture_output=True, timeout=60).returncode == 0


def test_python_m_plimsoll_starts_the_programs_of_other_verbs(run, tmp_path):
    def package(*words):
        done = subprocess.run([sys.executable, "-m", "plimsoll", *map(str, words)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    log = tmp_path / "drive.log"
    log.write_text("".join(f"({i / 1000:.6f}) can0 {100 + i % 3:03X}#0102030405060708\n" for i in range(3000)))
    package("convert", log, "--out", tmp_path / "drive.csv", "--benign")
    assert (tmp_path / "drive.csv").exists()
    if not _operators.versions():
        return
    run("plimsoll", "simulate", "can", "--frames", "20000", "--out", tmp_path / "frames")
    job = package("slurm", "gat", "--data", tmp_path / "frames", "--run", tmp_path / "run", "--trial", 0)
    assert f"plimsoll={Path(sys.executable).with_name('plimsoll')}\n" in job
    assert "cannot be started" not in subprocess.run(
        [sys.executable, "-m", "plimsoll", "detector", log, "--out", tmp_path / "car.safetensors", "--attacks", "DoS"],
        capture_output=True, text=True, timeout=300).stderr


def test_train_is_carried_where_it_was_built_with_torch(tmp_path):
    recipe = Path(__file__).resolve().parents[2] / "recipes" / "gat.yaml"
    command = [sys.executable, "-m", "plimsoll", "train", recipe, "--data", tmp_path / "none", "--run", tmp_path / "run"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if _operators.versions():
        assert done.returncode == 3 and "none" in done.stderr, done.stderr
    else:
        assert done.returncode == 1 and "torch" in done.stderr


def test_another_torch_is_refused():
    out = python("""
import torch, plimsoll
torch.__version__ = "2.99.0"
try:
    plimsoll.budget("1GiB")
except plimsoll.MissingPackage as error:
    print(error)
""")
    assert "torch 2.99.0, but plimsoll was built for torch" in out and "Data sets, detection and the command line work" in out
    assert re.search(r'pip install "torch==2\.\d+\.\*"', out)


def test_without_torch_it_says_so():
    out = python(BLOCKED + """
import plimsoll
for name in ("budget", "plan", "fit", "nn"):
    try:
        getattr(plimsoll, name) if name != "nn" else __import__("plimsoll.nn")
    except plimsoll.MissingPackage as error:
        print(name, error)
""")
    assert out.count("pip install torch") == 4


def test_is_typed_and_names_what_it_offers():
    assert (Path(plimsoll.__file__).parent / "py.typed").exists()
    for name in plimsoll.__all__:
        thing = getattr(plimsoll, name)
        assert name == "__version__" or thing.__doc__, f"{name} has no docstring"


def test_the_program_takes_its_code_from_the_library():
    program = Path(plimsoll.__file__).parent / "bin" / "plimsoll"
    needed = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    assert "[libplimsoll.so]" in needed and "$ORIGIN/.." in needed


def test_only_the_entry_point_is_visible():
    library = Path(plimsoll._core.__file__)
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    assert "PyInit__core" in symbols
    assert [line for line in symbols.splitlines() if "plimsoll" in line] == []


@pytest.mark.parametrize("name", ["_core", "_torch"])
def test_the_stub_names_what_the_extension_has(name):
    if name == "_torch":
        pytest.importorskip("torch")
        _operators.load()
    module = importlib.import_module(f"plimsoll.{name}")
    stub = ast.parse(Path(plimsoll.__file__).with_name(f"{name}.pyi").read_text())
    named = [node for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    values = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    public = {key for key in vars(module) if not key.startswith("_")}
    assert public == {node.name for node in named} | values
    for node in named:
        if isinstance(node, ast.FunctionDef):
            continue
        parts = {part.name if isinstance(part, ast.FunctionDef) else part.target.id for part in node.body}
        bound = {key for key in vars(getattr(module, node.name)) if not key.startswith("_")}
        assert bound == {part for part in parts if not part.startswith("_")}, node.name
