# The built-in parser, only from freely licensed trees: GUM's genres whose texts are CC BY or
# CC BY-SA, twice, as they are gold; and parsed sentences of Wikipedia, except those of WikiNEuRal.
# FLAGS are settings of the training; to ship its weights, copy the three files of the model to
# plugins/parsers/weights.
.PHONY: span-parser

span-parser: $(INSTALLED) ## Train the built-in parser and print its F1
	$(call needs,trees/gum_train.jsonl.gz)
	@$(MAKE) --no-print-directory $(PARSER)/table.md
	@cat $(PARSER)/table.md

PARSER := runs/span-parser
FREE_GENRES := academic|bio|court|interview|news|voyage

# records of the parsed sentences have no license: it depends on the source of their texts
$(PARSER)/free.jsonl: $(DATA)/wikitext2_parsed.jsonl.gz $(wildcard $(DATA)/wikitext/wiki_sentences_*.jsonl.gz)
	@mkdir -p $(PARSER)
	{ $(STRUCTKIT) select $< --where source=wikitext2-valid --fields id; \
	  $(STRUCTKIT) select $(filter-out $<,$^) --where source!=wikineural --fields id; } > $@

$(PARSER)/trees.jsonl: $(DATA)/trees/gum_train.jsonl.gz $(DATA)/wikitext2_parsed.jsonl.gz \
    $(PARSER)/free.jsonl
	{ $(STRUCTKIT) select $< $< --where 'genre~^($(FREE_GENRES))$$'; \
	  $(STRUCTKIT) select $(word 2,$^) --in $(word 3,$^); } > $@

$(PARSER)/model: $(PARSER)/trees.jsonl
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.span_parser $< -o $@ $(FLAGS) \
	  $(RESUME) --save-every 300

$(PARSER)/table.md: $(PARSER)/model $(DATA)/trees/gum_dev.jsonl.gz
	OMP_NUM_THREADS=1 $(BIN)/python -m experiments.parsers $(word 2,$^) --first 1000 \
	  --model $< > $@
