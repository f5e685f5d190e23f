#!/usr/bin/env bash
# Detection on unknown vehicles and unknown attacks: all protocols of docs/detection.md on the captures in DATA=FOLDER,
# SEEDS=5 models each. About an hour. Writes its sections of bench/results/detection.md. WORK=FOLDER keeps data and runs.
set -euo pipefail
cd "$(dirname "$0")/.."

data=${DATA:-../shared/data}
if [[ ! -e $data/can/hcrl_sa ]]; then echo "bench/detection: no captures at $data/can/hcrl_sa; give DATA=FOLDER" >&2; exit 0; fi
work=${WORK:-$(mktemp -d)}
mkdir -p "$work"
if [[ -z ${WORK:-} ]]; then trap 'rm -rf "$work"' EXIT; fi
"${PLIMSOLL_VENV:-.venv}/bin/python" bench/detection.py "$data" "$work" --seeds "${SEEDS:-5}"
