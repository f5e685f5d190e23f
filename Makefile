# The front door; the work is done by CMake and scripts/.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BUILD := build/release
# Real captures for `make demo`, where they lie beside the checkout.
DATA ?= $(wildcard ../shared/data/can/hcrl_sa)

.PHONY: help demo build test check bench format lint clean bootstrap

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: build ## From captures to teachers, students and verdicts; DATA=FOLDER names other captures
	@DATA='$(DATA)' scripts/demo

build: bootstrap $(BUILD)/build.ninja ## Programs in build/release/bin
	@cmake --build $(BUILD) --parallel $$(scripts/jobs)

test: build ## All quick tests; the last line counts them
	@scripts/test

check: build ## Lint, clang-tidy, sanitizers and slow tests
	@scripts/bootstrap check
	@scripts/check

bench: build ## Measure against the peers of bench/
	@scripts/bench

format: bootstrap ## Format src and tests in place
	@scripts/format

lint: bootstrap ## Format, room rules and scripts, without compiling
	@scripts/lint

clean: ## Remove build/
	rm -rf build

bootstrap:
	@scripts/bootstrap

# Ninja configures again by itself when CMake's own files change.
$(BUILD)/build.ninja: CMakePresets.json requirements.txt | bootstrap
	@cmake --preset release $(if $(PLIMSOLL_VENV),-DPLIMSOLL_PYTHON=$(abspath $(PLIMSOLL_VENV))/bin/python3)
	@touch $@
