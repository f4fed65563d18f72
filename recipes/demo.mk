# All three families on the fixtures.
.PHONY: demo

demo: $(RUNNABLE) ## All three families end to end on the fixtures, with tables of results
	@echo 'demo, 1 of 3: code; four models search functions by their documentation'
	@$(MAKE) --no-print-directory -j 2 $(DEMO)/santa/table.md RUN=$(DEMO)/santa \
	  TRAIN=fixtures/code/train.jsonl TEST=fixtures/code/test.jsonl FLAGS='$(DEMO_FLAGS)'
	@echo 'demo, 2 of 3: pages; two models search pages by their titles'
	@$(MAKE) --no-print-directory -j 2 $(DEMO)/seal/table.md
	@echo 'demo, 3 of 3: sentences; three models score the similarity of two'
	@$(MAKE) --no-print-directory -j 2 $(DEMO)/strae/table.md
	@printf '%s\n' '' 'Code: rank of the right function among 86 (RR@100, 1 is best).' ''
	@cat $(DEMO)/santa/table.md
	@printf '%s\n' '' 'Alignment does the work: sda and santa beat bm25. Entity prediction alone (mep) is not trained' \
	  '  to search. bm25 is so much weaker here that adding it (santa+bm25) hurts.' ''
	@printf '%s\n' 'Pages: rank of the right page among 42 (nDCG@10, 1 is best).' ''
	@cat $(DEMO)/seal/table.md
	@printf '%s\n' '' 'Both models beat bm25. With so few pages, seal (text with tags) and raw (text alone) are too close' \
	  '  to tell apart: their intervals overlap. docs/results.md has real pages.' ''
	@printf '%s\n' 'Sentences: agreement with the scores of 150 pairs (Spearman, 100 is best).' ''
	@cat $(DEMO)/strae/table.md
	@printf '%s\n' '' 'All three are high because the pairs are easy: even untrained word vectors agree. Training adds a' \
	  '  little, more with trees that the model builds itself (self-strae) than with given ones (strae).' ''

DEMO := runs/demo
# the fixtures are few and short: tiny models, many passes
DEMO_FLAGS := --size tiny --vocabulary-size 1000 --document-length 128 --target-length 64 \
  --pooling mean --normalize --temperature 0.05 --symmetric --align-on original \
  --batch-size 32 --learning-rate 3e-3 --epochs 15
PAGES_FLAGS := --size tiny --architecture bert --vocabulary-size 1000 --document-length 128 \
  --pooling mean --temperature 0.05 --batch-size 32 --learning-rate 3e-3
SENTENCES_FLAGS := --batch-size 64 --epochs 10 --learning-rate 2e-3 --composition-init sum

$(DEMO)/seal/train.jsonl $(DEMO)/seal/test.jsonl: $(DEMO)/seal/%.jsonl: fixtures/pages/%.jsonl
	@mkdir -p $(DEMO)/seal
	$(STRUCTKIT) html-variants $< -o $@

# as many passes over each version of a page
$(DEMO)/seal/raw.model: METHOD = contrastive --document-field untagged --epochs 20
$(DEMO)/seal/seal.model: METHOD = seal --epochs 10
$(DEMO)/seal/%.model: $(DEMO)/seal/train.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train $(METHOD) $< -o $@ $(PAGES_FLAGS)

$(DEMO)/seal/raw.jsonl: FIELD = untagged
$(DEMO)/seal/seal.jsonl: FIELD = tagged
$(DEMO)/seal/raw.jsonl $(DEMO)/seal/seal.jsonl: $(DEMO)/seal/%.jsonl: $(DEMO)/seal/%.model $(DEMO)/seal/test.jsonl
	$(STRUCTKIT) encode --as document --field $(FIELD) -m $^ -o $(DEMO)/seal/$*.npy
	$(STRUCTKIT) search $(DEMO)/seal/$*.npy -m $< --queries $(DEMO)/seal/test.jsonl -o $@

$(DEMO)/seal/bm25.jsonl: $(DEMO)/seal/test.jsonl
	$(STRUCTKIT) search $< --method bm25 --document-field untagged --queries $< -o $@

$(DEMO)/seal/table.md: $(DEMO)/seal/raw.jsonl $(DEMO)/seal/seal.jsonl $(DEMO)/seal/bm25.jsonl
	$(STRUCTKIT) score --qrels self --measures 'nDCG@10 RR@10 Success@1' --markdown $^ -o $@

$(DEMO)/strae/train.jsonl: fixtures/sentences/train.jsonl
	@mkdir -p $(DEMO)/strae
	$(STRUCTKIT) parse-trees $< -o $@

$(DEMO)/strae/pairs.jsonl: fixtures/sentences/pairs.jsonl
	@mkdir -p $(DEMO)/strae
	$(STRUCTKIT) parse-trees --field text_a --field text_b $< -o $@

$(DEMO)/strae/untrained.model: METHOD = strae --max-steps 0
$(DEMO)/strae/strae.model: METHOD = strae
$(DEMO)/strae/self-strae.model: METHOD = self-strae
$(DEMO)/strae/%.model: $(DEMO)/strae/train.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train $(METHOD) $< -o $@ $(SENTENCES_FLAGS)

$(DEMO)/strae/self-strae.jsonl: SIDES = --field text_a --field text_b
$(DEMO)/strae/%.jsonl: SIDES = --field text_a_tree --field text_b_tree
$(DEMO)/strae/untrained.jsonl $(DEMO)/strae/strae.jsonl $(DEMO)/strae/self-strae.jsonl: $(DEMO)/strae/%.jsonl: $(DEMO)/strae/%.model $(DEMO)/strae/pairs.jsonl
	$(STRUCTKIT) encode -m $^ $(SIDES) --keep score -o $@

$(DEMO)/strae/table.md: $(DEMO)/strae/untrained.jsonl $(DEMO)/strae/strae.jsonl $(DEMO)/strae/self-strae.jsonl
	$(STRUCTKIT) score --task similarity --markdown $^ -o $@
