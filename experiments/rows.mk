# One embedding of a function, or one per token (late interaction)? MiniLM is aligned on functions of six languages, in as many
# steps for both, and searches functions of each language, of renamed Python (adv), and of the web (cosqa).
#   vector@SEED  train contrastive     tokens@SEED  train colbert     start  MiniLM as it is
# `make -C experiments rows-tried` tries ROW_RATES for both on 1,000 training functions of Python that are held out. Set
# RATE_vector and RATE_tokens to its best ones before you run `rows`.
.PHONY: rows rows-tried

ROW_SYSTEMS := vector tokens
ROW_RATES := 2e-5 5e-5 1e-4
# not tried yet: the rate of santa-pretrained, and a higher one for a projection that starts at random
RATE_vector := 2e-5
RATE_tokens := 1e-4
ROW_LENGTHS := --query-length 32 --document-length 160
OF_ROWS = MODEL=minilm CODE='$(CODE)' CODE_PAIRS=21500 CODE_BM25=bm25

rows rows-tried: CODE = runs/rows
rows: $(INSTALLED) ## One embedding of a function, or one per token
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory santa-pretrained $(OF_ROWS) CODE_SYSTEMS='$(ROW_SYSTEMS)' CODE_SEEDS='$(CODE_SEEDS)' \
	  CODE_TITLE='One embedding of a function, or one per token: MiniLM on 21,499 functions, RR@100' \
	  CODE_COMMAND='make $@ CODE_SEEDS="$(CODE_SEEDS)"'
	@$(MAKE) --no-print-directory $(OF_ROWS) $(CODE)/cost.md
	@cat $(CODE)/cost.md
rows-tried: $(INSTALLED)
	@$(MAKE) --no-print-directory $(OF_ROWS) $(CODE)/rows-tried.md
	@cat $(CODE)/rows-tried.md

ROW_FLAGS = --model $(MODEL) $(ROW_LENGTHS) --batch-size 64 --epochs 1 --symmetric --negatives-per-query 0 --save-every 50
TRAIN_vector = OMP_NUM_THREADS=1 $(STRUCTKIT) train contrastive $< -o $@ $(ROW_FLAGS) --temperature 0.05
TRAIN_tokens = OMP_NUM_THREADS=1 $(STRUCTKIT) train colbert $< -o $@ $(ROW_FLAGS)
$(foreach each,$(ROW_SYSTEMS),$(eval $(CODE)/$(each)@%.model: $(CODE)/pairs.jsonl ; \
  $$(TRAIN_$(each)) --seed $$* --learning-rate $$(RATE_$(each)) $$(if $$(wildcard $$@.partial/step-*),--resume) \
  > $$(@:.model=.trained.jsonl)))

# the pilot: one seed
define rows-tried-of
$(CODE)/tried/$(1)@$(2).model: $(CODE)/learned.jsonl
	@mkdir -p $$(@D)
	$$(TRAIN_$(1)) -q --seed 0 --learning-rate $(2)
$(CODE)/tried/$(1)@$(2).jsonl: $(CODE)/tried/$(1)@$(2).model $(CODE)/held.jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search -q $$(word 2,$$^) -m $$< --queries $$(word 2,$$^) -o $$@
$(CODE)/rows-tried.md: $(CODE)/tried/$(1)@$(2).jsonl
endef
$(foreach each,$(ROW_SYSTEMS),$(foreach rate,$(ROW_RATES),$(eval $(call rows-tried-of,$(each),$(rate)))))
$(CODE)/rows-tried.md:
	$(STRUCTKIT) score --qrels self --queries $(CODE)/held.jsonl --measures RR@100 --markdown $^ -o $@

# bytes of the functions' embeddings, and milliseconds of a search of all queries of Python, start included
$(CODE)/cost/%.npy: $(CODE)/%@0.model $(CODE)/python.jsonl
	@mkdir -p $(@D)
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q -m $^ --field positive -o $@
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q -m $^ --as query -o $(@:.npy=-queries.npy)
$(CODE)/cost.md: $(ROW_SYSTEMS:%=$(CODE)/cost/%.npy)
	@printf '| system | bytes | milliseconds |\n|---|--:|--:|\n' > $@
	@for each in $(ROW_SYSTEMS); do file=$(CODE)/cost/$$each; before=$$(date +%s%N); \
	  OMP_NUM_THREADS=1 $(STRUCTKIT) search -q $$file.npy --queries $$file-queries.npy -o $$file.jsonl || exit 1; \
	  echo "| $$each | $$(stat -c %s $$file.npy) | $$((($$(date +%s%N) - $$before) / 1000000)) |"; done >> $@

# stated on 2026-11-28, before the first run: rows of tokens find more than one embedding, in six languages and where names
# differ, by 0.03 RR@100 or more
ROW_HYPOTHESES := tokens:vector:pooled tokens:vector:adv
