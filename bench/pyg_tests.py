"""PyTorch Geometric's own tests with Plimsoll's classes in the place of theirs: how many pass, and why others do not.

    .venv/bin/python bench/pyg_tests.py CHECKOUT [PATH ...]

CHECKOUT is one of pyg-team/pytorch_geometric at the tag nearest to what is installed (its sdist has no tests). PATHs are
files and folders below `test`. bench/pyg_swap.py puts the classes in place. Failures that KNOWN names are counted apart; tests
of a path where others fail run again without the swap, which tells how many of them fail with PyTorch Geometric's own classes,
too. Exit code 1 where a failure is neither known nor theirs.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

PATHS = [
    "loader/test_dataloader.py", "loader/test_cluster.py", "loader/test_neighbor_loader.py", "loader/test_link_neighbor_loader.py",
    "loader/test_hgt_loader.py", "loader/test_dynamic_batch_sampler.py", "loader/test_imbalanced_sampler.py",
    "nn/conv/test_gat_conv.py", "nn/conv/test_gatv2_conv.py", "nn/conv/test_gcn_conv.py", "nn/conv/test_sage_conv.py",
    "nn/conv/test_gin_conv.py",
]  # fmt: skip

# A part of the name of a test or of what its failure says, and why it is expected.
KNOWN = {
    "'SparseTensor' requires 'torch-sparse'": "compares with torch-sparse's matrices",
    "Cannot connect to host": "downloads a data set",
    "test_dataloader_with_dynamic_batches": "expects a graph twice in an epoch with skip_too_big=True, as of pull request 10467",
    "test_gcn_conv_with_decomposed_layers": "torch.jit.script, which PyTorch Geometric 2.8 dropped for GATConv, too",
    "test_sage_conv[sum-False]": "compares fused sums of random numbers with sparse ones by 1e-6, and fails in some runs: rounding is the likely reason",
}


def run(folder, path, plain=False):
    """{test: [outcome, why]}."""
    with tempfile.TemporaryDirectory() as temporary:
        results = Path(temporary, "results.json")
        path_of_modules = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYG_SWAP": str(results), "PYTHONPATH": path_of_modules}
        if plain:
            environment["PYG_PLAIN"] = "1"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "pyg_swap", "-p", "no:cacheprovider", "--no-header", "--tb=no", path]
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if not results.exists():
            sys.exit(f"{path}: pytest gave\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(results.read_text())


def reason(test, why):
    """Why a failure is expected, or None."""
    return next((text for part, text in KNOWN.items() if part in f"{test} {why}"), None)


def row(path, done, plain):
    """A row of the table, and how many failures are neither known nor theirs; `plain` gives their outcomes."""
    count = collections.Counter(outcome for outcome, _ in done.values())
    failed = {test: why for test, (outcome, why) in done.items() if outcome == "failed"}
    known = {test: text for test, why in failed.items() if (text := reason(test, why))}
    others = {test: why for test, why in failed.items() if test not in known}
    theirs = plain() if others else {}
    too = [test for test in others if theirs.get(test, ["passed"])[0] == "failed"]
    ours = {test: why for test, why in others.items() if test not in too}
    texts = [f"{n} {text}" for text, n in collections.Counter(known.values()).most_common()]
    whys = collections.Counter(f"{test.partition('::')[2].partition('[')[0]}: {why[:120]}" for test, why in ours.items())
    texts += [f"{n} x `{why}`" for why, n in whys.most_common()]
    passed = f"{count['passed']} of {len(done) - count['skipped']}"
    return f"| {path} | {passed} | {len(failed)} | {len(known)} | {len(too)} | {count['skipped']} | {'; '.join(texts)} |", len(ours)


def main():
    if len(sys.argv) < 2 or not (folder := Path(sys.argv[1], "test")).is_dir():
        sys.exit(__doc__)
    print("| tests | passed | failed | known | theirs, too | skipped | why they failed |\n|---|---|---|---|---|---|---|")
    unknown = 0
    for path in sys.argv[2:] or PATHS:
        text, found = row(path, run(folder, path), lambda path=path: run(folder, path, plain=True))
        print(text, flush=True)
        unknown += found
    sys.exit(1 if unknown else 0)


if __name__ == "__main__":
    main()
