#!/usr/bin/env bash
# Graph attention against PyTorch Geometric on 2,000 real windows (DATA=FOLDER) and a random graph. QUICK=1 runs one case.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-../shared/data/can/hcrl_sa}
if [[ ! -e $data ]]; then echo "bench/attention: no captures at $data; give DATA=FOLDER" >&2; exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/release/bin/plimsoll ingest can "$data" --out "$work/frames" >/dev/null
build/release/bin/plimsoll windows "$work/frames" --features compat --out "$work/graphs" >/dev/null
.venv/bin/python bench/attention.py "$PWD/build/release/lib/libplimsoll_ops.so" "$work/graphs" ${QUICK:+--quick}
