# What the papers count: parameters (StrAE, table 5), shapes of trees (StrAE, appendix C), entities (SANTA, table 5).
.PHONY: counts

COUNTED := runs/counts
COUNT := $(BIN)/python -m experiments.counts
COUNTED_MODELS := strae self-strae iornn tree-lstm bi-lstm roberta
counts: $(INSTALLED) ## Parameters, shapes of trees, entities
	$(call needs,trees)
	@$(MAKE) --no-print-directory $(COUNTED)/parameters.md $(COUNTED)/shapes.md $(COUNTED)/entities.md
	@tail -n +1 $(COUNTED)/*.md

$(COUNTED)/sentences.jsonl:
	@mkdir -p $(@D)
	$(PARSE) balanced --field text fixtures/sentences/train.jsonl -o $@
$(COUNTED_MODELS:%=$(COUNTED)/%.model): $(COUNTED)/%.model: $(COUNTED)/sentences.jsonl
	$(STRUCTKIT) train $* -q $< -o $@ --max-steps 0
$(COUNTED)/parameters.md: $(COUNTED_MODELS:%=$(COUNTED)/%.model)
	$(COUNT) parameters $^ -o $@

COUNTED_PARSERS := right-branching balanced random builtin
$(COUNTED_PARSERS:%=$(COUNTED)/%.jsonl): $(COUNTED)/%.jsonl:
	@mkdir -p $(@D)
	$(PARSE) $* --tokenized $(DATA)/trees/gum_dev.jsonl.gz -o $@
# Self-StrAE, trained on 4,000 sentences of 5 to 12 words in two passes
$(COUNTED)/sentences-of-wikipedia.jsonl: $(DATA)/wikitext/wiki_sentences_train.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select -q $< --where 'text~^(\S+ ){4,11}\S+$$' --head 4000 -o $@
$(COUNTED)/self-strae-trained.model: $(COUNTED)/sentences-of-wikipedia.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) train self-strae -q $< -o $@ --epochs 2 --batch-size 32 --learning-rate 4e-3 \
	  --schedule linear --composition-init sum
$(COUNTED)/self-strae-trained.jsonl: $(COUNTED)/self-strae-trained.model
	$(PARSE) self-strae --model $< --tokenized $(DATA)/trees/gum_dev.jsonl.gz -o $@
$(COUNTED)/shapes.md: $(patsubst %,$(COUNTED)/%.jsonl,$(COUNTED_PARSERS) self-strae-trained)
	$(COUNT) shapes $^ -o $@

# all names of the training functions; of products, what SANTA pretrains on here
COUNTED_LANGUAGES := python php go java javascript ruby
$(COUNTED_LANGUAGES:%=$(COUNTED)/%.jsonl): $(COUNTED)/%.jsonl: $(DATA)/codesearch/train.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select -q $< --where language=$* | $(STRUCTKIT) pair -q | $(STRUCTKIT) mask-entities -q --keep-plain -o $@
$(COUNTED)/products.jsonl: $(DATA)/products/matching/query_side_products_train.jsonl.gz
	@mkdir -p $(@D)
	$(BARE) $< | $(STRUCTKIT) pair -q --query title --positive description --on-error skip \
	  | $(STRUCTKIT) mask-entities -q --language product --keep-plain --on-error skip -o $@
$(COUNTED)/entities.md: $(patsubst %,$(COUNTED)/%.jsonl,$(COUNTED_LANGUAGES) products)
	$(COUNT) entities $^ -o $@
