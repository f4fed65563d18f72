# Do larger batches help alignment (SANTA, table 6: 16 and 128)? A table of random token vectors is aligned on functions of
# six languages; each batch size makes BATCHED_STEPS steps, so that larger ones read more pairs.
#   batch-N@SEED    steps of N pairs           batch-16-longer   steps of 16, as many pairs as batch-128
# The rate of each was tried on 1,000 training functions of Python: make -C experiments santa-batches-tried prints the table.
.PHONY: santa-batches santa-batches-tried report-code-batches

BATCHED_STEPS := 160
BATCHED := batch-16 batch-32 batch-64 batch-128 batch-16-longer
BATCH_RATES := 0.001 0.004 0.016
# what the pilot chose
RATE_batch-16 := 0.004
RATE_batch-32 := 0.004
RATE_batch-64 := 0.016
RATE_batch-128 := 0.016
RATE_batch-16-longer := 0.004
STEPS_batch-16-longer := $(shell expr $(BATCHED_STEPS) \* 8)
size-of = $(word 2,$(subst -, ,$(1)))
OF_BATCHES = MODEL=$(CODE)/words.model CODE='$(CODE)' CODE_PAIRS=21500 SETS='python adv' CODE_BM25=bm25

santa-batches santa-batches-tried: CODE = runs/santa-batches
santa-batches: $(INSTALLED) ## Alignment with batches of 16 to 128
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory CODE='$(CODE)' $(CODE)/words.model
	@$(MAKE) --no-print-directory santa-pretrained $(OF_BATCHES) CODE_SYSTEMS='$(BATCHED)' CODE_SEEDS='$(CODE_SEEDS)' \
	  CODE_TITLE='Alignment with batches of 16 to 128, $(BATCHED_STEPS) steps: token vectors, RR@100' \
	  CODE_COMMAND='make $@ CODE_SEEDS="$(CODE_SEEDS)"'
santa-batches-tried: $(INSTALLED)
	@$(MAKE) --no-print-directory CODE='$(CODE)' $(CODE)/words.model
	@$(MAKE) --no-print-directory $(OF_BATCHES) $(CODE)/tried.md
	@cat $(CODE)/tried.md

$(CODE)/words.model: $(CODE)/pairs.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train static --saturating $< -o $@
ALIGN_WORDS = OMP_NUM_THREADS=1 $(STRUCTKIT) train contrastive $< -q --model $(CODE)/words.model -o $@ --epochs 100 \
  --negatives-per-query 0 $(RESUME)
$(foreach each,$(BATCHED),$(eval $(CODE)/$(each)@%.model: $(CODE)/pairs.jsonl $(CODE)/words.model ; \
  $$(ALIGN_WORDS) --seed $$* --batch-size $(call size-of,$(each)) --learning-rate $(RATE_$(each)) --max-steps $(or \
  $(STEPS_$(each)),$(BATCHED_STEPS)) > $$(@:.model=.trained.jsonl)))

# the pilot: one seed, queries of training functions that are not learned from
$(CODE)/held.jsonl: $(CODE)/pairs.jsonl
	$(STRUCTKIT) select -q $< --where language=python --sample 1000 -o $@
$(CODE)/learned.jsonl: $(CODE)/pairs.jsonl $(CODE)/held.jsonl
	$(STRUCTKIT) select -q $< --not-in $(word 2,$^) -o $@
define batch-tried
$(CODE)/tried/$(1)@$(2).model: $(CODE)/learned.jsonl $(CODE)/words.model
	@mkdir -p $$(@D)
	$$(ALIGN_WORDS) --seed 0 --batch-size $(call size-of,$(1)) --learning-rate $(2) --max-steps $(or $(STEPS_$(1)),$(BATCHED_STEPS))
$(CODE)/tried/$(1)@$(2).jsonl: $(CODE)/tried/$(1)@$(2).model $(CODE)/held.jsonl
	$$(STRUCTKIT) encode -q --as document -m $$^ -o $$@.npy
	$$(STRUCTKIT) search -q $$@.npy -m $$< --queries $$(word 2,$$^) -o $$@
$(CODE)/tried.md: $(CODE)/tried/$(1)@$(2).jsonl
endef
$(foreach each,$(BATCHED),$(foreach rate,$(BATCH_RATES),$(eval $(call batch-tried,$(each),$(rate)))))
$(CODE)/tried.md:
	$(STRUCTKIT) score --qrels self --queries $(CODE)/held.jsonl --measures RR@100 --markdown $^ -o $@

# stated on 2026-11-26, before the first run: batches of 128 are above batches of 16 at equal steps, and at equal pairs
BATCHED_HYPOTHESES := $(foreach set,python adv,batch-128:batch-16:$(set) batch-128:batch-16-longer:$(set))

report-code-batches:
	@$(MAKE) --no-print-directory santa-batches CODE=runs/report/batches BATCHED='$(AGAIN)' CODE_SEEDS='$(AGAIN_SEED)'
	$(TELL) check experiments/reports/code-batches.json runs/report/batches/report.json
