# The table of token vectors that ships with structkit: MiniLM's, aligned on functions and on sections
# of manuals, all under permissive licences, with the tokens that occur in them and in other pages.
# Training twice on one machine gives the same bytes.
.PHONY: ask-table

ASK_TABLE := runs/ask-table
BUILTIN := structkit/learning/builtin
# the manuals among the pages that may be trained on: Apache-2.0 and BSL-1.0
MANUALS := httpd|ant|boost-math
ALIGN_FLAGS := --epochs 6 --batch-size 2048 --learning-rate 1e-2 --temperature 0.05 --symmetric \
  --query-length 64 --document-length 256
ASK_PACKAGES := experiments/ask-packages.tsv

ask-table: $(INSTALLED) ## Make the table that ships
	$(call needs,codesearch/train.jsonl.gz)
	@$(MAKE) --no-print-directory $(ASK_TABLE)/small.model
	mkdir -p $(BUILTIN)
	install -m 644 $(addprefix $(ASK_TABLE)/small.model/,config.json tokenizer.json model.safetensors) $(BUILTIN)
	sed '/^With sentence-transformers/,$$d; s/aligned.model/builtin/g' $(ASK_TABLE)/aligned.model/README.md | cat - experiments/ask-table.md > $(BUILTIN)/README.md
	du -sb $(BUILTIN)

$(ASK_TABLE)/functions.jsonl:
	@mkdir -p $(@D)
	$(STRUCTKIT) pair $(DATA)/codesearch/train.jsonl.gz | $(STRUCTKIT) select --fields id,query,positive -o $@

$(ASK_TABLE)/texts.jsonl:
	@mkdir -p $(@D)
	cat $(DATA)/structdoc/train_docs-*.jsonl.gz | gunzip | $(STRUCTKIT) collect --records - --unit section -o $@

$(ASK_TABLE)/packages: $(ASK_PACKAGES)
	$(BIN)/python -m experiments.ask_packages $< $@
	touch $@

$(ASK_TABLE)/described.jsonl: $(ASK_TABLE)/packages
	(cd $< && $(abspath $(BIN))/structkit collect . --no-ignore --unit function -g '!*.md' -g '!*.rst') > $@.functions
	$(STRUCTKIT) select $@.functions --where 'docstring~.' | $(STRUCTKIT) pair --dedupe --on-error skip -o $@.pairs
	$(BIN)/python -m experiments.ask_pairs functions $@.pairs -o $@

$(ASK_TABLE)/manuals.jsonl: $(ASK_TABLE)/packages
	(cd $< && $(abspath $(BIN))/structkit collect . --no-ignore --unit section -g '*.md' -g '*.rst') > $@.sections
	$(BIN)/python -m experiments.ask_pairs sections $@.sections -o $@

# a heading is the question about its section
$(ASK_TABLE)/sections.jsonl: $(ASK_TABLE)/texts.jsonl
	$(STRUCTKIT) select $< --where 'source~^($(MANUALS))$$' \
	  | $(STRUCTKIT) pair --query headings --positive text --on-error skip -o - \
	  | $(STRUCTKIT) select --fields id,query,positive -o $@

$(ASK_TABLE)/static.model:
	@mkdir -p $(@D)
	$(STRUCTKIT) train static --model minilm -o $@ < /dev/null

$(ASK_TABLE)/aligned.model: $(ASK_TABLE)/functions.jsonl $(ASK_TABLE)/sections.jsonl $(ASK_TABLE)/described.jsonl $(ASK_TABLE)/manuals.jsonl \
  $(ASK_TABLE)/static.model
	cat $(filter %.jsonl,$^) | OMP_NUM_THREADS=1 $(STRUCTKIT) train contrastive --model $(ASK_TABLE)/static.model $(ALIGN_FLAGS) -o $@

$(ASK_TABLE)/small.model: $(ASK_TABLE)/aligned.model $(ASK_TABLE)/functions.jsonl $(ASK_TABLE)/texts.jsonl
	{ $(STRUCTKIT) select $(ASK_TABLE)/functions.jsonl --fields id,positive --rename positive=text; \
	  $(STRUCTKIT) select $(ASK_TABLE)/texts.jsonl --fields id,text; } \
	  | OMP_NUM_THREADS=1 $(BIN)/python -m experiments.ask_table $< -o $@
