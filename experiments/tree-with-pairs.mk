# Does structure help composition where the objective links two texts? StrAE's composition, with a contrastive loss
# between the roots of a query and its document, along their own trees, balanced and right-branching ones, and the
# mean of the same words, with as many parameters, steps and pairs. Trees and runs are made by tree-structure.mk.
.PHONY: strae-pairs strae-pairs-tried report-strae-pairs

PAIRED := runs/strae-pairs
# functions and pages to learn from, of which some are held out: a rate is chosen on their queries
PAIRED_SNIPPETS := 4500
PAIRED_PAGES := 1000
PAIRED_HELD := 400
PAIRED_SEEDS := 0 1 2
PAIRED_KINDS := code html
PAIRED_SHAPES := own balanced right-branching
# none in other recipes' tables
PAIRED_MODELS :=
PAIRED_NAMES := $(PAIRED_SHAPES:%=pairs-%) pairs-words pairs-untrained pairs-untrained-words
OF_PAIRED = STRUCTURE=$(PAIRED) STRUCTURE_MODELS= PAIRED_MODELS='$(PAIRED_NAMES)' STRUCTURE_SEEDS='$(PAIRED_SEEDS)' \
  SNIPPETS=$(PAIRED_SNIPPETS) STRUCTURE_PAGES=$(PAIRED_PAGES)
# a file of each kind
of-each-kind = $(foreach each,$(PAIRED_KINDS),$(MAKE) --no-print-directory $(OF_PAIRED) \
  $(PAIRED)/$(subst %,$(each),$(1)) &&) :

strae-pairs: $(INSTALLED) ## Trees and pairs of texts
	$(call needs,codesearch)
	+@$(call of-each-kind,values-%.jsonl)
	+@$(MAKE) --no-print-directory $(OF_PAIRED) $(PAIRED)/pairs.json
	$(TELL) show $(PAIRED)/pairs.json
strae-pairs-tried: $(INSTALLED) ## The rates of which strae-pairs uses the best on held-out pairs
	+@$(call of-each-kind,%/tried.jsonl)

# queries of pages name them
define paired-records
$(STRUCTURE)/$(1)/documents-$(2).jsonl: $(STRUCTURE)/$(1)/train-$(2).jsonl
	$$(STRUCTKIT) select -q $$< --fields id,tree --rename tree=positive -o $$@
$(STRUCTURE)/$(1)/held-documents-$(2).jsonl: $(STRUCTURE)/$(1)/documents-$(2).jsonl
	$$(STRUCTKIT) select -q $$< --sample $(PAIRED_HELD) -o $$@
$(STRUCTURE)/$(1)/held-pairs-$(2).jsonl: $(STRUCTURE)/$(1)/held-documents-$(2).jsonl
$(STRUCTURE)/$(1)/pairs-$(2).jsonl: $(STRUCTURE)/$(1)/documents-$(2).jsonl $(STRUCTURE)/$(1)/held-documents-$(2).jsonl
$(STRUCTURE)/$(1)/held-pairs-$(2).jsonl $(STRUCTURE)/$(1)/pairs-$(2).jsonl: $(STRUCTURE)/$(1)/train-queries-$(2).jsonl
	$$(STRUCTKIT) select -q $(STRUCTURE)/$(1)/train-queries-$(2).jsonl $$(if $$(filter pairs-%,$$(@F)), \
	  --in $(STRUCTURE)/$(1)/documents-$(2).jsonl --not-in $(STRUCTURE)/$(1)/held-documents-$(2).jsonl, \
	  --in $(STRUCTURE)/$(1)/held-documents-$(2).jsonl) --join $(STRUCTURE)/$(1)/documents-$(2).jsonl \
	  $(if $(filter html,$(1)),--on doc_id=id) --fields id,tree,positive --rename tree=query -o $$@
endef
$(foreach kind,code html,$(foreach shape,$(PAIRED_SHAPES),$(eval $(call paired-records,$(kind),$(shape)))))

PAIRED_FLAGS := --objective pairs --temperature 0.05 --mask-duplicates --subwords --vocabulary-size 8000 \
  --composition-init sum --batch-size 64 --batch-tokens 200000 --max-length 1000 --on-error skip --schedule linear \
  --max-grad-norm 1 --final-punct keep --save-every 50
PAIRED_TRAIN = OMP_NUM_THREADS=1 $(STRUCTKIT) train strae $< -q $(PAIRED_FLAGS) --epochs 3 \
  $(RESUME) -o $@

