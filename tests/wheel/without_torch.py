"""What a wheel does where there is neither torch nor a compiler (scripts/try-wheel)."""

import csv
import shutil
import subprocess
import sys
import time
from pathlib import Path

begin = time.perf_counter()
import plimsoll  # noqa: E402

seconds = time.perf_counter() - begin
assert not any(shutil.which(name) for name in ("cc", "gcc", "g++", "clang")), "a compiler is in PATH"
assert "site-packages/plimsoll" in plimsoll.__file__ and "numpy" not in sys.modules


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", "plimsoll", *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


assert run("--version") == (0, f"plimsoll {plimsoll.__version__}\n")
assert run("simulate", "can", "--out", "frames", "--frames", "20000")[0] == 0
assert run("windows", "frames", "--out", "graphs")[0] == 0
graphs = plimsoll.open("graphs")
assert len(graphs) > 100 and graphs[0].x.shape[1] == graphs.num_node_features
assert plimsoll.verify(graphs) == []
batches = list(plimsoll.DataLoader(graphs, 64, shuffle=True, as_numpy=True))
assert sum(len(batch["y"]) for batch in batches) == len(graphs) and batches[0]["x"].dtype == "float32"
graph = plimsoll.simulate.graph("graph", nodes=2000, degree=5, features=4, classes=3)
parts = plimsoll.ClusterData(graph, 4, method="metis").parts  # a library that is loaded, not linked
assert len(set(parts.tolist())) == 4
for batch in plimsoll.NeighborLoader(graph, [5, 5], "train", batch_size=64, as_numpy=True):
    assert batch["x"].shape == (len(batch["n_id"]), 4)
assert "gat" in run("recipes")[1]  # recipes are in the program

# The library that opens files of tables finds pyarrow's next to the package.
rows = [[str(i), str(i % 7)] for i in range(50)]
with Path("users.csv").open("w", newline="") as file:
    csv.writer(file).writerows([["id", "group"], *rows])
code, text = run("ingest", "tables", "--table", "users=users.csv:key=id", "--out", "tables")
assert code == 0 and plimsoll.verify(plimsoll.open("tables")) == [], text

code, text = run("train", "recipe.yaml", "--data", "graphs", "--run", "run")
assert code != 0, text
for name in ("fit", "plan", "train"):
    try:
        getattr(plimsoll, name)
    except plimsoll.MissingPackage as error:
        assert "pip install torch" in str(error)
    else:
        raise AssertionError(name)
print(f"without torch: works; import plimsoll took {seconds * 1000:.1f} ms, Python {sys.version.split()[0]}")
