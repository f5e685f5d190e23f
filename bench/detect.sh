#!/usr/bin/env bash
# Streaming detection on one core of real recordings (DATA=FOLDER), against PyTorch Geometric window by window.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-../shared/data/can/hcrl_sa}
if [[ ! -e $data ]]; then echo "bench/detect: no captures at $data; give DATA=FOLDER" >&2; exit 0; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
.venv/bin/python bench/detect.py "$data" "$work" ${QUICK:+--quick}
