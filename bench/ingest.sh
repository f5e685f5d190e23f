#!/usr/bin/env bash
# Captures to columns and to graphs, against polars, pyarrow, zstd and the published pipeline in pandas, in the same
# run. Writes its sections of bench/results/ingest.md. Needs `scripts/bootstrap bench`, and about 4 GB below BENCH_SCRATCH
# (default: beside build/release) for BENCH_GB=1.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PLIMSOLL_VENV:-.venv}/bin/python
"$python" -c 'import pandas, polars, pyarrow' || { echo "bench/ingest: run scripts/bootstrap bench" >&2; exit 1; }
exec "$python" bench/ingest.py
