# Is "StrAE is below fastText" a matter of scale? StrAE, Self-StrAE, fastText and the means of their words at all sentences
# of data/wikitext and the paper's 15 passes: about 80 minutes of one idle core for each of the first two. A
# training that was stopped goes on with the same command; SEEDS="0 1" adds a second seed.
# The pilot chooses each rate: one pass over all sentences, one seed, the first half of each task's pairs. A first pilot with
# 20,000 sentences, 300 steps, chose 0.016 for StrAE, the highest that was tried, and 0.001 for Self-StrAE, whose three
# rates differed by 2 points; the models make 50,000 steps. So it was repeated on 2026-11-27, before any of them was trained:
# 0.016 for StrAE again (0.064 diverges at step 22), 0.001 for Self-StrAE, the lowest of three, so that 0.00025 was added,
# and 0.2 for fastText (0.5 diverges, so that 0.3 took its place).
.PHONY: strae-scale report-strae-scale

SCALED_METHODS := strae self-strae fasttext
SCALED_SENTENCES := 216247
SCALED_PASSES := 15
PILOT := runs/strae-scale-pilot
strae-scale: $(INSTALLED) ## StrAE and fastText at 216,247 sentences × 15 passes: make -C experiments strae-scale SEEDS=0
	$(call needs,strae_eval)
	@$(MAKE) --no-print-directory STRAE=$(PILOT) SENTENCES=$(SCALED_SENTENCES) PASSES=1 SEEDS=0 $(SCALED_METHODS:%=$(PILOT)/scaled/%.rate)
	@$(MAKE) --no-print-directory STRAE=runs/strae-scale SENTENCES=$(SCALED_SENTENCES) PASSES=$(SCALED_PASSES) runs/strae-scale/scaled/table.md
	@tail -n +1 $(PILOT)/scaled/*.rate runs/strae-scale/scaled/table.md

SCALED := $(STRAE)/scaled
SCALED_RATES_strae := 0_001 0_004 0_016
SCALED_RATES_self-strae := 0_0000625 0_00025 $(SCALED_RATES_strae)
SCALED_RATES_fasttext := 0_05 0_2 0_3
STRAE_ROWS := $(SCALED)/rows
STRAE_TRAINED := $(SCALED)/trained
SCALED_READS_strae := constituency
SCALED_READS_self-strae := text
SCALED_READS_fasttext := text
SCALED_FLAGS_strae = $(SUM)
SCALED_FLAGS_self-strae = $(SUM)
SCALED_FLAGS_fasttext = --final-punct $(FINAL_PUNCT) --epochs $(PASSES) --buckets 200000
# a model: its name, method and rate
scaled-model = $(eval $(call strae-model,scaled/$(1),$(2),$(SCALED_READS_$(2)),$(SCALED_FLAGS_$(2)) --learning-rate $(3)))
$(foreach each,$(SCALED_METHODS),$(foreach rate,$(SCALED_RATES_$(each)),$(call scaled-model,$(each)-$(rate),$(each),$(subst _,.,$(rate)))) \
  $(call scaled-model,$(each),$(each),$$$$(cat $(PILOT)/scaled/$(each).rate)))
$(call strae-words,scaled/strae,constituency)
$(call strae-words,scaled/self-strae)
$(call strae-model,scaled/untrained,self-strae,text,$(SUM) --max-steps 0)
$(call strae-words,scaled/untrained)

$(SCALED)/first/%.jsonl: $(SCALED)/%.jsonl
	@mkdir -p $(@D)
	$(call HALF,02468)
$(SCALED)/second/%.jsonl: $(SCALED)/%.jsonl
	@mkdir -p $(@D)
	$(call HALF,13579)
# the rate with the highest Score
define scaled-rate
$(SCALED)/$(1).rate: $(SCALED_RATES_$(1):%=$(SCALED)/first/$(1)-%@0.jsonl)
	$$(SUITE) $$^ -o $$@.tried
	sed -nE 's/.*"run":"[^"]*-([0-9_]+)(@0)?".*"Score":([0-9.-]+).*/\3 \1/p' $$@.tried | sort -g -r | head -n 1 \
	  | cut -d ' ' -f 2 | tr _ . > $$@
endef
$(foreach each,$(SCALED_METHODS),$(eval $(call scaled-rate,$(each))))

# stated on 2026-11-26, before the first run: at this scale StrAE and Self-StrAE are above fastText, as in the paper, and
# above the mean of their own words; each is above the mean of random vectors, which shows that training worked
SCALED_HYPOTHESES := fasttext:strae fasttext:self-strae strae-words:strae self-strae-words:self-strae \
  untrained-words:strae untrained-words:self-strae
SCALED_TITLE = StrAE and fastText at the paper's number of passes
SCALED_COMMAND = make -C experiments strae-scale SEEDS="$(SEEDS)"
SCALED_RUNS = $(foreach seed,$(SEEDS),$(patsubst %,$(SCALED)/second/%@$(seed).jsonl,$(SCALED_METHODS) \
  $(patsubst %,%-words,$(filter-out fasttext,$(SCALED_METHODS)) untrained)))
$(SCALED)/second/systems: $(SCALED_RUNS)
$(SCALED)/scores.jsonl: $(SCALED)/second/systems $(SCALED_RUNS)
	$(SUITE) $(LISTED) -o $@
$(SCALED)/compared.jsonl: $(SCALED)/second/systems $(SCALED_RUNS)
	$(SUITE) $(LISTED) -o $@ $(addprefix --compare ,$(foreach name,strae self-strae,$(filter $(SCALED)/second/$(name)@%,$^)))
$(SCALED)/report.json: $(SCALED)/scores.jsonl $(SCALED)/compared.jsonl
	$(TELL) gather $^ --suite --stated $(SCALED_HYPOTHESES) --folder $(SCALED) -o $@ \
	  --title "$(SCALED_TITLE)" --command '$(SCALED_COMMAND)' --data $(WIKITEXT)
$(SCALED)/table.md: $(SCALED)/report.json
	$(TELL) show $< > $@

# the row that takes minutes
report-strae-scale:
	@$(MAKE) --no-print-directory STRAE=runs/report/strae-scale SENTENCES=$(SCALED_SENTENCES) PASSES=$(SCALED_PASSES) SEEDS=0 \
	  SCALED_RUNS=runs/report/strae-scale/scaled/second/untrained-words@0.jsonl runs/report/strae-scale/scaled/report.json
	$(TELL) check experiments/reports/strae-scale.json runs/report/strae-scale/scaled/report.json
