# SANTA. One recipe makes four models: untrained, entity prediction alone (mep), alignment alone
# (sda), both (santa). TRAIN and TEST are documents for `pair`, RUN is the recipe's folder, FLAGS are
# its training settings.
.PHONY: santa-code santa-scratch santa-product santa-static santa-table static-table

santa-code: $(RUNNABLE) ## SANTA on real functions: make santa-code MODEL=minilm, or from scratch
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory -j 2 $(if $(MODEL),-C experiments santa-pretrained,santa-scratch)

santa-scratch:
	@$(MAKE) --no-print-directory santa-table RUN='$(RUN)' MASK='--mask-ratio 0.3' \
	  TRAIN='$(RUN)/python-train.jsonl' TEST='$(RUN)/python-dev.jsonl' FLAGS='$(CODE_FLAGS)'

# SANTA on products, which only we have
santa-product: $(RUNNABLE)
	$(call needs,products/matching/products.jsonl.gz)
	@$(MAKE) --no-print-directory -j 2 santa-table RUN='$(RUN)' MASK='$(PRODUCT_MASK)' \
	  TRAIN='$(RUN)/product-train.jsonl' TEST='$(RUN)/product-test.jsonl' FLAGS='$(PRODUCT_FLAGS)' \
	  QUERIES='$(DATA)/products/matching/dev_queries.jsonl.gz' GAINS='esci-documented esci-official' \
	  SCORE="--qrels '$(DATA)/products/matching/dev_qrels.jsonl.gz' --gains exact $(PRODUCT_MEASURES)"

# Alignment over a table of token vectors
santa-static: $(RUNNABLE) ## Alignment of token vectors, on Python functions
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory static-table RUN='$(RUN)' \
	  TRAIN='$(RUN)/python-train.jsonl' TEST='$(RUN)/python-dev.jsonl'

# another folder: make santa-code RUN=FOLDER
santa-scratch: RUN = runs/santa-code
santa-product santa-static: RUN = runs/$@

# the paper's settings are the defaults; these are for a model from scratch
SCRATCH := --size wide --document-length 200 --pooling mean --normalize --temperature 0.05 --symmetric \
  --batch-size 64 --learning-rate 1e-3 $(BF16)
CODE_FLAGS := $(SCRATCH) --epochs 1
# all models are trained on the same pairs: those with an entity to mask
PRODUCT_FLAGS := $(SCRATCH) --epochs 5
PRODUCT_MASK := --language product --mask-ratio 0.3 --on-error skip
PRODUCT_MEASURES := --measures 'nDCG@10 RR@10 R@100'

MODELS := untrained mep sda santa
ONLY_untrained := --max-steps 0
ONLY_mep := --alignment-weight 0
ONLY_sda := --entity-weight 0 --align-on original

# the queries, and the judgements: by default each document's own query
QUERIES = $(RUN)/corpus.jsonl
SCORE = --qrels self --queries $(RUN)/corpus.jsonl --measures 'RR@100 Success@1 R@10'
GAINS :=

santa-table: $(RUN)/table.md $(GAINS:%=$(RUN)/table-%.md)
	@tail -n +1 $^

$(RUN)/python-%.jsonl: $(DATA)/codesearch/%.jsonl.gz
	@mkdir -p $(RUN)
	$(STRUCTKIT) select $< --where language=python -o $@

# the shops' descriptions end in a trace of the data set that they were made for
BARE := $(STRUCTKIT) select --strip 'description= *COL price VAL$$'

# gift cards: one bullet point, or the title if there is none, and the description; shops: the title.
# Nothing from the corpus, and from the query side only products that are in no test query.
$(RUN)/product-train.jsonl: $(DATA)/products/amazon_gift_cards/products.jsonl.gz \
    $(DATA)/products/matching/query_side_products_train.jsonl.gz
	@mkdir -p $(RUN)
	{ $(STRUCTKIT) pair $< --on-error skip; \
	  $(BARE) $^ | $(STRUCTKIT) pair --query title --on-error skip; } > $@

$(RUN)/product-test.jsonl: $(DATA)/products/matching/products.jsonl.gz
	@mkdir -p $(RUN)
	$(BARE) $< | $(STRUCTKIT) pair --query title \
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
	  $(RESUME) --save-every 100

# from scratch, a table whose mean is a bag of words, and what alignment makes of it
TABLES := static static-sda
TABLE_FLAGS := --batch-size 512 --learning-rate 1e-2 --epochs 3

$(RUN)/static.model: $(RUN)/pairs.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train static --saturating $< -o $@

$(RUN)/static-sda.model: $(RUN)/static.model $(RUN)/pairs.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train contrastive --model $^ -o $@ $(TABLE_FLAGS)

$(patsubst %,$(RUN)/%.jsonl,$(MODELS) $(TABLES)): $(RUN)/%.jsonl: $(RUN)/%.model $(RUN)/corpus.jsonl
	$(STRUCTKIT) encode --as document -m $< $(RUN)/corpus.jsonl -o $(RUN)/$*.npy
	$(STRUCTKIT) encode --as query -m $< $(QUERIES) \
	  | $(STRUCTKIT) search $(RUN)/$*.npy -o $@

$(RUN)/bm25.jsonl: $(RUN)/corpus.jsonl
	$(STRUCTKIT) search $< --method bm25 --queries $(QUERIES) -o $@

$(RUN)/santa+bm25.jsonl $(RUN)/static-sda+bm25.jsonl: $(RUN)/%+bm25.jsonl: $(RUN)/%.jsonl $(RUN)/bm25.jsonl
	$(STRUCTKIT) fuse $^ --method weighted --weight 0.3 --weight 1 -o $@

RUNS := $(MODELS:%=$(RUN)/%.jsonl) $(RUN)/bm25.jsonl $(RUN)/santa+bm25.jsonl
# the two that matter most are first
$(RUN)/table.md: $(RUN)/santa.jsonl $(RUN)/sda.jsonl $(RUNS) $(RUN)/corpus.jsonl
	$(STRUCTKIT) score $(SCORE) --markdown $(RUNS) -o $@

$(GAINS:%=$(RUN)/table-%.md): $(RUN)/table-%.md: $(RUN)/table.md
	$(STRUCTKIT) score $(SCORE) --gains $* --markdown $(RUNS) -o $@

static-table: $(RUN)/static-table.md
	@cat $<

TABLE_RUNS := $(TABLES:%=$(RUN)/%.jsonl) $(RUN)/bm25.jsonl $(RUN)/static-sda+bm25.jsonl
$(RUN)/static-table.md: $(TABLE_RUNS) $(RUN)/corpus.jsonl
	$(STRUCTKIT) score $(SCORE) --markdown $(TABLE_RUNS) -o $@
