"""What a wheel does with torch and PyTorch Geometric, and no compiler (scripts/try-wheel): pages of docs/python."""

import subprocess
import sys
from pathlib import Path

import torch

import plimsoll
from plimsoll import _operators

assert "site-packages/plimsoll" in plimsoll.__file__ and str(Path(plimsoll.__file__)).startswith(sys.prefix)
version = ".".join(torch.__version__.split(".")[:2])
if version not in _operators.versions():
    try:
        plimsoll.budget("1GiB")
    except plimsoll.MissingPackage as error:
        print(f"torch {torch.__version__}: {error}")
    sys.exit()

repository = Path(sys.argv[1])
sys.path.insert(0, str(repository / "tests" / "python"))
sys.modules["pytest"] = type(sys)("pytest")  # the reader of pages is in a test
sys.modules["pytest"].importorskip = lambda *_, **__: None
sys.modules["pytest"].mark = type("Mark", (), {"parametrize": staticmethod(lambda *_, **__: lambda test: test)})
from test_package_docs import code_of  # noqa: E402

for page in ("data-sets", "training", "runs"):
    Path(page).mkdir()
    code = code_of(repository / "docs" / "python" / f"{page}.md")
    subprocess.run([sys.executable, "-c", code], cwd=page, check=True, capture_output=True)
recipe = repository / "recipes" / "gat.yaml"
command = [sys.executable, "-m", "plimsoll", "plan", recipe, "--data", "data-sets/frames"]
done = subprocess.run(command, capture_output=True, text=True)
assert done.returncode == 0, done.stderr
print(f"with torch {torch.__version__}: works")
