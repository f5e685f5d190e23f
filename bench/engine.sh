#!/usr/bin/env bash
# Training steps on real windows (DATA=FOLDER): allocators, threads, block limits, batch sizes. QUICK=1 measures less.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-../shared/data/can/hcrl_sa}
if [[ ! -e $data ]]; then echo "bench/engine: no captures at $data; give DATA=FOLDER" >&2; exit 0; fi
cmake --preset release -DPLIMSOLL_BENCH=ON >/dev/null
cmake --build build/release --target bench --parallel "$(scripts/jobs)" >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/release/bin/plimsoll ingest can "$data" --out "$work/frames" >/dev/null
build/release/bin/plimsoll windows "$work/frames" --features compat --out "$work/graphs" >/dev/null
build/release/bin/plimsoll simulate can --frames 7000000 --out "$work/many-frames" --seed 1 >/dev/null
build/release/bin/plimsoll windows "$work/many-frames" --features compat --out "$work/many" >/dev/null
.venv/bin/python bench/engine.py build/release/bin/bench_engine "$work/graphs" "$work/many" ${QUICK:+--quick}