# a model, its kind, name, shape of trees, seed, flags and, for its rate, whose it is; then its run
define paired-model
$(STRUCTURE)/$(1)/systems $(STRUCTURE)/$(1)/table.md: $(STRUCTURE)/$(1)/$(2)@$(4)
$(STRUCTURE)/$(1)/$(2)@$(4).model: $(STRUCTURE)/$(1)/pairs-$(3).jsonl $(if $(PAIRED_RATE_$(6)),,$(6:%=$(STRUCTURE)/$(1)/rate-%))
	$$(PAIRED_TRAIN) --seed $(4) $(5) $(if $(6),--learning-rate $(or $(PAIRED_RATE_$(6)),$$$$(cat $$(lastword $$^))))
$(call structure-run,$(1),$(2),$(3),$(4),)
endef
paired-models = $(if $(filter $(2),$(PAIRED_MODELS)),$(foreach seed,$(STRUCTURE_SEEDS),$(eval $(call \
  paired-model,$(1),$(2),$(3),$(seed),$(4),$(5)))))

# rates tried, one seed: that with the lowest loss of held-out pairs at the end is taken; other shapes have that of own trees
# PAIRED_RATE_own and PAIRED_RATE_words take the place of a pilot
PAIRED_RATES := 0.002 0.006 0.02
define paired-tried
$(STRUCTURE)/$(1)/tried.jsonl $(STRUCTURE)/$(1)/rate-$(2): $(STRUCTURE)/$(1)/tried-$(2)@$(3).model
$(STRUCTURE)/$(1)/tried-$(2)@$(3).model: $(STRUCTURE)/$(1)/pairs-own.jsonl $(STRUCTURE)/$(1)/held-pairs-own.jsonl
	$$(PAIRED_TRAIN) --seed 0 --learning-rate $(3) --validate $$(word 2,$$^) $(4) > $$@.json
endef
$(foreach kind,code html,$(foreach rate,$(PAIRED_RATES),\
  $(eval $(call paired-tried,$(kind),own,$(rate),))$(eval $(call paired-tried,$(kind),words,$(rate),--pooling mean))))
$(foreach kind,code html,$(STRUCTURE)/$(kind)/tried.jsonl):
	$(STRUCTKIT) select -q $(^:%=%.json) --fields folder,steps,records,held_out,seconds -o $@
LOWEST = grep -o '"lowest":[0-9.]*,"last":[0-9.]*' $(^:%=%.json) | sort -t : -k 4 -g | head -n 1 | sed -E 's/.*@([0-9.]+)\.model.*/\1/' > $@
$(foreach kind,code html,$(STRUCTURE)/$(kind)/rate-own $(STRUCTURE)/$(kind)/rate-words):
	$(LOWEST)
$(foreach kind,code html,\
  $(foreach shape,$(PAIRED_SHAPES),$(call paired-models,$(kind),pairs-$(shape),$(shape),,own))\
  $(call paired-models,$(kind),pairs-words,own,--pooling mean,words)\
  $(call paired-models,$(kind),pairs-untrained,own,--max-steps 0)\
  $(call paired-models,$(kind),pairs-untrained-words,own,--max-steps 0 --pooling mean))

# stated before the runs: own trees are above the mean of the words, and above balanced trees over them
PAIRED_HYPOTHESES := pairs-own:pairs-words pairs-own:pairs-balanced
PAIRED_DATA_code := codesearch/train codesearch/dev
PAIRED_DATA_html := structdoc/train_docs-00 structdoc/train_docs-01 structdoc/train_queries structdoc/dev_docs structdoc/dev_queries
PAIRED_SETS = $(foreach each,$(PAIRED_KINDS),$(firstword $(subst =, ,$(each))))
$(STRUCTURE)/pairs.json: $(PAIRED_SETS:%=$(STRUCTURE)/values-%.jsonl)
	$(TELL) gather $^ --title 'Trees that learn from pairs of texts: RR@100' --folder $(STRUCTURE) -o $@ \
	  --against $(filter pairs-words pairs-balanced pairs-untrained,$(PAIRED_MODELS)) --stated $(PAIRED_HYPOTHESES) \
	  --data $(foreach set,$(PAIRED_SETS),$(PAIRED_DATA_$(set):%=$(DATA)/%.jsonl.gz)) \
	  --command 'make -C experiments strae-pairs PAIRED_KINDS="$(PAIRED_KINDS)" PAIRED_SEEDS="$(PAIRED_SEEDS)"'

# what is not trained
report-strae-pairs:
	@$(MAKE) --no-print-directory strae-pairs PAIRED=runs/report/pairs \
	  PAIRED_NAMES='pairs-untrained pairs-untrained-words $(AGAIN)' PAIRED_SEEDS='$(or $(SEED),0)'
	$(TELL) check experiments/reports/strae-pairs.json runs/report/pairs/pairs.json
