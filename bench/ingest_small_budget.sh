#!/usr/bin/env bash
# 4 GB of CSV (BENCH_SMALL_GB) ingested by a process that the kernel holds to 128 MiB, with a budget of 48 MiB. Writes
# its section of bench/results/ingest.md. Needs a memory cgroup that it may make children of, and 1.6 times the text on
# the disk.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${PLIMSOLL_VENV:-.venv}/bin/python" bench/ingest_small_budget.py
