#!/usr/bin/env bash
# Sampled seeds a second of one core, on cnr-2000 (GRAPH=FILE.tsv.zst), beside PyTorch Geometric's samplers in the same run
# where their backend is installed: pyg-lib or torch-sparse in the venv, or what `make bench-peers` built. Writes its section
# of bench/results/sampling.md.
set -euo pipefail
cd "$(dirname "$0")/.."

graph=${GRAPH:-../shared/data/graph-cnr2000/cnr-2000.arcs.tsv.zst}
if [[ ! -e $graph ]]; then echo "bench/sampling: no graph at $graph; give GRAPH=FILE" >&2; exit 0; fi
cmake --preset release -DPLIMSOLL_BENCH=ON >/dev/null
cmake --build build/release --target bench_sampling --parallel "$(scripts/jobs)" >/dev/null
export PYTHONPATH=$PWD/build/peers${PYTHONPATH:+:$PYTHONPATH}
exec "${PLIMSOLL_VENV:-.venv}/bin/python" bench/sampling.py "$graph"
