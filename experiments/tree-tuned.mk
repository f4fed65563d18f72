# The table of StrAE's family, with systems tuned: a setting is chosen on one half of each task's test pairs
# (the tens digit of their id is even), and scored on the other half. What classifiers learn from is in both.
# make -C experiments strae-tuned SENTENCES=30000
.PHONY: strae-tuned report-strae-tuned

strae-tuned: $(INSTALLED) ## StrAE and its rivals, tuned on other pairs: make -C experiments strae-tuned SENTENCES=30000
	$(call needs,strae_eval)
	@$(MAKE) --no-print-directory $(TUNED)/grid.md $(TUNED)/table.md
	@tail -n +1 $(TUNED)/grid.md $(TUNED)/table.md

TUNED := $(STRAE)/tuned
# every setting, one seed: the rate (at 1.0 fastText does not converge), and of fastText vectors as long as
# StrAE's with additional rows of n-grams (wide), or half as long with as many rows of n-grams as of words (equal:
# as many numbers as StrAE). A run is named by its file up to the first point
TUNED_METHODS := strae self-strae tree-lstm iornn bi-lstm roberta
GRID = $(foreach rate,0_05 0_25 0_5,fasttext-wide-$(rate) fasttext-equal-$(rate)) \
  $(foreach method,$(TUNED_METHODS),$(patsubst %,$(method)-%,$(if $(filter %strae,$(method)),0_002 0_004 0_008,0_0005 0_002 0_008))) bi-lstm-0_000125
FLAGS_wide := --buckets 200000
FLAGS_equal := --embedding-size 50 --buckets 27000
# the best of each on the first half; of roberta, which was not tried, the rate of `make strae`
WIDE := fasttext-wide-0_5
EQUAL := fasttext-equal-0_25
TREE := strae-0_004
SELF := $(filter self-%,$(TUNED_METHODS:%=%-0_004))
OTHERS := $(foreach method,$(TUNED_METHODS),$(filter $(method)-0%,tree-lstm-0_008 iornn-0_008 bi-lstm-0_0005 roberta-0_0005))
# trees given are above fastText of equal vectors and of equal parameters, and above the mean of their own words;
# each system is above random vectors, and trees made are above fastText and the mean of their own words
TUNED_HYPOTHESES := $(foreach each,$(TREE) $(SELF),$(patsubst %,$(each):%,$(WIDE) $(EQUAL) $(each)-words)) \
  $(patsubst %,%:self-strae-untrained-words,$(TREE) $(SELF) $(WIDE) $(EQUAL))
# stated on 2026-11-24, before these were trained: trees given are above the other models over them and above those
# of text, and trees made above the latter
TUNED_HYPOTHESES += $(OTHERS:%=%:$(TREE)) $(foreach each,$(filter bi-lstm-% roberta-%,$(OTHERS)),$(each):$(SELF))

STRAE_ROWS := $(TUNED)/rows
STRAE_TRAINED := $(TUNED)/trained
rate-of = $(subst _,.,$(lastword $(subst -, ,$(1))))
method-of = $(patsubst %-$(lastword $(subst -, ,$(1))),%,$(1))
read-by = $(if $(filter strae-% tree-lstm-% iornn-%,$(1)),constituency,text)
define tuned-model
$(if $(filter fasttext-%,$(1)),$(call strae-model,tuned/$(1),fasttext,text,--final-punct $(FINAL_PUNCT) --epochs \
  $(PASSES) $(FLAGS_$(word 2,$(subst -, ,$(1)))) --learning-rate $(call rate-of,$(1))),$(call strae-model,tuned/$(1),$(call \
  method-of,$(1)),$(call read-by,$(1)),$(if $(findstring strae-,$(1)),$(SUM),$(FAST)) --learning-rate $(call rate-of,$(1))))
$(if $(findstring strae-,$(1)),$(call strae-words,tuned/$(1),$(call read-by,$(1))))
endef
$(foreach each,$(GRID),$(eval $(call tuned-model,$(each))))

HALF = $(STRUCTKIT) select -q $< --where 'id~(_train-.*|[$(1)].)$$' -o $@
$(TUNED)/first/%.jsonl: $(TUNED)/%.jsonl
	@mkdir -p $(@D)
	$(call HALF,02468)
$(TUNED)/second/%.jsonl: $(TUNED)/%.jsonl
	@mkdir -p $(@D)
	$(call HALF,13579)
$(TUNED)/second/%.jsonl: $(STRAE)/%.jsonl
	@mkdir -p $(@D)
	$(call HALF,13579)

$(TUNED)/first/systems $(TUNED)/grid.md: $(GRID:%=$(TUNED)/first/%@$(ONE_SEED).jsonl)
$(TUNED)/grid.md: $(TUNED)/first/systems
	$(SUITE) $(LISTED) --markdown -o $@

TUNED_SEEDED := $(WIDE) $(EQUAL) $(TREE) $(TREE)-words $(SELF) $(SELF:%=%-words) $(OTHERS) self-strae-untrained-words
TUNED_RUNS = $(foreach seed,$(SEEDS),$(TUNED_SEEDED:%=$(TUNED)/second/%@$(seed).jsonl))
TUNED_AGAINST := $(WIDE) $(EQUAL) $(TREE)-words $(SELF:%=%-words) self-strae-untrained-words $(if $(OTHERS),$(TREE) $(SELF))
$(TUNED)/second/systems: $(TUNED_RUNS)
$(TUNED)/scores.jsonl: $(TUNED)/second/systems $(TUNED_RUNS)
	$(SUITE) $(LISTED) -o $@
$(TUNED)/compared.jsonl: $(TUNED)/second/systems $(TUNED_RUNS)
	$(SUITE) $(LISTED) -o $@ $(addprefix --compare ,$(foreach name,$(TUNED_AGAINST),$(filter $(TUNED)/second/$(name)@%,$^)))
TELL_TUNED = $(TELL) gather $^ --suite --stated $(TUNED_HYPOTHESES) --folder $(TUNED) -o $@ \
  --data $(WIKITEXT) $(foreach each,$(TASKS),$(DATA)/strae_eval/$(firstword $(subst =, ,$(each))).jsonl.gz) \
  --title "StrAE's family, tuned on one half of the pairs, scored on the other" \
  --command 'make -C experiments strae-tuned SENTENCES=$(SENTENCES) SEEDS="$(SEEDS)" TUNED_METHODS="$(TUNED_METHODS)"'
$(TUNED)/report.json: $(TUNED)/scores.jsonl $(TUNED)/compared.jsonl
	$(TELL_TUNED)
$(TUNED)/table.md: $(TUNED)/report.json
	$(TELL) show $< > $@

# the rows that take seconds; of random vectors all seeds, since one may be outside the interval of their mean
$(eval $(call strae-slice,strae-tuned,TELL_TUNED,$(TUNED),$(SEEDS:%=second/self-strae-untrained-words@%) second/$(WIDE)@0,second/))
