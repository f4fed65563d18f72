# Tables 3, 4 and 7 of StrAE's paper at a scale of minutes: StrAE, IORNN and Tree-LSTM with both objectives over three
# kinds of trees, beside those of OVER_TEXT (self-strae bi-lstm roberta). All read the same sentences of 5 to 12
# words equally often. Score is the mean of the seven tasks of similarity: the paper sees no difference in MRPC and RTE.
#   METHOD-OBJECTIVE[-SHAPE]   objective c or ce; without a shape, constituency trees
# A pilot chooses each rate: constituency trees, one seed, one pass; the lowest loss of sentences that are held out. Other
# shapes have the rate of constituency trees.
.PHONY: strae-models report-strae-models

MODELLED_SENTENCES := 4000
TREE_MODELS := $(STRAE)/models
OF_MODELS = SENTENCES=$(MODELLED_SENTENCES) PASSES=2 BATCH=32 WIKITEXT=runs/strae-models/short.jsonl TASKS='$(filter-out mrpc% rte%,$(TASKS))'

strae-models: $(INSTALLED) ## Three models over trees, two objectives, three shapes: make -C experiments strae-models SEEDS=0
	$(call needs,strae_eval)
	@$(MAKE) --no-print-directory STRAE=runs/strae-models $(OF_MODELS) runs/strae-models/models/models.md
	@tail -n +1 runs/strae-models/models/rate-* runs/strae-models/models/models.md

runs/strae-models/short.jsonl: $(DATA)/wikitext/wiki_sentences_train.jsonl.gz
	@mkdir -p $(@D)
	$(STRUCTKIT) select $< --where 'text~^(\S+ ){4,11}\S+$$' -o $@

OVER_TREES := strae iornn tree-lstm
OVER_TEXT := self-strae
WITH_OBJECTIVE := $(foreach each,$(OVER_TREES),$(each)-c $(each)-ce)
OTHER_SHAPES := right-branching balanced
SHAPED := $(WITH_OBJECTIVE)
# leave some out with MODELLED_SYSTEMS=…, or shapes with SHAPED=…
MODELLED_SYSTEMS = $(WITH_OBJECTIVE) $(OVER_TEXT) $(foreach each,$(SHAPED),$(OTHER_SHAPES:%=$(each)-%)) $(OVER_TREES:%=%-untrained)
OBJECTIVE_c := --objective contrastive
OBJECTIVE_ce := --objective ce
# for StrAE, 0.002 was worse than both
MODELLED_RATES := 0.008 0.032
TRIED_bi-lstm := 0.000125 0.0005 0.002
TRIED_roberta := 0.0005 0.002 0.008
# method and objective of a name
kind-of = $(patsubst %-ce,%,$(1:%-c=%))
starts-as = $(if $(findstring strae,$(1)),$(SUM),$(FAST)) $(OBJECTIVE_$(lastword $(subst -, ,$(1))))

$(STRAE)/held-%.jsonl: $(STRAE)/train-%.jsonl
	$(STRUCTKIT) select -q $< --sample 500 -o $@
$(STRAE)/piloted-%.jsonl: $(STRAE)/train-%.jsonl $(STRAE)/held-%.jsonl
	$(STRUCTKIT) select -q $< --not-in $(word 2,$^) -o $@
# a rate is tried: a name, the records, the rate, the system
define modelled-tried
$(TREE_MODELS)/rate-$(1): $(TREE_MODELS)/tried/$(1)@$(3).model
$(TREE_MODELS)/tried/$(1)@$(3).model: $(STRAE)/piloted-$(2).jsonl $(STRAE)/held-$(2).jsonl
	@mkdir -p $$(@D)
	OMP_NUM_THREADS=1 $$(STRUCTKIT) train $(call kind-of,$(4)) $$< -o $$@ -q --seed 0 $(call starts-as,$(4)) --epochs 1 \
	  --learning-rate $(3) --overwrite --validate $$(word 2,$$^) > $$@.json
endef
$(foreach each,$(WITH_OBJECTIVE),$(foreach rate,$(or $(TRIED_$(each)),$(MODELLED_RATES)),$(eval $(call modelled-tried,$(each),constituency,$(rate),$(each)))))
$(foreach each,$(OVER_TEXT),$(foreach rate,$(or $(TRIED_$(each)),$(MODELLED_RATES)),$(eval $(call modelled-tried,$(each),text,$(rate),$(each)))))
# at 0.008, the rate of constituency trees, its loss is NaN
RATED_SHAPES := strae-c-right-branching
$(foreach rate,0.0005 0.001 0.002 0.004,$(eval $(call modelled-tried,$(RATED_SHAPES),right-branching,$(rate),strae-c)))
$(patsubst %,$(TREE_MODELS)/rate-%,$(WITH_OBJECTIVE) $(OVER_TEXT) $(RATED_SHAPES)):
	$(LOWEST)

