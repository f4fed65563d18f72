# Does the structure that code and pages have help? StrAE along their own trees, along right-branching and
# balanced ones over the same words, and models that make their own; queries are parsed by the built-in
# parser, or get a tree of the same shape. A row `-words` is the mean of the words of that model.
.PHONY: strae-code strae-html report-strae-structure

STRUCTURE := runs/strae-structure
# documents and queries to train on, each seen once
SNIPPETS := 4000
STRUCTURE_PAGES := 1000
STRUCTURE_SEEDS := 0 1 2
STRUCTURE_MODELS := strae-own strae-right-branching strae-balanced strae-untrained self-strae banyan
STRUCTURE_MEASURES := RR@100 Success@1 R@10

strae-code: $(INSTALLED) ## Code along its syntax
	$(call needs,codesearch/dev.jsonl.gz)
	@$(MAKE) --no-print-directory $(STRUCTURE)/code/table.md
	@cat $(STRUCTURE)/code/table.md

strae-html: $(INSTALLED) ## Pages along their elements
	$(call needs,structdoc/dev_docs.jsonl.gz)
	@$(MAKE) --no-print-directory $(STRUCTURE)/html/table.md
	@cat $(STRUCTURE)/html/table.md

$(STRUCTURE)/code/train.jsonl $(STRUCTURE)/code/test.jsonl: $(STRUCTURE)/code/%.jsonl:
	@mkdir -p $(@D)
	$(STRUCTKIT) select $(DATA)/codesearch/$(if $(filter train,$*),train,dev).jsonl.gz --where language=python \
	  $(if $(filter train,$*),--sample $(SNIPPETS)) -o $@

$(STRUCTURE)/code/%-queries.jsonl: $(STRUCTURE)/code/%.jsonl
	$(STRUCTKIT) select $< --fields id,docstring --rename docstring=text -o $@

# each question or first sentence names its page
$(STRUCTURE)/html/train.jsonl $(STRUCTURE)/html/test.jsonl: $(STRUCTURE)/html/%.jsonl:
	@mkdir -p $(@D)
	$(STRUCTKIT) select $(if $(filter train,$*),$(DATA)/structdoc/train_docs-0[01].jsonl.gz --sample $(STRUCTURE_PAGES), \
	  $(DATA)/structdoc/dev_docs.jsonl.gz) -o $@

$(STRUCTURE)/html/%-queries.jsonl: $(STRUCTURE)/html/%.jsonl
	$(STRUCTKIT) select $(DATA)/structdoc/$(if $(filter train,$*),train,dev)_queries.jsonl.gz --in $< --on doc_id=id \
	  --where 'kind~^(lead|question)$$' --fields id,doc_id,query --rename query=text -o $@

$(STRUCTURE)/html/qrels.jsonl: $(STRUCTURE)/html/test-queries.jsonl
	$(STRUCTKIT) select $< --fields id,doc_id --rename id=query_id --set relevance:=1 -o $@

JUDGE_code := self
JUDGE_html := $(STRUCTURE)/html/qrels.jsonl
OWN_code := ast
OWN_html := dom

# one kind of documents, `train` or `test`, and the shapes of their trees and of their queries'
define structure-trees
$(STRUCTURE)/$(1)/$(2)-own.jsonl: $(STRUCTURE)/$(1)/$(2).jsonl
	$(STRUCTKIT) parse-trees -q --parser $(OWN_$(1)) --on-error skip $$< -o $$@
$(STRUCTURE)/$(1)/$(2)-queries-own.jsonl: $(STRUCTURE)/$(1)/$(2)-queries.jsonl
	$(STRUCTKIT) parse-trees -q --on-error skip $$< -o $$@
$(foreach each,$(2) $(2)-queries,$(foreach shape,right-branching balanced,$(eval
$(STRUCTURE)/$(1)/$(each)-$(shape).jsonl: $(STRUCTURE)/$(1)/$(each)-own.jsonl
	$$(STRUCTKIT) parse-trees -q --parser $(shape) --field tree --tokenized $$< -o $$@
)))
endef
$(foreach kind,code html,$(foreach part,train test,$(eval $(call structure-trees,$(kind),$(part)))))

# documents and queries to learn from; longer documents are left out
$(foreach kind,code html,$(foreach shape,own right-branching balanced,$(eval \
  $(STRUCTURE)/$(kind)/learn-$(shape).jsonl: $(STRUCTURE)/$(kind)/train-$(shape).jsonl \
  $(STRUCTURE)/$(kind)/train-queries-$(shape).jsonl ; cat $$^ > $$@)))
STRUCTURE_FLAGS := --subwords --vocabulary-size 8000 --batch-size 32 --batch-tokens 4096 --max-length 1000 \
  --on-error skip --epochs 1 --learning-rate 2e-3 --schedule linear --final-punct keep

# a model: the kind of documents, its name, method, the shape of its trees (of Self-StrAE and Banyan only
# the words are read), flags, its seed; then its run
define structure-model
$(STRUCTURE)/$(1)/systems $(STRUCTURE)/$(1)/table.md: $(STRUCTURE)/$(1)/$(2)@$(6) $(STRUCTURE)/$(1)/$(2)-words@$(6)
$(STRUCTURE)/$(1)/$(2)@$(6).model: $(STRUCTURE)/$(1)/learn-$(4).jsonl
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(3) $$< -o $$@ -q --seed $(6) $(STRUCTURE_FLAGS) $(5) \
	  $$(RESUME) --save-every 100
