# SEAL and its baselines. MiniLM fine-tuned on PAIRS training queries (first sentences and questions),
# one model for each system and seed, and searched with the dev queries of the same kinds. LENGTH and
# CHUNK are tokens. Tags are one token each (TAGS= leaves them in pieces). Chunk is the model on raw
# text, with its documents in chunks. exposure.jsonl records what each system saw.
.PHONY: seal hard-negatives

SEAL := runs/seal
SEAL_SEEDS := 0 1 2
PAIRS := 256
LENGTH := 256
CHUNK := $(shell expr $(LENGTH) - 2)
SANTA_MASK := --mask-ratio 0.5
TAGS := --tag-tokens
SEAL_MODEL := --model minilm
SEAL_FLAGS = $(SEAL_MODEL) --document-length $(LENGTH) --query-length 32 --temperature 0.02 \
  --batch-size 16 --epochs 1 --learning-rate 2e-5 $(BF16)
SEAL_SYSTEMS := raw chunk mcls santa element structure joint structure-element element-structure
SEAL_MEASURES := nDCG@10 RR@10 HitRate@1 HitRate@3 HitRate@5 MRR@5
COMPARE = --compare $(SEAL)/raw@0.jsonl
KINDS := --where 'kind~^(lead|question)$$'

seal: $(INSTALLED) ## SEAL and its baselines on HTML: make seal DATA=../shared/data/structdoc
	@test -f '$(DATA)/dev_docs.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory -j 2 $(SEAL)/table.md
	@cat $(SEAL)/table.md $(SEAL)/exposure.jsonl

# documents lack their titles, which other queries are made of: SANTA gets them as a field
$(SEAL)/titles.jsonl: $(DATA)/train_queries.jsonl.gz
	@mkdir -p $(SEAL)
	$(STRUCTKIT) select $< --where kind=title --fields doc_id,query --rename query=title -o $@

$(SEAL)/titled.jsonl: $(DATA)/train_queries.jsonl.gz $(SEAL)/titles.jsonl
	$(STRUCTKIT) select $< $(KINDS) --join $(word 2,$^) --on doc_id -o $@

# evenly spaced lines: the README's table is of these (a new one may use `select --sample`)
$(SEAL)/train-queries.jsonl: $(SEAL)/titled.jsonl
	awk -v wanted=$(PAIRS) '{line[NR] = $$0} END { \
	  for (i = 0; i < wanted && i < NR; i++) print line[int(i * NR / (wanted < NR ? wanted : NR)) + 1]}' $< > $@

$(SEAL)/dev-queries.jsonl: $(DATA)/dev_queries.jsonl.gz
	@mkdir -p $(SEAL)
	$(STRUCTKIT) select $< $(KINDS) -o $@

# each query names its document
$(SEAL)/%-qrels.jsonl: $(SEAL)/%-queries.jsonl
	$(STRUCTKIT) select $< --fields id,doc_id --rename id=query_id --set relevance:=1 -o $@

$(SEAL)/docs.jsonl: $(SEAL)/train-qrels.jsonl
	$(STRUCTKIT) select $(DATA)/train_docs-0[01].jsonl.gz --in $< --on id=doc_id -o $@

$(SEAL)/pairs.jsonl: $(SEAL)/train-qrels.jsonl $(SEAL)/docs.jsonl
	$(STRUCTKIT) pair --qrels $< --queries $(SEAL)/train-queries.jsonl --corpus $(SEAL)/docs.jsonl \
	  --per-query 0 -o $@

$(SEAL)/variants.jsonl: $(SEAL)/pairs.jsonl
	$(STRUCTKIT) html-variants $< --on-error skip -o $@

$(SEAL)/dev.jsonl: $(DATA)/dev_docs.jsonl.gz
	@mkdir -p $(SEAL)
	$(STRUCTKIT) html-variants $< -o $@

# SANTA masks terms that query, title and body share; a page without any is only aligned
$(SEAL)/masked.jsonl: $(SEAL)/variants.jsonl
	$(STRUCTKIT) pair $< --query query --positive tagged \
	  | $(STRUCTKIT) mask-entities --language html --field positive --keep-plain $(SANTA_MASK) -o $@

comma := ,
# a system: its method, records and flags, and the field of the documents to search
define seal-system
$(SEAL)/$(1)@%.model: $(SEAL)/$(3).jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(2) $$< -o $$@ $$(SEAL_FLAGS) --seed $$* $(4) \
	  $$(if $$(wildcard $$@.partial/step-*),--resume) --save-every 50 > $$(@:.model=.trained.jsonl)
