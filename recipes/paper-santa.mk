# SANTA with the settings of its paper. `make data SET='codesearchnet advtest'` has its data; for TASK=product SET=esci.
# Time on one H100, estimated: records × passes × tokens × 6 × 223M parameters / (989 TFLOP/s × 0.4). Code: 3.5 h
# (1,887,452 × 6 × 325), 0.4 h for each of two fine-tunings (251,820 × 6 × 290), 0.8 h with negatives (530 tokens).
# Products: 0.6 h (331,590 × 6 × 325), then 3 h for each of three fine-tunings on 100,000 examples (60 × 530).
# Measured: 0.19 s a step of 16 pairs, so pretraining on code takes 38 h.
.PHONY: paper-santa
paper-santa: $(RUNNABLE) ## SANTA as published: make paper-santa [TASK=product] [MODEL=…] [PAPER_FLAGS=--bf16]
	$(call needs,$(if $(filter product,$(TASK)),esci/shopping_queries_dataset_examples.parquet,codesearchnet))
	@$(MAKE) --no-print-directory $(PS)/$(or $(TASK),code)/table.md
	@cat $(PS)/$(or $(TASK),code)/table.md

# section 4; lengths as in the released code. Hard negatives continue as long as the training before: the paper is silent
PS_TRAIN = --batch-size 16 --warmup 0.1 --query-length 50 --document-length 240 $(PS_$(1)_$*) \
  --save-every 1000 $(RESUME) $(PAPER_FLAGS)
PS_START_code = --model $(call start-model,Salesforce/codet5-base) --learning-rate 5e-5 --epochs 6 --target-length 35
PS_START_product = --model $(call start-model,t5-base) --learning-rate 1e-4 --epochs 6 --target-length 35
PS_TUNE_code := --learning-rate 1e-5 --epochs 6
PS_TUNE_product := --learning-rate 5e-5 --epochs 60
PS_HARD_code := --learning-rate 1e-6 --epochs 6
PS_HARD_product := --learning-rate 1e-5 --epochs 60

# start-tuned is fine-tuned without SANTA's pretraining
$(PS)/%/start.model: $(PS)/%/masked.jsonl
	$(STRUCTKIT) train santa $< -o $@ $(call PS_TRAIN,START) --max-steps 0
$(PS)/%/santa.model: $(PS)/%/masked.jsonl
	$(STRUCTKIT) train santa $< -o $@ $(call PS_TRAIN,START)
$(PS)/%/start-tuned.model: $(PS)/%/start.model $(PS)/%/tune.jsonl
	$(STRUCTKIT) train contrastive --model $^ -o $@ $(call PS_TRAIN,TUNE)
$(PS)/%/santa-tuned.model: $(PS)/%/santa.model $(PS)/%/tune.jsonl
	$(STRUCTKIT) train contrastive --model $^ -o $@ $(call PS_TRAIN,TUNE)
$(PS)/%/santa-hard.model: $(PS)/%/santa-tuned.model $(PS)/%/hard.jsonl
	$(STRUCTKIT) train contrastive --model $^ -o $@ $(call PS_TRAIN,HARD)
PS_PAIR = $(STRUCTKIT) pair --qrels $(<D)/train-qrels.jsonl --queries $(<D)/train-queries.jsonl \
  --corpus $(<D)/train-corpus.jsonl --positive positive --on-error skip
$(PS)/%/tune.jsonl: $(PS)/%/train-qrels.jsonl $(PS)/%/train-queries.jsonl $(PS)/%/train-corpus.jsonl
	$(PS_PAIR) -o $@
$(PS)/%/hard.jsonl: $(PS)/%/train-qrels.jsonl $(PS)/%/santa-tuned.model $(PS)/%/tune.jsonl
	$(STRUCTKIT) encode -m $(word 2,$^) $(<D)/train-corpus.jsonl -o $(@D)/mined.npy
	$(STRUCTKIT) search $(@D)/mined.npy -m $(word 2,$^) --queries $(<D)/train-queries.jsonl -o $(@D)/mined.jsonl
	$(PS_PAIR) --negatives-from $(@D)/mined.jsonl --depth 100 --per-query 1 -o $@
PS_ROWS := start start-tuned santa santa-tuned santa-hard
PS_SEEN = $(PS)/$(1)/$(2).model $(PS)/$(1)/test-corpus.jsonl $(PS)/$(1)/test-queries.jsonl $(PS)/$(1)/test-qrels.jsonl
$(PS)/code/%.run.jsonl: $(call PS_SEEN,code,%)
	$(STRUCTKIT) encode -m $(wordlist 1,2,$^) -o $(@D)/$*.npy
	$(STRUCTKIT) search $(@D)/$*.npy -m $< --queries $(word 3,$^) -o $@
# judged products alone are ranked, by the same products of vectors
$(PS)/product/%.run.jsonl: $(call PS_SEEN,product,%)
	$(STRUCTKIT) encode -m $(wordlist 1,2,$^) -o $(@D)/$*.npy
	$(STRUCTKIT) encode --as query -m $< $(word 3,$^) -o $(@D)/$*-queries.npy
	$(BIN)/python -m experiments.judged $(@D)/$*.npy $(@D)/$*-queries.npy $(word 4,$^) > $@
$(PS)/%/bm25.run.jsonl: $(PS)/%/test-corpus.jsonl $(PS)/%/test-queries.jsonl
	$(STRUCTKIT) search $< --method bm25 $(PS_DEEP_$*) --queries $(word 2,$^) -o $@
PS_DEEP_product := -k 1000
PS_SCORE = $(STRUCTKIT) score $(filter %.run.jsonl,$^) --qrels $(@D)/test-qrels.jsonl --markdown
$(PS)/code/table.md: $(patsubst %,$(PS)/code/%.run.jsonl,bm25 $(PS_ROWS))
	$(PS_SCORE) --measures RR@100 -o $@
$(PS)/product/table.md: $(patsubst %,$(PS)/product/%.run.jsonl,bm25 $(PS_ROWS))
	{ $(foreach each,exact esci-documented,echo $(each); $(PS_SCORE) --gains $(each) --measures $(PS_JUDGED);) } > $@
PS_JUDGED := 'nDCG(judged_only=True)@100'
