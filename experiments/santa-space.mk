# How alignment changes the space of embeddings (SANTA, figure 3): how near a query is to its function (alignment), how evenly
# texts are spread (uniformity), and how probable the right function is among those found.
.PHONY: santa-space

SPACED := start sda@0 santa@0
santa-space: CODE = runs/$@
santa-space: $(INSTALLED) ## The space of embeddings before and after alignment
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory MODEL=minilm CODE='$(CODE)' CODE_PAIRS=5400 $(CODE)/space.md $(CODE)/probabilities.md
	@tail -n +1 $(CODE)/space.md $(CODE)/probabilities.md

BOTH_SIDES = OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q --field query --field positive $(lastword $^) -o $@
$(CODE)/space/start.jsonl: $(CODE)/python.jsonl
	@mkdir -p $(@D)
	$(BOTH_SIDES) -m $(MODEL)
$(CODE)/space/%.jsonl: $(CODE)/%.model $(CODE)/python.jsonl
	@mkdir -p $(@D)
	$(BOTH_SIDES) -m $<
$(CODE)/space.md: $(SPACED:%=$(CODE)/space/%.jsonl)
	$(STRUCTKIT) score --task space --markdown $^ -o $@
$(CODE)/probabilities.md: $(SPACED:%=$(CODE)/%/python.jsonl)
	$(COUNT) probabilities $^ -o $@
