# Tables 3, 4 and 7 of StrAE's paper at a scale of minutes: StrAE, IORNN and Tree-LSTM with both objectives over three
# kinds of trees, beside those of OVER_TEXT (self-strae bi-lstm fasttext roberta). All read the same sentences of 5 to 12
# words equally often. Score is the mean of the seven tasks of similarity: the paper sees no difference in MRPC and RTE.
#   METHOD-OBJECTIVE[-SHAPE]-RATE   objective c or ce; without a shape, constituency trees
# Rates are chosen by a pilot: constituency trees, one seed, on one half of each task's pairs (as in tree-tuned.mk).
# Each grid has steps of four and goes on where its best rate is an end. The other half of the pairs is in the table.
.PHONY: strae-models report-strae-models

MODELLED_SENTENCES := 4000
TREE_MODELS := $(STRAE)/models
OF_MODELS = SENTENCES=$(MODELLED_SENTENCES) PASSES=2 BATCH=32 WIKITEXT=runs/strae-models/short.jsonl TASKS='$(filter-out mrpc% rte%,$(TASKS))'

strae-models: $(INSTALLED) ## Three models over trees, two objectives, three shapes: make strae-models DATA=../shared/data SEEDS=0
	@test -d '$(DATA)/strae_eval' || { echo 'name the data: make $@ DATA=FOLDER'; exit 2; }
	@$(MAKE) --no-print-directory STRAE=runs/strae-models $(OF_MODELS) runs/strae-models/models/pilot.md runs/strae-models/models/models.md
	@tail -n +1 runs/strae-models/models/pilot.md runs/strae-models/models/models.md

runs/strae-models/short.jsonl: $(DATA)/wikitext/wiki_sentences_train.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --where 'text~^(\S+ ){4,11}\S+$$' -o $@

OVER_TREES := strae iornn tree-lstm
OVER_TEXT := self-strae
# what the pilot tries
PILOTED := $(filter $(addsuffix -c%,$(OVER_TREES)) $(OVER_TEXT:%=%-0%),$(foreach rate,0_002 0_008 0_032,$(foreach each,$(OVER_TREES),$(each)-c-$(rate) $(each)-ce-$(rate)) self-strae-$(rate)) \
  $(patsubst %,bi-lstm-%,0_000125 0_0005 0_002) $(patsubst %,fasttext-%,0_125 0_5) $(patsubst %,roberta-%,0_0005 0_002))
# what it chose
BEST_RATE_strae-c := 0_008
BEST_RATE_strae-ce := 0_008
BEST_RATE_iornn-c := 0_008
BEST_RATE_iornn-ce := 0_008
BEST_RATE_tree-lstm-c := 0_008
BEST_RATE_tree-lstm-ce := 0_008
BEST_RATE_self-strae := 0_008
BEST_RATE_bi-lstm := 0_0005
BEST_RATE_fasttext := 0_5
BEST_RATE_roberta := 0_0005

best = $(1)-$(BEST_RATE_$(1))
shaped = $(1)-$(2)-$(BEST_RATE_$(1))
WITH_OBJECTIVE := $(foreach each,$(OVER_TREES),$(each)-c $(each)-ce)
OTHER_SHAPES := right-branching balanced
MODELLED_SHAPES = $(foreach each,$(WITH_OBJECTIVE),$(foreach shape,$(OTHER_SHAPES),$(call shaped,$(each),$(shape))))
MODELLED_UNTRAINED := $(OVER_TREES:%=%-untrained)
# leave some out with MODELLED_SYSTEMS=…
MODELLED_SYSTEMS = $(foreach each,$(WITH_OBJECTIVE) $(OVER_TEXT),$(call best,$(each))) $(MODELLED_SHAPES) $(MODELLED_UNTRAINED)
OBJECTIVE_c := contrastive
OBJECTIVE_ce := ce

STRAE_ROWS := $(TREE_MODELS)/rows
STRAE_TRAINED := $(TREE_MODELS)/trained
# a model: its method, records, rate, name, objective
define modelled
$(call strae-model,models/$(4),$(1),$(2),$(if $(filter fasttext,$(1)),--final-punct $(FINAL_PUNCT) --epochs $(PASSES) --buckets 200000,$(if \
  $(findstring strae,$(1)),$(SUM),$(FAST))) $(5:%=--objective %) --learning-rate $(subst _,.,$(3)))
endef
$(foreach each,$(OVER_TREES),$(foreach objective,c ce,$(foreach rate,$(patsubst $(each)-$(objective)-%,%,$(filter \
  $(each)-$(objective)-0%,$(PILOTED))),$(eval $(call \
  modelled,$(each),constituency,$(rate),$(each)-$(objective)-$(rate),$(OBJECTIVE_$(objective)))))))