$(SEAL)/$(1)@%.jsonl: $(SEAL)/$(1)@%.model $(SEAL)/dev.jsonl $(SEAL)/dev-queries.jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode --as document -m $$< --field $(5) $(SEAL)/dev.jsonl \
	  $(if $(BF16),--dtype bf16) -o $(SEAL)/$(1)@$$*.npy
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $(SEAL)/$(1)@$$*.npy -m $$< --queries $(SEAL)/dev-queries.jsonl -o $$@
endef
$(eval $(call seal-system,raw,contrastive,variants,--document-field untagged,untagged))
$(eval $(call seal-system,mcls,contrastive,variants,--document-field untagged --pooling mcls --mcls-every 64,untagged))
$(eval $(call seal-system,santa,santa,masked,--normalize $(TAGS),tagged))
$(eval $(call seal-system,element,seal,variants,--stages element $(TAGS),tagged))
$(eval $(call seal-system,structure,seal,variants,--stages structure $(TAGS),tagged))
$(eval $(call seal-system,joint,seal,variants,--stages joint $(TAGS),tagged))
$(eval $(call seal-system,structure-element,seal,variants,--stages structure$$(comma)element $(TAGS),tagged))
$(eval $(call seal-system,element-structure,seal,variants,--stages element$$(comma)structure $(TAGS),tagged))

$(SEAL)/chunk@%.jsonl: $(SEAL)/raw@%.model $(SEAL)/dev.jsonl $(SEAL)/dev-queries.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) encode --as document -m $< --field untagged --chunk $(CHUNK) \
	  $(SEAL)/dev.jsonl $(if $(BF16),--dtype bf16) -o $(SEAL)/chunk@$*.npy
	OMP_NUM_THREADS=1 $(STRUCTKIT) search $(SEAL)/chunk@$*.npy -m $< --queries $(SEAL)/dev-queries.jsonl -o $@

$(SEAL)/bm25.jsonl: $(SEAL)/dev.jsonl $(SEAL)/dev-queries.jsonl
	$(STRUCTKIT) search $< --method bm25 --document-field untagged \
	  --queries $(SEAL)/dev-queries.jsonl -o $@

SEAL_RUNS = $(foreach seed,$(SEAL_SEEDS),$(SEAL_SYSTEMS:%=$(SEAL)/%@$(seed).jsonl)) $(SEAL)/bm25.jsonl
$(SEAL)/table.md: $(SEAL)/dev-qrels.jsonl $(SEAL_RUNS)
	$(STRUCTKIT) score --qrels $< --measures '$(SEAL_MEASURES)' --markdown $(COMPARE) $(SEAL_RUNS) -o $@
	$(STRUCTKIT) select $(SEAL)/*.trained.jsonl --fields folder,records,steps -o $(SEAL)/exposure.jsonl

# Search with a model, take its wrong answers as negatives, and train it further (hard); as a control,
# also on the same records without negatives (again).
hard-negatives: $(INSTALLED) ## Train SEAL models further, on documents that they confuse
	@test -f '$(DATA)/dev_docs.jsonl.gz' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory $(SEAL)/hard-table.md
	@cat $(SEAL)/hard-table.md

NEGATIVES := 2
SECOND := hard again

$(SEAL)/train.jsonl: $(SEAL)/docs.jsonl
	$(STRUCTKIT) html-variants $< --on-error skip -o $@

$(SEAL)/mined@%.jsonl: $(SEAL)/element-structure@%.model $(SEAL)/train.jsonl $(SEAL)/train-queries.jsonl
	$(STRUCTKIT) encode --as document -m $< $(SEAL)/train.jsonl -o $(SEAL)/mined@$*.npy
	$(STRUCTKIT) search $(SEAL)/mined@$*.npy -m $< --queries $(SEAL)/train-queries.jsonl -o $@

$(SEAL)/hard-variants@%.jsonl: $(SEAL)/mined@%.jsonl $(SEAL)/train-qrels.jsonl
	$(STRUCTKIT) pair --qrels $(SEAL)/train-qrels.jsonl --queries $(SEAL)/train-queries.jsonl \
	  --corpus $(SEAL)/docs.jsonl --negatives-from $< --per-query $(NEGATIVES) --on-error skip \
	  | $(STRUCTKIT) html-variants --on-error skip -o $@

# a second round starts from the first one with the same seed
$(foreach one,$(SECOND),$(SEAL)/$(one)@%.model): private SEAL_MODEL = --model $(SEAL)/element-structure@$*.model
$(eval $(call seal-system,hard,seal,hard-variants@%,$(TAGS),tagged))
$(eval $(call seal-system,again,seal,hard-variants@%,--negatives-per-query 0 $(TAGS),tagged))

HARD_RUNS = $(foreach seed,$(SEAL_SEEDS),$(SECOND:%=$(SEAL)/%@$(seed).jsonl) $(SEAL)/element-structure@$(seed).jsonl)
$(SEAL)/hard-table.md: $(SEAL)/dev-qrels.jsonl $(HARD_RUNS)
	$(STRUCTKIT) score --qrels $< --measures '$(SEAL_MEASURES)' --markdown \
	  --compare $(SEAL)/element-structure@0.jsonl $(HARD_RUNS) -o $@
