"""PyTorch Geometric's own tests with Plimsoll's classes in the place of theirs: how many pass, and why others do not.

    PYG_TESTS=FOLDER .venv/bin/python bench/pyg_tests.py [FILE ...]

FOLDER is `test` of a checkout of pyg-team/pytorch_geometric at the tag nearest to what is installed (its sdist has no
tests). FILEs are below it. bench/pyg_swap.py puts the classes in place.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = [
    "loader/test_dataloader.py", "loader/test_neighbor_loader.py", "loader/test_link_neighbor_loader.py",
    "loader/test_cluster.py", "nn/conv/test_gat_conv.py", "nn/conv/test_gatv2_conv.py", "nn/models/test_basic_gnn.py",
]  # fmt: skip


def run(folder, file):
    """{test: [outcome, why]}."""
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary, "results.json")
        environment = {**os.environ, "PYG_SWAP": str(results), "PYTHONPATH": str(Path(__file__).parent)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pyg_swap", "-p", "no:cacheprovider", "--no-header", "--tb=no", file]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if not results.exists():
            sys.exit(f"{file}: pytest gave\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(results.read_text())


def main():
    if "PYG_TESTS" not in os.environ:
        sys.exit(__doc__)
    print("| file | passed | failed | skipped | why they failed |\n|---|---|---|---|---|")
    for file in sys.argv[1:] or FILES:
        done = run(os.environ["PYG_TESTS"], file).values()
        count = collections.Counter(outcome for outcome, _ in done)
        whys = collections.Counter(why[:120] for outcome, why in done if outcome == "failed")
        text = "; ".join(f"{n} x `{why}`" for why, n in whys.most_common())
        print(f"| {file} | {count['passed']} of {len(done) - count['skipped']} | {count['failed']} | {count['skipped']} | {text} |", flush=True)


if __name__ == "__main__":
    main()
