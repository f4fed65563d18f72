# The two commands to know: `make demo` and `make test`. Recipes are in recipes/, write to runs/, and
# continue where they were interrupted.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
# make 3.81, which macOS has, does not know .SHELLFLAGS
ifeq ($(filter oneshell,$(.FEATURES)),)
export SHELLOPTS := errexit:nounset:pipefail
endif
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: help install check test test-all test-long test-engines test-processors gpu-check bench-gpu coverage lint lint-files lint-mypy lint-pyright soak bench bench-check bench-readme docs man \
  dist release-check clean FORCE

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
RUNNABLE := $(VENV)/.runnable
STRUCTKIT := $(BIN)/structkit
# a training that was stopped goes on
RESUME = $(if $(wildcard $@.partial/step-*),--resume)
# where recipes read data, and `make data` puts it
DATA := data
# without processor instructions for it, bf16 is slower than fp32
BF16 := $(if $(shell grep -som1 avx512_bf16 /proc/cpuinfo),--bf16)

# make keeps -o FILE to itself: what may not be made again, recipes that call make may not make again either
OLD_FILES := $(shell ps -ww -o args= -p $$PPID 2> /dev/null | grep -oE -- ' (-o ?|--old-file=|--assume-old=)[^ ]+')
MAKE += $(OLD_FILES)

help: ## List the targets; experiments have their own list: make -C experiments help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

INSTALL = $(BIN)/pip install --quiet --constraint constraints.txt --editable
# what the commands need; the tests need more. An installation that you made yourself stays as it is
$(RUNNABLE): pyproject.toml constraints.txt
	@if [ -e $@ ] || [ ! -x $(STRUCTKIT) ]; then \
	  echo 'installing structkit into $(VENV); this takes a minute'; \
	  $(PYTHON) -m venv $(VENV); $(INSTALL) '.[train]'; touch $@; fi

$(INSTALLED): pyproject.toml constraints.txt
	@echo 'installing structkit and its tools into $(VENV); this takes minutes'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[dev]'
	touch $@ $(RUNNABLE)

install: $(INSTALLED) ## structkit and its tools into .venv

check: lint test docs ## What CI runs

# with the bytecode of one process for the next: tests start hundreds
TESTS = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2
test: $(INSTALLED) ## The tests but for the long ones: five minutes on two cores
	$(TESTS)

test-all: test test-long ## All tests, the long ones too, and the numerical ones as on older processors

# What `make test` leaves out
test-long: $(INSTALLED)
	$(TESTS) -m long
	$(call as-on,default)
	if grep -qs avx512 /proc/cpuinfo; then $(call as-on,avx2); fi

# Spark and Ray beside one process, and MTEB's own scores; a test that lacks one of them, or Java, fails
test-engines: $(INSTALLED)
	$(INSTALL) '.[engines]'
	$(TESTS) -m engines tests/records tests/scoring

# tests that compare floats; processors with other instructions add numbers in another order
NUMERICAL = $(shell grep -rlE '\b(approx|allclose|assert_close|array_equal|torch.equal)\b' tests --include='test_*.py')
# settings that have torch, its and NumPy's matrix libraries, and faiss run as on a processor
OF_default := MKL_ENABLE_INSTRUCTIONS=SSE4_2 ONEDNN_MAX_CPU_ISA=SSE41 OPENBLAS_CORETYPE=Nehalem \
  FAISS_OPT_LEVEL=generic
OF_avx2 := MKL_ENABLE_INSTRUCTIONS=AVX2 ONEDNN_MAX_CPU_ISA=AVX2 OPENBLAS_CORETYPE=Haswell \
  FAISS_OPT_LEVEL=avx2
as-on = $(OF_$(1)) ATEN_CPU_CAPABILITY=$(1) $(TESTS) $(NUMERICAL)
# The numerical tests with older processors' instructions, and with this one's
test-processors: $(INSTALLED)
	$(call as-on,default)
	$(call as-on,avx2)
	$(TESTS) $(NUMERICAL)

gpu-check: $(INSTALLED) ## The tests of a real GPU; skipped without one
	$(BIN)/python -m pytest -m gpu -rs tests/gpu

# Encoding and training of real shapes on a GPU, beside sentence-transformers
bench-gpu: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks.gpu $(if $(TINY),--tiny)

