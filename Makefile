# The two commands to know: `make demo` and `make test`. Recipes stand in recipes/, write into runs/,
# and go on where they were interrupted.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help install test lint soak bench clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
STRUCTKIT := $(BIN)/structkit
# without instructions for it, bf16 is slower than fp32
BF16 := $(if $(shell grep -om1 avx512_bf16 /proc/cpuinfo),--bf16)

help: ## What there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

install: $(INSTALLED) ## structkit and its tools into .venv

test: $(INSTALLED) ## All tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

lint: $(INSTALLED) ## ruff and strict mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy structkit plugins

soak: $(INSTALLED) ## Bad input for every command, 5,000 cases: make soak COUNT=… SEED=… JOBS=…
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.soak --count $(COUNT) --seed $(SEED) --jobs $(JOBS)
soak: COUNT := 5000
soak: SEED := 0
soak: JOBS := 2

bench: $(INSTALLED) ## Speed beside the peer's: make bench DATA=../shared/data DGL=FOLDER, or without
	$(BIN)/python -m tests.benchmarks $(if $(DATA),--data '$(DATA)') $(if $(DGL),--dgl '$(DGL)')

clean: ## Remove what recipes and installation wrote
	rm -rf runs build dist *.egg-info $(VENV)

# one file a workflow: its data come from stages of structkit, not from cutting JSON apart
include recipes/*.mk
