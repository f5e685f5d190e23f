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
.venv/bin/python bench/peers/segments.py "$PWD/build/release/lib/libplimsoll_ops.so" "$work/graphs"
GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456 \
  .venv/bin/python bench/peers/segments.py "$PWD/build/release/lib/libplimsoll_ops.so" "$work/graphs"
