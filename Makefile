# The two commands to know: `make demo` and `make test`. Recipes write into runs/, and go on where
# they were interrupted.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help install demo test lint bench santa-code santa-table clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
STRUCTKIT := $(BIN)/structkit

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

bench: $(INSTALLED) ## Speed beside the peer's, in one run
	$(BIN)/python -m tests.benchmarks

# --- SANTA on code -------------------------------------------------------------------------------
# Four models of one recipe: untrained, entity prediction alone (mep), alignment alone (sda), both
# (santa). TRAIN and TEST are code documents, RUN is the folder of the recipe, FLAGS its settings.

demo: $(INSTALLED) ## SANTA end to end on the fixtures, with a table of measures
	@$(MAKE) --no-print-directory -j 2 santa-table RUN=runs/demo TRAIN=fixtures/code/train.jsonl \
	  TEST=fixtures/code/test.jsonl FLAGS='$(DEMO_FLAGS)'

santa-code: $(INSTALLED) ## The same on real functions: make santa-code DATA=../shared/data/codesearch
	@test -f '$(DATA)/train.jsonl.gz' || { echo 'name the data: make santa-code DATA=FOLDER'; exit 2; }
	@mkdir -p runs/santa-code
	gunzip -c '$(DATA)/train.jsonl.gz' | grep -F '"language": "python"' > runs/santa-code/train.jsonl
	gunzip -c '$(DATA)/dev.jsonl.gz' | grep -F '"language": "python"' > runs/santa-code/test.jsonl
	@$(MAKE) --no-print-directory -j 2 santa-table RUN=runs/santa-code MASK='--mask-ratio 0.3' \
	  FLAGS='$(CODE_FLAGS)' \
	  TRAIN=runs/santa-code/train.jsonl TEST=runs/santa-code/test.jsonl

# the fixtures are few and short: a tiny model, many passes
DEMO_FLAGS := --size tiny --vocabulary-size 1000 --document-length 128 --target-length 64 \
  --pooling mean --normalize --temperature 0.05 --symmetric --align-on original \
  --batch-size 32 --learning-rate 3e-3 --epochs 15
# the paper's settings are the defaults; these are for a model from scratch and half an hour
CODE_FLAGS := --document-length 128 --pooling mean --normalize --temperature 0.05 --symmetric \
  --batch-size 64 --learning-rate 1e-3 --epochs 3 --bf16

MODELS := untrained mep sda santa
ONLY_untrained := --max-steps 0
ONLY_mep := --alignment-weight 0
ONLY_sda := --entity-weight 0 --align-on original

santa-table: $(RUN)/table.md
	@cat $<

$(RUN)/pairs.jsonl: $(TRAIN)
	@mkdir -p $(RUN)
	$(STRUCTKIT) pair $< --dedupe -o $@

$(RUN)/masked.jsonl: $(RUN)/pairs.jsonl
	$(STRUCTKIT) mask-entities $< $(MASK) -o $@

$(RUN)/corpus.jsonl: $(TEST)
	@mkdir -p $(RUN)
	$(STRUCTKIT) pair $< -o $@

# two trainings at a time, one core each: small models gain little from a second core
$(MODELS:%=$(RUN)/%.model): $(RUN)/%.model: $(RUN)/masked.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train santa $< -o $@ $(FLAGS) $(ONLY_$*) \
	  $(if $(wildcard $@.partial),--resume) --save-every 100

$(MODELS:%=$(RUN)/%.jsonl): $(RUN)/%.jsonl: $(RUN)/%.model $(RUN)/corpus.jsonl
	$(STRUCTKIT) encode --as document -m $< $(RUN)/corpus.jsonl -o $(RUN)/$*.npy
	$(STRUCTKIT) encode --as query -m $< $(RUN)/corpus.jsonl \
	  | $(STRUCTKIT) search $(RUN)/$*.npy -o $@

$(RUN)/bm25.jsonl: $(RUN)/corpus.jsonl
	$(STRUCTKIT) search $< --method bm25 --queries $< -o $@

$(RUN)/santa+bm25.jsonl: $(RUN)/santa.jsonl $(RUN)/bm25.jsonl
	$(STRUCTKIT) fuse $^ --method weighted --weight 0.3 --weight 1 -o $@

RUNS := $(MODELS:%=$(RUN)/%.jsonl) $(RUN)/bm25.jsonl $(RUN)/santa+bm25.jsonl
# the two that matter most come first
$(RUN)/table.md: $(RUN)/santa.jsonl $(RUN)/sda.jsonl $(RUNS) $(RUN)/corpus.jsonl
	$(STRUCTKIT) score --qrels self --queries $(RUN)/corpus.jsonl --markdown \
	  --measures 'RR@100 Success@1 R@10' $(RUNS) -o $@

clean: ## Remove what recipes and installation wrote
	rm -rf runs build dist *.egg-info $(VENV)
