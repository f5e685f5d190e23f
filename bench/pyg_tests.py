"""PyTorch Geometric's own tests with Plimsoll's classes in the place of theirs: how many pass, and why others do not.

    PYG_TESTS=FOLDER .venv/bin/python bench/pyg_tests.py [PATH ...]

FOLDER is `test` of a checkout of pyg-team/pytorch_geometric at the tag nearest to what is installed (its sdist has no
tests). PATHs are files and folders below it. bench/pyg_swap.py puts the classes in place; tests of a path where some fail
run again without it, which tells how many of them fail with PyTorch Geometric's own classes, too.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PATHS = [
    "loader/test_dataloader.py", "loader/test_neighbor_loader.py", "loader/test_link_neighbor_loader.py",
    "loader/test_cluster.py", "nn/conv/test_gat_conv.py", "nn/conv/test_gatv2_conv.py", "nn/models/test_basic_gnn.py",
]  # fmt: skip


def run(folder, path, plain=False):
    """{test: [outcome, why]}."""
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary, "results.json")
        environment = {**os.environ, "PYG_SWAP": str(results), "PYTHONPATH": str(Path(__file__).parent)}
        if plain:
            environment["PYG_PLAIN"] = "1"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pyg_swap", "-p", "no:cacheprovider", "--no-header", "--tb=no", path]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if not results.exists():
            sys.exit(f"{path}: pytest gave\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(results.read_text())


def main():
    if "PYG_TESTS" not in os.environ:
        sys.exit(__doc__)
    print("| tests | passed | failed | of these theirs, too | skipped | why they failed |\n|---|---|---|---|---|---|")
    folder = os.environ["PYG_TESTS"]
    for path in sys.argv[1:] or PATHS:
        done = run(folder, path)
        count = collections.Counter(outcome for outcome, _ in done.values())
        failed = {test: why for test, (outcome, why) in done.items() if outcome == "failed"}
        theirs = run(folder, path, plain=True) if failed else {}
        too = [test for test in failed if theirs.get(test, ["passed"])[0] == "failed"]
        whys = collections.Counter(f"{test.partition('::')[2].partition('[')[0]}: {why[:120]}" for test, why in failed.items() if test not in too)
        text = "; ".join(f"{n} x `{why}`" for why, n in whys.most_common())
        print(f"| {path} | {count['passed']} of {len(done) - count['skipped']} | {len(failed)} | {len(too)} | {count['skipped']} | {text} |",
              flush=True)


if __name__ == "__main__":
    main()
