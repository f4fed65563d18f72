# Products found by their descriptions, not by their names: a bullet point finds its gift card, and what
# one shop says of a product after its title finds the same product in another shop. All gift cards are of
# one category, and negatives are what BM25 confuses: products of the same kind.
#   untrained   T5 from scratch as it starts     sda       aligned        hard    with these negatives
#   words       mean of word vectors, by IDF     words-sda aligned        MODEL=… start and tuned: that one
#   bm25-tuned  with the settings that are best for the queries to learn from
#   pretrained  MODEL after SANTA on one shop's titles and bullet points with the descriptions of the same products,
#               without a labelled pair and without test queries            pretrained-sda  after alignment alone
.PHONY: santa-bullets report-products

BULLETS := runs/santa-bullets
BULLET_SEEDS := 0 1 2
BULLET_PASSES := 10
BULLET_FLAGS = --size wide --document-length 96 --query-length 64 --pooling mean --normalize \
  --temperature 0.05 --symmetric --batch-size 64 --learning-rate 1e-3 $(BF16)
TUNED_FLAGS = --model $(MODEL) --document-length 96 --query-length 64 --symmetric --batch-size 64 --learning-rate 2e-5 \
  --epochs 3 $(BF16)
BULLET_MEASURES := RR@100 Success@1 R@10
BULLET_SYSTEMS := untrained sda hard words-sda $(if $(MODEL),tuned pretrained pretrained-sda)

