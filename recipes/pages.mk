# Questions about web pages, answered by pages, sections, rows of tables, and sums of these: nDCG@10
# by kind of question. SLOW_PAGES= leaves out MiniLM, which takes six minutes.
.PHONY: pages

PAGED := runs/pages
SLOW_PAGES := minilm
PAGE_TABLES := builtin $(SLOW_PAGES)
PARTED := sections rows
PAGE_WORDS := $(PAGED)/tuned-pages.jsonl $(patsubst %,$(PAGED)/bm25-%.jsonl,passages $(PARTED))
RANKED := $(PAGED)/bm25-passages+pages
PAGE_RUNS := $(PAGED)/bm25-pages.jsonl $(PAGE_WORDS) $(RANKED).jsonl $(foreach name,$(PAGE_TABLES),$(PARTED:%=$(PAGED)/$(name)-%.jsonl))
# sums: of words, and of words with embeddings
PAGE_SUMS := words $(PAGE_TABLES:%=words-%)
PAGES_ASKED := $(PAGED)/ask-words.jsonl $(PAGE_TABLES:%=$(PAGED)/ask-%.jsonl)
PAGE_HITS := $(PAGE_RUNS) $(PAGES_ASKED) $(foreach sum,$(PAGE_SUMS),$(addprefix $(PAGED)/$(sum),.jsonl +documents.jsonl +source.jsonl))
# of a page, the mean of its best parts: several rows tell that a question is about their table
BEST_rows := 3
BEST_passages := 3
PAGE_REPORT := OMP_NUM_THREADS=1 $(BIN)/python -m experiments.pages

pages: $(INSTALLED) ## Search in web pages by pages, sections and rows
	$(call needs,structdoc/dev_docs.jsonl.gz)
	@$(MAKE) --no-print-directory $(PAGED)/table.md
	@cat $(PAGED)/table.md

# questions that name their page as `this team` are left out, and titles and links that are in it
$(PAGED)/queries.jsonl: $(DATA)/structdoc/dev_queries.jsonl.gz $(DATA)/structdoc/dev_docs.jsonl.gz
	@mkdir -p $(@D)
	{ $(STRUCTKIT) select $< --where kind=lead --set part=asked; \
	  $(STRUCTKIT) select $< --where kind=question --where deictic=false --set part=asked; \
	  $(STRUCTKIT) select $< --where 'kind~^(title|anchor)$$' --where verbatim_in_doc=false --set part=apart; } \
	  | $(STRUCTKIT) select --join $(word 2,$^) --on doc_id=id --fields id,query,doc_id,kind,part,source -o $@

$(PAGED)/qrels.jsonl: $(PAGED)/queries.jsonl
	$(STRUCTKIT) select $< --fields id,doc_id --rename id=query_id --set relevance:=1 -o $@

$(PAGED)/pages.jsonl $(PARTED:%=$(PAGED)/%.jsonl): $(PAGED)/%s.jsonl: $(DATA)/structdoc/dev_docs.jsonl.gz
	@mkdir -p $(@D)
	OMP_NUM_THREADS=1 $(TIMED) $(PAGED)/$*s.seconds $(STRUCTKIT) collect --records $< --unit $* -o $@

# sections and rows in one index
$(PAGED)/passages.jsonl: $(PARTED:%=$(PAGED)/%.jsonl)
	cat $^ > $@

# BM25, and as it finds most of the leads and questions of the training pages
define page-words
$(PAGED)/$(1)-%.index: $(PAGED)/%.jsonl
	OMP_NUM_THREADS=1 $$(TIMED) $$@.seconds $(STRUCTKIT) search $$< --method bm25 $(2) --save-index $$@ --query page -k 1 \
	  -o $(PAGED)/$(1)-$$*.first.jsonl
$(PAGED)/$(1)-%.parts.jsonl: $(PAGED)/$(1)-%.index $(PAGED)/queries.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) search $$< --queries $(PAGED)/queries.jsonl -k 1000 -o $$@
endef
$(eval $(call page-words,bm25))
$(eval $(call page-words,tuned,--k1 3 -b 0.9))

$(RANKED).parts.jsonl: $(PAGED)/bm25-passages.parts.jsonl $(PAGED)/passages.jsonl
	$(STRUCTKIT) rerank $< --corpus $(PAGED)/passages.jsonl --queries $(PAGED)/queries.jsonl --for pages -k 100 -o $@

# of an encoder, by its name for `--model`
define page-encoder
$(PAGED)/$(1)-%.npy: $(PAGED)/%.jsonl
	OMP_NUM_THREADS=1 $$(TIMED) $$(@:.npy=.index.seconds) $(STRUCTKIT) encode -m $(1) --as document --field text $$< -o $$@
$(PAGED)/$(1)-%.parts.jsonl: $(PAGED)/$(1)-%.npy $(PAGED)/queries.jsonl
	OMP_NUM_THREADS=1 $(STRUCTKIT) search $$< -m $(1) --queries $(PAGED)/queries.jsonl --query-field query -k 1000 -o $$@
endef
$(foreach name,$(PAGE_TABLES),$(eval $(call page-encoder,$(name))))

$(PAGE_RUNS): $(PAGED)/%.jsonl: $(PAGED)/%.parts.jsonl
	$(PAGE_REPORT) documents $< --best $(or $(BEST_$(lastword $(subst -, ,$*))),1) -o $@

# ask about a folder of the pages, by words alone or with a model
$(PAGES_ASKED): $(PAGED)/ask-%.jsonl: $(DATA)/structdoc/dev_docs.jsonl.gz $(PAGED)/queries.jsonl
	rm -rf $(PAGED)/ask-$*.index
	$(PAGE_REPORT) ask $< --queries $(PAGED)/queries.jsonl --model '$(filter-out words,$*)' --folder $(PAGED)/ask-$*.index -o $@

$(PAGED)/words.jsonl: $(PAGE_WORDS)
$(foreach name,$(PAGE_TABLES),$(eval $(PAGED)/words-$(name).jsonl: $(PAGE_WORDS) $(PARTED:%=$(PAGED)/$(name)-%.jsonl)))
$(PAGE_SUMS:%=$(PAGED)/%.jsonl): $(PAGED)/queries.jsonl
	$(PAGE_REPORT) fit $(filter-out %/queries.jsonl,$^) --queries $(PAGED)/queries.jsonl -o $@
$(PAGED)/%+documents.jsonl $(PAGED)/%+source.jsonl: $(PAGED)/%.jsonl ;

JUDGED_PAGES = $(STRUCTKIT) score --qrels $(PAGED)/qrels.jsonl --measures nDCG@10 --queries $(PAGED)/queries.jsonl $(PAGE_HITS)
$(PAGED)/systems: $(PAGE_HITS)
$(PAGED)/scores.jsonl: $(PAGED)/systems $(PAGED)/qrels.jsonl $(PAGE_HITS)
	{ $(JUDGED_PAGES) --by part; $(JUDGED_PAGES) --by kind; } > $@

$(PAGED)/table.md: $(PAGED)/scores.jsonl
	$(PAGE_REPORT) table $< --folder $(PAGED) -o $@
