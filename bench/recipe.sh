#!/usr/bin/env bash
# The published recipe on its 9,364 training windows of hcrl_sa (DATA=FOLDER) against PyTorch Geometric in the same run:
# training steps, making blocks, stages and budgets. About 15 minutes; QUICK=1 measures less, in 3. Writes its sections of
# bench/results/recipe.md.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-../shared/data/can/hcrl_sa}
if [[ ! -e $data ]]; then echo "bench/recipe: no captures at $data; give DATA=FOLDER" >&2; exit 0; fi
cmake --preset release -DPLIMSOLL_BENCH=ON >/dev/null
cmake --build build/release --parallel "$(scripts/jobs)" --target plimsoll plimsoll-train bench_engine bench_blocks >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/release/bin/plimsoll ingest can "$data" --out "$work/frames" >/dev/null
build/release/bin/plimsoll windows "$work/frames" --features compat --out "$work/graphs" >/dev/null
"${PLIMSOLL_VENV:-.venv}/bin/python" bench/recipe.py build/release/bin "$work" ${QUICK:+--quick}
