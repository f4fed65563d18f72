# A quarter of an hour on a GPU: `make gpu-quarter` takes entries of experiments/quarter.py until its time is over. What they
# read is made here, without a GPU, and carried there in one file.
#   make gpu-quarter-pack   here: runs/gpu-quarter.tar.xz, with wheels for the Python of WHEELS
#   make gpu-quarter OUT=FOLDER                 there, for MINUTES=13; THEN=… more may follow on the same machine
# OUT gets results.tar.gz, to be unpacked in the checkout; then `make -C experiments report`. On one machine, pack with WHEELS= and leave OUT
# out. TINY=1 does it in small, on the CPU.
.PHONY: gpu-quarter gpu-quarter-pack quarter-decoder quarter-strae report-strae-seeds report-self-strae-seeds

QUARTER := runs/gpu-quarter
MINUTES := 13
THEN := 0
# the Python for which wheels are packed; with WHEELS= none are
WHEELS := 3.12
REPORTS := experiments/reports

gpu-quarter: ## What waits for a GPU, in 13 minutes: make gpu-quarter [MINUTES=…] [OUT=FOLDER]
	$(or $(wildcard $(BIN)/python),$(PYTHON)) -m experiments.quarter run --folder $(QUARTER) --reports $(REPORTS) \
	  --minutes $(MINUTES) --then $(THEN) $(if $(OUT),--out '$(OUT)') $(if $(TINY),--tiny)

gpu-quarter-pack: $(INSTALLED) ## What make gpu-quarter reads, as one file
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory $(QUARTER_DECODER) $(QUARTER_CODE)
	@$(MAKE) --no-print-directory $(QUARTER_STRAE) WIKITEXT='$(WIKITEXT)' $(QUARTER_TREES)
	$(BIN)/python -m experiments.quarter pack $(QUARTER_CODE) $(QUARTER_TREES) --folder $(QUARTER) \
	  --data '$(DATA)' $(if $(WHEELS),--wheels $(WHEELS))

# what the entries read; trees are made there, by more cores than here
QUARTER_CODE = $(patsubst %,$(QUARTER)/code/%.jsonl,$(QUARTER_LANGUAGES:%=packages-%) decoded masked adv \
  $(foreach each,$(QUARTER_LANGUAGES),$(each) renamed-$(each)))
QUARTER_TREES = $(QUARTER)/strae/wikitext.jsonl $(QUARTER)/strae/eval-text.jsonl $(patsubst %,$(QUARTER)/strae/rates/scaled/%.rate,strae self-strae)
# the rates that `make -C experiments strae-scale` chose in batches of 64
CHOSEN_strae := 0.016
CHOSEN_self-strae := 0.00025
$(QUARTER)/strae/wikitext.jsonl:
	@mkdir -p $(@D)
	$(STRUCTKIT) select $(WIKITEXT) --fields id,text -o $@
$(QUARTER)/strae/rates/scaled/%.rate:
	@mkdir -p $(@D)
	echo $(CHOSEN_$*) > $@

# a decoder that can predict: T5-small's shape, larger batches, four masks of each function, four minutes
QUARTER_DECODER = CODE=$(QUARTER)/code EACH=$(DECODER_EACH) CODE_PAIRS=5400 BF16='$(QUARTER_BF16)' \
  LANGUAGES='$(QUARTER_LANGUAGES)' CODE_BM25='$(QUARTER_BM25)' DECODER_SIZE='$(QUARTER_SIZE)' DECODER_MASKS='0 1 2 3' DECODER_BATCH=$(QUARTER_BATCH) $(QUARTER_LENGTH)
QUARTER_LANGUAGES = $(LANGUAGES)
QUARTER_BF16 := --bf16
QUARTER_BM25 := bm25
QUARTER_SIZE := --size small --vocabulary-size 16000
QUARTER_BATCH := 256
QUARTER_LENGTH := DECODER_SECONDS=240
# each seed works in a copy of the folder; what was packed is not made again, and the second one's report has the first
# one's values too
QUARTER_KEPT = $(wildcard $(REPORTS)/code-decoder.json)
quarter-decoder:
	@cp -a -n $(QUARTER)/code/. $(QUARTER)/code-$(SEED)
	@$(MAKE) --no-print-directory santa-decoder $(QUARTER_DECODER) CODE=$(QUARTER)/code-$(SEED) DECODER_SEED=$(SEED) CODE_SEEDS=$(SEED) \
	  MAKE='$(MAKE) $(QUARTER_CODE:$(QUARTER)/code/%=-o $(QUARTER)/code-$(SEED)/%)' $(if $(QUARTER_KEPT),KEPT=$(QUARTER_KEPT))

# the paper's passes and batch
QUARTER_STRAE = STRAE=$(QUARTER)/strae PILOT=$(QUARTER)/strae/rates WIKITEXT=$(QUARTER)/strae/wikitext.jsonl BATCH=$(QUARTER_BATCHED) \
  SENTENCES=$(SCALED_SENTENCES) PASSES=$(QUARTER_PASSES)
QUARTER_BATCHED := 128
QUARTER_PASSES := 15
quarter-strae:
	@$(MAKE) --no-print-directory $(QUARTER_STRAE) SCALED_METHODS='$(METHOD)' SEEDS='$(SEEDS)' \
	  SCALED_TITLE="StrAE's family after 15 passes in batches of $(QUARTER_BATCHED): $(METHOD)" \
	  SCALED_COMMAND='make -C experiments quarter-strae METHOD=$(METHOD) SEEDS="$(SEEDS)"' $(QUARTER)/strae/scaled/report.json

# Stated on 2026-11-27, before the first run: DECODER_HYPOTHESES and SCALED_HYPOTHESES, as in the tables of one seed.
# In tables of other seeds, the row that takes minutes:
report-strae-seeds report-self-strae-seeds: report-%:
	@$(MAKE) --no-print-directory STRAE=runs/report/strae-scale SENTENCES=$(SCALED_SENTENCES) SEEDS=1 \
	  SCALED_RUNS=runs/report/strae-scale/scaled/second/untrained-words@1.jsonl runs/report/strae-scale/scaled/report.json
	$(TELL) check experiments/reports/$*.json runs/report/strae-scale/scaled/report.json

# an entry in seconds
ifdef TINY
QUARTER_BF16 :=
QUARTER_SIZE := --size tiny --vocabulary-size 600
QUARTER_BATCH := 8
QUARTER_LENGTH := DECODER_STEPS=4 WEIGHED_SETS=python DECODER_SYSTEMS='t5 t5-masked-0 t5-masked-1'
QUARTER_BATCHED := 8
QUARTER_LANGUAGES := python
QUARTER_PASSES := 1
# finds nothing among a few renamed functions
QUARTER_BM25 :=
endif
