#!/usr/bin/env bash
# Window graphs a second of one core, on the fly, on real captures (DATA=FOLDER). Peer: the NumPy twin of the published
# pipeline, which makes the same compat graphs from the same files, timed in the same run.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-../shared/data/can/hcrl_sa}
if [[ ! -e $data ]]; then echo "bench/windows: no captures at $data; give DATA=FOLDER" >&2; exit 0; fi
cmake --preset release -DPLIMSOLL_BENCH=ON >/dev/null
cmake --build build/release --target bench --parallel "$(scripts/jobs)" >/dev/null
frames=$(mktemp -d)
trap 'rm -rf "$frames"' EXIT
build/release/bin/plimsoll ingest can "$data" --out "$frames/frames" --threads 1
build/release/bin/bench_windows "$frames/frames"
echo "peer: bench/peers/compat_graphs.py, from CSV to graphs (user and system seconds of the whole run):"
( TIMEFORMAT='%U s user, %S s system'; time .venv/bin/python bench/peers/compat_graphs.py "$data" )
