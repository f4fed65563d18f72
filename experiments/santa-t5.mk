# Does entity prediction help where the decoder can predict? A T5 of 15.6 million parameters learns code and its
# documentation with T5's spans, then aligns with and without entity prediction, on masked and on original code, then on
# labelled pairs.
#   t5              T5's spans alone, DECODER_STEPS steps of 32; a stopped run goes on. 4,500 steps (57 minutes on two
#                   cores, 2026-11-27) are too few: they lose 4.5 a token, and so does guessing by frequency (unigram.md)
#   t5-original-W, t5-masked-W   from t5: alignment of original or masked code, entity prediction of weight W, one pass
#                   over DECODER_PAIRS of the functions that t5 read
#   t5-…-tuned      from each of these: alignment on 5,400 labelled pairs
# `make gpu-quarter` does this with a T5 of 52 million parameters, in ten minutes a seed.
# The sources are those of `make -C experiments santa-unlabelled` (Debian's apt and this environment's packages, under stated licences).
.PHONY: santa-decoder report-code-decoder

DECODER_STEPS := 17000
# as many steps instead as a trial says that fit into these seconds
DECODER_SECONDS :=
DECODER_SEED := 0
DECODER_SIZE := --size wide
DECODER_BATCH := 32
# seeds of the spans: each function is read with as many different masks
DECODER_MASKS := 0
# functions of each language to learn spans from, and functions to align
DECODER_EACH := 20000
DECODER_PAIRS := 9000
DECODED := $(foreach each,masked original,t5-$(each)-0 t5-$(each)-1)
DECODER_SYSTEMS := t5 $(DECODED) $(DECODED:%=%-tuned)
santa-decoder: CODE = runs/$@
santa-decoder: $(INSTALLED) ## Entity prediction from a decoder that predicts: make -C experiments santa-decoder CODE_SEEDS="0 1"
	$(call needs,codesearch/dev.jsonl.gz)
	@$(MAKE) --no-print-directory CODE='$(CODE)' EACH=$(DECODER_EACH) $(CODE)/unigram.md
	@$(MAKE) --no-print-directory santa-pretrained MODEL='$(CODE)/t5@$(DECODER_SEED).model' CODE='$(CODE)' EACH=$(DECODER_EACH) CODE_PAIRS=5400 \
	  CODE_SYSTEMS='$(filter-out t5,$(DECODER_SYSTEMS))' CODE_SEEDS='$(CODE_SEEDS)' SETS='$(WEIGHED_SETS)' PRETRAINED_FLAGS='$(DECODER_FLAGS)' \
	  CODE_TITLE='Entity prediction from a decoder that predicts: a T5 of code, RR@100' \
	  CODE_COMMAND='make $@ CODE_SEEDS="$(CODE_SEEDS)"'

DECODER_FLAGS := --document-length 160 --query-length 64 --target-length 64 --batch-size 32 --epochs 1 $(BF16)
ALIGNED_FLAGS := --pooling mean --normalize --temperature 0.05 --symmetric --learning-rate 2e-4
$(CODE)/packages-spans.jsonl: $(LANGUAGES:%=$(CODE)/packages-%.jsonl)
	for seed in $(DECODER_MASKS); do cat $^ | $(STRUCTKIT) mask-entities --strategy span --keep-plain --seed $$seed; done > $@
PRETRAIN = OMP_NUM_THREADS=2 $(STRUCTKIT) train santa $(DECODER_SIZE) --alignment-weight 0 --learning-rate 1e-3 --seed $(DECODER_SEED) \
  $(DECODER_FLAGS) --batch-size $(DECODER_BATCH) --epochs 100
TRIED_STEPS := 60
$(CODE)/decoder-steps: $(CODE)/packages-spans.jsonl
	head -n $$(($(TRIED_STEPS) * $(DECODER_BATCH))) $< | $(PRETRAIN) - -o $@.model --overwrite --max-steps $(TRIED_STEPS) --log-every 20 \
	  --log-format json 2>&1 > /dev/null | $(BIN)/python -m experiments.quarter steps $(DECODER_SECONDS) $(DECODER_BATCH) > $@
$(CODE)/t5@$(DECODER_SEED).model: $(CODE)/packages-spans.jsonl $(if $(DECODER_SECONDS),$(CODE)/decoder-steps)
	$(PRETRAIN) $< -o $@ --max-steps $(if $(DECODER_SECONDS),$$(cat $(CODE)/decoder-steps),$(DECODER_STEPS)) \
	  $(if $(wildcard $(CODE)/t5@$(DECODER_SEED).model.partial/step-*),--resume) --save-every 100 \
	  > $(@:.model=.trained.jsonl)
$(CODE)/decoded.jsonl: $(CODE)/packages.jsonl
	$(STRUCTKIT) select $< --sample $(DECODER_PAIRS) -o $@
# the loss that a decoder has that knows frequencies alone
$(CODE)/unigram.md: $(CODE)/t5@$(DECODER_SEED).model $(CODE)/packages-spans.jsonl $(CODE)/decoded.jsonl
	$(COUNT) unigram $^ -o $@
$(foreach each,masked original,$(foreach weight,0 1,$(eval $(call code-system,t5-$(each)-$(weight),decoded,$$(CODE)/t5@$(DECODER_SEED).model,\
  $(ALIGNED_FLAGS) --align-on $(each) --entity-weight $(weight),$(CODE)/t5@$(DECODER_SEED).model))\
  $(eval $(call code-system,t5-$(each)-$(weight)-tuned,masked,$$(CODE)/t5-$(each)-$(weight)@$$*.model,\
  $(ALIGNED_FLAGS) $(ALIGN),$$(CODE)/t5-$(each)-$(weight)@%.model))))

# stated on 2026-11-26, before the first run: from a decoder whose loss is below a unigram's, entity prediction adds to
# alignment over the languages and where names carry nothing, fine-tuned or not; it adds to masked code as to original code
DECODER_HYPOTHESES := $(foreach each,masked original,$(foreach set,pooled renamed,\
  t5-$(each)-1:t5-$(each)-0:$(set) t5-$(each)-1-tuned:t5-$(each)-0-tuned:$(set)))
DECODER_AGAINST := $(foreach each,masked original,t5-$(each)-0 t5-$(each)-0-tuned)

# the row that is not trained
report-code-decoder:
	@$(MAKE) --no-print-directory runs/report/decoder/report.json CODE=runs/report/decoder \
	  KEPT_RUNS=start CODE_BM25=bm25 CODE_SYSTEMS= SETS='$(WEIGHED_SETS)'
	$(TELL) check experiments/reports/code-decoder.json runs/report/decoder/report.json
