#!/usr/bin/env bash
# plimsoll.DataLoader against PyTorch Geometric's, on the training windows of hcrl_sa (DATA=FOLDER). About 2 minutes;
# QUICK=1 measures less. Writes bench/results/loader.md.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-../shared/data/can/hcrl_sa}
if [[ ! -e $data ]]; then echo "bench/loader: no captures at $data; give DATA=FOLDER" >&2; exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/release/bin/plimsoll ingest can "$data" --out "$work/frames" >/dev/null
build/release/bin/plimsoll windows "$work/frames" --features compat --out "$work/graphs" >/dev/null
"${PLIMSOLL_VENV:-.venv}/bin/python" bench/loader.py "$work/graphs" ${QUICK:+--rounds 2}