# what guessing words by their frequency loses: cross-entropy is learned if it loses less
$(TREE_MODELS)/unigram-words.md: $(TREE_MODELS)/strae-ce@$(firstword $(SEEDS)).model $(STRAE)/train-constituency.jsonl $(STRAE)/held-constituency.jsonl
	$(COUNT) words $^ -o $@

STRAE_ROWS := $(TREE_MODELS)/rows
STRAE_TRAINED := $(TREE_MODELS)/trained
# a model: its name, records, system, and the name of its rate
define modelled
$(call strae-model,models/$(1),$(call kind-of,$(3)),$(2),$(call starts-as,$(3)) --learning-rate $$$$(cat $(TREE_MODELS)/rate-$(4)))
$(SEEDS:%=$(TREE_MODELS)/$(1)@%.model): $(TREE_MODELS)/rate-$(4)
endef
$(foreach each,$(WITH_OBJECTIVE),$(eval $(call modelled,$(each),constituency,$(each),$(each))) \
  $(foreach shape,$(OTHER_SHAPES),$(eval $(call modelled,$(each)-$(shape),$(shape),$(each),$(or $(filter $(RATED_SHAPES),$(each)-$(shape)),$(each))))))
$(foreach each,$(OVER_TEXT),$(eval $(call modelled,$(each),text,$(each),$(each))))
$(call strae-model,models/strae-untrained,strae,constituency,$(SUM) --max-steps 0)
$(foreach each,iornn tree-lstm,$(call strae-model,models/$(each)-untrained,$(each),constituency,$(FAST) --max-steps 0))

# Stated on 2026-11-26, before the first training, from the paper's tables 3, 4 and 7: contrast helps StrAE and hurts
# IORNN and Tree-LSTM; StrAE with contrast is above both with either objective, and above models of text; constituency
# trees are above other shapes for StrAE, and IORNN and Tree-LSTM do not depend on the shape (with cross-entropy, their
# better objective); Self-StrAE is no worse than StrAE, and above models of text
MODELLED_HYPOTHESES = $(foreach each,$(OVER_TREES),$(each)-ce:$(each)-c) \
  $(foreach each,iornn-c iornn-ce tree-lstm-c tree-lstm-ce self-strae bi-lstm roberta,$(each):strae-c) \
  $(foreach each,strae-c iornn-ce tree-lstm-ce,$(foreach shape,$(OTHER_SHAPES),$(each)-$(shape):$(each))) \
  $(foreach each,bi-lstm roberta,$(each):self-strae)
MODELLED_AGAINST = strae-c iornn-c tree-lstm-c iornn-ce tree-lstm-ce self-strae strae-untrained

MODELLED_RUNS = $(foreach seed,$(SEEDS),$(MODELLED_SYSTEMS:%=$(TREE_MODELS)/%@$(seed).jsonl))
$(TREE_MODELS)/systems: $(MODELLED_RUNS)
$(TREE_MODELS)/scores.jsonl: $(TREE_MODELS)/systems $(MODELLED_RUNS)
	$(SUITE) $(LISTED) -o $@
$(TREE_MODELS)/compared.jsonl: $(TREE_MODELS)/systems $(MODELLED_RUNS)
	$(SUITE) $(LISTED) -o $@ $(addprefix --compare ,$(foreach name,$(MODELLED_AGAINST),$(filter $(TREE_MODELS)/$(name)@%,$^)))
$(TREE_MODELS)/report.json: $(TREE_MODELS)/scores.jsonl $(TREE_MODELS)/compared.jsonl
	$(TELL) gather $^ --suite --stated $(MODELLED_HYPOTHESES) --folder $(TREE_MODELS) -o $@ \
	  --data $(DATA)/wikitext/wiki_sentences_train.jsonl.gz $(foreach each,$(TASKS),$(DATA)/strae_eval/$(firstword $(subst =, ,$(each))).jsonl.gz) \
	  --title 'Models over trees: two objectives, three kinds of trees' \
	  --command 'make -C experiments strae-models SEEDS="$(SEEDS)" WITH_OBJECTIVE="$(WITH_OBJECTIVE)" OVER_TEXT="$(OVER_TEXT)" SHAPED="$(SHAPED)"'
$(TREE_MODELS)/models.md: $(TREE_MODELS)/report.json
	$(TELL) show $< > $@

# the rows that take seconds
report-strae-models:
	@$(MAKE) --no-print-directory STRAE=runs/report/strae-models $(OF_MODELS) \
	  SEEDS='$(or $(SEED),0)' MODELLED_SYSTEMS='strae-untrained $(AGAIN)' \
	  runs/report/strae-models/models/report.json
	$(TELL) check experiments/reports/strae-models.json runs/report/strae-models/models/report.json