# Which lines the tests run, in build/coverage: make coverage [WHICH=] (all tests)
coverage: $(INSTALLED)
	$(TESTS) $(if $(filter undefined,$(origin WHICH)),,-m '$(WHICH)') \
	  --cov --cov-report=html:build/coverage --cov-report=term:skip-covered

lint: lint-files lint-mypy lint-pyright ## ruff, strict mypy, pyright and a fresh stub for what editors see, zizmor for workflows, proselint for prose

lint-files: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m docs.stubs --check
	$(BIN)/zizmor --offline --quiet .github/workflows
	$(BIN)/proselint check --config .github/proselint.json README.md CHANGELOG.md docs .github

lint-mypy: $(INSTALLED)
	$(BIN)/mypy structkit plugins experiments tests/benchmarks tests/api/uses.py

lint-pyright: $(INSTALLED)
	$(BIN)/basedpyright

soak: $(INSTALLED) ## Random examples and bad input: make soak ROUNDS=… COUNT=… SEED=… JOBS=…
	for round in $$(seq $(ROUNDS)); do HYPOTHESIS_PROFILE=random OMP_NUM_THREADS=1 \
	  $(BIN)/python -m pytest -n $(JOBS) -m hypothesis || exit; done
	SOAK=$(COUNT) SEED=$(SEED) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) -m '' tests/soak \
	  tests/collecting/test_ignoring.py
soak: ROUNDS := 10
soak: COUNT := 5000
soak: SEED := 0
soak: JOBS := 2

BENCH = OMP_NUM_THREADS=1 $(BIN)/python -m tests.benchmarks $(if $(filter command%,$(origin DATA)),--data '$(DATA)') \
  $(if $(ONLY),--only $(ONLY))
bench: $(INSTALLED) ## Speed beside peers, into tests/benchmarks/PROCESSOR.json: make bench [ONLY='start …'] [DATA=…]
	$(BENCH)

# Fails where speed fell by more than a third on this processor
bench-check: $(INSTALLED)
	$(BENCH) --check

# tests/benchmarks/ as the table between the marks <!-- bench --> of tests/benchmarks/README.md
bench-readme: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks.table --readme

# the address of the web of what was cloned, without a name or token of who did
REPOSITORY = $(shell git config --get remote.origin.url 2> /dev/null \
  | sed -nE 's,^(https?://|ssh://|git@)([^/@]*@)?([^/:]+)(:[0-9]+)?[/:]([^:]+)$$,https://\3/\5,p' | sed 's/\.git$$//')
docs: $(INSTALLED) ## docs/ and the reference as a site, in build/site; a broken link is an error
	NO_MKDOCS_2_WARNING=1 REPOSITORY='$(REPOSITORY)' $(BIN)/python -m mkdocs build --config-file .github/mkdocs.yml --strict

# The manual pages in docs/man, which a wheel that is built then holds
man: $(INSTALLED)
	$(BIN)/python -m docs.manual docs/man

dist: man ## The wheel and sdist of HEAD in dist/: contents, sizes, NOTICE and metadata looked at
	$(PYTHON) -m tests.release

# TESTED='python3.13' runs the tests of the sdist with that one only
PYTHONS ?= python3.11 python3.12 python3.13
# dist, and installed, walked through, tested by several Pythons; a list of packages
release-check:
	$(PYTHON) -m tests.release $(PYTHONS) $(if $(TESTED),--tested '$(TESTED)')

clean: ## Remove what recipes and installation wrote
	rm -rf runs build dist *.egg-info $(VENV)

# .SECONDARY lets a table stand though files are missing that it is made of, as those of a new system: it depends on
# a list of these too, which is written again when it changes
%/systems: FORCE
	@mkdir -p $(@D); echo '$(LISTED)' | cmp -s - $@ || echo '$(LISTED)' > $@
LISTED = $(filter-out FORCE %/systems,$^)

# one file per workflow; structkit commands prepare its data, not tools that cut JSON
include recipes/*.mk $(EXPERIMENTS)

ifeq ($(EXPERIMENTS),)
gpu-quarter: ## What waits for a GPU, in 13 minutes: make gpu-quarter [MINUTES=…] [OUT=FOLDER]
gpu-quarter gpu-quarter-pack:
	@$(MAKE) --no-print-directory -C experiments $@
endif
