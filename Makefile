# The two commands to know: `make demo` and `make test`. Recipes write into runs/, and go on where
# they were interrupted.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help install demo test lint bench santa-code santa-product santa-table clean

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

# --- SANTA ---------------------------------------------------------------------------------------
# Four models of one recipe: untrained, entity prediction alone (mep), alignment alone (sda), both
# (santa). TRAIN and TEST are documents for `pair`, RUN is the folder of the recipe, FLAGS are the
# settings of its trainings.

demo: $(INSTALLED) ## SANTA end to end on the fixtures, with a table of measures
	@$(MAKE) --no-print-directory -j 2 santa-table RUN=runs/demo TRAIN=fixtures/code/train.jsonl \
	  TEST=fixtures/code/test.jsonl FLAGS='$(DEMO_FLAGS)'

santa-code: $(INSTALLED) ## The same on real functions: make santa-code DATA=../shared/data/codesearch
	@test -f '$(DATA)/train.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 santa-table RUN='$(RUN)' MASK='--mask-ratio 0.3' \
	  TRAIN='$(RUN)/python-train.jsonl' TEST='$(RUN)/python-dev.jsonl' FLAGS='$(CODE_FLAGS)'

santa-product: $(INSTALLED) ## And on products: make santa-product DATA=../shared/data/products
	@test -f '$(DATA)/matching/products.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 santa-table RUN='$(RUN)' MASK='$(PRODUCT_MASK)' \
	  TRAIN='$(RUN)/product-train.jsonl' TEST='$(RUN)/product-test.jsonl' FLAGS='$(PRODUCT_FLAGS)' \
	  QUERIES='$(DATA)/matching/dev_queries.jsonl.gz' GAINS='esci-documented esci-official' \
	  SCORE="--qrels '$(DATA)/matching/dev_qrels.jsonl.gz' --gains exact $(PRODUCT_MEASURES)"

# another folder: make santa-code RUN=FOLDER
santa-code santa-product: RUN = runs/$@

# the fixtures are few and short: a tiny model, many passes
DEMO_FLAGS := --size tiny --vocabulary-size 1000 --document-length 128 --target-length 64 \
  --pooling mean --normalize --temperature 0.05 --symmetric --align-on original \
  --batch-size 32 --learning-rate 3e-3 --epochs 15
# without instructions for it, bf16 is slower than fp32
BF16 := $(if $(shell grep -om1 avx512_bf16 /proc/cpuinfo),--bf16)
# the paper's settings are the defaults; these are for a model from scratch
SCRATCH := --size wide --document-length 200 --pooling mean --normalize --temperature 0.05 --symmetric \
  --batch-size 64 --learning-rate 1e-3 $(BF16)
CODE_FLAGS := $(SCRATCH) --epochs 1
# all models learn from the same pairs: those with an entity to mask
PRODUCT_FLAGS := $(SCRATCH) --epochs 5
PRODUCT_MASK := --language product --mask-ratio 0.3 --on-error skip --stats
PRODUCT_MEASURES := --measures 'nDCG@10 RR@10 R@100'

MODELS := untrained mep sda santa
ONLY_untrained := --max-steps 0
ONLY_mep := --alignment-weight 0
ONLY_sda := --entity-weight 0 --align-on original

# what is searched for, and how runs are judged: by default each document's own query
QUERIES = $(RUN)/corpus.jsonl
SCORE = --qrels self --queries $(RUN)/corpus.jsonl --measures 'RR@100 Success@1 R@10'
GAINS :=

santa-table: $(RUN)/table.md $(GAINS:%=$(RUN)/table-%.md)
	@tail -n +1 $^

$(RUN)/python-%.jsonl: $(DATA)/%.jsonl.gz
	@mkdir -p $(RUN)
	gunzip -c $< | grep -F '"language": "python"' > $@

# the shops' descriptions end in a trace of the set they were made for
BARE := sed 's/ *COL price VAL"/"/'

# gift cards: one bullet and the description; where there is no bullet, and in the shops: the title.
# Nothing of the corpus, and of its other side only products that no test query is made of.
$(RUN)/product-train.jsonl: $(DATA)/amazon_gift_cards/products.jsonl.gz \
    $(DATA)/matching/query_side_products_train.jsonl.gz
	@mkdir -p $(RUN)
	{ $(STRUCTKIT) pair $< --on-error skip; \
	  gunzip -c $^ | $(BARE) | $(STRUCTKIT) pair --query title --on-error skip; } > $@

$(RUN)/product-test.jsonl: $(DATA)/matching/products.jsonl.gz
	@mkdir -p $(RUN)
	gunzip -c $< | $(BARE) | $(STRUCTKIT) pair --query title \
	  --positive-template 'title : {title} text : {description}' -o $@

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
	$(STRUCTKIT) encode --as query -m $< $(QUERIES) \
	  | $(STRUCTKIT) search $(RUN)/$*.npy -o $@

$(RUN)/bm25.jsonl: $(RUN)/corpus.jsonl
	$(STRUCTKIT) search $< --method bm25 --queries $(QUERIES) -o $@

$(RUN)/santa+bm25.jsonl: $(RUN)/santa.jsonl $(RUN)/bm25.jsonl
	$(STRUCTKIT) fuse $^ --method weighted --weight 0.3 --weight 1 -o $@

RUNS := $(MODELS:%=$(RUN)/%.jsonl) $(RUN)/bm25.jsonl $(RUN)/santa+bm25.jsonl
# the two that matter most come first
$(RUN)/table.md: $(RUN)/santa.jsonl $(RUN)/sda.jsonl $(RUNS) $(RUN)/corpus.jsonl
	$(STRUCTKIT) score $(SCORE) --markdown $(RUNS) -o $@

$(GAINS:%=$(RUN)/table-%.md): $(RUN)/table-%.md: $(RUN)/table.md
	$(STRUCTKIT) score $(SCORE) --gains $* --markdown $(RUNS) -o $@

clean: ## Remove what recipes and installation wrote
	rm -rf runs build dist *.egg-info $(VENV)