santa-bullets: $(INSTALLED) ## Products by their descriptions: make -C experiments santa-bullets MODEL=minilm
	$(call needs,products/matching/products.jsonl.gz)
	@$(MAKE) --no-print-directory $(BULLETS)/table.md $(BULLETS)/sources.md $(BULLETS)/report.json
	@tail -n +1 $(BULLETS)/*.md

# the text of a product; gift cards without their bullet points
WORDED := $(STRUCTKIT) pair --query title --positive-template 'title : {title} text : {description}'
$(BULLETS)/products.jsonl: $(DATA)/products/matching/products.jsonl.gz $(DATA)/products/amazon_gift_cards/products.jsonl.gz
	@mkdir -p $(BULLETS)
	{ $(STRUCTKIT) select $< --where source=abt-buy | $(BARE); $(STRUCTKIT) select $(word 2,$^); } \
	  | $(WORDED) | $(STRUCTKIT) select --fields id,positive,source --rename positive=text -o $@

$(BULLETS)/cards.jsonl: $(DATA)/products/amazon_gift_cards/products.jsonl.gz
	@mkdir -p $(BULLETS)
	$(STRUCTKIT) pair $< --query bullets --positive description --on-error skip --dedupe -o $@

# the other shop's description starts with the title, of 15 words at most
$(BULLETS)/described.jsonl: $(DATA)/products/matching/query_side_products_train.jsonl.gz
	@mkdir -p $(BULLETS)
	$(STRUCTKIT) select $< --where source=abt-buy | $(BARE) \
	  | $(STRUCTKIT) select --strip 'description=^(\S+\s+){15}' \
	  | $(STRUCTKIT) select --where 'description~(\S+ ){5}' -o $@

$(BULLETS)/queries.jsonl: $(BULLETS)/described.jsonl $(BULLETS)/cards.jsonl
	{ $(STRUCTKIT) select $< --fields id,description,source --rename description=query; \
	  $(STRUCTKIT) select $(word 2,$^) --fields id,query,source; } > $@

$(BULLETS)/qrels.jsonl: $(DATA)/products/matching/train_qrels.jsonl.gz $(BULLETS)/queries.jsonl $(BULLETS)/cards.jsonl
	$(STRUCTKIT) select $(word 3,$^) --fields id --rename id=doc_id -o $(BULLETS)/own.jsonl
	{ $(STRUCTKIT) select $< --where label=E --in $(word 2,$^) --on query_id=id --fields query_id,doc_id; \
	  $(STRUCTKIT) select $(word 3,$^) --fields id --rename id=query_id \
	    | $(STRUCTKIT) select --join $(BULLETS)/own.jsonl --on query_id=doc_id; } \
	  | $(STRUCTKIT) select --set relevance:=1 -o $@

$(BULLETS)/bm25.run.jsonl: $(BULLETS)/products.jsonl $(BULLETS)/queries.jsonl
	$(STRUCTKIT) search $< --method bm25 --queries $(word 2,$^) -o $@

$(BULLETS)/train-qrels.jsonl: $(BULLETS)/qrels.jsonl $(BULLETS)/train.jsonl
	$(STRUCTKIT) select $< --in $(word 2,$^) --on query_id -o $@
$(eval $(call bm25-choice,$(BULLETS)/bm25-flags,$(BULLETS)/products.jsonl,$(BULLETS)/queries.jsonl,--qrels \
  $(BULLETS)/train-qrels.jsonl,$(BULLETS)/train-qrels.jsonl))
$(BULLETS)/bm25-tuned.run.jsonl: $(BULLETS)/products.jsonl $(BULLETS)/queries.jsonl $(BULLETS)/bm25-flags
	$(STRUCTKIT) search $< --method bm25 $$(cat $(word 3,$^)) --queries $(word 2,$^) -o $@

$(BULLETS)/all-pairs.jsonl: $(BULLETS)/qrels.jsonl $(BULLETS)/bm25.run.jsonl
	$(STRUCTKIT) pair --qrels $< --queries $(BULLETS)/queries.jsonl --corpus $(BULLETS)/products.jsonl \
	  --negatives-from $(word 2,$^) --per-query 1 --split train:0.75,test:0.25 --on-error skip -o $@

$(BULLETS)/train.jsonl $(BULLETS)/test.jsonl: $(BULLETS)/%.jsonl: $(BULLETS)/all-pairs.jsonl
	$(STRUCTKIT) select $< --where split=$* -o $@

$(BULLETS)/test-qrels.jsonl: $(BULLETS)/qrels.jsonl $(BULLETS)/test.jsonl
	$(STRUCTKIT) select $< --in $(word 2,$^) --on query_id -o $@

$(BULLETS)/pretraining.jsonl: $(BULLETS)/described.jsonl $(BULLETS)/cards.jsonl $(BULLETS)/test.jsonl
	{ $(STRUCTKIT) pair $< --query title --positive description --dedupe; $(STRUCTKIT) select $(word 2,$^); } \
	  | $(STRUCTKIT) select --not-in $(word 3,$^) --on id=query_id \
	  | $(STRUCTKIT) mask-entities $(PRODUCT_MASK) --keep-plain -o $@

# a system: its method, records and flags, and the model it starts from
define bullet-system
$(BULLETS)/$(1)@%.model: $(BULLETS)/$(3).jsonl $(5)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(2) $$< -o $$@ --seed $$* $(4) $(if $(5),--model $(5)) \
	  $$(RESUME) > $$(@:.model=.trained.jsonl)
endef
ONCE := --epochs $(BULLET_PASSES)
NONE := --negatives-per-query 0
$(eval $(call bullet-system,untrained,contrastive,train,$$(BULLET_FLAGS) --max-steps 0))
$(eval $(call bullet-system,sda,contrastive,train,$$(BULLET_FLAGS) $(ONCE) $(NONE)))
$(eval $(call bullet-system,hard,contrastive,train,$$(BULLET_FLAGS) $(ONCE)))
$(eval $(call bullet-system,words-sda,contrastive,train,--batch-size 512 --learning-rate 1e-2 $(ONCE) \
  $(NONE),$(BULLETS)/words.model))
$(eval $(call bullet-system,tuned,contrastive,train,$$(TUNED_FLAGS)))
$(eval $(call bullet-system,pretrained,santa,pretraining,$$(TUNED_FLAGS) --entity-weight $$(ENTITY_WEIGHT)))
$(eval $(call bullet-system,pretrained-sda,santa,pretraining,$$(TUNED_FLAGS) $$(ALIGN)))

$(BULLETS)/words.model: $(BULLETS)/train.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train static --saturating $< -o $@

define bullet-search
$(BULLETS)/$(1).run.jsonl: $(if $(2),,$(BULLETS)/$(1).model) $(BULLETS)/products.jsonl $(BULLETS)/queries.jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) encode --as document -m $(or $(2),$$<) --field text \
	  $(BULLETS)/products.jsonl -o $$(@:.run.jsonl=.npy)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) search $$(@:.run.jsonl=.npy) -m $(or $(2),$$<) \
	  --queries $(BULLETS)/queries.jsonl -o $$@
endef
$(foreach system,words $(BULLET_SYSTEMS:%=%@%),$(eval $(call bullet-search,$(system))))
$(if $(MODEL),$(eval $(call bullet-search,start,$(MODEL))))

BULLET_RUNS = $(patsubst %,$(BULLETS)/%.run.jsonl,$(filter-out $(KEPT_RUNS),bm25 bm25-tuned words $(if $(MODEL),start) \
  $(foreach seed,$(BULLET_SEEDS),$(BULLET_SYSTEMS:%=%@$(seed)))))
BULLET_SCORE = $(STRUCTKIT) score --qrels $(BULLETS)/test-qrels.jsonl --measures '$(BULLET_MEASURES)'
$(BULLETS)/systems: $(BULLET_RUNS)
$(BULLETS)/table.md $(BULLETS)/sources.md $(BULLETS)/values.jsonl: $(BULLETS)/systems
$(BULLETS)/table.md: $(BULLETS)/test-qrels.jsonl $(BULLET_RUNS)
	$(BULLET_SCORE) --markdown $(BULLET_RUNS) -o $@

$(BULLETS)/sources.md: $(BULLETS)/test-qrels.jsonl $(BULLET_RUNS)
	$(BULLET_SCORE) --markdown --by source --queries $(BULLETS)/queries.jsonl $(BULLET_RUNS) -o $@

$(BULLETS)/values.jsonl: $(BULLETS)/test-qrels.jsonl $(BULLET_RUNS)
	$(BULLET_SCORE) --per-query $(BULLET_RUNS) -o $@

# alignment lifts a table and a model above where they start, and above BM25. Stated on 2026-11-24, before the first
# run: so does pretraining without a labelled pair, and entity prediction adds to it
BULLET_HYPOTHESES := words-sda:words words-sda:bm25 tuned:start tuned:bm25 \
  pretrained:start pretrained:bm25 pretrained:pretrained-sda
# written on 2026-11-28, after the run, from the paper: hard negatives add
BULLET_HYPOTHESES += hard:sda
$(BULLETS)/report.json: $(BULLETS)/values.jsonl
	$(GATHER) $< --title 'Products by their descriptions' --stated $(BULLET_HYPOTHESES) \
	  --against $(if $(MODEL),start) bm25 bm25-tuned words $(filter untrained sda pretrained-sda,$(BULLET_SYSTEMS)) \
	  --command 'make -C experiments santa-bullets$(if $(MODEL), MODEL=$(MODEL)) BULLET_SYSTEMS="$(BULLET_SYSTEMS)" BULLET_SEEDS="$(BULLET_SEEDS)"' \
	  --data $(DATA)/products/matching/products.jsonl.gz $(DATA)/products/matching/query_side_products_train.jsonl.gz \
	  $(DATA)/products/matching/train_qrels.jsonl.gz $(DATA)/products/amazon_gift_cards/products.jsonl.gz \
	  --folder $(BULLETS) -o $@

# the rows that take seconds
report-products:
	@$(MAKE) --no-print-directory runs/report/bullets/report.json \
	  BULLETS=runs/report/bullets BULLET_SYSTEMS='$(or $(AGAIN),words-sda)' BULLET_SEEDS='$(or $(SEED),0)' MODEL=$(if $(AGAIN),minilm)
	$(TELL) check experiments/reports/products.json runs/report/bullets/report.json
