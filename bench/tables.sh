#!/usr/bin/env bash
# Tables to a graph with types: TPC-H (scale BENCH_TPCH, default 1) and the flights of 2013, against pyarrow and pandas in the
# same run. Writes its sections of bench/results/tables.md. Needs `scripts/bootstrap bench`, and about 1 GB below
# BENCH_SCRATCH for each unit of scale.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PLIMSOLL_VENV:-.venv}/bin/python
"$python" -c 'import pandas, pyarrow' || { echo "bench/tables: run scripts/bootstrap bench" >&2; exit 1; }
exec "$python" bench/tables.py