$(foreach each,$(OVER_TREES),$(foreach objective,c ce,$(foreach shape,$(OTHER_SHAPES),$(eval $(call \
  modelled,$(each),$(shape),$(BEST_RATE_$(each)-$(objective)),$(call shaped,$(each)-$(objective),$(shape)),$(OBJECTIVE_$(objective)))))))
$(foreach each,$(OVER_TEXT),$(foreach rate,$(patsubst $(each)-%,%,$(filter $(each)-0%,$(PILOTED))),$(eval $(call \
  modelled,$(each),text,$(rate),$(each)-$(rate)))))
$(foreach each,$(OVER_TREES),$(call strae-model,models/$(each)-untrained,$(each),constituency,$(if \
  $(findstring strae,$(each)),$(SUM),$(FAST)) --max-steps 0))

# the two halves of each task's pairs, for the models of a folder
define halves
$(1)/first/%.jsonl: $(1)/%.jsonl
	@mkdir -p $$(@D)
	$$(call HALF,02468)
$(1)/second/%.jsonl: $(1)/%.jsonl
	@mkdir -p $$(@D)
	$$(call HALF,13579)
endef
$(eval $(call halves,$(TREE_MODELS)))

$(TREE_MODELS)/first/systems $(TREE_MODELS)/pilot.md: $(PILOTED:%=$(TREE_MODELS)/first/%@$(ONE_SEED).jsonl)
$(TREE_MODELS)/pilot.md: $(TREE_MODELS)/first/systems
	$(SUITE) $(LISTED) --markdown -o $@

# Stated on 2026-11-26, before the first training, from the paper's tables 3, 4 and 7: contrast helps StrAE and hurts
# IORNN and Tree-LSTM; StrAE with contrast is above both with either objective, and above models of text; constituency
# trees are above other shapes for StrAE, and IORNN and Tree-LSTM do not depend on the shape (with cross-entropy, their
# better objective); Self-StrAE is no worse than StrAE, and above models of text
MODELLED_BASE = $(call best,strae-c)
MODELLED_HYPOTHESES = $(foreach each,$(OVER_TREES),$(call best,$(each)-ce):$(call best,$(each)-c)) \
  $(foreach each,iornn-c iornn-ce tree-lstm-c tree-lstm-ce self-strae bi-lstm fasttext roberta,$(call best,$(each)):$(MODELLED_BASE)) \
  $(foreach each,strae-c iornn-ce tree-lstm-ce,$(foreach shape,$(OTHER_SHAPES),$(call shaped,$(each),$(shape)):$(call best,$(each)))) \
  $(foreach each,bi-lstm fasttext roberta,$(call best,$(each)):$(call best,self-strae))
MODELLED_AGAINST = $(foreach each,strae-c iornn-c tree-lstm-c iornn-ce tree-lstm-ce self-strae,$(call best,$(each))) $(MODELLED_UNTRAINED)

MODELLED_RUNS = $(foreach seed,$(SEEDS),$(MODELLED_SYSTEMS:%=$(TREE_MODELS)/second/%@$(seed).jsonl))
$(TREE_MODELS)/second/systems: $(MODELLED_RUNS)
$(TREE_MODELS)/scores.jsonl: $(TREE_MODELS)/second/systems $(MODELLED_RUNS)
	$(SUITE) $(LISTED) -o $@
$(TREE_MODELS)/compared.jsonl: $(TREE_MODELS)/second/systems $(MODELLED_RUNS)
	$(SUITE) $(LISTED) -o $@ $(addprefix --compare ,$(foreach name,$(MODELLED_AGAINST),$(filter $(TREE_MODELS)/second/$(name)@%,$^)))
$(TREE_MODELS)/report.json: $(TREE_MODELS)/scores.jsonl $(TREE_MODELS)/compared.jsonl
	$(TELL) gather $^ --suite --stated $(MODELLED_HYPOTHESES) --folder $(TREE_MODELS) -o $@ \
	  --data $(DATA)/wikitext/wiki_sentences_train.jsonl.gz $(foreach each,$(TASKS),$(DATA)/strae_eval/$(firstword $(subst =, ,$(each))).jsonl.gz) \
	  --title 'Models over trees: two objectives, three kinds of trees' \
	  --command 'make strae-models DATA=../shared/data SEEDS="$(SEEDS)" OVER_TEXT="$(OVER_TEXT)"'
$(TREE_MODELS)/models.md: $(TREE_MODELS)/report.json
	$(TELL) show $< > $@

# the rows that take seconds
report-strae-models:
	@$(MAKE) --no-print-directory STRAE=runs/report/strae-models $(OF_MODELS) \
	  SEEDS='$(or $(SEED),0)' MODELLED_SYSTEMS='strae-untrained $(AGAIN)' \
	  runs/report/strae-models/models/report.json
	$(TELL) check experiments/reports/strae-models.json runs/report/strae-models/models/report.json