$(call structure-run,$(1),$(2),$(4),$(6),)
$(call structure-run,$(1),$(2)-words,$(4),$(6),--pooling mean,$(2))
endef
define structure-run
$(STRUCTURE)/$(1)/$(2)@$(4): $(STRUCTURE)/$(1)/$(or $(6),$(2))@$(4).model \
    $(STRUCTURE)/$(1)/test-$(3).jsonl $(STRUCTURE)/$(1)/test-queries-$(3).jsonl
	$$(TREE_EMBED) $(5) -m $$< $$(word 2,$$^) -o $$@.npy
	$$(TREE_EMBED) $(5) -m $$< $$(word 3,$$^) | $$(STRUCTKIT) search -q $$@.npy -o $$@
endef
TREE_EMBED = OMP_NUM_THREADS=1 $(STRUCTKIT) encode -q --field tree --normalize
structure-models = $(if $(filter $(2),$(STRUCTURE_MODELS)),$(foreach seed,$(STRUCTURE_SEEDS),$(eval $(call \
  structure-model,$(1),$(2),$(3),$(4),$(5),$(seed)))))

SUMMED := --composition-init sum
$(foreach kind,code html,\
  $(foreach shape,own right-branching balanced,\
    $(call structure-models,$(kind),strae-$(shape),strae,$(shape),$(SUMMED)))\
  $(call structure-models,$(kind),strae-untrained,strae,own,$(SUMMED) --max-steps 0)\
  $(call structure-models,$(kind),self-strae,self-strae,balanced,$(SUMMED))\
  $(call structure-models,$(kind),banyan,banyan,balanced,))

$(foreach kind,code html,$(eval $(STRUCTURE)/$(kind)/systems $(STRUCTURE)/$(kind)/table.md: $(STRUCTURE)/$(kind)/bm25))
$(STRUCTURE)/code/bm25: $(STRUCTURE)/code/test.jsonl $(STRUCTURE)/code/test-queries.jsonl
	$(STRUCTKIT) search -q $< --method bm25 --document-field code --queries $(word 2,$^) -o $@
$(STRUCTURE)/html/bm25: $(STRUCTURE)/html/test.jsonl $(STRUCTURE)/html/test-queries.jsonl
	$(STRUCTKIT) html-variants -q $< | $(STRUCTKIT) search -q --method bm25 --document-field untagged \
	  --queries $(word 2,$^) -o $@ -

$(STRUCTURE)/html/table.md: | $(JUDGE_html)
$(STRUCTURE)/code/table.md $(STRUCTURE)/html/table.md: $(STRUCTURE)/%/table.md: $(STRUCTURE)/%/systems
	$(STRUCTKIT) score --qrels $(JUDGE_$*) --measures '$(STRUCTURE_MEASURES)' --markdown $(LISTED) -o $@

# both kinds as one table, of RR@100
STRUCTURE_RUNS = bm25 $(foreach seed,$(STRUCTURE_SEEDS),$(STRUCTURE_MODELS:%=%@$(seed)) \
  $(STRUCTURE_MODELS:%=%-words@$(seed)) $(PAIRED_MODELS:%=%@$(seed)))
$(STRUCTURE)/values-code.jsonl $(STRUCTURE)/values-html.jsonl: $(STRUCTURE)/values-%.jsonl: $(STRUCTURE)/%/table.md
	$(STRUCTKIT) score --qrels $(JUDGE_$*) --measures '$(STRUCTURE_MEASURES)' --per-query \
	  $(STRUCTURE_RUNS:%=$(<D)/%) -o $@
# own trees above other shapes over the same words, above the mean of these words, and above no training
STRUCTURE_HYPOTHESES := $(patsubst %,%:strae-own,strae-right-branching strae-balanced strae-own-words strae-untrained)
STRUCTURE_CODE := $(patsubst %,codesearch/%.jsonl.gz,train dev)
STRUCTURE_HTML := $(patsubst %,structdoc/%.jsonl.gz,train_docs-00 train_docs-01 train_queries dev_docs dev_queries)
$(STRUCTURE)/report.json: $(STRUCTURE)/values-code.jsonl $(STRUCTURE)/values-html.jsonl
	$(TELL) gather $^ --title 'Trees of code and pages: RR@100' --folder $(STRUCTURE) -o $@ \
	  --against $(if $(filter strae-own,$(STRUCTURE_MODELS)),strae-own strae-own-words) \
  --stated $(STRUCTURE_HYPOTHESES) --data $(addprefix $(DATA)/,$(STRUCTURE_CODE) $(STRUCTURE_HTML)) \
	  --command '$(foreach each,code html,make -C experiments strae-$(each) STRUCTURE_SEEDS="$(STRUCTURE_SEEDS)";)'

# what is not trained
SLICE_OF_STRUCTURE = STRUCTURE=runs/report/structure STRUCTURE_SEEDS='$(or $(SEED),0)' STRUCTURE_MODELS='strae-untrained $(AGAIN)'
report-strae-structure:
	@$(MAKE) --no-print-directory runs/report/structure/values-code.jsonl $(SLICE_OF_STRUCTURE)
	@$(MAKE) --no-print-directory runs/report/structure/values-html.jsonl $(SLICE_OF_STRUCTURE)
	@$(MAKE) --no-print-directory runs/report/structure/report.json $(SLICE_OF_STRUCTURE)
	$(TELL) check experiments/reports/strae-structure.json runs/report/structure/report.json
