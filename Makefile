# The front door; the work is done by CMake and scripts/.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BUILD := build/release
VENV := $(or $(PLIMSOLL_VENV),.venv)
# Real captures for `make demo`, stored next to the checkout.
DATA ?= $(wildcard ../shared/data/can/hcrl_sa)

# The graph of `make demo-graph`, stored next to the checkout.
GRAPH ?= $(wildcard ../shared/data/graph-cnr2000)

# The neurons of `make demo-paths`, stored next to the checkout.
NEURONS ?= $(if $(wildcard ../shared/data/tree-neuron-ratcortex),../shared/data)

.PHONY: help demo demo-graph demo-paths build all package wheels test check bench bench-peers format lint clean bootstrap tools

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

demo: ## From captures to detectors and alarms; DATA=FOLDER names other captures
	@echo 'make demo: 1. installs what is missing, 2. builds the two programs (7 to 10 minutes on 2 cores the'
	@echo '  first time), 3. goes from CAN captures to trained detectors and live alarms within 256 MiB (1 to 2 minutes)'
	@$(MAKE) --no-print-directory build
	@DATA='$(DATA)' scripts/demo

demo-graph: bootstrap build ## One giant graph in a fifth of its memory; GRAPH=FOLDER names another cnr-2000
	@DATA='$(GRAPH)' scripts/demo-graph

demo-paths: build ## Neurons to classes, pretrained and from scratch; NEURONS=FOLDER names another place of theirs
	@DATA='$(NEURONS)' scripts/demo-paths

build: tools $(BUILD)/build.ninja ## The two programs, in build/release/bin
	@cmake --build $(BUILD) --parallel $$(scripts/jobs) --target programs

all: bootstrap $(BUILD)/build.ninja ## The programs and all tests
	@cmake --build $(BUILD) --parallel $$(scripts/jobs)

package: $(VENV)/.package ## The Python package, into .venv

wheels: package ## A wheel that needs no compiler, into dist/ (docs/RELEASING.md)
	@scripts/wheels

test: all package ## All quick tests; the last line counts them
	@scripts/test

check: all package ## Lint, clang-tidy, sanitizers and slow tests
	@scripts/check

bench: bootstrap build ## Measure against the peers of bench/
	@scripts/bench

bench-peers: bootstrap ## Peers of bench/sampling.sh and bench/node2vec.py, built from source in 30 minutes, into build/peers
	@FORCE_ONLY_CPU=1 $(VENV)/bin/python -m pip install --no-deps --no-build-isolation --target build/peers \
	  torch-scatter==2.1.2 torch-sparse==0.6.18 torch-cluster==1.6.3

format: bootstrap ## Format C++ in place
	@scripts/format

lint: bootstrap ## Format, module rules, types and scripts, without compiling
	@scripts/lint

clean: ## Remove build/
	rm -rf build

tools:
	@scripts/bootstrap programs

bootstrap: tools
	@scripts/bootstrap

# In the folder of `make all`, to share its objects.
$(VENV)/.package: pyproject.toml CMakeLists.txt requirements.txt $(shell find src python cmake -type f -not -name '*.pyc') | bootstrap $(BUILD)/build.ninja
	@scripts/package
	@touch $@

# Ninja configures again by itself when CMake's own files change.
$(BUILD)/build.ninja: CMakePresets.json requirements.txt | tools
	@cmake --preset release $(if $(PLIMSOLL_VENV),-DPLIMSOLL_PYTHON=$(abspath $(PLIMSOLL_VENV))/bin/python3)
	@touch $@
